"""The worst calls: which they are, and the sum that each rests on."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.report._charts import bars_of
from agentguard.report._records import ReportData, WorstCall
from agentguard.report._tallies import Worst, steps_of
from agentguard.verification.statistics import log_odds
from agentguard.verification.types import Verdict


def call(number: int, verdict: Verdict, posterior: float, tool: str = "search") -> WorstCall:
    return WorstCall(number, "", tool, "", "", verdict, 0.15, posterior, None, (), 0.0, (), "", "", None)


def kept(calls: list[WorstCall], most: int) -> list[int]:
    worst = Worst(most)
    for one in calls:
        worst.push(one.verdict, one.posterior, one.number, lambda: one)  # noqa: B023 - made at once
    return [one.number for one in worst.calls()]


def test_blocked_before_flagged_before_posterior_before_time() -> None:
    calls = [
        call(1, "flag", 0.99, "a"), call(2, "block", 0.6, "b"), call(3, "block", 0.9, "c"), call(4, "accept", 0.4),
        call(5, "block", 0.9, "d"),
    ]  # fmt: skip

    assert kept(calls, 10) == [3, 5, 2, 1]
    assert kept(calls, 2) == [3, 5]


def test_one_tool_does_not_take_all_places() -> None:
    calls = [call(k, "block", 0.99, "loud") for k in range(1, 9)] + [call(9, "flag", 0.3, "quiet")]

    assert kept(calls, 4) == [1, 2, 3, 9]
    assert kept(calls, 6) == [1, 2, 3, 4, 5, 9]  # what is left goes to whoever is worst


def test_accepted_calls_are_shown_where_nothing_else_is() -> None:
    calls = [call(k, "accept", k / 100) for k in range(1, 9)]

    assert kept(calls, 10) == [8, 7, 6]
    assert kept([*calls, call(9, "flag", 0.01)], 10) == [9]
    assert kept(calls, 0) == []


def test_a_record_is_made_only_of_what_is_kept() -> None:
    made: list[int] = []
    worst = Worst(1)
    for number in range(1, 101):
        one = call(number, "flag", 1.0 - number / 1_000)
        worst.push(one.verdict, one.posterior, number, lambda: made.append(one.number) or one)  # type: ignore[func-returns-value]  # noqa: B023 - made at once, and counted

    assert made == [1, 2, 3, 4]


def test_steps_sum_to_the_posterior_by_hand() -> None:
    # Odds of 1 to 4, times 12, times 3, over 1.2: 7.5 to 1.
    nats = {"latency_anomaly": math.log(3.0), "schema_mismatch": math.log(12.0), "pattern_mismatch": -math.log(1.2)}
    steps, remainder = steps_of(0.2, 7.5 / 8.5, nats, {})

    assert [step.signal for step in steps] == ["schema_mismatch", "latency_anomaly", "pattern_mismatch"]
    assert [step.running for step in steps] == [pytest.approx(x) for x in (math.log(3.0), math.log(9.0), math.log(7.5))]
    assert remainder == pytest.approx(0.0, abs=1e-12)


def test_what_bounds_the_posterior_is_a_bar_of_its_own() -> None:
    steps, remainder = steps_of(0.5, 0.9, {"echo_mismatch": 10.0}, {})
    one = call(1, "block", 0.9)._replace(prior=0.5, steps=steps, remainder=remainder)

    assert [bar.name for bar in bars_of(one)] == [
        "prior 0.500", "echo_mismatch", "bound on the posterior", "posterior 0.900"
    ]  # fmt: skip
    assert remainder == pytest.approx(math.log(9.0) - 10.0)


def test_a_certain_posterior_is_drawn_as_far_as_its_steps_go() -> None:
    steps, remainder = steps_of(0.5, 1.0, {"echo_mismatch": 10.0}, {})

    assert remainder == 0.0
    assert bars_of(call(1, "block", 1.0)._replace(prior=0.5, steps=steps))[-1].after == 10.0


def test_the_bars_of_judged_calls_sum_from_prior_to_posterior(shop: ReportData) -> None:
    assert len(shop.worst) >= 2
    for one in shop.worst:
        inner = bars_of(one)[1:-1]
        assert sum(bar.nats for bar in inner) == pytest.approx(log_odds(one.posterior) - log_odds(one.prior), abs=1e-6)


@given(
    st.floats(0.001, 0.999),
    st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), st.floats(-3.0, 3.0), max_size=4),
)
def test_bars_sum_to_the_difference_of_the_log_odds(prior: float, nats: dict[str, float]) -> None:
    total = log_odds(prior) + math.fsum(nats.values())
    posterior = 1.0 / (1.0 + math.exp(-total))
    steps, remainder = steps_of(prior, posterior, nats, {})
    bars = bars_of(call(1, "flag", posterior)._replace(prior=prior, steps=steps, remainder=remainder))

    assert sum(bar.nats for bar in bars[1:-1]) == pytest.approx(total - log_odds(prior), abs=0.006)
    assert bars[-1].after == pytest.approx(total, abs=1e-6)
    for before, after in pairwise(bars[:-1]):
        assert after.before == before.after  # each begins where the one above it ends
