"""An individuals chart: values in their order, centre line and limits, alarms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agentguard.report._records import Chart, Limits, Point, on_scale, to_scale
from agentguard.report._text import cut, many, of_unit, short

from .elements import Element, h
from .figure import WIDTH, Ids, Key, Label, dots, figure, plot, rungs, table
from .scales import Axis, spread, ticks

__all__ = ["HEIGHT", "control_chart"]

HEIGHT: Final = 170
EDGE: Final = 14.0  # pixels above and below the values, for marks
GAP: Final = 13.0  # pixels between two labels
ROWS: Final = 20
FARTHEST: Final = 8.0  # sigma from the centre that the picture has room for; what is farther stands at its edge


def control_chart(ids: Ids, chart: Chart, tool: str) -> Element:
    """The chart with its caption, its legend and its numbers."""
    across, up = _axes(chart)
    limits = chart.limits
    name = cut(chart.name, 60) if chart.unit else f"field {cut(chart.name, 60)}"
    merged = chart.points[0].size > 1 if chart.points else False
    return figure(
        name[:1].upper() + name[1:],
        _caption(chart),
        plot(
            ids, f"Control chart: {name} of {cut(tool, 60)}", _said(chart), list(_body(chart, across, up)),
            height=HEIGHT,
            left=_tick_labels(chart, up),
            right=[] if limits is None else _limit_labels(chart, limits, up),
            below=[Label(0.0, "first"), Label(50.0, many(chart.values, "value")), Label(100.0, "latest")],
        ),
        list(_keys(chart, merged=merged)),
        _numbers(chart, f"{name} of {cut(tool, 60)}"),
        kind="control",
    )  # fmt: skip


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
    return Axis(0.0, float(max(chart.values, 1)), 0.0, WIDTH), Axis(low, high, HEIGHT - EDGE, EDGE)


def _middle(point: Point) -> float:
    """Where a point stands among the values: value k of n between k - 1 and k."""
    return point.first - 1 + point.size / 2.0


def _body(chart: Chart, across: Axis, up: Axis) -> Iterator[Element]:
    if chart.limits is not None:
        top, bottom = up.at(chart.limits.upper), up.at(chart.limits.lower)
        yield h("rect", class_="within", x=0, y=top, width=WIDTH, height=bottom - top)
        yield h("path", class_="limit", d=f"M0 {top:.1f}H{WIDTH:.0f}M0 {bottom:.1f}H{WIDTH:.0f}")
        yield h("path", class_="centre", d=f"M0 {up.at(chart.limits.centre):.1f}H{WIDTH:.0f}")
    places = [(across.at(_middle(point)), point) for point in chart.points]
    yield h("path", class_="line", d="M" + "L".join(f"{x:.1f} {up.at(point.mean):.1f}" for x, point in places))
    wide = [(x, up.at(point.low), up.at(point.high)) for x, point in places if point.high > point.low]
    if wide:
        yield h("path", class_="range", d=rungs(wide))
    yield h("path", class_="value", d=dots((x, up.at(point.mean)) for x, point in places if 1 not in point.rules))
    beyond = [(x, up.at(_farthest(chart, point))) for x, point in places if 1 in point.rules]
    if beyond:
        yield h("path", class_="beyond", d=dots(beyond))
        yield h("path", class_="hole", d=dots(beyond))
    runs = [(x, HEIGHT - 5.0, float(HEIGHT)) for x, point in places if set(point.rules) - {1}]
    if runs:
        yield h("path", class_="run", d=rungs(runs))
    alarms = [(x, 5.0) for x, point in places if point.alarms]
    if alarms:
        yield h("path", class_="alarm", d=dots(alarms))


def _farthest(chart: Chart, point: Point) -> float:
    """Of the values that a point stands for, the one farthest from the centre: it is beyond the limits if one is."""
    centre = point.mean if chart.limits is None else chart.limits.centre
    return max(point.low, point.high, key=lambda x: abs(x - centre))


def _tick_labels(chart: Chart, up: Axis) -> list[Label]:
    found = ticks(up.low, up.high, chart.scale)
    return [Label(up.at(to_scale(chart.scale, x)) + 4.0, short(x, chart.unit)) for x in found]


def _limit_labels(chart: Chart, limits: Limits, up: Axis) -> list[Label]:
    named = [("upper", limits.upper), ("centre", limits.centre), ("lower", limits.lower)]
    places = spread([up.at(x) + 4.0 for _, x in named], GAP, 10.0, HEIGHT - 2.0)
    return [
        Label(place, short(on_scale(chart.scale, x), chart.unit), name)
        for place, (name, x) in zip(places, named, strict=True)
    ]


def _caption(chart: Chart) -> str:
    limits = chart.limits
    if limits is None:
        return f"{many(chart.values, 'value')}; no limits: fewer than 8 values of accepted calls, or all alike"
    lower, centre, upper = (
        of_unit(on_scale(chart.scale, x), chart.unit) for x in (limits.lower, limits.centre, limits.upper)
    )
    return f"centre {centre}, limits {lower} to {upper}, by {many(limits.values, 'value')} of accepted calls"


def _said(chart: Chart) -> str:
    """What a reader sees in it, in words."""
    parts = [_caption(chart)]
    if chart.limits is not None:
        parts.append(
            f"{chart.beyond:,} of {many(chart.values, 'value')} beyond the limits, {chart.runs:,} more in runs"
        )
    if chart.alarms:
        parts.append(
            f"{many(chart.alarms, 'alarm of drift', 'alarms of drift')}, the first at value {chart.first_alarm:,}"
        )
    if chart.lately is not None:
        parts.append(f"lately {of_unit(on_scale(chart.scale, chart.lately), chart.unit)}")
    return ". ".join(parts) + "."


def _keys(chart: Chart, *, merged: bool) -> Iterator[Key]:
    if merged:
        yield Key("range", "M8 1V11", f"{chart.points[0].size:,} values a point: mean, lowest and highest")
    if chart.beyond:
        yield Key("beyond", "M8 6h0", f"beyond the limits: {chart.beyond:,}{_off_the_picture(chart)}")
    if chart.runs:
        yield Key("run", "M8 3V10", f"in a run to one side: {chart.runs:,}")
    if chart.alarms:
        yield Key(
            "alarm", "M8 6h0", f"the guard's own drift alarm: {chart.alarms:,}, first at value {chart.first_alarm:,}"
        )


def _off_the_picture(chart: Chart) -> str:
    """How far the values go that stand at the edge, where there are any."""
    if chart.limits is None:
        return ""
    low, high = min(point.low for point in chart.points), max(point.high for point in chart.points)
    room = FARTHEST * chart.limits.sigma
    said = []
    for x, word, is_off in (
        (low, "down", low < chart.limits.centre - room), (high, "up", high > chart.limits.centre + room),
    ):  # fmt: skip
        if is_off:
            said.append(f"{word} to {short(on_scale(chart.scale, x), chart.unit)}")
    return f", {' and '.join(said)} (at the edge)" if said else ""


def _numbers(chart: Chart, name: str) -> Element:
    rows = []
    step = -(-len(chart.points) // ROWS)
    for k in range(0, len(chart.points), max(step, 1)):
        group = chart.points[k : k + step]
        last, size = group[-1].first + group[-1].size - 1, sum(point.size for point in group)
        mean = sum(point.mean * point.size for point in group) / size
        figures = [min(p.low for p in group), mean, max(p.high for p in group)]
        rows.append(
            (
                f"{group[0].first:,}–{last:,}" if last > group[0].first else f"{last:,}",
                *(of_unit(on_scale(chart.scale, x), chart.unit) for x in figures),
                f"{sum(1 in p.rules for p in group):,}", f"{sum(p.alarms for p in group):,}",
            )
        )  # fmt: skip
    columns = ("values", "lowest", "mean", "highest", "points beyond", "drift alarms")
    note = "Means are taken on the chart's scale." if any(point.high > point.low for point in chart.points) else ""
    return table(f"Numbers of the chart of {name}", columns, rows, more=note)
