"""Puts questions to a chat model, many at once, and takes the answers in the order of the questions.

Models are known by their batch call: nothing of their framework is imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from agentguard.content._text import encodable
from agentguard.errors import ConfigurationError, GateError
from agentguard.gate.models.failures import describe_failure

__all__ = ["ChatModel", "Question", "ask_all", "check_concurrency", "text_of"]

ROUNDS = 16
"""A batch has this many requests for each that may be under way: after a failure no further batch is sent."""


class ChatModel(Protocol):
    """What is asked of a model: any chat model of LangChain's has it."""

    def batch(self, inputs: list[Any], config: Any = None, *, return_exceptions: bool = False) -> list[Any]:
        """Answers or exceptions, in the order of the inputs."""


class Question(NamedTuple):
    """One request.

    Attributes:
        subject: what it is about, for messages: ``prompt p3``.
        user: the text that is sent.
        system: the instructions that go before it; none where it is empty.
    """

    subject: str
    user: str
    system: str = ""

    def messages(self) -> list[dict[str, str]]:
        """The request as chat messages, with all that UTF-8 cannot say replaced."""
        system = [{"role": "system", "content": encodable(self.system)}] if self.system else []
        return [*system, {"role": "user", "content": encodable(self.user)}]


def ask_all(model: ChatModel, name: str, questions: Sequence[Question], max_concurrency: int) -> list[str]:
    """The answers, in the order of the questions.

    Args:
        model: who is asked.
        name: what messages call it.
        questions: each is a conversation of its own.
        max_concurrency: how many requests are under way at once, at least 1.

    Raises:
        GateError: naming the first question that was not answered, and why.
    """
    answers: list[str] = []
    size = max_concurrency * ROUNDS
    for start in range(0, len(questions), size):
        part = questions[start : start + size]
        try:
            got = model.batch(
                [question.messages() for question in part],
                config={"max_concurrency": max_concurrency},
                return_exceptions=True,
            )
        except Exception as error:  # of a model that does not keep to return_exceptions
            raise GateError(f"{name} did not answer {_told(part)}: {_why(error, part[0])}") from None
        if len(got) != len(part):
            raise GateError(f"{name} gave {len(got)} answers to {len(part)} requests: its batch call is broken")
        failed = [number for number, answer in enumerate(got) if isinstance(answer, BaseException)]
        if failed:
            first, others = failed[0], len(failed) - 1
            more = f"; {others} more of the requests sent together with it failed too" if others else ""
            why = _why(got[first], part[first])
            raise GateError(f"{name} did not answer {part[first].subject}: {why}{more}")
        answers += [encodable(text_of(answer)) for answer in got]
    return answers


def text_of(answer: Any) -> str:
    """The text of a message, of its content blocks without those that hold thoughts, or of nothing at all: empty.

    >>> text_of([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Thirty "}, "days."])
    'Thirty days.'
    >>> text_of(None)
    ''
    """
    content = getattr(answer, "content", answer)
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, Sequence) and not isinstance(content, bytes) else ()
    return "".join(block if isinstance(block, str) else _block_text(block) for block in blocks)


def check_concurrency(max_concurrency: int) -> int:
    """The number itself.

    Raises:
        ConfigurationError: where it is no number of requests.
    """
    if isinstance(max_concurrency, bool) or not isinstance(max_concurrency, int) or max_concurrency < 1:
        raise ConfigurationError(f"max_concurrency must be a whole number of at least 1, not {max_concurrency!r}")
    return max_concurrency


def _block_text(block: Any) -> str:
    if isinstance(block, Mapping) and block.get("type", "text") == "text" and isinstance(block.get("text"), str):
        text: str = block["text"]
        return text
    return ""


def _told(part: Sequence[Question]) -> str:
    return part[0].subject if len(part) == 1 else f"{part[0].subject} or one of {len(part) - 1} sent together with it"


def _why(error: BaseException, question: Question) -> str:
    return describe_failure(error, (question.user, question.system))
