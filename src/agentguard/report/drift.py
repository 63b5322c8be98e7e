"""What is not what it was: the latest values of a number against those that its limits rest on."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from .records import Chart, Drifted, on_scale

__all__ = ["drift_alarms", "drifted_of"]

LEAST_SIGMAS: Final = 1.0  # a median of 25 values strays by about a quarter of one
MOST: Final = 12
_EWMA = re.compile(r"the EWMA of (latency|size) ")
_RULE = re.compile(r"(latency|size|field '.{0,300}'): rule ")


def drift_alarms(detail: str) -> frozenset[str]:
    """The numbers that a fired ``spc_anomaly`` is about, in either mode: ``latency``, ``size``, ``field 'price'``.

    >>> drift_alarms("the EWMA of latency is beyond its control limit")
    frozenset({'latency'})
    >>> sorted(drift_alarms("size: rule 1; field 'price': rule 1 and 2"))
    ["field 'price'", 'size']
    """
    found = {match[1] for match in _EWMA.finditer(detail)}
    for part in detail.split("; "):
        match = _RULE.match(part)
        if match is not None:
            found.add(match[1])
    return frozenset(found)


def drifted_of(charts: Iterable[Chart]) -> tuple[Drifted, ...]:
    """The numbers whose latest values lie a sigma or more from where they were learned, or that the engine named.

    The farthest first, at most twelve.
    """
    found = []
    for chart in charts:
        sigmas = None
        if chart.limits is not None and chart.lately is not None:
            sigmas = (chart.lately - chart.limits.centre) / chart.limits.sigma
        if chart.alarms or (sigmas is not None and abs(sigmas) >= LEAST_SIGMAS):
            learned = None if chart.limits is None else on_scale(chart.scale, chart.limits.centre)
            lately = None if chart.lately is None else on_scale(chart.scale, chart.lately)
            found.append(
                Drifted(chart.name, chart.unit, learned, lately, sigmas, chart.alarms, chart.first_alarm, None)
            )
    found.sort(key=lambda drifted: (-abs(drifted.sigmas or 0.0), drifted.what))
    return tuple(found[:MOST])
