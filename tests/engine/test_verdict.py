"""What a verdict carries: the tiers, the sum, the explanation."""

from __future__ import annotations

import math
from typing import Any, Literal

import pytest

from agentguard.verification import SignalResult, VerificationEngine, VerificationResult, VerificationTier

Mode = Literal["calibrated", "reference"]


def weather(number: int) -> dict[str, Any]:
    return {"city": f"City {number % 9}", "temperature": 10.0 + number % 13, "humidity": 40 + number % 31}


def warmed(mode: Mode) -> VerificationEngine:
    engine = VerificationEngine(mode=mode)
    engine.register_tool_profile(
        "get_weather", expected_latency_ms=(50, 5000), required_fields=["temperature"], response_patterns=['"city"']
    )
    for number in range(60):
        result = weather(number)
        engine.verify(
            "get_weather",
            args={"city": result["city"]},
            result=result,
            execution_time_ms=180.0 + number % 17,
            session_id=f"session {number % 4}",
        )
    return engine


CALLS: dict[str, dict[str, Any]] = {
    "genuine": {"args": {"city": "City 3"}, "result": weather(3), "execution_time_ms": 188.0},
    "no arguments": {"result": weather(3)},
    "instant": {"args": {"city": "City 3"}, "result": weather(3), "execution_time_ms": 0.5},
    "missing field": {"args": {"city": "City 3"}, "result": {"city": "City 3"}, "execution_time_ms": 188.0},
    "wrong city": {"args": {"city": "City 3"}, "result": weather(4), "execution_time_ms": 188.0},
    "prose": {"args": {"city": "City 3"}, "result": "It is sunny.", "execution_time_ms": 188.0},
    "cut off": {"args": {"city": "City 3"}, "result": '{"city":"City 3","temper', "execution_time_ms": 188.0},
    "times a hundred": {
        "args": {"city": "City 3"},
        "result": {**weather(3), "temperature": 1300.0},
        "execution_time_ms": 188.0,
        "session_id": "session 3",
    },
    "error": {"args": {"city": "City 3"}, "result": "Error: no such city", "execution_time_ms": 188.0},
    "nothing": {},
}
every_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


def log_odds(probability: float) -> float:
    return math.log(probability) - math.log1p(-probability)


@every_call
def test_prior_and_contributions_sum_to_the_posterior(mode: Mode, call: dict[str, Any]) -> None:
    """In log-odds, as a person with a pocket calculator would redo it."""
    verdict = warmed(mode).verify("get_weather", **call)

    assert log_odds(verdict.prior) + sum(verdict.contributions.values()) == pytest.approx(log_odds(verdict.posterior))
    assert verdict.confidence == verdict.posterior
    for name, nats in verdict.contributions.items():
        assert nats == 0.0 or verdict.signals[name].applicable


@every_call
def test_the_explanation_names_the_two_that_moved_the_odds_most(mode: Mode, call: dict[str, Any]) -> None:
    verdict = warmed(mode).verify("get_weather", **call)
    strength = {name: abs(nats) for name, nats in verdict.contributions.items() if nats}
    named = {name for name in verdict.signals if name in verdict.explanation}

    assert verdict.verdict in verdict.explanation
    assert len(named) == min(len(strength), 2)
    weakest_named = min((strength[name] for name in named), default=math.inf)
    assert all(weakest_named >= strength[name] for name in strength.keys() - named)
    assert all(verdict.signals[name].detail in verdict.explanation for name in named)


@every_call
def test_signals_are_named_and_tiers_are_theirs(mode: Mode, call: dict[str, Any]) -> None:
    verdict = warmed(mode).verify("get_weather", **call)

    assert all(name == signal.name for name, signal in verdict.signals.items())
    assert all(isinstance(signal, SignalResult) for signal in verdict.signals.values())
    tiers = {signal.tier for signal in verdict.signals.values()}
    assert max(tier.value for tier in tiers) == verdict.tier_reached.value


@every_call
def test_the_verdict_follows_from_the_posterior(mode: Mode, call: dict[str, Any]) -> None:
    """Accept below .2, block from .5 on; the calibrated bound on false blocks may make it milder, never harsher."""
    verdict = warmed(mode).verify("get_weather", **call)
    harshest = "accept" if verdict.posterior < 0.2 else "flag" if verdict.posterior < 0.5 else "block"

    order = ("accept", "flag", "block")
    assert order.index(verdict.verdict) <= order.index(harshest)
    assert verdict.is_hallucinated is (verdict.verdict == "block")
    if mode == "reference":
        assert verdict.verdict == harshest
        assert verdict.false_block_p is None
    else:
        assert verdict.false_block_p is not None
        assert 0.0 < verdict.false_block_p <= 1.0


def test_a_block_in_tier_0_ends_there(mode: Mode) -> None:
    engine = VerificationEngine(mode=mode)
    engine.register_tool_profile("get_weather", required_fields=["temperature"])

    blocked = engine.verify("get_weather", args={"city": "Oslo"}, result={"city": "Oslo"}, session_id="s")
    accepted = engine.verify("get_weather", args={"city": "Oslo"}, result={"city": "Oslo", "temperature": 9})

    assert blocked.verdict == "block"
    assert blocked.tier_reached is VerificationTier.TIER_0
    assert {signal.tier for signal in blocked.signals.values()} == {VerificationTier.TIER_0}
    assert "historical_inconsistency" not in blocked.signals
    assert accepted.tier_reached is VerificationTier.TIER_1
    assert accepted.signals.keys() > blocked.signals.keys()


def test_a_flag_in_tier_0_is_taken_to_tier_1(mode: Mode) -> None:
    engine = VerificationEngine(mode=mode, accept_below=0.2, block_at=1.0)
    engine.register_tool_profile("get_weather", required_fields=["temperature"])

    assert engine.verify("get_weather", result={"city": "Oslo"}).tier_reached is VerificationTier.TIER_1


def test_the_call_is_carried_along(mode: Mode) -> None:
    verdict = VerificationEngine(mode=mode).verify("get_weather", result=1, call_id="call-7")

    assert (verdict.tool, verdict.call_id) == ("get_weather", "call-7")


def test_verdicts_cannot_be_changed(mode: Mode) -> None:
    verdict: Any = VerificationEngine(mode=mode).verify("get_weather", result=1)
    with pytest.raises(AttributeError):
        verdict.verdict = "accept"
    with pytest.raises(AttributeError):
        verdict.signals["schema_mismatch"].score = 1.0
    assert isinstance(verdict, VerificationResult)
