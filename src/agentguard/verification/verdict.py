"""What a verdict is at least, and why it is not the one that its posterior alone gives, in words for its reader.

What nobody could look at is not clean, and a declaration that could not be checked is not kept: the verdict is ``flag``
at least where fields, a schema, patterns or echoes are declared, or content is to be flagged or redacted; it is
``block`` where content is to be blocked, and wherever ``on_error`` is ``closed``.
"""

from __future__ import annotations

from typing import Any, Final

from .calibrated import SURE
from .case import Case
from .evidence import breaks_a_declaration
from .incidents import Settled
from .method import Decision
from .types import SEVERITY, UNREAD, SignalResult, Verdict

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


SAID: Final[dict[Verdict, str]] = {"accept": "accepted", "flag": "flagged", "block": "blocked"}


def graver(one: Verdict, other: Verdict) -> Verdict:
    """The graver of two verdicts.

    >>> graver("flag", "accept"), graver("flag", "block")
    ('flag', 'block')
    """
    return one if SEVERITY[one] >= SEVERITY[other] else other


def why_not_as_posterior(case: Case, signals: dict[str, SignalResult], decision: Decision, settled: Settled) -> str:
    """The reason in one sentence; "" where the verdict is the one that the posterior and the two thresholds give.

    Args:
        case: the call.
        signals: what was said of it.
        decision: what was made of that.
        settled: what became of the decision, given what came before the call.
    """
    verdict, incident = settled.verdict, settled.incident
    if verdict == "accept" and decision.posterior < case.settings.accept_below:
        return ""  # nearly every call
    said = SAID[verdict]
    if settled.asked:
        times = "once" if settled.asked == 1 else f"{settled.asked} times"
        return f"{said} as it was before: this very call had this very result {times} already"
    if incident is not None and incident.state == "fault" and verdict == "block":
        return f"blocked as every call like it: a reviewer has found change {incident.id} to be a fault"
    if incident is not None and decision.verdict == "block" and verdict == "flag":
        most = case.contract.profile.max_blocks
        return f"flagged and not blocked: change {incident.id} is known, and max_blocks is {most}"
    if incident is not None and verdict != decision.verdict:
        return f"{said} as the calls before it that were odd in the same way, change {incident.id}"
    settings, posterior = case.settings, decision.posterior
    usual: Verdict = "accept" if posterior < settings.accept_below else "flag"
    if posterior >= settings.block_at:
        usual = "block"
    if verdict == usual:
        return ""
    if SEVERITY[verdict] > SEVERITY[usual]:
        return f"{said}, as the profile asks for what was found in the content"
    but, threshold = (" and not blocked", settings.block_at) if usual == "block" else ("", settings.accept_below)
    return f"{said}{but} although P >= {threshold:g}: {_leniency(case, signals, decision)}"


def _leniency(case: Case, signals: dict[str, SignalResult], decision: Decision) -> str:
    """Why the calibrated method was milder than its posterior."""
    p, bound = decision.false_block_p, case.settings.max_false_block_rate
    alarm = signals.get("spc_anomaly")
    alarmed = alarm is not None and alarm.fired and alarm.score >= SURE
    if p is not None and p > bound and not alarmed and not breaks_a_declaration(signals):
        share = f"{100 * p:.3g}% of this tool's genuine calls look like this"
        return f"{share}, and the bound on false alarms is {100 * bound:.3g}%"
    if case.document.is_error or case.document.kind == "empty":
        kind = "error report" if case.document.is_error else "empty result"
        return f"an {kind} is not blocked on learned evidence, for the agent needs it to correct itself"
    return "there is weak evidence only, and that is not blocked"
