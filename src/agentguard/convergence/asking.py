"""Puts the question to one model. Models are known by what they can do: nothing of their framework is imported.

Whatever goes wrong becomes an opinion without a reply, so that no fault of a model can pass a session.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any

from agentguard.convergence.config import ConvergenceConfig
from agentguard.convergence.parsing import parse_reply, read_answer
from agentguard.convergence.prompts import Prompt, answer_schema
from agentguard.convergence.session import ConvergenceContext
from agentguard.convergence.types import JudgeReply, Opinion
from agentguard.errors import DataError

__all__ = ["Question", "aask", "ask"]

# What chat models of different providers call the most tokens of a reply.
_TOKEN_LIMITS = ("max_tokens", "max_output_tokens", "max_completion_tokens", "num_predict")


class Question:
    """One session as it is put to every judge."""

    def __init__(
        self,
        context: ConvergenceContext,
        prompt: Prompt,
        config: ConvergenceConfig,
        run_config: Mapping[str, Any] | None,
    ) -> None:
        self.config = config
        self.messages = prompt.messages()
        self.run_config = run_config
        self.evaluated = (
            context.all_outputs,
            context.requirements,
            *(issue.description for issue in context.issues),
        )

    def prepared(self, model: Any) -> Any:
        """The model with the settings of this evaluation, giving structured output where it can."""
        model = _with_settings(model, self.config)
        # A binding hands with_structured_output on to what it binds, and what it binds to it would be lost.
        binding = hasattr(model, "bound") and hasattr(model, "kwargs")
        if not self.config.structured or binding or not hasattr(model, "with_structured_output"):
            return model
        try:
            return model.with_structured_output(answer_schema(self.config.categories), include_raw=True)
        except (NotImplementedError, TypeError, ValueError, AttributeError):
            return model  # has the method and not the ability

    def arguments(self) -> tuple[Any, ...]:
        """What ``invoke`` is called with."""
        return (self.messages,) if self.run_config is None else (self.messages, self.run_config)

    def read(self, answer: Any) -> JudgeReply:
        """The reply in what a model returned: a structured answer, a message or text.

        Raises:
            DataError: saying what is wrong with it.
        """
        if isinstance(answer, Mapping) and "raw" in answer:
            if isinstance(answer.get("parsed"), Mapping):
                return read_answer(answer["parsed"], self.config.categories)
            answer = answer["raw"]
        elif isinstance(answer, Mapping):
            return read_answer(answer, self.config.categories)
        return parse_reply(text_of(answer), self.config.categories, evaluated=self.evaluated)


def ask(name: str, model: Any, question: Question) -> Opinion:
    """The opinion of one judge. Waits for it in a thread of its own where the wait is limited."""

    def call() -> JudgeReply:
        return question.read(question.prepared(model).invoke(*question.arguments()))

    limit = question.config.timeout_s
    try:
        if limit is None:
            return Opinion(name, call(), "")
        running = _in_thread(call)
        wait([running], timeout=limit)
        if not running.done():
            return _late(name, limit)
        return Opinion(name, running.result(), "")
    except Exception as error:
        return Opinion(name, None, _fault(error))


async def aask(name: str, model: Any, question: Question) -> Opinion:
    """The opinion of one judge, asked without blocking the event loop."""

    async def call() -> JudgeReply:
        prepared = question.prepared(model)
        if hasattr(prepared, "ainvoke"):
            return question.read(await prepared.ainvoke(*question.arguments()))
        return question.read(await asyncio.wrap_future(_in_thread(lambda: prepared.invoke(*question.arguments()))))

    running = asyncio.ensure_future(call())
    running.add_done_callback(_retrieve)
    try:
        # Not wait_for: it cannot tell its own timeout from one that the model raises.
        await asyncio.wait([running], timeout=question.config.timeout_s)
        if not running.done():
            return _late(name, question.config.timeout_s)
        if running.cancelled():
            return Opinion(name, None, "the model cancelled its own call")
        return Opinion(name, running.result(), "")
    except Exception as error:
        return Opinion(name, None, _fault(error))
    finally:
        running.cancel()


def text_of(answer: Any) -> str:
    """The text of a message or of its content blocks, without the blocks that hold thoughts.

    Raises:
        DataError: where there is no text.
    """
    content = getattr(answer, "content", answer)
    blocks = content if isinstance(content, Sequence) and not isinstance(content, (str, bytes)) else [content]
    texts = [block if isinstance(block, str) else _block_text(block) for block in blocks]
    text = "\n".join(part for part in texts if part)
    if not text.strip():
        raise DataError("the model replied without text")
    return text


def _block_text(block: Any) -> str:
    if isinstance(block, Mapping) and block.get("type", "text") == "text" and isinstance(block.get("text"), str):
        text: str = block["text"]
        return text
    return ""


def _with_settings(model: Any, config: ConvergenceConfig) -> Any:
    """The model with temperature and token limit: as fields where it declares them, else bound to its calls."""
    declared = getattr(type(model), "model_fields", {})
    limit = next((name for name in _TOKEN_LIMITS if name in declared), "max_tokens")
    settings = {"temperature": config.temperature, limit: config.max_tokens}
    settings = {name: value for name, value in settings.items() if value is not None}
    fields = {name: value for name, value in settings.items() if name in declared}
    if fields:
        return model.model_copy(update=fields)
    return model.bind(**settings) if settings and hasattr(model, "bind") else model


def _in_thread(call: Callable[[], Any]) -> Future[Any]:
    """Starts the call in a daemon thread, in this context: a model that never answers keeps no process alive."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            result = call()
        except BaseException as error:  # handed to whoever waits
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=contextvars.copy_context().run, args=(run,), name="agentguard-judge", daemon=True).start()
    return future


def _retrieve(task: asyncio.Future[JudgeReply]) -> None:
    """Takes note of the error of a call that nobody waits for any more, so that asyncio does not report it."""
    if not task.cancelled():
        task.exception()


def _late(name: str, limit: float | None) -> Opinion:
    return Opinion(name, None, f"no reply within {limit:g} s")


def _fault(error: Exception) -> str:
    said = str(error)[:300]
    if isinstance(error, DataError):
        return said
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
