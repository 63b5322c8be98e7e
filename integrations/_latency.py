"""The time that a tool itself takes, without its wait for a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from inspect import isasyncgenfunction, iscoroutinefunction
from time import perf_counter
from typing import Any


def stopwatch(function: Any) -> Callable[[], float]:
    """Start a stopwatch, in a running event loop and right before a tool is called; what it returns stops it.

    Frameworks run plain functions in the loop's default executor, first come first served. A job that reads the clock
    is queued just ahead of the tool, so that the time spent waiting for a thread does not count.

    Args:
        function: what the tool calls; None where that is unknown, and the time is that of the call as a whole.

    Returns:
        The milliseconds since then.
    """
    started = perf_counter()
    in_thread = function is not None and not iscoroutinefunction(function) and not isasyncgenfunction(function)
    queued = asyncio.get_running_loop().run_in_executor(None, perf_counter) if in_thread else None

    def stop() -> float:
        ended = perf_counter()
        began = queued.result() if queued is not None and queued.done() else started
        return max(0.0, ended - began) * 1000.0

    return stop
