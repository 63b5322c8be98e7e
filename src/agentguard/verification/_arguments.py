"""A call's arguments, read once: their key, their values by path, their words."""

from __future__ import annotations

import re
from typing import Any, Final
from zlib import crc32

from agentguard.verification._canonical import args_key, made_plain
from agentguard.verification._sides import Side, normal
from agentguard.verification._walk import child_path

MAX_VALUES: Final = 40  # scalars
MAX_READ: Final = 1_000  # containers and scalars
MAX_WORDS: Final = 32  # of one value
MAX_DEPTH: Final = 6  # levels
_WORD = re.compile(r"[A-Za-z0-9_]+")


class Arguments:
    """The arguments of a call as the checks need them.

    Attributes:
        key: 16 bytes, equal for equal arguments.
        values: ``(path, normalised text)`` of the scalar arguments, the empty ones and flags left out.
        complete: False where there are too many to read all.
    """

    __slots__ = ("_left", "_marks", "_side", "_words", "complete", "key", "values")

    def __init__(self, args: Any) -> None:
        self.key = args_key(args)
        self.values: list[tuple[str, str]] = []
        self._left = MAX_READ
        self._words: frozenset[int] | None = None
        self._side: Side | None = None
        self._marks: tuple[int, ...] | None = None
        self.complete = True
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
    def place(self) -> str:
        """These arguments in a trait: 12 hexadecimal digits of the key."""
        return self.key[:6].hex()

    @property
    def side(self) -> Side:
        """The values as relations compare them."""
        if self._side is None:
            leaves: dict[str, list[str]] = {}
            for path, text in self.values:
                leaves.setdefault(path, []).append(text)
            self._side = Side(leaves)
        return self._side

    @property
    def marks(self) -> tuple[int, ...]:
        """Marks of the distinct values, in their order."""
        if self._marks is None:
            side = self.side
            self._marks = tuple(dict.fromkeys([mark for path in side.paths for mark in side.marks(path) if mark]))
        return self._marks

    @property
    def words(self) -> frozenset[int]:
        """Checksums of the distinct words of all values: enough to compare arguments, no text kept."""
        if self._words is None:
            checksums: set[int] = set()
            for _, text in self.values:
                for word in _WORD.findall(text):
                    checksums.add(crc32(word.encode()))
                    if len(checksums) >= MAX_WORDS:
                        break
            self._words = frozenset(checksums)
        return self._words
