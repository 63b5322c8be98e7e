"""A tool's profile inferred from what was counted of its calls.

What is declared is a contract, and hard evidence that repetition does not unlearn. So it is declared only where
enough distinct answers bear it out and none contradicts it, and bounds have a margin beyond what was seen. The rule
is that of three: of n distinct answers without an exception, at most 3/n of all are exceptions, at 95% confidence. Form
(fields, types, formats) takes n = 20, echoes take 40, fixed values 100; what fewer bear out is told, not declared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from agentguard.verification.census import field, parts, value_of
from agentguard.verification.profile import place_of

from .draft import Declaration, Draft, is_required
from .schema_inference import Evidence, schema_declarations
from .tool_state import INSTANT_MS, MAX_KEYS, MAX_RESULTS, ToolState

__all__ = ["MIN_CALLS", "draft_profile"]

MIN_CALLS: Final = 20
ENOUGH: Final = 20  # distinct answers
FEW: Final = 5  # distinct answers from which on it is worth telling what they have in common
MOST_TOLD: Final = 30
LATENCY_MARGIN: Final = 4.0
LENGTH_MARGIN: Final = 8
SHORTEST_LENGTH: Final = 16  # bytes; below it a lower bound says nothing
ECHO_VALUES: Final = 8  # distinct arguments
FEW_VALUES: Final = 3  # distinct arguments, below which it is not even told
ECHO_FACTOR: Final = 2  # of enough: what comes back is a matter of content, and more often has exceptions than form
CHANGED_KEYS: Final = 2
CHANGED_SHARE: Final = 0.05
INSTANT_KEYS: Final = 3
HELD_BY_ERRORS: Final = ("required_fields", "output_schema", "min_response_length", "max_response_length")
LOCAL_SHARE: Final = 0.9  # of the calls, which a local tool answers at once


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
    evidence = Evidence(distinct / answers, ENOUGH, FEW, _distinct_arguments(state))
    read = answers - counts["large",]
    schema, required = schema_declarations(state.places.entries, read, evidence)
    if counts["large",]:
        schema, required = [], []
    repeats = list(_repeats(state))
    found = [*_latency(state, min_calls, cacheable=any(one.field == "cacheable" for one in repeats)), *repeats]
    found += [*_length(state, answers, evidence), *required, *_echoes(state, evidence), *schema]
    thin = sorted((one for one in found if one.missing != 0), key=_interest)
    if all(one.missing != 0 or one.field == "has_network_io" for one in found) and not thin:
        return f"{_some(distinct, 'distinct answer')} to learn from, which bear no declaration"
    declarations = tuple(one for one in found if one.missing == 0)
    if errors and any(one.field in HELD_BY_ERRORS for one in declarations):
        said = f"{errors:,} of {calls:,} results are error reports, which have another form"
        declarations = (Declaration("allow_errors", (), True, said), *declarations)
    notes = list(_notes(state, answers))
    if len(thin) > MOST_TOLD:
        notes.append(f"{len(thin) - MOST_TOLD:,} more things held in too few answers to declare them")
    return Draft(tool, calls, answers, distinct, declarations, (), tuple(thin[:MOST_TOLD]), tuple(notes))


def _interest(one: Declaration) -> int:
    """What a reviewer is told first: what an answer says, then which fields it has, then their form."""
    if one.field == "echoes":
        return 0
    if one.path[-1] in ("const", "enum"):
        return 1
    return 2 if one.field == "required_fields" or is_required(one.path) else 3


def _some(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _distinct(state: ToolState, answers: int) -> int:
    """Distinct answers; beyond the sample's size by the place of its last one (bottom-k estimate)."""
    digests = state.results.entries
    if not state.results.is_cut:
        return len(digests)
    return min(int((MAX_RESULTS - 1) * 2.0**64 / (max(digests) + 1)), answers)


def _distinct_arguments(state: ToolState) -> int:
    """Distinct arguments that were answered; beyond the sample's size by the place of its last key."""
    keys = state.keys.entries
    if not state.keys.is_cut:
        return len(keys)
    last = int(max(keys)[:16], 16)  # keys are 128 bits, in hexadecimal digits
    return int((MAX_KEYS - 1) * 2.0**64 / (last + 1))


