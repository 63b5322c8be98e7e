"""Where the time of one ``verify`` goes: reading the result, each check, combining and deciding, learning.

The engine runs as always, with a stopwatch around each of these; what a stopwatch itself costs (a fraction of a
microsecond) is in the stage. The whole is timed without any.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from itertools import islice
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from growth_shapes import records
from race import WARM
from workload import PROFILE, SIZES, TOOL, Call

from agentguard.verification import VerificationEngine, _judging

__all__ = ["Stage", "measure"]

TIMED = 1_000
TURN = 25


class Stage(NamedTuple):
    """Median seconds of one stage in one call."""

    name: str
    p50: float


class _Stopwatch:
    """Seconds by stage for the call that is under way."""

    def __init__(self) -> None:
        self.taken: dict[str, float] = {}

    def around(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*positional: Any, **keywords: Any) -> Any:
            start = perf_counter()
            try:
                return work(*positional, **keywords)
            finally:
                self.taken[name] = self.taken.get(name, 0.0) + perf_counter() - start

        return timed


class _Timed:
    """Something with some of its methods replaced; whatever else it is asked for is its own."""

    def __init__(self, inside: Any, **replaced: Any) -> None:
        self._inside = inside
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inside, name)


class _TimedCheck(_Timed):
    def __call__(self, *positional: Any, **keywords: Any) -> Any:
        return self.run(*positional, **keywords)


def measure(advance: Callable[[int], object] = lambda calls: None) -> list[Stage]:
    """Stages in the order in which they first run, the rest, and the whole call."""
    watch = _Stopwatch()
    plain, watched = _engine(), _engine()
    method = watched._method
    tiers = [
        (tier, [_TimedCheck(check, run=watch.around(check.name, check)) for check in checks])
        for tier, checks in method.tiers
    ]
    decide, learn = watch.around("combine, decide", method.decide), watch.around("learn", method.learn)
    watched._method = _Timed(method, tiers=tiers, decide=decide, learn=learn)
    names = vars(_judging)
    read = names["read"]
    timed_read = watch.around("read the result", read)
    whole: list[float] = []
    stages: dict[str, list[float]] = {}
    calls = records(SIZES["1 KB"])
    gc.collect()
    for n in range(0, WARM + TIMED, TURN):
        for call in list(islice(calls, TURN)):
            start = perf_counter()
            _verify(plain, call)
            whole += [perf_counter() - start] * (n >= WARM)
        try:
            names["read"] = timed_read
            for call in list(islice(calls, TURN)):
                watch.taken.clear()
                _verify(watched, call)
                for name, seconds in watch.taken.items():
                    stages.setdefault(name, []).extend([seconds] * (n >= WARM))
        finally:
            names["read"] = read
        advance(TURN)
    found = [Stage(name, median(seconds)) for name, seconds in stages.items()]
    total = median(whole)
    rest = total - sum(stage.p50 for stage in found)
    return [*found, Stage("everything else", rest), Stage("a whole call", total)]


def _engine() -> VerificationEngine:
    engine = VerificationEngine()
    engine.register_tool_profile(TOOL, **PROFILE, echoes={"query": "query"})
    return engine


def _verify(engine: VerificationEngine, call: Call) -> None:
    engine.verify(TOOL, args=call.args, result=call.result, execution_time_ms=call.ms, session_id=call.session)
