"""Charts of a report as SVG: control chart, timeline, histogram, reliability diagram and waterfall.

A chart is a ``Figure``: picture, caption, legend, and a table of the same numbers. The body of a plot is stretched
to the width of the page; its lines and marks are strokes, which are not. Labels stand outside of it, in pictures of
fixed height that are not stretched: text has one size on a phone and on a wide screen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final, NamedTuple, TypeAlias, TypeVar

from agentguard._pages import clean
from agentguard.report._records import (
    Chart,
    Histogram,
    Limits,
    Point,
    Reliability,
    Scale,
    Slot,
    Timeline,
    WorstCall,
    on_scale,
    to_scale,
)
from agentguard.report._text import cut, many, nats, of_unit, p_of, percent, short, when
from agentguard.verification.statistics import log_odds

Item = TypeVar("Item")

# --- Elements of a picture ---

TAGS: Final = frozenset("circle desc div path rect svg text title".split())
ATTRIBUTES: Final = frozenset(
    "aria-hidden aria-labelledby class cx cy d height id preserveAspectRatio r role rx text-anchor viewBox width x "
    "y".split()
)


class Element(NamedTuple):
    """An element of a picture; ``str`` of it is its markup."""

    tag: str
    attributes: tuple[tuple[str, str], ...]
    children: tuple[Element | str, ...]

    def __str__(self) -> str:
        attributes = "".join(f' {name}="{escape(clean(value))}"' for name, value in self.attributes)
        inner = "".join(
            escape(clean(each), quote=False) if isinstance(each, str) else str(each) for each in self.children
        )
        return f"<{self.tag}{attributes}>{inner}</{self.tag}>"

    def __html__(self) -> str:  # tells a template that it is escaped already
        return str(self)


Nodes: TypeAlias = "Element | str | Iterable[Element] | None"


def h(tag: str, *children: Nodes, **attributes: str | float | None) -> Element:
    """Make an element of a picture.

    Args:
        tag: one of ``TAGS``.
        children: elements, iterables of them, and text; None is left out.
        attributes: underscores stand for hyphens, one at the end for nothing; None is left out, a float is rounded to
            a tenth.

    Raises:
        ValueError: for a tag or an attribute that no picture has, such as one that runs or loads something.

    >>> str(h("text", "a < b", class_="note", x=1.25))
    '<text class="note" x="1.2">a &lt; b</text>'
    """
    if tag not in TAGS:
        raise ValueError(f"no picture has a <{tag}>")
    written = []
    for key, value in attributes.items():
        name = key.rstrip("_").replace("_", "-")
        if name not in ATTRIBUTES:
            raise ValueError(f"no element has an attribute {name!r}")
        if value is not None:
            written.append((name, _tenth(value) if isinstance(value, float) else str(value)))
    flat: list[Element | str] = []
    for child in children:
        if isinstance(child, (str, Element)):
            flat.append(child)
        elif child is not None:
            flat += child
    return Element(tag, tuple(written), tuple(flat))


def _tenth(x: float) -> str:
    return f"{x:.1f}".removesuffix(".0")


# --- Figures ---

WIDTH: Final = 1_000.0  # of the body of a plot in its own units, whatever its width on the screen
LABELS: Final = 78  # pixels of the labels beside a plot


class Table(NamedTuple):
    """The numbers of a picture."""

    name: str  # for screen readers
    columns: Sequence[str]  # their heads; the first cell of each row is its head
    rows: Sequence[tuple[str, ...]]  # the cells
    more: str = ""  # a line below the table


class Label(NamedTuple):
    """Text beside or under a plot: ``at`` in pixels from the top, or in hundredths from the left."""

    at: float
    text: str
    kind: str = ""


class Key(NamedTuple):
    """An entry of a legend: the class of the mark, its path, and what it stands for."""

    mark: str
    path: str
    text: str


class Figure(NamedTuple):
    """A picture with its caption, a note beside the caption, its legend, and the table of its numbers."""

    kind: str
    caption: str
    note: str
    picture: Element
    numbers: Table
    keys: Sequence[Key] = ()


def _picture(
    ids: Iterator[int], title: str, words: str, body: Nodes, size: tuple[float, float], **attributes: str | float
) -> Element:
    """An SVG with its title and its description in words; ``ids`` numbers both, once in the page."""
    title_id, words_id = f"n{next(ids)}", f"n{next(ids)}"
    return h(
        "svg", h("title", title, id=title_id), h("desc", words, id=words_id), body, role="img",
        viewBox=f"0 0 {size[0]:.0f} {size[1]:.0f}", aria_labelledby=f"{title_id} {words_id}", **attributes,
    )  # fmt: skip


def _plot(
    ids: Iterator[int],
    title: str,
    words: str,
    body: Iterable[Element],
    *,
    height: int,
    left: Sequence[Label] = (),
    right: Sequence[Label] = (),
    below: Sequence[Label] = (),
) -> Element:
    """A picture that is stretched, with labels at its left and right (by their baseline) and under it (in hundredths).

    The body is drawn on ``WIDTH`` by ``height`` pixels; ``words`` describe it.
    """
    size = (WIDTH, height)
    picture = _picture(ids, title, words, body, size, class_="body", preserveAspectRatio="none", height=height)
    under = h("svg", map(_under, below), class_="under", height=20, aria_hidden="true")
    beside = _beside(right, height, "right") if right else None
    return h("div", _beside(left, height, "left"), picture, beside, under, class_=f"plot {'both' if right else 'one'}")


def _beside(labels: Sequence[Label], height: int, side: str) -> Element:
    x, anchor = (LABELS - 8, "end") if side == "left" else (8, "start")
    texts = [h("text", label.text, class_=label.kind or None, x=x, y=label.at, text_anchor=anchor) for label in labels]
    return h("svg", texts, class_=side, width=LABELS, height=height, aria_hidden="true")


def _under(label: Label) -> Element:
    """Labels at the ends stay within the plot."""
    anchor = "start" if label.at <= 0.0 else "end" if label.at >= 100.0 else "middle"
    return h("text", label.text, class_=label.kind or None, x=f"{label.at:g}%", y=14, text_anchor=anchor)


def dots(points: Iterable[tuple[float, float]]) -> str:
    """A path of points: subpaths without length, which a round line cap makes visible.

    >>> dots([(1.0, 2.0), (10.25, 3.0)])
    'M1 2h0M10.2 3h0'
    """
    return "".join(f"M{_tenth(x)} {_tenth(y)}h0" for x, y in points)


def rungs(lines: Iterable[tuple[float, float, float]]) -> str:
    """A path of upright lines, each by its place and its two ends.

    >>> rungs([(1.0, 2.0, 30.0)])
    'M1 2V30'
    """
    return "".join(f"M{_tenth(x)} {_tenth(start)}V{_tenth(end)}" for x, start, end in lines)


# --- Axes ---

MOST_TICKS: Final = 5
LEAST_STEP: Final = 1e-300  # between two numbers beside an axis


class Axis(NamedTuple):
    """Maps the numbers from ``low`` to ``high`` to the coordinates from ``start`` to ``end``.

    >>> axis = Axis(0.0, 10.0, start=200.0, end=0.0)
    >>> axis.at(10.0), axis.at(2.5)
    (0.0, 150.0)
    """

    low: float
    high: float
    start: float
    end: float

    def at(self, x: float) -> float:
        """The coordinate of a number; that of the nearer end for one beyond the ends."""
        share = (min(max(x, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Coordinates for labels: near the wanted ones, in their order, ``gap`` apart, within ``low`` and ``high``.

    >>> spread([10.0, 12.0, 50.0], gap=10.0, low=0.0, high=60.0)
    [10.0, 20.0, 50.0]
    """
    order = sorted(range(len(wanted)), key=lambda k: wanted[k])
    result = [0.0] * len(wanted)
    # Push labels up from the low end until they are apart, then back down from the high end.
    lowest = low
    for k in order:
        result[k] = lowest = max(wanted[k], lowest)
        lowest += gap
    highest = high
    for k in reversed(order):
        result[k] = highest = min(result[k], highest)
        highest -= gap
    return result


