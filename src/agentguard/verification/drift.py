"""Changes of a tool's numbers over time: clocks that go back, and slow drift.

An EWMA chart (Roberts 1959; lambda .2, L 3.2) on the residuals of a first-order autoregression
runs about a thousand points between false alarms.
"""

from __future__ import annotations

import math
import re
from typing import Final

from agentguard.verification._document import Document
from agentguard.verification.statistics import USUAL_P, Level, Rate, student_t4_tail

__all__ = ["Clocks", "Drift", "NumberChart", "Stream", "Stuck", "clock_values", "is_poor"]

# --- Clocks: fields that only ever go forward ---
#
# Timestamps, versions, sequence numbers: one that goes back betrays a stale answer. A field is followed twice: over all
# calls of the tool (the server's clock) and over the calls with the same arguments (a record's version). How often it
# has gone back so far says how much a step back means.

MAX_PATHS: Final = 32  # fields that are followed
GIVEN_UP_AT: Final = 0.25  # share of steps back from which on a field is no clock
CLOCK_WARM_UP: Final = 6  # steps
LONGEST_TIME: Final = 35  # characters of a time in ISO 8601
TIMES: Final = 0.05  # before anything is known: how often a field that is written as a time goes back
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$")

ClockValue = float | str
NO_CLOCKS: Final[dict[str, ClockValue]] = {}  # one for all that have none


def clock_values(document: Document) -> dict[str, ClockValue]:
    """The numbers and ISO 8601 times of a result that stand once each, by path.

    >>> from agentguard.verification._document import read
    >>> clock_values(read({"as_of": "2025-03-01T10:00:00", "price": 4.5, "name": "x", "rows": [{"id": 1}]}))
    {'as_of': '2025-03-01T10:00:00', 'price': 4.5}
    """
    if document.clocks is None:
        leaves = document.leaves
        document.clocks = {}
        for path in () if document.layout is None else document.layout.singles[:MAX_PATHS]:
            values = leaves[path]
            if len(values) == 1:
                value = values[0]
                kind = type(value)
                if kind is str:
                    if value[4:5] == "-" and len(value) <= LONGEST_TIME and _ISO.match(value):
                        document.clocks[path] = value
                elif (kind is float and math.isfinite(value)) or (kind is int and -(2**53) <= value <= 2**53):
                    document.clocks[path] = value
    return document.clocks


def _went_back(now: ClockValue, before: ClockValue | None) -> bool | None:
    """The clock stands earlier than before; None where it stands still, or where the two cannot be compared."""
    if isinstance(now, str):
        if not isinstance(before, str) or len(now) != len(before) or now == before:
            return None
        return now < before
    return None if before is None or isinstance(before, str) or now == before else now < before


class Clocks:
    """The fields of one tool, and how often each has gone back."""

    __slots__ = ("by_key", "overall", "standing")

    def __init__(self) -> None:
        self.standing: dict[str, ClockValue] = {}
        self.overall: dict[str, Rate | None] = {}  # None: given up, the field goes back as a matter of course
        self.by_key: dict[str, Rate | None] = {}

    def back_rate(self, values: dict[str, ClockValue], last_of_key: dict[str, ClockValue]) -> tuple[float, str]:
        """The rate at which the steadiest field that went back does so, and its path; (1, "") where none went back."""
        least, steadiest = 1.0, ""
        for rates, last in ((self.overall, self.standing), (self.by_key, last_of_key)):
            for path, now in values.items():
                rate = rates.get(path)
                if rate is not None and rate.total >= CLOCK_WARM_UP and _went_back(now, last.get(path)):
                    usual = rate.mean(TIMES, 1.0) if isinstance(now, str) else rate.mean()
                    if usual < least:
                        least, steadiest = usual, path
        return least, steadiest

    def learn(self, values: dict[str, ClockValue], last_of_key: dict[str, ClockValue]) -> None:
        for rates, last in ((self.overall, self.standing), (self.by_key, last_of_key)):
            for path, now in values.items():
                back = _went_back(now, last.get(path))
                if back is not None:
                    self._count(rates, path, back)
        for path, now in values.items():
            if path not in self.standing and len(self.standing) >= MAX_PATHS:
                continue
            if not _went_back(now, self.standing.get(path)):
                self.standing[path] = now

    def kept(self, values: dict[str, ClockValue]) -> dict[str, ClockValue]:
        """Keep the values that may still turn out to be a record's clock."""
        given_up = [path for path in values if self.by_key.get(path, self) is None]
        kept = {path: value for path, value in values.items() if path not in given_up} if given_up else values
        return kept or NO_CLOCKS

    @staticmethod
    def _count(rates: dict[str, Rate | None], path: str, back: bool) -> None:
        if path not in rates:
            if len(rates) >= MAX_PATHS:
                return
            rates[path] = Rate()
        rate = rates[path]
        if rate is not None:
            rate.push(back)
            if rate.total >= CLOCK_WARM_UP and rate.mean() > GIVEN_UP_AT:
                rates[path] = None


