"""Several harnesses as one target of a long search: the first byte of an input says which of them it is for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fuzz.harness import Harness

__all__ = ["HEADER", "Target", "alone"]

HEADER: Final = 2
"""Bytes before an input: which harness, and whether it is a large one."""

_LARGE: Final = 0x3F  # of the second byte: one value in 64


class Target:
    """A family of harnesses that are searched together.

    A harness has more values of the first byte than another by its share: what takes a hundred times as long for an
    input gets fewer of them. Four values in 256 of the second byte make an input a large one (``Source.large``).

    Args:
        name: as it is named on the command line.
        covers: what is called, for people.
        shares: its harnesses, each with how many values of the first byte it has for one of the others.

    >>> letters = [Harness(name, "", lambda trial: None) for name in "ab"]
    >>> target = Target("both", "", dict(zip(letters, (1, 3))))
    >>> [target.opened(bytes([first, 0]))[0].name for first in range(5)]
    ['a', 'b', 'b', 'b', 'a']
    >>> target.opened(target.sealed(letters[1], b"input"))[1:]
    (b'input', False)
    """

    def __init__(self, name: str, covers: str, shares: Mapping[Harness, int]) -> None:
        self.name, self.covers = name, covers
        self.harnesses: Final = tuple(shares)
        self._table = [harness for harness, share in shares.items() for _ in range(share)]

    def opened(self, data: bytes) -> tuple[Harness, bytes, bool]:
        """The harness that an input is for, the input without its header, and whether it is a large one."""
        first, second = (*data[:HEADER], 0, 0)[:HEADER]
        return self._table[first % len(self._table)], data[HEADER:], second & _LARGE == _LARGE

    def sealed(self, harness: Harness, data: bytes, *, large: bool = False) -> bytes:
        """An input of one of its harnesses as an input of the target."""
        return bytes((self._table.index(harness), _LARGE if large else 0)) + data


def alone(harness: Harness) -> Target:
    """A harness as a target: its inputs are searched by themselves."""
    return Target(harness.name, harness.covers, {harness: 1})
