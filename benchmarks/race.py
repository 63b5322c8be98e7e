"""The race: the peer, the floor and our engine take turns on the same calls in one run.

Turns of 25 calls alternate, so that a machine that slows down or speeds up does so for all of them: compare ratios,
never microseconds of different runs. Each contestant gets every call once, freshly parsed from the same JSON, after
500 other calls of the same tool, sessions and arguments.
"""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from statistics import median, quantiles
from time import perf_counter
from types import TracebackType
from typing import Any, NamedTuple

from floor import floor
from peer import Peer, PeerMissingError
from workload import PROFILE, SIZES, TOOL, Call, calls

from agentguard.verification import VerificationEngine, VerificationTier

__all__ = ["FORMS", "MODES", "Race", "Standing", "length", "run", "stream_of"]

MODES = ("calibrated", "reference")
WARM = 500
TURN = 25
AS_TEXT = " as text"  # a result that arrives as JSON text, with the spaces that most writers put into it
TURNS = {"1 KB": 40, "50 KB": 16, "50 KB as text": 16}
FORMS = tuple(TURNS)  # sizes of ``workload.SIZES``, as objects and as text


class Standing(NamedTuple):
    """How a race ended; times in seconds, one for each call, empty for a contestant that did not run."""

    size: str
    mode: str
    ours: list[float]
    peer: list[float]
    floor: list[float]
    peer_missing: str = ""

    def p50(self, name: str) -> float | None:
        """Median seconds of ``ours``, ``peer`` or ``floor``."""
        times: list[float] = getattr(self, name)
        return median(times) if times else None

    def p99(self) -> float | None:
        """99th percentile of ours, in seconds."""
        return quantiles(self.ours, n=100)[98] if len(self.ours) > 1 else None

    def ratio(self, other: str) -> float | None:
        """Our median as a multiple of another contestant's; None where that did not run."""
        ours, theirs = self.p50("ours"), self.p50(other)
        return None if ours is None or not theirs else ours / theirs


class Race:
    """A race, warmed up and ready: time ``verify`` on ``next_call``, ``length(size)`` times. A context manager.

    Args:
        size: one of ``FORMS``.
        mode: the mode of our engine.

    Attributes:
        verify: our engine's method.
        tiers: how far our engine took the last 100 calls of the warm-up.
        peer_missing: why the peer does not run; empty where it does.
    """

    def __init__(self, size: str, mode: Any) -> None:
        self.size, self.mode = size, mode
        self._stream = stream_of(size)
        # The workload's catalogue lives in our process, not in the peer's: no collection during a call may walk it.
        gc.collect()
        gc.freeze()
        engine = VerificationEngine(mode=mode)
        engine.register_tool_profile(TOOL, **PROFILE, echoes={"query": "query"})
        self.verify = engine.verify
        self.tiers: Counter[VerificationTier] = Counter()
        self.peer_missing = ""
        self._times: dict[str, list[float]] = {"peer": [], "floor": []}
        self._ahead: list[Call] = []
        self._peer: Peer | None = None
        try:
            self._peer = Peer()
        except PeerMissingError as error:
            self.peer_missing = str(error)
        for n in range(WARM):
            positional, keywords = self.next_call()
            tier = self.verify(*positional, **keywords).tier_reached
            self.tiers[tier] += n >= WARM - 100
        for times in self._times.values():
            times.clear()

    def next_call(self) -> tuple[tuple[str], dict[str, Any]]:
        """Arguments for ``verify``; at the start of a turn the others first take theirs, on the same calls."""
        if not self._ahead:
            self._ahead = self._turn()[::-1]
        call = self._ahead.pop()
        keywords = {
            "args": call.args, "result": call.result, "execution_time_ms": call.ms, "session_id": call.session
        }  # fmt: skip
        return (TOOL,), keywords

    def standing(self, ours: list[float]) -> Standing:
        """How it ended, given what our engine took for each call, in seconds."""
        times = self._times
        return Standing(self.size, self.mode, ours, times["peer"], times["floor"], self.peer_missing)

    def _turn(self) -> list[Call]:
        """The next calls, after the others have judged them."""
        written = json.dumps(list(islice(self._stream, TURN)))
        if self._peer is not None:
            self._times["peer"] += self._peer.judge(_parsed(written))
        for call in _parsed(written):
            start = perf_counter()
            floor(call.result)
            self._times["floor"].append(perf_counter() - start)
        return _parsed(written)

    def __enter__(self) -> Race:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        gc.unfreeze()
        if self._peer is not None:
            self._peer.close()


def stream_of(size: str) -> Iterator[Call]:
    """The calls of one of ``FORMS``."""
    for call in calls(SIZES[size.removesuffix(AS_TEXT)]):
        yield call._replace(result=json.dumps(call.result)) if size.endswith(AS_TEXT) else call


def length(size: str) -> int:
    """How many calls of a size are timed."""
    return TURN * TURNS[size]


def run(size: str, mode: str, advance: Callable[[int], object] = lambda calls: None) -> Standing:
    """Run a whole race; ``advance`` is told how many calls were timed, at the end of each turn."""
    ours = []
    with Race(size, mode) as race:
        for n in range(1, length(size) + 1):
            positional, keywords = race.next_call()
            start = perf_counter()
            race.verify(*positional, **keywords)
            ours.append(perf_counter() - start)
            if n % TURN == 0:
                advance(TURN)
        return race.standing(ours)


def _parsed(written: str) -> list[Call]:
    return [Call(*fields) for fields in json.loads(written)]
