"""Spans of OpenTelemetry: tool calls by the conventions for generative AI and by those of OpenInference.

A span comes in one of three shapes:

- OTLP JSON (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding, ``opentelemetry/proto/trace/v1``), as
  the collector's file exporter and the file exporters of the SDKs write it: an ``ExportTraceServiceRequest`` a line.
- the JSON of the SDKs' own ``ReadableSpan.to_json``, which the console exporter prints: ``context.trace_id``,
  ``attributes`` as a plain object, ISO times.
- rows of Phoenix: ``Span`` of its REST API (``phoenix/client/__generated__/v1``), and of ``get_spans_dataframe``,
  where names of columns are paths: ``context.trace_id``, ``attributes.tool.name``.

What is read of a span that executes a tool:

======================  =====================================================  ====================================
field                   ``gen_ai.operation.name`` = ``execute_tool``           ``openinference.span.kind`` = ``TOOL``
======================  =====================================================  ====================================
``tool``                ``gen_ai.tool.name``, or the span's name               ``tool.name``, or the span's name
``args``                ``gen_ai.tool.call.arguments``                         ``input.value``
``result``              ``gen_ai.tool.call.result``                            ``output.value``
``call_id``             ``gen_ai.tool.call.id``                                ``tool_call.id``, ``tool.id``
``session_id``          ``gen_ai.conversation.id``, or the trace               ``session.id``, or the trace
``is_error``            status ERROR, or ``error.type``                        status ERROR
``latency_ms``          the span's duration                                    the span's duration
======================  =====================================================  ====================================

Sources: ``gen-ai/execute-tool.md`` of https://github.com/open-telemetry/semantic-conventions-genai, and
``openinference.semconv.trace.SpanAttributes``. Content is opt-in in OpenTelemetry: where a span of a tool carries none,
it is looked for in the messages of the model's calls, ``gen_ai.input.messages`` and ``gen_ai.output.messages`` (on the
span or on its events), whose parts ``tool_call`` and ``tool_call_response`` have the id of the call.

Words are read of the same messages, of ``llm.input_messages`` and ``llm.output_messages`` of OpenInference, and of
``gen_ai.prompt.N`` and ``gen_ai.completion.N`` of OpenLLMetry; tools of ``gen_ai.tool.definitions`` and ``llm.tools``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from agentguard.traces._formats._calls import (
    Call,
    Format,
    Found,
    Joining,
    Record,
    Remembered,
    at,
    content_key,
    content_of,
    decoded,
    first_text,
    milliseconds,
    no_call,
    seconds,
    text_at,
    tool_message,
    values_of,
)
from agentguard.traces._formats._words import Asked, ModelCalls, numbered

_ERROR: Final = (2, "STATUS_CODE_ERROR", "ERROR")
_SCALARS: Final = ("stringValue", "boolValue", "doubleValue", "bytesValue")
_INPUTS: Final = ("gen_ai.input.messages", "llm.input_messages", "gen_ai.prompt")
_OUTPUTS: Final = ("gen_ai.output.messages", "llm.output_messages", "gen_ai.completion")
_TOOLS: Final = ("gen_ai.tool.definitions", "llm.tools")
_INSTRUCTIONS: Final = "gen_ai.system_instructions"
_MESSAGES: Final = (_INPUTS[0], _OUTPUTS[0])
_MARK: Final = "openinference.span.kind"
_NAMES: Final = ("gen_ai.tool.name", "tool.name")
_IDS: Final = ("gen_ai.tool.call.id", "tool_call.id", "tool.id")
_SESSIONS: Final = ("gen_ai.conversation.id", "session.id")
_ARGUMENTS: Final = ("gen_ai.tool.call.arguments", "input.value")
_RESULTS: Final = ("gen_ai.tool.call.result", "output.value")
MAX_DEPTH: Final = 64  # levels of nested attribute values
_LONGEST_NUMBER: Final = 20  # characters, of 64 bits


class Span(NamedTuple):
    """A span in any of its shapes, read.

    Attributes:
        attributes: by their dotted names.
        begun: seconds since the epoch.
        events: the attributes of each event.
    """

    name: str
    trace: str | None
    identity: str | None
    attributes: Mapping[str, Any]
    latency_ms: float | None
    begun: float | None
    failed: bool
    message: str | None
    events: tuple[Mapping[str, Any], ...]


# --- OTLP ---


def _is_otlp(value: Any) -> bool:
    """An export request, or a span of one."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("resourceSpans", value.get("resource_spans")), list):
        return True
    return "spanId" in value and "traceId" in value and "startTimeUnixNano" in value


