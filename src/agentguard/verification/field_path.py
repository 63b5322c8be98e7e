"""Paths by which a declaration names a place in arguments and results: ``quote.price``, ``rows[].id``.

::

    path  = first *("." step)
    first = step | 1*"[]"          ; a result that is a list begins with []
    step  = key *"[]"              ; [] is every element of a list
    key   = 1*character            ; none of . [ ], and no white space at either end

A path speaks of a result's form, so no step names one element: there is no ``rows[0]``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from .walk import child_path

__all__ = ["EACH", "FieldPath", "place_of"]

EACH: Final = "[]"
MAX_STEPS: Final = 64  # deeper than any result is looked into
_SHOWN: Final = 80  # characters of a faulty path in a message

_PIECE = re.compile(r"([^.\[\]]*)((?:\[\])*)")  # a key and its []
_POSITION = re.compile(r"\[(?:\*|-?\d*(?::-?\d*)*)\]")  # [0], [*], [1:3], as other languages of paths write them
_QUOTED_KEY = re.compile(r"""\[(["'])([^"'.\[\]]+)\1\]""")
_DOTS = re.compile(r"\s*\.(?:\s*\.)*\s*")


class FieldPath(NamedTuple):
    """A path taken apart; ``str`` puts it together again.

    Attributes:
        steps: keys, and ``"[]"`` for every element of a list.

    >>> FieldPath.parse("orders[].customer.id").steps
    ('orders', '[]', 'customer', 'id')
    """

    steps: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> FieldPath:
        """Take a path apart.

        Raises:
            ValueError: in words, with what to write instead where that can be told.
        """
        steps = _steps(text)
        if steps is None:
            mended = _mended(text) if len(text) <= _SHOWN else ""
            instead = f"write {mended!r}" if _steps(mended) else "write it like 'quote.price' or 'rows[].id'"
            raise ValueError(f"{_shown(text)!r} {_fault(text)}; {instead}")
        if len(steps) > MAX_STEPS:
            raise ValueError(f"{_shown(text)!r} has {len(steps):,} steps; no result is looked into below {MAX_STEPS}")
        return cls(steps)

    def __str__(self) -> str:
        return "".join(step if step == EACH or not position else f".{step}" for position, step in enumerate(self.steps))

    @property
    def place(self) -> str:
        """The place as a walk over a value names it: digits in keys are ``#`` (see ``walk``).

        >>> FieldPath.parse("cards[].line_1").place
        'cards[].line_#'
        """
        place = ""
        for step in self.steps:
            place = place + EACH if step == EACH else child_path(place, step)
        return place


@lru_cache(maxsize=4_096)
def place_of(path: str) -> str:
    """``FieldPath.parse(path).place``, remembered.

    Raises:
        ValueError: where it is no path.
    """
    return FieldPath.parse(path).place


def _steps(text: str) -> tuple[str, ...] | None:
    """The steps of a path, or None where it is none."""
    steps: list[str] = []
    for position, part in enumerate(text.split(".")):
        match = _PIECE.fullmatch(part)
        if match is None:
            return None
        key, lists = match.groups()
        if key != key.strip() or not (key or (lists and position == 0)):
            return None
        steps += [key] if key else []
        steps += [EACH] * (len(lists) // 2)
    return tuple(steps)


def _fault(text: str) -> str:
    """What is wrong with text that is no path, the first thing first."""
    if not text.strip():
        return "is empty"
    if match := _POSITION.search(text.replace(EACH, "")) or _QUOTED_KEY.search(text):
        return f"has {_shown(match[0])!r}, where [] stands for every element of a list and a dot for a key"
    if "[" in text.replace(EACH, "") or "]" in text.replace(EACH, ""):
        return "has a bracket that is not part of []"
    parts = text.split(".")
    if not all(part.strip() for part in parts):
        return "has a dot with no name beside it"
    if any(part.startswith(EACH) for part in parts[1:]):
        return "has a dot before []"
    if any(EACH in part and not part.endswith(EACH) for part in parts):
        return "has a name right after [], without a dot"
    return "has white space around a name"


def _mended(text: str) -> str:
    """The path that is likely to be meant."""
    mended = _QUOTED_KEY.sub(r".\2", _POSITION.sub(EACH, text))
    mended = _DOTS.sub(".", mended.strip()).strip(".").replace(f".{EACH}", EACH)
    return re.sub(r"(\[\])(?=[^.\[\]])", r"\1.", mended).strip()


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
