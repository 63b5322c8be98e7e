"""Answers keep the shape of the tool's own results, which agents hold replacements to.

The products are not here: the shapes are schemas of our own, after the published types.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from sessions import session
from shapes import RARE, SHAPES

from agentguard.hooks._answers import BLOCK, judged, replaced, restored, shapes, unverified, withheld

from ..rows import over

NOTICE = "The result was withheld."
#: Of these the model reads nothing that could be replaced, or all of it is the model's own.
WITHOUT_A_PLACE = {"ExitPlanMode", "ListMcpResourcesTool", "TodoWrite"}

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=20,
)


def answered(reply: Any) -> dict[str, Any]:
    assert reply.code == 0
    return json.loads(reply.output)


def test_every_form_of_the_table_has_a_schema_that_it_is_held_to() -> None:
    assert {tool for tool, forms in shapes().items() if forms} == set(SHAPES)


@over(("tool", "arguments", "response"), RARE)
def test_a_blocked_result_keeps_its_shape_and_nothing_of_its_text(
    tool: str, arguments: dict[str, Any], response: Any
) -> None:
    Draft202012Validator(SHAPES[tool]).validate(response)  # the example itself
    before = json.dumps(response)

    result = replaced(tool, arguments, response, NOTICE)

    Draft202012Validator(SHAPES[tool]).validate(result)
    text = json.dumps(result)
    assert "SECRET" not in text
    assert NOTICE in text or tool in WITHOUT_A_PLACE
    assert json.dumps(response) == before


@pytest.mark.parametrize("tool", sorted(tool for tool, forms in shapes().items() if forms))
@pytest.mark.parametrize("response", ["SECRET", {"of": "another version", "text": "SECRET"}])
def test_a_result_in_no_known_form_is_replaced_by_one_of_the_tools_own(tool: str, response: Any) -> None:
    result = replaced(tool, {"file_path": "/a"}, response, NOTICE)

    Draft202012Validator(SHAPES[tool]).validate(result)
    assert NOTICE in json.dumps(result) or tool in WITHOUT_A_PLACE
    assert "SECRET" not in json.dumps(result)


def test_the_results_of_an_ordinary_session_keep_their_shape() -> None:
    seen = set()
    for event in session(5, 500):
        tool = event["tool_name"]
        if event["hook_event_name"] == "PostToolUse" and tool in SHAPES:
            seen.add(tool)
            Draft202012Validator(SHAPES[tool]).validate(event["tool_response"])
            result = replaced(tool, event["tool_input"], event["tool_response"], NOTICE)
            Draft202012Validator(SHAPES[tool]).validate(result)
            assert NOTICE in json.dumps(result) or tool in WITHOUT_A_PLACE
    assert seen >= {"Bash", "Read", "Grep", "Glob", "Edit", "Write", "WebFetch", "WebSearch", "Agent", "TodoWrite"}


@over(
    ("response", "expected"),
    [
        ("some text", NOTICE),
        ([{"type": "text", "text": "a"}, {"type": "image", "data": "b"}], [{"type": "text", "text": NOTICE}]),
        (
            {"content": [{"type": "text", "text": "a"}], "structuredContent": {"a": 1}},
            {"content": [{"type": "text", "text": NOTICE}]},
        ),
        ({"rows": [1, 2]}, None),
        (7, None),
    ],
)
def test_results_of_other_tools_are_replaced_by_their_kind(response: Any, expected: Any) -> None:
    assert replaced("mcp__crm__lookup", {}, response, NOTICE) == expected


@given(tool=st.sampled_from([*SHAPES, "mcp__a__b", "apply_patch", "Unheard"]), response=values, arguments=values)
def test_any_json_has_an_answer(tool: str, response: Any, arguments: Any) -> None:
    event = {"hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": arguments, "tool_response": response}
    answer = answered(withheld("claude", event, NOTICE))
    assert (answer["decision"], answer["reason"]) == ("block", NOTICE)
    assert answered(withheld("codex", event, NOTICE)) == {"decision": "block", "reason": NOTICE}


@given(response=values)
def test_nothing_is_lost_of_a_result_of_which_nothing_is_redacted(response: Any) -> None:
    assert restored(response, response) == response


def test_pictures_are_neither_judged_nor_redacted() -> None:
    image = {"type": "image", "file": {"base64": "AAAA", "type": "image/png", "originalSize": 4}}
    blocks = [{"type": "text", "text": "a"}, {"type": "image", "data": "BBBB", "mimeType": "image/png"}]
    assert judged("Read", image) == {"type": "image", "file": {"type": "image/png", "originalSize": 4}}
    assert "BBBB" not in json.dumps(judged("mcp__a__b", blocks))
    shown = [{"type": "text", "text": "x"}, {"type": "image", "data": "<…>", "mimeType": "image/png"}]
    assert restored(shown, blocks) == [{"type": "text", "text": "x"}, blocks[1]]


def test_a_field_that_is_only_called_like_a_picture_is_text() -> None:
    rows = {"data": "ann@example.com", "blob": "b", "base64": "c"}
    assert judged("mcp__a__b", rows) == rows
    assert restored({"data": "x", "blob": "y", "base64": "z"}, rows) == {"data": "x", "blob": "y", "base64": "z"}


@over("payload", [b"", b"{", b"[]", b"{}", b"null", b"[" * 100_000, b"\xff", b'{"hook_event_name": 1}'])
def test_what_is_no_event_is_withheld_by_the_exit_code_where_the_policy_is_closed(payload: bytes) -> None:
    reply = unverified("claude", payload)
    assert reply.code == BLOCK
    assert b"could not verify" in reply.output


def test_a_stop_is_never_blocked() -> None:
    assert unverified("claude", b'{"hook_event_name": "Stop", "stop_hook_active": false}') == (0, b"")