def _spans_in(value: Any) -> Iterator[Any]:
    """The spans of an export request; the value itself where it is none."""
    resources = value.get("resourceSpans", value.get("resource_spans")) if isinstance(value, dict) else None
    if not isinstance(resources, list):
        yield value
        return
    for resource in resources:
        scopes = at(resource, "scopeSpans") or at(resource, "scope_spans")
        scopes = scopes or at(resource, "instrumentationLibrarySpans")  # before OTLP 0.15
        for scope in values_of(scopes):
            yield from values_of(at(scope, "spans"))


def _of_otlp(value: Any) -> Span | None:
    if not isinstance(value, dict) or "spanId" not in value:
        return None
    status = value.get("status")
    begin, end = _nanoseconds(value.get("startTimeUnixNano")), _nanoseconds(value.get("endTimeUnixNano"))
    return Span(
        name=text_at(value, "name") or "",
        trace=text_at(value, "traceId"),
        identity=text_at(value, "spanId"),
        attributes=_otlp_attributes(value.get("attributes")),
        latency_ms=None if begin is None or end is None or not 0 < begin <= end else (end - begin) / 1e6,
        begun=None if begin is None else begin / 1e9,
        failed=_is_any(at(status, "code"), _ERROR),
        message=text_at(status, "message"),
        events=tuple(_otlp_attributes(at(event, "attributes")) for event in values_of(value.get("events"))),
    )


def _nanoseconds(value: Any) -> int | None:
    if isinstance(value, str) and len(value) <= _LONGEST_NUMBER and value.isascii() and value.isdigit():
        return int(value)
    return value if isinstance(value, int) and 0 <= value < 2**64 and not isinstance(value, bool) else None


def _otlp_attributes(attributes: Any) -> dict[str, Any]:
    return {
        pair["key"]: _otlp_value(pair.get("value"), 0)
        for pair in values_of(attributes)
        if isinstance(pair, dict) and isinstance(pair.get("key"), str)
    }


def _otlp_value(value: Any, depth: int) -> Any:
    if not isinstance(value, dict) or depth > MAX_DEPTH:
        return None
    for kind in _SCALARS:
        if kind in value:
            return value[kind]
    if "intValue" in value:  # 64 bits, and so a text in JSON
        number = value["intValue"]
        return int(number) if isinstance(number, str) and _is_integer(number) else number
    if "arrayValue" in value:
        return [_otlp_value(item, depth + 1) for item in values_of(at(value, "arrayValue", "values"))]
    pairs = values_of(at(value, "kvlistValue", "values"))
    return {
        pair["key"]: _otlp_value(pair.get("value"), depth + 1)
        for pair in pairs
        if isinstance(pair, dict) and isinstance(pair.get("key"), str)
    }


def _is_integer(text: str) -> bool:
    if len(text) > _LONGEST_NUMBER:
        return False
    return text.removeprefix("-").isascii() and text.removeprefix("-").isdigit()


# --- The SDKs' own JSON, and rows of Phoenix ---


def _is_row(value: Any) -> bool:
    """A span of the SDK or of Phoenix: it has a context, and attributes by name."""
    if not isinstance(value, dict):
        return False
    if not (isinstance(at(value, "context", "trace_id"), str) or isinstance(value.get("context.trace_id"), str)):
        return False
    return "attributes" in value or "span_kind" in value or any(name.startswith("attributes.") for name in value)


