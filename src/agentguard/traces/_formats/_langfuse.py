"""Observations of Langfuse: those of type ``TOOL``, and spans whose attributes say that a tool was called.

As the API gives them (``langfuse.api.commons.types.ObservationV2``: ``id``, ``traceId``, ``type``, ``name``,
``startTime``, ``endTime``, ``level``, ``statusMessage``, ``sessionId``, ``input``, ``output``, ``metadata``), a page of
them (``{"data": […]}``), a trace with its ``observations`` nested, and rows of the scheduled export to a blob storage
with the same fields in snake case (https://langfuse.com/docs/api-and-data-platform/features/export-to-blob-storage).

A ``SPAN`` is a tool call where its metadata keeps attributes of OpenTelemetry that say so (``gen_ai.operation.name``
``execute_tool``, ``openinference.span.kind`` ``TOOL``): of others nobody can tell. ``input`` and ``output`` may be JSON
text. ``is_error`` is level ``ERROR``. ``session_id`` is the observation's, that of the trace around it, or the trace.

Words are read of observations of type ``GENERATION``: of ``input`` the last that the user said, and the ``tools``
beside it; of ``output`` all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from agentguard.traces._formats._calls import (
    Format,
    Found,
    Record,
    Remembered,
    Skip,
    Skipped,
    at,
    call_of,
    content_of,
    decoded,
    first_text,
    milliseconds,
    no_call,
    seconds,
    text_at,
    tool_message,
)
from agentguard.traces._formats._words import Asked, ModelCalls, messages_within

_TYPES: Final = frozenset(
    {"AGENT", "CHAIN", "EMBEDDING", "EVALUATOR", "EVENT", "GENERATION", "GUARDRAIL", "RETRIEVER", "SPAN", "TOOL"}
)


def _is_observation(value: Any) -> bool:
    if not isinstance(value, dict) or (text_at(value, "type") or "").upper() not in _TYPES:
        return False
    return ("traceId" in value and "startTime" in value) or ("trace_id" in value and "start_time" in value)


def _nested(value: Any) -> Any:
    """The observations of a trace, or of a page of the API; None where the value has none."""
    if not isinstance(value, dict):
        return None
    for name in ("observations", "data"):
        inner = value.get(name)
        if isinstance(inner, list):
            return inner
    return None


def _is_export(value: Any) -> bool:
    if _is_observation(value):
        return True
    inner = _nested(value)
    if inner and (_is_observation(inner[0]) or _is_export_trace(inner[0])):
        return True
    return _is_export_trace(value)


def _is_export_trace(value: Any) -> bool:
    """A trace: of its fields these are in no other format together."""
    return isinstance(value, dict) and "observations" in value and ("sessionId" in value or "htmlPath" in value)


class _Observations:
    def __init__(self) -> None:
        self._met = Remembered()
        self._models = ModelCalls()

    def push(self, record: Record) -> Iterator[Found]:
        yield from self._of(record.value, record, None, 0)

    def end(self) -> Iterable[Found]:
        return ()

    def _of(self, value: Any, record: Record, trace: Mapping[str, Any] | None, depth: int) -> Iterator[Found]:
        inner = None if _is_observation(value) or depth > 2 else _nested(value)  # a page of traces has two levels
        if inner is not None:
            around = at(value, "trace") if isinstance(at(value, "trace"), dict) else value
            for one in inner:
                yield from self._of(one, record, around, depth + 1)
        elif not _is_observation(value) or not _is_tool(value):
            yield from no_call(record)
            if _is_observation(value) and value["type"].upper() == "GENERATION":
                yield from self._words(value, record, trace)
        elif (identity := text_at(value, "id")) is not None and not self._met.add(identity):
            yield Skipped(record.source, record.line, Skip.repeated)
        else:
            yield _call_in(value, record, trace)

    def _words(self, value: Mapping[str, Any], record: Record, trace: Mapping[str, Any] | None) -> Iterator[Found]:
        identity = text_at(value, "id")
        if identity is not None and not self._met.add(identity):
            return
        asked = Asked(
            _session(value, trace),
            at(decoded(value.get("input")), "tools"),
            messages_within(value.get("input"), "user"),
            messages_within(value.get("output"), "assistant"),
            seconds(_either(value, "startTime", "start_time")),
            seconds(_either(value, "endTime", "end_time")),
        )
        yield from self._models.found(asked, record)


def _is_tool(observation: Mapping[str, Any]) -> bool:
    if observation["type"].upper() == "TOOL":
        return True
    attributes = at(decoded(observation.get("metadata")), "attributes")
    return (
        at(attributes, "gen_ai.operation.name") == "execute_tool"
        or (text_at(attributes, "openinference.span.kind") or "").upper() == "TOOL"
    )


def _either(value: Mapping[str, Any], camel: str, snake: str) -> Any:
    return value.get(camel, value.get(snake))


def _session(value: Mapping[str, Any], trace: Mapping[str, Any] | None) -> str | None:
    return first_text(
        text_at(value, "sessionId"), text_at(value, "session_id"), text_at(trace, "sessionId"),
        text_at(trace, "session_id"), text_at(value, "traceId"), text_at(value, "trace_id"),
    )  # fmt: skip


def _call_in(value: Mapping[str, Any], record: Record, trace: Mapping[str, Any] | None) -> Found:
    failed = (text_at(value, "level") or "").upper() == "ERROR"
    output = value.get("output")
    if output is None and failed:
        output = _either(value, "statusMessage", "status_message") or "error"
    message = tool_message(output)
    attributes = at(decoded(value.get("metadata")), "attributes")
    began, ended = _either(value, "startTime", "start_time"), _either(value, "endTime", "end_time")
    call = call_of(
        record,
        tool=first_text(
            text_at(attributes, "gen_ai.tool.name"), text_at(attributes, "tool.name"), text_at(value, "name")
        ),
        args=decoded(value.get("input")),
        result=content_of(message["content"]) if message else output,
        is_error=failed or text_at(message, "status") == "error" or None,
        latency_ms=milliseconds(began, ended),
        begun=seconds(began),
        session_id=_session(value, trace),
        call_id=first_text(text_at(message, "tool_call_id"), text_at(value, "id")),
    )
    if output is None:
        reason = Skip.no_result if ended is None else Skip.no_content
        return Skipped(record.source, record.line, reason, call)
    return call


LANGFUSE: Final = Format("langfuse", "observations and traces of Langfuse", _is_export, _Observations)
