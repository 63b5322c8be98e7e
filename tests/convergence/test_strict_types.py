"""Every field of an answer is of its own type or a fault; what is missing is missing."""

import math
from typing import Any

import pytest

from agentguard.convergence import parse_reply
from agentguard.convergence._reply import read_answer
from agentguard.errors import DataError


@pytest.mark.parametrize("value", ["true", "True", "yes", 1, 1.0, 0, [], {}, [True], "", None])
def test_only_true_is_true(value: Any) -> None:
    with pytest.raises(DataError, match="passed is"):
        read_answer({"passed": value})


def test_passed_must_be_there() -> None:
    with pytest.raises(DataError, match="passed is missing"):
        read_answer({"confidence": "high", "qualityScore": 100})


SCORES = [
    pytest.param(0.9, "scale of 0 to 1", id="0.9"),
    pytest.param(0.001, "scale of 0 to 1", id="0.001"),
    pytest.param(1.0, "scale of 0 to 1", id="1.0"),
    pytest.param("90", "no number", id="text"),
    pytest.param("90%", "no number", id="90%"),
    pytest.param("9/10", "no number", id="9/10"),
    pytest.param(True, "no number", id="true"),
    pytest.param([90], "no number", id="a list"),
    pytest.param(100.5, "not in 0 to 100", id="above"),
    pytest.param(-1, "not in 0 to 100", id="below"),
    pytest.param(math.inf, "not in 0 to 100", id="infinite"),
    pytest.param(math.nan, "not in 0 to 100", id="no number"),
    pytest.param(10**400, "not in 0 to 100", id="too large for a float"),
]


@pytest.mark.parametrize(("value", "fault"), SCORES)
def test_score_that_is_none(value: Any, fault: str) -> None:
    with pytest.raises(DataError, match=f"qualityScore .*{fault}"):
        read_answer({"passed": True, "qualityScore": value})
    with pytest.raises(DataError, match=f"SECURITY .*{fault}"):
        read_answer({"passed": True, "categoryScores": {"SECURITY": value}})


@pytest.mark.parametrize("value", [0, 0.0, 1, 1.5, 55, 99.9, 100, 100.0])
def test_score_that_is_one(value: float) -> None:
    assert read_answer({"passed": True, "qualityScore": value}).quality_score == value


def test_what_is_missing_is_missing() -> None:
    reply = read_answer({"passed": False, "qualityScore": None, "categoryScores": {"SECURITY": None}})

    assert reply.quality_score is None
    assert set(reply.category_scores.values()) == {None}
    assert (reply.confidence, reply.evidence, reply.gaps) == ("uncertain", (), ())
    assert reply.more_rounds_recommended is True


@pytest.mark.parametrize(
    ("said", "read"), [("high", "high"), ("HIGH", "uncertain"), (0.9, "uncertain"), ([], "uncertain")]
)
def test_confidence_is_one_of_four_words(said: Any, read: str) -> None:
    assert read_answer({"passed": False, "confidence": said}).confidence == read


def test_all_faults_are_named_at_once() -> None:
    with pytest.raises(DataError) as caught:
        parse_reply(
            '{"passed": "true", "reasoning": 7, "evidence": "all", "gaps": [1], "categoryScores": [90],'
            ' "moreRoundsRecommended": "no", "recommendedFocusAreas": {}}'
        )
    names = (
        "passed",
        "reasoning",
        "evidence",
        "gaps",
        "categoryScores",
        "moreRoundsRecommended",
        "recommendedFocusAreas",
    )

    assert [name for name in names if f"{name} is" not in str(caught.value)] == []


def test_more_rounds_written_as_text() -> None:
    assert read_answer({"passed": False, "moreRoundsRecommended": "false"}).more_rounds_recommended is False


def test_categories_are_the_callers() -> None:
    reply = read_answer({"passed": True, "categoryScores": {"PRIVACY": 40, "SECURITY": "?"}}, ("PRIVACY", "COST"))

    assert reply.category_scores == {"PRIVACY": 40, "COST": None}
