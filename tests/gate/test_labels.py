"""Labels of claims: recorded with their run, drawn by lot, and turned into the risk of each verdict."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gate.test_pipeline import CONFIG, Books, services

from agentguard.errors import ConfigurationError
from agentguard.gate._config import LabelRisks, RiskTolerance, parse_config
from agentguard.gate._labels import ClaimLabel, claim_labels, label_claims, reliability, to_be_labelled
from agentguard.gate._run import GateRun, evaluate, read_run, score_verdicts
from agentguard.gate._types import ClaimVerdict, Reason

from ..rows import over

VERDICTS = ("supported", "weakly_supported", "unsupported")


def labels(verdict: str, right: int, wrong: int) -> list[ClaimLabel]:
    answers = [True] * right + [False] * wrong
    return [ClaimLabel("r", f"{verdict}{number}", verdict, "rules", holds) for number, holds in enumerate(answers)]  # type: ignore[arg-type]


@pytest.fixture
def books() -> Books:
    return Books()


@pytest.fixture
def run(books: Books) -> GateRun:
    """Two claims, one supported and one not, of each of two prompts."""
    return evaluate(parse_config(CONFIG), services(books))


def test_labels_are_kept_with_their_run_and_the_last_one_counts(run: GateRun, books: Books) -> None:
    first, second = (verdict.claim_id for verdict in run.state.verdicts[:2])

    label_claims(run.run_id, {first: False, second: True}, books)
    label_claims(run.run_id, {first: True}, books)

    found = claim_labels(run.run_id, books)
    assert [(label.claim_id, label.holds) for label in found] == [(first, True), (second, True)]
    assert [label.verdict for label in found] == [verdict.label for verdict in run.state.verdicts[:2]]
    assert read_run(run.run_id, books).state.score == run.state.score  # they change no run


def test_a_claim_that_the_run_has_not_is_refused_with_all_others(run: GateRun, books: Books) -> None:
    with pytest.raises(ConfigurationError, match=f"run {run.run_id} has no claim 'p9.c9'"):
        label_claims(run.run_id, {run.state.verdicts[0].claim_id: True, "p9.c9": True}, books)

    assert claim_labels(run.run_id, books) == []


def test_claims_of_an_unfinished_run_are_not_labelled(run: GateRun, books: Books) -> None:
    books.save(replace(run.summary, status="failed"))

    with pytest.raises(ConfigurationError, match="is failed: only claims of a finished run"):
        label_claims(run.run_id, {}, books)


def test_what_is_drawn_is_of_every_verdict_the_same_each_time_and_not_labelled_yet(run: GateRun, books: Books) -> None:
    drawn = to_be_labelled(run, 1)
    again = to_be_labelled(run, 1)

    assert drawn == again
    assert sorted(verdict.label for _, verdict in drawn) == sorted({each.label for each in run.state.verdicts})
    done = [ClaimLabel(run.run_id, claim.id, verdict.label, "rules", True) for claim, verdict in drawn]
    others = to_be_labelled(run, 1, done)
    assert [verdict.label for _, verdict in others] == [verdict.label for _, verdict in drawn]
    assert {claim.id for claim, _ in others}.isdisjoint(claim.id for claim, _ in drawn)
    done += [ClaimLabel(run.run_id, claim.id, verdict.label, "rules", True) for claim, verdict in others]
    assert to_be_labelled(run, 1, done) == []


def test_the_risk_of_a_verdict_is_what_labels_and_four_labels_of_the_formula_say() -> None:
    rows = reliability([*labels("supported", 16, 0), *labels("weakly_supported", 6, 10), *labels("unsupported", 4, 12)])

    assert [row.risk for row in rows] == [0 / 20, (10 + 2) / 20, (12 + 4) / 20]
    assert [(row.labelled, row.wrong) for row in rows] == [(16, 0), (16, 10), (16, 12)]
    # Wilson's interval for 10 of 16, from its formula with z = 1.95996.
    assert (rows[1].low, rows[1].high) == pytest.approx((0.3864, 0.8152), abs=1e-4)


def test_without_labels_it_is_the_published_formula() -> None:
    assert [row.risk for row in reliability([])] == [0.0, 0.5, 1.0]


def test_a_better_verdict_that_is_oftener_wrong_is_pooled_with_the_worse_one() -> None:
    rows = reliability([*labels("supported", 0, 16), *labels("weakly_supported", 16, 0)])

    assert [row.risk for row in rows] == [pytest.approx((16 + 2) / 40), pytest.approx((16 + 2) / 40), 1.0]


@given(st.lists(st.tuples(st.sampled_from(VERDICTS), st.booleans()), max_size=60))
def test_risks_are_shares_in_order_that_a_configuration_takes(given: list[tuple[str, bool]]) -> None:
    rows = reliability(
        ClaimLabel("r", f"c{number}", verdict, "rules", holds)  # type: ignore[arg-type]
        for number, (verdict, holds) in enumerate(given)
    )

    taken = LabelRisks(**{row.verdict: row.risk for row in rows})
    assert 0.0 <= taken.supported <= taken.weakly_supported <= taken.unsupported <= 1.0


@over("counts", list(product((0, 1, 3), repeat=3)))
def test_a_run_s_risk_is_the_mean_of_its_claims_risks(counts: tuple[int, int, int]) -> None:
    risks = LabelRisks(supported=0.05, weakly_supported=0.4, unsupported=0.9)
    why = (Reason("overlap", "so many words"),)
    verdicts = [
        ClaimVerdict(f"{label}{number}", label, why, None, "", "rules")  # type: ignore[arg-type]
        for label, count in zip(VERDICTS, counts, strict=True)
        for number in range(count)
    ]

    score = score_verdicts(verdicts, RiskTolerance(label_risks=risks))

    supported, weakly, unsupported = counts
    wanted = (0.05 * supported + 0.4 * weakly + 0.9 * unsupported) / sum(counts) if any(counts) else 0.0
    assert score.risk == pytest.approx(wanted)


def test_risks_out_of_order_are_refused() -> None:
    with pytest.raises(ValueError, match="supported <= weakly_supported <= unsupported"):
        LabelRisks(supported=0.6)
