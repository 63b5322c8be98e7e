"""Words in messages: who said what, and which tools were offered, in all of the ways in which both are written.

A message is one of OpenAI's or Anthropic's APIs (``role``, ``content``), an item of the Responses API, one of
OpenTelemetry's (``role``, ``parts``) or OpenInference's (``message.role``, ``message.content``), or LangChain's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from agentguard.traces._formats._calls import (
    Found,
    Offered,
    OfferedTool,
    Record,
    Remembered,
    Said,
    Speaker,
    at,
    decoded,
    first_text,
    text_at,
    values_of,
)

_SPEAKERS: Final[Mapping[str, Speaker]] = {
    "assistant": "agent", "ai": "agent", "AIMessage": "agent", "AIMessageChunk": "agent", "model": "agent",
    "user": "user", "human": "user", "HumanMessage": "user",
    "system": "system", "developer": "system", "SystemMessage": "system",
}  # fmt: skip
_KINDS: Final = (*_SPEAKERS, "tool", "function")
_TEXTS: Final = ("text", "input_text", "output_text")
MOST_TOOLS: Final = 500  # of a request, a judgement: no API takes more than some hundreds
MOST_ARGUMENTS: Final = 100
MAX_DEPTH: Final = 4  # levels of what messages are wrapped in


def words_in(message: Any) -> Iterator[tuple[Speaker, str]]:
    """The words of a message, with who said them; none where it has none, or is none.

    >>> list(words_in({"role": "user", "content": [{"type": "text", "text": "Is it cold?"}]}))
    [('user', 'Is it cold?')]
    """
    message = _unwrapped(message)
    if not isinstance(message, dict):
        return
    speaker = _SPEAKERS.get(_role_of(message))
    text = _text_of(next((message[name] for name in ("content", "parts", "contents") if message.get(name)), None))
    if speaker is not None and text.strip():
        yield speaker, text


def _unwrapped(message: Any) -> Any:
    """The message without what LangChain and OpenInference wrap it in."""
    for _ in range(MAX_DEPTH):
        if not isinstance(message, dict):
            break
        if isinstance(message.get("message"), dict):
            message = message["message"]
        elif "message.role" in message:
            message = {name.removeprefix("message."): value for name, value in message.items()}
        elif isinstance(message.get("kwargs"), dict) and "lc" in message:
            names = values_of(message.get("id"))
            message = {"role": names[-1] if names else None, **message["kwargs"]}
        elif isinstance(message.get("data"), dict) and text_at(message, "type") in _SPEAKERS:
            message = {"role": message["type"], **message["data"]}
        else:
            break
    return message


def _role_of(message: Mapping[str, Any]) -> str:
    names = (text_at(message, "role"), text_at(message, "type"))
    return next((name for name in names if name is not None and name in _SPEAKERS), "")


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(text for text in map(_text_of_block, values_of(content)) if text)


def _text_of_block(block: Any) -> str:
    if isinstance(block, str):
        return block
    block = at(block, "message_content") or block
    if at(block, "type") not in _TEXTS:
        return ""
    return first_text(text_at(block, "text"), text_at(block, "content")) or ""


def messages_within(value: Any, otherwise: str, depth: int = 0) -> Iterator[Any]:
    """The messages in what went into a model or came out of it, as tracing tools keep it.

    Args:
        value: messages, an object that holds them, or a text.
        otherwise: the role of who said a text.
        depth: levels above.

    >>> list(messages_within({"generations": [[{"text": "Cold.", "message": None}]]}, "assistant"))
    [{'role': 'assistant', 'content': 'Cold.'}]
    """
    value = decoded(value)
    if isinstance(value, str):
        yield {"role": otherwise, "content": value}
    elif isinstance(value, list):
        for each in value if depth < MAX_DEPTH else ():
            if isinstance(each, (dict, list)):
                yield from messages_within(each, otherwise, depth + 1)
    elif isinstance(value, dict):
        message = _unwrapped(value)
        if isinstance(message, dict) and ("role" in message or text_at(message, "type") in _KINDS):
            yield message
            return
        inner = next((value[name] for name in _HOLDERS if value.get(name)), None)
        if inner is not None and depth < MAX_DEPTH:
            yield from messages_within(inner, otherwise, depth + 1)


#: Fields that hold messages, one, or a text, the first that is there.
_HOLDERS: Final = ("messages", "generations", "choices", "message", "text", "output", "input", "content")


def tools_in(value: Any) -> tuple[OfferedTool, ...]:
    """The tools in a request's list: OpenAI's, Anthropic's, or as a tracing tool writes them.

    >>> tools_in([{"type": "function", "function": {"name": "add", "parameters": {"properties": {"a": {}}}}}])
    (OfferedTool(name='add', description='', arguments=('a',)),)
    """
    tools = []
    for each in values_of(decoded(value))[:MOST_TOOLS]:
        tool = decoded(at(each, "tool.json_schema") or at(each, "tool", "json_schema") or each)
        tool = at(tool, "function") or tool
        name = text_at(tool, "name")
        if name is None:
            continue
        schemas = (at(tool, key, "properties") for key in ("parameters", "input_schema", "inputSchema"))
        properties = next((each for each in schemas if isinstance(each, dict)), None)
        arguments = tuple(map(str, properties))[:MOST_ARGUMENTS] if isinstance(properties, dict) else ()
        tools.append(OfferedTool(name, text_at(tool, "description") or "", arguments))
    return tuple(tools)


class Asked(NamedTuple):
    """A call of a model, as tracing tools keep it.

    Attributes:
        session: the id of its session.
        tools: the list of tools that the model was offered.
        inputs, outputs: messages that went in and came out.
        began, ended: seconds since the epoch; None where that is not known.
    """

    session: str | None
    tools: Any
    inputs: Iterable[Any]
    outputs: Iterable[Any]
    began: float | None
    ended: float | None


class ModelCalls:
    """Finds what is said in calls of models, each of which repeats the conversation before it.

    Of what goes in, the user's last words and the system's count, where they were not met at this place before; of what
    comes out, all.
    """

    def __init__(self) -> None:
        self._met = Remembered()

    def found(self, asked: Asked, record: Record) -> Iterator[Found]:
        """Find the words of a call of a model."""
        source, line, session = record.source, record.line, asked.session
        if tools := tools_in(asked.tools):
            yield Offered(source, line, session, tools)
        heard: dict[Speaker, list[str]] = {"system": [], "user": [], "agent": []}
        for message in asked.inputs:
            for by, text in words_in(message):
                heard[by].append(text)
        del heard["agent"]
        for by, texts in heard.items():
            if texts and self._met.add((session, by, len(texts), texts[-1])):
                yield Said(source, line, by, texts[-1], session, asked.began)
        for message in asked.outputs:
            for by, text in words_in(message):
                if by == "agent":
                    yield Said(source, line, by, text, session, asked.ended)


_NUMBERED: Final = re.compile(r"\.(\d{1,4})\.(.+)")


def numbered(attributes: Mapping[str, Any], prefix: str) -> list[Any]:
    """The elements of a list that attributes hold: as a list, or flat under ``prefix.0.…``, ``prefix.1.…``.

    >>> numbered({"m.0.message.role": "user", "m.0.message.content": "Hi"}, "m")
    [{'message.role': 'user', 'message.content': 'Hi'}]
    """
    whole = decoded(attributes.get(prefix))
    if isinstance(whole, list):
        return whole
    elements: dict[int, dict[str, Any]] = {}
    for name, value in attributes.items():
        match = _NUMBERED.fullmatch(name, len(prefix)) if name.startswith(prefix) else None
        if match is not None:
            elements.setdefault(int(match[1]), {})[match[2]] = value
    return [elements[number] for number in sorted(elements)]
