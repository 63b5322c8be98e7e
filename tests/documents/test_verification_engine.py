"""The published document's figures, each worked out by hand.

All start from its prior of 0.15, which is odds of 3/17. A signal that fires multiplies the odds by
1 + (ratio - 1) * score; a silent one divides them by max(ratio / 10, 1.01), which is 1.2 for schema_mismatch
(ratio 12) and 1.01 for the seven others. Odds of a/b are a probability of a/(a + b).
"""

from __future__ import annotations

import math
import random
from typing import Any, Literal

import pytest

from agentguard.verification import VerificationEngine, VerificationTier
from agentguard.verification.types import Settings

from .statements import states

DOCUMENT = "Verification engine"


def applicable(judged):
    return {name for name, signal in judged.signals.items() if signal.applicable}


def fired(judged):
    return {name for name, signal in judged.signals.items() if signal.fired}


@states(
    "Quick Start",
    "P = .127, accept, TIER_1",
    deviation="E1",
)
def test_quick_start(bench):
    """Schema and latency apply and are silent: 3/17 / 1.2 / 1.01 = 3/20.604, so P = 3/23.604 = 0.12710."""
    weather = bench(expected_latency_ms=(100, 5000), required_fields=["temperature", "humidity"], has_network_io=True)

    judged = weather.judge({"temperature": 18, "humidity": 65}, args={"city": "London"}, ms=350.0)

    assert judged.decision.posterior == pytest.approx(0.1271, abs=0.00005)
    assert judged.decision.posterior == pytest.approx(3 / 23.604, rel=1e-12)
    assert judged.decision.verdict == "accept"
    assert judged.tier is VerificationTier.TIER_1
    assert applicable(judged) == {"schema_mismatch", "latency_anomaly"}


@states(
    "Signal Types & Likelihood Ratios",
    "Eight signals, each with its ratio and its tier",
    deviation="E3",
)
@pytest.mark.parametrize(
    ("name", "ratio", "tier"),
    [
        ("schema_mismatch", 12.0, VerificationTier.TIER_0),
        ("pattern_mismatch", 6.0, VerificationTier.TIER_0),
        ("latency_anomaly", 3.5, VerificationTier.TIER_0),
        ("length_anomaly", 2.0, VerificationTier.TIER_0),
        ("historical_inconsistency", 4.5, VerificationTier.TIER_1),
        ("session_inconsistency", 4.0, VerificationTier.TIER_1),
        ("spc_anomaly", 3.0, VerificationTier.TIER_1),
        ("value_plausibility", 3.0, VerificationTier.TIER_1),
    ],
)
def test_table_of_ratios(bench, name, ratio, tier):
    """The document's table "Signal Types & Likelihood Ratios", read off a call to which all eight signals apply."""
    tool = bench(required_fields=["x"], response_patterns=["x"], min_response_length=1)
    for _ in range(8):
        tool.judge({"x": 1}, args={}, ms=100.0, session="s")

    signals = tool.judge({"x": 1}, args={}, ms=100.0, session="s").signals

    assert len(signals) == 8
    assert signals[name].applicable
    assert signals[name].likelihood_ratio == ratio
    assert signals[name].p_value is None
    assert signals[name].tier is tier


@states(
    "Signal Types & Likelihood Ratios",
    "schema_mismatch: missing required fields, or forbidden fields present",
)
@pytest.mark.parametrize(
    ("fields", "result", "score", "posterior"),
    [
        # 1 of 4 fields amiss: 1 + 11/4 = 3.75; odds 11.25/17.
        ({"required_fields": ["a", "b", "c", "d"]}, {"a": 1, "b": 1, "c": 1}, 0.25, 11.25 / 28.25),
        # 1 of 2 amiss: 1 + 11/2 = 6.5; odds 19.5/17.
        ({"required_fields": ["a"], "forbidden_fields": ["mock"]}, {"a": 1, "mock": 1}, 0.5, 19.5 / 36.5),
        # 2 of 3 amiss: 1 + 22/3 = 25/3; odds 25/17.
        ({"required_fields": ["a", "b"], "forbidden_fields": ["mock"]}, {"a": 1, "mock": 1}, 2 / 3, 25 / 42),
        # All amiss: 12; odds 36/17.
        ({"required_fields": ["a"]}, {}, 1.0, 36 / 53),
        # No object at all: 1 + 11 * 0.8 = 9.8; odds 29.4/17.
        ({"required_fields": ["a"]}, "It is sunny.", 0.8, 29.4 / 46.4),
        ({"required_fields": ["a"]}, [{"a": 1}], 0.8, 29.4 / 46.4),
    ],
)
def test_schema_mismatch(bench, fields, result, score, posterior):
    judged = bench(**fields).judge(result)

    assert fired(judged) == applicable(judged) == {"schema_mismatch"}
    assert judged.signals["schema_mismatch"].score == pytest.approx(score, rel=1e-12)
    assert judged.decision.posterior == pytest.approx(posterior, rel=1e-12)


@states(
    "Signal Types & Likelihood Ratios",
    "pattern_mismatch: no expected pattern matches",
)
def test_pattern_mismatch(bench):
    """1 + 5 * 0.8 = 5: odds 15/17. A match divides by 1.01: 3/17.17."""
    search = bench(response_patterns=[r'"results"\s*:\s*\[', r"^none$"])

    assert search.judge("nothing here").signals["pattern_mismatch"].score == 0.8
    assert search.judge("nothing here").decision.posterior == pytest.approx(15 / 32, rel=1e-12)
    assert search.judge({"results": []}).decision.posterior == pytest.approx(3 / 20.17, rel=1e-12)


