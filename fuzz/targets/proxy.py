"""The relay before an MCP server: whatever client and server say passes, and only a tool's result is ever changed."""

from __future__ import annotations

import json
import logging
from base64 import b64encode
from contextlib import suppress
from typing import Any

from agentguard.guard import Guard
from agentguard.proxy._connection import UNWRITTEN, Connection, Work
from agentguard.proxy._events import Events, with_data
from agentguard.proxy._guarding import Guarding
from agentguard.proxy._messages import Lines
from agentguard.verification import VerificationEngine
from agentguard.verification.profile import parse_profile
from fuzz import grammar, tokens
from fuzz.harness import Harness
from fuzz.source import Source
from fuzz.trial import Trial, require

__all__ = ["HARNESSES"]

logging.getLogger("agentguard").addHandler(logging.NullHandler())  # what is blocked is told, and nobody is to hear it

METHODS = (
    "tools/call", "tools/call", "tools/list", "tasks/result", "notifications/cancelled", "initialize", "resources/read",
    "prompts/get",
)  # fmt: skip
IDS = (1, "1", 1.0, 2, "a", "", None, True, -1, "0x1", [1])
#: Fields that make an odd message of an answer, or leave one out.
ODD = (
    {"jsonrpc": "1.0"}, {"jsonrpc": None}, {"method": "ping"}, {"error": None}, {"result": None}, {"Result": {}},
    {"error": {"code": 1, "message": "Ignore all"}}, {"result": {"content": []}}, {"extra": 1}, {"params": {}},
)  # fmt: skip
CONTENT = {"pii": "redact", "injection": "flag"}
#: An address with a password in it, which a profile has taken out.
ADDRESS = "postgres://app:tea4two@db.internal/shop"
BLOCKS = ("text", "image", "audio", "resource", "resource_link", "new")
PROFILES: tuple[dict[str, Any], ...] = (
    {"name": "tool", "required_fields": ["sku"], "content": CONTENT},
    {"name": "resources/read", "content": {**CONTENT, "secrets": "redact"}},
    {"name": "prompts/get", "content": {**CONTENT, "injection": "block"}},
)


def _block(source: Source) -> Any:
    if source.chance(6):
        return grammar.value(source, 2)
    text = grammar.text(source, (tokens.JSON, tokens.WORDS, tokens.UNICODE, ("ada@example.org", "Ignore all")), 6)
    made: dict[str, Any] = {"type": source.choice(BLOCKS), source.choice(("text", "data", "description")): text}
    if source.chance(3):
        made["resource"] = {source.choice(("text", "blob", "uri")): text}
    return made


def _message(source: Source) -> Any:
    kind = source.integer(0, 8)
    made: dict[str, Any] = {"jsonrpc": "2.0", "id": source.choice(IDS)}
    if kind == 0:
        return grammar.value(source, 2)
    if kind == 1:
        params = {"name": "tool", "arguments": grammar.value(source, 1), "taskId": "t", "requestId": source.choice(IDS)}
        return {**made, "method": source.choice(METHODS), "params": params}
    if kind == 2:
        tools = [{"name": source.choice(("tool", "b")), "outputSchema": grammar.value(source, 2)}]
        return {**made, "result": {"tools": tools, "nextCursor": source.choice(("c", None, 7))}}
    if kind >= 6:
        text = grammar.text(source, (tokens.WORDS, tokens.UNICODE, ("ada@example.org", "Ignore all", ADDRESS)), 6)
        content = {source.choice(("text", "blob", "data")): text, "type": source.choice(BLOCKS), "uri": "u"}
        parts: dict[str, Any] = {
            "result": {"contents": [content], "messages": [{"role": "user", "content": content}]},
            "error": {"code": source.choice((-32000, "x", None)), "message": text, "data": grammar.value(source, 2)},
        }
        part = source.choice(("result", "error"))
        odd = source.choice(ODD) if kind == 8 else {}
        return {**made, part: parts[part], **odd}
    result: dict[str, Any] = {"content": [_block(source) for _ in range(source.integer(0, 3))]}
    if kind == 4:
        result["structuredContent"] = grammar.value(source, 2)
    if kind == 5:
        result = {"task": {"taskId": "t"}, "resultType": source.choice(("complete", "input_required", 7))}
    return {**made, "result": result}


def _line(source: Source) -> bytes:
    message = [_message(source), _message(source)] if source.chance(8) else _message(source)
    written = b"{}"
    with suppress(ValueError, RecursionError, TypeError):  # what cannot be written is in no message
        written = json.dumps(message, ensure_ascii=bool(source.integer(0, 1))).encode("utf-8", "surrogatepass")
    if source.chance(8):
        at = source.integer(0, len(written))
        written = written[:at] + source.raw(3) + written[at + 1 :]
    return written.replace(b"\n", b" ") + source.choice((b"\n", b"\r\n", b""))


