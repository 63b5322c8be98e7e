"""LangChain callbacks: observe verdicts, or stop the run by raising.

For agents that cannot take a middleware or a tool wrapper. A callback is told of a result and cannot replace it, so
much of what the middleware does is out of its reach:

- A blocked result is withheld by raising alone, and raising ends the run unless the ``ToolNode`` handles tool errors;
  where it does (``handle_tool_errors=True``), the model gets the error's text in the result's place.
- Nobody is asked about a flagged result, and no line after it tells the model; no call is made again, no verdict is
  written on the message, no receipt made. Artifacts are not judged.
- Nothing is redacted. The text of an exception, a message with ``status="error"``, and messages of a ``Command`` beside
  the one that answers are judged by the content rules of the profile alone. A text that somebody further out makes of
  an exception is not seen.
- In an agent the result arrives as the message made of it: a dict is its JSON by then, a pydantic model its ``str()``.
- Handlers listed before this one, and tracers, have seen the result when it is blocked.

One engine is to be given to this handler or to a middleware, not to both: it would learn every call twice.
"""

from __future__ import annotations

import logging
import sys
from collections import OrderedDict
from collections.abc import Callable, Collection
from time import perf_counter
from typing import Any, NamedTuple
from uuid import UUID

from agentguard import _forks as forks
from agentguard.guard import Guard, Outcome
from agentguard.guard._exceptions import is_signal, texts_of
from agentguard.integrations._extras import needs
from agentguard.verification import VerificationEngine, VerificationResult

try:
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.messages import BaseMessage, ToolMessage
except ImportError as error:
    raise needs("langchain", error) from error

__all__ = ["GuardCallbackHandler"]

MAX_RUNNING_CALLS = 10_000  # a run whose end is never reported must not be remembered for ever

_log = logging.getLogger("agentguard")


class _Running(NamedTuple):
    """A call between its start and its end."""

    tool: str
    args: Any
    call_id: str | None
    session_id: str | None
    started: float


