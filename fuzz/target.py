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

    The first byte of an input says which harness it is for. Four values in 256 of the second byte make it a large one
    (``Source.large``).

    Args:
        name: as it is named on the command line.
        covers: what is called, for people.
        shares: its harnesses, each with its share of the time, in any unit.

    Attributes:
        shares: of the time, in (0, 1], by the name of the harness.

    >>> letters = [Harness(name, "", lambda trial: None) for name in "ab"]
    >>> target = Target("both", "", dict(zip(letters, (1, 3))))
    >>> [target.opened(bytes([first, 0]))[0].name for first in range(3)], target.shares
    (['a', 'b', 'a'], {'a': 0.25, 'b': 0.75})
    >>> target.opened(target.sealed(letters[1], b"input"))[1:]
    (b'input', False)
    """

    def __init__(self, name: str, covers: str, shares: Mapping[Harness, float]) -> None:
        self.name, self.covers = name, covers
        self.harnesses: Final = tuple(shares)
        self.shares: Final = {harness.name: share / sum(shares.values()) for harness, share in shares.items()}

    def opened(self, data: bytes) -> tuple[Harness, bytes, bool]:
        """The harness that an input is for, the input without its header, and whether it is a large one."""
        first, second = (*data[:HEADER], 0, 0)[:HEADER]
        return self.harnesses[first % len(self.harnesses)], data[HEADER:], second & _LARGE == _LARGE

    def sealed(self, harness: Harness, data: bytes, *, large: bool = False) -> bytes:
        """An input of one of its harnesses as an input of the target."""
        return bytes((self.harnesses.index(harness), _LARGE if large else 0)) + data


def alone(harness: Harness) -> Target:
    """A harness as a target: its inputs are searched by themselves."""
    return Target(harness.name, harness.covers, {harness: 1})
