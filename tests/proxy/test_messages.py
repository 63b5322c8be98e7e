"""Messages as bytes: lines of a stream, ids that find their requests, readers that refuse no more than clients do."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.proxy._messages import Lines, key_of, read_exactly, read_message, write_message

from ..rows import over


def chunked(data: bytes, cuts: list[int]) -> list[bytes]:
    at = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:end] for start, end in pairwise(at)]


@given(st.lists(st.binary(max_size=12).map(lambda each: each.replace(b"\n", b""))), st.lists(st.integers(0, 200)))
def test_lines_are_those_of_the_stream_however_it_is_cut(lines: list[bytes], cuts: list[int]) -> None:
    data = b"".join(each + b"\n" for each in lines) + b"rest"
    reader = Lines()
    read = [line for chunk in chunked(data, cuts) for line in reader.feed(chunk)]

    assert [line.data for line in read] == [each + b"\n" for each in lines]
    assert all(line.whole for line in read)
    rest = reader.rest()
    assert rest is not None
    assert rest.data == b"rest"


@given(st.binary(max_size=60), st.lists(st.integers(0, 60)))
def test_nothing_is_lost_of_lines_that_are_too_long(data: bytes, cuts: list[int]) -> None:
    reader = Lines(longest=8)
    read = [line for chunk in chunked(data, cuts) for line in reader.feed(chunk)]
    rest = reader.rest()

    assert b"".join(line.data for line in read) + (rest.data if rest else b"") == data
    assert all(len(line.data) <= 9 for line in read if line.whole)
    assert all(line.data.endswith(b"\n") for line in read if line.whole)


def test_a_line_that_is_too_long_is_in_pieces_to_its_end() -> None:
    reader = Lines(longest=4)

    assert [(line.data, line.whole) for chunk in (b"abcdef", b"gh", b"i\nxy\n") for line in reader.feed(chunk)] == [
        (b"abcdef", False), (b"gh", False), (b"i\n", False), (b"xy\n", True),
    ]  # fmt: skip


@pytest.mark.parametrize("data", [b'{"a": NaN}', b'{"a": "\\ud800"}', b'{"a": "\xff"}', b'{"a": 1e999}'])
def test_what_a_lenient_client_reads_is_read(data: bytes) -> None:
    assert set(read_message(data)) == {"a"}


@over("data", [b"", b"{", b"hello", b"[" * 200_000, b'{"a": 1} x'])
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        read_message(data)


def test_integers_of_any_length_are_written_as_they_were() -> None:
    data = b'{"id":12345678901234567890123,"x":0.1}'

    assert write_message(read_exactly(data)) == data


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda each: st.lists(each) | st.dictionaries(st.text(), each),
    )
)
def test_what_is_written_is_one_line_that_reads_the_same(message: Any) -> None:
    written = write_message(message)

    assert b"\n" not in written
    assert json.loads(written) == message


@over(("one", "other"), [(7, "7"), (7, 7.0), (16, "0x10"), ("", 0), (" 7 ", 7), (1000, "1e3")])
def test_ids_that_a_client_takes_for_the_same_find_the_same_request(one: Any, other: Any) -> None:
    assert key_of(one) == key_of(other)


@over(("one", "other"), [(7, 8), ("a", "b"), (1, True), (0, None), ("7", "seven")])
def test_other_ids_do_not(one: Any, other: Any) -> None:
    assert key_of(one) != key_of(other)
