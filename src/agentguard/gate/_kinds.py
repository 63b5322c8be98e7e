"""Kinds of hallucination: what is wrong with a claim that is not supported."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Literal, get_args

from agentguard.gate._types import UNREADABLE, Case, Claim, ClaimVerdict, Passage, Reason

Kind = Literal["figure", "unit", "date", "entity", "negation", "condition", "invented", "unclear", "unread"]
"""Kind of fault: another figure than the documents have, the same figure in another unit, another date, another name, a
denial or its loss, a limit or condition that is lost or turned round, something that no document says; a claim that is
partly said and none of these; one whose verdict could not be read."""

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

# By the rules' reasons, the more certain first. The rules call names what they do not know for words, and so names
# come behind all that contradicts.
_BY_REASON: Final[dict[str, Kind]] = {
    "number": "figure",
    "elsewhere": "figure",
    "count": "figure",
    "unit": "unit",
    "date": "date",
    "limit": "condition",
    "negation": "negation",
    "opposite": "negation",
    "swapped": "entity",
    "another": "entity",
    "condition": "condition",
    "name": "entity",
    "scope": "condition",
}
STRANGE: Final = 3  # words that the passage does not say, from which on it speaks of something else
# Reasons that tell nothing where the passage speaks of something else.
_OF_STRANGERS: Final = frozenset({"name", "scope", "condition"})
_DIGITS: Final = re.compile(r"\d+(?:[.,]\d+)*")


def kind_of(claim: Claim, passages: Sequence[Passage], verdict: ClaimVerdict) -> Kind | None:
    """Tell what is wrong with a claim; None if it is supported.

    Rules tell it, whoever judged: they hold the claim against its passages once more where a model has.

    Args:
        claim: The claim.
        passages: What it was held against.
        verdict: What was decided of it.
    """
    if verdict.label == "supported":
        return None
    reasons = verdict.reasons
    if any(reason.kind == UNREADABLE for reason in reasons):
        return "unread"
    if verdict.judge != "rules":
        decided = tuple(passage for passage in passages if passage.chunk.id == verdict.chunk_id)
        reasons = _reasons_of_rules(claim, decided or tuple(passages))
    unsaid = sum(reason.kind == "word" for reason in reasons)
    strange = unsaid >= STRANGE or 2 * unsaid > _telling_words(claim.text)
    for kind in _BY_REASON:
        for reason in reasons:
            if reason.kind == kind and not (strange and kind in _OF_STRANGERS):
                return _kind_by(reason)
    return "invented" if verdict.label == "unsupported" else "unclear"


@lru_cache(maxsize=1_000)  # each report of a run, and each line of one, asks for the kinds of the same claims
def _reasons_of_rules(claim: Claim, passages: tuple[Passage, ...]) -> tuple[Reason, ...]:
    from agentguard.gate.rules import RuleJudge

    return RuleJudge().verify([Case(claim, passages)])[0].reasons


def _telling_words(text: str) -> int:
    """Count the words of a claim that the rules compare."""
    from agentguard.gate.rules._reading import Reading

    return sum(token.kind != "light" for token in Reading(text).tokens)


def _kind_by(reason: Reason) -> Kind:
    said, found = _DIGITS.findall(reason.said), _DIGITS.findall(reason.found)
    if reason.kind in ("number", "elsewhere") and said and said == found:  # only the unit is another
        return "unit"
    if reason.kind == "swapped" and said and found:
        return "figure"
    return _BY_REASON[reason.kind]
