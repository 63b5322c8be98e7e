"""What a report shows, as frozen records: whoever builds them and whoever draws them meet here.

Every record is bounded: however long the log, a report has so many points, calls, tools and characters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from agentguard.admin._portrait import Portrait
from agentguard.verification.types import Verdict, VerdictCounts

__all__ = [
    "Bin", "ChangeRow", "Chart", "Content", "Drifted", "Histogram", "Limits", "Point", "Reliability", "ReportData",
    "Scale", "Slot", "Step", "Timeline", "ToolReport", "WorstCall", "log_odds", "on_scale", "to_scale",
]  # fmt: skip

Scale = Literal["log", "signed log"]
"""How a number is looked at: times as ``ln x``, what results hold as ``sign(x) ln(1 + |x|)``, as the engine does."""

_LARGEST = 700.0  # exp of it is a float


def on_scale(scale: Scale, x: float) -> float:
    """The number itself of one on a scale.

    >>> round(on_scale("log", math.log(250.0)), 6), round(on_scale("signed log", -math.log(10.0)), 6)
    (250.0, -9.0)
    """
    x = min(max(x, -_LARGEST), _LARGEST)
    return math.exp(x) if scale == "log" else math.copysign(math.expm1(abs(x)), x)


def to_scale(scale: Scale, x: float) -> float:
    """The place of a number on a scale: the inverse of ``on_scale``."""
    return math.log(x) if scale == "log" else math.copysign(math.log1p(abs(x)), x)


def log_odds(probability: float) -> float:
    """``ln(p / (1 - p))`` in nats; infinite at 0 and 1.

    >>> round(log_odds(0.15), 4)
    -1.7346
    """
    if probability <= 0.0:
        return -math.inf
    return math.inf if probability >= 1.0 else math.log(probability) - math.log1p(-probability)


class Slot(NamedTuple):
    """Verdicts on the calls numbered ``first`` to ``last``, or made in these hours since the epoch."""

    first: int
    last: int
    counts: VerdictCounts


class Timeline(NamedTuple):
    """Verdicts in the order of calls, or by the clock where the order is not known."""

    unit: Literal["call", "hour"]
    slots: tuple[Slot, ...]


class Histogram(NamedTuple):
    """How many calls have a posterior in each of so many bins of equal width over [0, 1].

    A call that is on record as one of a sample counts for all that it stands for, hence not only whole numbers.
    """

    weights: tuple[float, ...]


class Bin(NamedTuple):
    """Labelled calls with a posterior in [low, high); the last bin holds 1 too.

    Attributes:
        labels: how many there are.
        predicted: their mean posterior.
        observed: the share that was fabricated, in [0, 1].
        lower, upper: its 95% interval (Wilson 1927).
    """

    low: float
    high: float
    labels: int
    predicted: float
    observed: float
    lower: float
    upper: float


class Reliability(NamedTuple):
    """Whether posteriors mean what they say, over labelled calls.

    Attributes:
        labels, fabricated: how many labels there are, and of them on fabricated calls.
        error: expected calibration error, in [0, 1].
        brier: mean squared error of the posterior, in [0, 1].
        bins: without the empty ones.
    """

    labels: int
    fabricated: int
    error: float
    brier: float
    bins: tuple[Bin, ...]


class Limits(NamedTuple):
    """An individuals chart's centre line and spread on the chart's scale, and how many values they rest on."""

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
    """Consecutive values of a series as one point of its chart.

    Attributes:
        first: the number of the first value, from 1.
        size: how many values it stands for.
        low, mean, high: on the chart's scale.
        rules: numbers of the Western Electric rules that held at one of them.
        alarms: how often the engine's own drift check fired on this series.
    """

    first: int
    size: int
    low: float
    mean: float
    high: float
    rules: tuple[int, ...]
    alarms: int


class Chart(NamedTuple):
    """A control chart of one number of a tool's calls.

    Attributes:
        name: ``"latency"``, ``"size"``, or the path of a number in the results.
        unit: of the number itself: ``"ms"``, ``"bytes"`` or none.
        scale: that of ``limits`` and ``points``.
        limits: None below eight usable values, or where the values have no spread.
        values: all values there were; points stand for equally many each, but for the last.
        beyond: values beyond the limits (rule 1).
        runs: values at which another rule held, and rule 1 did not.
        alarms: calls on which the engine's own drift check fired on this number.
        first_alarm: the number of the first of them; None without one.
        lately: the median of the last 25 values, on the scale; None where they are among those of the limits.
    """

    name: str
    unit: str
    scale: Scale
    limits: Limits | None
    points: tuple[Point, ...]
    values: int
    beyond: int
    runs: int
    alarms: int
    first_alarm: int | None
    lately: float | None


class Step(NamedTuple):
    """What one signal added to the log-odds in nats, and the sum with it in; ``p_value`` as in ``SignalResult``."""

    signal: str
    nats: float
    running: float
    detail: str
    p_value: float | None


class Content(NamedTuple):
    """A call's own arguments and result as text, cut; in a report only where that was asked for."""

    args: str
    result: str


