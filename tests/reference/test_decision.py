import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import ConfigurationError
from agentguard.verification._reference import Reference
from agentguard.verification.types import SignalResult, VerificationTier

NAMES = [check.name for _, checks in Reference().tiers for check in checks]
RATIOS = st.floats(min_value=1.0, max_value=1e300)
PRIORS = st.floats(min_value=1e-12, max_value=1.0, exclude_max=True)


def signal(name, score, ratio):
    return SignalResult(name, True, score > 0.0, score, ratio, None, VerificationTier.TIER_0, "")


def silent_or_abstaining(name):
    return st.one_of(
        st.builds(signal, st.just(name), st.floats(0.0, 1.0), RATIOS),
        st.just(SignalResult.abstain(name, VerificationTier.TIER_0, "7 of 8 calls")),
    )


SIGNALS = st.fixed_dictionaries({name: silent_or_abstaining(name) for name in NAMES})


def posterior(tool, prior, signals):
    own = tool()
    return own.method.decide(own.case(None), prior, signals).posterior


@given(SIGNALS, st.sampled_from(NAMES), RATIOS, st.floats(0.0, 1.0), st.floats(0.0, 1.0), PRIORS)
def test_posterior_rises_with_each_score(tool, signals, name, ratio, one, other, prior):
    low, high = sorted((one, other))

    below = posterior(tool, prior, {**signals, name: signal(name, low, ratio)})
    above = posterior(tool, prior, {**signals, name: signal(name, high, ratio)})

    assert below <= above * (1 + 1e-12)
    assert 0.0 <= below <= 1.0
    assert 0.0 <= above <= 1.0


@given(SIGNALS, st.sampled_from(NAMES), PRIORS)
def test_inapplicable_signals_change_nothing(tool, signals, name, prior):
    absent = {other: found for other, found in signals.items() if other != name}
    abstaining = {**absent, name: SignalResult.abstain(name, VerificationTier.TIER_1, "no session given")}
    own = tool()

    assert posterior(tool, prior, abstaining) == posterior(tool, prior, absent)
    assert own.method.decide(own.case(None), prior, abstaining).contributions[name] == 0.0


@given(SIGNALS, st.floats(min_value=1e-6, max_value=0.999999))
def test_contributions_sum_to_the_posterior(tool, signals, prior):
    own = tool()

    decision = own.method.decide(own.case(None), prior, signals)

    log_odds = math.log(prior / (1 - prior)) + sum(decision.contributions.values())
    assert decision.posterior == pytest.approx(1 / (1 + math.exp(-log_odds)) if log_odds > -700 else 0.0)


@pytest.mark.parametrize("ratio", [5e-324, 1e-300, 1.0, 1e300, 1.7e308])
@pytest.mark.parametrize("score", [0.0, 1e-300, 0.5, 1.0])
def test_no_ratio_breaks_the_sum(tool, ratio, score):
    found = posterior(tool, 0.15, {name: signal(name, score, ratio) for name in NAMES})

    assert 0.0 <= found <= 1.0


@pytest.mark.parametrize("verdict", ["accept", "flag"])
def test_what_was_not_blocked_is_learned(tool, verdict):
    own = tool()
    decision = own.method.decide(own.case({"x": 1}), 0.15, {})._replace(verdict=verdict)

    own.method.learn(own.case({"x": 1}), {}, decision)

    assert own.memory.calls == 1


def test_blocked_results_never_enter_the_baseline(tool):
    own = tool()
    blocked = own.method.decide(own.case({"x": 1}), 0.9, {})
    assert blocked.verdict == "block"

    own.method.learn(own.case({"x": 1}, args={}, ms=5.0, session="s"), {}, blocked)

    assert (own.memory.calls, own.memory.latency.n, own.memory.size.n, len(own.memory.fields)) == (0, 0, 0, 0)
    assert own.memory.session("s") == ()


def test_trusted_results_are_learned_whatever_was_said(tool):
    own = tool()
    blocked = own.method.decide(own.case({"x": 1}), 0.9, {})

    own.method.learn(own.case({"x": 1}), {}, blocked, trusted=True)

    assert own.memory.calls == 1


@pytest.mark.parametrize("factor", [1.0, 0.0, -3.0, math.nan])
def test_a_swing_is_a_factor_above_one(factor):
    with pytest.raises(ConfigurationError, match="session_swing must be a factor above 1"):
        Reference(session_swing=factor)
    with pytest.raises(ConfigurationError, match="history_swing must be a factor above 1"):
        Reference(history_swing=factor)
