"""What a store holds of one tool, as charts and in words.

The latest 256 times of a tool are kept in their order, the numbers in its results are not: there is a chart of latency
and none of fields. What drifts now is told by the engine's own charts, which are kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from agentguard.admin._portrait import Portrait, portrait, restored
from agentguard.errors import DataError
from agentguard.stores import Store
from agentguard.verification.baseline import ToolMemory
from agentguard.verification.drift import LIMIT, SIGMA, WARM_UP
from agentguard.verification.reference import Baseline
from agentguard.verification.state import Place, documents_of

from .build import LEAST_MS
from .drift import drifted_of
from .records import Chart, Drifted, Scale, on_scale
from .series import LEAST, Series

__all__ = ["KeptTool", "kept_of"]

NEAR: Final = 0.5  # of the control limit, from which on a chart is told of
_STREAMS: Final[Mapping[str, tuple[str, Scale]]] = {"latency": ("ms", "log"), "size": ("bytes", "signed log")}


class KeptTool(NamedTuple):
    """A tool's part of a report, as far as documents of its store give it: see ``ToolReport``."""

    charts: tuple[Chart, ...]
    drifted: tuple[Drifted, ...]
    learned: Mapping[str, Portrait | str]


def kept_of(store: Store, tool: str) -> KeptTool:
    """What the documents of a tool say, whichever modes they are of.

    Raises:
        StoreError: where the store cannot be read.
    """
    charts, now, learned = list[Chart](), dict[str, Drifted](), dict[str, Portrait | str]()
    for mode, document in documents_of(store, tool).items():
        try:
            learned[mode] = portrait(mode, document)
            memory = restored(Place(mode, tool), document)
        except DataError as error:
            learned[mode] = str(error)
            continue
        charts += _chart(memory)
        now.update({drifted.what: drifted for drifted in _drifted(memory)})
    for shifted in drifted_of(charts[:1]):  # alarms on single calls are not kept
        engine = now.get(shifted.what)
        now[shifted.what] = shifted._replace(alarms=None, now=None if engine is None else engine.now)
    return KeptTool(tuple(charts[:1]), tuple(now.values()), learned)


def _chart(memory: Any) -> Iterator[Chart]:
    """Latency as it was lately, in the order of calls."""
    series = Series()
    if isinstance(memory, ToolMemory):
        for x in memory.latency.arrived:
            series.push(x)
    elif isinstance(memory, Baseline):
        for milliseconds in memory.latency.recent():
            series.push(math.log(max(milliseconds, LEAST_MS)))
    if series.count >= LEAST:
        yield series.chart("latency", "ms", "log")


def _drifted(memory: Any) -> Iterator[Drifted]:
    """The engine's own charts that stand half way to an alarm, or beyond."""
    if not isinstance(memory, ToolMemory):
        return
    for name, (unit, scale) in _STREAMS.items():
        stream = memory.drift.streams.get(name)
        if stream is None or stream.level.count < WARM_UP:
            continue
        now = abs(stream.ewma) / (LIMIT * SIGMA)
        if now >= NEAR:
            mean = stream.level.mean
            yield Drifted(name, unit, on_scale(scale, mean), on_scale(scale, mean + stream.last), None, None, None, now)
