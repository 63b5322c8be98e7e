"""Frozen records of a report: whoever builds one and whoever draws it meet here.

Every record is bounded: however long the log, a report has so many points, calls, tools and characters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from agentguard.admin._portrait import Portrait
from agentguard.verification._changes import Change
from agentguard.verification.types import Verdict, VerdictCounts

Scale = Literal["log", "signed log"]
"""Of a chart: times as ``ln x``, numbers in results as ``sign(x) ln(1 + |x|)``; the engine's own scales."""

_LARGEST = 700.0  # exp of it is a float


def on_scale(scale: Scale, x: float) -> float:
    """Map a number on a scale back to the number itself.

    >>> round(on_scale("log", math.log(250.0)), 6), round(on_scale("signed log", -math.log(10.0)), 6)
    (250.0, -9.0)
    """
    x = min(max(x, -_LARGEST), _LARGEST)
    return math.exp(x) if scale == "log" else math.copysign(math.expm1(abs(x)), x)


def to_scale(scale: Scale, x: float) -> float:
    """Map a number to its scale: the inverse of ``on_scale``."""
    return math.log(x) if scale == "log" else math.copysign(math.log1p(abs(x)), x)


class Slot(NamedTuple):
    """Verdicts on the calls numbered ``first`` to ``last``, or made in these hours since the epoch."""

    first: int
    last: int
    counts: VerdictCounts


class Timeline(NamedTuple):
    """Verdicts in the order of calls, or by hour if the order is not known."""

    unit: Literal["call", "hour"]
    slots: tuple[Slot, ...]


class Histogram(NamedTuple):
    """Calls by posterior, in bins of equal width over [0, 1].

    A sampled call counts for all that it stands for, so weights need not be whole numbers.
    """

    weights: tuple[float, ...]


class Bin(NamedTuple):
    """Labelled calls with a posterior in [low, high), or in [low, 1] for the last bin."""

    low: float
    high: float
    labels: int  # their number
    predicted: float  # their mean posterior
    observed: float  # the share that was fabricated, in [0, 1]
    lower: float  # to ``upper``: its 95% interval (Wilson 1927)
    upper: float


class Reliability(NamedTuple):
    """Calibration of the posteriors, over labelled calls."""

    labels: int  # their number
    fabricated: int  # number of those that say fabricated
    error: float  # expected calibration error, in [0, 1]
    brier: float  # mean squared error of the posterior, in [0, 1]
    bins: tuple[Bin, ...]  # without the empty ones


class Limits(NamedTuple):
    """An individuals chart's centre line and sigma on the chart's scale, and the number of values behind them."""

    centre: float
    sigma: float
    values: int

    @property
    def lower(self) -> float:
        """Three sigma below the centre."""
        return self.centre - 3.0 * self.sigma

    @property
    def upper(self) -> float:
        """Three sigma above the centre."""
        return self.centre + 3.0 * self.sigma


class Point(NamedTuple):
    """Consecutive values of a series as one point of its chart, on the chart's scale."""

    first: int  # the number of the first value, from 1
    size: int  # number of values
    low: float
    mean: float
    high: float
    rules: tuple[int, ...]  # numbers of the Western Electric rules that held at one of the values
    alarms: int  # number of times the engine's own drift check fired on this series


class Chart(NamedTuple):
    """A control chart of one number of a tool's calls."""

    name: str  # ``"latency"``, ``"size"``, or the path of a number in the results
    unit: str  # of the number itself: ``"ms"``, ``"bytes"`` or empty
    scale: Scale  # of ``limits`` and ``points``
    limits: Limits | None  # None below eight usable values, or if the values have no spread
    points: tuple[Point, ...]
    values: int  # number of all values; every point but the last stands for equally many
    beyond: int  # values beyond the limits (rule 1)
    runs: int  # values at which another rule held, and rule 1 did not
    alarms: int  # calls on which the engine's own drift check fired on this number
    first_alarm: int | None  # number of the value at the first of them; None without one
    lately: float | None  # median of the last 25 values, on the scale; None if the limits rest on some of these

    def number(self, x: float) -> float:
        """Map a value on the chart's scale back to the number itself."""
        return on_scale(self.scale, x)


