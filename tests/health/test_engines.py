"""Metrics that users bring: judged, learned, kept and survived like the monitor's own."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import ConfigurationError
from agentguard.health import EngineResult, HealthResult, LLMCall, LLMMonitor
from agentguard.stores import MemoryStore

from ..rows import over

CALL = LLMCall("m", "It is mild.", 100.0, tokens=50)


class Length:
    """The length of a response; more than twice the usual is an error."""

    metric = "length"

    def __init__(self, weight: float = 0.25) -> None:
        self.weight = weight

    def measure(self, call: LLMCall) -> tuple[float, ...] | None:
        return None if call.text is None else (float(len(call.text)),)

    def check(self, now: tuple[float, ...], usual: tuple[float, ...]) -> EngineResult:
        long = now[0] > 2 * usual[0]
        return EngineResult("length", 0.8 if long else 0.0, "error" if long else "ok", True, f"usually {usual[0]:g}")


class Odd(Length):
    """Measures and says what a test gives it."""

    def __init__(self, measured: Any, result: Any = None) -> None:
        super().__init__()
        self.measured, self.result = measured, result

    def measure(self, call: LLMCall) -> Any:
        if isinstance(self.measured, Exception):
            raise self.measured
        return self.measured

    def check(self, now: tuple[float, ...], usual: tuple[float, ...]) -> Any:
        return super().check(now, usual) if self.result is None else self.result


def of(result: HealthResult, metric: str = "length") -> EngineResult:
    return next(each for each in result.results if each.metric == metric)


def taught(monitor: LLMMonitor, calls: int = 5) -> LLMMonitor:
    for _ in range(calls):
        monitor.record(CALL)
    return monitor


def test_an_engine_of_ones_own_judges_against_what_is_usual() -> None:
    monitor = taught(LLMMonitor(engines=[Length()]))
    result = monitor.record(CALL._replace(text="It is mild. " * 10))

    assert of(result) == EngineResult("length", 0.8, "error", True, "usually 11")
    assert of(monitor.record(CALL)).status == "ok"  # the outlier has not moved the average


def test_it_says_nothing_before_the_baseline_is_stable() -> None:
    monitor = LLMMonitor(engines=[Length()])

    assert of(monitor.record(CALL)).detail == "0 of 5 calls"
    assert of(taught(monitor, 3).record(CALL)).applicable is False
    assert of(monitor.record(CALL)).applicable is True


@pytest.mark.parametrize(
    ("weight", "weights", "share"),
    [(0.5, {"latency": 0.5}, 0.5), (1.5, {"latency": 0.5}, 0.75), (0.0, {"latency": 0.5}, 0.0),
     (0.5, {"latency": 0.5, "length": 1.5}, 0.75)],
)  # fmt: skip
def test_its_weight_counts_unless_weights_say_otherwise(weight: float, weights: Any, share: float) -> None:
    monitor = taught(LLMMonitor(engines=[Length(weight)], weights=weights))
    result = monitor.record(CALL._replace(text="It is mild. " * 10))

    assert result.score == pytest.approx(0.8 * share)


def test_a_store_keeps_what_is_usual() -> None:
    store = MemoryStore()
    taught(LLMMonitor(store, engines=[Length()])).flush()
    again = LLMMonitor(store, engines=[Length()])

    assert of(again.record(CALL._replace(text="It is mild. " * 10))).detail == "usually 11"


def test_a_monitor_without_the_engine_leaves_its_baseline_alone() -> None:
    store = MemoryStore()
    taught(LLMMonitor(store, engines=[Length()])).flush()
    taught(LLMMonitor(store)).flush()

    assert of(LLMMonitor(store, engines=[Length()]).record(CALL)).detail == "usually 11"


def test_an_engine_that_measures_something_else_begins_anew() -> None:
    store = MemoryStore()
    taught(LLMMonitor(store, engines=[Length()])).flush()
    monitor = LLMMonitor(store, engines=[Odd((1.0, 2.0))])

    assert of(monitor.record(CALL)).detail == "0 of 5 calls"


@pytest.mark.parametrize(
    "engine",
    [
        Odd(RuntimeError("secret")),
        Odd((math.nan,)),
        Odd((math.inf,)),
        Odd(()),
        Odd("ab"),
        Odd(7),
        Odd((1.0,), "fine"),
        Odd((1.0,), EngineResult("length", -1.0, "ok", True, "")),
        Odd((1.0,), EngineResult("length", 0.5, "bad", True, "")),  # type: ignore[arg-type]  # what is tested
    ],
)
def test_an_engine_that_fails_has_no_weight_and_stops_nothing(engine: Any, caplog: pytest.LogCaptureFixture) -> None:
    with_it = taught(LLMMonitor(engines=[engine]), 6).record(CALL)
    without = taught(LLMMonitor(), 6).record(CALL)

    assert of(with_it).applicable is False
    assert (with_it.score, with_it.results[: len(without.results)]) == (without.score, without.results)
    assert "secret" not in caplog.text


def test_a_value_is_at_most_1_and_has_the_engines_name() -> None:
    monitor = taught(LLMMonitor(engines=[Odd((1.0,), EngineResult("latency", 7.0, "error", True, "x"))]), 12)

    assert of(monitor.record(CALL)) == EngineResult("length", 1.0, "error", True, "x")


class Named(Length):
    def __init__(self, metric: Any, weight: Any = 0.25) -> None:
        super().__init__(weight)
        self.metric = metric


@over(
    ("engines", "message"),
    [
        ([Named("latency")], "a name of its own, not 'latency'"),
        ([Named("availability")], "a name of its own"),
        ([Named("")], "a name of its own"),
        ([Named(7)], "a name of its own"),
        ([Length(), Length()], "a name of its own, not 'length'"),
        ([Named("x", "1")], "weight of the engine 'x'"),
        ([Named("x", True)], "weight of the engine 'x'"),
        ([Named("x", -0.1)], "weights must be finite and 0 or more"),
        ([object()], "a name of its own, not None"),
        ([type("Bare", (), {"metric": "x", "weight": 1.0})()], "methods measure and check"),
    ],
)
def test_engines_that_cannot_be_used(engines: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        LLMMonitor(engines=engines)


@given(st.lists(st.one_of(st.none(), st.lists(st.floats(), max_size=3).map(tuple), st.text(max_size=3)), max_size=12))
def test_whatever_is_measured_a_call_is_judged(measured: list[Any]) -> None:
    engine = Odd(None)
    monitor, without = LLMMonitor(MemoryStore(), engines=[engine]), LLMMonitor()
    for each in measured:
        engine.measured = each
        assert monitor.record(CALL).results[:-1] == without.record(CALL).results
    monitor.close()
