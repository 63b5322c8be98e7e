"""Lists of messages as the APIs of OpenAI and Anthropic take them: a call in one message, its result in a later one.

=============  =====================================================  ==================================================
where          the call                                               its result
=============  =====================================================  ==================================================
OpenAI, chat   ``tool_calls[].function`` of an assistant's message    a message with ``role: tool``, ``tool_call_id``
OpenAI, old    ``function_call`` of an assistant's message            a message with ``role: function``, ``name``
Responses API  item ``function_call``, ``custom_tool_call``           item ``function_call_output``,
                                                                      ``custom_tool_call_output``
Anthropic      block ``tool_use``                                     block ``tool_result``, ``is_error``
=============  =====================================================  ==================================================

Sources: ``openai.types.chat.ChatCompletionMessageParam``, ``openai.types.responses.ResponseInputItemParam``,
https://platform.openai.com/docs/guides/supervised-fine-tuning and
https://docs.anthropic.com/en/docs/agents-and-tools/tool-use. A record is a conversation (an array of messages, or an
object that has one as ``messages``, ``input`` and ``output``), or one message of the conversation that its file is.

Message lists have neither times nor the tool's own durations. OpenAI's have no flag of errors either. A conversation
is a session of its own where it does not name one. Calls without an id are joined with their results in order, by name.
What is in two conversations with the same id, arguments and result is one call: logs of requests repeat what was said.
Words are told apart by all that was said before them. A request's ``tools``, ``system`` and ``instructions`` are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from agentguard.traces._formats._calls import (
    Call,
    Format,
    Found,
    Joining,
    Offered,
    Record,
    Remembered,
    Said,
    Skip,
    Skipped,
    at,
    content_key,
    content_of,
    decoded,
    first_text,
    is_list_of,
    no_call,
    text_at,
    values_of,
)
from agentguard.traces._formats._words import tools_in, words_in

_ROLES: Final = ("assistant", "developer", "function", "system", "tool", "user")
_CALLS: Final = ("custom_tool_call", "function_call", "local_shell_call")
_OUTPUTS: Final = ("custom_tool_call_output", "function_call_output", "local_shell_call_output")
_ITEMS: Final = (*_CALLS, *_OUTPUTS, "message", "reasoning")
_SESSIONS: Final = ("session_id", "conversation_id", "thread_id", "conversation")
_MARK: Final = "metadata"


def messages_in(value: Any) -> Any:
    """The messages of a conversation; None where the value is none."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("messages"), list):
        return value["messages"]
    lists = [value[name] for name in ("input", "output") if isinstance(value.get(name), list)]
    return [item for items in lists for item in items] or None


def _is_message(value: Any) -> bool:
    role = at(value, "role")
    if isinstance(role, str) and role in _ROLES:
        return "content" in value or "tool_calls" in value or "function_call" in value
    kind = at(value, "type")
    return isinstance(kind, str) and kind in _ITEMS and ("call_id" in value or "role" in value or "summary" in value)


def _is_anthropic_message(value: Any) -> bool:
    return any(at(block, "type") in ("tool_use", "tool_result") for block in values_of(at(value, "content")))


def _is_conversation(value: Any) -> bool:
    return _is_message(value) or is_list_of(messages_in(value), _is_message)


def _is_anthropic(value: Any) -> bool:
    if not _is_conversation(value):
        return False
    return _is_anthropic_message(value) or any(map(_is_anthropic_message, messages_in(value) or ()))


def _is_openai(value: Any) -> bool:
    return _is_conversation(value) and not _is_anthropic(value)


