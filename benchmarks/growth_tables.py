"""Growth, memory and bounds as a section of the measurements document, each figure beside its goal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from goals import Goal, as_ratio
from growth_cost import AXES, Point, SizePoint
from growth_hostile import LONGEST, Ordeal
from growth_memory import Held
from growth_process import ENGINE, HEAVY, Replay, Starts
from growth_stages import Stage
from tables import Line, judged, markdown

__all__ = ["Growth", "growth_lines", "growth_section"]

KIB, MIB = 1_024, 1_048_576
LINEAR_FROM = 50_000  # bytes; in a smaller result the cost of a call as such drowns that of its bytes
WORTH_COMPARING = 0.01  # seconds of json.dumps
FLAT, LINEAR, ATTACKED, SLOWER, STEADY = 1.5, 1.5, 2.0, 3.0, 1.1
STARTS_MS = {"import agentguard": 120, "agentguard --version": 150, "agentguard --help": 350}
TOOL_KIB, SHARED_MIB, PEAK_MIB, RATE, RATED = 128, 16, 256, 20_000, 20_000


@dataclass(frozen=True, slots=True)
class Bound(Goal):
    """A goal whose figure is read as a multiple of it."""

    def outcome(self, figure: float | None) -> str:
        """Plain words for the cell beside the goal.

        >>> Bound("at most", 150, as_ms).outcome(300.0), Bound("at least", 20_000, as_rate).outcome(5_000.0)
        ('missed: 2.0 times the goal', 'missed: 1/4 of the goal')
        """
        if figure is None or self.reached(figure) is not False:
            return Goal.outcome(self, figure)
        if not self.bound or math.isinf(figure):
            return "missed"
        times = figure / self.bound
        return (
            f"missed: {max(times, 1.1):.1f} times the goal" if times > 1 else f"missed: {as_ratio(times)} of the goal"
        )


def _show(figure: float | None, form: str) -> str:
    return form.format(figure) if figure is not None and math.isfinite(figure) else "–"


def as_times(figure: float | None) -> str:
    return _show(figure, "{:.2f}")


def as_kib(figure: float | None) -> str:
    return _show(figure, "{:,.0f} KiB")


def as_mib(figure: float | None) -> str:
    return _show(figure, "{:,.0f} MiB")


def as_ms(figure: float | None) -> str:
    return _show(figure, "{:,.0f} ms")


def as_rate(figure: float | None) -> str:
    return _show(figure, "{:,.0f} calls/s")


def as_count(figure: float | None) -> str:
    return _show(figure, "{:,.0f}")


@dataclass(slots=True)
class Growth:
    """All that was measured; what is empty or None was not."""

    axes: dict[str, list[Point]] = field(default_factory=dict)
    sizes: list[SizePoint] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    cached: int | None = None
    growing: list[Ordeal] = field(default_factory=list)
    large: list[Ordeal] = field(default_factory=list)
    starts: Starts | None = None
    replays: list[Replay] = field(default_factory=list)
    many: dict[str, list[Replay]] = field(default_factory=dict)
    stages: list[Stage] = field(default_factory=list)


def growth_lines(growth: Growth | None) -> list[Line]:
    """Every figure that has a goal, for the tally."""
    if growth is None:
        return []
    parts = (_axes, _sizes, _memory, _shared, _growing, _slow, _peaks, _endings, _process)
    return [line for part in parts for line in part(growth)]


def growth_section(growth: Growth | None) -> list[str]:
    """The section's parts; none where nothing was measured."""
    if growth is None:
        return []
    parts = ["## Growth, memory and bounds", "`python benchmarks/growth.py`"]
    if growth.axes:
        parts += [
            "### Cost of a call as something grows",
            "Median time of `verify`, which learns each call. Engines that have seen little and much take turns in one "
            "run. Measured: the dearest case as a multiple of the smallest.",
            judged(("what grows", "cases", "µs a call"), _axes(growth)),
        ]
    if growth.sizes:
        header, rows = _size_rows(growth)
        parts += [
            "Nanoseconds of processor time for each byte of the result, by its size; a call has its own cost, so small "
            "results have dear bytes. Measured: the dearest byte of results over "
            f"{LINEAR_FROM // 1_000} KB as a multiple of one at that size. *Sampled from*: the size at which the "
            "engine's budgets begin to leave part of the result out of its walk.",
            judged(
                (*header, "sampled from"),
                [line._replace(cells=row) for row, line in zip(rows, _sizes(growth), strict=True)],
            ),
        ]
    if growth.stages:
        total = growth.stages[-1].p50
        rows = [(stage.name, f"{1e6 * stage.p50:.1f}", f"{stage.p50 / total:.0%}") for stage in growth.stages]
        parts += ["Where the time of a call with a result of 1 KB goes:", markdown(("stage", "µs", "share"), rows)]
    if memory := _memory(growth):
        parts += [
            "### Memory of a tool",
            "Bytes of every object that a tool's state reaches, each counted once, after the calls named; the pool "
            "that all tools share is counted apart. The halfway figure shows whether the state was full.",
            judged(("calls of one tool", "number", "halfway", "shared pool", "largest parts, KiB"), memory),
            judged(("shared by all tools",), _shared(growth)),
        ]
    if growth.growing or growth.large:
        parts += _hostile(growth)
    if growth.starts or growth.replays:
        engine = f" `{ENGINE}` takes {as_ms(1_000 * growth.starts.own(ENGINE))}." if growth.starts else ""
        parts += [
            "### The process",
            "Fresh processes from start to exit, medians of 15 in turns (of imports, what they add to an interpreter "
            f"that does nothing); `agentguard replay` and `report` on generated logs, in one process.{engine}",
            judged(("what",), _process(growth)),
        ]
    return parts


