"""Events of coding agents, and the settings files that hooks are put into and taken out of."""

from __future__ import annotations

import asyncio
import json
from functools import lru_cache
from typing import Any

from agentguard.errors import ConfigurationError
from agentguard.hooks import HookSettings, install, place_of, remove
from agentguard.hooks._answers import Reply, shapes, unverified
from agentguard.hooks._judging import Judge
from agentguard.hooks._record import Record
from agentguard.stores import MemoryStore
from fuzz import grammar, tokens
from fuzz.harness import Harness, folder
from fuzz.source import Source
from fuzz.trial import Trial, require

__all__ = ["HARNESSES"]

EVENTS = ("PostToolUse", "PostToolUseFailure", "Stop")
FIELDS = (
    "hook_event_name",
    "tool_name",
    "tool_input",
    "tool_response",
    "error",
    "session_id",
    "duration_ms",
    "content",
)


@lru_cache(maxsize=1)
def _judge() -> Judge:
    settings = HookSettings(agent="claude", store="memory:", profiles=None, enforce=True)
    return Judge(settings, MemoryStore(), Record(folder()))


def _event(source: Source) -> bytes:
    if source.chance(4):
        return grammar.bytes_of(source, grammar.text(source, (tokens.JSON, FIELDS, EVENTS, tokens.UNICODE)))
    event: dict[str, Any] = {
        "hook_event_name": source.choice(EVENTS),
        "tool_name": source.choice((*shapes(), "mcp__crm__lookup", "Other")),
        "tool_input": grammar.value(source, 2),
        "tool_response": grammar.value(source, 4),
        "error": grammar.text(source, most=3),
    }
    for _ in range(source.integer(0, 2)):
        event[source.choice(FIELDS)] = grammar.value(source, 2)
    try:
        return json.dumps(event).encode()
    except (ValueError, RecursionError):  # an integer of more digits than Python writes, or too deep a value
        return b'{"hook_event_name": "PostToolUse"}'


def _reply_holds(reply: Reply) -> None:
    require(reply.code in (0, 2), "an exit code that agents know otherwise")
    require(reply.code == 2 or not reply.output or isinstance(json.loads(reply.output), dict), "an answer of no object")


def _events(trial: Trial) -> None:
    payload = trial.source.verbatim() or _event(trial.source)
    _reply_holds(trial.call(lambda: asyncio.run(_judge().answer(payload)), of=payload, again=False))
    _reply_holds(trial.call(unverified, "claude", payload, of=payload))


def _settings_file(trial: Trial) -> None:
    source = trial.source
    data = source.verbatim()
    if data is None:
        data = grammar.bytes_of(source, grammar.json_text(source))
    place = place_of("claude", folder(), folder() / "state", user=False)
    place.file.parent.mkdir(exist_ok=True)
    place.file.write_bytes(data)
    settings = HookSettings(agent="claude", store="/s")
    refused = trial.call(install, place, settings, allowed=ConfigurationError, of=data)
    if refused is None:
        require(remove(place), "what was put in is not found again")
    require(place.file.read_bytes() == data, "the file is another than before")


HARNESSES = (
    Harness("hook_events", "Judge.answer, unverified", _events),
    Harness("hook_settings", "install, remove", _settings_file),
)