def ticks(low: float, high: float, scale: Scale) -> list[float]:
    """Round numbers between two ends on a scale, two to five if there are any; the numbers themselves, unscaled.

    >>> ticks(math.log(80.0), math.log(1300.0), "log")
    [100.0, 200.0, 500.0, 1000.0]
    >>> ticks(math.log1p(17.0), math.log1p(24.0), "signed log")
    [18.0, 20.0, 22.0, 24.0]
    """
    first, last = on_scale(scale, low), on_scale(scale, high)
    if first > 0.0 and last / first > 8.0:
        return _decades(first, last)
    apart = (last - first) / (MOST_TICKS - 1)
    if not LEAST_STEP <= apart < math.inf:
        return []
    step = _round_step(apart)
    start = math.ceil(first / step - 1e-9)
    steps = [float(f"{k * step:.12g}") for k in range(start, start + MOST_TICKS + 1) if k * step <= last + 1e-9 * step]
    return steps if scale == "signed log" else [x for x in steps if x > 0.0]


def _decades(first: float, last: float) -> list[float]:
    from_, to = math.floor(math.log10(first)), math.ceil(math.log10(last))
    for digits in ((1, 2, 5), (1, 3), (1,)):
        steps = [float(f"{digit}e{k}") for k in range(from_, to + 1) for digit in digits]
        steps = [x for x in steps if first <= x <= last]
        if len(steps) <= MOST_TICKS:
            return steps
    return steps[:: math.ceil(len(steps) / MOST_TICKS)]


