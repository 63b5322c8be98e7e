"""Observers of verdicts, and the engine that they observe."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import wraps
from time import perf_counter, time
from typing import Any, Literal, NamedTuple

from agentguard.errors import ConfigurationError
from agentguard.verification import ToolCall, VerificationEngine, VerificationResult
from agentguard.verification._canonical import as_name
from agentguard.verification._changes import Change


class Observation(NamedTuple):
    """One verdict, as it left the engine.

    Attributes:
        result: the verdict.
        call: the call that was judged. Its ``args`` and ``result`` are None for an observer that wants no content.
        guard_seconds: time that the engine took, in seconds.
        at: time of the call to the engine, after the tool's answer, in seconds since the epoch.
    """

    result: VerificationResult
    call: ToolCall
    guard_seconds: float
    at: float

    @property
    def fired(self) -> tuple[str, ...]:
        """The names of the signals that fired, in the order in which they were taken.

        >>> from agentguard.verification import VerificationEngine
        >>> engine = VerificationEngine()
        >>> _ = engine.register_tool_profile("weather", required_fields=["degrees"])
        >>> Observation(engine.verify("weather", result={}), ToolCall("weather"), 0.0, 0.0).fired
        ('schema_mismatch',)
        """
        return tuple([name for name, signal in self.result.signals.items() if signal.fired])


class Observer(ABC):
    """Called with every verdict, in the thread that asked for it, before the agent gets it: it must not wait.

    An exception is logged by the name of its class, and changes nothing for the agent. Threads share an observer.

    Attributes:
        content: whether it gets the arguments and results of calls.
    """

    content: bool = False

    @abstractmethod
    def __call__(self, observation: Observation, /) -> None:
        """Handle a verdict."""

    def changed(self, change: Change, /) -> None:  # noqa: B027 - an observer need not care for changes
        """Handle a lasting change of a tool that took another state; in any thread: it must not wait.

        Each engine reports the changes that it makes itself and those that it reads of others on its store.
        """

    def watch(self, engine: VerificationEngine, /) -> None:  # noqa: B027 - an observer need not look at engines
        """Called once with each engine whose verdicts it will see; must keep no engine alive."""


# --- The observed engine ---

_log = logging.getLogger("agentguard")


def observe(engine: VerificationEngine, *observers: Observer | Callable[[Observation], object]) -> VerificationEngine:
    """Wrap an engine so that observers see every verdict; without observers return the engine itself.

    Args:
        engine: judges the calls, and keeps what it learned and will learn.
        observers: ``Observer`` objects, or functions of one ``Observation``, which see no content.

    Raises:
        ConfigurationError: if an observer cannot be called.

    >>> seen = []
    >>> engine = observe(VerificationEngine(), seen.append)
    >>> _ = engine.verify("add", args={"a": 1, "b": 2}, result=3, call_id="c1")
    >>> seen[0].result.verdict, seen[0].call.call_id, seen[0].call.args
    ('accept', 'c1', None)
    """
    return ObservedEngine(engine, *observers) if observers else engine


class ObservedEngine(VerificationEngine):
    """A stand-in for an engine: passes everything on to it, and tells observers of verdicts and changes.

    Args:
        engine: judges the calls.
        observers: as for ``observe``.

    Raises:
        ConfigurationError: if an observer cannot be called.
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
        # Observers whose last call failed, and those that failed at their last change.
        self._failing: set[int] = set()
        self._failing_on_changes: set[int] = set()
        for each in observers:
            if isinstance(each, Observer):
                each.watch(engine)
        if any(isinstance(each, Observer) for each in observers):
            engine.on_change(self._changed)

    def _verify(self, tool: str, **options: Any) -> VerificationResult:
        """Judge one executed call, as the engine does, and tell the observers."""
        at, begin = time(), perf_counter()
        result = self._engine.verify(tool, **options)
        seconds = perf_counter() - begin
        session = options.get("session_id")
        call = ToolCall(
            result.tool, None, None, options.get("execution_time_ms"),
            None if session is None else as_name(session), result.call_id, bool(options.get("is_error", False)),
        )  # fmt: skip
        bare = whole = Observation(result, call, seconds, at)
        if self._wants_content:
            whole = bare._replace(call=call._replace(args=options.get("args"), result=options.get("result")))
        for observer, wants_content in self._observers:
            _tell(observer, observer, whole if wants_content else bare, self._failing)
        return result

    def _changed(self, change: Change) -> None:
        for observer, _ in self._observers:
            if isinstance(observer, Observer):
                _tell(observer, observer.changed, change, self._failing_on_changes)

    def __enter__(self) -> ObservedEngine:
        return self


def _forwarded(name: str) -> Callable[..., Any]:
    """A method that calls the engine's of the same name; in place of that engine it returns the observed one."""

    @wraps(getattr(VerificationEngine, name))
    def method(self: ObservedEngine, *args: Any, **options: Any) -> Any:
        result = getattr(self._engine, name)(*args, **options)
        return self if result is self._engine else result

    return method


# Everything public, so that no method of the engine is forgotten here, and each keeps its signature.
for _method, _value in vars(VerificationEngine).items():
    if not _method.startswith("_") and callable(_value):
        setattr(ObservedEngine, _method, _forwarded(_method))
setattr(ObservedEngine, "verify", wraps(VerificationEngine.verify)(ObservedEngine._verify))  # noqa: B010


def _tell(observer: object, function: Callable[[Any], object], news: object, failing: set[int]) -> None:
    """Call an observer's function; log its first failure and its recovery."""
    try:
        function(news)
    except Exception as error:
        # Once, not at every call; and only names, for content may be in the exception's text.
        if id(observer) not in failing:
            failing.add(id(observer))
            _log.error("observer %s failed: %s", _name(observer), type(error).__name__)
    else:
        if id(observer) in failing:
            failing.discard(id(observer))
            _log.warning("observer %s works again; what happened meanwhile was not observed", _name(observer))


def _name(observer: object) -> str:
    """The name of a function, or of an object's class."""
    return getattr(observer, "__qualname__", None) or type(observer).__name__
