"""What a model's reply is traced to: what was said before it, what tools returned, what a tool's schema names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from agentguard.content._findings import Finding
from agentguard.content.grounding import check, check_arguments
from agentguard.integrations.content_blocks import readable
from agentguard.integrations.content_records import record_of
from agentguard.integrations.extras import needs
from agentguard.integrations.messages import content_value, messages_of

try:
    from langchain.agents.middleware import ModelRequest
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
except ImportError as error:
    raise needs("langchain", error) from error

__all__ = ["Conversation"]

MAX_SCHEMA_DEPTH: Final = 30


class Conversation:
    """What was said and what tools returned so far.

    Args:
        messages: of the conversation.
        given: texts that values may come from, beside them: the system prompt, what the application knows.
        tools: those that can be called; what their schemas name is known.

    Attributes:
        asked_again: the model was asked once more already since the user last spoke.
    """

    def __init__(self, messages: Sequence[Any], given: Sequence[str], tools: Iterable[Any] = ()) -> None:
        self._messages, self._given = messages, given
        self._tools = {tool.name: tool for tool in tools if hasattr(tool, "name")}
        spoken = (place for place, message in enumerate(messages) if isinstance(message, HumanMessage))
        self._turn = max(spoken, default=0)
        self.asked_again = any("asked_again" in record_of(message) for message in messages[self._turn :])

    @classmethod
    def before(cls, request: ModelRequest[Any], known: Sequence[str]) -> Conversation:
        """What stands before the model's reply to a request.

        What a middleware further out cleared for the model stays a source; what it added is one too.
        """
        state = messages_of(request.state, "messages")
        held = {id(message) for message in state}
        system = [] if request.system_message is None else [request.system_message.text]
        messages = [*state, *(message for message in request.messages if id(message) not in held)]
        return cls(messages, [*known, *system], request.tools)

    def unsupported(self, answer: str) -> tuple[Finding, ...]:
        """What of an answer no tool result supports; nothing where no tool has answered."""
        results = [message for message in self._messages if isinstance(message, ToolMessage)]
        if not results:
            return ()
        said = [message.text for message in self._messages if isinstance(message, HumanMessage)]
        return check(answer, _values(results), question="\n".join([*self._given, *said])).findings

    def invented(self, tool: str, args: Mapping[str, Any], now: datetime | None) -> tuple[Finding, ...]:
        """The arguments of a call that name what nobody said.

        A failed call echoes what it was given, so it is no source. What the model said is one once the user has read
        it and gone on.
        """
        results = [each for each in self._messages if isinstance(each, ToolMessage) and each.status != "error"]
        said = [
            message.text
            for place, message in enumerate(self._messages)
            if isinstance(message, HumanMessage) or (isinstance(message, AIMessage) and place < self._turn)
        ]
        choices = [*self._given, *_choices(self._tools.get(tool))]
        return check_arguments(args, said, _values(results), now=now, known=choices).findings


def _values(messages: Sequence[ToolMessage]) -> list[Any]:
    return [readable(content_value(message.content)) for message in messages]


def _choices(tool: Any) -> Iterator[str]:
    """The values that a tool's own schema names: members of enumerations, constants, defaults."""
    schema = getattr(tool, "tool_call_schema", None)
    if schema is not None and not isinstance(schema, dict):
        schema = schema.model_json_schema()
    yield from _named(schema, 0)


def _named(schema: Any, depth: int) -> Iterator[str]:
    if depth > MAX_SCHEMA_DEPTH or not isinstance(schema, (dict, list)):
        return
    if isinstance(schema, list):
        for item in schema:
            yield from _named(item, depth + 1)
        return
    for key, value in schema.items():
        if key in ("const", "default", "enum"):
            yield from (str(item) for item in (value if isinstance(value, list) else [value]))
        else:
            yield from _named(value, depth + 1)
