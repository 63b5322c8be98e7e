"""Fits: golden values by another optimiser, truth recovered from labels on suspects, and bounds that hold."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize
from scipy.special import expit

from agentguard.calibration import Label, LabelSettings, cross_posteriors, fit
from agentguard.verification._calibration import Calibration

Audit = Callable[[list[Label], float, int], list[Label]]


def log_odds(p: float) -> float:
    return math.log(p / (1 - p))


def test_without_labels_everything_stays() -> None:
    found = fit([])

    assert found.everywhere.prior.value == pytest.approx(0.15)
    assert not found.everywhere.ratios
    assert not found.tools


def test_the_prior_of_few_labels_by_another_way() -> None:
    """One of ten labels without evidence is fabricated: the slope of the objective in a vanishes at the prior."""
    labels = [Label("t", 0.15, k == 0, nats={}) for k in range(10)]
    a = brentq(lambda a: 10 * expit(a) - 1 + (a - log_odds(0.15)), -10, 10)

    found = fit(labels).everywhere.prior

    assert found.value == pytest.approx(expit(a), abs=1e-6)
    reach = 1.959964 / math.sqrt(10 * expit(a) * (1 - expit(a)) + 1)
    assert (found.low, found.high) == pytest.approx((expit(a - reach), expit(a + reach)), abs=1e-5)


def test_a_label_counts_for_its_calls_and_all_together_for_their_effective_number() -> None:
    """Two genuine audits of weight 50 and two fabricated suspects: 102² / 5002 = 2.08 labels, 1 in 51 fabricated."""
    labels = [Label("t", 0.15, False, 0.02, {})] * 2 + [Label("t", 0.15, True, 1.0, {})] * 2
    effective = 102**2 / 5002
    a = brentq(lambda a: effective * (expit(a) - 2 / 102) + (a - log_odds(0.15)), -10, 10)

    assert fit(labels).everywhere.prior.value == pytest.approx(expit(a), abs=1e-6)


def test_a_weight_of_a_signal_by_another_optimiser() -> None:
    """40 labels of two tools, too few for anything of their own: two values, found anew without derivatives."""
    rng = random.Random(3)
    labels = []
    for k in range(38):
        nats = rng.choice([-0.4, 0.6, 2.2])
        fabricated = rng.random() < expit(-1.5 + 0.5 * nats)
        labels.append(Label(f"tool {k % 2}", 0.2, bool(fabricated), nats={"echo_mismatch": nats}))
    x = np.array([label.nats["echo_mismatch"] for label in labels if label.nats])
    y = np.array([label.fabricated for label in labels], dtype=float)

    def objective(v: Any) -> float:
        eta = v[0] + v[1] * x
        loss = np.sum(np.log1p(np.exp(eta)) - y * eta)
        return float(loss + (v[0] - log_odds(0.15)) ** 2 / 2 + ((v[1] - 1) / 0.25) ** 2 / 2)

    first = minimize(objective, [0.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).x
    weight = first[1]
    a = brentq(lambda a: np.sum(expit(a + weight * x) - y) + a - log_odds(0.15), -10, 10)

    found = fit(labels).everywhere
    assert found.weights == {"echo_mismatch": pytest.approx(weight, abs=1e-4)}
    assert found.ratios["echo_mismatch"].value == pytest.approx(16.0**weight, rel=1e-3)
    assert found.prior.value == pytest.approx(expit(a), abs=1e-4)


def test_weights_and_priors_are_recovered_from_labels_on_suspects(truth: Any, audit: Audit) -> None:
    """From 60,000 calls with 2% of the accepted ones reviewed: weights within .12, priors within .5 nats of the truth.

    About .12: what is shrunk towards 1 by N(1, .25²), and three standard errors.
    """
    found = fit(audit(truth.calls(60_000, 11), 0.02, 12))

    for name, (_, _, weight) in truth.signals.items():
        for tool in ("orders", "weather"):
            assert found.tools[tool].weights[name] == pytest.approx(weight, abs=0.12), (tool, name)
    for tool, prior in truth.tools.items():
        assert abs(log_odds(found.tools[tool].prior.value) - log_odds(prior)) < 0.5, tool
        assert found.tools[tool].prior.low < prior < found.tools[tool].prior.high


def overconfident(audit: Audit, seed: int) -> tuple[list[Label], list[Label]]:
    """Calls whose evidence is worth two thirds of what the guard takes it for below zero, a third of it above.

    Only posteriors are known, so that no weight of a signal can mend that. All calls, and the reviewed ones.
    """
    rng = random.Random(seed)
    calls = []
    for _ in range(40_000):
        evidence = rng.gauss(-1.0, 1.6)
        worth = evidence * (2 / 3 if evidence < 0 else 1 / 3)
        posterior = float(expit(log_odds(0.15) + evidence))
        verdict = "accept" if posterior < 0.2 else "flag"
        calls.append(Label("t", posterior, rng.random() < expit(-3.0 + worth), verdict=verdict, prior=0.15))
    return calls, audit(calls, 0.05, seed)


def test_weighing_labels_by_the_calls_they_stand_for_matters(audit: Audit) -> None:
    """The mean posterior after the fit is the share that is fabricated; without weights it is a third off and more."""
    off, off_unweighted = [], []
    for seed in (21, 22, 23):
        calls, labels = overconfident(audit, seed)
        share = sum(call.fabricated for call in calls) / len(calls)
        weighted, unweighted = fit(labels), fit([label._replace(propensity=1.0) for label in labels])
        off.append(sum(map(weighted.posterior, calls)) / len(calls) / share - 1.0)
        off_unweighted.append(sum(map(unweighted.posterior, calls)) / len(calls) / share - 1.0)

    assert max(map(abs, off)) < 0.15, off
    assert min(map(abs, off_unweighted)) > 0.3, off_unweighted


def test_a_tool_has_its_own_only_from_enough_labels_on() -> None:
    nats = {"echo_mismatch": 1.0}
    many = [Label("many", 0.3, k % 3 == 0, nats=nats) for k in range(100)]
    some = [Label("some", 0.3, k % 3 == 0, nats=nats) for k in range(20)]
    few = [Label("few", 0.3, k % 3 == 0, nats=nats) for k in range(19)]
    one_kind = [Label("one kind", 0.3, k < 9, nats=nats) for k in range(100)]

    found = fit([*many, *some, *few, *one_kind])

    assert set(found.tools) == {"many", "some", "one kind"}
    assert set(found.tools["many"].ratios) == {"echo_mismatch"}
    assert not found.tools["some"].ratios
    assert not found.tools["one kind"].ratios


def test_a_signal_that_hardly_spoke_or_is_not_known_stays_as_it_is() -> None:
    labels = [
        Label("t", 0.3, k % 2 == 0, nats={"echo_mismatch": 2.0 if k < 9 else 0.0, "future": 1.0}) for k in range(50)
    ]
    labels = [label._replace(nats={name: x for name, x in (label.nats or {}).items() if x}) for label in labels]

    found = fit(labels)

    assert not found.everywhere.ratios
    a = log_odds(fit(labels).tools["t"].prior.value)
    assert log_odds(found.posterior(labels[0])) == pytest.approx(a + 3.0)


def test_it_goes_on_from_what_was_in_force() -> None:
    """Half the labels with the signal are fabricated, as evidence of -logit(prior) says: nothing is to be moved."""
    in_force = LabelSettings.of(Calibration({"prior": 0.05, "likelihood_ratios": {"echo_mismatch": 19.0}}))
    labels = [Label("t", 0.5, k % 2 == 0, nats={"echo_mismatch": math.log(19.0)}) for k in range(10)]

    found = fit(labels, in_force).everywhere

    assert found.prior.value == pytest.approx(0.05, abs=1e-4)
    assert found.ratios["echo_mismatch"].value == pytest.approx(19.0, abs=1e-2)


_label = st.builds(
    Label,
    st.sampled_from(["a", "b"]),
    st.floats(0, 1),
    st.booleans(),
    st.sampled_from([1.0, 0.02]),
    st.none() | st.dictionaries(st.sampled_from(["echo_mismatch", "length_anomaly", "?"]), st.floats(-30, 30)),
    st.none() | st.floats(0.001, 0.999),
)


@given(st.lists(st.tuples(_label, st.integers(1, 60)), max_size=6), st.sampled_from([0.01, 0.15, 0.6]))
def test_whatever_the_labels_values_stay_within_their_bounds(runs: list[tuple[Label, int]], prior: float) -> None:
    in_force = LabelSettings(prior=prior)
    found = fit([label for label, times in runs for _ in range(times)], in_force)

    for one in (found.everywhere, *found.tools.values()):
        assert min(0.001, prior) - 1e-9 <= one.prior.value <= max(0.45, prior) + 1e-9
        for estimate in (one.prior, *one.ratios.values()):
            assert estimate.low <= estimate.value * (1 + 1e-9)
            assert estimate.value <= estimate.high * (1 + 1e-9)
        assert all(1.05 - 1e-9 <= ratio.value <= 22.0 + 1e-9 for ratio in one.ratios.values())
    assert all(0.0 < found.posterior(label) < 1.0 for label, _ in runs)


def test_one_more_fabricated_label_never_lowers_the_prior() -> None:
    labels = [Label("t", 0.15, k % 7 == 0, nats={}) for k in range(30)]
    priors = [fit(labels + [Label("t", 0.15, True, nats={})] * k).tools["t"].prior.value for k in range(5)]

    assert priors == sorted(priors)
    assert priors[0] < priors[-1]


def test_cross_posteriors_have_not_seen_their_label() -> None:
    """Each label has a tool's worth of company; the one that differs is foretold as the others are."""
    labels = [Label("t", 0.15, k == 0, nats={}) for k in range(100)]

    crossed = cross_posteriors(labels)

    assert crossed[0] < min(crossed[1:]) + 1e-9
    assert crossed == cross_posteriors(labels)
    assert cross_posteriors([]) == []


def test_a_fit_foretells_calls_to_come(truth: Any, labels_of_a_month: list[Label]) -> None:
    """On 20,000 new calls the mean surprise falls by more than a tenth, and no less than cross-validation had said."""
    found = fit(labels_of_a_month)
    fresh = truth.calls(20_000, 31)

    def loss(posteriors: list[float], labels: list[Label]) -> float:
        total = sum(label.weight for label in labels)
        each = zip(posteriors, labels, strict=True)
        return -sum(w.weight * math.log(p if w.fabricated else 1 - p) for p, w in each) / total

    before = loss([label.posterior for label in fresh], fresh)
    after = loss(list(map(found.posterior, fresh)), fresh)
    foretold = loss(cross_posteriors(labels_of_a_month), labels_of_a_month)
    assert after < 0.9 * before
    assert after == pytest.approx(foretold, rel=0.25)