def _round_step(x: float) -> float:
    """The least of 1, 2, 2.5, 5 and 10 times a power of ten that is at least ``x``."""
    power = 10.0 ** math.floor(math.log10(x))
    return next(power * digit for digit in (1.0, 2.0, 2.5, 5.0, 10.0, 20.0) if power * digit >= x * (1 - 1e-9))


# --- Control chart: values in their order, centre line, limits and alarms ---

CONTROL_HEIGHT: Final = 170
CONTROL_EDGE: Final = 14.0  # pixels above and below the values, for marks
LABEL_GAP: Final = 13.0  # pixels between two labels
CONTROL_ROWS: Final = 20
FARTHEST: Final = 8.0  # sigma from the centre that are drawn; values farther off stand at the edge


def control_chart(ids: Iterator[int], chart: Chart, tool: str) -> Figure:
    """An individuals chart of one number of a tool's calls."""
    across, up = _axes(chart)
    name = cut(chart.name, 60) if chart.unit else f"field {cut(chart.name, 60)}"
    note = _limits_note(chart)
    picture = _plot(
        ids, f"Control chart: {name} of {cut(tool, 60)}", _in_words(chart, note), _control_body(chart, across, up),
        height=CONTROL_HEIGHT,
        left=[
            Label(up.at(to_scale(chart.scale, x)) + 4.0, short(x, chart.unit))
            for x in ticks(up.low, up.high, chart.scale)
        ],
        right=[] if chart.limits is None else _limit_labels(chart, chart.limits, up),
        below=[Label(0.0, "first"), Label(50.0, many(chart.values, "value")), Label(100.0, "latest")],
    )  # fmt: skip
    numbers = _control_numbers(chart, f"{name} of {cut(tool, 60)}")
    return Figure("control", name[:1].upper() + name[1:], note, picture, numbers, list(_control_keys(chart)))


def _axes(chart: Chart) -> tuple[Axis, Axis]:
    lows, highs = [point.low for point in chart.points], [point.high for point in chart.points]
    if chart.limits is not None:
        lows, highs = [*lows, chart.limits.lower], [*highs, chart.limits.upper]
    low, high = min(lows, default=0.0), max(highs, default=1.0)
    if chart.limits is not None:
        room = FARTHEST * chart.limits.sigma
        low, high = max(low, chart.limits.centre - room), min(high, chart.limits.centre + room)
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    up = Axis(low, high, CONTROL_HEIGHT - CONTROL_EDGE, CONTROL_EDGE)
    return Axis(0.0, float(max(chart.values, 1)), 0.0, WIDTH), up


