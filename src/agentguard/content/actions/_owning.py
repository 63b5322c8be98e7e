"""Owning up: whether an answer says itself, beside a claim, how the claim's call came out.

"The job went to the printer. It is queued behind two others." tells no lie with its first sentence. What is said of a
first attempt says nothing of how it came out in the end.
"""

from __future__ import annotations

import re
from typing import Final

from agentguard.content.actions._compared import Compared
from agentguard.content.actions._endings import Ending, names_left
from agentguard.content.actions._english import bases, words
from agentguard.content.actions._tools import bases_of

SHORTEST: Final = 4  # letters of a word by which an answer and a result tell of the same
_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s|\n|(?:, |\b)(?:but|though|although)\b")
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’]t\b)?")  # noqa: RUF001
_NOTHING_BAD: Final = re.compile(
    r"\b(?:no|none|zero|0|without|nothing)\W+(?:\w+\W+)?(?:errors?|fail\w*|problems?|issues?)\b"
)
#: Words of results that say nothing of their own.
_FORMAL: Final = frozenset("status state error code exit result reason message false true".split())
_FIRST: Final = frozenset("first initially originally earlier before attempt".split())


def owns_up(claim: Compared, answer: str, ending: Ending) -> bool:
    """Tell whether the sentences of an answer beside a claim say how a call came out."""
    told = {word for word in _words(f"{ending.why}\n{ending.left}") if len(word) >= SHORTEST} - _FORMAL
    said_so = bases_of(told) - claim.about
    if not said_so:
        return False
    beside = (answer[: claim.stated.start], answer[claim.stated.end :])
    for sentence in (each for part in beside for each in _SENTENCE.split(part)):
        said = set(_words(_NOTHING_BAD.sub(" ", sentence.casefold())))
        shared = said_so & bases_of(said)
        if shared and not said & _FIRST and (ending.outcome == "pending" or _is_bad(said) or _are_left(shared)):
            return True
    return False


def _is_bad(said: set[str]) -> bool:
    return bool(said & words("not") or bases_of(said) & bases("bad"))


def _are_left(shared: frozenset[str]) -> bool:
    """Tell whether one of some words names what was left undone: "skipped"."""
    return bool(shared & bases_of(names_left()))


def _words(text: str) -> list[str]:
    return [word.replace("’", "'") for word in _WORD.findall(text.casefold())]  # noqa: RUF001
