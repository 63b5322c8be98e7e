"""The sum behind one verdict: from the prior's log-odds, signal by signal, to the posterior's."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

from agentguard.report._records import WorstCall, log_odds
from agentguard.report._text import cut, nats, p_of

from .elements import Element, h
from .figure import Ids
from .scales import Axis

__all__ = ["ROW", "WIDTH", "Bar", "bars_of", "waterfall"]

WIDTH: Final = 340.0
ROW: Final = 32.0
THICK: Final = 9.0
EDGE: Final = 6.0
FOOT: Final = 24.0
GAP: Final = 40.0  # pixels between two marks of the axis
ROUNDING: Final = 0.005  # nats of a remainder that are not worth a bar
MOST: Final = 40.0  # nats at which the axis ends: odds of 10^17
SHARES: Final = (0.5, 0.1, 0.9, 0.01, 0.99, 0.001, 0.999, 1e-4, 0.9999, 1e-6, 1.0 - 1e-6)


class Bar(NamedTuple):
    """One row: its name, and the log-odds before and after it."""

    kind: str
    name: str
    before: float
    after: float

    @property
    def nats(self) -> float:
        """What it adds."""
        return self.after - self.before


def bars_of(call: WorstCall) -> tuple[Bar, ...]:
    """Prior, steps, what limited the posterior where something did, posterior.

    The steps (with the limit) sum to the difference of the two ends.
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


def waterfall(ids: Ids, call: WorstCall, accept_below: float, block_at: float) -> Element:
    """The sum as a picture; the table beside it has the same numbers."""
    name, words = ids.new(), ids.new()
    bars = bars_of(call)
    height = ROW * len(bars) + FOOT
    said = "; ".join(f"{bar.name} {nats(bar.nats)}" for bar in bars)
    thresholds = (log_odds(accept_below), log_odds(block_at))
    ends = [x for bar in bars for x in (bar.before, bar.after)]
    ends += [x for x in thresholds if math.isfinite(x)]
    low, high = max(min(ends), -MOST), min(max(ends), MOST)
    axis = Axis(low, max(high, low + 1.0), EDGE, WIDTH - EDGE)
    return h(
        "svg", h("title", "From prior to posterior, in nats of log-odds", id=name), h("desc", said, id=words),
        list(_axis(axis, thresholds, height)), list(_rows(bars, axis)), class_="fixed waterfall", role="img",
        viewBox=f"0 0 {WIDTH:.0f} {height:.0f}", aria_labelledby=f"{name} {words}",
    )  # fmt: skip


def _rows(bars: tuple[Bar, ...], axis: Axis) -> Iterator[Element]:
    for k, bar in enumerate(bars):
        y = ROW * k
        yield h("text", cut(bar.name, 34), x=0, y=y + 12.0)
        yield h("text", nats(bar.nats), class_="n", x=WIDTH, y=y + 12.0, text_anchor="end")
        x, end = sorted((axis.at(bar.before), axis.at(bar.after)))
        yield h("rect", class_=bar.kind, x=x, y=y + 17.0, width=max(end - x, 1.0), height=THICK, rx=1)
        if k + 2 < len(bars):  # to where the next step begins; the posterior begins anew
            at = axis.at(bar.after)
            yield h("path", class_="link", d=f"M{at:.1f} {y + 17.0:.1f}V{y + ROW + 17.0 + THICK:.1f}")


def _axis(axis: Axis, thresholds: tuple[float, float], height: float) -> Iterator[Element]:
    """Even odds as a line, thresholds as broken ones, and probabilities at the foot."""
    foot = height - FOOT
    yield h("path", class_="even", d=f"M{axis.at(0.0):.1f} 0V{foot:.1f}" if axis.low <= 0.0 <= axis.high else "M0 0")
    for x in thresholds:
        if math.isfinite(x) and axis.low <= x <= axis.high:
            yield h("path", class_="threshold", d=f"M{axis.at(x):.1f} 0V{foot:.1f}")
    taken: list[float] = []
    wanted = [1.0 / (1.0 + math.exp(-x)) for x in thresholds if math.isfinite(x)]
    for share in (*wanted, *SHARES):
        place = log_odds(share)
        at = axis.at(place)
        if axis.low <= place <= axis.high and all(abs(at - other) >= GAP for other in taken):
            taken.append(at)
            anchor = "start" if at < 12.0 else "end" if at > WIDTH - 12.0 else "middle"
            yield h("text", _share(share), class_="quiet", x=at, y=height - 6.0, text_anchor=anchor)


def _share(share: float) -> str:
    return f"{share:.6g}" if share < 0.9995 else f"{share:.8g}"
