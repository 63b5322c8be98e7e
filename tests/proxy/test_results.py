"""What is judged of a tool's result, and what the client gets of one that something is to be done about."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentguard.guard import Judgement
from agentguard.proxy._results import beside_value, is_tool_result, marked, read_result

from ..rows import over
from .conftest import text

IMAGE = {"type": "image", "data": "AAAA" * 100, "mimeType": "image/png"}
NOTICE = Judgement("replace", None, "It was withheld.")


@over(("result", "value"), [
        (text("18 degrees"), "18 degrees"),
        (text("a", '{"n": 1}'), ["a", {"n": 1}]),
        ({"content": []}, []),
        ({"content": [IMAGE]}, {"type": "image", "data": {"bytes": 300}, "mimeType": "image/png"}),
        ({"content": [{**IMAGE, "_meta": {"at": 1}, "id": "x7", "annotations": {}}]},
         {"type": "image", "data": {"bytes": 300}, "mimeType": "image/png"}),
        ({"content": [{"type": "resource", "resource": {"uri": "u", "blob": "AAAA", "_meta": {}}}]},
         {"type": "resource", "resource": {"uri": "u", "blob": {"bytes": 3}}}),
        ({"content": [{"type": "resource", "resource": {"uri": "u", "text": "words"}}]},
         {"type": "resource", "resource": {"uri": "u", "text": "words"}}),
        ({"structuredContent": {"n": 1}, **text("one")}, {"n": 1}),
        ({"structuredContent": {"result": [1]}}, {"result": [1]}),
        ({"content": "no list"}, []),
        ({"content": ["no block", None]}, ["no block", None]),
    ])  # fmt: skip
def test_what_is_judged(result: Any, value: Any) -> None:
    assert read_result(result).value == value


def test_contents_count_where_they_say_something_else_than_the_structured_form() -> None:
    assert beside_value({"structuredContent": {"n": 1}, **text('{ "n":1.0 }')}) is None
    assert beside_value({"structuredContent": {"n": 1}}) is None
    assert beside_value({"structuredContent": {"n": 1}, **text("mail ada@example.org")}) == "mail ada@example.org"


@over(("result", "expected"), [
        (text("a"), True), ({"isError": True}, True), ({"structuredContent": {}}, True),
        ({"resultType": "complete", **text("a")}, True),
        ({"resultType": "input_required", "content": []}, True),  # clients that do not know the field show the content
        ({"task": {"taskId": "7"}}, False), ({}, False), (None, False), ([], False),
    ])  # fmt: skip
def test_what_a_tools_result_is(result: Any, expected: bool) -> None:
    assert is_tool_result(result) is expected


def test_a_blocked_result_keeps_nothing_but_the_protocols_own() -> None:
    result = {
        **text("secret"), "structuredContent": {"secret": 1}, "other": "secret", "resultType": "complete",
        "_meta": {"io.modelcontextprotocol/related-task": {"taskId": "7"}, "page": "secret"},
    }  # fmt: skip
    made = marked(result, NOTICE)

    assert made["content"] == [{"type": "text", "text": "It was withheld."}]
    assert made["isError"] is True
    assert set(made) == {"content", "isError", "_meta", "resultType"}
    assert set(made["_meta"]) == {"io.modelcontextprotocol/related-task", "agentguard"}
    assert "secret" not in str(made)


def test_a_line_is_added_once_and_all_else_stays() -> None:
    judgement = Judgement("annotate", None, "", line="[may be wrong]")
    result = {**text("a"), "structuredContent": {"n": 1}, "x-field": [1], "_meta": {"page": 7}}
    made = marked(result, judgement)

    assert made == {
        **text("a", "[may be wrong]"), "structuredContent": {"n": 1}, "x-field": [1],
        "_meta": {"page": 7, "agentguard": judgement.as_dict()},
    }  # fmt: skip
    assert marked(made, judgement)["content"] == made["content"]
    assert result["content"] == text("a")["content"]


def test_redaction_reaches_every_text_and_leaves_bytes() -> None:
    judgement = Judgement("pass", None, "", ("pii",))
    mail = "ada@example.org"
    result = {
        "content": [
            {"type": "text", "text": f"Mail {mail}."},
            {"type": "resource", "resource": {"uri": "u", "text": f"Mail {mail}.", "blob": "QUFB"}},
            {"type": "resource_link", "uri": "file:///a", "name": "a", "description": f"of {mail}"},
            IMAGE,
        ],
        "structuredContent": {"to": [mail], "n": 1},
    }
    made = marked(result, judgement)

    assert mail not in str(made)
    assert made["structuredContent"] == {"to": ["<EMAIL_1>"], "n": 1}
    assert made["content"][1]["resource"]["blob"] == "QUFB"
    assert made["content"][3] == IMAGE
    assert [block["type"] for block in made["content"]] == [block["type"] for block in result["content"]]


BLOCKS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "image", "resource", "resource_link", "new"])},
    optional={
        "text": st.text() | st.integers(), "data": st.text() | st.none(), "id": st.text(), "_meta": st.none(),
        "resource": st.none() | st.fixed_dictionaries({}, optional={"blob": st.text() | st.none(), "text": st.text()}),
    },
)  # fmt: skip
RESULTS = st.fixed_dictionaries(
    {},
    optional={
        "content": st.lists(BLOCKS | st.none() | st.text()) | st.text() | st.none(),
        "structuredContent": st.none() | st.dictionaries(st.text(), st.text() | st.integers() | st.floats()),
        "isError": st.booleans() | st.text(),
        "_meta": st.none() | st.dictionaries(st.text(), st.text()),
    },
)


@given(RESULTS, st.sampled_from(["pass", "annotate", "replace"]))
def test_any_result_can_be_read_and_marked(result: Any, action: Any) -> None:
    read_result(result)
    beside_value(result)
    line = "[careful]" if action == "annotate" else ""
    made = marked(result, Judgement(action, None, "withheld", ("pii",) if action == "pass" else (), line))

    assert "agentguard" in made["_meta"]
    if action != "pass":
        assert made["content"][-1] == {"type": "text", "text": line or "withheld"}
