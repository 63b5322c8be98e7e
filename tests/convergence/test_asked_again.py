"""A judge whose answer cannot be read is asked once more, and told why in words of our own. Sync and async."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.convergence import ConvergenceConfig, ConvergenceContext, ConvergenceEvaluation, aevaluate, evaluate

Session = Callable[..., ConvergenceContext]
Judge = Callable[..., Awaitable[ConvergenceEvaluation]]
Scripted = Callable[..., Any]
Answer = Callable[..., str]


async def test_a_second_answer_that_can_be_read_counts(
    judge: Judge, session: Session, scripted: Scripted, answer: Answer
) -> None:
    model = scripted("I pass it.", answer())
    told = await judge(session(), model)

    assert told.passed
    assert (told.asked_again, told.opinions[0].asked) == (1, 2)
    assert told.as_dict()["asked_again"] == 1


async def test_the_second_request_says_what_was_wrong(
    judge: Judge, session: Session, scripted: Scripted, answer: Answer
) -> None:
    model = scripted('{"passed": "yes"}', answer())
    await judge(session(), model)
    first, second = ([message.content for message in messages] for messages in model.asked)

    assert second[0] == first[0]
    assert second[1].startswith(first[1])
    assert second[1].removeprefix(first[1]) == (
        "\n\nYour last reply to this request could not be used: the answer is not as asked for: passed is neither true "
        "nor false. Answer the request again, with one complete JSON object in\nthe form above and nothing else."
    )


async def test_there_is_no_third_request(judge: Judge, session: Session, scripted: Scripted, answer: Answer) -> None:
    model = scripted("?", "??", answer())
    told = await judge(session(), model)

    assert not told.passed
    assert len(model.asked) == 2
    assert (told.asked_again, told.accord) == (1, "no_model")


@pytest.mark.parametrize(("attempts", "passed"), [(1, False), (2, False), (3, True)])
async def test_attempts_can_be_set(
    judge: Judge, session: Session, scripted: Scripted, answer: Answer, attempts: int, passed: bool
) -> None:
    model = scripted("?", "??", answer())
    told = await judge(session(), model, ConvergenceConfig(attempts=attempts))

    assert told.passed is passed
    assert len(model.asked) == attempts


async def test_a_clear_answer_is_asked_for_once(
    judge: Judge, session: Session, scripted: Scripted, answer: Answer
) -> None:
    """A veto is an answer, and so is one with sloppy scores."""
    for reply in (answer(passed=False), answer(qualityScore="85%", evidence="one")):
        model = scripted(reply)
        told = await judge(session(), model)

        assert len(model.asked) == 1
        assert told.asked_again == 0


async def test_a_model_that_fails_is_not_asked_again(judge: Judge, session: Session, scripted: Scripted) -> None:
    """Retries of a connection are the client's own."""
    model = scripted(RuntimeError("down"))
    told = await judge(session(), model)

    assert len(model.asked) == 1
    assert told.opinions[0].fault == "down"


async def test_each_judge_is_counted(judge: Judge, session: Session, scripted: Scripted, answer: Answer) -> None:
    told = await judge(session(), judges=[scripted("?", answer()), scripted(answer()), scripted("?")])

    assert [opinion.asked for opinion in told.opinions] == [2, 1, 2]
    assert told.asked_again == 2
    assert told.passed


async def test_the_time_limit_is_for_both_requests(session: Session) -> None:
    class Slow:
        def __init__(self) -> None:
            self.asked = 0

        async def ainvoke(self, messages: Any) -> str:
            self.asked += 1
            if self.asked == 2:
                await asyncio.Event().wait()
            return "?"

    told = await aevaluate(session(), Slow(), ConvergenceConfig(timeout_s=0.5))

    assert told.opinions[0].fault == "no reply within 0.5 s"
    assert told.opinions[0].asked == 2


class Remembering:
    """Answers with one text, and keeps what it was asked."""

    def __init__(self, reply: str) -> None:
        self.reply = reply
        self.asked: list[str] = []

    def invoke(self, messages: Any) -> str:
        self.asked.append(messages[1]["content"])
        return self.reply


HOSTILE = st.sampled_from(
    ["xyzzy", '{{"passed": {}}}', '{{"passed": true, "{}": {}', "<think>{}", '{{"{}": NaN, "passed": 1}}']
)


# A text with a closing brace may complete the object, and a reply that can be read is the last.
UNCLOSED = st.text(st.characters(exclude_characters="}"), max_size=20)


@given(HOSTILE, UNCLOSED)
def test_nothing_of_the_first_reply_comes_into_the_second_request(form: str, text: str) -> None:
    context = ConvergenceContext("review", ("a.py",), 3, "all looked at", stable_rounds=2)
    model = Remembering(form.replace("{}", f"xyzzy{text}").replace("{{", "{").replace("}}", "}"))
    evaluate(context, model, ConvergenceConfig(timeout_s=None))

    assert len(model.asked) == 2
    assert "xyzzy" not in model.asked[1]
