"""A tool's profile inferred from what was counted of its calls.

What is declared is a contract, and hard evidence that repetition does not unlearn. So it is declared only where
enough distinct answers bear it out and none contradicts it, and bounds have a margin beyond what was seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from agentguard.verification.census import parts, value_of

from .draft import Declaration, Draft, at_least
from .schema_inference import Evidence, schema_declarations
from .tool_state import INSTANT_MS, MAX_RESULTS, ToolState

__all__ = ["MIN_CALLS", "draft_profile"]

MIN_CALLS: Final = 20
ENOUGH: Final = 20  # distinct answers
LATENCY_MARGIN: Final = 4.0
LENGTH_MARGIN: Final = 8
SHORTEST_LENGTH: Final = 16  # bytes; below it a lower bound says nothing
ALMOST_ALL: Final = 0.999
ECHO_VALUES: Final = 8  # distinct arguments
ECHO_FACTOR: Final = 2  # of enough: what comes back is a matter of content, and more often has exceptions than form
CHANGED_KEYS: Final = 2
CHANGED_SHARE: Final = 0.05
INSTANT_KEYS: Final = 3
UNTIMED: Final = "too few calls were timed to tell: say true where a call cannot be answered at once"


def draft_profile(tool: str, state: ToolState, min_calls: int = MIN_CALLS) -> Draft | str:
    """What can be declared of a tool, or the reason why nothing can.

    Args:
        tool: its name.
        state: the counts of its calls.
        min_calls: calls without an error report that are necessary.
    """
    counts = state.counts
    calls, errors = counts["calls",], counts["errors",]
    answers = calls - errors
    if "*" in tool:
        return "its name has a '*', which in a profile stands for any text"
    if answers < min_calls:
        return f"{_some(answers, 'answer')} to learn from, where {min_calls:,} are necessary"
    distinct = _distinct(state, answers)
    evidence = Evidence(distinct / answers, ENOUGH)
    read = answers - counts["large",]
    schema, required = schema_declarations(state.places.entries, read, evidence)
    if counts["large",]:
        schema, required = [], []
    declarations = [*_latency(state, min_calls), *_repeats(state), *_length(state, answers, evidence)]
    declarations += [*required, *_echoes(state, evidence), *schema]
    if all(one.field == "has_network_io" for one in declarations):
        return f"{_some(distinct, 'distinct answer')} to learn from, which bear no declaration"
    return Draft(tool, calls, answers, distinct, tuple(declarations), (), tuple(_notes(state, answers)))


def _some(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _distinct(state: ToolState, answers: int) -> int:
    """Distinct answers; beyond the sample's size by the place of its last one (bottom-k estimate)."""
    digests = state.results.entries
    if not state.results.is_cut:
        return len(digests)
    return min(int((MAX_RESULTS - 1) * 2.0**64 / (max(digests) + 1)), answers)


def _quantile(buckets: list[tuple[int, int]], share: float) -> float:
    left = share * sum(times for _, times in buckets)
    for bucket, times in buckets:
        left -= times
        if left <= 0.0:
            return value_of(bucket)
    return value_of(buckets[-1][0])


def _latency(state: ToolState, min_calls: int) -> Iterator[Declaration]:
    buckets = sorted((int(name[1]), times) for name, times in state.counts.items() if name[0] == "latency")
    timed = sum(times for _, times in buckets)
    least, most = state.extremes[:2]
    if timed < min_calls or least is None or most is None:
        yield Declaration("has_network_io", (), False, UNTIMED)
        return
    low, high = _quantile(buckets, 0.01) / LATENCY_MARGIN, _quantile(buckets, 0.99) * LATENCY_MARGIN
    below = sum(times for bucket, times in buckets if value_of(bucket) < low)
    if below and at_least(timed - below, timed) < ALMOST_ALL:
        low = 0.0
    low, high = _rounded(low, up=False), max(_rounded(max(high, most), up=True), 1.0)
    why = (
        f"{timed:,} timed calls took {least:.3g} to {most:.3g} ms; a factor of {LATENCY_MARGIN:g} is left on both sides"
    )
    yield Declaration("expected_latency_ms", (), [low, high], why)
    if low < INSTANT_MS:
        median = _quantile(buckets, 0.5)
        why = f"half of the calls take {median:.3g} ms or less, and some may take less than {INSTANT_MS:g}"
        yield Declaration("has_network_io", (), False, why)


def _rounded(value: float, *, up: bool) -> float:
    """To two digits, away from what was seen.

    >>> _rounded(0.0432, up=False), _rounded(1374.0 * 8, up=True)
    (0.043, 11000.0)
    """
    if value <= 0.0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    steps = math.ceil(value / step - 1e-9) if up else math.floor(value / step + 1e-9)
    return float(f"{steps * step:.3g}")


def _repeats(state: ToolState) -> Iterator[Declaration]:
    """What repeated arguments tell: other answers, instant answers."""
    keys = state.keys.entries.values()
    repeated = [key for key in keys if key.calls > 1]
    instant = [key for key in keys if key.instant]
    once = [key for key in keys if key.calls == 1 and key.instant + key.slower]
    if len(instant) >= INSTANT_KEYS and len(once) >= INSTANT_KEYS and all(key.slower for key in instant):
        why = (
            f"{len(instant):,} of {len(repeated):,} repeated arguments were answered at once, none of {len(once):,} new"
        )
        yield Declaration("cacheable", (), True, why)
    changed = sum(len(key.answers) > 1 for key in repeated)
    if changed >= CHANGED_KEYS and changed >= CHANGED_SHARE * len(repeated):
        why = f"{changed:,} of {len(repeated):,} repeated arguments had different answers"
        yield Declaration("stateful", (), True, why)


def _length(state: ToolState, answers: int, evidence: Evidence) -> Iterator[Declaration]:
    least, most = state.extremes[2:]
    if least is None or most is None or not evidence.bears(answers, answers):
        return
    why = f"{answers:,} answers had {int(least):,} to {int(most):,} bytes; a factor of {LENGTH_MARGIN} is left"
    low = int(_rounded(least / LENGTH_MARGIN, up=False))
    if low >= SHORTEST_LENGTH:
        yield Declaration("min_response_length", (), low, why)
    yield Declaration("max_response_length", (), max(int(_rounded(most * LENGTH_MARGIN, up=True)), 1_000), why)


def _echoes(state: ToolState, evidence: Evidence) -> Iterator[Declaration]:
    """For each argument the place that repeated it most often, of equals the outermost."""
    found: dict[str, list[tuple[int, int, str, int]]] = {}
    for name, echo in state.echoes.entries.items():
        argument, where = map(str, parts(name))
        seen = echo.repeated + echo.passing + echo.lacking
        if len(echo.values) >= ECHO_VALUES and evidence.bears(echo.repeated, seen, ECHO_FACTOR):
            depth = where.count(".") + where.count("[")
            found.setdefault(argument, []).append((-echo.repeated, depth, where, seen))
    for argument, candidates in sorted(found.items()):
        repeated, _, where, seen = min(candidates)
        yield Declaration("echoes", (argument,), where, f"came back in {evidence.say(-repeated, seen)} of all (95%)")


def _notes(state: ToolState, answers: int) -> Iterator[str]:
    counts = state.counts
    if counts["large",]:
        yield f"{counts['large',]:,} answers were too large to be read: nothing is said of fields"
    if counts["cut",]:
        yield f"{counts['cut',]:,} of {answers:,} answers were not read to their end"
    if state.places.is_cut:
        yield "answers have more places than are counted: those deepest down are left out"
