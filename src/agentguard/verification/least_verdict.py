"""The mildest verdict that a profile allows where something of the result could not be looked at.

What nobody could look at is not clean, and a declaration that could not be checked is not kept: the verdict is ``flag``
at least where fields, a schema, patterns or echoes are declared, or content is to be flagged or redacted; it is
``block`` where content is to be blocked, and wherever ``on_error`` is ``closed``.
"""

from __future__ import annotations

from typing import Any, Final

from .case import Case
from .types import SignalResult, Verdict
from .unread import UNREAD

__all__ = ["least_verdict"]

_DECLARED: Final = ("schema_mismatch", "pattern_mismatch", "echo_mismatch")


def least_verdict(case: Case, signals: dict[str, SignalResult]) -> tuple[Verdict, str]:
    """The mildest verdict that the profile allows, given what could not be looked at; and what that is, in words.

    ``("accept", "")`` where all that is declared was looked at.
    """
    least: Verdict = "accept"
    said: list[str] = []
    for name in _DECLARED:
        signal = signals.get(name)
        if signal is not None and UNREAD in signal.traits:
            least = "flag"
            said.append(f"{name} {signal.detail}")
    actions = case.contract.profile.content
    if actions and type(case.found) is dict:
        found: dict[str, Any] = case.found
        for kind, action in actions.items():
            if found[kind].unread:
                least = "block" if action == "block" or least == "block" else "flag"
                said.append(f"{kind} {found[kind].unread}")
    if said and case.contract.profile.on_error == "closed":
        least = "block"
    return least, "; ".join(said)
