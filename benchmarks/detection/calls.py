"""One executed call, and what every generated tool stands on: an agent's sessions, a clock, and how long things take.

Nothing here draws from anything but the generator's own seeded ``Random``: the same seed gives the same stream.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple, TypeVar

__all__ = ["Agent", "Call", "network", "often_the_first"]

T = TypeVar("T")
START = datetime(2025, 1, 6, tzinfo=timezone.utc)
STRAGGLERS, PAUSE_SECONDS = 0.01, 240.0


class Call(NamedTuple):
    """One executed call; ``ms`` is its execution time in milliseconds."""

    tool: str
    args: dict[str, Any]
    result: Any
    ms: float
    session: str


class Agent:
    """Whoever calls the tools: sessions of 3 to 15 calls, seconds or minutes apart, around the clock.

    Attributes:
        now: the simulated time; it moves on with every ``turn``.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.now = START + timedelta(seconds=rng.uniform(0, 86_400 * 200))
        self._left = 0
        self._session = ""

    def turn(self) -> str:
        """The next call's session; time passes."""
        self.now += timedelta(seconds=1.0 + self._rng.expovariate(1.0 / PAUSE_SECONDS))
        if not self._left:
            self._left = self._rng.randrange(3, 16)
            self._session = f"s-{self._rng.getrandbits(32):08x}"
        self._left -= 1
        return self._session

    @property
    def stamp(self) -> str:
        """The time as ISO text, to the second, in UTC."""
        return self.now.strftime("%Y-%m-%dT%H:%M:%SZ")

    def ago(self, **span: float) -> str:
        """A time before now (``days=3``) as ISO text."""
        return (self.now - timedelta(**span)).strftime("%Y-%m-%dT%H:%M:%SZ")

    @property
    def hour(self) -> float:
        """The hour of the day, in [0, 24)."""
        return self.now.hour + self.now.minute / 60.0


def network(rng: random.Random, median: float, sigma: float = 0.35) -> float:
    """Milliseconds of a request over a network: log-normal, and one in a hundred takes three to ten times as long."""
    ms = rng.lognormvariate(math.log(median), sigma)
    return round(ms * rng.uniform(3.0, 10.0) if rng.random() < STRAGGLERS else ms, 2)


def often_the_first(rng: random.Random, items: Sequence[T]) -> T:
    """One of the items, the n-th about as often as 1/n: how keys are asked for (Zipf)."""
    return items[min(int(len(items) ** rng.random()) - 1, len(items) - 1)]