class WorstCall(NamedTuple):
    """A call opened up.

    Attributes:
        number: among all calls of the report, from 1.
        place: where it is recorded: file and line, or time.
        steps: those that add something, from what speaks most against the call to what speaks most for it.
        remainder: nats between the sum of the steps and the posterior: rounding, or the engine's bound on it.
        silent: names of the signals that add nothing.
        label: what the log or a reviewer says of it; empty where nobody did.
    """

    number: int
    place: str
    tool: str
    call_id: str
    session_id: str
    verdict: Verdict
    prior: float
    posterior: float
    false_block_p: float | None
    steps: tuple[Step, ...]
    remainder: float
    silent: tuple[str, ...]
    explanation: str
    label: str
    content: Content | None


class ChangeRow(NamedTuple):
    """A lasting change of a tool.

    Attributes:
        what: what is odd about the results.
        state: as in ``verification.changes``.
        since: when its state began, as text.
        calls: on record, that look like it; the same call with the same result counts once.
        blocked: of these.
        reviewed: a person has decided what it is.
    """

    id: str
    tool: str
    what: str
    state: str
    since: str
    calls: int
    blocked: int
    reviewed: bool


class Drifted(NamedTuple):
    """A number of a tool that is not what it was.

    Attributes:
        what: its name, as in ``Chart``.
        learned, lately: the number itself, when the limits were set and in the latest values; None where not known.
        sigmas: the distance between the two, in the chart's sigma; None where not known.
        alarms: calls on which the engine's own drift check fired on it; None where that is not on record.
        first: the number of the first of them.
        now: |EWMA| over its control limit as the engine has it now: 1 and more is an alarm; None where not known.
    """

    what: str
    unit: str
    learned: float | None
    lately: float | None
    sigmas: float | None
    alarms: int | None
    first: int | None
    now: float | None


class ToolReport(NamedTuple):
    """One tool.

    Attributes:
        mean_posterior: of its calls; None where accepted calls are not on record.
        histogram: of its posteriors.
        charts: latency first, then the most telling numbers of its results.
        drifted: what is not what it was.
        learned: by mode; a text says why there is none.
        notes: what else is to be known of this section.
    """

    name: str
    counts: VerdictCounts
    mean_posterior: float | None
    histogram: Histogram
    charts: tuple[Chart, ...]
    drifted: tuple[Drifted, ...]
    learned: Mapping[str, Portrait | str]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReportData:
    """Everything a report shows.

    Attributes:
        title: of the page.
        source: what was looked at, as it may be shown.
        kind: a log of calls that were judged anew, or a store of what was judged.
        mode: the way of judging; empty for a store, which may hold several.
        made: when, as text.
        version: of agentguard.
        accept_below, block_at: the thresholds that are drawn.
        counts: the verdicts on all calls.
        labels: by label, most frequent first; empty without labels.
        timeline, histogram, reliability: of all calls; no reliability without labels.
        worst: the worst calls, worst first.
        tools: most blocked first, then most flagged, then most called.
        more_tools: how many others there are.
        notes: what else is to be known of the whole.
        changes: lasting ones, the open ones first; none of a log.
        more_changes: how many others there are.
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
    changes: tuple[ChangeRow, ...] = ()
    more_changes: int = 0