@states(
    "Signal Types & Likelihood Ratios",
    "latency_anomaly: outside the declared range; below 2 ms is near-certain fabrication",
    deviation="E8",
)
@pytest.mark.parametrize(
    ("fields", "ms", "score", "posterior"),
    [
        # Below 2 ms over a network, and not below the declared minimum: 1 - 1/2; 1 + 2.5/2 = 2.25; odds 6.75/17.
        ({"expected_latency_ms": (0.1, 100)}, 1.0, 0.5, 6.75 / 23.75),
        ({"expected_latency_ms": (0.1, 100)}, 0.5, 0.75, 8.625 / 25.625),
        # At once: 1, the whole 3.5; odds 10.5/17.
        ({"expected_latency_ms": (0.1, 100)}, 0.0, 1.0, 10.5 / 27.5),
        # Below the minimum: sqrt(1 - 64/100) = 0.6; 1 + 2.5 * 0.6 = 2.5; odds 7.5/17.
        ({"expected_latency_ms": (100, 5000)}, 64.0, 0.6, 7.5 / 24.5),
        # The larger of both: sqrt(1 - 0.72/2) = 0.8 against 1 - 0.72/2 = 0.64, in the range of an unknown tool.
        ({}, 0.72, 0.8, 9 / 26),
        # Above the maximum by the square root of 10: 0.5, and by 10 and more: 1.
        ({"expected_latency_ms": (100, 5000)}, 5000 * math.sqrt(10), 0.5, 6.75 / 23.75),
        ({"expected_latency_ms": (100, 5000)}, 50_000, 1.0, 10.5 / 27.5),
        ({}, 6e9, 1.0, 10.5 / 27.5),
    ],
)
def test_latency_anomaly(bench, fields, ms, score, posterior):
    judged = bench(**fields).judge("text", ms=ms)

    assert fired(judged) == applicable(judged) == {"latency_anomaly"}
    assert judged.signals["latency_anomaly"].score == pytest.approx(score, rel=1e-12)
    assert judged.decision.posterior == pytest.approx(posterior, rel=1e-12)


@states(
    "Quick Start",
    "An unregistered tool is held to 2 ms – 60 s",
    deviation="E7",
)
@pytest.mark.parametrize(
    ("fields", "ms"),
    [
        ({"expected_latency_ms": (100, 5000)}, 92.0),  # sqrt(0.08) = 0.28, below the 0.3 from which it fires
        ({"expected_latency_ms": (100, 5000)}, 100.0),
        ({"expected_latency_ms": (100, 5000)}, 5000.0),
        ({}, 2.0),
        ({}, 60_000.0),
        ({"expected_latency_ms": (0.1, 100), "has_network_io": False}, 0.1),
        ({"expected_latency_ms": (100, 5000), "cacheable": True}, 0.0),
    ],
)
def test_latency_in_order(bench, fields, ms):
    """A silent latency check alone: 3/17 / 1.01 = 3/17.17."""
    judged = bench(**fields).judge("text", ms=ms)

    assert applicable(judged) == {"latency_anomaly"}
    assert fired(judged) == set()
    assert judged.signals["latency_anomaly"].score == 0.0
    assert judged.decision.posterior == pytest.approx(3 / 20.17, rel=1e-12)


@states(
    "Signal Types & Likelihood Ratios",
    "latency_anomaly grows with the distance from the range",
    deviation="E8",
)
def test_latency_just_fires_below_the_minimum(bench):
    """sqrt(1 - 90/100) = 0.316 is above 0.3."""
    signal = bench(expected_latency_ms=(100, 5000)).judge("text", ms=90.0).signals["latency_anomaly"]

    assert signal.score == pytest.approx(math.sqrt(0.1), rel=1e-12)


@states(
    "SPC Baselines",
    "Latency is held against its baseline from 8 observations on",
    deviation="E12",
)
def test_latency_against_its_history(bench):
    """Four times 290 ms and 310 ms: mean 300, s = sqrt(8 * 100 / 7). At z = 4.5 the score is 1.5/3, the factor 2.25.

    Rule 1 of the control chart holds as well: 1 + 2 * 0.4 = 1.8. Odds 3 * 2.25 * 1.8 / 17 = 12.15/17.
    """
    tool = bench()
    for ms in (290.0, 310.0) * 4:
        tool.judge("text", ms=ms)

    judged = tool.judge("text", ms=300 + 4.5 * math.sqrt(800 / 7))

    assert judged.signals["latency_anomaly"].score == pytest.approx(0.5, rel=1e-9)
    assert judged.signals["spc_anomaly"].score == pytest.approx(0.4, rel=1e-12)
    assert fired(judged) == applicable(judged) == {"latency_anomaly", "spc_anomaly"}
    assert judged.decision.posterior == pytest.approx(12.15 / 29.15, rel=1e-9)


