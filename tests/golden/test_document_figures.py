"""The published document's figures, each worked out by hand.

All start from its prior of 0.15, which is odds of 3/17. A signal that fires multiplies the odds by
1 + (ratio - 1) * score; a silent one divides them by max(ratio / 10, 1.01), which is 1.2 for schema_mismatch
(ratio 12) and 1.01 for the seven others. Odds of a/b are a probability of a/(a + b).
"""

import math

import pytest

from agentguard.verification.types import Settings, VerificationTier


def applicable(judged):
    return {name for name, signal in judged.signals.items() if signal.applicable}


def fired(judged):
    return {name for name, signal in judged.signals.items() if signal.fired}


def test_quick_start(bench):
    """Schema and latency apply and are silent: 3/17 / 1.2 / 1.01 = 3/20.604, so P = 3/23.604 = 0.12710."""
    weather = bench(expected_latency_ms=(100, 5000), required_fields=["temperature", "humidity"], has_network_io=True)

    judged = weather.judge({"temperature": 18, "humidity": 65}, args={"city": "London"}, ms=350.0)

    assert judged.decision.posterior == pytest.approx(0.1271, abs=0.00005)
    assert judged.decision.posterior == pytest.approx(3 / 23.604, rel=1e-12)
    assert judged.decision.verdict == "accept"
    assert judged.tier is VerificationTier.TIER_1
    assert applicable(judged) == {"schema_mismatch", "latency_anomaly"}


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


def test_pattern_mismatch(bench):
    """1 + 5 * 0.8 = 5: odds 15/17. A match divides by 1.01: 3/17.17."""
    search = bench(response_patterns=[r'"results"\s*:\s*\[', r"^none$"])

    assert search.judge("nothing here").signals["pattern_mismatch"].score == 0.8
    assert search.judge("nothing here").decision.posterior == pytest.approx(15 / 32, rel=1e-12)
    assert search.judge({"results": []}).decision.posterior == pytest.approx(3 / 20.17, rel=1e-12)


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


def test_latency_just_fires_below_the_minimum(bench):
    """sqrt(1 - 90/100) = 0.316 is above 0.3."""
    signal = bench(expected_latency_ms=(100, 5000)).judge("text", ms=90.0).signals["latency_anomaly"]

    assert signal.score == pytest.approx(math.sqrt(0.1), rel=1e-12)


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


def test_early_block_skips_tier_1(bench):
    tool = bench(required_fields=["temperature"])

    judged = tool.judge("It is sunny.", session="s")

    assert judged.decision.verdict == "block"
    assert judged.tier is VerificationTier.TIER_0
    assert set(judged.signals) == {"schema_mismatch", "latency_anomaly", "pattern_mismatch", "length_anomaly"}


def test_a_ratio_can_be_set(bench):
    """1 + 10 * 0.8 = 9: odds 27/17; a ratio of 0.5 makes it 1 - 0.5 * 0.8 = 0.6: odds 1.8/17."""
    for ratio, posterior in ((11.0, 27 / 44), (0.5, 1.8 / 18.8)):
        tool = bench(Settings(likelihood_ratios={"pattern_mismatch": ratio}), response_patterns=["sun"])
        judged = tool.judge("rain")
        assert judged.signals["pattern_mismatch"].likelihood_ratio == ratio
        assert judged.decision.posterior == pytest.approx(posterior, rel=1e-12)


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
