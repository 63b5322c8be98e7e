"""When each check applies, and what it makes of the odd cases; the figures are in tests/documents."""

import math

import pytest

from agentguard.verification._reference import Reference


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("schema_mismatch", "no fields declared"),
        ("pattern_mismatch", "no patterns declared"),
        ("length_anomaly", "no length declared"),
        ("latency_anomaly", "execution time unknown"),
        ("spc_anomaly", "0 of 8 calls"),
        ("value_plausibility", "0 of 8 calls"),
        ("session_inconsistency", "no session given"),
        ("historical_inconsistency", "no arguments given"),
    ],
)
def test_a_check_with_nothing_to_go_by_says_why(tool, name, why):
    signal = tool().signal(name, {"x": 1})

    assert not signal.applicable
    assert not signal.fired
    assert signal.likelihood_ratio == 1.0
    assert signal.detail == why


@pytest.mark.parametrize(
    "ms", [None, math.nan, math.inf, -math.inf, -1, True, False, "250", 10**400, -(10**400), [], 1j]
)
def test_what_is_no_time_is_not_judged_and_not_learned(tool, ms):
    own = tool()
    for _ in range(9):
        own.learn("text", ms=ms)

    assert own.memory.calls == 9
    assert own.memory.latency.n == 0
    assert own.signal("latency_anomaly", "text", ms=ms).detail == "execution time unknown"
    assert not own.signal("spc_anomaly", "text", ms=ms).fired


def test_the_instant_rule_is_for_networks_only(tool):
    instant = {"expected_latency_ms": (0.001, 100)}

    assert tool(**instant).signal("latency_anomaly", "text", ms=0.5).fired
    assert not tool(**instant, has_network_io=False).signal("latency_anomaly", "text", ms=0.5).fired


def test_a_cacheable_tool_may_be_fast_but_not_slow(tool):
    """Mean 300, s = 10.7: 10 ms is 27 s below, 590 ms as far above."""
    own = tool(cacheable=True, expected_latency_ms=(100, 5000))
    for ms in (290.0, 310.0) * 4:
        own.learn("text", ms=ms)

    assert not own.signal("latency_anomaly", "text", ms=10.0).fired
    assert own.signal("latency_anomaly", "text", ms=590.0).score == 1.0


def test_latency_history_needs_eight_times(tool):
    own = tool(expected_latency_ms=(100, 5000))
    for ms in (290.0, 310.0, 290.0, 310.0, 290.0, 310.0, 290.0):
        own.learn("text", ms=ms)

    assert not own.signal("latency_anomaly", "text", ms=900.0).fired
    own.learn("text", ms=310.0)
    assert own.signal("latency_anomaly", "text", ms=900.0).fired


def test_a_field_of_every_row_may_be_required(tool):
    rows = tool(required_fields=["[].id"])

    assert not rows.signal("schema_mismatch", [{"id": 1}, {"id": 2}]).fired
    assert rows.signal("schema_mismatch", [{"id": 1}, {}]).score == 1.0
    assert rows.signal("schema_mismatch", "none").score == 0.8


def test_a_field_of_any_row_may_be_forbidden(tool):
    rows = tool(forbidden_fields=["rows[].mock"])

    assert not rows.signal("schema_mismatch", {"rows": []}).fired
    assert not rows.signal("schema_mismatch", {"rows": [{"id": 1}]}).fired
    assert rows.signal("schema_mismatch", {"rows": [{"id": 1}, {"mock": True}]}).fired


def test_text_has_no_forbidden_field(tool):
    signal = tool(forbidden_fields=["mock"]).signal("schema_mismatch", "plain text")

    assert signal.applicable
    assert not signal.fired


def test_a_declared_schema_counts_as_one_item(tool):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    own = tool(required_fields=["a"], output_schema=schema)

    assert own.signal("schema_mismatch", {"a": "one"}).score == 0.5
    assert not own.signal("schema_mismatch", {"a": 1}).fired
    assert tool(output_schema=schema).signal("schema_mismatch", {"a": "one"}).score == 1.0


