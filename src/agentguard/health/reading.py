"""The text and the tokens of what a model's client gave back, whole or in pieces, whichever client it was.

Nothing is imported to know a client: the figures are looked for where OpenAI, Anthropic, Gemini, Ollama, Bedrock and
LangChain put them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

__all__ = ["Reply", "read"]

_TEXTS: Final = tuple(
    path.split(".")
    for path in (
        "text",
        "content",
        "output_text",
        "choices.0.message.content",
        "choices.0.delta.content",
        "choices.0.text",
        "message.content",
        "response",
        "delta.text",
        "delta",
        "output.message.content",
        "contentBlockDelta.delta.text",
    )
)
_TOKENS: Final = tuple(
    path.split(".")
    for path in (
        "usage.completion_tokens",
        "usage.output_tokens",
        "usage.outputTokens",
        "usage_metadata.candidates_token_count",
        "eval_count",
        "metadata.usage.outputTokens",
        "response.usage.output_tokens",
    )
)
_TOOL_CALLS: Final = tuple(
    path.split(".") for path in ("tool_calls", "choices.0.message.tool_calls", "message.tool_calls")
)
_ADDED: Final = ["usage_metadata", "output_tokens"]  # of LangChain, whose pieces are to be added up


class Reply(NamedTuple):
    """What could be read of a response, or of a piece of one.

    Attributes:
        text: None where there is none, or where only tools are asked for.
        tokens: as the provider counted them so far, or in this piece alone.
        partly: the tokens are those of this piece.
    """

    text: str | None
    tokens: int | None
    partly: bool = False


def read(value: Any) -> Reply:
    """The text and the tokens of a response or a piece of one.

    >>> read({"choices": [{"message": {"content": "Mild."}}], "usage": {"completion_tokens": 2}})
    Reply(text='Mild.', tokens=2, partly=False)
    """
    if isinstance(value, str):
        return Reply(str(value), None)
    text = next((found for found in (_text(_at(value, path)) for path in _TEXTS) if found is not None), None)
    if not text and any(_at(value, path) for path in _TOOL_CALLS):
        text = None
    added = _count(_at(value, _ADDED))
    if added is not None:
        return Reply(text, added, partly=True)
    counts = (_count(_at(value, path)) for path in _TOKENS)
    return Reply(text, next((count for count in counts if count is not None), None))


def _at(value: Any, path: list[str]) -> Any:
    for name in path:
        if isinstance(value, Mapping):
            value = value.get(name)
        elif name == "0":
            value = value[0] if isinstance(value, (list, tuple)) and value else None
        else:
            try:
                value = getattr(value, name, None)
            except Exception:  # a property of a foreign class: what it cannot give is not there
                return None
        if value is None:
            return None
    return value


def _text(value: Any) -> str | None:
    """A text, or the texts among the blocks of one."""
    if isinstance(value, str):
        return str(value)
    if not isinstance(value, (list, tuple)):
        return None
    parts = [part if isinstance(part, str) else _at(part, ["text"]) for part in value]
    return "".join(part for part in parts if isinstance(part, str))


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None
