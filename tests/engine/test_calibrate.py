"""``calibrate``: thresholds and ratios in force, for all tools or for one."""

from __future__ import annotations

import math
from typing import Any, Literal

import pytest

from agentguard.errors import ConfigurationError
from agentguard.verification import VerificationEngine, VerificationResult

Mode = Literal["calibrated", "reference"]
BAD = {"city": "London"}


def guarded(mode: Mode) -> VerificationEngine:
    engine = VerificationEngine(mode=mode)
    for tool in ("get_weather", "get_forecast"):
        engine.register_tool_profile(tool, required_fields=["temperature"], response_patterns=['"city"'])
    return engine


def judge(engine: VerificationEngine, tool: str = "get_weather", result: object = BAD) -> VerificationResult:
    return engine.verify(tool, result=result, execution_time_ms=350.0, learn=False)


def test_returns_the_engine(mode: Mode) -> None:
    engine = VerificationEngine(mode=mode)
    assert engine.calibrate(prior=0.2) is engine
    assert engine.calibrate("get_weather", block_at=0.6) is engine
    assert engine.calibrate() is engine


def test_for_all_tools_seen_and_unseen(mode: Mode) -> None:
    engine = guarded(mode)
    engine.verify("get_weather", result={"city": "London", "temperature": 18})

    engine.calibrate(prior=0.4)

    assert judge(engine).prior == judge(engine, "get_forecast").prior == judge(engine, "never_seen").prior == 0.4


def test_for_one_tool_whether_it_was_seen_or_not(mode: Mode) -> None:
    engine = guarded(mode)
    engine.verify("get_weather", result={"city": "London", "temperature": 18})

    engine.calibrate("get_weather", prior=0.4)
    engine.calibrate("later", prior=0.3)

    assert judge(engine).prior == 0.4
    assert judge(engine, "later").prior == 0.3
    assert judge(engine, "get_forecast").prior == 0.15


@pytest.mark.parametrize("order", ["tool first", "all first"])
def test_what_is_set_for_a_tool_stands_over_what_is_set_for_all(mode: Mode, order: str) -> None:
    engine = guarded(mode)
    if order == "tool first":
        engine.calibrate("get_weather", prior=0.4).calibrate(prior=0.3, block_at=0.9)
    else:
        engine.calibrate(prior=0.3, block_at=0.9).calibrate("get_weather", prior=0.4)

    assert judge(engine).prior == 0.4
    assert judge(engine, "get_forecast").prior == 0.3
    # The line set for all holds for the tool too, since none was set for it.
    assert judge(engine).posterior < 0.9
    assert judge(engine).verdict == "flag"


def test_thresholds_move_the_verdict_and_not_the_posterior(mode: Mode) -> None:
    engine = guarded(mode)
    before = judge(engine)
    assert before.verdict == "block"

    engine.calibrate("get_weather", block_at=1.0)
    assert judge(engine).verdict == "flag"
    engine.calibrate("get_weather", accept_below=1.0)
    assert judge(engine).verdict == "accept"
    other = judge(engine, "get_forecast")
    assert other == before._replace(tool="get_forecast", change=other.change)

    engine.calibrate("get_weather", accept_below=0.2, block_at=0.5)
    assert judge(engine) == before


def test_the_false_block_rate_can_be_set_for_a_tool() -> None:
    engine = VerificationEngine()
    for tool in ("one", "other"):
        for call in range(200):
            engine.verify(tool, result={"reading": 40 + call % 7, "unit": "kWh"}, execution_time_ms=200.0)

    engine.calibrate("one", max_false_block_rate=1.0).calibrate(max_false_block_rate=1e-12)

    verdicts = {tool: judge(engine, tool, {"reading": None, "unit": "kWh"}) for tool in ("one", "other")}
    assert verdicts["one"].posterior >= 0.5
    assert verdicts["one"].verdict == "block"
    assert verdicts["other"].verdict != "block"


def test_a_larger_ratio_makes_the_signal_weigh_more(mode: Mode) -> None:
    engine = guarded(mode)
    weights = []
    for ratio in (2.0, 12.0, 40.0):
        engine.calibrate("get_weather", likelihood_ratios={"schema_mismatch": ratio})
        weights.append(judge(engine).contributions["schema_mismatch"])

    assert weights == sorted(weights)
    # The one missing field is all that is declared, so the score is 1 and the ratio counts in full.
    assert weights == pytest.approx([math.log(2.0), math.log(12.0), math.log(40.0)])