def _rows_in(value: Any) -> Iterable[Any]:
    """The spans of a page of Phoenix' API, ``{"data": […], "next_cursor": …}``; the value itself where it is none."""
    data = value.get("data") if isinstance(value, dict) and not _is_row(value) else None
    return data if isinstance(data, list) else (value,)


def _of_row(value: Any) -> Span | None:
    if not _is_row(value):
        return None
    attributes: dict[str, Any] = {}
    for name, inner in value.items():
        if name == "attributes" and isinstance(inner, dict):
            _flatten(inner, "", attributes)
        elif name.startswith("attributes."):
            _flatten(inner, name.removeprefix("attributes."), attributes)
    if isinstance(value.get("span_kind"), str):
        attributes.setdefault(_MARK, value["span_kind"])
    status = value.get("status")
    code = value.get("status_code", at(status, "status_code"))
    return Span(
        name=text_at(value, "name") or "",
        trace=text_at(value, "context.trace_id") or text_at(value, "context", "trace_id"),
        identity=text_at(value, "context.span_id") or text_at(value, "context", "span_id"),
        attributes=attributes,
        latency_ms=milliseconds(value.get("start_time"), value.get("end_time")),
        begun=seconds(value.get("start_time")),
        failed=_is_any(code, _ERROR),
        message=text_at(value, "status_message") or text_at(status, "description"),
        events=tuple(
            event["attributes"]
            for event in values_of(value.get("events"))
            if isinstance(event, dict) and isinstance(event.get("attributes"), dict)
        ),
    )


def _flatten(value: Any, name: str, into: dict[str, Any], depth: int = 0) -> None:
    """Put nested objects under their dotted names; each also as it is, for values that are objects themselves."""
    if name:
        into.setdefault(name, value)
    if isinstance(value, dict) and depth < 4:  # levels: openinference.span.kind has three
        for key, inner in value.items():
            _flatten(inner, f"{name}.{key}" if name else key, into, depth + 1)


def _is_any(value: Any, among: tuple[Any, ...]) -> bool:
    return isinstance(value, (str, int)) and value in among


# --- Calls ---


class _Spans:
    """Finds the calls in spans, which a shape reads and takes out of what they are wrapped in."""

    def __init__(self, spans_in: Callable[[Any], Iterable[Any]], read: Callable[[Any], Span | None]) -> None:
        self._spans_in, self._read = spans_in, read
        self._joining = Joining()
        self._met = Remembered()  # calls by what is in them
        self._models = ModelCalls()
        self._heard = Remembered()  # spans of models
        self._spans = 0  # of tools

    def push(self, record: Record) -> Iterator[Found]:
        for value in self._spans_in(record.value):
            span = self._read(value)
            yield from no_call(record) if span is None else self._of_span(span, record)

    def end(self) -> Iterator[Found]:
        yield from self._joining.end()

    def _of_span(self, span: Span, record: Record) -> Iterator[Found]:
        attributes = span.attributes
        is_openinference = (text_at(attributes, _MARK) or "").upper() == "TOOL"
        if is_openinference or attributes.get("gen_ai.operation.name") == "execute_tool":
            yield from self._of_tool(span, record)
            return
        if span.identity is None or self._heard.add((span.trace, span.identity)):
            yield from self._models.found(_asked(span), record)
        parts = list(_parts_of(span))
        if not parts:
            yield from no_call(record)
        for part in parts:
            yield from self._of_part(part, span, record)

    def _of_tool(self, span: Span, record: Record) -> Iterator[Found]:
        attributes = span.attributes
        failed = span.failed or bool(text_at(attributes, "error.type"))
        message = tool_message(_first(attributes, _RESULTS))
        call_id = _first_text(attributes, _IDS) or text_at(message, "tool_call_id")
        fields: dict[str, Any] = {
            "tool": _first_text(attributes, _NAMES) or span.name.removeprefix("execute_tool ") or None,
            "call_id": call_id,
            "session_id": _first_text(attributes, _SESSIONS) or span.trace,
            "latency_ms": span.latency_ms,
            "begun": span.begun,
            "is_error": failed or text_at(message, "status") == "error" or None,
        }
        if (args := _first(attributes, _ARGUMENTS)) is not None:
            fields["args"] = decoded(args)
        if (result := _first(attributes, _RESULTS)) is not None:
            fields["result"] = content_of(message["content"]) if message else result
            fields.setdefault("args", None)
        elif failed:
            fields["result"] = _failure(span)
        # A call's id joins the span with the model's messages; an exporter that sends a span twice repeats its own.
        self._spans += 1
        key = ("call", span.trace, call_id) if call_id else ("span", span.trace, span.identity or self._spans)
        for one in self._joining.add(key, record, **fields):
            if isinstance(one, Call):
                self._met.add(content_key(one))
            yield one

    def _of_part(self, part: Mapping[str, Any], span: Span, record: Record) -> Iterator[Found]:
        identity = text_at(part, "id")
        key = ("call", span.trace, identity)
        if self._joining.done.has(key):  # each request to a model repeats the conversation so far
            return
        session = _first_text(span.attributes, _SESSIONS) or span.trace
        fields: dict[str, Any] = {"session_id": session, "call_id": identity}
        if part["type"] == "tool_call":
            fields |= {"tool": part.get("name"), "args": decoded(part.get("arguments"))}
        else:
            fields["result"] = content_of(part.get("response", part.get("result")))
        for one in self._joining.add(key, record, **fields):
            if not isinstance(one, Call) or self._met.add(content_key(one)):  # else it is of an earlier trace
                yield one