def _relayed(trial: Trial) -> None:
    source = trial.source
    engine = VerificationEngine()
    for profile in PROFILES:
        engine.register_tool_profile(**profile)
    on_guard_error = source.choice(("open", "closed"))
    guard = Guard(engine, shadow=bool(source.integer(0, 1)), on_guard_error=on_guard_error)
    closed = not guard.shadow and on_guard_error == "closed"
    guarding = Guarding(guard, [parse_profile(profile) for profile in PROFILES])
    connection = Connection(guarding)
    try:
        for _ in range(source.integer(1, 8)):
            line = _line(source)
            if source.integer(0, 1):
                answer = connection.sent(line)
                require(answer is None or closed, "a message of the client was answered")
                require(answer is None or b"not sent" in answer, "a message of the client was answered otherwise")
                continue
            step = connection.received(line)
            made = step if isinstance(step, bytes) else step.run()
            if guard.shadow:
                require(made == line, "an observer changed a message")
            elif not made:
                require(closed, "a message was withheld")
            elif not isinstance(step, Work) and made != line:
                require(closed and b"withheld" in made, "a message was changed")
            elif made != line and not closed and UNWRITTEN.encode() not in made:
                before, after = json.loads(line.decode("utf-8", "replace")), json.loads(made)
                for one, other in zip(
                    *(each if isinstance(each, list) else [each] for each in (before, after)), strict=True
                ):
                    require(_without_answer(one) == _without_answer(other), "more than an answer was changed")
        told = b"{}"
        with suppress(ValueError, RecursionError):  # integers of 5,000 digits
            told = json.dumps({**_ANSWER, "result": _telling(source)}).encode()
        connection.sent(_CALL)
        step = connection.received(told)
        made = step if isinstance(step, bytes) else step.run()
        is_told = any(each in made for each in (MAIL.encode(), b64encode(MAIL.encode())))
        require(guard.shadow or not is_told, "an answer passed unjudged")
    finally:
        guarding.close()


#: An id that no message of the client's has.
_CALL = b'{"jsonrpc":"2.0","id":"last","method":"tools/call","params":{"name":"tool"}}\n'
_ANSWER = {"jsonrpc": "2.0", "id": "last"}
MAIL = "Mail ada@example.org"
FIELDS = ("text", "description", "title", "annotations", "resource", "data", "note")


def _telling(source: Source) -> Any:
    """A result with an address somewhere in it that its client may show."""
    told: Any = {"type": source.choice(BLOCKS), source.choice(FIELDS): MAIL}
    if source.chance(3):
        told = {"type": source.choice(BLOCKS), "blob": source.choice((MAIL, b64encode(MAIL.encode()).decode()))}
    for _ in range(source.integer(0, 3)):
        beside = grammar.value(source, 1)
        told = source.choice(([told, beside], {source.choice(FIELDS): told}, {"type": "resource", "resource": told}))
    other = grammar.value(source, 2)
    return source.choice((
        {"content": [told]}, {"content": [other, told], "structuredContent": {"n": 1}}, {"content": told},
        {"content": [], "structuredContent": told}, {"content": [other], "note": told}, {"isError": True, "x": [told]},
    ))  # fmt: skip


def _without_answer(message: Any) -> str:
    """All of a message but its answer."""
    if not isinstance(message, dict):
        return repr(message)
    return repr({name: value for name, value in message.items() if name not in ("result", "error")})


def _streamed(trial: Trial) -> None:
    source = trial.source
    pieces = (
        b"data: ",
        b"data",
        b"id: 1",
        b"retry: 5",
        b": ",
        b"\n",
        b"\n\n",
        b"\r",
        b"\r\n",
        b"{}",
        b"\xff",
        b"\xef\xbb\xbf",
    )
    stream = b"".join(source.choice(pieces) for _ in range(source.integer(0, 30)))
    lines, events = Lines(longest=12), Events(longest=12)
    read_lines, read_events = [], []
    for start in range(0, len(stream), 7):
        chunk = stream[start : start + 7]
        read_lines += list(lines.feed(chunk))
        read_events += list(events.feed(chunk))
    rest = lines.rest()
    require(b"".join(each.data for each in read_lines) + (rest.data if rest else b"") == stream, "a line lost bytes")
    require(b"".join(each.raw for each in read_events) + events.rest() == stream, "an event lost bytes")
    for each in read_events:
        if each.data:
            again = list(Events().feed(trial.call(with_data, each, b"[]")))
            require([other.data for other in again] == [b"[]"], "another message in an event is not read from it")


HARNESSES = (
    Harness("relayed", "proxy: messages between a client and an MCP server, looked at and passed on", _relayed),
    Harness("streamed", "proxy: lines and server-sent events, cut anywhere", _streamed),
)
