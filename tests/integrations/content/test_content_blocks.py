"""Content blocks: what in them is read, and what of them stays as it is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.content._results import Found
from agentguard.integrations import _messages
from agentguard.integrations._messages import legible, look, text_in_place, without

ADDRESS = "ada@example.org"
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAEC"}}
ROW = {"type": "row", "id": "r1", "signature": "c2ln", "mail": ADDRESS, "n": 2}


@pytest.mark.parametrize(
    ("others", "left"),
    [
        ("redact", [{"type": "row", "id": "r1", "signature": "c2ln", "mail": "<EMAIL_1>", "n": 2}]),
        ("drop", []),
        ("keep", [ROW]),
    ],
)
def test_blocks_that_are_no_text(others: Any, left: list[Any]) -> None:
    content = [{"type": "text", "text": f"to {ADDRESS}"}, "plain", PICTURE, ROW]
    text = {"type": "text", "text": "to <EMAIL_1>"}
    assert without(content, ("pii",), others) == [text, "plain", PICTURE, *left]


def test_what_quotes_a_text_goes_when_the_text_changes_and_stays_when_not() -> None:
    cited = {"type": "text", "text": ADDRESS, "citations": [{"cited_text": ADDRESS}], "index": 0}
    clean = {"type": "text", "text": "fine", "citations": [{"cited_text": "fine"}]}
    assert without([cited, clean], ("pii",), "redact") == [{"type": "text", "text": "<EMAIL_1>", "index": 0}, clean]


def test_json_in_a_block_is_read_as_what_it_says() -> None:
    content = [{"type": "text", "text": '{"to": "ada\\u0040example.org"}'}]
    assert legible(content) == [{"to": ADDRESS}]
    assert look(legible(content), {"pii": "flag"}).act == "flag"
    assert without(content, ("pii",), "redact") == [{"type": "text", "text": '{"to": "<EMAIL_1>"}'}]


@pytest.mark.parametrize(("asked", "act"), [("block", "flag"), ("flag", "flag"), ("redact", "redact")])
def test_what_is_only_suspicious_is_never_blocked(monkeypatch: pytest.MonkeyPatch, asked: Any, act: str) -> None:
    suspicious = Found(0.4, 1, ("system override",), sure=False)
    monkeypatch.setattr(_messages, "found_in", lambda value, kinds: {"injection": suspicious})
    looked = look("...", {"injection": asked})
    assert looked.act == act
    assert looked.as_dict() == {
        "injection": {"action": act, "score": 0.4, "sure": False, "findings": 1, "names": ["system override"]}
    }


def test_nothing_is_looked_for_where_nothing_is_asked() -> None:
    assert look(ADDRESS, {}).act is None


@pytest.mark.parametrize(
    ("content", "whole", "expected"),
    [
        ("said", False, "notice"),
        ([PICTURE, "said"], True, "notice"),
        ([PICTURE, "said", {"type": "text", "text": "said"}, ROW], False,
         [PICTURE, ROW, {"type": "text", "text": "notice"}]),
    ],
)  # fmt: skip
def test_a_notice_takes_the_place_of_what_was_said(content: Any, whole: bool, expected: Any) -> None:
    assert text_in_place(content, "notice", whole=whole) == expected


WORDS = st.sampled_from(["fine", ADDRESS, f"to {ADDRESS}, or {ADDRESS}", "{", "[]", "é\u0000", "\ud800"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.just(0.5) | st.text(max_size=4) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4) | WORDS, inner, max_size=4),
    max_leaves=8,
)
BLOCKS = st.lists(
    WORDS
    | st.fixed_dictionaries({"type": st.just("text"), "text": WORDS})
    | st.dictionaries(st.sampled_from(["type", "id", "text", "value", "citations"]), JSON, max_size=4),
    max_size=4,
)


@given(BLOCKS)
def test_after_redaction_nothing_is_found_and_clean_blocks_are_as_they_were(content: list[Any]) -> None:
    cleaned = without(content, ("pii",), "redact")
    assert look(legible(cleaned), {"pii": "redact"}).act is None
    assert len(cleaned) == len(content)
    for before, after in zip(content, cleaned, strict=True):
        if ADDRESS not in repr(before):
            assert after is before
        else:
            assert ADDRESS not in repr(legible([after]))
