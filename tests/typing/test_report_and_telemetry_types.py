"""Reports and telemetry as a user's type checker sees them: read by mypy --strict, run by pytest."""

from __future__ import annotations

from typing import Literal

from typing_extensions import assert_type

from agentguard.report import ReportBuilder, ReportData, ReviewedCall, html_of, report_of_store
from agentguard.stores import MemoryStore
from agentguard.telemetry import (
    LogObserver,
    MetricsText,
    Observation,
    ObservedEngine,
    Observer,
    OpenTelemetryObserver,
    PrometheusObserver,
    dashboard,
    metrics_text,
    observe,
)
from agentguard.verification import ToolCall, VerificationEngine, VerificationResult


def test_a_report_is_data_and_then_a_page() -> None:
    builder = ReportBuilder(worst=3, content=True)
    call = ToolCall("add", {"a": 1, "b": 2}, 3)
    builder.add(call, VerificationEngine().verify(call.tool, args=call.args, result=call.result), label="genuine")
    data = builder.data(title="One call", source="by hand", notes=("by hand",))

    assert_type(builder.calls, int)
    assert_type(data, ReportData)
    assert_type(html_of(data), str)
    reviewed = (ReviewedCall("add", 0.9, True), ReviewedCall("add", 0.1, False, verdict="accept"))
    assert_type(report_of_store(MemoryStore(), reviewed, title="A store", source="memory"), ReportData)
    assert builder.calls == 1


class Counting(Observer):
    """A user's observer."""

    content = True

    def __init__(self) -> None:
        self.seen: list[ToolCall] = []

    def __call__(self, observation: Observation, /) -> None:
        assert_type(observation.result, VerificationResult)
        assert_type(observation.call, ToolCall)
        assert_type(observation.guard_seconds, float)
        assert_type(observation.at, float)
        assert_type(observation.fired, tuple[str, ...])
        self.seen.append(observation.call)


def test_an_observed_engine_is_an_engine() -> None:
    counting = Counting()
    heard: list[Observation] = []
    engine = observe(VerificationEngine(), counting, heard.append, LogObserver())

    assert_type(engine, VerificationEngine)
    assert_type(engine.verify("add", args={"a": 1}, result=1).verdict, Literal["accept", "flag", "block"])
    assert_type(ObservedEngine(VerificationEngine(), counting).profile_of("add").name, str)
    assert counting.seen[0].args == {"a": 1}
    assert heard[0].call.args is None


def test_what_is_handed_to_other_systems() -> None:
    assert_type(dashboard(), str)
    text = metrics_text()
    assert_type(text, MetricsText)
    assert_type(text.content_type, str)
    observers: list[Observer] = [OpenTelemetryObserver(content=False)]
    assert isinstance(observers[0], Observer)


def refused(engine: VerificationEngine, data: ReportData) -> None:
    """Never called: each line is an error to the type checker."""
    observe(engine, "log")  # type: ignore[arg-type]  # something to call with an Observation
    observe(engine, lambda: None)  # type: ignore[arg-type,misc]  # with one argument
    PrometheusObserver(max_tools="all")  # type: ignore[arg-type]  # a number
    Observer()  # type: ignore[abstract]  # says nothing of what to do
    html_of("title")  # type: ignore[arg-type]  # what a builder gathered
    ReportBuilder().data()  # type: ignore[call-arg]  # a title, and where the calls come from
    data.title = "other"  # type: ignore[misc]  # a report is not changed
