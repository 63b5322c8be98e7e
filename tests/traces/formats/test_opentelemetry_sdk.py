"""What OpenTelemetry's own exporters write is read back: its OTLP JSON file, and what its console exporter prints."""

import io
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor, SpanExporter
from opentelemetry.trace import Status, StatusCode

from agentguard.telemetry import OpenTelemetryObserver, observe
from agentguard.traces import Reading, TraceRow, read_traces
from agentguard.traces._formats import Skip
from agentguard.verification import VerificationEngine
from agentguard.verification.types import ToolCall


def file_exporter(path: Path) -> SpanExporter:
    exporters = pytest.importorskip("opentelemetry.exporter.otlp.json.file", reason="it needs Python 3.11")
    exporter: SpanExporter = exporters.FileSpanExporter(path)
    return exporter


def traced(exporter: SpanExporter) -> None:
    """A traced agent: a model's call, and two calls of tools, one of them a failure, by both conventions."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("shop")
    with tracer.start_as_current_span("chat some-model", attributes={"gen_ai.operation.name": "chat"}):
        tool: dict[str, Any] = {
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_price", "gen_ai.tool.call.id": "call_1",
            "gen_ai.conversation.id": "conv_1", "gen_ai.tool.call.arguments": '{"sku": "A1"}',
            "gen_ai.tool.call.result": '{"price": 7.5}',
        }  # fmt: skip
        begun = 1_790_000_000_000_000_000
        tracer.start_span("execute_tool get_price", attributes=tool, start_time=begun).end(begun + 120_500_000)
        attributes = {"openinference.span.kind": "TOOL", "input.value": '{"city": "Oslo"}', "session.id": "chat-7"}
        failed = tracer.start_span("get_weather", attributes=attributes, start_time=begun)
        failed.record_exception(TimeoutError("no answer in 1 s"))
        failed.set_status(Status(StatusCode.ERROR, "TimeoutError"))
        failed.end(begun + 1_000_000_000)
    provider.shutdown()


EXPECTED = [
    ToolCall("get_price", {"sku": "A1"}, '{"price": 7.5}', 120.5, "conv_1", "call_1"),
    ToolCall("get_weather", {"city": "Oslo"}, "no answer in 1 s", 1_000.0, "chat-7", is_error=True),
]


def read(source: Any) -> tuple[list[ToolCall], list[str], dict[Skip, int]]:
    reading = Reading()
    calls = [row.call for row in read_traces(source, reading=reading) if isinstance(row, TraceRow)]
    return calls, reading.as_dict()["formats"], dict(reading.skipped)


def test_the_file_of_the_otlp_exporter_is_read_back(tmp_path: Path) -> None:
    traced(file_exporter(tmp_path / "traces.jsonl"))

    assert read(tmp_path / "traces.jsonl") == (EXPECTED, ["otlp"], {Skip.no_call: 1})


def test_what_the_console_exporter_prints_is_read_back(tmp_path: Path) -> None:
    with (tmp_path / "spans.json").open("w") as out:
        traced(ConsoleSpanExporter(out=out))

    assert read(tmp_path / "spans.json") == (EXPECTED, ["openinference"], {Skip.no_call: 1})


def test_the_spans_that_the_guard_writes_are_read_back(tmp_path: Path) -> None:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(file_exporter(tmp_path / "traces.jsonl")))
    engine = observe(VerificationEngine(), OpenTelemetryObserver(tracer_provider=provider, content=True))
    engine.verify("add", args={"a": 1}, result='{"sum": 3}', execution_time_ms=12.5, session_id="s", call_id="c")
    provider.shutdown()

    calls, formats, skipped = read(tmp_path / "traces.jsonl")

    assert calls == [ToolCall("add", {"a": 1}, '{"sum": 3}', 12.5, "s", "c")]
    assert (formats, skipped) == (["otlp"], {})


def test_an_export_that_is_piped_is_read(tmp_path: Path) -> None:
    traced(file_exporter(tmp_path / "traces.jsonl"))

    class Pipe(io.RawIOBase):  # hands over a few bytes at a time, as a pipe may
        def __init__(self, data: bytes) -> None:
            self.data = io.BytesIO(data)

        def read(self, size: int = -1) -> bytes:
            return self.data.read(min(size, 7) if size > 0 else size)

    assert read(Pipe((tmp_path / "traces.jsonl").read_bytes()))[0] == EXPECTED
