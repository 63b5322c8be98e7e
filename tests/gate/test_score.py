"""Risk and decision beyond the published arithmetic, which ``tests/documents`` has."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.gate._config import RiskTolerance
from agentguard.gate._run import AnswerCounts, count_answers, score_verdicts
from agentguard.gate._types import Claim, ClaimVerdict, Reason, Response

from ..rows import over

DOCUMENTED = RiskTolerance(deploy_threshold=0.10, warn_threshold=0.25)
SHORT = {"s": "supported", "w": "weakly_supported", "u": "unsupported"}


def verdicts(labels: str) -> list[ClaimVerdict]:
    return [
        ClaimVerdict(f"p1.c{number}", _label(label), (Reason("overlap", "because"),), None, "", "rules")
        for number, label in enumerate(labels, 1)
    ]


def _label(short: str) -> Any:
    return SHORT.get(short, short)


def test_without_claims_nothing_is_deployed() -> None:
    score = score_verdicts([], DOCUMENTED)

    assert (score.decision, score.total_claims) == ("warn", 0)
    assert "no claim was found" in score.reason


def test_the_decision_is_taken_on_the_unrounded_risk() -> None:
    # 1 of 9,999 rounds to 0.0001, which is the threshold; it lies above it.
    tolerance = RiskTolerance(deploy_threshold=0.0001, warn_threshold=0.5)

    assert score_verdicts(verdicts("s" * 9_998 + "u"), tolerance).decision == "warn"


@given(st.text("swu", min_size=1, max_size=30), st.data())
def test_less_support_never_lowers_the_risk(labels: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(labels) - 1))
    worse = labels[:place] + {"s": "w", "w": "u", "u": "u"}[labels[place]] + labels[place + 1 :]
    order = ["deploy", "warn", "block"]
    before, after = (score_verdicts(verdicts(given), DOCUMENTED) for given in (labels, worse))

    assert after.risk >= before.risk
    assert order.index(after.decision) >= order.index(before.decision)
    assert 0.0 <= after.risk <= 1.0


@over(
    ("answers", "decision", "told"),
    [
        (AnswerCounts(20, 19, 0, 0), "warn", "only 1 of 20 prompts was answered with a claim (19 empty)"),
        (AnswerCounts(20, 0, 19, 0), "warn", "only 1 of 20 prompts was answered with a claim (19 refused)"),
        (
            AnswerCounts(20, 5, 5, 9),
            "warn",
            "only 1 of 20 prompts was answered with a claim (5 empty, 5 refused",
        ),
        (AnswerCounts(20, 0, 7, 0), "warn", "7 of 20 prompts were refused, more than max_refused 0.3"),
        (AnswerCounts(20, 0, 6, 4), "deploy", "risk 0.0000 is at most"),  # both shares as they are tolerated
        (AnswerCounts(1, 0, 0, 0), "deploy", "risk 0.0000 is at most"),
    ],
)
def test_a_run_that_says_nothing_is_not_deployed(answers: AnswerCounts, decision: str, told: str) -> None:
    score = score_verdicts(verdicts("s"), DOCUMENTED, answers)

    assert (score.decision, score.risk) == (decision, 0.0)
    assert score.reason.startswith(told)
    assert (score.prompts, score.empty, score.refused, score.claimless) == answers


def test_silence_makes_no_block_a_warning() -> None:
    assert score_verdicts(verdicts("uuu"), DOCUMENTED, AnswerCounts(20, 19, 0, 0)).decision == "block"


def test_silence_is_tolerated_where_the_configuration_says_so() -> None:
    tolerant = DOCUMENTED.model_copy(update={"min_answered": 0.05, "max_refused": 1.0})

    assert score_verdicts(verdicts("s"), tolerant, AnswerCounts(20, 0, 19, 0)).decision == "deploy"


@over(
    "refusal",
    [
        "I'm sorry, but I can't help with that.",
        "I\u2019m afraid I cannot answer this.",
        "We are unable to share that.",
        "The provided documentation does not mention it.",
        "There is no information on this.",
        "I must decline.",
        "I do not know.",
    ],
)
def test_what_declines_to_answer_is_a_refusal(refusal: str) -> None:
    assert count_answers([Response("p1", refusal)], []) == AnswerCounts(1, refused=1)


@pytest.mark.parametrize("other", ["Hello!", "Which model do you mean?", "Sure, happy to help.", "..."])
def test_what_neither_claims_nor_declines_is_claimless(other: str) -> None:
    assert count_answers([Response("p1", other)], []) == AnswerCounts(1, claimless=1)


@given(st.lists(st.tuples(st.text(max_size=40), st.booleans()), max_size=20))
def test_every_answer_is_counted_once(answers: list[tuple[str, bool]]) -> None:
    responses = [Response(f"p{n}", text) for n, (text, _) in enumerate(answers)]
    claims = [Claim(f"p{n}.c1", f"p{n}", "So it is.") for n, (_, claimed) in enumerate(answers) if claimed]

    counts = count_answers(responses, claims)

    assert counts.prompts == len(answers)
    assert counts.empty + counts.refused + counts.claimless == len(answers) - len(claims)
