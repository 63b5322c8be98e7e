"""Whether a word stands near a place in a text that names what is there: a label, a field's name, a phrase."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["distance_to_name", "stands_alone"]

BEFORE, AFTER = 50, 30  # characters in which a name is looked for
# "userSsn" and "user_ssn" name what they hold as "user ssn" does.
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|_")
# The next or the last member of an object names something else.
MEMBER = re.compile(r"[,{}]\s*[\"']")


@lru_cache(maxsize=512)
def _names(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W\d_])(?:{words})(?![^\W\d_])", re.IGNORECASE)


def distance_to_name(text: str, start: int, end: int, words: str) -> int | None:
    """How many characters lie between a place and the nearest word that names it; None where there is none.

    A name stands in the same line or, where the place opens its line, in the line before; in structured text, in the
    same member of an object.

    >>> distance_to_name('{"ssn": "078051121"}', 9, 18, "ssn"), distance_to_name("on 12 May", 3, 9, "ssn")
    (4, None)
    """
    names = _names(words)
    before = _same_member(CAMEL.sub(" ", _same_line(text[max(0, start - BEFORE) : start])))
    last = None
    for last in names.finditer(before):  # noqa: B007 - the last match is the nearest
        pass
    after = CAMEL.sub(" ", MEMBER.split(text[end : end + AFTER].partition("\n")[0], maxsplit=1)[0])
    following = names.search(after)
    distances = [] if last is None else [len(before) - last.end()]
    if following is not None:
        # A name that follows belongs to the place less often than one that precedes.
        distances.append(2 * following.start() + 1)
    return min(distances, default=None)


def _same_line(before: str) -> str:
    *earlier, line = before.split("\n")
    return line if line.strip(" \t\"'") or not earlier else f"{earlier[-1]} {line}"


def _same_member(before: str) -> str:
    member = MEMBER.split(before)[-1]
    # The quotation mark of the place itself opens no member.
    return member if member.strip() else before


def stands_alone(text: str, start: int, end: int) -> bool:
    """Whether a place is not a piece of something longer: a word, a decimal number, an identifier with separators.

    >>> stands_alone("id-078051121", 3, 12), stands_alone("3.078051121", 2, 11), stands_alone("(078051121).", 1, 10)
    (True, False, True)
    """
    left, right = text[max(0, start - 2) : start], text[end : end + 2]
    if (left[-1:].isalnum() or left[-1:] == "_") or (right[:1].isalnum() or right[:1] == "_"):
        return False
    return not (left[-1:] in "-.," and left[:1].isdigit() and len(left) == 2) and not (
        right[:1] in "-." and right[1:].isdigit()
    )
