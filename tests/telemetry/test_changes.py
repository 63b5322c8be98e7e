"""A lasting change is told once with each state that it takes, by every observer, without content."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry._logs import SeverityNumber
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry

from agentguard.errors import StoreError
from agentguard.telemetry import (
    LogObserver,
    Observation,
    Observer,
    OpenTelemetryObserver,
    PrometheusObserver,
    observe,
)
from agentguard.telemetry._engines import ChangeStates
from agentguard.verification import VerificationEngine
from agentguard.verification._changes import Change

DSN = "postgres://app:tea4two@db.internal/shop"
OPEN = Change(
    "0a1b2c3d4e5f", "get_price", "open", "price is about × 1,000 its usual level", ("level price",), 1_700_000_000.0,
    1_700_000_000.25, 3, 2, False,
)  # fmt: skip
FOLLOWED = OPEN._replace(state="followed", since=OPEN.since + 60, why="the old values stand under a new name")


class Announcing(VerificationEngine):
    """An engine whose changes are those that a test makes up."""

    def __init__(self, *before: Change) -> None:
        super().__init__()
        self._before = list(before)
        self.listeners: list[Callable[[Change], object]] = []

    def on_change(self, callback: Callable[[Change], object]) -> None:
        self.listeners.append(callback)

    def changes(self, tool: str | None = None) -> list[Change]:
        return self._before

    def announce(self, change: Change) -> None:
        for listener in self.listeners:
            listener(change)


class Keeping(Observer):
    """Keeps what it is told of changes."""

    def __init__(self, times: int = 0) -> None:
        self.seen: list[Change] = []
        self.failures = times

    def __call__(self, observation: Observation, /) -> None:
        """Is not asked here."""

    def changed(self, change: Change, /) -> None:
        self.failures -= 1
        if self.failures >= 0:
            raise RuntimeError(f"the secret of {change.tool}")
        self.seen.append(change)


# --- The observed engine ---


def test_each_observer_is_told_of_a_change_and_functions_are_not() -> None:
    engine, one, other, verdicts = Announcing(), Keeping(), Keeping(), list[Observation]()
    observe(engine, one, verdicts.append, other)

    engine.announce(OPEN)

    assert (one.seen, other.seen, verdicts) == ([OPEN], [OPEN], [])


def test_what_an_observer_raises_of_a_change_is_logged_by_name_once(caplog: pytest.LogCaptureFixture) -> None:
    engine, keeping = Announcing(), Keeping()
    observe(engine, Keeping(times=2), keeping)

    with caplog.at_level(logging.INFO, "agentguard"):
        for _ in range(3):
            engine.announce(OPEN)

    assert len(keeping.seen) == 3
    assert [record.getMessage() for record in caplog.records] == [
        "observer Keeping failed: RuntimeError",
        "observer Keeping works again; what happened meanwhile was not observed",
    ]


# --- What is news ---


def at(state: Any, since: float, id_: str = "a", tool: str = "t") -> Change:
    return OPEN._replace(id=id_, tool=tool, state=state, since=since)


def test_a_state_is_news_once_whichever_engines_tell_of_it() -> None:
    states = ChangeStates()
    told = [
        at("open", 1.0), at("open", 1.0),  # by the engine that made it, and by one that read it
        at("recovered", 2.0),
        at("open", 1.0), at("recovered", 2.0),  # by one that reads late
        at("open", 3.0),
        at("fault", 3.0),  # decided in the same tick of the clock
    ]  # fmt: skip

    assert [states.take(change) for change in told] == [True, False, True, False, False, True, True]


def test_open_changes_are_counted_by_tool() -> None:
    states = ChangeStates()
    for change in (at("open", 1.0, "a"), at("open", 1.0, "b"), at("open", 1.0, "c", "u"), at("adopted", 2.0, "b")):
        states.take(change)

    assert states.open_by_tool() == {"t": 1, "u": 1}
    states.take(at("mode", 5.0, "c", "u"))
    assert states.open_by_tool() == {"t": 1, "u": 0}


def test_what_an_engine_knows_already_is_no_news() -> None:
    states = ChangeStates()
    states.watch(Announcing(at("open", 5.0)))

    assert states.open_by_tool() == {"t": 1}
    assert not states.take(at("open", 5.0))
    assert states.take(at("adopted", 6.0))


def test_an_engine_whose_store_cannot_be_read_is_watched_all_the_same() -> None:
    class Broken(Announcing):
        def changes(self, tool: str | None = None) -> list[Change]:
            raise StoreError("it is gone")

    states = ChangeStates()
    states.watch(Broken())

    assert states.take(OPEN)


def test_so_many_are_known_and_no_more() -> None:
    states = ChangeStates(most=2)
    for n in range(5):
        states.take(at("open", float(n), str(n)))

    assert states.open_by_tool() == {"t": 2}


# --- Prometheus ---


def test_prometheus_counts_transitions_and_what_is_open() -> None:
    registry, engine = CollectorRegistry(), Announcing(at("open", 1.0, "before", "search"))
    observe(engine, PrometheusObserver(registry))

    def open_(tool: str) -> float | None:
        return registry.get_sample_value("agentguard_changes_open", {"tool": tool})

    def count(tool: str, state: str) -> float | None:
        return registry.get_sample_value("agentguard_changes_total", {"tool": tool, "state": state})

    assert (open_("search"), count("search", "open")) == (1, None)
    for change in (OPEN, OPEN, OPEN._replace(id="b", since=OPEN.since + 1)):
        engine.announce(change)
    assert (open_("get_price"), count("get_price", "open")) == (2, 2)
    engine.announce(OPEN._replace(state="adopted", since=OPEN.since + 2, reviewed=True))

    assert (open_("get_price"), count("get_price", "open"), count("get_price", "adopted")) == (1, 2, 1)
    assert open_("search") == 1


def test_made_up_tools_share_a_label_there_too() -> None:
    registry, engine = CollectorRegistry(), Announcing()
    observe(engine, PrometheusObserver(registry, max_tools=0, tools=["pay"]))
    for n in range(3):
        engine.announce(OPEN._replace(id=str(n), tool=f"made up {n}"))
    engine.announce(OPEN._replace(id="p", tool="pay"))

    assert registry.get_sample_value("agentguard_changes_open", {"tool": "other"}) == 3
    assert registry.get_sample_value("agentguard_changes_open", {"tool": "pay"}) == 1


# --- The log ---


def test_a_line_of_json_a_transition(caplog: pytest.LogCaptureFixture) -> None:
    engine = Announcing()
    observe(engine, LogObserver())

    with caplog.at_level(logging.INFO, "agentguard.verdicts"):
        engine.announce(OPEN)
        engine.announce(OPEN)
        engine.announce(OPEN._replace(state="fault", since=OPEN.since + 60, reviewed=True))

    assert [(record.levelname, json.loads(record.getMessage())) for record in caplog.records] == [
        ("WARNING", {
            "event": "agentguard.change", "at": "2023-11-14T22:13:20.250+00:00", "change": "0a1b2c3d4e5f",
            "tool": "get_price", "state": "open", "what": "price is about × 1,000 its usual level",
            "reviewed": False,
        }),
        ("INFO", {
            "event": "agentguard.change", "at": "2023-11-14T22:14:20.250+00:00", "change": "0a1b2c3d4e5f",
            "tool": "get_price", "state": "fault", "what": "price is about × 1,000 its usual level",
            "reviewed": True,
        }),
    ]  # fmt: skip
    assert all(record.getMessage().isascii() for record in caplog.records)


def test_a_followed_change_wants_a_person_and_says_why(caplog: pytest.LogCaptureFixture) -> None:
    engine = Announcing()
    observe(engine, LogObserver())

    with caplog.at_level(logging.INFO, "agentguard.verdicts"):
        engine.announce(OPEN)
        engine.announce(FOLLOWED)
        engine.announce(FOLLOWED)

    _, record = caplog.records
    said = json.loads(record.getMessage())
    assert (record.levelname, said["state"], said["why"], said["reviewed"]) == (
        "WARNING", "followed", "the old values stand under a new name", False,
    )  # fmt: skip


def test_no_name_brings_a_credential_or_a_second_line_into_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "agentguard.verdicts"):
        LogObserver().changed(
            OPEN._replace(id=f"{DSN}\n", tool=f"a\n{DSN}", what=f"the key '{DSN}' is new", why=DSN, since=1e30)
        )

    (record,) = caplog.records
    assert "tea4two" not in record.getMessage()
    assert record.getMessage().isprintable()


# --- OpenTelemetry ---


class Sent:
    """What an observer over providers of its own has sent."""

    def __init__(self, *, logs: bool = False) -> None:
        self._spans, self._logs, self._reader = (
            InMemorySpanExporter(), InMemoryLogRecordExporter(), InMemoryMetricReader(),
        )  # fmt: skip
        tracers, loggers = TracerProvider(), LoggerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        loggers.add_log_record_processor(SimpleLogRecordProcessor(self._logs))
        self.providers = tracers, MeterProvider([self._reader]), loggers
        self.tracer = tracers.get_tracer("the agent's own")
        self.observer = OpenTelemetryObserver(*self.providers[:2], logger_provider=loggers if logs else None)
        self.engine = Announcing(at("open", 1.0, "before", "search"))
        observe(self.engine, self.observer)

    @property
    def spans(self) -> Any:
        return self._spans.get_finished_spans()

    @property
    def records(self) -> Any:
        return [each.log_record for each in self._logs.get_finished_logs()]

    def points(self, metric: str) -> dict[tuple[Any, ...], Any]:
        data = self._reader.get_metrics_data()
        assert data is not None
        return {
            tuple((point.attributes or {}).values()): getattr(point, "value", None)
            for scope in data.resource_metrics[0].scope_metrics
            for found in scope.metrics
            if found.name == metric
            for point in found.data.data_points
        }


@pytest.fixture
def sent(request: pytest.FixtureRequest) -> Any:
    made = Sent(**getattr(request, "param", {}))
    yield made
    for provider in made.providers:
        provider.shutdown()


ATTRIBUTES = {
    "gen_ai.tool.name": "get_price", "agentguard.change.id": "0a1b2c3d4e5f", "agentguard.change.state": "open",
}  # fmt: skip


def test_a_change_is_an_event_of_the_span_in_which_it_was_found(sent: Sent) -> None:
    with sent.tracer.start_as_current_span("the agent's turn"):
        sent.engine.announce(OPEN)
        sent.engine.announce(OPEN)

    (span,) = sent.spans
    assert [(event.name, dict(event.attributes or {})) for event in span.events] == [("agentguard.change", ATTRIBUTES)]
    assert span.events[0].timestamp == pytest.approx(1_700_000_000_250_000_000, abs=1_000, rel=0)


def test_where_there_is_no_span_it_has_one_of_its_own(sent: Sent) -> None:
    sent.engine.announce(OPEN)  # by the thread that reads on what other workers wrote

    (span,) = sent.spans
    assert span.name == "agentguard.change"
    assert [(event.name, dict(event.attributes or {})) for event in span.events] == [("agentguard.change", ATTRIBUTES)]


@pytest.mark.parametrize("sent", [{"logs": True}], indirect=True)
def test_with_a_logger_it_is_an_event_of_the_logs_api(sent: Sent) -> None:
    sent.engine.announce(OPEN)
    sent.engine.announce(OPEN._replace(state="recovered", since=OPEN.since + 1))

    first, second = sent.records
    assert (first.event_name, dict(first.attributes), first.severity_number) == (
        "agentguard.change", ATTRIBUTES, SeverityNumber.WARN,
    )  # fmt: skip
    assert (second.attributes["agentguard.change.state"], second.severity_number) == ("recovered", SeverityNumber.INFO)
    assert sent.spans == ()


@pytest.mark.parametrize("sent", [{"logs": True}], indirect=True)
def test_a_followed_change_is_one_event_with_its_reason(sent: Sent) -> None:
    sent.engine.announce(OPEN)
    sent.engine.announce(FOLLOWED)
    sent.engine.announce(FOLLOWED._replace(calls=9))

    _, record = sent.records
    assert (record.severity_number, dict(record.attributes)) == (
        SeverityNumber.WARN,
        {
            **ATTRIBUTES, "agentguard.change.state": "followed",
            "agentguard.change.why": "the old values stand under a new name",
        },
    )  # fmt: skip
    assert sent.points("agentguard.changes")["get_price", "followed"] == 1
    assert sent.points("agentguard.changes.open")[("get_price",)] == 0


def test_changes_are_measured(sent: Sent) -> None:
    sent.engine.announce(OPEN)
    sent.engine.announce(OPEN._replace(id="b", state="mode"))

    assert sent.points("agentguard.changes") == {("get_price", "open"): 1, ("get_price", "mode"): 1}
    assert sent.points("agentguard.changes.open") == {("get_price",): 1, ("search",): 1}