# --- Drift: an EWMA chart on what is left of latency and size when their own inertia is taken out ---

LAMBDA: Final = 0.2  # Roberts 1959; with the limit below some 1,000 points between false alarms
LIMIT: Final = 3.2  # spreads of the EWMA
WARM_UP: Final = 30  # points
SIGMA: Final = math.sqrt(LAMBDA / (2.0 - LAMBDA))  # asymptotic spread of the EWMA of standard normal scores
WINSOR: Final = 4.0  # spreads, beyond which a point counts as this far
ALARM: Final = math.log(1_000.0)  # nats: an e-value that a run without a change reaches once in 1,000 runs
MOST: Final = ALARM + 1.0  # so that a change that ended is not told of for long
BET: Final = 0.5  # kappa of the calibrator
_LOG_BET: Final = math.log(BET)
VARIED: Final = 8.0  # answers other than the one before, after which repetition is something
LEAST_REPEATED: Final = 0.05  # a tool that never repeated itself may do so now and then all the same
POOR_REPEATED: Final = 0.6  # of answers that say little, to agents that ask alike in a row
RUNS: Final = 16  # answers whose runs are followed
RUN_STRENGTH: Final = 2.0  # calls that the tool's rate of repetitions counts for in that of one answer
MOST_INERTIA: Final = 0.95  # the slope of an autoregression stays below 1
LITTLE_INERTIA: Final = 0.3  # a slope below it is taken as none
FADING: Final = 0.99  # of the sums at each point: some 100 points
CHART_WARM_UP: Final = 20.0  # values
MOST_KEYS: Final = 16  # arguments of one run


class Stream:
    """One number's autoregression and the chart on its residuals."""

    __slots__ = ("ewma", "lag", "last", "level", "power", "residuals")

    def __init__(self) -> None:
        self.level = Level()
        self.residuals = Level()
        self.last = 0.0
        self.lag = 0.0
        self.power = 1e-9
        self.ewma = 0.0

    def score(self, x: float) -> tuple[float, float, float]:
        """The distance of ``x`` from the level, its residual, and the EWMA as it would be with it, in its spreads."""
        away = x - self.level.mean if self.level.count else 0.0  # a first point is away from nothing
        slope = min(max(self.lag / self.power, -0.9), 0.9)
        residual = away - slope * self.last
        z = (residual - self.residuals.mean) / math.sqrt(self.residuals.variance)
        ewma = (1.0 - LAMBDA) * self.ewma + LAMBDA * min(max(z, -WINSOR), WINSOR)
        return away, residual, ewma

    def push(self, x: float) -> None:
        away, residual, ewma = self.score(x)
        if self.level.count >= WARM_UP // 2:
            self.ewma = 0.0 if abs(ewma) > 2.0 * LIMIT * SIGMA else ewma
        self.lag = 0.995 * self.lag + away * self.last
        self.power = 0.995 * self.power + self.last * self.last
        self.last = away
        self.level.push(x)
        self.residuals.push(residual)


