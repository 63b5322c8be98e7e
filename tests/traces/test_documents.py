"""JSON documents are cut into their records, whatever their layout, in constant memory."""

import io
import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.traces import _documents
from agentguard.traces._documents import NOT_JSON, UNCLOSED, Element, Fault, elements, is_document

from ..rows import over

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-1000, 1000)
    | st.text(max_size=6)
    | st.sampled_from(['"', "\\", "[{", "\n"])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)
RECORDS = st.lists(VALUES, max_size=3) | st.dictionaries(st.text(max_size=4), VALUES, max_size=3)
LAYOUTS = st.sampled_from([None, 1, 4])


def cut(data: bytes, piece: int = 1 << 16, limit: int = 1 << 26) -> list[Element | Fault]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_documents, "PIECE", piece)
        return list(elements(io.BufferedReader(io.BytesIO(data)), "doc.json", limit))


def values(found: list[Element | Fault]) -> list[Any]:
    return [json.loads(one.raw) for one in found if isinstance(one, Element) and one.raw is not None]


@given(st.lists(RECORDS, max_size=5), LAYOUTS, st.integers(1, 40), st.booleans())
def test_an_array_gives_its_elements_in_any_layout_and_pieces(
    records: list[Any], indent: int | None, piece: int, ascii_only: bool
) -> None:
    text = json.dumps(records, indent=indent, ensure_ascii=ascii_only)

    found = cut(text.encode(), piece)

    assert values(found) == records
    lines = text.split("\n")
    assert all(lines[one.line - 1].strip()[:1] in "[{" for one in found)


@given(st.lists(RECORDS, max_size=4), LAYOUTS, st.integers(1, 40), st.sampled_from(["data", "runs"]))
def test_an_object_gives_the_elements_of_its_list_of_records(
    records: list[Any], indent: int | None, piece: int, name: str
) -> None:
    document = {"meta": {"data": [1, {"a": [2]}]}, name: records, "cursor": None}

    assert values(cut(json.dumps(document, indent=indent).encode(), piece)) == records


@given(st.lists(st.dictionaries(st.text(max_size=3), VALUES, max_size=2), max_size=4), LAYOUTS, st.integers(1, 40))
def test_an_otlp_document_gives_its_spans(spans: list[Any], indent: int | None, piece: int) -> None:
    resource = {"attributes": [{"key": "spans", "value": {"data": [{}]}}]}
    document = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {}, "spans": spans}] * 2}]}

    assert values(cut(json.dumps(document, indent=indent).encode(), piece)) == spans * 2


@given(st.lists(st.dictionaries(st.sampled_from(["a", "messages", "x"]), VALUES), max_size=4), st.integers(1, 40))
def test_objects_one_after_another_are_records_each(objects: list[Any], piece: int) -> None:
    text = "\n".join(json.dumps(one, indent=2) for one in objects)

    found = cut(text.encode(), piece)

    assert values(found) == objects
    assert all(isinstance(one, Element) and one.root == 0 for one in found)


@given(st.binary(max_size=60) | st.text('{}[]",:\\ \n1a', max_size=60).map(str.encode), st.integers(1, 9))
def test_no_bytes_make_it_fail(data: bytes, piece: int) -> None:
    for one in cut(data, piece):
        assert one.line >= 1


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ('[\n{"a": 1},\n{"a": 2}', 3, UNCLOSED),
        ('[\n{"a": 1},\n{"a": ', 3, UNCLOSED),
        ('[{"a": "cut\n"}]', 1, NOT_JSON),
        ("[]\nand so on", 2, NOT_JSON),
    ],
)
def test_a_document_that_is_no_json_says_from_where(text: str, line: int, reason: str) -> None:
    assert cut(text.encode())[-1] == Fault(line, reason)


def test_a_record_that_is_too_long_is_passed_over() -> None:
    found = cut(json.dumps([{"a": 1}, {"a": "x" * 200}, {"a": 2}], indent=1).encode(), 16, limit=100)

    assert [None if one.raw is None else json.loads(one.raw)["a"] for one in found if isinstance(one, Element)] == [
        1, None, 2,
    ]  # fmt: skip


def test_brackets_without_end_take_no_memory_worth_speaking_of() -> None:
    class Endless(io.RawIOBase):
        def __init__(self, piece: bytes) -> None:
            self.piece, self.left = piece, 6

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            self.left -= 1
            size = min(len(buffer), len(self.piece)) if self.left > 0 else 0
            buffer[:size] = self.piece[:size]
            return size

    def read(piece: bytes) -> Iterator[Any]:
        return elements(io.BufferedReader(Endless(piece), 1 << 16), "doc.json", 1 << 16)

    for piece in (b"[" * 16_384, b'{"runs":[' * 1_820, b'{"resourceSpans":[' * 910):
        tracemalloc.start()
        for _ in read(piece):
            pass
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 400_000  # a reference to each open bracket takes more than that


@over(("head", "document"), [
        (b"[\n", True), (b'{\n  "messages": [', True), (b'[{"a": 1},\n {"a": 2}]', True),
        (b"\xef\xbb\xbf\n\n[\n{}\n]", True),
        (b'{"resourceSpans": [{"scopeSpans"', True), (b'[{"a": "no line feed as far as was looked', True),
        (b'[{"a": 1}]\n', True), (b'[{"a": 1}]\n[{"a": 2}]\n', False),
        (b'{"tool": "a", "result": "cut of\n{"tool"', False), (b'{"tool": "a", "res', False),
        (b'{\n{"tool": "a"}\n', False), (b"", False), (b"x\n[", False), (b"[INFO] begun\n", False),
        (b"[1] a\n", False), (b'{"a": [1]}\n', False),
    ])  # fmt: skip
def test_a_document_is_told_from_lines_by_how_it_begins(head: bytes, document: bool) -> None:
    assert is_document(head) is document