@states(
    "Signal Types & Likelihood Ratios",
    "length_anomaly: shorter or longer than the configured bounds",
)
@pytest.mark.parametrize(
    ("size", "score", "posterior"),
    [
        # 40 of at least 100 bytes: 0.5 * (1 - 0.4) = 0.3; 1.3; odds 3.9/17.
        (40, 0.3, 3.9 / 20.9),
        # Too long: 0.2; 1.2; odds 3.6/17.
        (201, 0.2, 3.6 / 20.6),
        # In bounds: 3/17.17.
        (100, 0.0, 3 / 20.17),
        (200, 0.0, 3 / 20.17),
    ],
)
def test_length_anomaly(bench, size, score, posterior):
    judged = bench(min_response_length=100, max_response_length=200).judge("x" * size)

    assert applicable(judged) == {"length_anomaly"}
    assert judged.signals["length_anomaly"].score == pytest.approx(score, rel=1e-12)
    assert judged.decision.posterior == pytest.approx(posterior, rel=1e-12)


@states(
    "SPC Baselines",
    "Rules 1 to 4 weigh .40, .25, .20, .15",
    deviation="E12",
)
@pytest.mark.parametrize(
    ("slow", "fast", "rules", "posterior"),
    [
        # Mean 2300/15, s = 51.6: 200 ms is 0.90 s above it. Eight in a row: 0.15; 1.3; odds 3.9/17/1.01.
        (8, 7, {"4"}, 3.9 / 21.07),
        # Mean 143.75, s = 51.2: 200 ms is 1.10 s above it, rule 3 holds too: 0.35; 1.7; odds 5.1/17/1.01.
        (7, 9, {"3", "4"}, 5.1 / 22.27),
    ],
)
def test_spc_anomaly(bench, slow, fast, rules, posterior):
    """Calls of 100 ms, then calls of 200 ms; the latency check applies and is silent."""
    tool = bench()
    for ms in [100.0] * fast + [200.0] * slow:
        tool.judge("text", ms=ms)

    judged = tool.judge("text", ms=200.0)

    assert fired(judged) == {"spc_anomaly"}
    assert judged.signals["spc_anomaly"].detail == f"latency: rule {' and '.join(sorted(rules))}"
    assert judged.decision.posterior == pytest.approx(posterior, rel=1e-12)


@states(
    "Cross-Session Consistency",
    "A 50× change of a number against the last 10 results of the session",
    deviation="E11",
)
@pytest.mark.parametrize(
    ("price", "score", "posterior"),
    [
        # A factor of 50 and no less: log10(50)/3 = 1.69897/3; 1 + 3 * score = 2.69897; odds 8.09691/17.
        (500.0, 1.6989700043360187 / 3, 8.0969100130080562 / 25.0969100130080562),
        (0.2, 1.6989700043360187 / 3, 8.0969100130080562 / 25.0969100130080562),
        (499.0, 0.0, 3 / 20.17),
        (0.21, 0.0, 3 / 20.17),
        # A factor of 1,000: 1; 4; odds 12/17.
        (-10_000.0, 1.0, 12 / 29),
    ],
)
def test_session_inconsistency(bench, price, score, posterior):
    tool = bench()
    tool.judge({"price": 10.0}, session="s")

    judged = tool.judge({"price": price}, session="s")

    assert applicable(judged) == {"session_inconsistency"}
    assert judged.signals["session_inconsistency"].score == pytest.approx(score, rel=1e-9)
    assert judged.decision.posterior == pytest.approx(posterior, rel=1e-9)


@states(
    "Cross-Session Consistency",
    "Results of the same arguments are compared across sessions",
    deviation="E10",
)
def test_historical_inconsistency(bench):
    """Mean 650, now 50: a factor of 13, log10(13) = 1.11394335; 1 + 3.5 * 1.11394335/3 = 2.29960058."""
    tool = bench()
    for price in (600.0, 650.0, 700.0):
        tool.judge({"price": price}, args={"ticker": "NVDA"})

    judged = tool.judge({"price": 50.0}, args={"ticker": "NVDA"})

    assert fired(judged) == applicable(judged) == {"historical_inconsistency"}
    assert judged.signals["historical_inconsistency"].score == pytest.approx(1.11394335 / 3, rel=1e-8)
    odds = 3 / 17 * 2.29960058
    assert judged.decision.posterior == pytest.approx(odds / (1 + odds), rel=1e-8)


@states(
    "Cross-Session Consistency",
    "NVDA: $50 after about $650 in 50 calls fires historical_inconsistency, with the detail Field 'price': …",
    deviation="E10",
)
def test_documents_stock_example(bench):
    """Around $650 for 50 calls, now $50.

    s = sqrt(50 * 100 / 49) = 10.1: far beyond 3 s, so one implausible value (0.3, factor 1.6) and rule 1 on the
    price (0.4, factor 1.8); history 2.29960058 as above; latency silent; the session has nothing to compare.
    Odds 3/17 * 1.8 * 1.6 * 2.29960058 / 1.01 = 1.15716657.
    """
    tool = bench()
    for price in (640.0, 660.0) * 25:
        tool.judge({"price": price, "currency": "USD"}, args={"ticker": "NVDA"}, ms=250.0)

    judged = tool.judge({"price": 50.0, "currency": "USD"}, args={"ticker": "NVDA"}, ms=250.0, session="session-123")

    assert judged.signals["historical_inconsistency"].fired is True
    assert judged.signals["historical_inconsistency"].detail.startswith("Field 'price': ")
    assert not judged.signals["session_inconsistency"].applicable
    assert judged.decision.posterior == pytest.approx(1.15716657 / 2.15716657, rel=1e-7)
    assert judged.decision.verdict == "block"


