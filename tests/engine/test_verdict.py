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
    looked_at = {signal.tier for signal in verdict.signals.values() if "not looked at" not in signal.detail}
    assert max(tier.value for tier in looked_at) == verdict.tier_reached.value


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


def blocked_and_accepted(mode: Mode) -> tuple[VerificationResult, VerificationResult]:
    engine = VerificationEngine(mode=mode)
    engine.register_tool_profile("get_weather", required_fields=["temperature"])
    return (
        engine.verify("get_weather", args={"city": "Oslo"}, result={"city": "Oslo"}, session_id="s"),
        engine.verify("get_weather", args={"city": "Oslo"}, result={"city": "Oslo", "temperature": 9}),
    )


def test_in_reference_mode_a_block_in_tier_0_ends_there_and_says_so() -> None:
    blocked, accepted = blocked_and_accepted("reference")

    assert blocked.verdict == "block"
    assert blocked.tier_reached is VerificationTier.TIER_0
    assert accepted.tier_reached is VerificationTier.TIER_1
    late = [signal for signal in blocked.signals.values() if signal.tier is VerificationTier.TIER_1]
    assert late
    for signal in late:
        assert signal.detail == "not looked at: tier 0 blocked"
        assert (signal.applicable, signal.fired, signal.likelihood_ratio) == (False, False, 1.0)


def test_in_calibrated_mode_every_call_is_held_against_what_was_learned() -> None:
    blocked, accepted = blocked_and_accepted("calibrated")

    assert blocked.verdict == "block"
    assert blocked.tier_reached is accepted.tier_reached is VerificationTier.TIER_1
    assert not any("not looked at" in signal.detail for signal in blocked.signals.values())


@every_call
def test_all_signals_are_there_whatever_tier_ended_it(mode: Mode, call: dict[str, Any]) -> None:
    names = warmed(mode).verify("get_weather", **CALLS["genuine"]).signals.keys()

    assert warmed(mode).verify("get_weather", **call).signals.keys() == names
    assert {"historical_inconsistency", "spc_anomaly"} <= names


def test_a_declaration_that_is_broken_never_lowers_the_posterior() -> None:
    """The same answer, odd in what is learned, with and without a profile that forbids it too."""
    posteriors = []
    for fields in ({}, {"required_fields": ["temperature"]}):
        engine = VerificationEngine()
        engine.register_tool_profile("get_weather", **fields)
        for number in range(60):
            result = weather(number)
            engine.verify("get_weather", args={"city": result["city"]}, result=result, execution_time_ms=180.0)
        odd = {"city": "City 3", "humidity": 43, "mock": True}
        posteriors.append(engine.verify("get_weather", args={"city": "City 3"}, result=odd).posterior)

    undeclared, declared = posteriors
    assert declared > undeclared > 0.5


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


# --- Why a verdict is not the one that the posterior alone gives ---


def noisy(**arguments: Any) -> VerificationEngine:
    """A tool that is odd by nature: now and then an extra field comes along."""
    engine = VerificationEngine(**arguments)
    for number in range(200):
        result = weather(number) | ({"note": "storm"} if number % 9 == 8 else {})
        engine.verify("get_weather", args={"n": number}, result=result, execution_time_ms=180.0 + number % 17)
    return engine


def test_an_accept_above_the_threshold_says_why() -> None:
    """With the strictest of bounds nothing that was learned flags, so the bound is the reason given."""
    engine = noisy(max_false_block_rate=1e-12)
    verdict = engine.verify("get_weather", args={"n": 900}, result={"city": "City 1"}, execution_time_ms=180.0)

    assert verdict.posterior >= 0.5
    assert verdict.verdict == "flag"
    assert verdict.false_block_p is not None
    share = f"{100 * verdict.false_block_p:.3g}%"
    assert (
        f"flagged and not blocked although P >= 0.5: {share} of this tool's genuine calls look" in verdict.explanation
    )
    assert "the bound on false alarms is 1e-10%" in verdict.explanation


