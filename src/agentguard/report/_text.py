"""Text and numbers for a page: cut, rounded, with units."""

from __future__ import annotations

import math
from datetime import datetime, timezone
from typing import Final

MINUS: Final = "−"


def cut(text: str, limit: int) -> str:
    """Cut a text to ``limit`` characters, the last of them an ellipsis if some are missing.

    >>> cut("historical", 6)
    'histo…'
    """
    return text if len(text) <= limit else text[: limit - 1] + "…"


def number(x: float) -> str:
    """Format a number with about three digits, or all of those before the point.

    >>> number(1234567.0), number(0.00012345), number(-2.5), number(1e30)
    ('1,234,567', '0.000123', '−2.5', '1e+30')
    """
    if not math.isfinite(x):
        return "∞" if x > 0 else f"{MINUS}∞" if x < 0 else "–"
    size = abs(x)
    digits = f"{size:,.0f}" if 1_000 <= size < 1e15 else f"{size:.3g}"
    return MINUS + digits if x < 0 and float(digits.replace(",", "")) else digits


def short(x: float, unit: str = "") -> str:
    """Format a number beside an axis in about seven characters, thousands and millions abbreviated.

    >>> short(20000.0), short(1e7), short(-350.0), short(2500.0, "ms")
    ('20k', '10M', '−350', '2.5 s')
    """
    size = abs(x)
    if unit == "ms" and size < 1e6:
        return ms(x)
    for least, name in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if least <= size < 1e15:
            return number(x / (1e3 if name == "k" else least)) + name + ("B" if unit == "bytes" else "")
    return of_unit(x, unit)


def ms(x: float) -> str:
    """Format a time given in milliseconds; from one second on in seconds.

    >>> ms(0.25), ms(350.4), ms(1250.0)
    ('0.25 ms', '350 ms', '1.25 s')
    """
    return f"{number(x / 1000)} s" if x >= 1_000 else f"{x:.3g} ms"


def of_unit(x: float, unit: str) -> str:
    """Format a number with its unit: ``"ms"``, ``"bytes"`` or none."""
    if unit == "ms":
        return ms(x)
    return f"{number(round(x))} B" if unit == "bytes" else number(x)


def nats(x: float) -> str:
    """Format log-odds with their sign.

    >>> nats(1.9459), nats(-0.5), nats(0.0)
    ('+1.95', '−0.50', '0.00')
    """
    if not math.isfinite(x):
        return number(x)
    digits = f"{abs(x):.2f}"
    return digits if float(digits) == 0.0 else f"{'+' if x > 0 else MINUS}{digits}"


def p_of(x: float) -> str:
    """Format a probability with three digits, more next to 0 or 1.

    >>> p_of(0.5), p_of(0.00004), p_of(0.99995)
    ('0.500', '0.00004', '0.99995')
    """
    if 0.0005 <= x <= 0.9995 or x in (0.0, 1.0):
        return f"{x:.3f}"
    digits = min(-math.floor(math.log10(max(min(x, 1.0 - x), 1e-9))), 9)
    return f"{x:.{digits}f}"


def percent(share: float) -> str:
    """Format a share of 1 in per cent, with one digit more if it is small.

    >>> percent(0.5), percent(0.0123), percent(0.00004)
    ('50%', '1.2%', '<0.01%')
    """
    if 0.0 < share < 0.0001:
        return "<0.01%"
    hundredths = 100.0 * share
    return f"{hundredths:.0f}%" if share >= 0.1 or share == 0.0 else f"{hundredths:.2g}%"


def many(count: float, one: str, more: str = "") -> str:
    """Format a count with its noun in the right number.

    >>> many(1, "call"), many(1200, "call"), many(2, "alarm of drift", "alarms of drift")
    ('1 call', '1,200 calls', '2 alarms of drift')
    """
    digits = f"{count:,.0f}"
    return f"{digits} {one if digits == '1' else more or one + 's'}"


def when(hour: int) -> str:
    """Format an hour since the epoch as date and time in UTC.

    >>> when(490_000)
    '2025-11-24 16:00'
    """
    return utc(hour * 3_600, "%Y-%m-%d %H:%M") or f"hour {hour:,}"


def utc(at: float, form: str = "%Y-%m-%d %H:%M:%S UTC") -> str:
    """Format seconds since the epoch; empty for times that no calendar has, of a clock that was far off."""
    try:
        return datetime.fromtimestamp(at, timezone.utc).strftime(form)
    except (OverflowError, ValueError, OSError):
        return ""
