"""What Prometheus is told, read back from the registry and from the text that a collector gets."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_text

from agentguard.errors import ConfigurationError
from agentguard.stores import MemoryStore
from agentguard.telemetry import Observation, PrometheusObserver, metrics_text, observe
from agentguard.verification import VerificationEngine

Observed = Callable[..., Observation]


class WritesBehind(MemoryStore):
    """Its engine writes to it in an hour, that is, when it is told to."""

    flush_seconds = 3_600.0


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


def test_verdicts_are_counted_by_tool(registry: CollectorRegistry, engine: VerificationEngine) -> None:
    watched = observe(engine, PrometheusObserver(registry))

    for result in ({"degrees": 1}, {"degrees": 2}, {}):
        watched.verify("weather", result=result)
    watched.verify("rates", result={"rate": 1})

    def count(tool: str, verdict: str) -> float | None:
        return registry.get_sample_value("agentguard_verdicts_total", {"tool": tool, "verdict": verdict})

    assert (count("weather", "accept"), count("weather", "block"), count("rates", "accept")) == (2, 1, 1)
    assert registry.get_sample_value("agentguard_signals_fired_total", {"signal": "schema_mismatch"}) == 1
    assert registry.get_sample_value("agentguard_guard_seconds_count") == 4


def test_posteriors_and_times_fall_into_their_buckets(registry: CollectorRegistry, observed: Observed) -> None:
    observer = PrometheusObserver(registry)

    for posterior, seconds in ((0.05, 0.00001), (0.19, 0.00003), (0.2, 0.0003), (0.97, 2.0)):
        observer(observed("accept", posterior, seconds=seconds))

    def upto(metric: str, le: str) -> float | None:
        labels = {"tool": "weather"} if metric == "agentguard_posterior" else {}
        return registry.get_sample_value(f"{metric}_bucket", {**labels, "le": le})

    assert [upto("agentguard_posterior", le) for le in ("0.02", "0.05", "0.15", "0.2", "0.95", "1.0")] == [
        0, 1, 1, 3, 3, 4,
    ]  # fmt: skip
    assert [upto("agentguard_guard_seconds", le) for le in ("1e-05", "5e-05", "0.0005", "1.0", "+Inf")] == [
        1, 2, 3, 3, 4,
    ]  # fmt: skip
    assert registry.get_sample_value("agentguard_posterior_sum", {"tool": "weather"}) == pytest.approx(1.41)


@given(st.lists(st.text(st.characters()), max_size=20))
def test_whatever_tools_are_called_a_collector_reads_a_bounded_text(observed: Observed, tools: list[str]) -> None:
    registry = CollectorRegistry()
    observer = PrometheusObserver(registry, max_tools=3, tools=["pay"])

    for tool in tools:
        observer(observed(result={"tool": tool}))

    text = metrics_text(registry)
    families = {family.name: family for family in read_text(text.body.decode())}
    counts = [sample for sample in families["agentguard_verdicts"].samples if sample.name.endswith("_total")]
    assert sum(sample.value for sample in counts) == len(tools)
    assert len(counts) <= 5


def test_threads_lose_no_verdict(registry: CollectorRegistry, engine: VerificationEngine) -> None:
    watched = observe(engine, PrometheusObserver(registry))

    def calls(_: int) -> None:
        for number in range(100):
            watched.verify("weather", result={"degrees": number})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(calls, range(8)))

    assert registry.get_sample_value("agentguard_guard_seconds_count") == 800
    assert registry.get_sample_value("agentguard_posterior_count", {"tool": "weather"}) == 800


def test_the_store_is_looked_at_when_metrics_are_collected(registry: CollectorRegistry) -> None:
    store = WritesBehind()
    engine = VerificationEngine(store=store)
    observe(engine, PrometheusObserver(registry))
    engine.flush()

    assert registry.get_sample_value("agentguard_store_lag_seconds") == 0
    assert registry.get_sample_value("agentguard_store_waiting") == 0
    assert registry.get_sample_value("agentguard_store_failing") == 0
    lag = registry.get_sample_value("agentguard_store_lag_seconds")  # no flush since
    assert lag is not None
    assert lag > 0
    engine.close()


def test_without_a_store_there_are_no_samples_of_one(registry: CollectorRegistry, engine: VerificationEngine) -> None:
    observe(engine, PrometheusObserver(registry))

    assert registry.get_sample_value("agentguard_store_lag_seconds") is None
    assert b"# TYPE agentguard_store_lag_seconds gauge" in metrics_text(registry).body


def test_one_observer_serves_several_engines(registry: CollectorRegistry) -> None:
    observer = PrometheusObserver(registry)

    for _ in range(2):
        observe(VerificationEngine(), observer).verify("add", result=3)

    assert registry.get_sample_value("agentguard_guard_seconds_count") == 2
    with pytest.raises(ConfigurationError, match="give one PrometheusObserver to all engines"):
        PrometheusObserver(registry)


def test_the_text_is_what_the_collector_asks_for(registry: CollectorRegistry, observed: Observed) -> None:
    PrometheusObserver(registry)(observed())

    plain = metrics_text(registry)
    assert plain.content_type.startswith("text/plain;")
    assert plain.body == generate_latest(registry)
    openmetrics = metrics_text(registry, "application/openmetrics-text; version=1.0.0")
    assert openmetrics.content_type.startswith("application/openmetrics-text;")
    assert {family.name for family in read_openmetrics(openmetrics.body.decode())} >= {"agentguard_verdicts"}


def test_without_a_registry_it_is_the_one_of_the_process() -> None:
    names = {family.name for family in read_text(metrics_text().body.decode())}

    assert names
    assert names == {family.name for family in read_text(generate_latest(REGISTRY).decode())}


def test_the_module_describes_each_metric_and_no_other(registry: CollectorRegistry) -> None:
    PrometheusObserver(registry)
    exported = {f"{family.name}_total" if family.type == "counter" else family.name for family in registry.collect()}
    from agentguard.telemetry import _prometheus as prometheus

    assert set(re.findall(r"^(agentguard_\w+)", prometheus.__doc__ or "", re.MULTILINE)) == exported
