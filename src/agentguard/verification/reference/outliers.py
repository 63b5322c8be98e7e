"""The call against the tool's control charts: runs of odd values, and single values far out."""

from __future__ import annotations

from collections.abc import Iterator

from ..case import Case
from ..charts import western_electric
from ..running import RunningStats
from .baseline import MIN_CALLS, SIGMAS, Baseline, latency_ms
from .fields import numeric_fields
from .finding import Finding

__all__ = ["spc", "value"]

FIELD_WEIGHT = 0.3


def spc(case: Case) -> Finding:
    """Sum of the weights of the Western Electric rules that hold, over latency, size and numeric fields, at most 1.

    A rule that holds in two of these series counts twice. The newest point of each is this call, mean and standard
    deviation are those of the calls before it. It applies from 8 learned calls on, and to each series from 8 values
    on; a series without spread has no chart.
    """
    memory: Baseline = case.memory
    if memory.calls < MIN_CALLS:
        return Finding(None, f"{memory.calls} of {MIN_CALLS} calls")
    total = 0.0
    said = []
    traits = []
    for name, trait, stats, newest in _series(case, memory):
        rules = western_electric((*stats.recent(7), newest), stats.mean, stats.spread)
        if rules:
            total += sum(rule.weight for rule in rules)
            said.append(f"{name}: rule {' and '.join(str(rule.number) for rule in rules)}")
            traits.append(trait)
    return Finding(min(1.0, total), "; ".join(said) or f"in control over {memory.calls} calls", tuple(traits))


def _series(case: Case, memory: Baseline) -> Iterator[tuple[str, str, RunningStats, float]]:
    elapsed = latency_ms(case.call)
    if elapsed is not None and memory.latency.n >= MIN_CALLS:
        yield "latency", "drift of latency", memory.latency, elapsed
    if memory.size.n >= MIN_CALLS:
        yield "size", "drift of size", memory.size, float(case.document.size)
    yield from _known_fields(case, memory)


def _known_fields(case: Case, memory: Baseline) -> Iterator[tuple[str, str, RunningStats, float]]:
    for path, number in numeric_fields(case.document).items():
        stats = memory.fields.get(path)
        if stats is not None and stats.n >= MIN_CALLS:
            yield f"field {path or 'result'!r}", f"number {path}", stats, number


def value(case: Case) -> Finding:
    """min(1, 0.3 · fields beyond mean ± 3 sigma), over the fields with at least 8 earlier values.

    A field that never varied has no sigma, and a first other value in it is not judged here.
    """
    memory: Baseline = case.memory
    if memory.calls < MIN_CALLS:
        return Finding(None, f"{memory.calls} of {MIN_CALLS} calls")
    known = list(_known_fields(case, memory))
    if not known:
        return Finding(None, f"no numeric field with {MIN_CALLS} earlier values")
    outside = []
    traits = []
    for name, trait, stats, number in known:
        z = stats.z(number)
        if z is not None and abs(z) > SIGMAS:
            outside.append(f"{name} is {abs(z):.1f} sigma {'above' if z > 0 else 'below'} its mean")
            traits.append(trait)
    if not outside:
        return Finding(0.0, f"{len(known)} fields within {SIGMAS:g} sigma")
    return Finding(min(1.0, FIELD_WEIGHT * len(outside)), "; ".join(outside), tuple(traits))
