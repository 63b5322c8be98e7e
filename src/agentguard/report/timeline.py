"""Verdicts in the order of calls, or by the clock."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from agentguard.report._records import Slot, Timeline
from agentguard.report._text import many, short, when

from .elements import Element, h
from .figure import WIDTH, Ids, Key, Label, figure, plot, table

__all__ = ["HEIGHT", "timeline"]

HEIGHT: Final = 120
TOP: Final = 6.0
LEAST_HEIGHT: Final = 3.0  # pixels of a flagged or blocked call among thousands
ROWS: Final = 24
_BLOCK: Final = "M2 6H14"


def timeline(ids: Ids, found: Timeline) -> Element:
    """Calls as pale bars; blocked ones at their foot, flagged ones above those."""
    slots = found.slots
    most = max((slot.counts.calls for slot in slots), default=0) or 1
    width = WIDTH / max(len(slots), 1)
    inset = min(width * 0.1, 2.0)
    parts: dict[str, list[Element]] = {"calls": [], "flag": [], "block": []}
    for k, slot in enumerate(slots):
        x, wide = k * width + inset, width - 2 * inset
        whole = (HEIGHT - TOP) * slot.counts.calls / most
        block = _height(slot.counts.block, most)
        flag = _height(slot.counts.flag, most)
        if whole:
            parts["calls"].append(h("rect", class_="calls", x=x, y=HEIGHT - whole, width=wide, height=whole))
        if flag:
            parts["flag"].append(h("rect", class_="flag", x=x, y=HEIGHT - block - flag, width=wide, height=flag))
        if block:
            parts["block"].append(h("rect", class_="block", x=x, y=HEIGHT - block, width=wide, height=block))
    flagged, blocked = sum(s.counts.flag for s in slots), sum(s.counts.block for s in slots)
    calls = sum(slot.counts.calls for slot in slots)
    said = f"{many(calls, 'call')}, {flagged:,} flagged and {blocked:,} blocked."
    if slots:
        worst = max(slots, key=lambda slot: (slot.counts.suspects, -slot.first))
        if worst.counts.suspects:
            said += f" Most of these at {_named(found, worst)}: {worst.counts.suspects:,} of {worst.counts.calls:,}."
    ends = [] if not slots else [Label(0.0, _end(found, slots[0].first)), Label(100.0, _end(found, slots[-1].last))]
    unit = f", {many(slots[0].last - slots[0].first + 1, found.unit)} a bar" if slots else ""
    return figure(
        "Timeline",
        f"in the order of calls{unit}" if found.unit == "call" else f"by the clock (UTC){unit}",
        plot(
            ids, "Timeline of verdicts", said, [*parts["calls"], *parts["flag"], *parts["block"]], height=HEIGHT,
            left=[Label(TOP + 4.0, short(most)), Label(HEIGHT - 1.0, "0")], below=ends,
        ),
        [
            Key("keycalls", _BLOCK, f"all calls: {calls:,}"), Key("keyflag", _BLOCK, f"flagged: {flagged:,}"),
            Key("keyblock", _BLOCK, f"blocked: {blocked:,}"),
        ],
        _numbers(found, slots),
        kind="timeline",
    )  # fmt: skip


def _height(count: int, most: int) -> float:
    return max((HEIGHT - TOP) * count / most, LEAST_HEIGHT) if count else 0.0


def _end(found: Timeline, at: int) -> str:
    return f"call {at:,}" if found.unit == "call" else when(at)


def _named(found: Timeline, slot: Slot) -> str:
    if found.unit == "hour":
        return when(slot.first)
    return f"calls {slot.first:,} to {slot.last:,}" if slot.last > slot.first else f"call {slot.first:,}"


def _numbers(found: Timeline, slots: tuple[Slot, ...]) -> Element:
    step = max(-(-len(slots) // ROWS), 1)
    rows: Iterable[tuple[str, ...]] = (
        (
            _named(found, Slot(group[0].first, group[-1].last, group[0].counts)),
            *(f"{sum(slot.counts[k] for slot in group):,}" for k in range(3)),
        )
        for group in (slots[k : k + step] for k in range(0, len(slots), step))
    )
    return table(
        "Verdicts in their order", ("calls" if found.unit == "call" else "from", "accepted", "flagged", "blocked"), rows
    )