def _axes(growth: Growth) -> list[Line]:
    lines = []
    for axis in AXES:
        if points := growth.axes.get(axis.name):
            cells = (axis.name, _joined([point.n for point in points]), _joined([1e6 * point.p50 for point in points]))
            ratio = max(point.p50 for point in points) / points[0].p50
            lines.append(Line(cells, ratio, Bound("at most", FLAT, as_times)))
    return lines


def _size_rows(growth: Growth) -> tuple[Sequence[str], list[Sequence[str]]]:
    sizes = growth.sizes
    forms = {point.form: [other for other in sizes if other.form == point.form] for point in sizes}
    header = ["result", *(_bytes(point.size) for point in next(iter(forms.values())))]
    rows: list[Sequence[str]] = []
    for form, points in forms.items():
        sampled = next((f"≤ {_bytes(point.size)}" for point in points if not point.whole), "not at these sizes")
        rows.append((form, *(_brief(point.ns_per_byte) for point in points), sampled))
    return header, rows


def _sizes(growth: Growth) -> list[Line]:
    large: dict[str, list[float]] = {point.form: [] for point in growth.sizes}
    for point in growth.sizes:
        if point.size > LINEAR_FROM:
            large[point.form].append(point.ns_per_byte)
    goal = Bound("at most", LINEAR, as_times)
    return [Line((form,), max(costs) / costs[0] if costs else None, goal) for form, costs in large.items()]