def test_a_ratio_of_one_takes_a_learned_signals_word_even_where_it_knows_the_rate_itself() -> None:
    def cut_off(engine: VerificationEngine) -> float:
        for n in range(30):
            engine.verify("log", args={"n": n}, result=f"Run {n} took {n * 7} seconds (and {n} retries).")
        verdict = engine.verify("log", args={"n": 99}, result="Run 99 took 12 seconds (and", learn=False)
        assert verdict.signals["truncated_result"].fired
        return verdict.signals["truncated_result"].likelihood_ratio

    assert cut_off(VerificationEngine()) > 10.0
    assert cut_off(VerificationEngine().calibrate("log", likelihood_ratios={"truncated_result": 1.0})) == 1.0


def test_ratios_are_set_one_by_one_and_a_tools_stand_over_those_of_all(mode: Mode) -> None:
    engine = guarded(mode)
    engine.calibrate("get_weather", likelihood_ratios={"schema_mismatch": 5.0})
    engine.calibrate("get_weather", likelihood_ratios={"pattern_mismatch": 7.0})
    engine.calibrate(likelihood_ratios={"schema_mismatch": 3.0, "length_anomaly": 4.0})
    engine.calibrate(likelihood_ratios={"latency_anomaly": 3.0})

    def ratio(tool: str) -> float:
        return judge(engine, tool).signals["schema_mismatch"].likelihood_ratio

    assert ratio("get_weather") == pytest.approx(5.0)
    assert ratio("get_forecast") == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"prior": 0.0}, "prior"),
        ({"prior": 1.0}, "prior"),
        ({"prior": math.nan}, "prior"),
        ({"accept_below": 0.0}, "accept_below"),
        ({"accept_below": 0.6}, "accept_below"),
        ({"block_at": 1.5}, "block_at"),
        ({"block_at": True}, "block_at"),
        ({"max_false_block_rate": -0.01}, "max_false_block_rate"),
        ({"likelihood_ratios": {"schema_mismatch": 0.0}}, "schema_mismatch"),
        ({"likelihood_ratios": {"schema_mismatch": -3.0}}, "schema_mismatch"),
        ({"likelihood_ratios": {"schema_mismatch": math.inf}}, "schema_mismatch"),
        ({"likelihood_ratios": {"schema_mismatch": math.nan}}, "schema_mismatch"),
        ({"likelihood_ratios": {"schema_mismatch": True}}, "schema_mismatch"),
        ({"likelihood_ratios": {"schema_mismatch": "12"}}, "schema_mismatch"),
        ({"likelihood_ratios": {"pattern_mismatch": 2.0, "schema": 3.0}}, "unknown signal 'schema'"),
        ({"prior": 0.3, "likelihood_ratios": {"pattern_mismatch": 2.0, "schema_mismatch": 0.0}}, "schema_mismatch"),
    ],
)
def test_a_bad_value_is_named_and_leaves_everything_as_it_was(
    mode: Mode, arguments: dict[str, Any], named: str
) -> None:
    engine = guarded(mode)
    before = judge(engine), judge(engine, "get_forecast"), judge(engine, "never_seen")

    for tool in (None, "get_weather"):
        with pytest.raises(ConfigurationError, match=named):
            engine.calibrate(tool, **arguments)
        assert (judge(engine), judge(engine, "get_forecast"), judge(engine, "never_seen")) == before


def test_a_change_for_all_that_contradicts_a_tools_own_setting_is_refused_whole(mode: Mode) -> None:
    engine = guarded(mode)
    engine.calibrate("get_weather", block_at=0.3)

    with pytest.raises(ConfigurationError, match=r"accept_below.*block_at"):
        engine.calibrate(accept_below=0.4, prior=0.3)

    assert judge(engine, "get_forecast").prior == 0.15


def test_unknown_signals_are_answered_with_the_known_ones(mode: Mode) -> None:
    with pytest.raises(ConfigurationError, match="value_plausibility"):
        VerificationEngine(mode=mode).calibrate(likelihood_ratios={"vibes": 2.0})
