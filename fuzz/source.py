"""Bytes read as decisions: the same bytes, the same values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

__all__ = ["VERBATIM", "Source"]

T = TypeVar("T")

VERBATIM: Final = b"="
"""An input that begins with this sign is, from there on, the first text that is asked for: seeds stay readable."""


class Source:
    """Draws values from bytes; once these are used up, every draw gives its first possibility.

    Args:
        data: the input.
        large: values may grow far beyond the input: repeated, nested, shared. Such an input shows what takes more than
            linear time, and costs as much as a hundred small ones.

    >>> source = Source(bytes([2, 200]))
    >>> source.choice("abc"), source.integer(0, 9), source.integer(5, 9)
    ('c', 0, 5)
    >>> Source(b"=as it stands").verbatim()
    b'as it stands'
    """

    def __init__(self, data: bytes, *, large: bool = True) -> None:
        self._verbatim = data[1:] if data[:1] == VERBATIM else None
        self._data = b"" if self._verbatim is not None else data
        self._length = len(self._data)
        self._at = 0
        self.large = large

    def verbatim(self) -> bytes | None:
        """What was handed over as it stands; once, then None."""
        given, self._verbatim = self._verbatim, None
        return given

    @property
    def left(self) -> int:
        """Bytes not yet used."""
        return self._length - self._at

    def integer(self, low: int, high: int) -> int:
        """From low to high, both included."""
        span = high - low + 1
        at = self._at
        if at >= self._length or span == 1:
            return low
        if span <= 256:  # most draws by far
            self._at = at + 1
            return low + self._data[at] % span
        return low + int.from_bytes(self.raw(((span - 1).bit_length() + 7) // 8), "little") % span

    def choice(self, among: Sequence[T]) -> T:
        """One of them."""
        return among[self.integer(0, len(among) - 1)]

    def chance(self, one_in: int) -> bool:
        """True in one case of so many; False once the bytes are used up."""
        return self._at < self._length and self.integer(1, one_in) == one_in

    def raw(self, length: int) -> bytes:
        """So many bytes, or those that are left."""
        taken = self._data[self._at : self._at + length]
        self._at += len(taken)
        return taken
