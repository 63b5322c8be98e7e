"""How signals become a posterior: more evidence against a call never lowers it, no evidence never moves it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agentguard.verification import SignalResult, ToolCall, ToolProfile, VerificationTier
from agentguard.verification._arguments import Arguments
from agentguard.verification._calibrated import Calibrated
from agentguard.verification._case import Case
from agentguard.verification._contract import Contract
from agentguard.verification._document import read
from agentguard.verification._method import Decision, Method
from agentguard.verification._reference import Reference
from agentguard.verification.types import Settings

METHODS: dict[str, Callable[[], Method]] = {"calibrated": Calibrated, "reference": Reference}
ORDER = ("accept", "flag", "block")
both_methods = pytest.mark.parametrize("mode", METHODS)


class Tool:
    """A warm tool of one method: real signals of any call, and what the method makes of any signals."""

    def __init__(self, mode: str) -> None:
        self.method = METHODS[mode]()
        self.memory = self.method.new_memory("tool")
        self.contract = Contract(
            ToolProfile(
                name="get_weather",
                expected_latency_ms=(50, 5000),
                required_fields=("temperature",),
                response_patterns=('"city"',),
                min_response_length=20,
            )
        )
        for number in range(60):
            city = f"City {number % 9}"
            result = {"city": city, "temperature": 10.0 + number % 13, "humidity": 40 + number % 31}
            case = self.case(ToolCall("get_weather", {"city": city}, result, 180.0 + number % 17, "monday"))
            signals = self.signals(case)
            self.method.learn(case, signals, self.method.decide(case, 0.15, signals))

    def case(self, call: ToolCall) -> Case:
        return Case(call, read(call.result), self.contract, self.memory, Settings(), Arguments(call.args))

    def signals(self, case: Case) -> dict[str, SignalResult]:
        return {check.name: check(case) for _, checks in self.method.tiers for check in checks}

    def decide(self, case: Case, prior: float, signals: dict[str, SignalResult]) -> Decision:
        return self.method.decide(case, prior, signals)


TOOLS = {mode: Tool(mode) for mode in METHODS}
GENUINE = {"city": "City 3", "temperature": 13.5, "humidity": 50}

results = st.sampled_from(
    [
        GENUINE,
        {"city": "City 3"},
        {**GENUINE, "city": "City 4"},
        {**GENUINE, "temperature": 9e9},
        {**GENUINE, "mock": True},
        '{"city": "City 3", "temper',
        "It is sunny.",
        "Error: no such city",
        "",
        [GENUINE],
    ]
)
calls = st.builds(
    ToolCall,
    tool=st.just("get_weather"),
    args=st.sampled_from([{"city": "City 3"}, {"city": "City 77"}, None]),
    result=results,
    execution_time_ms=st.sampled_from([None, 0.3, 30.0, 187.0, 4_000.0, 1e6]),
    session_id=st.sampled_from([None, "monday"]),
)
priors = st.floats(1e-6, 1 - 1e-6)
names = st.sampled_from(sorted({name for tool in TOOLS.values() for name in tool.signals(tool.case(ToolCall("t")))}))
ratios = st.floats(1e-3, 1e3)


@both_methods
@given(call=calls, prior=priors, name=names, ratio=ratios, more=st.floats(1.0, 1e3), score=st.floats(1e-6, 1.0))
def test_a_signal_that_says_more_against_the_call_never_lowers_the_posterior(
    mode: str, call: ToolCall, prior: float, name: str, ratio: float, more: float, score: float
) -> None:
    """All else of a real set of signals left as it is, one fires with some ratio, and with a larger one."""
    tool = TOOLS[mode]
    case = tool.case(call)
    signals = tool.signals(case)
    assume(name in signals)
    fired = signals[name]._replace(applicable=True, fired=True, score=score, detail="set")
    less = tool.decide(case, prior, {**signals, name: fired._replace(likelihood_ratio=ratio)})
    larger = tool.decide(case, prior, {**signals, name: fired._replace(likelihood_ratio=ratio * more)})

    assert larger.posterior >= less.posterior or larger.posterior == pytest.approx(less.posterior, rel=1e-12)
    assert ORDER.index(larger.verdict) >= ORDER.index(less.verdict)


@both_methods
@given(call=calls, prior=priors, name=names, ratio=st.floats(1.0, 1e3), score=st.floats(1e-6, 1.0))
def test_a_signal_that_fires_never_speaks_for_the_call(
    mode: str, call: ToolCall, prior: float, name: str, ratio: float, score: float
) -> None:
    """Against the same signal not applying: a ratio of 1 and more is evidence against, or none."""
    tool = TOOLS[mode]
    case = tool.case(call)
    signals = tool.signals(case)
    assume(name in signals)
    silent = signals[name]._replace(applicable=False, fired=False, score=0.0, likelihood_ratio=1.0, p_value=None)
    fires = silent._replace(applicable=True, fired=True, score=score, likelihood_ratio=ratio)

    without = tool.decide(case, prior, {**signals, name: silent}).posterior
    against = tool.decide(case, prior, {**signals, name: fires}).posterior

    assert against >= without or against == pytest.approx(without, rel=1e-12)


@given(call=calls, prior=priors, name=names, score=st.floats(0.0, 1.0), more=st.floats(0.0, 1.0))
def test_a_higher_score_never_lowers_the_posterior_of_the_reference(
    call: ToolCall, prior: float, name: str, score: float, more: float
) -> None:
    """There the score scales a fixed ratio above 1; from silent to fired is such a step too."""
    tool = TOOLS["reference"]
    case = tool.case(call)
    signals = tool.signals(case)
    assume(name in signals)
    posteriors = []
    for strength in sorted((score, more)):
        signal = signals[name]._replace(applicable=True, fired=strength > 0.0, score=strength)
        if signal.likelihood_ratio == 1.0:
            signal = signal._replace(likelihood_ratio=3.0)
        posteriors.append(tool.decide(case, prior, {**signals, name: signal}).posterior)

    assert posteriors == sorted(posteriors)


@both_methods
@given(call=calls, prior=priors, name=names, tier=st.sampled_from(VerificationTier), group=st.text(max_size=9))
def test_a_signal_that_does_not_apply_changes_nothing(
    mode: str, call: ToolCall, prior: float, name: str, tier: VerificationTier, group: str
) -> None:
    """Whether it replaces a silent one of no evidence, joins the others under a new name, or is left out."""
    tool = TOOLS[mode]
    case = tool.case(call)
    signals = tool.signals(case)
    kept = {other: signal for other, signal in signals.items() if other != name}
    decided = tool.decide(case, prior, kept)

    for label, kind in ((name, group), ("another", group), ("another", "form"), ("another", "past")):
        abstaining = SignalResult.abstain(label, tier, "not configured", kind)
        assert tool.decide(case, prior, {**kept, label: abstaining})[:2] == decided[:2]
        assert tool.decide(case, prior, {label: abstaining, **kept})[:2] == decided[:2]


@both_methods
@given(call=calls, prior=priors)
def test_without_evidence_the_posterior_is_the_prior(mode: str, call: ToolCall, prior: float) -> None:
    tool = TOOLS[mode]
    case = tool.case(call)
    silent = {name: signal._replace(applicable=False, fired=False, score=0.0, likelihood_ratio=1.0, p_value=None)
              for name, signal in tool.signals(case).items()}  # fmt: skip

    for signals in ({}, silent):
        assert tool.decide(case, prior, signals).posterior == pytest.approx(prior, rel=1e-12)


@both_methods
@given(call=calls, one=priors, other=priors)
def test_a_higher_prior_never_lowers_posterior_or_verdict(mode: str, call: ToolCall, one: float, other: float) -> None:
    tool = TOOLS[mode]
    case = tool.case(call)
    signals = tool.signals(case)
    low, high = (tool.decide(case, prior, signals) for prior in sorted((one, other)))

    assert low.posterior <= high.posterior
    assert ORDER.index(low.verdict) <= ORDER.index(high.verdict)


extreme = st.builds(
    SignalResult,
    name=st.just("any"),
    applicable=st.just(True),
    fired=st.booleans(),
    score=st.floats(0.0, 1.0),
    likelihood_ratio=st.floats(5e-324, 1.7e308),
    p_value=st.none() | st.floats(5e-324, 1.0),
    tier=st.sampled_from(VerificationTier),
    detail=st.just("any"),
    group=st.sampled_from(["", "form", "past"]),
)


@both_methods
@given(call=calls, prior=st.floats(5e-324, 1 - 2**-53), values=st.lists(extreme, max_size=12))
def test_the_most_extreme_signals_still_give_a_probability(
    mode: str, call: ToolCall, prior: float, values: list[SignalResult]
) -> None:
    tool = TOOLS[mode]
    signals: dict[str, Any] = {f"any {number}": signal for number, signal in enumerate(values)}

    decided = tool.decide(tool.case(call), prior, signals)

    assert 0.0 <= decided.posterior <= 1.0
    assert decided.verdict in ORDER
    assert all(math.isfinite(nats) for nats in decided.contributions.values())
    assert decided.false_block_p is None or 0.0 < decided.false_block_p <= 1.0