class Step(NamedTuple):
    """One signal's contribution to the log-odds in nats, and the running sum; ``p_value`` as in ``SignalResult``."""

    signal: str
    nats: float
    running: float
    detail: str
    p_value: float | None


class Content(NamedTuple):
    """A call's arguments and result as text, cut; in a report only on request."""

    args: str
    result: str


class WorstCall(NamedTuple):
    """One of the worst calls, with the sum behind its posterior."""

    number: int  # among all calls of the report, from 1
    place: str  # of the record: file and line, or time
    tool: str
    call_id: str
    session_id: str
    verdict: Verdict
    prior: float
    posterior: float
    false_block_p: float | None
    steps: tuple[Step, ...]  # contributions other than 0, from the most incriminating to the most exonerating
    remainder: float  # nats between the sum of the steps and the posterior: rounding, or the engine's bound on it
    silent: tuple[str, ...]  # names of the signals that add nothing
    explanation: str
    label: str  # from the log or a reviewer; empty without one
    content: Content | None


class Drifted(NamedTuple):
    """A number of a tool that has drifted."""

    what: str  # its name, as in ``Chart``
    unit: str
    learned: float | None  # the number itself when the limits were set, as the next one None if not known
    lately: float | None  # the number itself in the latest values
    sigmas: float | None  # the distance between the two, in the chart's sigma; None if not known
    alarms: int | None  # number of calls on which the engine's own drift check fired on it; None if not on record
    first: int | None  # number of the value at the first of them
    now: float | None  # |EWMA| over its control limit in the engine now: 1 and more is an alarm; None if not known


class ToolReport(NamedTuple):
    """One tool."""

    name: str
    counts: VerdictCounts
    mean_posterior: float | None  # of its calls; None if accepted calls are not on record
    histogram: Histogram  # of its posteriors
    charts: tuple[Chart, ...]  # latency first, then the most telling numbers of its results
    drifted: tuple[Drifted, ...]  # numbers that have drifted
    learned: Mapping[str, Portrait | str]  # by mode; a text in place of a portrait says why there is none
    notes: tuple[str, ...]  # sentences for this section


class UnsupportedClaim(NamedTuple):
    """A claim of an agent that its session's calls do not support."""

    session: str
    place: str  # of the answer: file and line
    verdict: str  # "contradicted" or "never called"
    tool: str  # of the call that contradicts it; empty without one
    words: str | None  # of the claim; None unless content was asked for
    reason: str | None  # the same


class Claims(NamedTuple):
    """What the agents of a log say that they did, held against the calls of their sessions."""

    answers: int  # that were held against calls
    verdicts: tuple[tuple[str, int], ...]  # numbers of claims
    values: int  # numbers, dates, identifiers and names that no result has
    traced: int  # those that one has
    unsupported: tuple[UnsupportedClaim, ...]
    more: int  # number of unsupported claims left out


@dataclass(frozen=True, slots=True)
class ReportData:
    """The content of a report.

    Attributes:
        title: of the page.
        source: name of the log or address of the store, fit to be shown.
        kind: ``"calls"`` for a log that was judged anew, ``"store"`` for a store.
        mode: the engine's; empty for a store, which may hold several.
        made: date of the report, as text.
        version: of agentguard.
        accept_below, block_at: the thresholds that are drawn.
        counts: verdicts on all calls.
        labels: verdicts by label, most frequent first; empty without labels.
        timeline, histogram, reliability: of all calls; no reliability without labels.
        worst: worst first.
        tools: most blocked first, then most flagged, then most called.
        more_tools: number of tools left out.
        notes: sentences about the whole.
        changes: lasting changes, open ones first; empty for a log.
        more_changes: number of changes left out.
        claims: what agents say that they did; None where the log has no answers, and for a store.
    """

    title: str
    source: str
    kind: Literal["calls", "store"]
    mode: str
    made: str
    version: str
    accept_below: float
    block_at: float
    counts: VerdictCounts
    labels: tuple[tuple[str, VerdictCounts], ...]
    timeline: Timeline
    histogram: Histogram
    reliability: Reliability | None
    worst: tuple[WorstCall, ...]
    tools: tuple[ToolReport, ...]
    more_tools: int
    notes: tuple[str, ...]
    changes: tuple[Change, ...] = ()
    more_changes: int = 0
    claims: Claims | None = None