def _control_body(chart: Chart, across: Axis, up: Axis) -> Iterator[Element]:
    if chart.limits is not None:
        top, bottom = up.at(chart.limits.upper), up.at(chart.limits.lower)
        yield h("rect", class_="within", x=0, y=top, width=WIDTH, height=bottom - top)
        yield h("path", class_="limit", d=f"M0 {top:.1f}H{WIDTH:.0f}M0 {bottom:.1f}H{WIDTH:.0f}")
        yield h("path", class_="centre", d=f"M0 {up.at(chart.limits.centre):.1f}H{WIDTH:.0f}")
    # Value k of n stands between k - 1 and k, a point of several values in their middle.
    points = [(across.at(point.first - 1 + point.size / 2.0), point) for point in chart.points]
    yield h("path", class_="line", d="M" + "L".join(f"{x:.1f} {up.at(point.mean):.1f}" for x, point in points))
    beyond = dots((x, up.at(_farthest(chart, point))) for x, point in points if 1 in point.rules)
    foot = CONTROL_HEIGHT - 5.0, float(CONTROL_HEIGHT)
    marks = {
        "range": rungs((x, up.at(point.low), up.at(point.high)) for x, point in points if point.high > point.low),
        "value": dots((x, up.at(point.mean)) for x, point in points if 1 not in point.rules),
        "beyond": beyond,
        "hole": beyond,
        "run": rungs((x, *foot) for x, point in points if set(point.rules) - {1}),
        "alarm": dots((x, 5.0) for x, point in points if point.alarms),
    }
    yield from (h("path", class_=mark, d=path) for mark, path in marks.items() if path or mark == "value")


def _farthest(chart: Chart, point: Point) -> float:
    """The point's value farthest from the centre, which is beyond the limits if any of them is."""
    centre = point.mean if chart.limits is None else chart.limits.centre
    return max(point.low, point.high, key=lambda x: abs(x - centre))


def _limit_labels(chart: Chart, limits: Limits, up: Axis) -> list[Label]:
    named = [("upper", limits.upper), ("centre", limits.centre), ("lower", limits.lower)]
    baselines = spread([up.at(x) + 4.0 for _, x in named], LABEL_GAP, 10.0, CONTROL_HEIGHT - 2.0)
    return [Label(y, short(chart.number(x), chart.unit), name) for y, (name, x) in zip(baselines, named, strict=True)]


def _told(chart: Chart, x: float) -> str:
    """A value on the chart's scale as its number, with the unit."""
    return of_unit(chart.number(x), chart.unit)


def _limits_note(chart: Chart) -> str:
    limits = chart.limits
    if limits is None:
        return f"{many(chart.values, 'value')}; no limits: fewer than 8 values of accepted calls, or all alike"
    lower, centre, upper = (_told(chart, x) for x in (limits.lower, limits.centre, limits.upper))
    return f"centre {centre}, limits {lower} to {upper}, by {many(limits.values, 'value')} of accepted calls"


def _in_words(chart: Chart, note: str) -> str:
    parts = [note]
    if chart.limits is not None:
        values = many(chart.values, "value")
        parts.append(f"{chart.beyond:,} of {values} beyond the limits, {chart.runs:,} more in runs")
    if chart.alarms:
        alarms = many(chart.alarms, "alarm of drift", "alarms of drift")
        parts.append(f"{alarms}, the first at value {chart.first_alarm:,}")
    if chart.lately is not None:
        parts.append(f"lately {_told(chart, chart.lately)}")
    return ". ".join(parts) + "."


def _control_keys(chart: Chart) -> Iterator[Key]:
    if chart.points and chart.points[0].size > 1:
        yield Key("range", "M8 1V11", f"{chart.points[0].size:,} values a point: mean, lowest and highest")
    if chart.beyond:
        yield Key("beyond", "M8 6h0", f"beyond the limits: {chart.beyond:,}{_off_the_picture(chart)}")
    if chart.runs:
        yield Key("run", "M8 3V10", f"in a run to one side: {chart.runs:,}")
    if chart.alarms:
        text = f"the guard's own drift alarm: {chart.alarms:,}, first at value {chart.first_alarm:,}"
        yield Key("alarm", "M8 6h0", text)