@states(
    "Signal Types & Likelihood Ratios",
    "value_plausibility: numbers outside mean ± 3 sigma",
    deviation="E13",
)
@pytest.mark.parametrize(
    ("result", "score", "spc", "posterior"),
    [
        # One field out: 0.3, factor 1.6; rule 1 once: 0.4, factor 1.8. Odds 8.64/17.
        ({"x": 40, "y": 10}, 0.3, 0.4, 8.64 / 25.64),
        # Two: 0.6, factor 2.2; rule 1 twice: 0.8, factor 2.6. Odds 17.16/17.
        ({"x": 40, "y": 40}, 0.6, 0.8, 17.16 / 34.16),
        # None: both silent. Odds 3/17/1.01/1.01.
        ({"x": 10, "y": 10}, 0.0, 0.0, 3 / 20.3417),
    ],
)
def test_value_plausibility(bench, result, score, spc, posterior):
    """Mean 11, s = sqrt(8/7) = 1.07; the results are all of one size."""
    tool = bench()
    for x in (10, 12) * 4:
        tool.judge({"x": x, "y": x})

    judged = tool.judge(result)

    assert applicable(judged) == {"value_plausibility", "spc_anomaly"}
    assert judged.signals["value_plausibility"].score == pytest.approx(score, rel=1e-12)
    assert judged.signals["spc_anomaly"].score == pytest.approx(spc, rel=1e-12)
    assert judged.decision.posterior == pytest.approx(posterior, rel=1e-12)


@states(
    "Tiered Architecture",
    "P < .2 accept, .2 ≤ P < .5 flag, P ≥ .5 block",
    deviation="E5",
)
@pytest.mark.parametrize(
    ("prior", "verdict"),
    [
        (math.nextafter(0.2, 0.0), "accept"),
        (0.2, "flag"),
        (math.nextafter(0.5, 0.0), "flag"),
        (0.5, "block"),
    ],
)
def test_verdict_at_the_thresholds(bench, prior, verdict):
    """P < 0.2 accept, 0.2 <= P < 0.5 flag, P >= 0.5 block. Nothing applies, so the posterior is the prior."""
    judged = bench(Settings(prior=prior)).judge("text")

    assert applicable(judged) == set()
    assert judged.decision.posterior == prior
    assert judged.decision.verdict == verdict


@states(
    "Tiered Architecture",
    "P ≥ .5 after tier 0 blocks, and tier 1 is skipped",
    deviation="E2",
)
def test_early_block_skips_tier_1(bench):
    tool = bench(required_fields=["temperature"])

    judged = tool.judge("It is sunny.", session="s")

    assert judged.decision.verdict == "block"
    assert judged.tier is VerificationTier.TIER_0
    assert set(judged.signals) == {"schema_mismatch", "latency_anomaly", "pattern_mismatch", "length_anomaly"}


@states(
    "How the Bayesian Combiner Works",
    "A fired signal adds log(1 + (LR − 1) · score)",
    deviation="E3",
)
def test_a_ratio_can_be_set(bench):
    """1 + 10 * 0.8 = 9: odds 27/17; a ratio of 0.5 makes it 1 - 0.5 * 0.8 = 0.6: odds 1.8/17."""
    for ratio, posterior in ((11.0, 27 / 44), (0.5, 1.8 / 18.8)):
        tool = bench(Settings(likelihood_ratios={"pattern_mismatch": ratio}), response_patterns=["sun"])
        judged = tool.judge("rain")
        assert judged.signals["pattern_mismatch"].likelihood_ratio == ratio
        assert judged.decision.posterior == pytest.approx(posterior, rel=1e-12)


@states(
    "How the Bayesian Combiner Works",
    "A silent signal adds log(1 / max(LR · 0.1, 1.01))",
    deviation="E4",
)
def test_contributions_are_what_the_posterior_rests_on(bench):
    """The pattern adds ln 5, silence takes ln 1.01 for the latency and ln 1.2 for the schema."""
    tool = bench(required_fields=["a"], response_patterns=["sun"])

    decision = tool.judge({"a": "rain"}, ms=100.0).decision

    assert decision.contributions == {
        "schema_mismatch": pytest.approx(-0.1823215568),
        "latency_anomaly": pytest.approx(-0.0099503309),
        "pattern_mismatch": pytest.approx(1.6094379124),
        "length_anomaly": 0.0,
        "spc_anomaly": 0.0,
        "session_inconsistency": 0.0,
        "historical_inconsistency": 0.0,
        "value_plausibility": 0.0,
    }
    assert decision.false_block_p is None


# --- The printed snippets, through the engine that users have ---

Mode = Literal["calibrated", "reference"]
FIELDS = {
    "verdict", "confidence", "signals", "tier_reached", "explanation", "prior", "posterior", "is_hallucinated",
}  # fmt: skip
SIGNALS = {
    "schema_mismatch", "pattern_mismatch", "latency_anomaly", "length_anomaly", "historical_inconsistency",
    "session_inconsistency", "spc_anomaly", "value_plausibility",
}  # fmt: skip
HITS = {"results": [{"title": "Lisbon", "url": "https://example.org/lisbon"}], "total_count": 1}
BOTH = pytest.mark.parametrize("mode", ["calibrated", "reference"])


def weather(mode: Mode) -> VerificationEngine:
    """The engine of the quick start."""
    engine = VerificationEngine(mode=mode)
    engine.register_tool_profile(
        "get_weather",
        expected_latency_ms=(100, 5000),
        required_fields=["temperature", "humidity"],
        has_network_io=True,
    )
    return engine