class GuardCallbackHandler(BaseCallbackHandler):
    """Judges every tool result that callbacks are told of, sync and async.

    Results that are flagged or blocked are logged as warnings, without their content.

    Args:
        engine: judges the calls.
        raise_on_block: raise ``ResultBlocked`` out of the tool call for a blocked result. False: observe.
        tools: names of the tools to judge; None: all.
        on_verdict: called with every verdict; an exception it raises is LangChain's to handle, as any handler's is.

    >>> from agentguard.verification import VerificationEngine
    >>> handler = GuardCallbackHandler(VerificationEngine(), raise_on_block=True)
    >>> handler.raise_error
    True
    """

    # In an async run other handlers go to a pool of threads; waiting there would be counted as the tool's latency.
    run_inline = True

    def __init__(
        self,
        engine: VerificationEngine,
        raise_on_block: bool = False,
        *,
        tools: Collection[str] | None = None,
        on_verdict: Callable[[VerificationResult], None] | None = None,
    ) -> None:
        super().__init__()
        self._guard = Guard(engine, tools=tools, on_block="raise")
        self._raise_on_block = raise_on_block
        self._on_verdict = on_verdict
        # Without it LangChain logs what a handler raises and goes on.
        self.raise_error = raise_on_block
        self._running: OrderedDict[UUID, _Running] = OrderedDict()
        self._lock = forks.lock(forks.Rank.LEAF)

    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Remember the call: its end is reported without name, arguments and ``tool_call_id``."""
        tool = (serialized or {}).get("name") or kwargs.get("name") or "unnamed tool"
        thread = (metadata or {}).get("thread_id")
        args = input_str if inputs is None else inputs
        session_id = None if thread is None else str(thread)
        call = _Running(tool, args, kwargs.get("tool_call_id"), session_id, perf_counter())
        with self._lock:
            self._running[run_id] = call
            if len(self._running) > MAX_RUNNING_CALLS:
                self._running.popitem(last=False)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Judge the result.

        Raises:
            ResultBlocked: for a blocked result, with ``raise_on_block``.
        """
        ended = perf_counter()
        call = self._forget(run_id)
        if call is None:
            return
        elapsed_ms = 1e3 * (ended - call.started)
        described = Outcome(call.tool, call.args, None, elapsed_ms, call.session_id, call.call_id)
        for result in _results(output, call.call_id):
            self._judge(described._replace(result=result))
        if texts := _other_texts(output, call.call_id):
            self._judge(self._guard.error_text(described, texts))

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Judge the text of an exception, which somebody may make a message of, by the profile's content rules alone.

        Raises:
            ResultBlocked: for a blocked one, with ``raise_on_block``; in its place, where LangChain lets it through.
        """
        call = self._forget(run_id)
        if call is not None and not is_signal(error):
            described = Outcome(call.tool, call.args, None, None, call.session_id, call.call_id)
            outcome = self._guard.error_text(described, texts_of(error))
            if outcome is None:
                _log.info("what %r raised is not judged: %s", call.tool, type(error).__name__)
            self._judge(outcome)

    def _judge(self, outcome: Outcome | None) -> None:
        judgement = None if outcome is None else self._guard.judge(outcome)
        if outcome is None or judgement is None or judgement.result is None:
            return
        verdict = judgement.result
        if verdict.verdict != "accept":
            _log.warning("%s for a result of %r (P = %.2f)", verdict.verdict, verdict.tool, verdict.posterior)
        elif verdict.redact:
            holds = " and ".join(verdict.redact)
            _log.warning("a result of %r holds %s, which a callback cannot take out", verdict.tool, holds)
        if self._on_verdict is not None:
            self._on_verdict(verdict)
        if judgement.action == "replace" and self._raise_on_block:
            raise self._guard.error(judgement, outcome.tool)

    def _forget(self, run_id: UUID) -> _Running | None:
        with self._lock:
            return self._running.pop(run_id, None)


def _other_texts(output: Any, call_id: str | None) -> list[Any]:
    """What a tool call says that is no result: messages that report an error, and those that answer another call."""
    if isinstance(output, BaseMessage):
        return [] if isinstance(output, ToolMessage) and output.status != "error" else [output.content]
    if _is_command(output):
        others = [each for each in _messages_of(output) if getattr(each, "tool_call_id", None) != call_id]
        failed = [each for each in _messages_of(output) if getattr(each, "status", None) == "error"]
        return [each.content for each in (*others, *failed)]
    parts = output if isinstance(output, list) else []
    return [text for part in parts for text in _other_texts(part, call_id)]


def _messages_of(command: Any) -> list[BaseMessage]:
    messages = command.update.get("messages", []) if isinstance(command.update, dict) else []
    return [each for each in (messages if isinstance(messages, list) else [messages]) if isinstance(each, BaseMessage)]


def _results(output: Any, call_id: str | None) -> list[Any]:
    """The results in what a tool call ended with; a message that reports the tool's own error holds none.

    In agents the output is a message, a ``Command`` that carries one, or a list of both; elsewhere it is the value.
    """
    if isinstance(output, ToolMessage):
        return [] if output.status == "error" else [output.content]
    if _is_command(output):
        own = [part for part in _messages_of(output) if isinstance(part, ToolMessage) and part.tool_call_id == call_id]
        return [result for message in own for result in _results(message, call_id)]
    parts = output if isinstance(output, list) else []
    if parts and all(isinstance(part, ToolMessage) or _is_command(part) for part in parts):
        return [result for part in parts for result in _results(part, call_id)]
    return [output]


def _is_command(output: Any) -> bool:
    """It is a ``Command`` of LangGraph; nobody has made one where that is not loaded, and this does not load it."""
    command = getattr(sys.modules.get("langgraph.types"), "Command", None)
    return command is not None and isinstance(output, command)
