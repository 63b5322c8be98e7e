"""LangChain callbacks: observe verdicts, or stop the run by raising.

For agents that cannot take a middleware or a tool wrapper. A callback is told of a result and cannot replace it, so
much of what the middleware does is out of its reach:

- A blocked result is withheld by raising alone, and raising ends the run unless the ``ToolNode`` handles tool errors;
  where it does (``handle_tool_errors=True``), the model gets the error's text in the result's place.
- Nobody is asked about a flagged result, and no line after it tells the model; no call is made again or read back, no
  verdict is written on the message, no receipt made. Artifacts are not judged.
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
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from agentguard import _forks as forks
from agentguard.guard import Guard, Outcome, Rules
from agentguard.guard._exceptions import is_signal, texts_of
from agentguard.integrations._extras import needs
from agentguard.verification import VerificationEngine, VerificationResult

try:
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.messages import BaseMessage, ToolMessage
except ImportError as error:
    raise needs("langchain", error) from error

if TYPE_CHECKING:
    from typing_extensions import Unpack

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
        guard: the guard, or an engine.
        raise_on_block: raise ``ResultBlocked`` out of the tool call for a blocked result, as ``on_block="raise"`` of
            the guard does. False: observe.
        on_verdict: called with every verdict; an exception it raises is LangChain's to handle, as any handler's is.
        rules: rules of the guard by name, see ``Guard``.

    Raises:
        ConfigurationError: for a rule of the guard that cannot be acted on here.

    >>> from agentguard.verification import VerificationEngine
    >>> handler = GuardCallbackHandler(VerificationEngine(), raise_on_block=True)
    >>> handler.raise_error
    True
    """

    # In an async run other handlers go to a pool of threads; waiting there would be counted as the tool's latency.
    run_inline = True

    def __init__(
        self,
        guard: Guard | VerificationEngine,
        raise_on_block: bool = False,
        *,
        on_verdict: Callable[[VerificationResult], None] | None = None,
        **rules: Unpack[Rules],
    ) -> None:
        super().__init__()
        self._guard = Guard.of(guard, "LangChain callbacks", rules, on_block=["raise"])
        self._on_verdict = on_verdict
        # Without it LangChain logs what a handler raises and goes on.
        self.raise_error: bool = raise_on_block or self._guard.on_block == "raise"
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
        results, others = _said(output, call.call_id)
        for result in results:
            self._judge(described._replace(result=result))
        if others:
            self._judge(self._guard.error_text(described, others))

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
        if outcome is None:
            return
        judgement = self._guard.judge(outcome)
        verdict = judgement.result
        if verdict is not None:
            if verdict.verdict != "accept":
                _log.warning("%s for a result of %r (P = %.2f)", verdict.verdict, verdict.tool, verdict.posterior)
            elif verdict.redact:
                holds = " and ".join(verdict.redact)
                _log.warning("a result of %r holds %s, which a callback cannot take out", verdict.tool, holds)
            if self._on_verdict is not None:
                self._on_verdict(verdict)
        if judgement.action == "replace" and self.raise_error:
            raise self._guard.error(judgement, outcome.tool)

    def _forget(self, run_id: UUID) -> _Running | None:
        with self._lock:
            return self._running.pop(run_id, None)


def _said(output: Any, call_id: str | None) -> tuple[list[Any], list[Any]]:
    """The results in what a tool call ended with, and what else a model may read of it.

    In agents the output is a message, a ``Command`` that carries one, or a list of both; elsewhere it is the value. A
    message that reports the tool's own error holds no result, and neither does one that answers another call.
    """
    parts = output if isinstance(output, list) else [output]
    # Nobody has made a command where LangGraph is not loaded, and this does not load it.
    command = getattr(sys.modules.get("langgraph.types"), "Command", ())
    messages = [part for part in parts if isinstance(part, BaseMessage)]
    if any(isinstance(part, command) for part in parts):
        from agentguard.integrations._messages import beside

        messages = beside(output, None)
    if not parts or not all(isinstance(part, (ToolMessage, command)) for part in parts):
        return [output], [message.content for message in messages]
    results: list[Any] = []
    others: list[Any] = []
    for message in messages:
        is_answer = isinstance(message, ToolMessage) and message.status != "error"
        is_own = message in parts or getattr(message, "tool_call_id", None) == call_id
        (results if is_answer and is_own else others).append(message.content)
    return results, others
