"""The document's own snippets, through the engine that users have."""

import pytest

from agentguard.verification import VerificationEngine, VerificationTier


@pytest.fixture(name="engine")
def _engine():
    return VerificationEngine(mode="reference")


def test_quick_start(engine):
    """The document prints "accept" and 0.127; see test_document_figures for the sum."""
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
    assert result.confidence == result.posterior == pytest.approx(3 / 23.604, rel=1e-12)
    assert round(result.confidence, 3) == 0.127
    assert result.prior == 0.15
    assert result.tier_reached is VerificationTier.TIER_1
    assert not result.is_hallucinated


def test_block_in_tier_0_ends_the_pipeline(engine):
    """Schema 0.8: 9.8; an instant answer: 3.5. Odds 3 * 9.8 * 3.5 / 17 = 102.9/17."""
    engine.register_tool_profile("get_weather", expected_latency_ms=(100, 5000), required_fields=["temperature"])

    result = engine.verify("get_weather", args={}, result="It is sunny.", execution_time_ms=0.0, session_id="s")

    assert result.verdict == "block"
    assert result.is_hallucinated
    assert result.posterior == pytest.approx(102.9 / 119.9, rel=1e-12)
    assert result.tier_reached is VerificationTier.TIER_0
    looked_at, skipped = list(result.signals)[:4], list(result.signals.values())[4:]
    assert looked_at == ["schema_mismatch", "latency_anomaly", "pattern_mismatch", "length_anomaly"]
    assert {signal.detail for signal in skipped} == {"not looked at: tier 0 blocked"}
    assert len(skipped) == 4


def test_blocked_and_unlearned_calls_leave_the_baseline_alone(engine):
    """Eight blocked and eight unlearned calls later, the tool is as new."""
    engine.register_tool_profile("lookup", required_fields=["x"])
    for _ in range(8):
        assert engine.verify("lookup", result="nothing", session_id="s").verdict == "block"
        engine.verify("lookup", result={"x": 1}, session_id="s", learn=False)

    signals = engine.verify("lookup", result={"x": 1}, session_id="s").signals

    assert signals["spc_anomaly"].detail == "0 of 8 calls"
    assert signals["session_inconsistency"].detail == "first result of this tool in the session"


def test_stock_example(engine):
    """As in the document; the sum is in test_document_figures."""
    for price in (640.0, 660.0) * 25:
        engine.verify(
            "get_stock_price",
            args={"ticker": "NVDA"},
            result={"price": price, "currency": "USD"},
            execution_time_ms=250.0,
        )

    result = engine.verify(
        "get_stock_price",
        args={"ticker": "NVDA"},
        result={"price": 50.0, "currency": "USD"},
        execution_time_ms=250.0,
        session_id="session-123",
    )

    assert result.signals["historical_inconsistency"].fired
    assert result.signals["historical_inconsistency"].detail.startswith("Field 'price': ")
    assert result.verdict in ("flag", "block")
    assert result.posterior == pytest.approx(1.15716657 / 2.15716657, rel=1e-7)
