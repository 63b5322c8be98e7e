"""The keys of rows on disk: bytes whose order is the order of what they stand for, and which name nothing twice.

A key is a letter for the kind of row, then names and numbers. A name is its UTF-8 (lone surrogates as they are), with
a zero byte written as 00 FF, and ends in a zero byte; a number is eight bytes, big end first, the first of them never
FF. So no name can be taken for the beginning of another, whatever characters are in it.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

__all__ = ["after", "digest", "last_name", "last_number", "named", "numbered"]

LEAST: Final = -(1 << 61)  # hours may lie before the epoch
MOST: Final = (1 << 61) - 1


def named(prefix: bytes, name: str) -> bytes:
    r"""The prefix and a name.

    >>> named(b"d", "a\0b")
    b'da\x00\xffb\x00'
    """
    return prefix + name.encode("utf-8", "surrogatepass").replace(b"\0", b"\0\xff") + b"\0"


def numbered(prefix: bytes, number: int) -> bytes:
    r"""The prefix and a number; numbers beyond ``LEAST`` and ``MOST``, which no clock reaches, are held to these.

    >>> numbered(b"h", 1)
    b'h \x00\x00\x00\x00\x00\x00\x01'
    """
    return prefix + (min(max(number, LEAST), MOST) - LEAST).to_bytes(8, "big")


def digest(prefix: bytes, text: str) -> bytes:
    """The prefix and 32 bytes for a text that is asked for again and never read back, of any length."""
    return prefix + blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).digest()


def after(prefix: bytes) -> bytes:
    """The first key beyond all that begin so."""
    return prefix + b"\xff"


def last_number(key: bytes) -> int:
    """The number at the end of a key.

    >>> last_number(numbered(b"h", -5))
    -5
    """
    return int.from_bytes(key[-8:], "big") + LEAST


def last_name(prefix: bytes, key: bytes) -> str:
    r"""The name at the end of a key.

    >>> last_name(b"d", named(b"d", "a\0b"))
    'a\x00b'
    """
    return key[len(prefix) : -1].replace(b"\0\xff", b"\0").decode("utf-8", "surrogatepass")
