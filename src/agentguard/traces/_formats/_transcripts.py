"""Transcripts of coding agents: Claude Code and Codex.

Claude Code keeps a file a session, ``~/.claude/projects/PROJECT/SESSION.jsonl``. Lines of type ``assistant`` and
``user`` hold a ``message`` of Anthropic's API (see ``_messages.py``); ``sessionId`` names the session, ``isSidechain``
and ``agentId`` a subagent in it, which is a session of its own here. ``toolUseResult`` is what the tool itself
returned, of which ``durationMs`` is read, the tool's own time: few tools give it. Field inventory:
https://github.com/jeremedia/claude-code-log-format.

Codex keeps ``~/.codex/sessions/YEAR/MONTH/DAY/rollout-….jsonl``: ``session_meta`` first, then ``response_item`` (an
item of the Responses API, see ``_messages.py``) and ``event_msg``, each with a ``payload``; events
``exec_command_end`` and ``mcp_tool_call_end`` have the tool's own ``duration`` (``{"secs", "nanos"}``) where they are
kept at all. Sources: ``codex-rs/protocol/src/models.rs`` and ``protocol.rs`` (``RolloutItem``, ``ResponseItem``) and
``codex-rs/core/src/rollout/policy.rs`` of https://github.com/openai/codex.

The time between two lines is not read as latency: in it a user is asked for permission, and a model may think. A
session that is resumed or forked begins with lines of the one before; calls are told apart by their ids, words by their
lines' own. A subagent's words are for the agent that set it to work, and are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from agentguard.traces._formats._calls import (
    Format,
    Found,
    Joining,
    Record,
    Remembered,
    Said,
    at,
    first_text,
    no_call,
    seconds,
    text_at,
)
from agentguard.traces._formats._messages import parts_of
from agentguard.traces._formats._words import words_in

_CLAUDE_TYPES: Final = ("assistant", "file-history-snapshot", "queue-operation", "summary", "system", "user")
_CODEX_TYPES: Final = ("compacted", "event_msg", "response_item", "session_meta", "turn_context")
_TIMED: Final = ("exec_command_end", "mcp_tool_call_end")
_MOST: Final = 2**40  # of seconds or milliseconds; a longer time is none
#: Beginnings of what Codex puts before the user's first words, as if the user had said it.
_SET_UP: Final = ("<environment_context>", "<user_instructions>", "<permissions instructions>", "# AGENTS.md")


def _is_claude_code(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("type") not in _CLAUDE_TYPES:
        return False
    if "sessionId" in value and ("uuid" in value or "timestamp" in value):
        return True
    return "leafUuid" in value or "isSnapshotUpdate" in value or ("uuid" in value and "parentUuid" in value)


class _ClaudeCode:
    def __init__(self) -> None:
        self._joining = Joining()
        self._said = Remembered()

    def push(self, record: Record) -> Iterator[Found]:
        value = record.value
        parts = list(parts_of(at(value, "message")))
        if not parts:
            yield from no_call(record)
        session = text_at(value, "sessionId") or Path(record.source).stem
        aside = at(value, "isSidechain") is True
        agent = (text_at(value, "agentId") or "sidechain") if aside else None
        took = at(value, "toolUseResult", "durationMs") if len(parts) == 1 else None
        begun = seconds(at(value, "timestamp"))
        if not aside and at(value, "isApiErrorMessage") is not True:  # which the program says in the agent's place
            yield from self._words(record, session, begun)
        for number, (kind, _, identity, fields) in enumerate(parts):
            if kind == "result" and isinstance(took, (int, float)) and not isinstance(took, bool) and 0 <= took < _MOST:
                fields["latency_ms"] = took
            fields["session_id"] = f"{session}/{agent}" if agent else session
            if kind == "call":
                fields |= {"begun": begun, "parent": session if agent else None}
            key = identity or (record.source, record.line, number)
            yield from self._joining.add(key, record, call_id=identity, **fields)

    def _words(self, record: Record, session: str, spoken: float | None) -> Iterator[Found]:
        value = record.value
        uuid = text_at(value, "uuid")
        again = uuid is not None and not self._said.add(uuid)
        # What the program itself says in the user's place: a note, a summary of what was left out.
        summary = at(value, "isCompactSummary") is True
        is_note = summary or at(value, "isMeta") is True
        for speaker, text in words_in(at(value, "message")):
            by = "system" if is_note else speaker
            yield Said(record.source, record.line, by, text, session, spoken, again, summary)

    def end(self) -> Iterator[Found]:
        yield from self._joining.end()


def _is_codex(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") in _CODEX_TYPES and isinstance(value.get("payload"), dict)


class _Codex:
    def __init__(self) -> None:
        self._joining = Joining()
        self._said = Remembered()
        self._session: tuple[str, str | None] = ("", None)  # the file, and the session that it names

    def push(self, record: Record) -> Iterator[Found]:
        payload = at(record.value, "payload")
        if at(record.value, "type") == "session_meta" and self._session[0] != record.source:
            named = first_text(text_at(payload, "id"), text_at(payload, "session_id"))
            self._session = (record.source, named)
        if self._session[0] != record.source:
            self._session = (record.source, None)
        session = self._session[1] or Path(record.source).stem
        if at(payload, "type") in _TIMED and text_at(payload, "call_id"):
            yield from self._timed(payload, record)
            return
        is_item = at(record.value, "type") == "response_item"
        parts = list(parts_of(payload)) if is_item else []
        begun = seconds(at(record.value, "timestamp"))
        for speaker, text in words_in(payload) if is_item else ():
            by = "system" if text.startswith(_SET_UP) else speaker
            again = not self._said.add((begun, record.line if begun is None else None, by, text))
            yield Said(record.source, record.line, by, text, session, begun, again)
        if not parts:
            yield from no_call(record)
        for kind, _, identity, fields in parts:
            if kind == "call":
                fields["begun"] = begun
            key = identity or (record.source, record.line)
            yield from self._joining.add(key, record, session_id=session, call_id=identity, **fields)

    def end(self) -> Iterator[Found]:
        yield from self._joining.end()

    def _timed(self, payload: Any, record: Record) -> Iterator[Found]:
        identity = text_at(payload, "call_id")
        took, fields = at(payload, "duration"), {}
        seconds, nanoseconds = at(took, "secs"), at(took, "nanos")
        if all(isinstance(part, int) and 0 <= part < _MOST for part in (seconds, nanoseconds)):
            fields["latency_ms"] = seconds * 1e3 + nanoseconds / 1e6
        if at(payload, "result", "Err") is not None or at(payload, "result", "Ok", "isError") is True:
            fields["is_error"] = True
        yield from no_call(record)
        if fields and self._joining.waits(identity):
            yield from self._joining.add(identity, record, **fields)


CLAUDE_CODE: Final = Format("claude-code", "transcripts of Claude Code", _is_claude_code, _ClaudeCode)
CODEX: Final = Format("codex", "transcripts of Codex", _is_codex, _Codex)