def _quantile(buckets: list[tuple[int, int]], share: float) -> float:
    left = share * sum(times for _, times in buckets)
    for bucket, times in buckets:
        left -= times
        if left <= 0.0:
            return value_of(bucket)
    return value_of(buckets[-1][0])


def _latency(state: ToolState, min_calls: int, *, cacheable: bool) -> Iterator[Declaration]:
    buckets = sorted((int(name[1]), times) for name, times in state.counts.items() if name[0] == "latency")
    timed = sum(times for _, times in buckets)
    least, most = state.extremes[:2]
    if timed < min_calls or least is None or most is None:
        return
    # The margin is one of quantiles, which one odd call does not move; and no call of the log may break the bound.
    fast = _quantile(buckets, 0.01)
    low = _rounded((fast if fast / LATENCY_MARGIN <= least else least) / LATENCY_MARGIN, up=False)
    high = max(_rounded(max(_quantile(buckets, 0.99) * LATENCY_MARGIN, most), up=True), 1.0)
    why = (
        f"{timed:,} timed calls took {least:.3g} to {most:.3g} ms; a factor of {LATENCY_MARGIN:g} is left on both sides"
    )
    yield Declaration("expected_latency_ms", (), [low, high], why)
    instant = sum(times for bucket, times in buckets if value_of(bucket) < INSTANT_MS)
    if instant >= LOCAL_SHARE * timed and not cacheable:
        yield Declaration(
            "has_network_io", (), False, f"{instant:,} of {timed:,} calls took less than {INSTANT_MS:g} ms"
        )


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
    """For each argument the place that repeats it: one of its own name before others, then the most often."""
    found: dict[str, list[tuple[bool, bool, int, int, str, int]]] = {}
    for is_renamed, echoes in ((False, state.echoes.entries), (True, state.renamed.entries)):
        for name, echo in echoes.items():
            argument, where = map(str, parts(name))
            seen = echo.repeated + echo.passing + echo.lacking
            if is_renamed:
                results = state.leaves.entries.get(where)
                seen = 0 if results is None else results[0]
            if not (_is_place(argument) and _is_place(where)):
                continue
            bears = len(echo.values) >= ECHO_VALUES and evidence.bears(echo.repeated, seen, ECHO_FACTOR)
            shows = len(echo.values) >= FEW_VALUES and evidence.shows(echo.repeated, seen)
            if bears or shows:
                depth = where.count(".") + where.count("[")
                found.setdefault(argument, []).append((not bears, is_renamed, -echo.repeated, depth, where, seen))
    for argument, candidates in sorted(found.items()):
        thin, is_renamed, repeated, _, where, seen = min(candidates)
        echo = (state.renamed if is_renamed else state.echoes).entries[field(argument, where)]
        why = f"came back in {evidence.say(-repeated, seen)} of all (95%)"
        value: str | dict[str, str] = where
        if echo.several:
            why += f"; every value in {echo.every:,} of {echo.several:,} answers with several"
            if echo.every < echo.several:
                value = {"path": where, "rows": "any"}
            elif evidence.bears(echo.every, echo.several):
                value = {"path": where, "rows": "every"}
        missing: int | None = 0
        if thin:
            missing = evidence.missing(seen, ECHO_FACTOR) if len(echo.values) >= ECHO_VALUES else None
            why += f"; {_some(len(echo.values), 'distinct value')} of the argument" if missing is None else ""
        yield Declaration("echoes", (argument,), value, why, missing)


def _is_place(path: str) -> bool:
    """A declaration of the path finds the place that the path was learned at."""
    try:
        return place_of(path) == path
    except ValueError:
        return False


def _notes(state: ToolState, answers: int) -> Iterator[str]:
    counts = state.counts
    if counts["large",]:
        yield f"{counts['large',]:,} answers were too large to be read: nothing is said of fields"
    if counts["cut",]:
        yield f"{counts['cut',]:,} of {answers:,} answers were not read to their end"
    if state.places.is_cut:
        yield "answers have more places than are counted: those deepest down are left out"