def profiled(mode: Mode) -> VerificationEngine:
    """The engine of "Registering Tool Profiles"."""
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
        "query_db", expected_latency_ms=(5, 30000), required_fields=["rows"], has_network_io=True
    )
    engine.register_tool_profile("calculate", expected_latency_ms=(0.1, 100), has_network_io=False)
    return engine


@states("Quick Start", "The snippet runs", "verify returns a result with the fields of the table VerificationResult")
@BOTH
def test_the_quick_start_runs_as_printed(mode: Mode) -> None:
    result = weather(mode).verify(
        "get_weather",
        args={"city": "London"},
        result={"temperature": 18, "humidity": 65},
        execution_time_ms=350.0,
    )

    assert result.verdict == "accept"
    assert result.tier_reached is VerificationTier.TIER_1
    assert result.signals.keys() >= SIGNALS
    assert all(hasattr(result, field) for field in FIELDS)
    assert result.confidence == result.posterior < result.prior == 0.15
    assert not result.is_hallucinated


@states("Quick Start", "P = .127 for the printed call", deviation="E1")
def test_the_quick_starts_figure() -> None:
    call: Any = {"args": {"city": "London"}, "result": {"temperature": 18, "humidity": 65}, "execution_time_ms": 350.0}

    assert weather("reference").verify("get_weather", **call).posterior == pytest.approx(3 / 23.604, rel=1e-12)
    # Declared and kept: the schema is * .70 / .975, the latency * .70 / (1 - .3 / 3.5).
    odds = 3 / 17 * (0.70 / 0.975) * (0.70 / (1 - 0.3 / 3.5))
    assert weather("calibrated").verify("get_weather", **call).posterior == pytest.approx(odds / (1 + odds), rel=1e-9)


@states("Registering Tool Profiles", "The three printed profiles load, and real results of theirs are accepted")
@BOTH
def test_what_the_printed_profiles_allow(mode: Mode) -> None:
    engine = profiled(mode)

    assert engine.verify("search_web", args={"q": "Lisbon"}, result=HITS, execution_time_ms=420.0).verdict == "accept"
    assert engine.verify("query_db", result={"rows": [[1]]}, execution_time_ms=12.0).verdict == "accept"
    assert engine.verify("calculate", args={"x": "6*7"}, result=42, execution_time_ms=0.2).verdict == "accept"


@states("Registering Tool Profiles", "Each declared field, pattern, length and time fires its signal when it is broken")
@BOTH
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
def test_what_the_printed_profiles_forbid(
    mode: Mode, tool: str, result: object, milliseconds: float, signal: str
) -> None:
    judged = profiled(mode).verify(tool, args={"q": "Lisbon"}, result=result, execution_time_ms=milliseconds)

    assert fired(judged) == {signal}
    assert judged.contributions[signal] > 0.0


@states(
    "ToolProfile Fields",
    "No required or forbidden fields, no patterns, no lengths, unless they are declared",
)
def test_the_defaults_of_a_profile() -> None:
    profile = VerificationEngine().register_tool_profile("t")

    assert (profile.required_fields, profile.forbidden_fields, profile.response_patterns) == ((), (), ())
    assert (profile.min_response_length, profile.max_response_length) == (None, None)


@states("ToolProfile Fields", "expected_latency_ms (50, 30000) and has_network_io True by default", deviation="E7")
def test_the_default_range_of_a_registered_tool() -> None:
    fires = {}
    for mode in ("reference", "calibrated"):
        engine = VerificationEngine(mode=mode)
        profile = engine.register_tool_profile("t", max_response_length=10_000)
        assert (profile.expected_latency_ms, profile.has_network_io) == ((50, 30000), True)
        times = (0.5, 10.0, 40_000.0, 100_000.0)
        judged = [engine.verify("t", result="text", execution_time_ms=ms, learn=False) for ms in times]
        fires[mode] = [each.signals["latency_anomaly"].fired for each in judged]

    assert fires == {"reference": [True] * 4, "calibrated": [False] * 4}


def prices(mode: Mode, *, hold: bool = False) -> VerificationEngine:
    """An engine that has seen NVDA at about $650 in 50 calls."""
    engine, noise = VerificationEngine(mode=mode), random.Random(650)
    for _ in range(50):
        price = {"price": round(noise.gauss(650.0, 4.0), 2), "currency": "USD"}
        engine.verify("get_stock_price", args={"ticker": "NVDA"}, result=price, execution_time_ms=250.0)
    return engine


@states(
    "Cross-Session Consistency",
    "$50 after about $650 in 50 calls for NVDA fires historical_inconsistency by its name; flag or block",
)
@BOTH
def test_the_printed_price_fires_historical_inconsistency(mode: Mode) -> None:
    engine = prices(mode)
    result = engine.verify(
        "get_stock_price",
        args={"ticker": "NVDA"},
        result={"price": 50.0, "currency": "USD"},
        execution_time_ms=250.0,
        session_id="session-123",
    )
    past = result.signals["historical_inconsistency"]

    assert past.fired is True
    assert "price" in past.detail
    assert past.score > 0.3
    assert result.verdict in ("flag", "block")
    if mode == "reference":
        assert past.detail.startswith("Field 'price': ")


@states("Adaptive Thresholds", "The snippet runs; a confirmed hallucination makes the tool stricter")
@BOTH
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


