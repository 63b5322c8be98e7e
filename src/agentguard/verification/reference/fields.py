"""A result's numbers by path, and how far two of them are apart."""

from __future__ import annotations

import math
from typing import Any

from ..document import Document

__all__ = ["finite", "numeric_fields", "severity", "swing"]

LARGEST = 1e150  # its square is still a finite number
MAX_FIELDS = 200
MAX_PATH = 256


def finite(value: Any) -> float | None:
    """A number as a float, or None for whatever is not one.

    Booleans, text, NaN, infinities and integers too large for a float are not numbers here. What is beyond 1e150 is
    taken as 1e150.

    >>> finite(3), finite(True), finite("3"), finite(10**400), finite(1e300)
    (3.0, None, None, None, 1e+150)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return max(-LARGEST, min(LARGEST, number)) if math.isfinite(number) else None


def numeric_fields(document: Document) -> dict[str, float]:
    """The number at each path of a result, in the order met; the mean where a path occurs several times.

    The rows of a list share one path, and a single row may rightly be of any size; their mean is what stays
    comparable between two answers of the same tool. At most 200 paths are taken, and none longer than 256 characters.

    >>> from agentguard.verification.document import read
    >>> numeric_fields(read({"total": 7, "ok": True, "rows": [{"id": 1}, {"id": 4}]}))
    {'total': 7.0, 'rows[].id': 2.5}
    """
    fields: dict[str, float] = {}
    for path, leaves in document.leaves.items():
        numbers = [number for leaf in leaves if (number := finite(leaf)) is not None]
        if numbers and len(path) <= MAX_PATH:
            fields[path] = numbers[0] if len(numbers) == 1 else math.fsum(numbers) / len(numbers)
            if len(fields) >= MAX_FIELDS:
                break
    return fields


def swing(one: float, other: float) -> float | None:
    """How many times larger one magnitude is than the other, at least 1; None where there is no such factor.

    Signs are left aside: a balance that goes from -5 to 5 has not swung. Between zero and another number no factor
    exists (an empty count that fills up is no multiple of nothing), so such a pair is not compared; two zeros are
    equal. A value that drops to zero is for ``value_plausibility`` to notice, which measures distance, not factors.

    >>> swing(650.0, 50.0), swing(-5.0, 5.0), swing(0.0, 3.0), swing(0.0, 0.0)
    (13.0, 1.0, None, 1.0)
    """
    low, high = sorted((abs(one), abs(other)))
    if low > 0.0:
        return high / low
    return 1.0 if high == 0.0 else None


def severity(factor: float) -> float:
    """How grave a swing by this factor is, in [0, 1]: a factor of 1,000 and more is 1.

    >>> round(severity(50.0), 4), severity(1e6)
    (0.5663, 1.0)
    """
    return min(1.0, math.log10(factor) / 3.0)