class NumberChart:
    """A field's values as a sequence: many small surprises in a row are one large one.

    An e-process: with p the two-sided p-value of a point against the level *as it stood before the run began*,
    ``log e`` grows by ``ln(kappa p^(kappa - 1))`` with kappa 1/2 (Vovk & Wang 2021, a calibrator: its mean is 1 where p
    is uniform), and a run ends where that falls to 0. By Ville's inequality a run in which nothing has changed reaches
    1/alpha with probability alpha at most; the test that begins again after each run alarms on average no more often
    than once in 1/alpha points (Shin, Ramdas & Rinaldo 2022). That holds for independent values; a number that moves
    with what came before is taken as a first-order autoregression, whose residuals are tested, and alarms are held
    against how often this tool has had such. Of the answers to the same arguments one counts in a run: the others say
    again where one record stands.
    """

    __slots__ = (
        "beyond", "evidence", "high", "keys", "lag", "last", "level", "low", "power", "slope", "spread", "stuck",
    )  # fmt: skip

    def __init__(self) -> None:
        self.evidence = 0.0  # log e of the run that is under way
        self.keys: set[bytes] = set()  # of the arguments that its points came to
        self.low = math.inf  # the range of all values but those of the run that is under way
        self.high = -math.inf
        self.beyond = Rate()  # of values, after the first 20: outside the range of those before
        self.stuck = Stuck()
        self.level = 0.0  # as it stood before the run began
        self.spread = 1.0
        self.slope = 0.0  # of the autoregression, as it stood then
        self.last = 0.0  # the last point, in spreads from the level
        self.lag = 0.0  # sums of the products of neighbours, and of squares
        self.power = 4.0

    def surprise(self, x: float, level: Level, key: bytes) -> tuple[float, bool]:
        """``log e`` of the run with this point, and whether it lies above; (0, ...) where that is no alarm."""
        if self.evidence <= 0.0:
            return 0.0, True  # no single point is an alarm
        z, p = self._place(x, level)
        evidence = self._grown(p, key)
        return (evidence if evidence >= ALARM and p < USUAL_P else 0.0), z > 0.0

    def push(self, x: float, level: Level, key: bytes) -> None:
        """Take in a point, the answer to the arguments of ``key``; the level does not have it yet."""
        if level.count < CHART_WARM_UP or (level.falls == 0 and level.only_grows):
            self.low, self.high = min(self.low, x), max(self.high, x)
            return
        z, p = self._place(x, level)
        before = self.evidence
        if before > 0.0 or p < USUAL_P:
            self.evidence = min(self._grown(p, key), MOST)
        if self.evidence > 0.0:
            if before <= 0.0:
                self.level, self.spread, self.slope = level.mean, math.sqrt(level.variance), self._inertia()
            if len(self.keys) < MOST_KEYS:
                self.keys.add(key)
        else:
            self.keys.clear()
            self.beyond.push(self.is_beyond(x))
            self.low, self.high = min(self.low, x), max(self.high, x)
        z = min(max(z, -WINSOR), WINSOR)
        self.lag = FADING * self.lag + z * self.last
        self.power = FADING * self.power + z * z
        self.last = z

    def _place(self, x: float, level: Level) -> tuple[float, float]:
        """The point in spreads from the level, and the p-value of what its inertia does not explain; 1 if usual."""
        if self.evidence > 0.0:
            mean, spread, slope = self.level, self.spread, self.slope
        else:
            mean, spread, slope = level.mean, math.sqrt(level.variance), self._inertia()
        z = (x - mean) / (spread or 1.0)
        residual = z if slope == 0.0 else (z - slope * self.last) / math.sqrt(1.0 - slope * slope)
        if -1.0 <= residual <= 1.0:
            return z, 1.0
        p = student_t4_tail(residual / math.sqrt(1.0 + 1.0 / level.count))
        if self.is_beyond(x):
            # Where the order of n values says nothing the next lies outside with P = 2/(n + 1), and oftener in a trend.
            p = min(p, max(2.0 / (level.count + 1.0), self.beyond.mean(0.5, 1.0)))
        return z, p

    def is_beyond(self, x: float) -> bool:
        """The point lies outside the range of all before the run."""
        return not self.low <= x <= self.high

    def _inertia(self) -> float:
        """The slope of a first-order autoregression: near 1 for what walks on from where it was; a small one is 0."""
        slope = self.lag / self.power
        return 0.0 if slope < LITTLE_INERTIA else slope if slope < MOST_INERTIA else MOST_INERTIA

    def _grown(self, p: float, key: bytes) -> float:
        """``log e`` with one more point. What one record says again and again is its level, and is counted once."""
        growth = _LOG_BET + (BET - 1.0) * math.log(p)
        return max(self.evidence + (min(growth, 0.0) if key in self.keys else growth), 0.0)


