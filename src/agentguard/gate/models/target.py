"""The model under test: a chat model, or any function that answers a prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from agentguard.content._text import encodable
from agentguard.errors import GateError
from agentguard.gate.models.asking import ChatModel, Question, ask_all, check_concurrency
from agentguard.gate.models.failures import describe_failure
from agentguard.gate.types import Prompt

__all__ = ["CallableTarget", "ModelTarget"]


class ModelTarget:
    """A chat model of LangChain's as the model under test. Each prompt is a conversation of its own.

    Args:
        model: the model.
        name: what records and reports call it.
        max_concurrency: how many requests are under way at once.
    """

    def __init__(self, model: ChatModel, name: str, max_concurrency: int = 8) -> None:
        self._model = model
        self._name = name
        self._max_concurrency = check_concurrency(max_concurrency)

    @property
    def name(self) -> str:
        """What records and reports call it."""
        return self._name

    def respond(self, prompts: Sequence[Prompt]) -> list[str]:
        """The answers, one a prompt, in their order; an answer without text is empty.

        Raises:
            GateError: naming the first prompt that was not answered, and why.
        """
        questions = [Question(f"prompt {prompt.id}", prompt.text) for prompt in prompts]
        return ask_all(self._model, self._name, questions, self._max_concurrency)


class CallableTarget:
    """A function as the model under test.

    Args:
        call: takes a prompt's text and returns the answer; None counts as an empty answer.
        name: what records and reports call it.
        max_concurrency: how many calls are under way at once, each in a thread of its own; 1 calls one by one.

    >>> CallableTarget(str.upper, "shouting").respond([Prompt("p1", "Which?"), Prompt("p2", "Why?")])
    ['WHICH?', 'WHY?']
    """

    def __init__(self, call: Callable[[str], str | None], name: str = "callable", max_concurrency: int = 1) -> None:
        self._call = call
        self._name = name
        self._max_concurrency = check_concurrency(max_concurrency)

    @property
    def name(self) -> str:
        """What records and reports call it."""
        return self._name

    def respond(self, prompts: Sequence[Prompt]) -> list[str]:
        """The answers, one a prompt, in their order.

        Raises:
            GateError: naming the first prompt whose call raised, or returned what is no text.
        """
        if self._max_concurrency == 1:
            return [self._answer(prompt) for prompt in prompts]
        with ThreadPoolExecutor(self._max_concurrency) as pool:
            return list(pool.map(self._answer, prompts))

    def _answer(self, prompt: Prompt) -> str:
        try:
            answer = self._call(prompt.text)
        except Exception as error:  # whatever a function of the user's may raise
            why = describe_failure(error, (prompt.text,))
            raise GateError(f"{self._name} did not answer prompt {prompt.id}: {why}") from None
        if answer is None:
            return ""
        if not isinstance(answer, str):
            raise GateError(f"{self._name} answered prompt {prompt.id} with {type(answer).__name__}, which is no text")
        return encodable(answer)