@states("VerificationResult", "is_hallucinated is True where the verdict is block", "confidence is the posterior")
@BOTH
def test_a_blocked_result(mode: Mode) -> None:
    judged = weather(mode).verify("get_weather", args={}, result="It is sunny.", execution_time_ms=0.0, session_id="s")

    assert judged.verdict == "block"
    assert judged.is_hallucinated
    assert judged.confidence == judged.posterior >= 0.5


@states("SPC Baselines", "SPC needs 8 earlier observations", deviation="E12")
@states("Decision", "Blocked results never enter a baseline")
def test_blocked_and_unlearned_calls_leave_the_baseline_alone() -> None:
    """Eight blocked and eight unlearned calls later, the tool is as new."""
    engine = VerificationEngine(mode="reference")
    engine.register_tool_profile("lookup", required_fields=["x"])
    for _ in range(8):
        assert engine.verify("lookup", result="nothing", session_id="s").verdict == "block"
        engine.verify("lookup", result={"x": 1}, session_id="s", learn=False)

    signals = engine.verify("lookup", result={"x": 1}, session_id="s").signals

    assert signals["spc_anomaly"].detail == "0 of 8 calls"
    assert signals["session_inconsistency"].detail == "first result of this tool in the session"


@states(
    "SPC Baselines",
    "The baseline tracks latency, size, field frequency and the range of each number",
    "A circular buffer of the latest 100 observations",
    deviation="E12",
)
def test_what_a_baseline_tracks(bench) -> None:
    tool = bench()
    for count in range(150):
        tool.judge({"n": count, "note": "a"} if count % 3 == 0 else {"n": count}, ms=100.0 + count)
    baseline = tool.memory

    assert baseline.calls == 150
    assert baseline.frequency == {"n": 150, "note": 50}
    assert baseline.latency.recent() == tuple(100.0 + count for count in range(50, 150))
    assert baseline.fields["n"].mean == pytest.approx(74.5)  # of all 150, by Welford
    assert baseline.size.n == 150


@states(
    "Adaptive Thresholds",
    "1. the exponential moving average of the hallucination rate moves",
    "2. the blocking threshold falls after a hallucination",
    "3. the tool's prior moves",
    deviation="E15",
)
def test_what_feedback_moves() -> None:
    """Rate = 40/41 * .15 + 1/41 for one hallucination; the threshold's log-odds fall by (rate - prior)."""
    reference, calibrated = profiled("reference"), profiled("calibrated")
    for engine in (reference, calibrated):
        engine.record_feedback("search_web", confidence_score=0.35, was_hallucination=True)
    rate = 40 / 41 * 0.15 + 1 / 41

    moved = reference.thresholds("search_web")
    assert moved.prior == pytest.approx(rate)
    assert math.log(moved.block_at / (1 - moved.block_at)) == pytest.approx(-(rate - 0.15))
    kept = calibrated.thresholds("search_web")
    assert kept.block_at == 0.5
    assert kept.prior == pytest.approx((0.15 * 40 + 1) / 41)


@states("Cross-Session Consistency", "The last 10 results of a session are compared", deviation="E11")
def test_the_window_of_a_session(bench) -> None:
    for between, is_seen in ((9, True), (10, False)):
        tool = bench()
        for price in (1.0, *[30.0] * between):
            tool.judge({"price": price}, session="s")
        assert tool.judge({"price": 60.0}, session="s").signals["session_inconsistency"].fired is is_seen


@states(
    "SPC Baselines",
    "Rule 2: two of three beyond 2 sigma (.25); rule 3: four of five beyond 1 sigma (.20)",
    deviation="E12",
)
@pytest.mark.parametrize(
    ("last", "now", "score", "rule"), [([13.5, 11.0], 13.5, 0.25, "2"), ([12.5] * 3 + [11.0], 12.5, 0.20, "3")]
)
def test_rules_2_and_3_alone(bench, last, now, score, rule) -> None:
    """Times of 10 and 12 have mean 11 and s = 1.01."""
    tool = bench()
    for ms in [10.0, 12.0] * 20 + last:
        tool.judge("text", ms=ms)
    signal = tool.judge("text", ms=now).signals["spc_anomaly"]

    assert signal.score == pytest.approx(score)
    assert signal.detail == f"latency: rule {rule}"


# --- The rows of the deviations page: what the default does, and the document's behaviour ---


def taught(mode: Mode = "calibrated", calls: int = 60, **options: Any) -> VerificationEngine:
    """An engine that has seen a tool whose calls are alike in every way."""
    engine, noise = VerificationEngine(mode=mode, **options), random.Random(7)
    for number in range(calls):
        row = {"id": f"K-{number:03}", "price": round(noise.gauss(20.0, 1.0), 2), "stock": noise.randint(1, 9)}
        engine.verify("shop", args={"sku": row["id"]}, result=row, execution_time_ms=noise.gauss(80.0, 3.0))
    return engine


@states("Tiered Architecture", "P ≥ .5 after tier 0 blocks, and tier 1 is skipped", deviation="E2")
def test_tier_1_after_a_block() -> None:
    call: Any = {"args": {}, "result": "It is sunny.", "execution_time_ms": 0.0, "session_id": "s"}
    early = weather("reference").verify("get_weather", **call)
    whole = weather("calibrated").verify("get_weather", **call)

    assert early.verdict == whole.verdict == "block"
    assert early.posterior == pytest.approx(102.9 / 119.9, rel=1e-12)  # 3 * 9.8 * 3.5 = 102.9
    assert (early.tier_reached, whole.tier_reached) == (VerificationTier.TIER_0, VerificationTier.TIER_1)
    assert early.signals["spc_anomaly"].detail == "not looked at: tier 0 blocked"
    assert whole.signals["spc_anomaly"].detail != "not looked at: tier 0 blocked"


