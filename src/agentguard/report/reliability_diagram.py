"""Whether posteriors mean what they say: the share of labelled calls that was fabricated, by posterior."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agentguard.report._records import Reliability
from agentguard.report._text import many, percent

from .elements import Element, h
from .figure import Ids, figure, table
from .scales import Axis

__all__ = ["SIDE", "reliability_diagram"]

SIDE: Final = 250.0  # of the square of shares against posteriors, in pixels
LEFT: Final = 46.0
TOP: Final = 8.0
BELOW: Final = 40.0

_X = Axis(0.0, 1.0, LEFT, LEFT + SIDE)
_Y = Axis(0.0, 1.0, TOP + SIDE, TOP)


def reliability_diagram(ids: Ids, found: Reliability) -> Element:
    """On the diagonal a posterior means what it says; bars are 95% intervals."""
    name, words = ids.new(), ids.new()
    width, height = LEFT + SIDE + 10.0, TOP + SIDE + BELOW
    said = (
        f"{many(found.labels, 'label')}, {found.fabricated:,} of fabricated calls. Calibration error "
        f"{found.error:.3f}, Brier score {found.brier:.3f}."
    )
    picture = h(
        "svg", h("title", "Reliability diagram", id=name), h("desc", said, id=words), list(_body(found)),
        class_="fixed square", role="img", viewBox=f"0 0 {width:.0f} {height:.0f}", aria_labelledby=f"{name} {words}",
    )  # fmt: skip
    rows = [
        (
            f"{bin.low:.1f}–{bin.high:.1f}", f"{bin.labels:,}", f"{bin.predicted:.3f}", f"{bin.observed:.3f}",
            f"{bin.lower:.3f}–{bin.upper:.3f}",
        )
        for bin in found.bins
    ]  # fmt: skip
    columns = ("posterior", "labels", "mean posterior", "share fabricated", "95% interval")
    return figure(
        "Reliability", said, picture, numbers=table("Reliability by posterior", columns, rows), kind="reliability"
    )


def _body(found: Reliability) -> Iterator[Element]:
    yield h("rect", class_="frame", x=LEFT, y=TOP, width=SIDE, height=SIDE)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = _X.at(share), _Y.at(share)
        if 0.0 < share < 1.0:
            yield h(
                "path", class_="grid", d=f"M{x:.1f} {TOP:.1f}V{TOP + SIDE:.1f}M{LEFT:.1f} {y:.1f}H{LEFT + SIDE:.1f}"
            )
        yield h("text", percent(share), x=LEFT - 6.0, y=y + 4.0, text_anchor="end")
        yield h("text", f"{share:g}", x=x, y=TOP + SIDE + 16.0, text_anchor="middle")
    yield h("path", class_="ideal", d=f"M{_X.at(0.0):.1f} {_Y.at(0.0):.1f}L{_X.at(1.0):.1f} {_Y.at(1.0):.1f}")
    middle = LEFT + SIDE / 2.0
    yield h("text", "posterior P(fabricated)", x=middle, y=TOP + SIDE + 34.0, text_anchor="middle")
    yield h("text", "share fabricated", class_="quiet", x=LEFT + 8.0, y=TOP + 16.0)
    for bin in found.bins:
        x = _X.at(bin.predicted)
        yield h("path", class_="reach", d=f"M{x:.1f} {_Y.at(bin.lower):.1f}V{_Y.at(bin.upper):.1f}")
        yield h("circle", class_="share", cx=x, cy=_Y.at(bin.observed), r=4)
