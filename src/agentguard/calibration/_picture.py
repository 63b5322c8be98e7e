"""A reliability diagram as one SVG file that needs nothing else: no fonts, scripts or styles from elsewhere.

Above, the share of calls that is fabricated against their mean posterior, by bin, with intervals; on the diagonal a
posterior means what it says. Below, how many calls each bin holds, on a logarithmic scale. Colours follow the reader's
light or dark setting.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from agentguard.calibration._outcome import Outcome
from agentguard.calibration._statistics import Bin, Reliability

WIDTH, HEIGHT = 580, 654
LEFT, TOP, SIDE = 70, 84, 440  # of the square in which shares stand against posteriors
BELOW, DEPTH = TOP + SIDE + 16, 60  # of the counts beneath it

_STYLE = """
  svg { background: #fff; color: #1b1f24; font: 13px system-ui, sans-serif }
  text { fill: currentColor } .small { font-size: 11px } .title { font-size: 16px; font-weight: 600 }
  .axis { stroke: currentColor; fill: none } .grid { stroke: currentColor; opacity: .12 }
  .ideal { stroke: currentColor; stroke-dasharray: 5 4; opacity: .55 }
  .before { stroke: #b3541e; fill: #b3541e } .after { stroke: #0b6bb8; fill: #0b6bb8 }
  .line { fill: none; stroke-width: 2 } .reach { stroke-width: 1.5; opacity: .55 } .bar { stroke: none; opacity: .55 }
  @media (prefers-color-scheme: dark) {
    svg { background: #15191e; color: #e4e8ec }
    .before { stroke: #f2a35e; fill: #f2a35e } .after { stroke: #6cb8f5; fill: #6cb8f5 }
  }
"""


def reliability_svg(outcome: Outcome, title: str = "Reliability of P(fabricated)") -> str:
    """The picture's text: the posteriors as the guard gave them, and as the fit would have."""
    series = [("before", "as judged", outcome.before, -3.0)]
    if outcome.after is not None:
        name = "after the fit" if outcome.fit is not None else "after a fit that is not taken"
        series.append(("after", f"{name} (cross-validated)", outcome.after, 3.0))
    caption = (
        f"{outcome.labels:,} labels, {outcome.fabricated_labels:,} of fabricated calls, "
        f"standing for {outcome.calls:,.0f} calls; bars: {outcome.wish.confidence:.0%} intervals"
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'role="img" aria-labelledby="title said">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="said">{escape(caption)}</desc>',
        f"<style>{_STYLE}</style>",
        f'<text class="title" x="{LEFT}" y="26">{escape(title)}</text>',
        f'<text class="small" x="{LEFT}" y="44">{escape(caption)}</text>',
        *_frame(),
    ]
    most = max(bin.weight for _, _, figures, _ in series for bin in figures.bins)
    for index, (kind, name, figures, shift) in enumerate(series):
        parts += _legend(kind, name, figures, LEFT + 14, TOP + 20 + 18 * index)
        parts += _points(kind, figures.bins, shift)
        parts += _counts(kind, figures.bins, most, index, len(series))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _x(share: float) -> float:
    return LEFT + SIDE * share


def _y(share: float) -> float:
    return TOP + SIDE * (1.0 - share)


def _frame() -> Iterator[str]:
    for step in range(11):
        share = step / 10
        if 0 < step < 10:
            yield f'<path class="grid" d="M{_x(share):.1f} {TOP}V{TOP + SIDE}M{LEFT} {_y(share):.1f}H{LEFT + SIDE}"/>'
        if step % 2 == 0:
            yield f'<text class="small" x="{LEFT - 8}" y="{_y(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>'
            x, y = _x(share), BELOW + DEPTH + 16
            yield f'<text class="small" x="{x:.1f}" y="{y}" text-anchor="middle">{share:.0%}</text>'
    yield f'<path class="ideal" d="M{_x(0)} {_y(0)}L{_x(1)} {_y(1)}"/>'
    yield f'<rect class="axis" x="{LEFT}" y="{TOP}" width="{SIDE}" height="{SIDE}"/>'
    yield f'<path class="axis" d="M{LEFT} {BELOW + DEPTH}H{LEFT + SIDE}"/>'
    middle = TOP + SIDE / 2
    yield (
        f'<text transform="translate(20 {middle}) rotate(-90)" text-anchor="middle">'
        "share of the calls that is fabricated</text>"
    )
    yield f'<text class="small" x="{LEFT - 8}" y="{BELOW + DEPTH / 2 + 4}" text-anchor="end">calls, log</text>'
    yield f'<text x="{LEFT + SIDE / 2}" y="{HEIGHT - 10}" text-anchor="middle">posterior P(fabricated)</text>'


def _legend(kind: str, name: str, figures: Reliability, x: float, y: float) -> Iterator[str]:
    yield f'<circle class="{kind}" cx="{x}" cy="{y - 4}" r="4"/>'
    yield f'<text class="small" x="{x + 10}" y="{y}">{escape(name)}: calibration error {figures.error:.4f}</text>'


def _points(kind: str, bins: Sequence[Bin], shift: float) -> Iterator[str]:
    """``shift`` keeps the intervals of two series from lying on one another, in pixels."""
    path = " ".join(f"{_x(bin.predicted):.1f},{_y(bin.observed.value):.1f}" for bin in bins)
    yield f'<polyline class="{kind} line" style="fill:none" points="{path}"/>'
    for bin in bins:
        x = min(max(_x(bin.predicted) + shift, LEFT), LEFT + SIDE)
        yield f'<path class="{kind} reach" d="M{x:.1f} {_y(bin.observed.low):.1f}V{_y(bin.observed.high):.1f}"/>'
        caption = f"{bin.labels:,} labels: mean posterior {bin.predicted:.3f}, fabricated {bin.observed.value:.3f}"
        yield (
            f'<circle class="{kind}" cx="{_x(bin.predicted):.1f}" cy="{_y(bin.observed.value):.1f}" r="4">'
            f"<title>{escape(caption)}</title></circle>"
        )


def _counts(kind: str, bins: Sequence[Bin], most: float, index: int, series: int) -> Iterator[str]:
    for bin in bins:
        height = DEPTH * math.log1p(bin.weight) / math.log1p(most)
        width = (_x(bin.high) - _x(bin.low) - 4) / series
        x = _x(bin.low) + 2 + index * width
        yield (
            f'<rect class="{kind} bar" x="{x:.1f}" y="{BELOW + DEPTH - height:.1f}" '
            f'width="{width:.1f}" height="{height:.1f}"/>'
        )
