"""Two pictures as inline SVG, in the colours of the page: the way of a call, and a verdict's sum."""

from __future__ import annotations

import math
from html import escape

from agentguard.verification import VerificationEngine, VerificationResult

__all__ = ["call_picture", "waterfall_picture"]

MARKED = 'fill="var(--md-accent-fg-color, #00897b)"'
STEPS = (
    ("call", ("tool, arguments, result,", "time, session")),
    ("tier 0", ("the call alone: schema,", "latency, cut-off text")),
    ("tier 1", ("against the past: form,", "echoes, repeats, drift")),
    ("sum", ("log-odds,", "group by group")),
    ("verdict", ("accept, flag, block", "and the reasons")),
)


def call_picture() -> str:
    """The way of a call, from left to right, and back into what is remembered."""
    width, gap, parts = 172, 22, []
    for n, (head, lines) in enumerate(STEPS):
        x = n * (width + gap)
        parts.append(f'<rect x="{x + 1}" y="1" width="{width}" height="78" rx="6" fill="none" stroke="currentColor"/>')
        parts.append(_text(x + 12, 24, head, weight="bold"))
        parts += [_text(x + 12, 46 + 20 * k, line) for k, line in enumerate(lines)]
        if n:
            parts.append(_arrow(x - gap + 3, 40, x - 2, 40))
    right = 4 * (width + gap) + width // 2
    left = 2 * (width + gap) + width // 2
    parts.append(f'<path d="M{right} 80 V112 H{left} V86" fill="none" stroke="currentColor" stroke-dasharray="4 3"/>')
    parts.append(f'<path d="M{left - 4} 90 L{left} 81 L{left + 4} 90 Z" fill="currentColor"/>')
    parts.append(_text((left + right) // 2 - 110, 130, "what is believed is learned, suspects thinly"))
    said = "A call goes through tier 0, tier 1, and the sum of log-odds to a verdict; what is believed is learned."
    return _figure(5 * width + 4 * gap + 2, 138, said, parts)


def waterfall_picture() -> str:
    """The sum of the worked example of the page, as the engine gives it."""
    found = _worked_example()
    steps = [("prior", math.log(found.prior / (1.0 - found.prior)))]
    steps += sorted(((name, nats) for name, nats in found.contributions.items() if nats), key=lambda step: step[1])
    left, scale, row, total = 190, 46.0, 26, 0.0
    zero = left + 2.4 * scale
    foot = row * (len(steps) + 1)
    parts = [f'<line x1="{zero:.1f}" y1="0" x2="{zero:.1f}" y2="{foot}" stroke="currentColor" opacity=".4"/>']
    for n, (name, nats) in enumerate(steps):
        start, end = zero + total * scale, zero + (total + nats) * scale
        y = n * row
        parts.append(_text(0, y + 17, name))
        mark = MARKED if nats > 0 else 'fill="currentColor" opacity=".45"'
        from_x, wide = min(start, end), max(abs(end - start), 1.0)
        parts.append(f'<rect x="{from_x:.1f}" y="{y + 5}" width="{wide:.1f}" height="15" {mark}/>')
        parts.append(_text(round(max(start, end)) + 6, y + 17, f"{nats:+.3f}"))
        total += nats
    y = len(steps) * row
    parts.append(_text(0, y + 17, "sum", weight="bold"))
    parts.append(_text(round(zero + total * scale) + 6, y + 17, f"{total:+.3f}", weight="bold"))
    parts.append(f'<circle cx="{zero + total * scale:.1f}" cy="{y + 12}" r="4" {MARKED}/>')
    parts.append(_text(0, y + 43, f"P(fabricated) = 1 / (1 + e^-{total:.3f}) = {found.posterior:.3f}"))
    said = "Log-odds add up from the prior to the posterior: " + ", ".join(
        f"{name} {nats:+.3f}" for name, nats in steps
    )
    return _figure(620, y + 54, said, parts)


def _worked_example() -> VerificationResult:
    engine = VerificationEngine()
    for n in range(60):
        order = {"order_id": f"W{1000 + n}", "status": "shipped", "total": 20.0 + n}
        engine.verify("get_order", args={"order_id": order["order_id"]}, result=order, execution_time_ms=40.0 + n % 7)
    wrong = {"order_id": "W1003", "status": "shipped", "total": 23.0}
    return engine.verify("get_order", args={"order_id": "W2000"}, result=wrong, execution_time_ms=44.0)


def _text(x: int, y: int, said: str, weight: str = "normal") -> str:
    return f'<text x="{x}" y="{y}" font-weight="{weight}" fill="currentColor">{escape(said)}</text>'


def _arrow(x1: int, y1: int, x2: int, y2: int) -> str:
    head = f'<path d="M{x2 - 8} {y2 - 4} L{x2} {y2} L{x2 - 8} {y2 + 4} Z" fill="currentColor"/>'
    return f'<line x1="{x1}" y1="{y1}" x2="{x2 - 6}" y2="{y2}" stroke="currentColor"/>{head}'


def _figure(width: int, height: int, said: str, parts: list[str]) -> str:
    """All on one line, which Markdown leaves as it is."""
    style = "max-width:100%;height:auto;font-family:inherit;font-size:13px"
    return (
        f'<figure style="margin:1em 0;max-width:100%"><svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'aria-label="{escape(said)}" viewBox="0 0 {width} {height}" width="{width}" style="{style}">'
        f"{''.join(parts)}</svg></figure>"
    )
