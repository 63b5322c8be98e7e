"""Server-sent events as bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentguard.proxy._events import Events, read_event, with_data

FIELDS = st.sampled_from(
    [
        b": comment",
        b"data: {}",
        b"data",
        b"data:x",
        b"id: 7",
        b"event: message",
        b"retry: 10",
        b"other: \xff",
        b"data: \xe2\x80\xa8",
    ]
)
ENDS = st.sampled_from([b"\n", b"\r", b"\r\n"])


@given(st.lists(st.tuples(st.lists(FIELDS, min_size=1), ENDS)), st.lists(st.integers(1, 30)))
def test_nothing_is_lost_and_no_data_missed_however_the_stream_is_cut(
    events: list[tuple[list[bytes], bytes]], sizes: list[int]
) -> None:
    stream = b"".join(end.join(lines) + end + end for lines, end in events)
    expected = [
        data for lines, _ in events
        if (data := b"\n".join(line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data")))
    ]  # fmt: skip
    reader, read, at = Events(), [], 0
    for size in [*sizes, len(stream)]:
        read += list(reader.feed(stream[at : at + size]))
        at += size

    assert b"".join(event.raw for event in read) + reader.rest() == stream
    assert [event.data for event in read if event.data] == expected


def test_an_events_parts() -> None:
    event = read_event(b"\xef\xbb\xbfdata: 1\r\ndata:2\r\nid: a\r\nretry: 250\r\n\r\n")

    assert (event.data, event.id, event.retry) == (b"1\n2", "a", 250)


def test_another_message_takes_the_place_of_the_first() -> None:
    event = read_event(b": hi\r\nevent: message\r\ndata: {\r\ndata: }\r\nid: 7\r\n\r\n")

    assert with_data(event, b"[]") == b": hi\nevent: message\ndata: []\nid: 7\n\n"


def test_an_event_that_is_too_long_is_in_pieces() -> None:
    reader = Events(longest=10)
    read = [event for chunk in (b"data: 0123456789", b"abc\n\n", b"data: x\n\n") for event in reader.feed(chunk)]

    assert b"".join(event.raw for event in read) == b"data: 0123456789abc\n\ndata: x\n\n"
    assert [event.whole for event in read] == [False, False, True]
    assert read[-1].data == b"x"
