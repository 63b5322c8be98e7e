"""Traces come from files, folders and streams, lazily and in constant memory."""

import codecs
import gzip
import io
import json
import os
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import DataError
from agentguard.traces import BrokenLine, TraceRow, find_traces, read_traces
from agentguard.traces._read import MAX_LINE_BYTES


def line(tool: str = "t", **fields: object) -> bytes:
    return json.dumps({"tool": tool, "result": 1, **fields}).encode() + b"\n"


def tools(rows: Iterator[TraceRow | BrokenLine]) -> list[str]:
    """The tools in order; a broken line shows as its place."""
    return [row.call.tool if isinstance(row, TraceRow) else f"broken:{row.line}" for row in rows]


class Generated(io.RawIOBase):
    """A stream whose bytes are made when they are asked for."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]  # the buffer's type has no public name
        if not self._rest:
            self._rest = next(self._pieces, b"")
        taken, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)


def test_a_file_is_read_in_order_and_lines_are_counted_from_1(tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    file.write_bytes(line("a") + b"\n  \r\n" + b"nonsense\n" + line("b").replace(b"\n", b"\r\n") + line("c").strip())

    rows = list(read_traces(file))

    assert [(row.source, row.line) for row in rows] == [(str(file), number) for number in (1, 4, 5, 6)]
    assert tools(iter(rows)) == ["a", "broken:4", "b", "c"]


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + line("a") + b"\xef\xbb\xbf" + line("b"))

    assert tools(read_traces(file)) == ["a", "broken:2"]


@pytest.mark.parametrize("name", ["calls.jsonl.gz", "calls.jsonl", "calls.log"])
def test_compression_is_known_by_content_not_by_name(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(gzip.compress(line("a")) + gzip.compress(line("b")))

    assert tools(read_traces(file)) == ["a", "b"]


def test_a_plain_file_with_a_compressed_name_is_read(tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl.gz"
    file.write_bytes(line("a"))

    assert tools(read_traces(file)) == ["a"]


def test_a_folder_is_searched_in_sorted_order(tmp_path: Path) -> None:
    for name in (
        "b.jsonl",
        "a/z.jsonl",
        "a/b/c.JSONL",
        ".hidden.jsonl",
        ".git/x.jsonl",
        "notes.txt",
        "c.json",
        "d.csv",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(line(name))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(line("a.jsonl.gz")))
    (tmp_path / "a" / "circle").symlink_to(tmp_path)

    assert tools(read_traces(tmp_path)) == ["a/b/c.JSONL", "a/z.jsonl", "a.jsonl.gz", "b.jsonl", "c.json"]


def test_a_missing_path_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^no such file or folder: .*/absent\.jsonl$"):
        read_traces(tmp_path / "absent.jsonl")


def test_a_folder_without_traces_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")

    with pytest.raises(DataError, match=r"no traces in the folder .*: it has no \*\.jsonl, \*\.jsonl\.gz, \*\.json, "):
        find_traces(tmp_path)


def test_a_path_that_no_system_has_is_refused() -> None:
    with pytest.raises(DataError, match="cannot read"):
        find_traces("a\0b")


def test_a_file_that_goes_missing_while_reading_is_refused(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_bytes(line(name))
    rows = read_traces(tmp_path)
    assert next(rows).source.endswith("a.jsonl")
    (tmp_path / "b.jsonl").unlink()

    with pytest.raises(DataError, match=r"cannot read .*b\.jsonl: No such file"):
        next(rows)


def test_an_error_of_the_device_is_told_as_such() -> None:
    class Failing(io.BytesIO):
        def read1(self, size: int | None = -1, /) -> bytes:
            raise OSError(5, "Input/output error")

    with pytest.raises(DataError, match=r"^cannot read stream: Input/output error$"):
        list(read_traces(Failing()))


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(line("a")))))

    (row,) = read_traces("-")

    assert row.source == "stdin"


def test_a_pipe_is_read_as_it_comes(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with open(reading, "rb") as source, open(writing, "wb", buffering=0) as sink:
        rows = read_traces(source)
        sink.write(line("a"))
        assert tools(iter([next(rows)])) == ["a"]  # the writer has not closed: waiting for more would hang here
        sink.write(line("b"))
        assert tools(iter([next(rows)])) == ["b"]


def test_bytes_read_are_reported_as_stored(tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl.gz"
    file.write_bytes(gzip.compress(line("a", args="x" * 200_000) * 5))
    read: list[int] = []

    list(read_traces(file, on_read=read.append))

    assert sum(read) == file.stat().st_size


@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_line_of_exactly_the_limit_is_read_and_one_byte_more_is_not(end: bytes) -> None:
    row = b'{"tool": "t", "result": 1}'
    limit = len(row)

    assert tools(read_traces(io.BytesIO(b"\n".join([row, row]) + end), max_line_bytes=limit)) == ["t", "t"]
    assert tools(read_traces(io.BytesIO(b"\n".join([row, row + b" "]) + end), max_line_bytes=limit)) == [
        "t",
        "broken:2",
    ]


def test_the_reason_for_a_long_line_names_the_limit() -> None:
    (broken,) = read_traces(io.BytesIO(line("t" * 50)), max_line_bytes=26)

    assert broken == BrokenLine("stream", 1, "longer than 26 bytes")
    assert MAX_LINE_BYTES == 64 * 1024 * 1024


def test_a_long_line_is_passed_over_without_being_held() -> None:
    def pieces() -> Iterator[bytes]:
        yield line("before")
        for _ in range(1_000):
            yield b"x" * 50_000
        yield b"\n" + line("after")

    tracemalloc.start()
    try:
        found = tools(read_traces(Generated(pieces()), max_line_bytes=100_000))  # type: ignore[arg-type]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert found == ["before", "broken:2", "after"]
    assert peak < 2_000_000  # of 50,000,000 bytes that the line has


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_cut_off_compressed_data_ends_its_file_with_one_broken_line(tmp_path: Path, share: float) -> None:
    whole = gzip.compress(b"".join(line(f"tool{number}") for number in range(300)))
    (tmp_path / "a.jsonl.gz").write_bytes(whole[: int(len(whole) * share)])
    (tmp_path / "b.jsonl").write_bytes(line("next_file"))

    *first, last = read_traces(tmp_path)

    *kept, broken = first
    assert tools(iter(kept)) == [f"tool{number}" for number in range(len(kept))]
    assert isinstance(broken, BrokenLine)
    assert broken.line == len(kept) + 1
    assert broken.reason.startswith("the compressed data is damaged or cut off")
    assert tools(iter([last])) == ["next_file"]


def test_damaged_compressed_data_keeps_what_was_read_before() -> None:
    rows = b"".join(line(f"tool{number}", args=os.urandom(90).hex()) for number in range(5_000))
    whole = bytearray(gzip.compress(rows))
    whole[-8:-4] = b"\0\0\0\0"  # the checksum

    found = tools(read_traces(io.BytesIO(bytes(whole))))

    assert found[:4_900] == [f"tool{number}" for number in range(4_900)]
    assert found[-1].startswith("broken:")


lines = st.lists(st.binary() | st.builds(line, st.text(max_size=5), args=st.text(max_size=5)), max_size=6)


@given(lines, st.sampled_from(["plain", "gzip", "cut"]), st.integers(1, 80))
def test_any_bytes_are_read_to_their_end(pieces: list[bytes], form: str, limit: int) -> None:
    raw = b"\n".join(pieces)
    if form != "plain":
        raw = gzip.compress(raw)[: -9 if form == "cut" else None]

    rows = list(read_traces(io.BytesIO(raw), max_line_bytes=limit))

    numbers = [row.line for row in rows]
    assert numbers == sorted(set(numbers))
    assert len(rows) <= b"\n".join(pieces).count(b"\n") + 2


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_byte_order_mark_says_what_a_text_is_written_in(
    tmp_path: Path, encoding: str, pack: Callable[[bytes], bytes]
) -> None:
    lines = '{"tool": "a", "result": "Zürich 中"}\n{"tool": "b", "result": 7}\n'
    mark = codecs.BOM_UTF16_BE if encoding == "utf-16-be" else b""
    path = tmp_path / "calls.jsonl"
    path.write_bytes(pack(mark + lines.encode(encoding)))
    rows = [row for row in read_traces(path) if isinstance(row, TraceRow)]
    assert [row.call.result for row in rows] == ["Zürich 中", 7]
