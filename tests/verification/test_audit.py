"""Which verdicts come before a reviewer."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import ConfigurationError
from agentguard.stores import MemoryStore
from agentguard.verification import VerificationEngine
from agentguard.verification._audit import is_sampled


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("digests", ["one", "other"])
def test_the_share_that_was_asked_for_is_sampled(rate: float, digests: str) -> None:
    """Of 20,000 calls, whether their results are all alike or all different; within 4 standard deviations."""
    rng = random.Random(4)
    sampled = sum(is_sampled(rate, 7 if digests == "one" else rng.getrandbits(64), n) for n in range(20_000))
    assert abs(sampled - 20_000 * rate) < 4 * (20_000 * rate * (1 - rate)) ** 0.5


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**40))
def test_none_and_all(digest: int, number: int) -> None:
    assert not is_sampled(0.0, digest, number)
    assert is_sampled(1.0, digest, number)


def test_flagged_and_blocked_calls_are_on_record_and_a_share_of_the_accepted_ones() -> None:
    store = MemoryStore()
    engine = VerificationEngine(store=store, audit_rate=0.1)
    engine.register_tool_profile("get_weather", required_fields=["humidity"])
    rng = random.Random(9)
    verdicts = {}
    for number in range(1_000):
        result = {"city": "Oslo", "humidity": rng.randint(30, 90)} if number % 20 else {"city": "Oslo"}
        verdict = engine.verify("get_weather", result=result, call_id=str(number), session_id="s")
        verdicts[str(number)] = verdict
    events = {record.event["call_id"]: record.event for record in store.events("audit")}

    suspects = {name for name, verdict in verdicts.items() if verdict.verdict != "accept"}
    assert len(suspects) >= 40
    assert suspects <= events.keys()
    accepted = events.keys() - suspects
    assert 60 <= len(accepted) <= 140  # a tenth of 950, within 4 standard deviations (9.2)
    for name, event in events.items():
        assert event["propensity"] == (1.0 if name in suspects else 0.1)
        assert event["posterior"] == verdicts[name].posterior
        assert event["verdict"] == verdicts[name].verdict
        assert event["nats"] == verdicts[name].contributions
        assert event["session_id"] == "s"
    assert "Oslo" not in repr(events)
    assert events["0"]["fired"] == ["!schema_mismatch"]


def test_a_label_carries_what_is_known_of_its_call() -> None:
    store = MemoryStore()
    engine = VerificationEngine(store=store, audit_rate=1.0)
    verdict = engine.verify("get_weather", result={"city": "Oslo"}, call_id="one")
    engine.record_feedback("get_weather", verdict.posterior, False, "one")
    engine.record_feedback("get_weather", 0.4, True, "unknown")

    known, unknown = (record.event for record in store.events("feedback"))
    assert known["propensity"] == 1.0
    assert known["verdict"] == "accept"
    assert known["prior"] == 0.15
    assert known["nats"] == verdict.contributions
    assert set(unknown) == {"tool", "confidence_score", "was_hallucination", "call_id"}


def test_a_label_on_a_sampled_accept_stands_for_those_that_were_not() -> None:
    """Of one call in ten that are put on record each label counts for ten: (.15 x 40) / (40 + 10)."""
    engine = VerificationEngine(store=MemoryStore(), audit_rate=0.1)
    for number in range(200):
        engine.verify("t", result="fine", call_id=str(number))
    number = next(number for number in range(200) if on_record(engine, number))
    engine.record_feedback("t", 0.1, False, str(number))
    assert engine.verify("t", learn=False).prior == pytest.approx(6 / 50)


def on_record(engine: VerificationEngine, number: int) -> bool:
    found = engine._audit.find("t", str(number))
    return found is not None and found.propensity == 0.1


def test_learn_false_puts_nothing_on_record() -> None:
    store = MemoryStore()
    engine = VerificationEngine(store=store, audit_rate=1.0)
    engine.verify("t", result="x", call_id="a", learn=False)
    assert list(store.events("audit")) == []


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan"), None, "0.1", True])
def test_a_rate_that_is_none(rate: float) -> None:
    with pytest.raises(ConfigurationError, match="audit_rate"):
        VerificationEngine(audit_rate=rate)
