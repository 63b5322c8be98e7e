"""Lines of files and streams, plain or gzipped, in constant memory and in bounded time whatever is in them.

Text is UTF-8, or what its byte order mark says: UTF-16 is recoded.

A megabyte of gzip may hold a billion blank lines, or one line of a gigabyte. Blank lines are passed over a block at a
time, and no more of them than ``LIMITS.blank_bytes`` one after the other; of a long line no more is held than a limit;
and what unpacks to hundreds of times its size is not unpacked to its end.
"""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, cast

from agentguard._limits import LIMITS
from agentguard.errors import DataError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
DAMAGED: Final = (EOFError, zlib.error, gzip.BadGzipFile)
"""What reading raises where compressed data is damaged or cut off."""

DAMAGED_SAID: Final = "the compressed data is damaged or cut off: the file is not read beyond"
BLANK_SAID: Final = f"more than {LIMITS.blank_bytes:,} bytes without data: the file is not read beyond"
PIECE: Final = 1 << 16
ALWAYS_UNPACKED: Final = 1 << 28  # bytes, whatever the ratio: a log may have one call again and again
FEW: Final = 16
"""Blank lines in a row that are read as lines: to look ahead takes as long as some of them."""

_MAGIC: Final = b"\x1f\x8b"
_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Bloated(DataError):
    """Compressed data that holds far more than logs do: made to keep its reader busy."""


class Damaged(DataError):
    """Compressed data that is damaged or cut off.

    Attributes:
        line: the number of the line that could not be read.
    """

    def __init__(self, name: str, line: int) -> None:
        super().__init__(f"{name}:{line}: {DAMAGED_SAID}")
        self.line = line


def unpacked(stream: io.BufferedReader) -> io.BufferedReader:
    """The stream, decompressed where it begins as gzip does, and as UTF-8 where it then begins as UTF-16 does.

    No text and no JSON begins as gzip does, and no UTF-8 as UTF-16 with a byte order mark does.

    Reading raises one of ``DAMAGED``, or ``Bloated`` where more than ``LIMITS.unpacked_ratio`` times the compressed
    size has come out of it, and more than 256 MiB.
    """
    first = stream.peek(2)[:2]
    if first and _MAGIC.startswith(first):
        return io.BufferedReader(_Recoded(io.BufferedReader(_Unpacking(stream), PIECE)), PIECE)
    return io.BufferedReader(_Recoded(stream), PIECE) if _is_utf_16(first) else stream


def _is_utf_16(first: bytes) -> bool:
    return bool(first) and any(mark.startswith(first) for mark in _UTF_16)


def lines_of(
    stream: io.BufferedReader, name: str, limit: int = LIMITS.line_bytes
) -> Iterator[tuple[int, bytes | None]]:
    """The lines with something in them, each with its number, from 1, and without the white space around it.

    Args:
        stream: plain, or from ``unpacked``.
        name: what messages call it.
        limit: of a line's bytes, its line feed not counted; of a longer one stands None.

    Raises:
        Damaged: where the compressed data is.
        DataError: where more than ``LIMITS.blank_bytes`` without data follow one another, or the stream is bloated.
        OSError: where it cannot be read.
    """
    number = 1  # of the line that comes next
    blank = again = 0  # bytes and lines since there was data
    try:
        while line := stream.readline(limit + 1):
            at = number
            number += line.endswith(b"\n")
            if line.isspace():
                blank, again = blank + len(line), again + 1
                for block in blank_blocks(stream) if again >= FEW else ():
                    blank, number = blank + len(block), number + block.count(b"\n")
                    if blank > LIMITS.blank_bytes:
                        break
                if blank > LIMITS.blank_bytes:
                    raise DataError(BLANK_SAID)
                continue
            blank = again = 0
            if len(line) > limit and not line.endswith(b"\n"):
                del line  # so that the piece held and the pieces passed over are not in memory together
                while (piece := stream.readline(PIECE)) and not piece.endswith(b"\n"):
                    pass
                number += 1
                yield at, None
                continue
            line = (line.removeprefix(BYTE_ORDER_MARK) if at == 1 else line).strip()
            if line:
                yield at, line
    except DAMAGED:
        raise Damaged(name, number) from None
    except DataError as error:
        raise DataError(f"{name}:{number}: {error}") from None


def blank_blocks(stream: io.BufferedReader) -> Iterator[bytes]:
    """The white space that comes next, a block at a time, up to what is none."""
    while ahead := stream.peek(1):
        blank = len(ahead) - len(ahead.lstrip())
        if blank:
            yield stream.read(blank)
        if blank < len(ahead):
            return


class _Unpacking(io.RawIOBase):
    """Decompresses, and holds what came out against what went in."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._packed = _Counted(stream)
        self._plain = gzip.GzipFile(fileobj=cast("Any", self._packed), mode="rb")
        self._out = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        taken: int = self._plain.readinto1(buffer)  # what comes before damage is handed over before it is told of
        self._out += taken
        if self._out > ALWAYS_UNPACKED and self._out > LIMITS.unpacked_ratio * self._packed.count:
            raise Bloated(
                f"it unpacks to more than {LIMITS.unpacked_ratio} times its size, {self._out:,} bytes so far: the file "
                "is not read beyond; unpack it first where all of it is meant"
            )
        return taken


class _Recoded(io.RawIOBase):
    """A stream as UTF-8: recoded where it begins as UTF-16 does."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self._decoder: codecs.IncrementalDecoder | None = None
        self._ready = b""
        self._begun = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        while not self._ready:
            data = self._stream.read1(PIECE)
            if not self._begun and _is_utf_16(data[:2]):
                self._decoder = codecs.getincrementaldecoder("utf-16")("replace")
            self._begun = True
            self._ready = self._decoder.decode(data, not data).encode("utf-8", "replace") if self._decoder else data
            if not data:
                break
        taken, self._ready = self._ready[: len(view)], self._ready[len(view) :]
        view[: len(taken)] = taken
        return len(taken)


class _Counted:
    """A stream that counts what is read of it, with as much of a file as ``GzipFile`` asks for."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.count = 0

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._stream.read(size)
        self.count += len(data)
        return data
