"""The published document's examples, run as they are printed there, in both modes."""

from __future__ import annotations

from typing import Literal

import pytest

from agentguard.verification import VerificationEngine, VerificationTier

Mode = Literal["calibrated", "reference"]
FIELDS = {
    "verdict",
    "confidence",
    "signals",
    "tier_reached",
    "explanation",
    "prior",
    "posterior",
    "is_hallucinated",
}
SIGNALS = {
    "schema_mismatch",
    "pattern_mismatch",
    "latency_anomaly",
    "length_anomaly",
    "historical_inconsistency",
    "session_inconsistency",
    "spc_anomaly",
    "value_plausibility",
}


def test_quick_start(mode: Mode) -> None:
    engine = VerificationEngine(mode=mode)
    engine.register_tool_profile(
        "get_weather",
        expected_latency_ms=(100, 5000),
        required_fields=["temperature", "humidity"],
        has_network_io=True,
    )

    result = engine.verify(
        "get_weather",
        args={"city": "London"},
        result={"temperature": 18, "humidity": 65},
        execution_time_ms=350.0,
    )

    assert result.verdict == "accept"
    assert result.tier_reached is VerificationTier.TIER_1
    assert result.signals.keys() >= SIGNALS
    assert all(hasattr(result, field) for field in FIELDS)
    assert result.confidence == result.posterior
    assert result.prior == 0.15
    assert result.posterior < result.prior
    assert not result.is_hallucinated
    if mode == "reference":
        assert round(result.confidence, 3) == 0.127


def test_the_default_mode_is_calibrated() -> None:
    assert VerificationEngine().mode == "calibrated"


def profiled(mode: Mode) -> VerificationEngine:
    engine = VerificationEngine(mode=mode)
    engine.register_tool_profile(
        "search_web",
        expected_latency_ms=(100, 5000),
        required_fields=["results", "total_count"],
        forbidden_fields=["error", "mock"],
        response_patterns=[r'"results"\s*:\s*\['],
        min_response_length=50,
        max_response_length=100000,
        has_network_io=True,
    )
    engine.register_tool_profile(
        "query_db",
        expected_latency_ms=(5, 30000),
        required_fields=["rows"],
        has_network_io=True,
    )
    engine.register_tool_profile("calculate", expected_latency_ms=(0.1, 100), has_network_io=False)
    return engine


HITS = {"results": [{"title": "Lisbon", "url": "https://example.org/lisbon"}], "total_count": 1}


def test_what_the_profiles_allow(mode: Mode) -> None:
    engine = profiled(mode)

    assert engine.verify("search_web", args={"q": "Lisbon"}, result=HITS, execution_time_ms=420.0).verdict == "accept"
    assert engine.verify("query_db", result={"rows": [[1]]}, execution_time_ms=12.0).verdict == "accept"
    assert engine.verify("calculate", args={"x": "6*7"}, result=42, execution_time_ms=0.2).verdict == "accept"


@pytest.mark.parametrize(
    ("tool", "result", "milliseconds", "signal"),
    [
        ("search_web", {"results": [{"title": "a page about Lisbon and its hills"}]}, 420.0, "schema_mismatch"),
        ("search_web", {**HITS, "mock": True}, 420.0, "schema_mismatch"),
        ("search_web", {**HITS, "results": "a page about Lisbon and its hills"}, 420.0, "pattern_mismatch"),
        ("search_web", {"results": [], "total_count": 0}, 420.0, "length_anomaly"),
        ("search_web", HITS, 0.4, "latency_anomaly"),
        ("query_db", {"columns": ["id"]}, 12.0, "schema_mismatch"),
    ],
)
def test_what_the_profiles_forbid(mode: Mode, tool: str, result: object, milliseconds: float, signal: str) -> None:
    judged = profiled(mode).verify(tool, args={"q": "Lisbon"}, result=result, execution_time_ms=milliseconds)

    assert {name for name, said in judged.signals.items() if said.fired} == {signal}
    assert judged.contributions[signal] > 0.0


def test_an_unregistered_tool_is_held_to_2_ms_to_60_s_and_to_no_fields() -> None:
    """As the document has it, in the mode that follows it to the letter."""
    engine = VerificationEngine(mode="reference")

    def fired(milliseconds: float) -> bool:
        return engine.verify("nameless", result="text", execution_time_ms=milliseconds).signals["latency_anomaly"].fired

    assert [fired(ms) for ms in (1.9, 2.0, 60_000.0, 60_001.0)] == [True, False, False, True]
    assert not engine.verify("nameless", result="text").signals["schema_mismatch"].applicable


def test_history_of_a_stock_price(mode: Mode) -> None:
    """About $650 in 50 calls, then $50 for the same arguments."""
    engine = VerificationEngine(mode=mode)
    for call in range(50):
        engine.verify(
            "get_stock_price",
            args={"ticker": "NVDA"},
            result={"price": 650.0 + 10 * (-1) ** call, "currency": "USD"},
            execution_time_ms=250.0,
        )

    result = engine.verify(
        "get_stock_price",
        args={"ticker": "NVDA"},
        result={"price": 50.0, "currency": "USD"},
        execution_time_ms=250.0,
        session_id="session-123",
    )

    assert result.signals["historical_inconsistency"].fired is True
    assert "price" in result.signals["historical_inconsistency"].detail
    assert result.verdict in ("flag", "block")
    if mode == "reference":
        assert result.signals["historical_inconsistency"].detail.startswith("Field 'price': ")


def test_feedback_as_printed_makes_the_tool_stricter(mode: Mode) -> None:
    engine = profiled(mode)
    before = engine.verify("search_web", result=HITS, execution_time_ms=420.0, learn=False)

    engine.record_feedback(
        "search_web",
        confidence_score=0.35,
        was_hallucination=True,
    )

    after = engine.verify("search_web", result=HITS, execution_time_ms=420.0, learn=False)
    assert after.prior > before.prior
    assert after.posterior > before.posterior
