"""Declared echoes held against a call: the argument on one side, every value at the declared place on the other.

The result is looked through as it is, row by row and not by sample: a declaration holds of all rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Final, Literal, NamedTuple

from .arguments import Arguments
from .canonical import plain
from .document import Document
from .field_path import EACH, FieldPath, place_of
from .sides import normal

__all__ = ["EchoRule", "Rows", "repeats", "values_at"]

SHORTEST: Final = 3  # characters of a part that is found within a word by more than chance
LONG: Final = 32  # characters, from which on a text comes back with other breaks and quotes
MAX_FINDS: Final = 100  # of a part in one value
MAX_COMPARED: Final = 10_000  # pairs of an argument and another value; beyond them values are equal or not
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?", re.ASCII)
_NO_WORD = re.compile(r"[\W_]+")


class Rows(NamedTuple):
    """How many values stand at a declared place, and how many of them are the argument's."""

    total: int
    alike: int


class EchoRule(NamedTuple):
    """A declared echo, compiled.

    Attributes:
        argument: where the argument stands, as declared.
        path: where the result repeats it, as declared.
        rows: of several values, whether ``any`` or ``every`` one must be the argument's; None: as in the past.
        place: the argument's place as a walk names it (see ``field_path``).
        where: the name under which the past of its rows is learned.
        steps: those of ``path``.
    """

    argument: str
    path: str
    rows: Literal["any", "every"] | None
    place: str
    where: str
    steps: tuple[str, ...]

    @classmethod
    def compile(cls, argument: str, path: str, rows: Literal["any", "every"] | None) -> EchoRule:
        """The rule of one entry of a profile's ``echoes``."""
        place = place_of(path)
        asked = place_of(argument)
        return cls(argument, path, rows, asked, f"{asked} {place}", FieldPath.parse(path).steps)

    def rows_of(self, arguments: Arguments, args: Any, document: Document) -> Rows | None:
        """Count the values at the declared place; None where the argument or the place is absent, which says nothing.

        Args:
            arguments: the call's arguments, read.
            args: the same as they were given; of many values ``arguments`` holds the first.
            document: the result.
        """
        texts = [text for path, text in arguments.values if path == self.place]
        if not arguments.complete:
            steps = FieldPath.parse(self.argument).steps
            texts = [text for value in values_at(plain(args), self.argument, steps) if (text := normal(value))]
        if not texts:
            return None
        asked = frozenset(texts)
        total = alike = compared = 0
        for value in self._values(document):
            if value is None or (isinstance(value, str) and not value.strip()):
                continue
            total += 1
            if normal(value) in asked:
                alike += 1
            elif compared < MAX_COMPARED:
                compared += len(texts)
                alike += any(repeats(text, value) for text in texts)
        return Rows(total, alike) if total else None

    def _values(self, document: Document) -> Iterator[Any] | Sequence[Any]:
        if document.is_structured:
            return values_at(document.value, self.path, self.steps)
        return document.leaves.get(place_of(self.path), ())


def values_at(value: Any, name: str, steps: tuple[str, ...]) -> Iterator[Any]:
    """The scalars at a path; at the end of it a list stands for its elements, and a key of that very name counts too.

    >>> list(values_at({"rows": [{"id": 1}, {"id": None}, {}]}, "rows[].id", ("rows", "[]", "id")))
    [1, None]
    """
    if isinstance(value, dict) and name in value and len(steps) > 1:
        yield from _scalars(value[name])
    yield from _values_below(value, steps)


def _values_below(value: Any, steps: tuple[str, ...]) -> Iterator[Any]:
    for position, step in enumerate(steps):
        if step == EACH:
            if isinstance(value, list):
                for item in value:
                    yield from _values_below(item, steps[position + 1 :])
            return
        if not isinstance(value, dict) or step not in value:
            return
        value = value[step]
    yield from _scalars(value)


def _scalars(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from (item for item in value if not isinstance(item, (dict, list)))
    elif not isinstance(value, dict):
        yield value


def repeats(text: str, value: Any) -> bool:
    """A value is the argument's (``text``, as ``normal`` makes it), or one of them is a part of the other.

    Numbers are compared as numbers, and are no part of longer ones; what is shorter than three characters is a part
    only as a word of its own.

    >>> repeats("s-1", "S-1 (blue)"), repeats("s-1", "S-10"), repeats("4711", "ORD-0004711"), repeats("12.5", 12.50)
    (True, False, True, True)
    """
    other = value.strip().lower() if isinstance(value, str) else normal(value)
    if text == other or not other:
        return text == other
    if _NUMBER.fullmatch(text) and _NUMBER.fullmatch(other):
        return Decimal(text) == Decimal(other)
    if _is_part(text, other) or _is_part(other, text):
        return True
    if len(text) <= LONG or len(other) <= LONG:
        return False
    text, other = _NO_WORD.sub("", text), _NO_WORD.sub("", other)
    return text in other or other in text


def _is_part(part: str, whole: str) -> bool:
    start = whole.find(part)
    for _ in range(MAX_FINDS):
        if start < 0:
            return False
        before, after = start - 1, start + len(part)
        if part[0].isdigit():
            while before >= 0 and whole[before] == "0":  # 4711 is 0004711
                before -= 1
        begins = before < 0 or not _goes_on(whole[before], part[0], part)
        if begins and (after == len(whole) or not _goes_on(whole[after], part[-1], part)):
            return True
        start = whole.find(part, start + 1)
    return False


def _goes_on(neighbour: str, edge: str, part: str) -> bool:
    """The number, or the short word, that a part ends in does not end there."""
    if edge.isdigit():
        return neighbour.isdigit()
    return len(part) < SHORTEST and neighbour.isalnum()
