"""An engine whose verdicts are seen: the same engine to whoever asks it, and a word to the observers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from time import perf_counter, time
from typing import TYPE_CHECKING, Any, Literal

from agentguard.errors import ConfigurationError
from agentguard.verification import ToolCall, ToolProfile, VerificationEngine, VerificationResult
from agentguard.verification.canonical import as_name

from .observation import Observation, Observer

if TYPE_CHECKING:
    from agentguard.verification.persistence import Backlog

__all__ = ["ObservedEngine", "observe"]

_log = logging.getLogger("agentguard")


def observe(engine: VerificationEngine, *observers: Observer | Callable[[Observation], object]) -> VerificationEngine:
    """The engine, with every verdict told to the observers; without observers it is the engine itself.

    Args:
        engine: judges the calls; what it learned, and what it will learn, stays with it.
        observers: ``Observer`` objects, or functions of one ``Observation``, which see no content.

    Raises:
        ConfigurationError: for an observer that cannot be called.

    >>> seen = []
    >>> engine = observe(VerificationEngine(), seen.append)
    >>> _ = engine.verify("add", args={"a": 1, "b": 2}, result=3, call_id="c1")
    >>> seen[0].result.verdict, seen[0].call.call_id, seen[0].call.args
    ('accept', 'c1', None)
    """
    return ObservedEngine(engine, *observers) if observers else engine


class ObservedEngine(VerificationEngine):
    """Stands in an engine's place. All of it is the engine's; only ``verify`` has observers listening.

    Args:
        engine: judges the calls.
        observers: as for ``observe``.

    Raises:
        ConfigurationError: for an observer that cannot be called.
    """

    def __init__(self, engine: VerificationEngine, *observers: Observer | Callable[[Observation], object]) -> None:
        # The parent's is not called: it would build a second engine.
        for each in observers:
            if not callable(each):
                raise ConfigurationError(f"an observer is called with an Observation, and {each!r} cannot be called")
        self.mode: Literal["calibrated", "reference"] = engine.mode
        self._engine = engine
        self._observers = tuple([(each, isinstance(each, Observer) and each.content) for each in observers])
        self._wants_content = any(wants for _, wants in self._observers)
        self._failing: set[int] = set()  # places of observers whose last call failed
        for each in observers:
            if isinstance(each, Observer):
                each.watch(engine)

    def verify(
        self,
        tool: str,
        *,
        args: Any = None,
        result: Any = None,
        execution_time_ms: float | None = None,
        session_id: str | None = None,
        call_id: str | None = None,
        learn: bool = True,
    ) -> VerificationResult:
        """Judge one executed call, as the engine does, and tell the observers."""
        at, begin = time(), perf_counter()
        found = self._engine.verify(
            tool,
            args=args,
            result=result,
            execution_time_ms=execution_time_ms,
            session_id=session_id,
            call_id=call_id,
            learn=learn,
        )
        seconds = perf_counter() - begin
        session = None if session_id is None else as_name(session_id)
        call = ToolCall(found.tool, None, None, execution_time_ms, session, found.call_id)
        bare = whole = Observation(found, call, seconds, at)
        if self._wants_content:
            whole = bare._replace(call=call._replace(args=args, result=result))
        for place, (observer, wants_content) in enumerate(self._observers):
            try:
                observer(whole if wants_content else bare)
            except Exception as error:
                self._observer_failed(place, observer, error)
            else:
                if place in self._failing:
                    self._works_again(place, observer)
        return found

    def _observer_failed(self, place: int, observer: object, error: Exception) -> None:
        # Once, not at every call; and only names, for content may be in the exception's text.
        if place not in self._failing:
            self._failing.add(place)
            _log.error("observer %s failed: %s", _name(observer), type(error).__name__)

    def _works_again(self, place: int, observer: object) -> None:
        self._failing.discard(place)
        _log.warning("observer %s works again; what happened meanwhile was not observed", _name(observer))

    def register_tool_profile(self, name: str, **fields: Any) -> ToolProfile:
        """Declare what real results of a tool look like, to the engine."""
        return self._engine.register_tool_profile(name, **fields)

    def profile_of(self, tool: str) -> ToolProfile:
        """The profile that the engine holds a tool to."""
        return self._engine.profile_of(tool)

    def record_feedback(
        self, tool: str, confidence_score: float, was_hallucination: bool, call_id: str | None = None
    ) -> None:
        """Tell the engine what a reviewed call really was."""
        self._engine.record_feedback(tool, confidence_score, was_hallucination, call_id)

    def trust(self, tool: str, n: int) -> None:
        """Declare the next ``n`` calls of a tool known-good, to the engine."""
        self._engine.trust(tool, n)

    def calibrate(
        self,
        tool: str | None = None,
        *,
        prior: float | None = None,
        accept_below: float | None = None,
        block_at: float | None = None,
        max_false_block_rate: float | None = None,
        likelihood_ratios: Mapping[str, float] | None = None,
    ) -> ObservedEngine:
        """Change the engine's thresholds; returns this one, with its observers."""
        self._engine.calibrate(
            tool,
            prior=prior,
            accept_below=accept_below,
            block_at=block_at,
            max_false_block_rate=max_false_block_rate,
            likelihood_ratios=likelihood_ratios,
        )
        return self

    def backlog(self) -> Backlog | None:
        """How far the engine's store is behind."""
        return self._engine.backlog()

    def flush(self) -> None:
        """Hand over to the engine's store what was learned since the last time."""
        self._engine.flush()

    def close(self) -> None:
        """``flush``, and end the engine's thread that does so."""
        self._engine.close()

    def __enter__(self) -> ObservedEngine:
        return self


def _name(observer: object) -> str:
    """Of a function its own, of an object its class's."""
    return getattr(observer, "__qualname__", None) or type(observer).__name__