@states("How the Bayesian Combiner Works", "A fired signal's ratio is scaled by its score", deviation="E3")
def test_a_broken_declaration_counts_in_full() -> None:
    """One of two required fields is missing: 1 + 11/2 = 6.5 in the document, 12 here."""
    nats = {}
    for mode in ("reference", "calibrated"):
        engine = VerificationEngine(mode=mode)
        engine.register_tool_profile("t", required_fields=["a", "b"])
        judged = engine.verify("t", args={}, result={"a": 1}, execution_time_ms=100.0)
        nats[mode] = judged.contributions["schema_mismatch"]

    assert nats == {"reference": pytest.approx(math.log(6.5)), "calibrated": pytest.approx(math.log(12.0))}


@states("How the Bayesian Combiner Works", "A silent signal adds log(1 / max(LR · 0.1, 1.01))", deviation="E4")
def test_silence_does_not_excuse_a_broken_declaration() -> None:
    """The time is declared and kept, a field is missing: the time takes ln 1.01 off in the document, nothing here."""
    nats = {}
    for mode in ("reference", "calibrated"):
        judged = weather(mode).verify("get_weather", args={}, result={"temperature": 18}, execution_time_ms=350.0)
        nats[mode] = judged.contributions.get("latency_anomaly", 0.0)

    assert nats == {"reference": pytest.approx(-math.log(1.01)), "calibrated": 0.0}


@states("Tiered Architecture", ".2 ≤ P < .5 flags", deviation="E5")
def test_a_learned_verdict_also_needs_a_rare_call() -> None:
    """A price ten times the usual, P = .28: the document flags it; one in 76 of this tool's calls looks as bad."""
    found = {}
    for share in (0.01, 1.0):
        engine, noise = VerificationEngine(max_false_block_rate=share), random.Random(5)
        for number in range(100):
            row = {"price": round(noise.gauss(20.0, 1.0), 2)}
            engine.verify("shop", args={"n": number}, result=row, execution_time_ms=noise.gauss(100.0, 5.0))
        found[share] = engine.verify("shop", args={"n": 999}, result={"price": 200.0}, execution_time_ms=100.0)

    assert all(0.2 <= each.posterior < 0.5 for each in found.values())
    assert all(0.01 < each.false_block_p < 0.02 for each in found.values() if each.false_block_p is not None)
    assert (found[0.01].verdict, found[1.0].verdict) == ("accept", "flag")


@states("Tiered Architecture", "Each call is judged by itself", deviation="E6")
def test_calls_that_are_odd_alike_are_one_change() -> None:
    def renamed(engine: VerificationEngine, number: int) -> Any:
        row = {"sku": f"K-{number}", "cost": 20.0 + number % 3, "left": 3}
        return engine.verify("shop", args={"sku": row["sku"]}, result=row, execution_time_ms=80.0)

    calibrated, reference, held = taught(), taught("reference"), taught()
    held.register_tool_profile("shop", on_change="hold")
    followed = [renamed(calibrated, number).verdict for number in range(900, 910)]
    blocked = [renamed(held, number).verdict for number in range(900, 910)]

    assert followed[0] == "flag"
    assert followed[-1] == "accept"
    assert blocked[-1] != "accept"
    judged = [renamed(reference, number) for number in range(900, 910)]
    assert all(each.verdict == ("block" if each.posterior >= 0.5 else "flag") for each in judged)
    assert judged[-1].verdict == judged[2].verdict


@states("Quick Start", "An unregistered tool is held to 2 ms – 60 s", deviation="E7")
def test_the_default_range_of_an_unregistered_tool() -> None:
    def fires(engine: VerificationEngine, milliseconds: float) -> bool:
        return engine.verify("t", result="text", execution_time_ms=milliseconds).signals["latency_anomaly"].fired

    assert [fires(VerificationEngine(mode="reference"), ms) for ms in (1.9, 2.0, 6e4, 60_001.0)] == [
        True,
        False,
        False,
        True,
    ]
    assert [fires(VerificationEngine(), ms) for ms in (1.9, 60_001.0)] == [False, False]
    declared = VerificationEngine()
    declared.register_tool_profile("t", expected_latency_ms=(2, 60_000))
    assert [fires(declared, ms) for ms in (2.0, 60_001.0)] == [False, True]