def _memory(growth: Growth) -> list[Line]:
    goal = Bound("at most", TOOL_KIB, as_kib)
    lines = []
    for points in growth.axes.values():
        if points[-1].held is not None:
            before = _joined([(point.held or 0) // KIB for point in points])
            cells = ("records, 1 KB", _joined([point.n for point in points]), before, "", "")
            lines.append(Line(cells, points[-1].held / KIB, goal))
    for held in growth.held:
        largest = ", ".join(f"{name} {size / KIB:,.0f}" for name, size in held.parts)
        cells = (held.shape, f"{held.calls:,}", as_kib(held.halfway / KIB), as_kib(held.shared / KIB), largest)
        lines.append(Line(cells, held.tool / KIB, goal))
    return lines


def _shared(growth: Growth) -> list[Line]:
    if not growth.held:
        return []
    goal = Bound("at most", SHARED_MIB, as_mib)
    pool = max(held.shared for held in growth.held)
    return [
        Line(("the largest of these pools",), _mib(pool), goal),
        Line(("caches of the process, after all of these calls",), _mib(growth.cached), goal),
    ]


def _hostile(growth: Growth) -> list[str]:
    steps = [(*line.cells, *_judgement(line)) for line in _growing(growth)]
    slow = {line.cells[0]: _judgement(line) for line in _slow(growth)}
    large = [
        (ordeal.name, _times(ordeal), *slow.get(ordeal.name, ("–", "", "")), *_judgement(peak))
        for ordeal, peak in zip(growth.large, _peaks(growth), strict=True)
    ]
    judgement = ("measured", "goal", "outcome")
    return [
        "### Hostile results",
        "Results made to be dear, at least one for each regular expression, search and walk that reads results; each "
        f"in a process of its own, given {LONGEST} s. Milliseconds of processor time at n, 2n and 4n, the least of "
        "three. Measured: what a character costs at 4n as a multiple of what it costs at n. What is quadratic comes "
        "to 4.",
        markdown(("attack", "ms", "× json.dumps", *judgement), steps),
        f"Large ones, once. Measured first: time as a multiple of `json.dumps` of the same, where that takes "
        f"{1_000 * WORTH_COMPARING:.0f} ms and more; then the memory that the process grew by.",
        markdown(("attack", "ms", *judgement, "memory", "goal", "outcome"), large),
        judged(("all of them",), _endings(growth)),
    ]


def _judgement(line: Line) -> tuple[str, str, str]:
    return line.goal.show(line.figure), str(line.goal), line.goal.outcome(line.figure)


def _growing(growth: Growth) -> list[Line]:
    goal = Bound("at most", ATTACKED, as_times)
    return [
        Line((ordeal.name, _times(ordeal), as_ratio(ordeal.relative)), _or_never(ordeal, ordeal.growth), goal)
        for ordeal in growth.growing
    ]


def _slow(growth: Growth) -> list[Line]:
    goal = Bound("at most", SLOWER, as_times)
    return [
        Line((ordeal.name,), _or_never(ordeal, ordeal.relative), goal)
        for ordeal in growth.large
        if ordeal.given_up or (ordeal.reference or 0.0) >= WORTH_COMPARING
    ]


def _peaks(growth: Growth) -> list[Line]:
    goal = Bound("at most", PEAK_MIB, as_mib)
    return [Line((ordeal.name,), _or_never(ordeal, _mib(ordeal.peak)), goal) for ordeal in growth.large]


def _or_never(ordeal: Ordeal, figure: float | None) -> float | None:
    """What had to be given up has missed its goals."""
    return math.inf if ordeal.given_up else figure


def _endings(growth: Growth) -> list[Line]:
    ordeals = [*growth.growing, *growth.large]
    if not ordeals:
        return []
    none = Bound("at most", 0, as_count)
    ended = [ordeal.name for ordeal in ordeals if ordeal.given_up]
    failed = [f"{ordeal.name} ({', '.join(ordeal.failed)})" for ordeal in ordeals if ordeal.failed]
    return [
        Line((f"without an answer: {'; '.join(ended) or 'none'}",), len(ended), none),
        Line((f"with a check that failed: {'; '.join(failed) or 'none'}",), len(failed), none),
    ]


def _process(growth: Growth) -> list[Line]:
    lines = []
    if (starts := growth.starts) is not None:
        lines += [
            Line((f"`{name}`",), 1_000 * starts.own(name), Bound("at most", most, as_ms))
            for name, most in STARTS_MS.items()
        ]
        loaded = starts.loaded
        lines.append(
            Line(
                (f"loaded by the first of {', '.join(HEAVY)}: {', '.join(loaded) or 'none'}",),
                len(loaded),
                Bound("at most", 0, as_count),
            )
        )
    goal = Bound("at least", RATE, as_rate)
    lines += [
        Line((f"replay of {replay.rows:,} calls",), replay.rows / replay.seconds, goal)
        for replay in growth.replays
        if replay.rows == RATED
    ]
    if growth.replays:
        first, last = growth.replays[0], growth.replays[-1]
        ratio = last.peak / first.peak if first.peak and last.peak else None
        cells = (f"peak memory of {last.rows:,} calls against {first.rows:,} ({as_mib(_mib(last.peak))})",)
        lines.append(Line(cells, ratio, Bound("at most", STEADY, as_times)))
    for command, (few, many) in growth.many.items():
        read = f"{command} of {many.rows:,} tools, a call each, against {few.rows:,}"
        ratio = (many.seconds / many.rows) / (few.seconds / few.rows)
        lines.append(Line((f"time a call, {read} ({many.seconds:.0f} s)",), ratio, Bound("at most", STEADY, as_times)))
        ratio = many.peak / few.peak if few.peak and many.peak else None
        lines.append(
            Line((f"peak memory, {read} ({as_mib(_mib(many.peak))})",), ratio, Bound("at most", STEADY, as_times))
        )
    return lines


def _times(ordeal: Ordeal) -> str:
    return ordeal.given_up or _joined([1_000 * seconds for seconds in ordeal.times])


def _joined(figures: Sequence[float]) -> str:
    return " · ".join(map(_brief, figures))


def _brief(figure: float) -> str:
    return f"{figure:,.0f}" if figure >= 100 or figure == int(figure) else f"{figure:,.2g}"


def _mib(size: int | None) -> float | None:
    return None if size is None else size / MIB


def _bytes(size: int) -> str:
    for unit, one in (("MB", 1_000_000), ("KB", 1_000)):
        if size >= 0.9 * one:
            return f"{size / one:,.0f} {unit}"
    return f"{size} B"
