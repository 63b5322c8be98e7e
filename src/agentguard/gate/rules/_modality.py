"""Read what a clause makes of an action: required, allowed, forbidden, or left to whoever may act.

Words that deny do not tell these apart: "must not" and "need not" both deny, and say different things.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Final

BACK: Final = 3  # words before one of duty or of permission, among which its negation stands
_DUTIES: Final = frozenset(
    "required require requires obliged obligatory mandatory compulsory need needs needed have has had".split()
)
_PERMISSIONS: Final = frozenset("allowed permitted free welcome entitled allow allows permit permits".split())
_WITH_TO: Final = frozenset("have has had free welcome need needs".split())  # of an action only before "to"
_BANS: Final = frozenset("prohibited forbidden banned".split())
_CHOICES: Final = frozenset("optional voluntary".split())
# What a claim may not make of what a passage says: a duty of a permission, a ban of a choice.
_CONFLICTS: Final = frozenset(
    {("required", "allowed"), ("required", "optional"), ("forbidden", "optional"), ("optional", "forbidden")}
)


def modes(words: Sequence[str], first: int, last: int, negated: Set[int]) -> dict[str, int]:
    """What the words from one number to another make of an action, with the number of the word that says so.

    >>> modes("helmets need not be worn but must not be painted".split(), 0, 10, {2, 7})
    {'optional': 1, 'forbidden': 6}
    """
    found: dict[str, int] = {}
    for number in range(first, last):
        mode = _mode(words, number, last, negated)
        if mode:
            found.setdefault(mode, number)
    return found


def _mode(words: Sequence[str], number: int, last: int, negated: Set[int]) -> str:
    word, follows = words[number], words[number + 1] if number + 1 < last else ""
    denied = number + 1 in negated or any(each in negated for each in range(max(0, number - BACK), number))
    if word in {"must", "shall"}:
        return "forbidden" if number + 1 in negated else "required"
    if word in {"mustn't", "cannot", "can't"}:
        return "forbidden"
    if word == "needn't" or (word == "need" and number + 1 in negated):
        return "optional"
    if word in {"may", "can"}:
        return "forbidden" if number + 1 in negated else "allowed"
    if word in _WITH_TO and follows != "to":
        return ""
    if word in _DUTIES:
        return "optional" if denied else "required"
    if word in _PERMISSIONS:
        return "forbidden" if denied else "allowed"
    return "forbidden" if word in _BANS else "optional" if word in _CHOICES else ""


def conflict(claimed: Mapping[str, int], said: Mapping[str, int]) -> tuple[int, int] | None:
    """The words of a claim and of a passage that make different things of an action; None where one agrees.

    >>> conflict({"required": 3}, {"allowed": 5}), conflict({"required": 3}, {"required": 2, "allowed": 5})
    ((3, 5), None)
    """
    if not claimed.keys().isdisjoint(said):
        return None
    pairs = ((ours, theirs) for ours in claimed for theirs in said if (ours, theirs) in _CONFLICTS)
    return next(((claimed[ours], said[theirs]) for ours, theirs in pairs), None)
