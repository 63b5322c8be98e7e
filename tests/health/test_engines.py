"""Engines one by one, and those that users bring: asked of every call, and survived."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.health import EngineResult, HealthEngine, LLMCall, LLMMonitor, ModelBaseline, baseline_engine

CALL = LLMCall("m", "It is mild.", 100.0, tokens=50)


def length(call: LLMCall, baseline: ModelBaseline) -> EngineResult:
    """A text of more than twice the usual words is an error."""
    usual = baseline.fingerprint
    if usual is None or call.text is None:
        return EngineResult.abstain("length", "nothing to compare")
    words = len(call.text.split())
    long = words > 2 * usual.tokens
    return EngineResult("length", 0.8 if long else 0.0, "error" if long else "ok", {"words": words})


LONG = CALL._replace(text="It is mild. " * 10)


def test_an_engine_of_ones_own_is_asked_with_what_is_usual() -> None:
    monitor = LLMMonitor(engines=[length])

    assert monitor.record(CALL).results[-1].applicable is False
    assert monitor.record(LONG).results[-1] == EngineResult("length", 0.8, "error", {"words": 30})
    assert monitor.record(CALL).results[-1].status == "ok"


@pytest.mark.parametrize(("weights", "score"), [({"length": 0.25}, 0.4), ({"length": 0.75}, 0.6), ({}, 0.0)])
def test_it_has_the_weight_that_it_is_given(weights: dict[str, float], score: float) -> None:
    """Beside the usual latency, of value 0 at .25: .8 · .25 / .5 and .8 · .75 / 1."""
    weights |= {"token_rate": 0.0, "fingerprint": 0.0}
    monitor = LLMMonitor(engines=[length], min_samples=1, weights=weights)
    monitor.record(CALL)

    assert monitor.record(LONG).score == pytest.approx(score)


@pytest.mark.parametrize(
    "result",
    [
        RuntimeError("secret"),
        None,
        "fine",
        ("length", 0.5, "ok"),
        EngineResult("length", -1.0, "ok"),
        EngineResult("length", math.nan, "ok"),
        EngineResult("length", math.inf, "ok"),
        EngineResult("length", 0.5, "bad"),  # type: ignore[arg-type]  # on purpose
        EngineResult("length", 0.5, "ok", "details"),  # type: ignore[arg-type]  # on purpose
        EngineResult(7, 0.5, "ok"),  # type: ignore[arg-type]  # on purpose
        EngineResult("latency", 0.5, "ok"),
        EngineResult("availability", 0.5, "ok"),
    ],
)
def test_an_engine_that_fails_has_no_weight_and_stops_nothing(result: Any, caplog: pytest.LogCaptureFixture) -> None:
    def odd(call: LLMCall, baseline: ModelBaseline) -> EngineResult:
        if isinstance(result, Exception):
            raise result
        found: EngineResult = result
        return found

    def last(*engines: HealthEngine) -> Any:
        monitor = LLMMonitor(engines=engines, weights={"odd": 0.5, "length": 0.5})
        return [monitor.record(CALL) for _ in range(7)][-1]

    with_it, without = last(odd), last()
    assert (with_it.results[-1].metric, with_it.results[-1].applicable) == ("odd", False)
    assert (with_it.score, with_it.results[:-1]) == (without.score, without.results)
    assert "secret" not in caplog.text


def test_a_value_is_at_most_1() -> None:
    monitor = LLMMonitor(engines=[lambda call, baseline: EngineResult("mine", 7.0, "error")])

    assert monitor.record(CALL).results[-1] == EngineResult("mine", 1.0, "error")


def test_a_failed_call_moves_no_average() -> None:
    usual = baseline_engine(CALL, ModelBaseline())

    assert baseline_engine(LLMCall("m", "x", 9.0, error="TimeoutError"), usual) == usual._replace(calls=2, errors=1)


ANY = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)


@given(st.lists(st.builds(LLMCall, st.just("m"), st.none() | st.text(), ANY, ANY, ANY), max_size=9))
def test_the_averages_are_those_of_a_monitor_that_lets_outliers_in(calls: list[LLMCall]) -> None:
    monitor, baseline = LLMMonitor(adapt_after=0), ModelBaseline()
    for call in calls:
        monitor.record(call)
        baseline = baseline_engine(call, baseline)

    assert monitor.baseline("m")._replace(stable=False) == baseline._replace(stable=False)
