"""From the posterior to the verdict: the conformal bound and the thresholds."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.verification._decision import alarmed, false_block_p, verdict_of
from agentguard.verification.statistics import new_scores
from agentguard.verification.types import Settings, SignalResult, VerificationTier

SETTINGS = Settings(accept_below=0.2, block_at=0.5, max_false_block_rate=0.01)


def scores(*totals):
    record = new_scores()
    for total in totals:
        record.push(total)
    return record


class TestFalseBlockP:
    @pytest.mark.parametrize("total", [0.1, 1.0, 3.0, 7.0])
    def test_of_a_first_call_it_is_markovs_bound(self, total):
        # P(LR >= t | genuine) <= 1/t, and t = e^total.
        assert false_block_p(total, new_scores(), new_scores()) == pytest.approx(math.exp(-total))

    @pytest.mark.parametrize("total", [0.0, -0.5, -30.0])
    def test_evidence_for_the_call_is_no_ground_to_block(self, total):
        assert false_block_p(total, scores(1.0, 2.0), scores(3.0)) == 1.0

    def test_by_hand(self):
        # Over all tools: 2 of 4 calls at 3 nats and more, and 20 at Markov's bound; this tool: 1 of 3, which
        # is taken for a burst of three, and 20 as those.
        everywhere, tool = scores(-1.0, 0.5, 3.3, 5.0), scores(-1.0, 0.5, 5.0)
        overall = (2 + 20 * math.exp(-3.0)) / 24
        assert false_block_p(3.0, tool, everywhere) == pytest.approx((3 * 1 + 20 * overall) / 23)

    def test_a_tools_own_calls_outweigh_the_others_in_time(self):
        quiet, loud = scores(*[0.1] * 500), scores(*[6.0] * 500)
        assert false_block_p(5.0, quiet, loud) < 0.1
        assert false_block_p(5.0, loud, quiet) > 0.9

    @given(st.lists(st.floats(-30, 30), max_size=50), st.lists(st.floats(-30, 30), max_size=50), st.floats(-30, 30))
    def test_is_a_p_value_that_falls_with_the_evidence(self, own, others, total):
        tool, everywhere = scores(*own), scores(*others)
        p = false_block_p(total, tool, everywhere)
        assert 0.0 < p <= 1.0
        assert false_block_p(total + 0.5, tool, everywhere) <= p

    def test_of_genuine_calls_a_share_of_a_has_p_up_to_a(self):
        """Totals are i.i.d. and far above what Markov's bound allows: what was seen has to hold them back.

        As for ``Surprises``: the share is at most ``a + 2 (1 + 20 a) / W`` with W at least half the memory, and
        ``4 sqrt(a / N)`` for chance.
        """
        rng, tool, everywhere, calls = random.Random(3), new_scores(), new_scores(), 10_000
        seen = []
        for call in range(calls + 1_000):
            total = rng.gauss(0.0, 3.0)
            if call >= 1_000:
                seen.append(false_block_p(total, tool, everywhere))
            tool.push(total)
            everywhere.push(total)
        for a in (0.01, 0.05):
            share = sum(p <= a for p in seen) / calls
            assert share <= a + 2 * (1 + 20 * a) / (tool.MEMORY / 2) + 4 * math.sqrt(a / calls)


class TestVerdict:
    @pytest.mark.parametrize(
        ("posterior", "p", "verdict"),
        [
            (0.9, 0.001, "block"),
            (0.5, 0.01, "block"),  # both at their limits
            (0.4999, 0.001, "flag"),
            (0.9, 0.0101, "flag"),  # genuine calls look like this too often to block
            (0.2, 0.001, "flag"),
            (0.9, 1.0, "flag"),
            (0.4, 0.01, "flag"),
            (0.4, 0.0101, "accept"),  # too often to flag, at so low a posterior
            (0.1999, 0.0, "accept"),
            (0.0, 1.0, "accept"),
        ],
    )
    def test_needs_the_posterior_and_the_share(self, posterior, p, verdict):
        assert verdict_of(posterior, p, False, SETTINGS) == verdict

    @pytest.mark.parametrize(
        ("posterior", "verdict"), [(0.5, "block"), (0.49, "flag"), (0.2, "flag"), (0.19, "accept")]
    )
    def test_a_broken_declaration_needs_the_posterior_only(self, posterior, verdict):
        assert verdict_of(posterior, 1.0, True, SETTINGS) == verdict

    def test_without_a_bound_the_posterior_decides(self):
        free = Settings(accept_below=0.2, block_at=0.5, max_false_block_rate=1.0)
        assert [verdict_of(x, 1.0, False, free) for x in (0.1, 0.3, 0.6)] == ["accept", "flag", "block"]

    @given(*[st.floats(0, 1)] * 4, st.booleans())
    def test_more_suspicion_is_never_a_milder_verdict(self, one, other, p, other_p, broken):
        order = ["accept", "flag", "block"]
        mild = verdict_of(min(one, other), max(p, other_p), False, SETTINGS)
        harsh = verdict_of(max(one, other), min(p, other_p), broken, SETTINGS)
        assert order.index(harsh) >= order.index(mild)


class TestAlarmed:
    """A chart's bound on its own false alarms stands for what the chart says, and for nothing that is louder."""

    @staticmethod
    def chart(score=1.0):
        return {"spc_anomaly": SignalResult("spc_anomaly", True, True, score, 3.0, None, VerificationTier.TIER_1, "")}

    def test_where_nothing_is_louder(self):
        assert alarmed(self.chart(), {"spc_anomaly": 1.1, "moved_value": 0.9})

    def test_where_something_is_louder(self):
        assert not alarmed(self.chart(), {"spc_anomaly": 0.4, "moved_value": 0.9})

    def test_an_alarm_that_does_not_count(self):
        assert not alarmed(self.chart(), {"moved_value": 0.9})

    def test_a_chart_that_is_merely_odd(self):
        assert not alarmed(self.chart(score=0.9), {"spc_anomaly": 1.1})

    def test_no_chart(self):
        assert not alarmed({}, {})
