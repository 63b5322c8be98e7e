"""Text and tokens where the clients put them; the shapes are those that their documentation shows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.health._measuring import Reply, read

from ..rows import over


def objects(value: Any) -> Any:
    """The same with attributes in place of keys, as clients give it."""
    if isinstance(value, dict):
        return SimpleNamespace(**{key: objects(item) for key, item in value.items()})
    return [objects(item) for item in value] if isinstance(value, list) else value


SHAPES = [
    pytest.param(
        {"choices": [{"message": {"content": "Mild."}}], "usage": {"completion_tokens": 2}}, "Mild.", 2, id="openai"
    ),
    pytest.param({"choices": [{"delta": {"content": "Mi"}}], "usage": None}, "Mi", None, id="openai, a piece"),
    pytest.param({"choices": [], "usage": {"completion_tokens": 2}}, None, 2, id="openai, the last piece"),
    pytest.param({"output_text": "Mild.", "usage": {"output_tokens": 2}}, "Mild.", 2, id="openai responses"),
    pytest.param({"type": "response.output_text.delta", "delta": "Mi"}, "Mi", None, id="openai responses, a piece"),
    pytest.param(
        {"content": [{"type": "text", "text": "Mi"}, {"type": "text", "text": "ld."}], "usage": {"output_tokens": 2}},
        "Mild.",
        2,
        id="anthropic",
    ),
    pytest.param({"delta": {"type": "text_delta", "text": "Mi"}}, "Mi", None, id="anthropic, a piece"),
    pytest.param(
        {"text": "Mild.", "usage_metadata": {"candidates_token_count": 2}}, "Mild.", 2, id="gemini"
    ),
    pytest.param({"message": {"content": "Mild."}, "eval_count": 2}, "Mild.", 2, id="ollama chat"),
    pytest.param({"response": "Mild.", "eval_count": 2}, "Mild.", 2, id="ollama generate"),
    pytest.param(
        {"output": {"message": {"content": [{"text": "Mild."}]}}, "usage": {"outputTokens": 2}},
        "Mild.",
        2,
        id="bedrock",
    ),
    pytest.param({"contentBlockDelta": {"delta": {"text": "Mi"}}}, "Mi", None, id="bedrock, a piece"),
    pytest.param({"metadata": {"usage": {"outputTokens": 2}}}, None, 2, id="bedrock, the last piece"),
    pytest.param(
        {"choices": [{"message": {"content": None, "tool_calls": [{"id": "1"}]}}]}, None, None, id="tools alone"
    ),
    pytest.param({"content": "", "tool_calls": [{"id": "1"}]}, None, None, id="tools beside an empty text"),
    pytest.param({"usage": {"completion_tokens": True}}, None, None, id="no count"),
]  # fmt: skip


@over(("value", "text", "tokens"), SHAPES)
def test_keys_and_attributes(value: Any, text: str | None, tokens: int | None) -> None:
    assert read(value) == Reply(text, tokens)
    assert read(objects(value)) == Reply(text, tokens)


def test_pieces_of_langchain_are_added_up() -> None:
    piece = SimpleNamespace(content="Mi", usage_metadata={"output_tokens": 1})

    assert read(piece) == Reply("Mi", 1, partly=True)


def test_text_is_its_own_text() -> None:
    assert read("Mild.") == Reply("Mild.", None)


class Hostile:
    """Whose attributes fail."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


@over("value", [None, 7, b"Mild.", [], ["Mild."], {}, object()])
def test_of_anything_else_nothing_is_known(value: Any) -> None:
    assert read(value) == Reply(None, None)


def test_attributes_that_fail_are_not_there() -> None:
    assert read(Hostile()) == read({"content": Hostile()}) == Reply(None, None)


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "text", "delta", "usage", "output_tokens"]), inner
        )
    ),
    max_leaves=10,
)


@given(VALUES)
def test_any_value_can_be_read(value: Any) -> None:
    found = read(value)

    assert found.text is None or isinstance(found.text, str)
    assert found.tokens is None or found.tokens >= 0