def is_poor(document: Document) -> bool:
    """The answer says that there is nothing: it has no value but null, zero, false and empty texts."""
    return not any(map(any, document.leaves.values()))


class Stuck:
    """Runs of one and the same result to calls with other arguments: a cache that is stuck.

    With r the share of such repetitions among this tool's calls when the run began, a run of k has the likelihood ratio
    ``r^-k`` against a tool that repeats itself by chance: an e-process, as in ``NumberChart``. An answer that came in
    runs before has the share of its own, and one that says little a large one: agents ask alike in a row.
    """

    __slots__ = ("again", "evidence", "key", "rate", "result", "run", "runs")

    def __init__(self) -> None:
        self.again = Rate()  # of calls with other arguments than the one before: the same result
        self.result = 0
        self.key = b""
        self.run = 0
        self.rate = 1.0  # as it stood before the run began
        self.evidence = 0.0
        self.runs: dict[int, Rate] = {}  # the same, by the answer before

    def grown(self, result: int, key: bytes, *, poor: bool = False) -> float:
        """``log e`` with this call in; 0 where it is no repetition."""
        if result != self.result or key == self.key:
            return 0.0
        rate = self.rate if self.run else self._usual(poor=poor)
        return self.evidence - math.log(max(rate, LEAST_REPEATED))

    def adopt(self) -> None:
        """Take the run that is under way for genuine: it is no evidence, however long it gets."""
        self.rate, self.evidence = 1.0, 0.0

    def _usual(self, *, poor: bool) -> float:
        """The rate of repetitions; 1, as far as is known, until the tool has given other answers a few times."""
        if self.again.total - self.again.hits < VARIED:
            return 1.0
        rate, own = self.again.mean(), self.runs.get(self.result)
        return max(rate, POOR_REPEATED if poor else 0.0, 0.0 if own is None else own.mean(rate, RUN_STRENGTH))

    def _count(self, again: bool) -> None:
        """Count whether the answer came again; one that never did is not followed."""
        self.again.push(again)
        own = self.runs.get(self.result)
        if own is None and again:
            own = self.runs[self.result] = Rate()
            if len(self.runs) > RUNS:
                del self.runs[next(iter(self.runs))]
        if own is not None:
            own.push(again)

    def push(self, result: int, key: bytes, *, poor: bool = False) -> None:
        """Take in a call."""
        if key == self.key:
            if result != self.result:
                self.result, self.run, self.evidence = result, 0, 0.0
            return
        if result == self.result:
            grown = min(self.grown(result, key, poor=poor), MOST)
            if not self.run:
                self.rate = self._usual(poor=poor)
            self.run += 1
            if grown < ALARM:
                self._count(True)
            self.evidence = grown
        else:
            self._count(False)
            self.run, self.evidence = 0, 0.0
        self.result, self.key = result, key


class Drift:
    """The charts of one tool, by name of the number.

    >>> drift = Drift()
    >>> drift.statistic("latency", 1.0) is None
    True
    """

    __slots__ = ("streams",)

    def __init__(self) -> None:
        self.streams: dict[str, Stream] = {}

    def count(self, name: str) -> int:
        stream = self.streams.get(name)
        return 0 if stream is None else int(stream.level.count)

    def statistic(self, name: str, x: float) -> float | None:
        """|EWMA| over its control limit with this point in: 1 and more is an alarm. None during warm-up (30 points)."""
        stream = self.streams.get(name)
        if stream is None or stream.level.count < WARM_UP:
            return None
        return abs(stream.score(x)[2]) / (LIMIT * SIGMA)

    def push(self, name: str, x: float) -> None:
        stream = self.streams.get(name)
        if stream is None:
            stream = self.streams[name] = Stream()
        stream.push(x)
