"""``passed`` is true, false or a fault; other fields are read where they are clear and else left out."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.convergence import parse_reply
from agentguard.convergence._reply import read_answer
from agentguard.errors import DataError

from ..rows import over


@over("value", ["true", "True", "yes", 1, 1.0, 0, [], {}, [True], "", None])
def test_only_true_is_true(value: Any) -> None:
    with pytest.raises(DataError, match="passed is"):
        read_answer({"passed": value})


def test_passed_must_be_there() -> None:
    with pytest.raises(DataError, match="passed is missing"):
        read_answer({"confidence": "high", "qualityScore": 100})


NO_SCORES = [
    pytest.param(0.9, "scale of 0 to 1", id="0.9"),
    pytest.param(0.001, "scale of 0 to 1", id="0.001"),
    pytest.param(1.0, "scale of 0 to 1", id="1.0"),
    pytest.param("0.9", "scale of 0 to 1", id="0.9 as text"),
    pytest.param("9/10", "no number", id="9/10"),
    pytest.param("85 out of 90", "no number", id="words"),
    pytest.param("8.5e1", "no number", id="an exponent as text"),
    pytest.param("٨٥", "no number", id="digits of another script"),
    pytest.param(True, "no number", id="true"),
    pytest.param([90], "no number", id="a list"),
    pytest.param(math.inf, "not finite", id="infinite"),
    pytest.param(math.nan, "not finite", id="no number"),
]


@over(("value", "note"), NO_SCORES)
def test_a_score_that_is_not_clear_is_left_out_and_noted(value: Any, note: str) -> None:
    reply = read_answer({"passed": True, "qualityScore": value, "categoryScores": {"SECURITY": value}})

    assert reply.passed
    assert (reply.quality_score, reply.category_scores["SECURITY"]) == (None, None)
    assert [name for name in ("qualityScore", "SECURITY") if any(name in n and note in n for n in reply.notes)] == [
        "qualityScore",
        "SECURITY",
    ]


@over(("value", "score"), [
        ("85", 85),
        ("85%", 85),
        (" 85 % ", 85),
        ("85/100", 85),
        ("85.5", 85.5),
        ("0", 0),
        ("1", 1),
        ("100%", 100),
        ("0.5%", 0.5),
    ])  # fmt: skip
def test_a_score_as_clear_text_is_read_and_noted(value: str, score: float) -> None:
    reply = read_answer({"passed": True, "qualityScore": value})

    assert reply.quality_score == score
    assert reply.notes == ("qualityScore was read from text",)


@over(("value", "score"), [(100.5, 100), (-1, 0), (-0.5, 0), (10**400, 100), ("101", 100), ("-5", 0), ("250%", 100)])
def test_a_score_out_of_range_is_read_as_the_nearest_and_noted(value: Any, score: float) -> None:
    reply = read_answer({"passed": True, "qualityScore": value})

    assert reply.quality_score == score
    assert reply.notes == ("qualityScore is not in 0 to 100",)


@over("value", [0, 0.0, 1, 1.5, 55, 99.9, 100, 100.0])
def test_score_that_is_one(value: float) -> None:
    reply = read_answer({"passed": True, "qualityScore": value})

    assert reply.quality_score == value
    assert reply.notes == ()


def test_what_is_missing_is_missing() -> None:
    reply = read_answer({"passed": False, "qualityScore": None, "categoryScores": {"SECURITY": None}})

    assert reply.quality_score is None
    assert set(reply.category_scores.values()) == {None}
    assert (reply.confidence, reply.evidence, reply.gaps) == ("uncertain", (), ())
    assert reply.more_rounds_recommended is True


@over(
    ("written", "confidence", "noted"),
    [("high", "high", False), ("HIGH", "high", True), (" Low\n", "low", True), ("sure", "uncertain", True),
     (0.9, "uncertain", True), ([], "uncertain", True), (None, "uncertain", False)])  # fmt: skip
def test_confidence_is_one_of_four_words(written: Any, confidence: str, noted: bool) -> None:
    reply = read_answer({"passed": False, "confidence": written})

    assert reply.confidence == confidence
    assert bool(reply.notes) is noted


@over(
    ("written", "texts"),
    [
        (["a", "b"], ("a", "b")),
        ("one point", ("one point",)),
        (["a", 7, {"point": "b"}], ("a", "7", '{"point": "b"}')),
        ("none", ()),
        ("N/A", ()),
        ({"a": 1}, ()),
        (7, ()),
    ],
)
def test_lists_of_texts(written: Any, texts: tuple[str, ...]) -> None:
    lists = dict.fromkeys(("evidence", "gaps", "recommendedFocusAreas"), written)
    reply = read_answer({"passed": True, "moreRoundsRecommended": True, **lists})

    assert (reply.evidence, reply.gaps, reply.recommended_focus_areas) == (texts, texts, texts)
    assert len(reply.notes) == (0 if written == ["a", "b"] else 3)


def test_no_other_field_makes_an_answer_void() -> None:
    reply = parse_reply(
        '{"passed": true, "reasoning": 7, "evidence": 5, "gaps": {}, "categoryScores": [90], "confidence": {},'
        ' "moreRoundsRecommended": "no"}'
    )
    names = [
        "reasoning",
        "moreRoundsRecommended",
        "confidence",
        "categoryScores",
        "evidence",
        "gaps",
    ]

    assert reply.passed
    assert [note.split()[0] for note in reply.notes] == names
    assert (reply.reasoning, reply.evidence, reply.gaps) == ("7", (), ())
    assert reply.more_rounds_recommended is False


@over(("written", "more"), [("false", False), ("True", True), (True, True), ("maybe", True), (0, True)])
def test_more_rounds(written: Any, more: bool) -> None:
    """What is not clear is the opposite of ``passed``."""
    assert read_answer({"passed": False, "moreRoundsRecommended": written}).more_rounds_recommended is more


@over(
    ("written", "reasoning", "noted"),
    [("deep", "deep", False), (5, "5", True), (["a"], '["a"]', True), (0, "No reasoning provided", True),
     ([], "No reasoning provided", True), ("", "No reasoning provided", False), (None, "No reasoning provided", False)],
)  # fmt: skip
def test_reasoning_that_is_no_text_is_its_json(written: Any, reasoning: str, noted: bool) -> None:
    reply = read_answer({"passed": True, "reasoning": written})

    assert reply.reasoning == reasoning
    assert bool(reply.notes) is noted


def test_categories_in_other_letters_are_read_and_noted() -> None:
    reply = read_answer({"passed": True, "categoryScores": {"Security": 40, "performance": 60, "PERFORMANCE": 70}})

    assert (reply.category_scores["SECURITY"], reply.category_scores["PERFORMANCE"]) == (40, 70)
    assert reply.notes == ("categoryScores has categories in other letters",)


@given(st.text(), st.sampled_from(["confidence", "reasoning", "evidence", "qualityScore", "gaps", "categoryScores"]))
def test_notes_quote_nothing(text: str, field: str) -> None:
    marked = f"xyzzy {text}"
    reply = read_answer({"passed": True, field: marked, "categoryScores": {marked: marked}})

    assert not any("xyzzy" in note for note in reply.notes)


def test_categories_are_the_callers() -> None:
    reply = read_answer({"passed": True, "categoryScores": {"PRIVACY": 40, "SECURITY": "?"}}, ("PRIVACY", "COST"))

    assert reply.category_scores == {"PRIVACY": 40, "COST": None}
