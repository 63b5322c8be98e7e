"""Spans, events and metrics as the SDK exports them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry._logs import SeverityNumber
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanKind

from agentguard.telemetry import Observation, OpenTelemetryObserver, observe
from agentguard.telemetry import _opentelemetry as names
from agentguard.verification import VerificationEngine

Observed = Callable[..., Observation]
DSN = "postgres://app:tea4two@db.internal/shop"


class Sent:
    """What was sent, by an observer over providers of its own."""

    def __init__(self, **options: Any) -> None:
        self._exporter = InMemorySpanExporter()
        self.tracer_provider = TracerProvider(sampler=options.pop("sampler", None))
        self.tracer_provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = self.tracer_provider.get_tracer("the agent's own")
        self._reader = InMemoryMetricReader()
        self.meter_provider = MeterProvider([self._reader])
        self.observer = OpenTelemetryObserver(self.tracer_provider, self.meter_provider, **options)

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    def points(self, metric: str) -> dict[tuple[Any, ...], Any]:
        """Of a metric: its points by the values of their attributes."""
        data = self._reader.get_metrics_data()
        return {
            tuple((point.attributes or {}).values()): point
            for resource in ([] if data is None else data.resource_metrics)
            for scope in resource.scope_metrics
            for found in scope.metrics
            if found.name == metric
            for point in found.data.data_points
        }

    def close(self) -> None:
        self.tracer_provider.shutdown()
        self.meter_provider.shutdown()


@pytest.fixture
def sending() -> Iterator[Callable[..., Sent]]:
    made = []

    def make(**options: Any) -> Sent:
        made.append(Sent(**options))
        return made[-1]

    yield make
    for sent in made:
        sent.close()


@pytest.fixture
def sent(sending: Callable[..., Sent]) -> Sent:
    return sending()


def test_a_call_without_a_span_gets_one_as_long_as_it_took(sent: Sent, observed: Observed) -> None:
    sent.observer(observed("block", 0.75, at=1_700_000_000.5))

    (span,) = sent.spans
    assert span.name == "execute_tool weather"
    assert span.kind is SpanKind.INTERNAL
    assert span.parent is None
    assert span.end_time == 1_700_000_000_500_000_000
    assert span.start_time == 1_700_000_000_150_000_000  # 350 ms before
    assert dict(span.attributes or {}) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "weather",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.conversation.id": "s1",
        "agentguard.verdict": "block",
        "agentguard.posterior": 0.75,
    }


def test_the_verdict_is_an_evaluation_of_the_span(sent: Sent, observed: Observed) -> None:
    sent.observer(observed("flag", 0.3, at=1_700_000_000.5))

    (event,) = sent.spans[0].events
    assert event.name == "gen_ai.evaluation.result"
    assert event.timestamp == 1_700_000_000_500_000_000
    assert dict(event.attributes or {}) == {
        "gen_ai.evaluation.name": "fabrication",
        "gen_ai.evaluation.score.value": 0.3,
        "gen_ai.evaluation.score.label": "flag",
        "gen_ai.evaluation.explanation": "flag: P(fabricated) 0.300, prior 0.150. schema_mismatch +1.61 (said)",
        "agentguard.false_block_p": 0.25,
        "agentguard.tier": 1,
        "agentguard.signals.fired": ("schema_mismatch",),
        "agentguard.guard.duration": 0.00004,
    }


def test_names_are_those_of_the_conventions_that_are_installed() -> None:
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as official

    assert {
        names.OPERATION_NAME: official.GEN_AI_OPERATION_NAME,
        names.CONVERSATION_ID: official.GEN_AI_CONVERSATION_ID,
        names.TOOL_NAME: official.GEN_AI_TOOL_NAME,
        names.TOOL_CALL_ID: official.GEN_AI_TOOL_CALL_ID,
        names.TOOL_CALL_ARGUMENTS: official.GEN_AI_TOOL_CALL_ARGUMENTS,
        names.TOOL_CALL_RESULT: official.GEN_AI_TOOL_CALL_RESULT,
        names.EVALUATION_NAME: official.GEN_AI_EVALUATION_NAME,
        names.EVALUATION_SCORE: official.GEN_AI_EVALUATION_SCORE_VALUE,
        names.EVALUATION_LABEL: official.GEN_AI_EVALUATION_SCORE_LABEL,
        names.EVALUATION_EXPLANATION: official.GEN_AI_EVALUATION_EXPLANATION,
        names.EXECUTE_TOOL: official.GenAiOperationNameValues.EXECUTE_TOOL.value,
    } == {
        name: name
        for name in (
            names.OPERATION_NAME, names.CONVERSATION_ID, names.TOOL_NAME, names.TOOL_CALL_ID, names.TOOL_CALL_ARGUMENTS,
            names.TOOL_CALL_RESULT, names.EVALUATION_NAME, names.EVALUATION_SCORE, names.EVALUATION_LABEL,
            names.EVALUATION_EXPLANATION, names.EXECUTE_TOOL,
        )
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "attributes"),
    [("tools/call weather", {"gen_ai.operation.name": "execute_tool"}), ("execute_tool weather", {})],
)
def test_where_there_is_a_span_of_the_call_the_verdict_goes_there(
    sent: Sent, engine: VerificationEngine, name: str, attributes: dict[str, str]
) -> None:
    watched = observe(engine, sent.observer)

    with sent.tracer.start_as_current_span(name, attributes=attributes):
        watched.verify("weather", result={}, execution_time_ms=5)

    (span,) = sent.spans
    assert span.name == name
    assert [event.name for event in span.events] == ["gen_ai.evaluation.result"]
    assert (span.attributes or {})["agentguard.verdict"] == "block"
    assert "gen_ai.tool.name" not in (span.attributes or {})
    assert not sent.points("gen_ai.execute_tool.duration")  # who made the span measures it
    assert sent.points("agentguard.verdicts")


@pytest.mark.parametrize("name", ["invoke_agent shop", "chat", "execute_toolbox x"])
def test_any_other_span_is_the_parent(sent: Sent, engine: VerificationEngine, name: str) -> None:
    watched = observe(engine, sent.observer)

    with sent.tracer.start_as_current_span(name, attributes={"gen_ai.operation.name": "chat"}) as parent:
        watched.verify("weather", result={"degrees": 1}, execution_time_ms=5)

    made, around = sent.spans
    assert (made.name, around.name) == ("execute_tool weather", name)
    assert made.parent == parent.get_span_context()
    assert not around.events


def test_without_spans_the_verdict_goes_to_the_current_one(sending: Callable[..., Sent], observed: Observed) -> None:
    sent = sending(spans=False, content=True)

    with sent.tracer.start_as_current_span("invoke_agent shop"):
        sent.observer(observed(call={"args": {"city": "Kyiv"}}))
        sent.observer(observed(result={"tool": "rates"}, call={"call_id": "c2"}))
    sent.observer(observed())  # where there is none, it is counted only

    (span,) = sent.spans
    told = [event.attributes or {} for event in span.events]
    assert [(each["gen_ai.tool.name"], each["gen_ai.tool.call.id"]) for each in told] == [
        ("weather", "c1"), ("rates", "c2"),
    ]  # fmt: skip
    assert not span.attributes  # it is not the span of either call
    assert sent.points("agentguard.verdicts")[("weather", "accept")].value == 2
    assert not sent.points("gen_ai.execute_tool.duration")


@pytest.mark.parametrize("took", [None, -1.0, float("inf"), 1e300, 10**400, "soon"])
def test_where_the_time_is_not_known_the_span_is_a_moment(sent: Sent, observed: Observed, took: Any) -> None:
    sent.observer(observed(call={"execution_time_ms": took}, at=1_700_000_000.0))

    (span,) = sent.spans
    assert span.start_time == span.end_time == 1_700_000_000_000_000_000


def test_what_is_not_known_is_left_out(sent: Sent, observed: Observed) -> None:
    nothing = {"call_id": None, "session_id": None}
    sent.observer(observed(result={"false_block_p": None}, call=nothing))

    (span,) = sent.spans
    assert not {"gen_ai.tool.call.id", "gen_ai.conversation.id"} & (span.attributes or {}).keys()
    assert "agentguard.false_block_p" not in (span.events[0].attributes or {})


def test_nothing_of_the_content_is_sent_unless_asked_for(sent: Sent, engine: VerificationEngine) -> None:
    watched = observe(engine, sent.observer)

    watched.verify("weather", args={"city": "Xanadu"}, result={"said": "Kublai Khan"})

    text = sent.spans[0].to_json()
    assert "Xanadu" not in text
    assert "Kublai" not in text


def test_content_is_sent_as_json_without_credentials(sending: Callable[..., Sent], engine: VerificationEngine) -> None:
    sent = sending(content=True)
    watched = observe(engine, sent.observer)

    watched.verify("weather", args={"city": "Kyiv", "dsn": DSN}, result={"degrees": 3})

    attributes = sent.spans[0].attributes or {}
    assert json.loads(str(attributes["gen_ai.tool.call.arguments"])) == {
        "city": "Kyiv", "dsn": "postgres://app:<DATABASE_PASSWORD_1>@db.internal/shop",
    }  # fmt: skip
    assert json.loads(str(attributes["gen_ai.tool.call.result"])) == {"degrees": 3}


def test_what_a_profile_takes_out_of_a_result_is_not_sent(sending: Callable[..., Sent]) -> None:
    sent = sending(content=True)
    watched = observe(VerificationEngine(), sent.observer)
    watched.register_tool_profile("people", content={"pii": "redact"}, has_network_io=False)

    watched.verify("people", result={"mail": "ada@example.org"})

    assert json.loads(str((sent.spans[0].attributes or {})["gen_ai.tool.call.result"])) == {"mail": "<EMAIL_1>"}


def test_content_that_an_instrumentation_has_sent_stays(
    sending: Callable[..., Sent], engine: VerificationEngine
) -> None:
    sent = sending(content=True)
    watched = observe(engine, sent.observer)

    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": "masked"}
    with sent.tracer.start_as_current_span("execute_tool weather", attributes=attributes):
        watched.verify("weather", args={"city": "Kyiv"}, result={"degrees": 3})

    found = sent.spans[0].attributes or {}
    assert found["gen_ai.tool.call.arguments"] == "masked"
    assert found["gen_ai.tool.call.result"] == '{"degrees":3}'


def test_no_string_brings_a_credential_along(sent: Sent, observed: Observed) -> None:
    call = {"call_id": DSN, "session_id": DSN}
    sent.observer(observed(result={"tool": DSN, "note": f"no profile for {DSN!r}"}, call=call))

    assert "tea4two" not in sent.spans[0].to_json()
    assert not any("tea4two" in str(point) for point in sent.points("agentguard.verdicts"))


def test_names_that_no_exporter_could_encode_are_mended(
    sent: Sent, observed: Observed, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        sent.observer(observed(result={"tool": "\ud800" * 3, "note": "\udfff"}, call={"call_id": "\ud800\n"}))

    assert sent.spans[0].name == "execute_tool ���"
    assert sent.spans[0].to_json().encode("utf-8")
    assert not caplog.records


def test_with_a_logger_provider_the_verdict_is_an_event_of_the_span(sending: Callable[..., Sent]) -> None:
    records = InMemoryLogRecordExporter()
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(records))
    sent = sending(logger_provider=provider)
    watched = observe(VerificationEngine(), sent.observer)

    watched.verify("add", result=3)

    (span,) = sent.spans
    (found,) = records.get_finished_logs()
    record = found.log_record
    assert not span.events
    assert record.event_name == "gen_ai.evaluation.result"
    assert (record.trace_id, record.span_id) == (span.context.trace_id, span.context.span_id)
    assert (record.attributes or {})["gen_ai.evaluation.score.label"] == "accept"
    assert record.severity_number is SeverityNumber.INFO
    provider.shutdown()


def test_metrics_are_measured(sent: Sent, observed: Observed) -> None:
    for verdict, posterior, seconds in (("accept", 0.05, 0.00003), ("accept", 0.1, 0.00003), ("block", 0.9, 0.2)):
        sent.observer(observed(verdict, posterior, seconds=seconds))

    assert {key: point.value for key, point in sent.points("agentguard.verdicts").items()} == {
        ("weather", "accept"): 2, ("weather", "block"): 1,
    }  # fmt: skip
    assert sent.points("agentguard.signals.fired")[("schema_mismatch",)].value == 3
    posterior = sent.points("agentguard.posterior")[("weather",)]
    assert (posterior.count, posterior.sum) == (3, pytest.approx(1.05))
    guard = sent.points("agentguard.guard.duration")[()]
    assert guard.bucket_counts[2] == 2  # above 25 µs, up to 50 µs
    executed = sent.points("gen_ai.execute_tool.duration")[("weather",)]
    assert (executed.count, executed.sum) == (3, pytest.approx(1.05))  # seconds
    assert executed.explicit_bounds[0] == 0.01


def test_made_up_tools_share_an_attribute(sending: Callable[..., Sent], observed: Observed) -> None:
    sent = sending(max_tools=1, tools=["pay"])

    for tool in ("search", "made up", "made up too", "pay"):
        sent.observer(observed(result={"tool": tool}))

    assert {key: point.value for key, point in sent.points("agentguard.verdicts").items()} == {
        ("search", "accept"): 1, ("other", "accept"): 2, ("pay", "accept"): 1,
    }  # fmt: skip


def test_a_trace_that_is_not_sampled_is_still_measured(sending: Callable[..., Sent], observed: Observed) -> None:
    sent = sending(sampler=ALWAYS_OFF)

    sent.observer(observed())

    assert not sent.spans
    assert sent.points("agentguard.verdicts")[("weather", "accept")].value == 1


def test_the_store_is_looked_at_when_metrics_are_collected(sent: Sent) -> None:
    from agentguard.stores import MemoryStore

    class WritesBehind(MemoryStore):
        flush_seconds = 3_600.0

    engine = VerificationEngine(store=WritesBehind())
    assert not sent.points("agentguard.store.lag")
    observe(engine, sent.observer)

    assert sent.points("agentguard.store.lag")[()].value > 0  # nothing has been handed over yet
    assert sent.points("agentguard.store.waiting")[()].value == 0
    engine.close()


def test_without_providers_it_speaks_to_the_global_ones_which_do_nothing(engine: VerificationEngine) -> None:
    watched = observe(engine, OpenTelemetryObserver())

    assert watched.verify("weather", result={}).verdict == "block"
    assert not trace.get_current_span().is_recording()


def test_threads_mix_nothing_up(sent: Sent, engine: VerificationEngine) -> None:
    watched = observe(engine, sent.observer)

    def calls(thread: int) -> None:
        for number in range(20):
            attributes = {"gen_ai.operation.name": "execute_tool", "own": f"{thread}-{number}"}
            with sent.tracer.start_as_current_span("execute_tool weather", attributes=attributes):
                watched.verify("weather", result={} if number % 2 else {"degrees": 1})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(calls, range(8)))

    assert len(sent.spans) == 160
    for span in sent.spans:
        assert [event.name for event in span.events].count("gen_ai.evaluation.result") == 1
        odd = int(str((span.attributes or {})["own"]).split("-")[1]) % 2
        assert (span.attributes or {})["agentguard.verdict"] == ("block" if odd else "accept")
