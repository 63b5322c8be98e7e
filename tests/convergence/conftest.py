"""Sessions that meet every rule unless told otherwise, and chat models that answer as scripted."""

import inspect
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from agentguard.convergence import ConvergenceContext, ConvergenceEvaluation, aevaluate, evaluate


class ScriptedModel(BaseChatModel):
    """Gives its replies in turn and the last one again and again, raising exceptions, and keeps what it was asked."""

    replies: list[Any]
    asked: list[list[BaseMessage]] = Field(default_factory=list)
    settings: list[dict[str, Any]] = Field(default_factory=list)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.asked.append(messages)
        self.settings.append({name: kwargs[name] for name in ("temperature", "max_tokens") if name in kwargs})
        reply = self.replies[min(len(self.asked), len(self.replies)) - 1]
        if isinstance(reply, BaseException):
            raise reply
        message = reply if isinstance(reply, AIMessage) else AIMessage(reply)
        return ChatResult(generations=[ChatGeneration(message=message)])

    @property
    def _llm_type(self) -> str:
        return "scripted"


@pytest.fixture
def scripted() -> Callable[..., ScriptedModel]:
    return lambda *replies: ScriptedModel(replies=list(replies))


@pytest.fixture
def scripted_model() -> type[ScriptedModel]:
    """The class, for tests that give it further abilities."""
    return ScriptedModel


@pytest.fixture
def answer() -> Callable[..., str]:
    """A reply in the form that is asked for: an unreserved pass, with changes."""

    def write(**changes: Any) -> str:
        full = {
            "passed": True,
            "confidence": "high",
            "reasoning": "Every path was followed.",
            "evidence": ["the lock is taken before the read"],
            "qualityScore": 88,
            "categoryScores": {
                "SECURITY": 90,
                "CORRECTNESS": 85,
                "RELIABILITY": 80,
                "MAINTAINABILITY": 75,
                "PERFORMANCE": 70,
            },
            "gaps": [],
            "moreRoundsRecommended": False,
            "recommendedFocusAreas": [],
        }
        return json.dumps({**full, **changes})

    return write


@pytest.fixture
def session() -> Callable[..., ConvergenceContext]:
    """A session that meets every rule, with changes."""

    def build(**changes: Any) -> ConvergenceContext:
        whole: dict[str, Any] = {
            "requirements": "No token may reach the log.",
            "target_files": ("login.py", "log.py"),
            "current_round": 3,
            "all_outputs": "Examined: security, correctness, reliability, maintainability, performance.",
            "stable_rounds": 2,
        }
        return ConvergenceContext(**{**whole, **changes})

    return build


@pytest.fixture(params=[evaluate, aevaluate], ids=["sync", "async"])
def judge(request: pytest.FixtureRequest) -> Callable[..., Awaitable[ConvergenceEvaluation]]:
    """``evaluate`` and ``aevaluate`` behind one face."""

    async def call(*args: Any, **kwargs: Any) -> ConvergenceEvaluation:
        told = request.param(*args, **kwargs)
        result: ConvergenceEvaluation = await told if inspect.isawaitable(told) else told
        return result

    return call