def test_length_is_counted_in_bytes_of_compact_json(tool):
    """{"a":"ä"} is 9 characters and 10 bytes."""
    assert not tool(min_response_length=10).signal("length_anomaly", {"a": "ä"}).fired
    assert tool(min_response_length=11).signal("length_anomaly", {"a": "ä"}).fired


def test_tier_1_starts_at_eight_calls(tool):
    own = tool()
    for x in (10, 12, 10, 12, 10, 12, 10):
        own.learn({"x": x})

    for name in ("spc_anomaly", "value_plausibility"):
        assert own.signal(name, {"x": 99}).detail == "7 of 8 calls"
    own.learn({"x": 12})
    for name in ("spc_anomaly", "value_plausibility"):
        assert own.signal(name, {"x": 99}).fired


def test_a_field_counts_from_its_own_eighth_value(tool):
    own = tool()
    for _ in range(8):
        own.learn({"old": 1})
    for x in (10, 12, 10, 12, 10, 12, 10):
        own.learn({"new": x})

    assert own.signal("value_plausibility", {"new": 99}).detail == "no numeric field with 8 earlier values"
    own.learn({"new": 12})
    assert own.signal("value_plausibility", {"new": 99}).fired


def test_a_constant_field_has_no_sigma(tool):
    own = tool()
    for _ in range(20):
        own.learn({"version": 1})

    signal = own.signal("value_plausibility", {"version": 2})
    assert signal.applicable
    assert not signal.fired


def test_rounding_noise_is_no_sigma(tool):
    own = tool()
    for x in (0.3, 0.1 + 0.2) * 4:
        own.learn({"x": x})

    assert not own.signal("value_plausibility", {"x": 0.4}).fired
    assert "field" not in own.signal("spc_anomaly", {"x": 0.4}).detail


def test_spc_is_at_most_one(tool):
    """Rule 1 on three fields: 3 * 0.4."""
    own = tool()
    for x in (10, 12) * 4:
        own.learn({"a": x, "b": x, "c": x})

    assert own.signal("spc_anomaly", {"a": 99, "b": 99, "c": 99}).score == 1.0
    assert own.signal("value_plausibility", {"a": 99, "b": 99, "c": 99}).score == pytest.approx(0.9)


def test_spc_watches_the_size(tool):
    own = tool()
    for size in (100, 110) * 4:
        own.learn("x" * size)

    assert own.signal("spc_anomaly", "x" * 500).detail == "size: rule 1"


def test_a_session_is_compared_over_its_last_ten_results(tool):
    own = tool()
    own.learn({"price": 1}, session="s")
    for _ in range(9):
        own.learn({"price": 60}, session="s")

    assert own.signal("session_inconsistency", {"price": 60}, session="s").fired
    own.learn({"price": 60}, session="s")
    assert not own.signal("session_inconsistency", {"price": 60}, session="s").fired


def test_sessions_are_kept_apart(tool):
    own = tool()
    own.learn({"price": 1}, session="one")

    signal = own.signal("session_inconsistency", {"price": 60}, session="two")
    assert signal.detail == "first result of this tool in the session"


def test_a_session_without_a_common_number_says_nothing(tool):
    own = tool()
    own.learn({"price": 1, "text": "a"}, session="s")

    for result in ({"text": "b"}, {"count": 60}, "text", {"price": "60"}, {"price": True}):
        assert own.signal("session_inconsistency", result, session="s").detail == "no number to compare"


def test_severity_is_the_mean_over_the_fields_that_swung(tool):
    """Factors 100 and 10,000 give 2/3 and 1; the third field is within bounds and does not count."""
    own = tool()
    own.learn({"a": 1, "b": 1, "c": 1}, session="s")

    signal = own.signal("session_inconsistency", {"a": 100, "b": 10_000, "c": 2}, session="s")
    assert signal.score == pytest.approx((2 / 3 + 1) / 2)


