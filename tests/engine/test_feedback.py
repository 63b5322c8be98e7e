"""``record_feedback``: never the wrong way round, never without bound."""

from __future__ import annotations

import random
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentguard.errors import ConfigurationError
from agentguard.stores import MemoryStore
from agentguard.verification import VerificationEngine, VerificationResult

Mode = Literal["calibrated", "reference"]
ORDER = ("accept", "flag", "block")
CITIES = ["Lisbon", "Porto", "Madrid", "Vienna", "Graz", "Oslo", "Riga", "Turin", "Lyon", "Prague"]


def weather(rng: random.Random) -> dict[str, Any]:
    city = rng.choice(CITIES)
    result = {"city": city, "temperature": round(rng.gauss(15, 5), 1), "humidity": rng.randint(30, 95)}
    return {"args": {"city": city}, "result": result, "execution_time_ms": 200.0 * rng.lognormvariate(0, 0.2)}


def warmed(mode: Mode, calls: int = 60) -> VerificationEngine:
    engine, rng = VerificationEngine(mode=mode), random.Random(11)
    engine.register_tool_profile("get_weather", expected_latency_ms=(20, 5000), required_fields=["humidity"])
    for number in range(calls):
        engine.verify("get_weather", **weather(rng), call_id=f"clean {number}")
    return engine


ARGS = {"city": "Oslo"}
OSLO = {"city": "Oslo", "temperature": 14.0, "humidity": 60}
PROBES: dict[str, dict[str, Any]] = {
    "genuine": {"args": ARGS, "result": OSLO, "execution_time_ms": 210.0},
    "missing field": {"args": ARGS, "result": {"city": "Oslo", "temperature": 14.0}, "execution_time_ms": 210.0},
    "instant": {"args": ARGS, "result": OSLO, "execution_time_ms": 0.5},
    "wrong city": {"args": ARGS, "result": {**OSLO, "city": "Riga"}, "execution_time_ms": 210.0},
    "prose": {"args": ARGS, "result": "It is sunny.", "execution_time_ms": 210.0},
    "nothing given": {},
}


def judge(engine: VerificationEngine, probe: str) -> VerificationResult:
    return engine.verify("get_weather", **PROBES[probe], learn=False)


def steps_right(before: VerificationResult, after: VerificationResult, label: bool) -> None:
    """A hallucination never makes the later judgement milder, a genuine one never harsher.

    Posteriors are compared where the same tiers ran: a block in tier 0 ends there, so the evidence of tier 1 is in
    one posterior and not in the other.
    """
    one, other = (before, after) if label else (after, before)
    assert one.prior <= other.prior
    assert ORDER.index(one.verdict) <= ORDER.index(other.verdict)
    if one.tier_reached is other.tier_reached:
        assert one.posterior <= other.posterior


@pytest.mark.parametrize("mode", ["calibrated", "reference"])
@given(
    labels=st.lists(st.tuples(st.booleans(), st.floats(0.0, 1.0), st.sampled_from([None, "clean 7", "probe", "?"]))),
    probe=st.sampled_from(sorted(PROBES)),
    learned=st.booleans(),
    prior=st.sampled_from([0.01, 0.15, 0.3, 0.7]),
)
@settings(max_examples=60)
def test_each_label_steps_in_its_own_direction(
    mode: Mode, labels: list[tuple[bool, float, str | None]], probe: str, learned: bool, prior: float
) -> None:
    engine = warmed(mode).calibrate(prior=prior)
    if learned:
        engine.verify("get_weather", **PROBES[probe], call_id="probe")
    judged = judge(engine, probe)
    for label, score, call_id in labels:
        engine.record_feedback("get_weather", score, label, call_id)
        before, judged = judged, judge(engine, probe)
        steps_right(before, judged, label)


def test_a_label_moves_its_own_tool_only(mode: Mode) -> None:
    engine = warmed(mode)
    engine.record_feedback("get_weather", 0.3, True)

    assert judge(engine, "genuine").prior > 0.15
    assert engine.verify("get_forecast", result=1).prior == 0.15


@pytest.mark.parametrize("call_id", [None, "clean 3"])
def test_ten_thousand_genuine_labels_do_not_switch_the_guard_off(mode: Mode, call_id: str | None) -> None:
    engine = warmed(mode)
    for _ in range(10_000):
        engine.record_feedback("get_weather", 0.1, False, call_id)

    assert judge(engine, "missing field").verdict != "accept"
    assert judge(engine, "genuine").verdict == "accept"
    assert judge(engine, "genuine").prior > 0.01