def _off_the_picture(chart: Chart) -> str:
    """How far the values go that stand at the edge, if there are any."""
    if chart.limits is None:
        return ""
    low, high = min(point.low for point in chart.points), max(point.high for point in chart.points)
    room, parts = FARTHEST * chart.limits.sigma, []
    if low < chart.limits.centre - room:
        parts.append(f"down to {short(chart.number(low), chart.unit)}")
    if high > chart.limits.centre + room:
        parts.append(f"up to {short(chart.number(high), chart.unit)}")
    return f", {' and '.join(parts)} (at the edge)" if parts else ""


def _control_numbers(chart: Chart, name: str) -> Table:
    rows = []
    for group in _groups(chart.points, CONTROL_ROWS):
        last, size = group[-1].first + group[-1].size - 1, sum(point.size for point in group)
        mean = sum(point.mean * point.size for point in group) / size
        numbers = [min(p.low for p in group), mean, max(p.high for p in group)]
        rows.append(
            (
                f"{group[0].first:,}–{last:,}" if last > group[0].first else f"{last:,}",
                *(_told(chart, x) for x in numbers),
                f"{sum(1 in p.rules for p in group):,}", f"{sum(p.alarms for p in group):,}",
            )
        )  # fmt: skip
    columns = ("values", "lowest", "mean", "highest", "points beyond", "drift alarms")
    note = "Means are taken on the chart's scale." if any(point.high > point.low for point in chart.points) else ""
    return Table(f"Numbers of the chart of {name}", columns, rows, more=note)


