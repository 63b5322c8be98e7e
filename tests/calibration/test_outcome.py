"""One calibration as a whole: what is changed, and that nothing is changed on too little."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentguard.calibration import Label, LabelSettings, Outcome, Wish, calibrate, proposal
from agentguard.errors import ConfigurationError
from agentguard.verification import VerificationEngine
from agentguard.verification._calibration import Calibration

from ..rows import over


def apply(found: Calibration) -> VerificationEngine:
    engine = VerificationEngine().calibrate(**found.everywhere)
    for tool, settings in found.tools.items():
        engine.calibrate(tool, **settings)
    return engine


def test_a_month_of_labels_improves_and_bounds(truth: Any, outcome: Outcome) -> None:
    assert outcome.fit is not None
    assert outcome.after is not None
    assert outcome.after.error < outcome.before.error / 2
    assert outcome.blocks.value is not None
    fresh = [call for call in truth.calls(30_000, 41) if not call.fabricated]
    blocked = sum(outcome.fit.posterior(call) >= outcome.blocks.value for call in fresh) / len(fresh)
    assert blocked <= outcome.wish.false_block_rate
    found = proposal(outcome)
    assert found is not None
    assert found.everywhere["block_at"] == outcome.blocks.value
    assert found.everywhere["max_false_block_rate"] == 0.01
    assert set(found.tools) == set(truth.tools)
    judged = apply(found).verify("orders", result={"n": 1}, learn=False)
    assert judged.prior == pytest.approx(found.tools["orders"]["prior"])


def test_the_share_that_is_fabricated_is_of_all_calls(truth: Any, outcome: Outcome) -> None:
    expected = sum(truth.tools.values()) / len(truth.tools)

    assert outcome.fabricated.low < expected < outcome.fabricated.high
    assert outcome.fabricated_labels / outcome.labels > 5 * expected
    assert outcome.tools[0].tool == "orders"


def test_too_few_labels_change_nothing_and_say_how_many_it_takes() -> None:
    labels = [Label("t", 0.05, False, nats={})] * 24 + [Label("t", 0.7, True, nats={})] * 4

    outcome = calibrate(labels)

    assert proposal(outcome) is None
    assert outcome.fit is None
    assert outcome.remarks == (
        "No accepted call was sampled for review: it is taken that all of them were reviewed.",
        "Priors and ratios stay as they are: a fit takes 30 labels with 5 of each kind, and there are 24 genuine and "
        "4 fabricated.",
        "block_at stays at 0.5: 24 genuine labels, even with none of them wrongly caught, show at 95% confidence no "
        "rate below 11.73%; 1.00% takes 299 that weigh alike.",
        "accept_below stays at 0.2: 24 genuine labels, even with none of them wrongly caught, show at 95% confidence "
        "no rate below 11.73%; 3.00% takes 99 that weigh alike.",
    )


def test_labels_on_suspects_alone_change_nothing() -> None:
    labels = [Label("t", 0.6, k % 2 == 0, verdict="flag", nats={}) for k in range(2_000)]

    outcome = calibrate(labels)

    assert proposal(outcome) is None
    assert outcome.remarks[0].startswith("No label is of an accepted call")
    assert len(outcome.remarks) == 4


def test_a_posterior_that_needs_no_mending_is_left_alone() -> None:
    """Of 100 calls at each posterior just as many are fabricated."""
    levels = (5, 15, 30, 60, 90)
    labels = [
        Label(f"t{k % 10}", level / 100, k < level, nats={}, prior=level / 100) for level in levels for k in range(100)
    ]
    labels = [label._replace(nats=None, prior=0.15) for label in labels]

    outcome = calibrate(labels)

    assert outcome.fit is None
    assert any("does not foretell labels better" in remark for remark in outcome.remarks)


def test_nothing_is_blocked_that_is_more_likely_genuine_unless_asked_for() -> None:
    labels = [Label("t", 0.01, False)] * 1_000

    outcome = calibrate(labels)

    assert outcome.blocks.value == 0.5
    assert "block_at is held at 0.5; the wish alone would let it be 0.15." in outcome.remarks
    assert calibrate(labels, Wish(least_block_at=0.2)).blocks.value == 0.2
    assert calibrate(labels, in_force=LabelSettings(block_at=0.3)).blocks.value == 0.3


def test_what_is_flagged_is_at_most_what_is_blocked(labels_of_a_month: list[Label]) -> None:
    found = proposal(calibrate(labels_of_a_month, Wish(0.01, 0.01)))

    assert found is not None
    assert found.everywhere["accept_below"] <= found.everywhere["block_at"]


def test_settings_in_force_stand_where_nothing_is_found(labels_of_a_month: list[Label]) -> None:
    before = Calibration(
        {"prior": 0.15, "likelihood_ratios": {"length_anomaly": 3.0}},
        {
            "elsewhere": {"block_at": 0.3, "likelihood_ratios": {"echo_mismatch": 10.0, "spc_anomaly": 2.0}},
            "orders": {"accept_below": 0.05},
        },
    )
    outcome = calibrate(labels_of_a_month, in_force=LabelSettings.of(before))

    found = proposal(outcome, before)

    assert found is not None
    assert outcome.fit is not None
    assert found.everywhere["likelihood_ratios"]["length_anomaly"] == 3.0
    elsewhere = found.tools["elsewhere"]
    assert (elsewhere["accept_below"], elsewhere["block_at"]) == (0.2, 0.3)
    weight = outcome.fit.everywhere.weights["echo_mismatch"]
    assert elsewhere["likelihood_ratios"] == {
        "echo_mismatch": pytest.approx(10.0**weight, abs=1e-3),
        "spc_anomaly": 2.0,
    }
    assert (found.tools["orders"]["accept_below"], found.tools["orders"]["block_at"]) == (0.05, 0.5)
    apply(found)


def test_labels_on_accepted_calls_that_nobody_sampled_are_left_out() -> None:
    """Somebody complained of an accepted call: that is no sample of accepted calls."""
    sampled = [Label("t", 0.05, False, 0.02)] * 3 + [Label("t", 0.7, True), Label("t", 0.1, True, verdict="flag")]
    complaints = [Label("t", 0.05, True), Label("t", 0.6, True, verdict="accept")]

    outcome = calibrate([*sampled, *complaints])

    assert outcome._replace(remarks=()) == calibrate(sampled)._replace(remarks=())
    assert outcome.remarks[0].startswith("Labels of accepted calls that no audit had sampled are left out, 2 of them")


def test_a_propensity_beyond_the_cap_is_remarked_on() -> None:
    remarks = calibrate([Label("t", 0.05, False, 0.001), Label("t", 0.7, True)]).remarks

    assert remarks[0] == "Figures lean to suspects: 1 labels stand for more calls than the 200 that one may."


@over(
    ("wish", "named"),
    [
        (Wish(0.0), "false_block_rate"),
        (Wish(1.0), "false_block_rate"),
        (Wish(0.05, 0.01), "false_flag_rate"),
        (Wish(confidence=95), "confidence"),
        (Wish(confidence=float("nan")), "confidence"),
    ],
)
def test_a_wish_that_cannot_be(wish: Wish, named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        calibrate([Label("t", 0.1, False)], wish)


def test_without_labels_there_is_nothing_to_say() -> None:
    with pytest.raises(ConfigurationError, match="no labels"):
        calibrate([])


def test_as_plain_data_it_is_json(outcome: Outcome) -> None:
    data = json.loads(json.dumps(outcome.as_dict()))

    assert data["labels"] == outcome.labels
    assert data["before"]["bins"][0]["observed"]["value"] < 0.1
    assert data["fit"]["everywhere"]["prior"]["labels"] == outcome.labels
