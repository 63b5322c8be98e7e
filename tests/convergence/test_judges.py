"""Several judges: more than half of all, or all; one that fails is among them and against. Sync and async."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agentguard.convergence import ConvergenceConfig, ConvergenceContext, ConvergenceEvaluation, Issue, aevaluate

Session = Callable[..., ConvergenceContext]
Judge = Callable[..., Awaitable[ConvergenceEvaluation]]
Scripted = Callable[..., Any]
Answer = Callable[..., str]


def panel(votes: str, scripted: Scripted, answer: Answer) -> list[Any]:
    """One judge a letter: y passes, n does not, x fails."""
    replies = {"y": answer(), "n": answer(passed=False, gaps=["depth"]), "x": RuntimeError("down")}
    return [scripted(replies[vote]) for vote in votes]


@pytest.mark.parametrize(
    ("votes", "majority", "unanimous"),
    [
        ("y", True, True),
        ("n", False, False),
        ("yy", True, True),
        ("yn", False, False),
        ("yyn", True, False),
        ("ynn", False, False),
        ("yyx", True, False),
        ("yxx", False, False),
        ("yynn", False, False),
        ("yyyn", True, False),
        ("yyy", True, True),
        ("xxx", False, False),
    ],
)
async def test_votes(
    judge: Judge,
    session: Session,
    scripted: Scripted,
    answer: Answer,
    votes: str,
    majority: bool,
    unanimous: bool,
) -> None:
    most = await judge(session(), judges=panel(votes, scripted, answer))
    every = await judge(session(), judges=panel(votes, scripted, answer), agreement="unanimous")

    assert (most.passed, every.passed) == (majority, unanimous)


@pytest.mark.parametrize("agreement", ["majority", "unanimous"])
async def test_no_number_of_judges_overrules_a_veto(
    judge: Judge, session: Session, scripted: Scripted, answer: Answer, agreement: str
) -> None:
    open_door = session(issues=(Issue("I1", "CRITICAL", "SECURITY"),))
    veto = ConvergenceConfig(rules="veto")
    told = await judge(open_door, None, veto, judges=panel("yyyyy", scripted, answer), agreement=agreement)

    assert not told.passed
    assert told.accord == "rules_veto"


async def test_opinions_are_joined(judge: Judge, session: Session, scripted: Scripted, answer: Answer) -> None:
    judges = [
        scripted(answer(qualityScore=60, confidence="high", evidence=["a", "b"], categoryScores={"SECURITY": 10})),
        scripted(answer(qualityScore=90, confidence="medium", evidence=["b"], categoryScores={"SECURITY": 20})),
        scripted(answer(passed=False, confidence="low", qualityScore=None, categoryScores=None, gaps=["depth"])),
    ]
    told = await judge(session(), judges=judges)

    assert told.passed
    assert told.confidence == "medium"
    assert told.evidence == ("a", "b", "the lock is taken before the read")
    assert told.quality_score == 75
    assert told.category_scores["SECURITY"] == 15
    assert told.category_scores["CORRECTNESS"] is None
    assert told.gaps == ("depth",)
    assert told.reasoning.splitlines()[:2] == [
        "2 of 3 judges pass the session; more than half must.",
        "judge 1: Every path was followed.",
    ]
    assert [opinion.passed for opinion in told.opinions] == [True, True, False]


@pytest.mark.parametrize(
    ("votes", "confidences", "joined"),
    [
        ("nn", ("high", "uncertain"), "uncertain"),
        ("ny", ("high", "low"), "high"),
        ("nx", ("high", ""), "low"),
    ],
)
async def test_confidence_is_that_of_the_least_sure(
    judge: Judge,
    session: Session,
    scripted: Scripted,
    answer: Answer,
    votes: str,
    confidences: tuple[str, ...],
    joined: str,
) -> None:
    replies = [
        RuntimeError("down") if vote == "x" else answer(passed=vote == "y", confidence=confidence)
        for vote, confidence in zip(votes, confidences, strict=True)
    ]
    told = await judge(session(), judges=[scripted(reply) for reply in replies])

    assert told.confidence == joined


async def test_a_judge_that_fails_is_named(judge: Judge, session: Session, scripted: Scripted, answer: Answer) -> None:
    told = await judge(session(), judges=panel("yyx", scripted, answer))

    assert told.passed
    assert told.gaps == ("LLM evaluation unavailable",)
    assert "judge 3: LLM evaluation failed: down. Defaulting to conservative evaluation." in told.reasoning
    assert told.recommended_focus_areas == ()


async def test_judges_are_asked_at_the_same_time(session: Session, answer: Answer) -> None:
    """Each waits for the other: one after the other they would wait for ever."""
    here = [asyncio.Event(), asyncio.Event()]

    class Meeting:
        def __init__(self, number: int) -> None:
            self.number = number

        async def ainvoke(self, messages: Any) -> str:
            here[self.number].set()
            await here[1 - self.number].wait()
            return answer()

    told = await asyncio.wait_for(aevaluate(session(), judges=[Meeting(0), Meeting(1)]), timeout=60)

    assert told.passed


async def test_one_judge_for_all_seats_is_asked_as_often(
    judge: Judge, session: Session, scripted: Scripted, answer: Answer
) -> None:
    model = scripted(answer(), answer(), answer())
    told = await judge(session(), judges=[model] * 3)

    assert told.passed
    assert len(model.asked) == 3