def test_ten_thousand_hallucination_labels_do_not_block_clean_calls_of_a_warm_tool() -> None:
    """The bound on false blocks holds whatever the prior: at most 1% of 1,000 calls.

    Plus 3 standard deviations of such a count, sqrt(1000 * .01 * .99) = 3.15.
    """
    engine, rng = warmed("calibrated", 300), random.Random(12)
    for _ in range(10_000):
        engine.record_feedback("get_weather", 0.9, True)

    verdicts = [engine.verify("get_weather", **weather(rng)).verdict for _ in range(1_000)]

    assert verdicts.count("block") <= 10 + 3 * 3.15
    assert judge(engine, "genuine").prior < 1.0


@pytest.mark.parametrize("call", [{}, {"result": {"city": "Oslo"}}, {"result": "text", "execution_time_ms": 300.0}])
def test_nor_does_any_number_of_them_block_a_call_with_nothing_against_it(mode: Mode, call: dict[str, Any]) -> None:
    in_force: list[dict[str, Any]] = [{}, {"block_at": 0.3}, {"accept_below": 0.05, "block_at": 0.16}]
    for arguments in in_force:
        engine = VerificationEngine(mode=mode, **arguments)
        for _ in range(10_000):
            engine.record_feedback("nameless", 0.9, True)
        verdict = engine.verify("nameless", **call)
        assert not any(signal.fired for signal in verdict.signals.values())
        assert verdict.verdict != "block"


def test_labels_on_signals_that_were_no_broken_declaration_leave_the_declaration_its_weight() -> None:
    """Six hundred short answers labelled genuine: short for this tool, and yet within what is declared.

    That nothing below 10 bytes is an answer still stands as it did.
    """
    engine, rng = VerificationEngine(), random.Random(13)
    engine.register_tool_profile("search", min_response_length=10)
    engine.calibrate(likelihood_ratios={"length_anomaly": 10.0})
    for _ in range(100):
        engine.verify("search", result="found: " + "x" * rng.randint(900, 1_100))
    before = engine.verify("search", result="found: 1", learn=False).signals["length_anomaly"]
    assert before.likelihood_ratio == pytest.approx(10.0)
    assert engine.verify("search", result="found: " + "x" * 100, call_id="short").signals["length_anomaly"].fired

    for _ in range(600):
        engine.record_feedback("search", 0.3, False, "short")

    assert engine.verify("search", result="found: 1", learn=False).signals["length_anomaly"] == before


def test_genuine_labels_on_a_broken_declaration_make_it_weaker_evidence() -> None:
    engine = warmed("calibrated")
    before = engine.verify("get_weather", **PROBES["missing field"], call_id="probe")
    engine.record_feedback("get_weather", before.posterior, False, "probe")

    after = judge(engine, "missing field")
    assert 1.0 < after.signals["schema_mismatch"].likelihood_ratio < before.signals["schema_mismatch"].likelihood_ratio


def test_a_call_is_found_by_whatever_it_was_named(mode: Mode) -> None:
    """Names that are no text are taken as the text that stands for them, in both places alike."""
    by_text, by_number = (VerificationEngine(mode=mode) for _ in range(2))
    for engine, name in ((by_text, "7"), (by_number, 7)):
        call_id: Any = name
        engine.register_tool_profile("get_weather", required_fields=["humidity"])
        engine.verify("get_weather", result={"city": "Oslo"}, call_id=call_id)
        engine.record_feedback("get_weather", 0.7, False, call_id)

    assert judge(by_number, "missing field") == judge(by_text, "missing field")


def test_feedback_is_kept_as_one_event_of_plain_values(mode: Mode) -> None:
    store = MemoryStore()
    engine = VerificationEngine(mode=mode, store=store)
    engine.verify("get_weather", result={"city": "secret"}, call_id="one")
    engine.record_feedback("get_weather", 0.35, True, "one")

    (record,) = store.events("feedback")
    event = record.event
    assert event["tool"] == "get_weather"
    assert event["confidence_score"] == 0.35
    assert event["was_hallucination"] is True
    assert event["call_id"] == "one"
    assert "secret" not in repr(event)


@pytest.mark.parametrize("score", [-0.01, 1.01, float("nan"), float("inf"), True, "0.3", None])
def test_a_score_that_is_no_probability(mode: Mode, score: Any) -> None:
    engine = warmed(mode, 1)
    with pytest.raises(ConfigurationError, match="confidence_score"):
        engine.record_feedback("get_weather", score, True)
    assert judge(engine, "genuine").prior == 0.15


@pytest.mark.parametrize("label", [1, 0, None, "yes", "False"])
def test_a_label_that_is_no_bool(mode: Mode, label: Any) -> None:
    engine = warmed(mode, 1)
    with pytest.raises(ConfigurationError, match="was_hallucination"):
        engine.record_feedback("get_weather", 0.3, label)
    assert judge(engine, "genuine").prior == 0.15


@pytest.mark.parametrize("score", [0, 1, 0.0, 1.0])
def test_certainties_are_scores_too(mode: Mode, score: float) -> None:
    engine = warmed(mode, 1)
    engine.record_feedback("get_weather", score, True)
    assert judge(engine, "genuine").prior > 0.15
