"""A probe on a LangChain tool: what it really returned and how long it really took.

What a wrapper gets back is a message: the value has become text, and on a busy executor most of the time around the
handler is waiting. The probe sits where the tool itself is called, in the thread that runs it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, NamedTuple

from agentguard.integrations.extras import needs

try:
    from langchain_core.tools import BaseTool
except ImportError as error:
    raise needs("langchain", error) from error

__all__ = ["Attempt", "Probe"]


class Attempt(NamedTuple):
    """One run of the tool.

    Attributes:
        returned: False where it raised; ``value`` is None then.
        value: what it returned, untouched.
        error: what it raised; None where it returned.
        milliseconds: its own time, without waiting for a thread.
        arguments: the keyword arguments that it got, injected ones too.
    """

    returned: bool
    value: Any
    milliseconds: float
    arguments: Mapping[str, Any]
    error: BaseException | None = None


class Probe:
    """Watches one call of one tool.

    Args:
        tool: left as it is; ``Probe.tool`` is the copy to be run in its place.
        clock: seconds, monotonic.

    Attributes:
        attempts: one for each time the tool ran: several under a retry, none where something else answered.
    """

    def __init__(self, tool: BaseTool, clock: Callable[[], float] = perf_counter) -> None:
        self.attempts: list[Attempt] = []
        self._clock = clock
        self.tool: BaseTool = tool.model_copy()
        # A tool is a pydantic model: its own setattr takes fields only. The methods are wrapped with their
        # signatures, which the framework inspects to see what it must inject.
        object.__setattr__(self.tool, "_run", self._around(self.tool._run))
        if type(tool)._arun is not BaseTool._arun:  # the default one only carries _run to a thread
            object.__setattr__(self.tool, "_arun", self._around_async(self.tool._arun))

    @property
    def last(self) -> Attempt | None:
        """The attempt whose outcome was handed on; None where the tool was not run."""
        return self.attempts[-1] if self.attempts else None

    def _around(self, run: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(run)
        def probed(*args: Any, **kwargs: Any) -> Any:
            inner, start = len(self.attempts), self._clock()
            try:
                value = run(*args, **kwargs)
            except BaseException as error:
                self._record(inner, start, kwargs, error=error)
                raise
            self._record(inner, start, kwargs, value=value)
            return value

        return probed

    def _around_async(self, run: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(run)
        async def probed(*args: Any, **kwargs: Any) -> Any:
            inner, start = len(self.attempts), self._clock()
            try:
                value = await run(*args, **kwargs)
            except BaseException as error:
                self._record(inner, start, kwargs, error=error)
                raise
            self._record(inner, start, kwargs, value=value)
            return value

        return probed

    def _record(
        self,
        inner: int,
        start: float,
        arguments: Mapping[str, Any],
        *,
        value: Any = None,
        error: BaseException | None = None,
    ) -> None:
        """One attempt, also where ``_arun`` went through ``_run``: the inner time is the tool's own."""
        milliseconds = (self._clock() - start) * 1000.0
        if len(self.attempts) > inner:
            milliseconds = self.attempts[-1].milliseconds
        self.attempts[inner:] = [Attempt(error is None, value, milliseconds, arguments, error)]