class Messages:
    """Finds calls and words in messages. Both vendors' are understood, whichever was recognised: routers mix them."""

    def __init__(self) -> None:
        self._joining = Joining()
        self._met = Remembered()
        self._conversation: tuple[str, int, int] | None = None  # file, array, and number where it is a record
        self._lists = 0
        self._numbers: Counter[tuple[str, str]] = Counter()  # calls and results of this conversation by id or name
        self._so_far = b""  # a digest of this conversation's calls and words
        self._said = Remembered()

    def push(self, record: Record) -> Iterator[Found]:
        """The calls that are complete with a conversation, or with a message, and the words in it."""
        messages = messages_in(record.value)
        self._lists += messages is not None
        self._begin((record.source, record.root, 0 if messages is None else self._lists))
        session = _session_of(record.value) or self._own_session(record)
        tools = tools_in(at(record.value, "tools"))
        if tools:
            yield Offered(record.source, record.line, session, tools)
        for field in ("system", "instructions") if messages is not None else ():
            yield from self._words({"role": "system", "content": at(record.value, field)}, record, session)
        count = 0
        for message in (record.value,) if messages is None else messages:
            yield from self._words(message, record, session)
            for kind, name, key, fields in parts_of(message):
                count += 1
                yield from self._take(kind, name, key, fields, record, session)
        if not count:
            yield from no_call(record)

    def end(self) -> Iterator[Found]:
        """The calls without results."""
        yield from self._joining.end()

    def _begin(self, conversation: tuple[str, int, int]) -> None:
        if conversation != self._conversation:
            self._conversation = conversation
            self._numbers.clear()
            self._so_far = b""

    def _words(self, message: Any, record: Record, session: str) -> Iterator[Found]:
        for speaker, text in words_in(message):
            self._go_on(speaker, text)
            yield Said(record.source, record.line, speaker, text, session, again=not self._said.add(self._so_far))

    def _go_on(self, *parts: str) -> None:
        """Take the next part of a conversation into its digest."""
        text = repr(parts).encode("utf-8", "backslashreplace")
        self._so_far = blake2b(self._so_far + text, digest_size=16).digest()

    def _own_session(self, record: Record) -> str:
        number = record.root if messages_in(record.value) is None else record.line
        return f"{Path(record.source).name}:{number}" if number else Path(record.source).name

    def _take(
        self, kind: str, name: str | None, identity: str | None, fields: Mapping[str, Any], record: Record, session: str
    ) -> Iterator[Found]:
        handle = identity or f"name {name}"
        self._go_on(kind, handle)
        self._numbers[kind, handle] += 1
        key = (self._conversation, handle, self._numbers[kind, handle])
        for one in self._joining.add(key, record, session_id=session, call_id=identity, **fields):
            if isinstance(one, Call) and identity and not self._met.add(content_key(one)):
                yield Skipped(one.source, one.line, Skip.repeated, one)
            else:
                yield one


def parts_of(message: Any) -> Iterator[tuple[str, str | None, str | None, dict[str, Any]]]:
    """Calls and results in a message, or an item of the Responses API: kind, name, id and fields of each."""
    if not isinstance(message, dict):
        return
    kind, role = message.get("type"), message.get("role")
    if isinstance(kind, str) and kind in _CALLS:
        name = _item_name(message)
        yield "call", name, _item_id(message), {"tool": name, "args": _item_args(message)}
    elif isinstance(kind, str) and kind in _OUTPUTS:
        yield "result", text_at(message, "name"), _item_id(message), _output_of(message.get("output"))
    elif role in ("tool", "function"):
        name = first_text(text_at(message, "name"), text_at(message, "tool_name"))
        yield "result", name, text_at(message, "tool_call_id"), {"result": content_of(message.get("content"))}
    for call in values_of(message.get("tool_calls")):
        function = at(call, "function") or at(call, "custom") or call
        args = at(function, "arguments") if at(function, "arguments") is not None else at(function, "input")
        name = text_at(function, "name")
        yield "call", name, text_at(call, "id"), {"tool": name, "args": decoded(args)}
    if isinstance(message.get("function_call"), dict):
        name = text_at(message, "function_call", "name")
        yield "call", name, None, {"tool": name, "args": decoded(at(message, "function_call", "arguments"))}
    for block in values_of(message.get("content")):
        if at(block, "type") == "tool_use":
            name = text_at(block, "name")
            yield "call", name, text_at(block, "id"), {"tool": name, "args": block.get("input")}
        elif at(block, "type") == "tool_result":
            flag = {"is_error": True} if block.get("is_error") is True else {}
            yield "result", None, text_at(block, "tool_use_id"), {"result": content_of(block.get("content")), **flag}


def _item_id(item: Mapping[str, Any]) -> str | None:
    return first_text(text_at(item, "call_id"), text_at(item, "id"))


def _item_name(item: Mapping[str, Any]) -> str | None:
    return "local_shell" if item["type"] == "local_shell_call" else text_at(item, "name")


def _item_args(item: Mapping[str, Any]) -> Any:
    if item["type"] == "local_shell_call":
        return item.get("action")
    return decoded(item.get("arguments")) if "arguments" in item else item.get("input")


def _output_of(output: Any) -> dict[str, Any]:
    """The result in an item's output: text or blocks; or ``{"content": …, "success": false}``, as Codex wrote it."""
    if isinstance(output, dict) and "content" in output and output.keys() <= {"content", "content_items", "success"}:
        flag = {"is_error": True} if output.get("success") is False else {}
        return {"result": content_of(output["content"]), **flag}
    return {"result": content_of(output)}


def _session_of(value: Any) -> str | None:
    for around in (value, at(value, _MARK)):
        for name in _SESSIONS:
            found = first_text(text_at(around, name), text_at(around, name, "id"))
            if found:
                return found
    return None


OPENAI: Final = Format("openai", "messages and items of OpenAI's APIs", _is_openai, Messages)
ANTHROPIC: Final = Format("anthropic", "messages of Anthropic's API", _is_anthropic, Messages)