@states("Signal Types & Likelihood Ratios", "latency_anomaly: below 2 ms is near-certain fabrication", deviation="E8")
def test_an_instant_answer() -> None:
    def nats(mode: Mode, **profile: Any) -> float:
        engine = VerificationEngine(mode=mode)
        engine.register_tool_profile("t", **profile)
        judged = engine.verify("t", args={}, result="text", execution_time_ms=0.0)
        return judged.contributions.get("latency_anomaly", 0.0)

    assert nats("reference") == pytest.approx(math.log(3.5))  # the default profile's network is enough
    assert nats("calibrated") == 0.0
    assert nats("calibrated", has_network_io=True) == pytest.approx(math.log(3.5))
    assert nats("calibrated", has_network_io=True, expected_latency_ms=(100, 5000)) == pytest.approx(math.log(10.5))
    declared = VerificationEngine()
    declared.register_tool_profile("t", expected_latency_ms=(100, 5000))
    early = [
        declared.verify("t", args={}, result="text", execution_time_ms=ms).contributions for ms in (90.0, 10.0, 3.0)
    ]
    assert [each["latency_anomaly"] for each in early] == pytest.approx(
        [math.log(3.5)] * 3
    )  # the document grows with it
    swift = VerificationEngine()
    swift.register_tool_profile("t", expected_latency_ms=(10, 100), has_network_io=False)
    at_once = swift.verify("t", args={}, result="text", execution_time_ms=0.05)  # below a tenth of the least
    assert at_once.contributions["latency_anomaly"] == pytest.approx(math.log(10.5))


@states("Tiered Architecture", "Error reports and empty results are judged like any other", deviation="E9")
def test_errors_and_empty_results_are_flagged_at_most() -> None:
    def odd(mode: Mode, result: Any, **profile: Any) -> str:
        engine = taught(mode)
        if profile:
            engine.register_tool_profile("shop", **profile)
        return engine.verify("shop", args={"sku": "K-9"}, result=result, execution_time_ms=80.0).verdict

    for result in ({"error": "no such item"}, []):
        assert odd("calibrated", result) in ("accept", "flag")
        assert odd("calibrated", result, required_fields=["price"]) == "block"
        assert odd("reference", result, required_fields=["price"]) == "block"


@states("Cross-Session Consistency", "Numbers of the same arguments are compared by a factor of 10", deviation="E10")
def test_another_answer_to_the_same_arguments() -> None:
    """An answer that never changed changes by 5%: no factor of 10, and never seen."""
    found = {}
    for mode in ("reference", "calibrated"):
        engine = VerificationEngine(mode=mode)
        for number in range(60):
            row = {"name": f"item {number % 6}", "price": 20.0 + number % 6}
            engine.verify("shop", args={"n": number % 6}, result=row, execution_time_ms=80.0)
        row = {"name": "item 3", "price": 23.0 * 1.05}
        found[mode] = engine.verify("shop", args={"n": 3}, result=row, execution_time_ms=80.0).signals

    assert not found["reference"]["historical_inconsistency"].fired
    assert found["calibrated"]["historical_inconsistency"].fired


@states("Cross-Session Consistency", "A 50× change against the session's last 10 results", deviation="E11")
def test_other_arguments_in_a_session_are_another_question() -> None:
    def fires(mode: Mode, args: Any) -> bool:
        engine = VerificationEngine(mode=mode)
        engine.verify("shop", args={"n": 1}, result={"price": 10.0}, session_id="s")
        judged = engine.verify("shop", args=args, result={"price": 1_000.0}, session_id="s")
        return judged.signals["session_inconsistency"].fired

    assert fires("reference", {"n": 2})
    assert not fires("calibrated", {"n": 2})


@states(
    "SPC Baselines", "SPC is active from 8 observations on", "The four rules run on latency and size", deviation="E12"
)
def test_when_the_charts_begin() -> None:
    """The 9th call takes ten times as long."""

    def chart(mode: Mode) -> Any:
        engine = VerificationEngine(mode=mode)
        for number in range(8):
            engine.verify("t", args={"n": number}, result="text", execution_time_ms=100.0 + number)
        return engine.verify("t", args={"n": 9}, result="text", execution_time_ms=1_000.0).signals["spc_anomaly"]

    assert chart("reference").fired
    assert not chart("calibrated").fired


@states("Signal Types & Likelihood Ratios", "value_plausibility: outside mean ± 3 sigma", deviation="E13")
def test_a_price_that_is_high_and_no_outlier() -> None:
    """Prices that double, 2 to 512, have mean 113.6 and s = 171: 900 lies 4.6 s above, and is about the next one."""

    def fires(mode: Mode) -> bool:
        engine = VerificationEngine(mode=mode)
        for number in range(27):
            engine.verify("t", args={"n": number}, result={"price": 2.0 ** (1 + number % 9)}, execution_time_ms=50.0)
        judged = engine.verify("t", args={"n": 99}, result={"price": 900.0}, execution_time_ms=50.0)
        return judged.signals["value_plausibility"].fired

    assert fires("reference")
    assert not fires("calibrated")


@states("Decision", "Every call that is not blocked is learned", deviation="E14")
def test_what_is_learned_of_a_suspect() -> None:
    """A flagged call is counted in reference mode; here the next one like it is as odd as the first."""
    flagged = {"id": "K-900", "price": 20.0, "stock": 3, "note": None, "more": 1}
    reference = taught("reference")
    reference.register_tool_profile("shop", forbidden_fields=[*"abcdefghi", "more"])
    judged = reference.verify("shop", args={"sku": "K-900"}, result=flagged, execution_time_ms=80.0)
    again = reference.verify("shop", args={"sku": "K-901"}, result=flagged, execution_time_ms=80.0)

    assert judged.verdict == again.verdict == "flag"
    assert reference._tools.find("shop", keep=True).memory.frequency["more"] == 2
    calibrated = taught()
    before = calibrated._tools.find("shop", keep=True).memory.count
    assert (
        calibrated.verify("shop", args={"sku": "K-900"}, result={"id": 5}, execution_time_ms=80.0).verdict != "accept"
    )
    assert calibrated._tools.find("shop", keep=True).memory.count == before