@pytest.mark.parametrize(("before", "now"), [(0, 60), (60, 0), (0, 1e9), (0.0, -0.0), (-5, 5)])
def test_zero_and_sign_are_no_swing(tool, before, now):
    own = tool()
    for _ in range(3):
        own.learn({"x": before}, args={}, session="s")

    assert not own.signal("session_inconsistency", {"x": now}, session="s").fired
    assert not own.signal("historical_inconsistency", {"x": now}, args={}).fired


def test_history_needs_three_results_with_the_same_arguments(tool):
    own = tool()
    own.learn({"price": 650}, args={"ticker": "NVDA", "n": 1})
    own.learn({"price": 650}, args={"n": 1, "ticker": "NVDA"})
    own.learn({"price": 650}, args={"ticker": "AMD", "n": 1})

    signal = own.signal("historical_inconsistency", {"price": 50}, args={"ticker": "NVDA", "n": 1})
    assert signal.detail == "2 of 3 calls with these arguments"
    own.learn({"price": 650}, args={"ticker": "NVDA", "n": 1})
    assert own.signal("historical_inconsistency", {"price": 50}, args={"ticker": "NVDA", "n": 1}).fired


def test_a_field_has_a_history_from_three_values_of_its_own(tool):
    own = tool()
    for result in ({"a": 1}, {"a": 1, "b": 1}, {"a": 1, "b": 1}):
        own.learn(result, args={})

    assert not own.signal("historical_inconsistency", {"a": 1, "b": 99}, args={}).fired
    own.learn({"b": 1}, args={})
    assert own.signal("historical_inconsistency", {"a": 1, "b": 99}, args={}).fired


@pytest.mark.parametrize(("price", "fired"), [(6500, True), (6499, False), (65, True), (65.1, False), (-65, True)])
def test_history_swings_from_a_factor_of_ten(tool, price, fired):
    own = tool()
    for _ in range(3):
        own.learn({"price": 650}, args={})

    assert own.signal("historical_inconsistency", {"price": price}, args={}).fired is fired


def test_a_scattered_history_expects_no_size(tool):
    """1, 1, 1000: the mean of 334 is smaller than the standard deviation of 577, and 1 is 334 times smaller."""
    own = tool()
    for count in (1, 1, 1000):
        own.learn({"count": count}, args={})

    assert own.signal("historical_inconsistency", {"count": 1}, args={}).detail == "no number to compare"


def test_a_stateful_tool_has_no_history(tool):
    own = tool(stateful=True)
    for _ in range(3):
        own.learn({"price": 650}, args={})

    assert not own.signal("historical_inconsistency", {"price": 50}, args={}).applicable


def test_swing_limits_are_parameters(tool):
    own = tool(Reference(session_swing=3.0, history_swing=2.0))
    for _ in range(3):
        own.learn({"x": 10}, args={}, session="s")

    assert own.signal("session_inconsistency", {"x": 30}, session="s").fired
    assert not own.signal("session_inconsistency", {"x": 29}, session="s").fired
    assert own.signal("historical_inconsistency", {"x": 20}, args={}).fired
    assert not own.signal("historical_inconsistency", {"x": 19}, args={}).fired


def test_nested_numbers_are_compared_by_path(tool):
    own = tool()
    own.learn({"quote": {"price": 1}, "rows": [{"id": 1}, {"id": 3}]}, session="s")

    signal = own.signal("session_inconsistency", {"quote": {"price": 1}, "rows": [{"id": 300}]}, session="s")
    assert signal.detail.startswith("Field 'rows[].id': off by a factor of 150")


def test_details_quote_no_value_of_the_result(tool):
    own = tool()
    for _ in range(8):
        own.learn({"salary": 4_711}, args={}, session="s")

    signals = own.signals(own.case({"salary": 987_654_321}, args={}, session="s"))

    assert signals["historical_inconsistency"].fired
    assert signals["session_inconsistency"].fired
    assert not any("98765" in signal.detail or "4711" in signal.detail for signal in signals.values())
