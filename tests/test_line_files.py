"""Lines of files are read in constant memory and bounded time: blank runs, long lines and compressed bombs too."""

from __future__ import annotations

import gzip
import io
import tracemalloc
import zlib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard._limits import LIMITS
from agentguard._line_files import ALWAYS_UNPACKED, Bloated, Damaged, lines_of, unpacked
from agentguard.errors import DataError


class Generated(io.RawIOBase):
    """A stream whose bytes are made when they are asked for, and counted."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""
        self.taken = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]  # the buffer's type has no public name
        if not self._rest:
            self._rest = next(self._pieces, b"")
        data, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(data)] = data
        self.taken += len(data)
        return len(data)


def read(raw: bytes, limit: int = 1_000) -> list[tuple[int, bytes | None]]:
    return list(lines_of(unpacked(io.BufferedReader(io.BytesIO(raw))), "calls.jsonl", limit))  # type: ignore[arg-type]


def packed(pieces: Iterator[bytes]) -> bytes:
    packing = zlib.compressobj(9, wbits=31)
    return b"".join([packing.compress(piece) for piece in pieces]) + packing.flush()


def test_the_bound_of_blank_bytes_is_that_of_the_record_of_limits() -> None:
    assert LIMITS.blank_bytes == 64 * 2**20
    assert LIMITS.line_bytes == 64 * 2**20


def test_blank_lines_are_counted_and_not_given() -> None:
    assert read(b"\n \t\r\na\n\x0b\x0c\n  b  \r\n\n") == [(3, b"a"), (5, b"b")]


@pytest.mark.parametrize("blanks", [1, 15, 16, 17, 65_535, 65_536, 65_537, 3_000_000])
def test_the_line_after_a_run_of_blank_lines_has_its_own_number(blanks: int) -> None:
    assert read(b"a\n" + b"\n" * blanks + b"b\n") == [(1, b"a"), (blanks + 2, b"b")]


def test_white_space_before_data_is_no_line_of_its_own() -> None:
    assert read(b"\n" * 40 + b" " * 70_000 + b"a\nb") == [(41, b"a"), (42, b"b")]


def test_a_byte_order_mark_stands_before_the_first_line_only() -> None:
    assert read(b"\xef\xbb\xbf\n\xef\xbb\xbfa\n") == [(2, b"\xef\xbb\xbfa")]


def test_as_many_blank_bytes_as_the_bound_are_passed_over_again_and_again() -> None:
    run = b"\n" * LIMITS.blank_bytes

    assert read(gzip.compress(run + b"a\n" + run[:-1] + b" b\n")) == [
        (LIMITS.blank_bytes + 1, b"a"),
        (2 * LIMITS.blank_bytes + 1, b"b"),
    ]


def test_of_more_blank_bytes_no_more_is_read_and_file_and_line_are_told() -> None:
    endless = Generated(iter(lambda: b"\n" * 50_000, b""))

    with pytest.raises(DataError) as told:
        list(lines_of(io.BufferedReader(endless), "calls.jsonl"))

    assert LIMITS.blank_bytes < endless.taken < LIMITS.blank_bytes + 500_000
    place, _, said = str(told.value).partition(": ")
    name, line = place.split(":")
    assert (name, said) == (
        "calls.jsonl",
        "more than 67,108,864 bytes without data: the file is not read beyond",
    )
    assert LIMITS.blank_bytes < int(line) <= endless.taken + 1


def test_a_line_of_nothing_but_spaces_is_blank_however_long_it_is() -> None:
    assert read(b" " * 5_000 + b"\na\n", limit=100) == [(2, b"a")]


def test_spaces_without_an_end_are_not_read_beyond_the_bound() -> None:
    endless = Generated(iter(lambda: b" " * 50_000, b""))

    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=r"^calls.jsonl:1: more than 67,108,864 bytes without data"):
            list(lines_of(io.BufferedReader(endless), "calls.jsonl", 100_000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert endless.taken < LIMITS.blank_bytes + 500_000
    assert peak < 1_000_000


def test_compressed_data_that_comes_to_hundreds_of_times_its_size_is_not_unpacked_to_its_end() -> None:
    zeros = b"\0" * 2**20
    bomb = packed(zeros for _ in range(400))
    told: list[str] = []

    tracemalloc.start()
    try:
        with pytest.raises(DataError) as raised:
            told = [str(line) for line in lines_of(unpacked(io.BufferedReader(io.BytesIO(bomb))), "x.gz", 1_000)]  # type: ignore[arg-type]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert told == []
    assert str(raised.value).startswith("x.gz:1: it unpacks to more than 256 times its size, 268,")
    assert "unpack it first" in str(raised.value)
    assert peak < 2_000_000  # of 419,430,400 bytes


def test_a_small_file_is_unpacked_whatever_its_ratio() -> None:
    row = b'{"tool": "t", "result": 1}\n'
    raw = gzip.compress(row * 200_000)
    assert len(raw) * LIMITS.unpacked_ratio < len(row) * 200_000 < ALWAYS_UNPACKED

    assert len(read(raw)) == 200_000


def test_a_stream_that_is_read_by_itself_raises_the_same() -> None:
    zeros = b"\0" * 2**20
    plain = unpacked(io.BufferedReader(io.BytesIO(packed(zeros for _ in range(300)))))  # type: ignore[arg-type]

    assert sum(len(plain.read(2**20)) for _ in range(255)) == ALWAYS_UNPACKED - 2**20
    with pytest.raises(Bloated):
        plain.read(2**21)


@pytest.mark.parametrize("cut", [12, 400, 2_000, -9, -1])
def test_damaged_data_names_the_line_that_could_not_be_read(cut: int) -> None:
    raw = gzip.compress(b"\n\n" + b"".join(b"%d\n" % (number * number) for number in range(5_000)))[:cut]
    left = zlib.decompressobj(wbits=31).decompress(raw)
    found: list[tuple[int, bytes | None]] = []

    with pytest.raises(Damaged) as damaged:
        found.extend(lines_of(unpacked(io.BufferedReader(io.BytesIO(raw))), "a.gz", 100))  # type: ignore[arg-type]

    whole = left.count(b"\n")
    assert found == [(number + 3, b"%d" % (number * number)) for number in range(max(whole - 2, 0))]
    assert damaged.value.line == whole + 1
    assert str(damaged.value).startswith(f"a.gz:{whole + 1}: the compressed data is damaged or cut off")


@given(st.lists(st.binary(max_size=6) | st.sampled_from([b"", b" ", b"\t\r", b"a" * 9]), max_size=40), st.booleans())
def test_lines_are_those_that_splitting_gives(pieces: list[bytes], gzipped: bool) -> None:
    raw = b"\n".join(pieces)
    expected = [
        (number, line.strip())
        for number, line in enumerate(raw.split(b"\n"), 1)
        if line.strip() and not raw.startswith((b"\xef", b"\x1f"))
    ]

    found = [] if raw.startswith((b"\xef", b"\x1f")) else read(gzip.compress(raw) if gzipped else raw, 100)

    assert found == expected