def test_an_accept_between_the_thresholds_says_why() -> None:
    engine = noisy()
    engine.calibrate(accept_below=0.001)
    verdict = engine.verify("get_weather", args={"n": 900}, result=weather(4), execution_time_ms=185.0, learn=False)

    assert verdict.verdict == "accept"
    assert verdict.posterior >= 0.001
    assert verdict.note.startswith("accepted although P >= 0.001: ")
    assert "of this tool's genuine calls look like this, and the bound on false alarms is 1%" in verdict.note


def test_a_verdict_that_follows_from_the_posterior_needs_no_reason(mode: Mode) -> None:
    engine = warmed(mode)
    for name in ("genuine", "missing field"):
        verdict = engine.verify("get_weather", **CALLS[name])
        assert verdict.verdict in ("accept", "block")
        assert verdict.note == ""


@pytest.mark.parametrize(
    ("result", "said"),
    [("Error: no such city", "an error report is not blocked"), ([], "an empty result is not blocked")],
)
def test_an_error_or_an_empty_answer_that_is_flagged_instead_of_blocked_says_why(result: Any, said: str) -> None:
    engine = VerificationEngine(max_false_block_rate=1.0, accept_below=0.001, block_at=0.001)
    for number in range(60):
        engine.verify("get_weather", args={"n": number}, result=weather(number), execution_time_ms=180.0)

    verdict = engine.verify("get_weather", args={"n": 61}, result=result, execution_time_ms=180.0)

    assert verdict.verdict == "flag"
    assert f"flagged and not blocked although P >= 0.001: {said}" in verdict.explanation


def test_a_change_that_was_blocked_often_enough_says_so() -> None:
    engine = warmed("calibrated")
    engine.unregister("get_weather")  # what a declaration forbids is blocked every time
    notes = []
    for number in range(6):
        call = {"args": {"city": f"Town {number}"}, "result": {"city": "Town"}, "execution_time_ms": 188.0}
        verdict = engine.verify("get_weather", **call)
        note = verdict.note.removesuffix("no profile for 'get_weather': held to its own earlier calls alone")
        notes.append((verdict.verdict, note.removesuffix("; ")))

    assert [name for name, _ in notes] == ["block"] * 3 + ["flag"] * 3
    assert {note for _, note in notes[:3]} == {""}
    assert {note for _, note in notes[3:]} == {
        f"flagged and not blocked: change {verdict.change} is known, and max_blocks is 3"
    }
    assert verdict.change in {change.id for change in engine.changes()}


def test_what_a_reviewer_found_to_be_a_fault_says_so() -> None:
    engine = warmed("calibrated")
    for number in range(3):
        change = engine.verify("get_weather", args={"n": number}, result={"city": f"Town {number}"}).change
    assert change is not None
    engine.reject(change)

    verdict = engine.verify("get_weather", args={"n": 9}, result={"city": "Town 9"})

    assert verdict.verdict == "block"
    assert verdict.note == f"blocked as every call like it: a reviewer has found change {change} to be a fault"


def test_a_call_that_is_asked_again_says_so() -> None:
    engine = warmed("calibrated")
    verdicts = [engine.verify("get_weather", **CALLS["missing field"]) for _ in range(3)]

    assert [verdict.verdict for verdict in verdicts] == ["block"] * 3
    assert [verdict.note for verdict in verdicts] == [
        "",
        "blocked as it was before: this very call had this very result once already",
        "blocked as it was before: this very call had this very result 2 times already",
    ]


def test_of_an_unregistered_tool_it_is_said_what_it_is_held_to(mode: Mode) -> None:
    """The document's default range is applied in reference mode, and nothing that nobody declared in the other."""
    engine = VerificationEngine(mode=mode)
    instant = engine.verify("nameless", result=1, execution_time_ms=0.05)

    said = {"calibrated": "held to its own earlier calls alone", "reference": "held to a latency of 2 ms to 60 s"}
    assert instant.note == f"no profile for 'nameless': {said[mode]}"
    assert instant.signals["latency_anomaly"].fired is (mode == "reference")
