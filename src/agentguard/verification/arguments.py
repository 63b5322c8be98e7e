"""A call's arguments, read once: their key, their values by path, their words."""

from __future__ import annotations

import re
from typing import Any, Final
from zlib import crc32

from .canonical import args_key, made_plain
from .walk import child_path

__all__ = ["Arguments", "normal"]

MAX_VALUES: Final = 40
MAX_READ: Final = 1_000  # containers and scalars
MAX_VALUE_LENGTH: Final = 400
MAX_WORDS: Final = 32
MAX_DEPTH: Final = 6
_WORD = re.compile(r"[A-Za-z0-9_]+")


def normal(value: Any) -> str:
    """A scalar as the text by which it is compared: case, outer space and a float's ``.0`` put aside.

    >>> normal(" Paris "), normal(5.0), normal(True)
    ('paris', '5', '')
    """
    kind = type(value)
    if kind is str:
        return value[:MAX_VALUE_LENGTH].strip().lower() if len(value) <= MAX_VALUE_LENGTH else ""
    if kind is int and -(2**63) <= value < 2**64:
        return str(value)
    if kind is float:
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return ""


class Arguments:
    """What the checks need to know of a call's arguments.

    Attributes:
        key: 16 bytes, equal for equal arguments.
        values: ``(path, normalised text)`` of the scalar arguments, the empty ones and flags left out.
        complete: all of them were read; False where there are too many.
        echoes: which of them the call's result repeats; worked out on first use, by ``echoes.find_echoes``.
    """

    __slots__ = ("_left", "_words", "complete", "echoes", "key", "values")

    def __init__(self, args: Any) -> None:
        self.key: bytes = args_key(args)
        self.values: list[tuple[str, str]] = []
        self._left: int = MAX_READ
        self._words: frozenset[int] | None = None
        self.echoes: list[Any] | None = None
        self.complete: bool = True
        if type(args) is dict:
            self.complete = self._read(args, "", 0)
        elif args is not None:
            self.complete = self._read(made_plain(args, 2 * MAX_READ).value, "", 0)

    def _read(self, value: Any, path: str, depth: int) -> bool:
        """Take the scalars at this path and below; False once enough were read."""
        kind = type(value)
        self._left -= 1  # whatever it is, so that a wide cycle and a million empty objects come to an end
        if kind is dict and depth < MAX_DEPTH:
            for key, item in value.items():
                if not self._read(item, child_path(path, key) if type(key) is str else path, depth + 1):
                    return False
            return self._left > 0
        if (kind is list or kind is tuple) and depth < MAX_DEPTH:
            below = path + "[]"
            return all(self._read(item, below, depth + 1) for item in value) and self._left > 0
        text = normal(value)
        if text:
            self.values.append((path, text))
        return self._left > 0 and len(self.values) < MAX_VALUES

    def names(self, name: str) -> bool:
        """The arguments say this name: a query for named columns has those columns in its answer.

        >>> arguments = Arguments({"query": "SELECT name, price FROM products"})
        >>> arguments.names("price"), arguments.names("stock"), arguments.names("")
        (True, False, False)
        """
        if not name:
            return False
        lowered = name.lower()
        pattern = re.compile(rf"(?<!\w){re.escape(lowered)}(?!\w)")
        return any(lowered in text and pattern.search(text) is not None for _, text in self.values)

    @property
    def words(self) -> frozenset[int]:
        """Checksums of the distinct words of all values: enough to compare arguments, no text kept."""
        if self._words is None:
            found: set[int] = set()
            for _, text in self.values:
                for word in _WORD.findall(text):
                    found.add(crc32(word.encode()))
                    if len(found) >= MAX_WORDS:
                        break
            self._words = frozenset(found)
        return self._words
