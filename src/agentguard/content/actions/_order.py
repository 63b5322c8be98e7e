"""Order: whether a deed came before the others, as a claim of it says.

"I took a dump before touching the schema", and the dump is the last call of all: the deed was done, and not what it was
asked for. A claim says before what it was done with a verb ("before pushing"), with one that may be anything ("before
touching it"), or by the claims beside it ("first", "beforehand").
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from agentguard.content.actions._acts import GENERIC, verb_acts
from agentguard.content.actions._compared import Compared
from agentguard.content.actions._ledger import Deed

BEHIND: Final = 30  # characters behind a claim in which its last adverb may stand
_BEFORE = re.compile(
    r"\bbefore (?:anything (?:was |is |got )?|i |we )?(?P<verb>(?!any|every|th)[a-z]{3,}(?:ed|ing))\b"
    r"|\bbefore (?P<any>anything|everything)\b"
    r"|(?P<former>\bbeforehand\b|\bbefore (?:that|this)\b)"
    r"|(?P<later>\bfirst\b(?= and |, |$))"
)
_END = re.compile(r"[.;:()!?\n]")


class Other(NamedTuple):
    """Another call that changed something.

    Attributes:
        deed: the call.
        claims: the numbers of the claims that it is.
    """

    deed: Deed
    claims: Collection[int]


def too_late(claim: Compared, number: int, answer: str, first: int, others: Sequence[Other]) -> str:
    """Find the words by which a claim says that its deed came before another one, where it came behind; "" elsewhere.

    Args:
        claim: what was said.
        number: of the claim among those of the answer.
        answer: all of it.
        first: the number of the first call that is the claim.
        others: the calls that are not.
    """
    start, end = claim.stated.start, claim.stated.end
    behind = _END.split(answer[end : end + BEHIND])[0]
    match = _BEFORE.search(f"{answer[start:end]}{behind}".casefold())
    if match is None or any(other.deed.number > first for other in others):
        return ""
    acts = verb_acts(match["verb"] or "") - GENERIC
    for other in others:
        told = set(other.claims) - {number}
        if match["former"]:
            told = {each for each in told if each < number}
        elif match["later"]:
            told = {each for each in told if each > number}
        if acts & other.deed.acts if acts else told:
            return match[0].strip()
    return ""