def _groups(items: Sequence[Item], most: int) -> Iterator[Sequence[Item]]:
    """Neighbours put together, in at most so many groups of equal size but for the last."""
    step = max(-(-len(items) // most), 1)
    return (items[k : k + step] for k in range(0, len(items), step))


# --- Timeline: verdicts in the order of calls, or by the clock ---

TIMELINE_HEIGHT: Final = 120
TIMELINE_TOP: Final = 6.0
LEAST_BAR: Final = 3.0  # pixels of a flagged or blocked call among thousands
TIMELINE_ROWS: Final = 24


def timeline(ids: Iterator[int], verdicts: Timeline) -> Figure:
    """Calls as pale bars; blocked ones at their foot, flagged ones above those."""
    slots = verdicts.slots
    most = max((slot.counts.calls for slot in slots), default=0) or 1
    width = WIDTH / max(len(slots), 1)
    inset = min(width * 0.1, 2.0)
    bars: dict[str, list[Element]] = {"calls": [], "flag": [], "block": []}

    def draw(kind: str, k: int, count: int, least: float = 0.0, foot: float = 0.0) -> float:
        """Draw a bar of slot k, from ``foot`` pixels up; its height."""
        if not count:
            return 0.0
        height = max((TIMELINE_HEIGHT - TIMELINE_TOP) * count / most, least)
        x, y = k * width + inset, TIMELINE_HEIGHT - foot - height
        bars[kind].append(h("rect", class_=kind, x=x, y=y, width=width - 2 * inset, height=height))
        return height

    for k, slot in enumerate(slots):
        draw("calls", k, slot.counts.calls)
        block = draw("block", k, slot.counts.block, LEAST_BAR)
        draw("flag", k, slot.counts.flag, LEAST_BAR, foot=block)
    calls = sum(slot.counts.calls for slot in slots)
    flagged, blocked = sum(slot.counts.flag for slot in slots), sum(slot.counts.block for slot in slots)
    words = f"{many(calls, 'call')}, {flagged:,} flagged and {blocked:,} blocked."
    if slots:
        worst = max(slots, key=lambda slot: (slot.counts.suspects, -slot.first))
        if worst.counts.suspects:
            share = f"{worst.counts.suspects:,} of {worst.counts.calls:,}"
            words += f" Most of these at {_slot_name(verdicts, worst)}: {share}."
    by_call = verdicts.unit == "call"
    ends = [f"call {at:,}" if by_call else when(at) for at in (slots[0].first, slots[-1].last)] if slots else []
    unit = f", {many(slots[0].last - slots[0].first + 1, verdicts.unit)} a bar" if slots else ""
    picture = _plot(
        ids, "Timeline of verdicts", words, [*bars["calls"], *bars["flag"], *bars["block"]], height=TIMELINE_HEIGHT,
        left=[Label(TIMELINE_TOP + 4.0, short(most)), Label(TIMELINE_HEIGHT - 1.0, "0")],
        below=[Label(100.0 * k, end) for k, end in enumerate(ends)],
    )  # fmt: skip
    rows = [
        (
            _slot_name(verdicts, Slot(group[0].first, group[-1].last, group[0].counts)),
            *(f"{sum(slot.counts[k] for slot in group):,}" for k in range(3)),
        )
        for group in _groups(slots, TIMELINE_ROWS)
    ]
    columns = ("calls" if by_call else "from", "accepted", "flagged", "blocked")
    block_mark = "M2 6H14"
    keys = [
        Key("keycalls", block_mark, f"all calls: {calls:,}"),
        Key("keyflag", block_mark, f"flagged: {flagged:,}"),
        Key("keyblock", block_mark, f"blocked: {blocked:,}"),
    ]
    note = f"in the order of calls{unit}" if by_call else f"by the clock (UTC){unit}"
    return Figure("timeline", "Timeline", note, picture, Table("Verdicts in their order", columns, rows), keys)


def _slot_name(verdicts: Timeline, slot: Slot) -> str:
    if verdicts.unit == "hour":
        return when(slot.first)
    return f"calls {slot.first:,} to {slot.last:,}" if slot.last > slot.first else f"call {slot.first:,}"


# --- Histogram: how sure the guard was, and where the thresholds cut ---

HISTOGRAM_HEIGHT: Final = 130
HISTOGRAM_TOP: Final = 8.0
LEAST_HEIGHT: Final = 2.0  # pixels of a bar that is not empty
INSET: Final = 2.0


def histogram(ids: Iterator[int], posteriors: Histogram, accept_below: float, block_at: float, *, of: str) -> Figure:
    """Posteriors, calls on a logarithmic scale: one suspect among thousands is seen."""
    bins, most, total = len(posteriors.weights), max(posteriors.weights, default=0.0), math.fsum(posteriors.weights)
    bars = [
        h(
            "rect", class_="bar", x=k * WIDTH / bins + INSET, y=HISTOGRAM_HEIGHT - height,
            width=WIDTH / bins - 2 * INSET, height=height,
        )
        for k, weight in enumerate(posteriors.weights)
        if (height := _bar_height(weight, most)) > 0.0
    ]  # fmt: skip
    thresholds = rungs((WIDTH * x, 0.0, float(HISTOGRAM_HEIGHT)) for x in (accept_below, block_at))
    marks = [10.0**k for k in range(10) if 10.0**k <= most]
    marks = marks[:: -(-len(marks) // 4) or 1]

    def within(low: float, high: float) -> float:
        return math.fsum(weight for k, weight in enumerate(posteriors.weights) if low - 1e-9 <= k / bins < high - 1e-9)

    words = (
        f"{many(total, 'call')}: {within(0.0, accept_below):,.0f} below {accept_below:g}, "
        f"{within(block_at, 1.0):,.0f} from {block_at:g} on (to the nearest twentieth)."
    )
    below = [Label(0.0, "0"), Label(100.0 * accept_below, f"flag {accept_below:g}")]
    below += [Label(100.0 * block_at, f"block {block_at:g}")] if block_at < 0.93 else []
    picture = _plot(
        ids, f"Histogram of the posteriors of {of}", words, [*bars, h("path", class_="threshold", d=thresholds)],
        height=HISTOGRAM_HEIGHT,
        left=[Label(HISTOGRAM_HEIGHT - _bar_height(mark, most) + 4.0, short(mark)) for mark in marks],
        below=[*below, Label(100.0, "1")],
    )  # fmt: skip
    rows = [
        (f"{k / bins:.2f}–{(k + 1) / bins:.2f}", f"{weight:,.0f}")
        for k, weight in enumerate(posteriors.weights)
        if weight
    ]
    numbers = Table(f"Posteriors of {of}", ("posterior", "calls"), rows)
    return Figure("histogram", "Posteriors", f"P(fabricated) of {of}, calls on a logarithmic scale", picture, numbers)


def _bar_height(weight: float, most: float) -> float:
    """Pixels: proportional to log(1 + calls), the most filling the picture."""
    if weight <= 0.0:
        return 0.0
    return max((HISTOGRAM_HEIGHT - HISTOGRAM_TOP) * math.log1p(weight) / math.log1p(most), LEAST_HEIGHT)


# --- Reliability diagram: the share of labelled calls that was fabricated, by posterior ---

SQUARE: Final = 250.0  # side of the square of shares against posteriors, in pixels
SQUARE_LEFT: Final = 46.0
SQUARE_TOP: Final = 8.0
SQUARE_BELOW: Final = 40.0
_X = Axis(0.0, 1.0, SQUARE_LEFT, SQUARE_LEFT + SQUARE)
_Y = Axis(0.0, 1.0, SQUARE_TOP + SQUARE, SQUARE_TOP)


def reliability_diagram(ids: Iterator[int], calibration: Reliability) -> Figure:
    """On the diagonal a posterior means what it says; bars are 95% intervals."""
    words = (
        f"{many(calibration.labels, 'label')}, {calibration.fabricated:,} of fabricated calls. Calibration error "
        f"{calibration.error:.3f}, Brier score {calibration.brier:.3f}."
    )
    picture = _picture(
        ids, "Reliability diagram", words, _reliability_body(calibration),
        (SQUARE_LEFT + SQUARE + 10.0, SQUARE_TOP + SQUARE + SQUARE_BELOW), class_="fixed square",
    )  # fmt: skip
    rows = [
        (
            f"{bin.low:.1f}–{bin.high:.1f}", f"{bin.labels:,}", f"{bin.predicted:.3f}", f"{bin.observed:.3f}",
            f"{bin.lower:.3f}–{bin.upper:.3f}",
        )
        for bin in calibration.bins
    ]  # fmt: skip
    columns = ("posterior", "labels", "mean posterior", "share fabricated", "95% interval")
    return Figure("reliability", "Reliability", words, picture, Table("Reliability by posterior", columns, rows))


def _reliability_body(calibration: Reliability) -> Iterator[Element]:
    left, top, bottom, right = SQUARE_LEFT, SQUARE_TOP, SQUARE_TOP + SQUARE, SQUARE_LEFT + SQUARE
    yield h("rect", class_="frame", x=left, y=top, width=SQUARE, height=SQUARE)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = _X.at(share), _Y.at(share)
        if 0.0 < share < 1.0:
            yield h("path", class_="grid", d=f"M{x:.1f} {top:.1f}V{bottom:.1f}M{left:.1f} {y:.1f}H{right:.1f}")
        yield h("text", percent(share), x=left - 6.0, y=y + 4.0, text_anchor="end")
        yield h("text", f"{share:g}", x=x, y=bottom + 16.0, text_anchor="middle")
    yield h("path", class_="ideal", d=f"M{left:.1f} {bottom:.1f}L{right:.1f} {top:.1f}")
    yield h("text", "posterior P(fabricated)", x=left + SQUARE / 2.0, y=bottom + 34.0, text_anchor="middle")
    yield h("text", "share fabricated", class_="quiet", x=left + 8.0, y=top + 16.0)
    for bin in calibration.bins:
        x = _X.at(bin.predicted)
        yield h("path", class_="reach", d=f"M{x:.1f} {_Y.at(bin.lower):.1f}V{_Y.at(bin.upper):.1f}")
        yield h("circle", class_="share", cx=x, cy=_Y.at(bin.observed), r=4)


# --- Waterfall: the sum behind one verdict, from the prior's log-odds, signal by signal, to the posterior's ---

WATERFALL_WIDTH: Final = 340.0
WATERFALL_EDGE: Final = 6.0
ROW: Final = 32.0
THICK: Final = 9.0
FOOT: Final = 24.0
SHARE_GAP: Final = 40.0  # pixels between two probabilities at the foot
ROUNDING: Final = 0.005  # nats; a smaller remainder gets no bar
MOST_NATS: Final = 40.0  # at which the axis ends: odds of 10^17
SHARES: Final = (0.5, 0.1, 0.9, 0.01, 0.99, 0.001, 0.999, 1e-4, 0.9999, 1e-6, 1.0 - 1e-6)


class Bar(NamedTuple):
    """A row: its name, and the log-odds before and after it."""

    kind: str
    name: str
    before: float
    after: float

    @property
    def nats(self) -> float:
        """What it adds."""
        return self.after - self.before


def bars_of(call: WorstCall) -> tuple[Bar, ...]:
    """Prior, steps, the bound on the posterior if one cut it, posterior.

    The steps, with the bound, sum to the difference of the two ends.
    """
    running = log_odds(call.prior)
    bars = [Bar("end", f"prior {p_of(call.prior)}", 0.0, running)]
    for step in call.steps:
        bars.append(Bar("against" if step.nats > 0.0 else "for", step.signal, running, step.running))
        running = step.running
    if abs(call.remainder) > ROUNDING:
        bars.append(Bar("end", "bound on the posterior", running, running + call.remainder))
    total = log_odds(call.posterior)
    bars.append(Bar("end", f"posterior {p_of(call.posterior)}", 0.0, total if math.isfinite(total) else running))
    return tuple(bars)


def waterfall(ids: Iterator[int], call: WorstCall, accept_below: float, block_at: float) -> Element:
    """The sum as a picture; the table beside it has the same numbers."""
    bars = bars_of(call)
    height = ROW * len(bars) + FOOT
    words = "; ".join(f"{bar.name} {nats(bar.nats)}" for bar in bars)
    thresholds = [x for x in map(log_odds, (accept_below, block_at)) if math.isfinite(x)]
    ends = [*(x for bar in bars for x in (bar.before, bar.after)), *thresholds]
    low, high = max(min(ends), -MOST_NATS), min(max(ends), MOST_NATS)
    axis = Axis(low, max(high, low + 1.0), WATERFALL_EDGE, WATERFALL_WIDTH - WATERFALL_EDGE)
    body = [*_waterfall_axis(axis, thresholds, height), *_waterfall_rows(bars, axis)]
    title = "From prior to posterior, in nats of log-odds"
    return _picture(ids, title, words, body, (WATERFALL_WIDTH, height), class_="fixed waterfall")


def _waterfall_rows(bars: tuple[Bar, ...], axis: Axis) -> Iterator[Element]:
    for k, bar in enumerate(bars):
        y = ROW * k
        yield h("text", cut(bar.name, 34), x=0, y=y + 12.0)
        yield h("text", nats(bar.nats), class_="n", x=WATERFALL_WIDTH, y=y + 12.0, text_anchor="end")
        x, end = sorted((axis.at(bar.before), axis.at(bar.after)))
        yield h("rect", class_=bar.kind, x=x, y=y + 17.0, width=max(end - x, 1.0), height=THICK, rx=1)
        if k + 2 < len(bars):  # a line to where the next step begins; the posterior begins anew
            yield h("path", class_="link", d=f"M{axis.at(bar.after):.1f} {y + 17.0:.1f}V{y + ROW + 17.0 + THICK:.1f}")


def _waterfall_axis(axis: Axis, thresholds: list[float], height: float) -> Iterator[Element]:
    """Even odds as a line, thresholds as broken ones, and probabilities at the foot."""
    foot = height - FOOT
    yield h("path", class_="even", d=f"M{axis.at(0.0):.1f} 0V{foot:.1f}" if axis.low <= 0.0 <= axis.high else "M0 0")
    for x in thresholds:
        if axis.low <= x <= axis.high:
            yield h("path", class_="threshold", d=f"M{axis.at(x):.1f} 0V{foot:.1f}")
    taken: list[float] = []
    for share in (*(1.0 / (1.0 + math.exp(-x)) for x in thresholds), *SHARES):
        x = axis.at(log_odds(share))
        if axis.low <= log_odds(share) <= axis.high and all(abs(x - other) >= SHARE_GAP for other in taken):
            taken.append(x)
            anchor = "start" if x < 12.0 else "end" if x > WATERFALL_WIDTH - 12.0 else "middle"
            text = f"{share:.6g}" if share < 0.9995 else f"{share:.8g}"
            yield h("text", text, class_="quiet", x=x, y=height - 6.0, text_anchor=anchor)
