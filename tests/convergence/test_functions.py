"""Sampling functions: what they return, where they run, and what of them fails. Sync and async."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from agentguard.convergence import (
    ConvergenceConfig,
    ConvergenceContext,
    ConvergenceEvaluation,
    SamplingRequest,
    evaluate,
)

Session = Callable[..., ConvergenceContext]
Judge = Callable[..., Awaitable[ConvergenceEvaluation]]
Answer = Callable[..., str]

REPLIES = [
    pytest.param(lambda text: text, id="text"),
    pytest.param(lambda text: {"content": text}, id="content as text"),
    pytest.param(lambda text: {"content": {"text": text}}, id="content with a text"),
    pytest.param(lambda text: {"content": [{"type": "text", "text": text}]}, id="content blocks"),
    pytest.param(lambda text: SimpleNamespace(content=text), id="an object"),
    pytest.param(lambda text: SimpleNamespace(content=SimpleNamespace(type="text", text=text)), id="MCP's result"),
    pytest.param(
        lambda text: SimpleNamespace(
            content=[SimpleNamespace(type="thinking", text="{"), SimpleNamespace(type="text", text=text)]
        ),
        id="a thought first",
    ),
    pytest.param(json.loads, id="the evaluation itself"),
]


@pytest.mark.parametrize("reply", REPLIES)
async def test_replies(judge: Judge, session: Session, answer: Answer, reply: Callable[[str], Any]) -> None:
    async def sample(request: SamplingRequest) -> Any:
        return reply(answer())

    for function in (sample, lambda request: reply(answer())):
        told = await judge(session(), function)

        assert told.passed
        assert told.quality_score == 88


@pytest.mark.parametrize("nothing", [None, 7, {"content": None}, {"content": {"type": "image", "data": ""}}, [], b"{}"])
async def test_replies_without_text(judge: Judge, session: Session, nothing: Any) -> None:
    told = await judge(session(), lambda request: nothing)

    assert not told.passed
    assert told.gaps == ("Response parsing failed",)


async def test_a_function_is_asked_again(judge: Judge, session: Session, answer: Answer) -> None:
    prompts = []

    async def sample(request: SamplingRequest) -> str:
        prompts.append(request.messages[0]["content"]["text"])
        return "?" if len(prompts) == 1 else answer()

    assert (await judge(session(), sample)).asked_again == 1
    assert prompts[1].startswith(f"{prompts[0]}\n\nYour last reply")


async def test_settings_left_to_the_function(judge: Judge, session: Session, answer: Answer) -> None:
    settings = []

    def sample(request: SamplingRequest) -> str:
        settings.append((request.max_tokens, request.temperature))
        return answer()

    await judge(session(), sample, ConvergenceConfig(max_tokens=None, temperature=None))

    assert settings == [(None, None)]


@pytest.mark.parametrize("timeout_s", [60, None])
async def test_an_async_function_is_run_beside_a_running_event_loop(
    judge: Judge, session: Session, answer: Answer, timeout_s: float | None
) -> None:
    async def sample(request: SamplingRequest) -> str:
        return await asyncio.get_running_loop().run_in_executor(None, answer)

    assert (await judge(session(), sample, ConvergenceConfig(timeout_s=timeout_s))).passed


async def test_an_object_that_can_be_called_is_a_function(judge: Judge, session: Session, answer: Answer) -> None:
    class Client:
        async def __call__(self, request: SamplingRequest) -> str:
            return answer()

    assert (await judge(session(), Client())).passed


async def test_a_function_that_cancels_itself(judge: Judge, session: Session) -> None:
    async def sample(request: SamplingRequest) -> str:
        raise asyncio.CancelledError

    told = await judge(session(), sample)

    assert told.opinions[0].fault == "the model cancelled its own call"


async def test_models_and_functions_judge_together(
    judge: Judge, session: Session, scripted: Callable[..., Any], answer: Answer
) -> None:
    judges = [scripted(answer()), lambda request: answer(), lambda request: answer(passed=False)]
    told = await judge(session(), judges=judges, run_config={"tags": ["audit"]})

    assert [opinion.passed for opinion in told.opinions] == [True, True, False]
    assert told.passed


def test_what_ends_the_program_is_no_failure_of_the_function(session: Session) -> None:
    def sample(request: SamplingRequest) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(session(), sample)