def _first(attributes: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """The value of the first attribute that is there."""
    return next((attributes[name] for name in names if attributes.get(name) is not None), None)


def _first_text(attributes: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """The first of the attributes that is a text."""
    return first_text(*(text_at(attributes, name) for name in names))


def _failure(span: Span) -> str:
    """What is known of a failure: the message of an exception, the status, or the kind of error."""
    messages = (text_at(event, "exception.message") for event in span.events)
    return first_text(*messages, span.message, text_at(span.attributes, "error.type")) or "error"


def _parts_of(span: Span) -> Iterator[Mapping[str, Any]]:
    """Parts of a model's messages that are tool calls and their results, with an id to join them by."""
    for attributes in (span.attributes, *span.events):
        for name in _MESSAGES:
            for message in values_of(decoded(attributes.get(name))):
                for part in values_of(at(message, "parts")):
                    if at(part, "type") in ("tool_call", "tool_call_response") and text_at(part, "id"):
                        yield part


def _asked(span: Span) -> Asked:
    """What a span says of a call of a model; of one that is of no model, nothing."""
    instructions, inputs, outputs, tools = [], [], [], None
    for attributes in (span.attributes, *span.events):
        parts = values_of(decoded(attributes.get(_INSTRUCTIONS)))
        instructions += [{"role": "system", "parts": parts}] if parts else []
        inputs += [message for name in _INPUTS for message in numbered(attributes, name)]
        outputs += [message for name in _OUTPUTS for message in numbered(attributes, name)]
        tools = tools or next((held for name in _TOOLS if (held := numbered(attributes, name))), None)
    ended = None if span.begun is None or span.latency_ms is None else span.begun + span.latency_ms / 1e3
    session = _first_text(span.attributes, _SESSIONS) or span.trace
    return Asked(session, tools, [*instructions, *inputs], outputs, span.begun, ended)


def _is_page(value: Any) -> bool:
    """A page of Phoenix' API."""
    data = value.get("data") if isinstance(value, dict) else None
    return isinstance(data, list) and bool(data) and _is_row(data[0])


OTLP: Final = Format("otlp", "OpenTelemetry spans as OTLP JSON", _is_otlp, lambda: _Spans(_spans_in, _of_otlp))
ROWS: Final = Format(
    "openinference",
    "spans of Phoenix or of the OpenTelemetry SDK",
    lambda value: _is_row(value) or _is_page(value),
    lambda: _Spans(_rows_in, _of_row),
)
