"""Finding, stamping and withholding messages in whatever shape a tool's outcome has."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.types import Command, Send

from agentguard.integrations._messages import (
    blocked_in,
    content_value,
    rewritten,
    standing,
    tool_message,
    unstamped,
    withheld,
)

from ...rows import over


def message(call_id: str = "c1", **fields: Any) -> ToolMessage:
    return ToolMessage("18", tool_call_id=call_id, **fields)


def marked(found: ToolMessage) -> ToolMessage:
    return found.model_copy(update={"content": f"changed {found.tool_call_id}"})


REMOVE = RemoveMessage(id="old")
SHAPES = [
    pytest.param(message(), lambda made: made, id="message"),
    pytest.param(Command(update={"messages": [REMOVE, message()]}), lambda made: made.update["messages"][1], id="dict"),
    pytest.param(Command(update={"chat": message()}), lambda made: made.update["chat"], id="other key, no list"),
    pytest.param(Command(update=[("messages", [message()])]), lambda made: made.update[0][1][0], id="pairs"),
    pytest.param(Command(update=[message()]), lambda made: made.update[0], id="list state"),
    pytest.param([Command(update={"x": 1}), message()], lambda made: made[1], id="list"),
    pytest.param({"messages": [message()]}, lambda made: made["messages"][0], id="a node's update"),
    pytest.param(
        Command(update={"messages": [{"type": "tool", "content": "18", "tool_call_id": "c1"}]}),
        lambda made: made.update["messages"][0],
        id="message as a dict",
    ),
]


@over(("result", "place"), SHAPES)
def test_messages_are_found_and_changed_where_they_are(result: Any, place: Any) -> None:
    before = repr(result)
    changed = place(rewritten(result, marked))
    found = tool_message(result, "c1")

    assert (changed.content, changed.tool_call_id) == ("changed c1", "c1")
    assert found is not None
    assert found.content == "18"
    assert repr(result) == before


def test_all_else_in_a_command_stays() -> None:
    command = Command(
        graph=Command.PARENT, update={"messages": [message()], "x": {"tool_call_id": 1}}, goto=Send("n", 1)
    )
    changed = rewritten(command, marked)

    assert (changed.graph, changed.goto, changed.update["x"]) == (Command.PARENT, Send("n", 1), {"tool_call_id": 1})


@pytest.mark.parametrize(
    "result", [Command(graph=Command.PARENT, goto="other"), Command(update={"messages": [message("c2")]}), [], "text"]
)
def test_what_answers_another_call_or_none_is_no_answer(result: Any) -> None:
    assert tool_message(result, "c1") is None


@given(
    st.recursive(
        st.none() | st.integers() | st.text() | st.booleans(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    )
)
def test_any_update_without_messages_comes_back_equal(update: Any) -> None:
    assert rewritten(Command(update=update), marked) == Command(update=update)


def test_withholding_an_empty_result_still_says_something() -> None:
    assert withheld(ToolMessage("", tool_call_id="c1"), "notice").content == "notice"


def test_a_tools_own_stamp_is_removed_and_its_other_metadata_kept() -> None:
    said = message(response_metadata={"agentguard": {"verdict": "accept"}, "took": 3})

    assert unstamped(said).response_metadata == {"took": 3}
    assert unstamped(message()) == message()


@over(
    ("content", "value"),
    [
        ("text", "text"),
        ([{"type": "text", "text": "a", "id": "lc_1"}, {"type": "text", "text": "b", "id": "lc_2"}], ["a", "b"]),
        ([{"type": "image", "url": "u", "id": "lc_1"}], {"type": "image", "url": "u"}),
        (["a", "b"], ["a", "b"]),
        ([], []),
        ([{"type": "text", "text": None}], {"type": "text", "text": None}),
    ],
)
def test_the_value_of_content_has_no_new_ids_in_it(content: Any, value: Any) -> None:
    assert content_value(content) == value


def stamped(**stamp: Any) -> ToolMessage:
    return message(response_metadata={"agentguard": stamp})


@over(
    ("said", "expected"),
    [
        (message(), "accept"),
        (stamped(action="pass"), "accept"),
        (stamped(action="annotate"), "flag"),
        (stamped(action="review"), "flag"),
        (stamped(action="replace"), "block"),
        (stamped(action=["pass"]), "flag"),
    ],
)
def test_standing(said: ToolMessage, expected: str) -> None:
    assert standing(said) == expected


def test_only_what_was_blocked_since_the_models_last_word_stops() -> None:
    model = AIMessage("", tool_calls=[{"name": "weather", "args": {}, "id": "c1"}])
    blocked = stamped(action="replace", posterior=0.9, reason="why")

    found = blocked_in([model, message("c0"), blocked])
    assert found is not None
    assert (found.tool, found.call_id, found.posterior, found.reason) == ("weather", "c1", 0.9, "why")
    assert blocked_in([model, blocked, AIMessage("so?")]) is None
    assert blocked_in([model, blocked, HumanMessage("go on")]) is None
    assert blocked_in([model, stamped(action="replace", review="reject")]) is None
    assert blocked_in([]) is None
