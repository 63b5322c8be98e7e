"""What other workers counted, taken into the memory of a tool as if it had been seen here.

What is absorbed is what can be counted: errors, kinds, facts, orders of keys, lengths, latencies, endings, relations.
What depends on the order of calls is each worker's own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from .baseline import ToolMemory
from .census import parts, value_of
from .statistics import Rate, Ring

__all__ = ["absorb"]

MOST_VALUES: Final = 64  # taken into a ring at one time, so that a fleet does not push out what is seen here

#: How many parts of a field say what it is of, by what it counts.
PARTS: Final = {
    "calls": 0,
    "errors": 0,
    "kind": 1,
    "latency": 1,
    "size": 2,
    "fact": 3,
    "keys": 3,
    "word": 2,
    "ending": 2,
    "relation": 5,
}
_TYPES: Final = {kind.__name__: kind for kind in (float, str, bool, type(None))}


def absorb(memory: ToolMemory, counts: Mapping[str, int]) -> None:
    """Take counts of other workers (see ``census``) into a tool's memory; used under the tool's lock.

    Fields that are not known here, of a newer version's workers, are passed over.
    """
    facts: dict[str, dict[Any, int]] = {}
    keys: dict[str, list[tuple[str, tuple[str, ...], int]]] = {}
    kinds: dict[str, int] = {}
    latencies: list[tuple[float, int]] = []
    sizes: dict[str, list[tuple[float, int]]] = {}
    endings: list[tuple[str, str, int]] = []
    calls = errors = 0
    for name, times in counts.items():
        what, *rest = parts(name)
        if times <= 0 or len(rest) != PARTS.get(what, -1):
            continue
        if what == "calls":
            calls = times
        elif what == "errors":
            errors = times
        elif what == "kind":
            kinds[rest[0]] = times
        elif what == "latency":
            latencies.append((math.log(value_of(rest[0])), times))
        elif what == "size":
            sizes.setdefault(rest[0], []).append((math.log1p(value_of(rest[1])), times))
        elif what == "fact" and rest[2] in _TYPES:
            facts.setdefault(rest[0], {})[rest[1], _TYPES[rest[2]]] = times
        elif what == "word":
            facts.setdefault(rest[0], {})[rest[1]] = times
        elif what == "keys":
            keys.setdefault(rest[0], []).append((rest[1], tuple(rest[2]), times))
        elif what == "ending":
            endings.append((rest[0], rest[1], times))
        elif what == "relation":
            memory.relations.absorb((rest[0], rest[1], rest[2], rest[3]), bool(rest[4]), times)
    memory.count += calls
    _count(memory.errors, errors, calls)
    _count(memory.empties, kinds.pop("empty", 0), calls - errors)
    _fill(memory.latency, latencies)
    for kind, times in kinds.items():
        memory.kinds.push(kind, times)
        _count(memory.broken, times if kind == "broken" else 0, times)
        if kind not in memory.shapes:
            memory.new_kind(kind)
        memory.shapes[kind].absorb(times, facts.get(kind, {}), keys.get(kind, ()))
        _fill(memory.lengths[kind], sizes.get(kind, ()))
    for kind, end, times in endings:
        if kind in memory.endings:
            memory.endings[kind].push(end, times)


def _count(rate: Rate, hits: int, total: int) -> None:
    if hits:
        rate.push(True, float(hits))
    if total > hits:
        rate.push(False, float(total - hits))


def _fill(ring: Ring, values: Iterable[tuple[float, int]]) -> None:
    """The values, each as often as it came; where there are too many, by as many evenly spaced quantiles."""
    ordered = sorted(values)
    total = sum(times for _, times in ordered)
    wanted = min(total, MOST_VALUES)
    seen, taken = 0, 0
    for value, times in ordered:
        seen += times
        while taken < wanted and (taken + 0.5) * total <= seen * wanted:
            ring.push(value)
            taken += 1
