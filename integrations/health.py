"""LangChain callbacks that watch the health of models: latency, first token, token rate, manner, structure.

For chat models and plain ones, called, streamed or batched, sync and async; whatever agent or graph they are in::

    monitor = LLMMonitor(DiskStore("state"))
    agent.invoke(question, {"callbacks": [HealthCallbackHandler(monitor)]})

The time of a streamed call is from its start to its end, and so holds what its consumer does between the pieces.
Of the prompts of one batch of a plain model, each has the time of the whole batch.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any
from uuid import UUID

from agentguard import _forks as forks
from agentguard.health import HealthResult, LLMCall, LLMMonitor
from agentguard.health._measuring import read
from agentguard.integrations._extras import needs

try:
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.outputs import LLMResult
except ImportError as error:
    raise needs("langchain", error) from error

__all__ = ["HealthCallbackHandler"]

MAX_RUNNING_CALLS = 10_000  # a run whose end is never reported must not be remembered for ever

_log = logging.getLogger("agentguard")


class _Running:
    """A call between its start and its end."""

    __slots__ = ("expects_json", "first", "model", "started")

    def __init__(self, model: str, expects_json: bool, started: float) -> None:
        self.model, self.expects_json, self.started = model, expects_json, started
        self.first: float | None = None


class HealthCallbackHandler(BaseCallbackHandler):
    """Tells a monitor of every call of a model that callbacks are told of. Thread-safe; raises nothing.

    The model is the provider's name of it, as LangChain knows it, or the class's. JSON is expected of a call with a
    ``response_format`` of JSON. A response from LangChain's cache has no latency. A cancelled call does not count.

    Args:
        monitor: judges the calls.
        on_result: called with the result of each of this handler's calls; what it raises is logged.

    >>> from agentguard.health import LLMMonitor
    >>> HealthCallbackHandler(LLMMonitor()).raise_error
    False
    """

    # In an async run other handlers go to a pool of threads; waiting there would be counted as the model's latency.
    run_inline = True

    def __init__(self, monitor: LLMMonitor, *, on_result: Callable[[HealthResult], None] | None = None) -> None:
        super().__init__()
        self._monitor, self._on_result = monitor, on_result
        self._running: OrderedDict[UUID, _Running] = OrderedDict()
        self._lock = forks.lock(forks.Rank.LEAF)

    def on_chat_model_start(
        self, serialized: dict[str, Any] | None, messages: Any, *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Remember when the call began, and of which model it is."""
        self._begin(serialized, run_id, kwargs)

    def on_llm_start(
        self, serialized: dict[str, Any] | None, prompts: list[str], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """The same of a model that takes plain text."""
        self._begin(serialized, run_id, kwargs)

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, run_id: UUID, **kwargs: Any) -> None:
        """Note the time of the first text."""
        call = self._running.get(run_id)
        if call is not None and call.first is None and (token or _asks_for_tools(chunk)):
            call.first = perf_counter()

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Judge the call."""
        ended = perf_counter()
        call = self._forget(run_id)
        if call is None:
            return
        try:
            text, tokens, cached = _read(response)
        except Exception as error:  # a foreign model's result may be made in any way
            _log.error("a response of %r could not be read: %s", call.model, type(error).__name__)
            text, tokens, cached = None, None, False
        self._record(
            LLMCall(
                call.model,
                text,
                latency_ms=None if cached else 1e3 * (ended - call.started),
                first_token_ms=None if cached or call.first is None else 1e3 * (call.first - call.started),
                tokens=tokens,
                expects="json" if call.expects_json and text is not None else None,
            )
        )

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Count the call as failed, unless it was cancelled."""
        call = self._forget(run_id)
        if call is not None and isinstance(error, Exception):
            self._record(LLMCall(call.model, error=type(error).__name__))

    def _begin(self, serialized: Mapping[str, Any] | None, run_id: UUID, given: Mapping[str, Any]) -> None:
        parameters = given.get("invocation_params") or {}
        call = _Running(_model(serialized, given, parameters), _wants_json(parameters), perf_counter())
        with self._lock:
            self._running[run_id] = call
            if len(self._running) > MAX_RUNNING_CALLS:
                self._running.popitem(last=False)

    def _record(self, call: LLMCall) -> None:
        result = self._monitor.record(call)
        if self._on_result is None:
            return
        try:
            self._on_result(result)
        except Exception as error:
            _log.error("on_result failed for %r: %s", call.model, type(error).__name__)

    def _forget(self, run_id: UUID) -> _Running | None:
        with self._lock:
            return self._running.pop(run_id, None)


def _model(serialized: Mapping[str, Any] | None, given: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    names = (
        (given.get("metadata") or {}).get("ls_model_name"),
        parameters.get("model"),
        parameters.get("model_name"),
        ((serialized or {}).get("id") or [None])[-1],
        (serialized or {}).get("name"),
        given.get("name"),
    )
    return next((name for name in names if isinstance(name, str) and name), "unnamed model")


def _wants_json(parameters: Mapping[str, Any]) -> bool:
    wanted = parameters.get("response_format")
    return isinstance(wanted, Mapping) and str(wanted.get("type")).startswith("json")


def _asks_for_tools(chunk: Any) -> bool:
    return bool(getattr(getattr(chunk, "message", None), "tool_call_chunks", None))


def _read(response: LLMResult) -> tuple[str | None, int | None, bool]:
    """Text and tokens of the first generation, and whether it comes from a cache."""
    generation = response.generations[0][0] if response.generations and response.generations[0] else None
    message = getattr(generation, "message", None)
    reply = read(getattr(generation, "text", None) if message is None else message)
    tokens = reply.tokens
    if tokens is None:
        usage = (response.llm_output or {}).get("token_usage") or {}
        tokens = usage.get("completion_tokens") if isinstance(usage, Mapping) else None
    cached = ((getattr(message, "usage_metadata", None) or {}).get("total_cost")) == 0  # LangChain's mark of a hit
    return reply.text, tokens, cached
