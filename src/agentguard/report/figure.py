"""What all pictures have in common: a caption, a text alternative, labels that keep their size, numbers in a table.

The body of a plot is stretched to the width there is; its lines and marks are strokes that are not. Text stands
outside of it, in pictures of fixed height that are not stretched: it has one size on a phone and on a wide screen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from .elements import Element, Node, h

__all__ = ["WIDTH", "Ids", "Key", "Label", "dots", "figure", "plot", "rungs", "scrolled", "table", "under"]

WIDTH: Final = 1_000.0
"""Of the body of a plot in its own units, whatever its width on the screen."""

FITTING: Final = 2  # columns, that a phone has room for
SIDE: Final = 78  # pixels of the labels beside a plot


class Ids:
    """Names for places in one page, each given once."""

    def __init__(self) -> None:
        self._given = 0

    def new(self) -> str:
        """The next one."""
        self._given += 1
        return f"n{self._given}"


class Label(NamedTuple):
    """Text beside or under a plot: ``at`` in pixels from the top, or in hundredths from the left."""

    at: float
    text: str
    kind: str = ""


class Key(NamedTuple):
    """One entry of a legend: the class of the mark, how it is drawn, and what it stands for."""

    mark: str
    path: str
    said: str


def dots(places: Iterable[tuple[float, float]]) -> str:
    """A path of points: subpaths without length, which a round line end makes visible.

    >>> dots([(1.0, 2.0), (10.25, 3.0)])
    'M1 2h0M10.2 3h0'
    """
    return "".join(f"M{_short(x)} {_short(y)}h0" for x, y in places)


def rungs(places: Iterable[tuple[float, float, float]]) -> str:
    """A path of upright lines: place, and the two ends of each.

    >>> rungs([(1.0, 2.0, 30.0)])
    'M1 2V30'
    """
    return "".join(f"M{_short(x)} {_short(from_)}V{_short(to)}" for x, from_, to in places)


def _short(x: float) -> str:
    return f"{x:.1f}".removesuffix(".0")


def plot(
    ids: Ids,
    title: str,
    said: str,
    body: Iterable[Node],
    *,
    height: int,
    left: Sequence[Label] = (),
    right: Sequence[Label] = (),
    below: Sequence[Label] = (),
) -> Element:
    """A stretched picture with its labels.

    Args:
        ids: of the page.
        title: what it is of.
        said: what it shows, in words.
        body: drawn on ``WIDTH`` by ``height``.
        height: in pixels.
        left: labels at the left, upwards from their baseline.
        right: the same at the right.
        below: labels under it.
    """
    name, words = ids.new(), ids.new()
    picture = h(
        "svg", h("title", title, id=name), h("desc", said, id=words), body, class_="body", role="img",
        viewBox=f"0 0 {WIDTH:.0f} {height}", preserveAspectRatio="none", height=height,
        aria_labelledby=f"{name} {words}",
    )  # fmt: skip
    sides = "both" if right else "one"
    return h(
        "div", _beside(left, height, "left"), picture, _beside(right, height, "right") if right else None,
        under(below), class_=f"plot {sides}",
    )  # fmt: skip


def _beside(labels: Sequence[Label], height: int, side: str) -> Element:
    x, anchor = (SIDE - 8, "end") if side == "left" else (8, "start")
    texts = [h("text", label.text, class_=label.kind or None, x=x, y=label.at, text_anchor=anchor) for label in labels]
    return h("svg", texts, class_=side, width=SIDE, height=height, aria_hidden="true")


def under(labels: Sequence[Label]) -> Element:
    """Labels under a plot; those at the ends stay within it."""
    texts = []
    for label in labels:
        anchor = "start" if label.at <= 0.0 else "end" if label.at >= 100.0 else "middle"
        texts.append(h("text", label.text, class_=label.kind or None, x=f"{label.at:g}%", y=14, text_anchor=anchor))
    return h("svg", texts, class_="under", height=20, aria_hidden="true")


def figure(
    caption: str, said: str, picture: Element, keys: Sequence[Key] = (), numbers: Element | None = None, *, kind: str
) -> Element:
    """A picture with its caption, its legend and its numbers."""
    legend = [h("li", h("svg", _mark(key), width=16, height=12, aria_hidden="true"), key.said) for key in keys]
    return h(
        "figure", h("figcaption", h("strong", caption), h("span", said, class_="quiet") if said else None), picture,
        h("ul", legend, class_="legend") if legend else None,
        None if numbers is None else h(
            "details", h("summary", "Numbers", h("span", f" of {caption}", class_="unseen")), numbers, class_="numbers"
        ),
        class_=f"figure {kind}",
    )  # fmt: skip


def _mark(key: Key) -> list[Element]:
    """A mark as the plot has it; values beyond the limits are rings, which are dots with a hole."""
    rings = [h("path", class_="hole", d=key.path)] if key.mark == "beyond" else []
    return [h("path", class_=key.mark, d=key.path), *rings]


def table(
    said: str, columns: Sequence[str], rows: Iterable[Sequence[Node]], *, words: Sequence[str] = (), more: str = ""
) -> Element:
    """A table that scrolls within itself; on a phone cells of more than two stand below each other, named.

    Args:
        said: its name for who hears it.
        columns: their heads; the first cell of each row is its head.
        rows: cells.
        words: columns that hold words; the others hold numbers.
        more: a line below it.
    """
    kinds = [None if name in words else "n" for name in columns]
    head = h("tr", [h("th", name, scope="col", class_=kind) for name, kind in zip(columns, kinds, strict=True)])
    body = [
        h("tr", [
            h("td", cell, class_=kinds[k], data_label=columns[k]) if k else h("th", cell, class_=kinds[k], scope="row")
            for k, cell in enumerate(row)
        ])
        for row in rows
    ]  # fmt: skip
    return scrolled(
        said,
        h("table", h("thead", head), h("tbody", body), class_="stacked" if len(columns) > FITTING else None),
        h("p", more, class_="quiet") if more else None,
    )


def scrolled(said: str, *children: Node | None) -> Element:
    """What may be wider than the page, within a frame that scrolls and that the keyboard reaches."""
    return h("div", *children, class_="scroll", tabindex=0, role="group", aria_label=said)
