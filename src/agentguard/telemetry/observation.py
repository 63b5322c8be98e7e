"""What an observer is told of a verdict, and what an observer is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from agentguard.verification import ToolCall, VerificationEngine, VerificationResult
from agentguard.verification.changes import Change

__all__ = ["Observation", "Observer"]


class Observation(NamedTuple):
    """One verdict, as it left the engine.

    Attributes:
        result: the verdict.
        call: the call that was judged. Its ``args`` and ``result`` are None for an observer that wants no content.
        guard_seconds: how long the engine took, in seconds.
        at: when the engine was asked, in seconds since the epoch. The tool had answered by then.
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
    """Is called with every verdict, in the thread that asked for it, before the agent gets it: it must not wait.

    What it raises is logged by the name of its class, and changes nothing for the agent. Threads share it.

    Attributes:
        content: it wants to see the arguments and results of calls.
    """

    content: bool = False

    @abstractmethod
    def __call__(self, observation: Observation, /) -> None:
        """Take note of a verdict."""

    def changed(self, change: Change, /) -> None:  # noqa: B027 - an observer need not care for changes
        """Is told of a lasting change of a tool whenever it takes another state, in any thread: it must not wait.

        Each engine tells of what it does itself and of what it reads of others on its store.
        """

    def watch(self, engine: VerificationEngine, /) -> None:  # noqa: B027 - an observer need not look at engines
        """Is told once of each engine whose verdicts it will see; keeps no engine alive."""
