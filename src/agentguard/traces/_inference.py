"""A tool's profile, inferred from the counts of its calls.

A declaration is a contract, and a breach of it is hard evidence that repetition does not unlearn. So it is declared
only where enough distinct answers support it and none contradicts it, and bounds have a margin beyond what was seen.
The rule is that of three (Hanley & Lippman-Hand 1983): of n distinct answers without an exception, at most 3/n of all
are exceptions, at 95% confidence. Form (fields, types, formats) takes n = 20, echoes 40, fixed values 100; what fewer
answers support is reported, not declared.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from agentguard.traces._counts import (
    CHOICES,
    EACH,
    FORMATS,
    INSTANT_MS,
    MAX_KEYS,
    MAX_RESULTS,
    TYPES,
    UNDER_ANY,
    PlaceCounts,
    ToolState,
    name_of,
)
from agentguard.verification._census import field, parts, value_of
from agentguard.verification.profile import FieldPath, ToolProfile, parse_profile, place_of

LEVEL: Final = 0.95
MOST_EXCEPTIONS: Final = 50

#: The fields that are learned, as they are written.
FIELDS: Final = (
    "expected_latency_ms", "has_network_io", "cacheable", "stateful", "min_response_length", "max_response_length",
    "allow_errors", "required_fields", "echoes", "output_schema",
)  # fmt: skip


def at_least(hits: int, total: int) -> float:
    """The share that is exceeded with 95% confidence after ``hits`` of ``total`` (Clopper & Pearson 1934, one-sided).

    The share p at which as many hits have a chance of 5%: ``.05 ** (1 / n)`` for n of n. 0 for more than 50 misses,
    which nothing is declared from.

    >>> round(at_least(59, 59), 4), round(at_least(98, 100), 4), at_least(0, 0)
    (0.9505, 0.9384, 0.0)
    """
    misses = total - hits
    if hits <= 0 or misses > MOST_EXCEPTIONS:
        return 0.0
    if not misses:
        return math.pow(1.0 - LEVEL, 1.0 / total)
    low, high = 0.0, hits / total
    for _ in range(60):
        p = (low + high) / 2.0
        few = sum(
            math.exp(_log_choices(total, k) + k * math.log1p(-p) + (total - k) * math.log(p)) for k in range(misses + 1)
        )
        low, high = (p, high) if few < 1.0 - LEVEL else (low, p)
    return low


def _log_choices(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def share(value: float) -> str:
    """A share in per cent, rounded down: what holds in 99.96% is not said to hold in 100%."""
    return f"{math.floor(value * 1000) / 10:g}%"


@dataclass(frozen=True, slots=True)
class Declaration:
    """One thing that a profile says.

    Attributes:
        path: where in the field: the name of a required field, the argument of an echo, the path in the schema. That
            of a field that a schema requires ends in ``"required"`` and the field's name, which is the value as well.
        missing: distinct answers that are wanting before it can be declared, 0 where none are; None where no number
            of them would do. What is wanting may be told to a reviewer.
    """

    field: str  # the profile's field
    path: tuple[str, ...]
    value: Any  # what stands there
    why: str  # what was counted
    missing: int | None = 0
    broken: int = 0  # held-out calls that break it, of ``held_out`` that it was held against
    held_out: int = 0
    instead: Declaration | None = None  # what to declare in its place where held-out calls break it

    @property
    def name(self) -> str:
        """The name in a report."""
        return ": ".join((self.field, ".".join(self.path))) if self.path else self.field

    def against(self, broken: int, held_out: int, instead: Declaration | None = None) -> Declaration:
        """The same with what came of it."""
        return replace(self, broken=broken, held_out=held_out, instead=instead)


@dataclass(frozen=True, slots=True)
class Draft:
    """The declarations for one tool, with the evidence behind them."""

    tool: str  # its name
    calls: int  # calls that were learned from
    answers: int  # those of them whose result was no error report
    distinct: int  # distinct answers; of more than 512 an estimate
    declarations: tuple[Declaration, ...]  # what the counts bear
    left_out: tuple[Declaration, ...] = ()  # what held-out calls broke, and is not declared therefore
    thin: tuple[Declaration, ...] = ()  # what held in all answers, and too few of them to declare it
    notes: tuple[str, ...] = ()  # what else a reviewer should know

    def profile(self) -> ToolProfile:
        """The profile that says so; raises ``ProfileError`` where that is no profile."""
        return parse_profile({"name": self.tool, **fields_of(self.declarations)}, f"profile {self.tool!r}")

    def without_broken(self) -> Draft:
        """The same without what held-out calls broke, or with what is declared in its place."""
        held = (one.instead if one.broken else one for one in self.declarations)
        kept = tuple(one for one in held if one is not None)
        broken = tuple(one for one in self.declarations if one.broken)
        return replace(self, declarations=kept, left_out=(*self.left_out, *broken))


def fields_of(declarations: Iterable[Declaration]) -> dict[str, Any]:
    """The declarations as a profile's fields.

    >>> fields_of([Declaration("output_schema", ("properties", "id", "type"), "string", "")])
    {'output_schema': {'properties': {'id': {'type': 'string'}}}}
    """
    fields: dict[str, Any] = {}
    for one in declarations:
        if one.field == "required_fields":
            fields.setdefault(one.field, []).append(one.value)
        elif one.field == "echoes":
            fields.setdefault(one.field, {})[one.path[0]] = one.value
        elif one.field == "output_schema":
            _put(fields.setdefault(one.field, {}), one.path, one.value)
        else:
            fields[one.field] = one.value
    return {name: fields[name] for name in FIELDS if name in fields}


def _put(schema: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    *above, last = path
    required = is_required(path)
    for step in above[:-1] if required else above:
        schema = schema.setdefault(step, {})
    if required:
        schema.setdefault("required", []).append(value)
    else:
        schema[last] = value


def is_required(path: tuple[str, ...]) -> bool:
    """The path in a schema ends in the keyword ``required`` and a field's name, and not in a keyword of its own.

    >>> is_required(("properties", "id", "required", "const")), is_required(("properties", "required", "const"))
    (True, False)
    """
    steps = iter(path)
    for step in steps:
        if step == "properties":
            next(steps, None)  # a field's name, whatever it is
        elif step == "required":
            return True
    return False


# --- JSON Schema from the counts at the places of a tool's answers ---
#
# Of each place its types, the format where all strings have it, the values where these are always the same few labels;
# of objects the keys that each had; of lists what their elements share. A key that was never seen is never forbidden.
# Where keys are data (ids, dates, names of which each result has others), their values are described together.

ALMOST_ALL: Final = 0.999  # exceptions are passed over where at least this share of all results has none
MAP_KEYS: Final = 10  # distinct keys from which on they may be data
MAP_SHARE: Final = 0.5  # of the results, which then no key is in
NAMED_FORMATS: Final = frozenset({"date", "date-time", "uuid", "email", "uri"})
INTEGER_FACTOR: Final = 5
FIXED_FACTOR: Final = 5  # of enough: which values there are is a matter of content, and changes sooner than form
LEAST_TIMES: Final = 5  # results with each of the values; of values that are met once there are more

_ARRAY, _OBJECT, _STRING = TYPES.index("array"), TYPES.index("object"), TYPES.index("string")
_INTEGER, _NUMBER = TYPES.index("integer"), TYPES.index("number")


class Evidence:
    """The evidence in the counts of one tool.

    Answers that are the same are one piece of evidence: a share counts as if it came of the distinct ones only. Where
    n of them have no exception, at most 3/n of all answers are one, at 95% confidence (the rule of three).

    Args:
        distinct_share: distinct answers among all, in (0, 1].
        enough: distinct answers from which on "all of them" is worth declaring.
        few: distinct answers from which on it is worth telling.
        arguments: distinct arguments among the calls; 1 or less: the tool takes none.
    """

    def __init__(self, distinct_share: float, enough: int, few: int = 0, arguments: int = 0) -> None:
        self.distinct_share = distinct_share
        self.enough = enough
        self.few = few or enough
        self.arguments = arguments

    def bears(self, hits: int, total: int, factor: int = 1) -> bool:
        """All of enough, or almost all of very many."""
        distinct = self.distinct(total)
        if hits == total:
            return distinct >= self.enough * factor
        return at_least(distinct - (total - hits), distinct) >= ALMOST_ALL

    def shows(self, hits: int, total: int) -> bool:
        """All of a few, or what bears."""
        return (hits == total and self.distinct(total) >= self.few) or self.bears(hits, total)

    def missing(self, total: int, factor: int = 1) -> int:
        """Distinct answers that are wanting where all of so many hit."""
        return max(self.enough * factor - self.distinct(total), 0)

    def distinct(self, total: int) -> int:
        """Estimate how many of so many answers are distinct."""
        return int(total * self.distinct_share + 1e-9)

    def say(self, hits: int, total: int) -> str:
        """The counts in words, with the confidence in them.

        >>> Evidence(distinct_share=0.5, enough=20).say(200, 200)
        '200 of 200 (100 distinct): at least 97%'
        """
        distinct = self.distinct(total)
        which = "" if distinct == total else f" ({distinct:,} distinct)"
        return f"{hits:,} of {total:,}{which}: at least {share(at_least(distinct - (total - hits), distinct))}"

    def of_all(self, total: int) -> tuple[str, int]:
        """What holds in all of so many answers: the counts in words, and the answers that are wanting."""
        return self.say(total, total), self.missing(total)

    def varied(self, total: int) -> int:
        """Estimate how many of so many answers are distinct and come of distinct arguments."""
        distinct = self.distinct(total)
        return distinct if self.arguments <= 1 else min(distinct, self.arguments)


def schema_declarations(
    places: Mapping[str, PlaceCounts], answers: int, evidence: Evidence
) -> tuple[list[Declaration], list[Declaration]]:
    """Declare a schema, and the fields required at the top, from the places of so many answers."""
    children: dict[str, list[str]] = {}
    for where in places:
        if where:
            above, _, step = where.rpartition("/")
            children.setdefault(above, []).append(step)
    for steps in children.values():
        steps.sort(key=lambda step: (step == UNDER_ANY, step))
    root = places.get("")
    if root is None or root.results != answers:
        return [], []
    tree = _Tree(places, children, evidence)
    required = []
    if root.types[_OBJECT] == answers:
        required = [
            Declaration(
                "required_fields", (name,), name, f"in {evidence.say(answers, answers)} of all (95%)",
                evidence.missing(answers),
            )
            for name in tree.required(("",), answers)
            if _is_path(name)
        ]  # fmt: skip
    twice = {("required", *one.path) for one in required}
    return [one for one in tree.describe(("",), answers, ()) if one.path not in twice], required


def _is_path(name: str) -> bool:
    """The name, read as a path, is that one key."""
    try:
        return FieldPath.parse(name).steps == (name,)
    except ValueError:
        return False


class _Tree:
    """The places of answers, seen from any one of them; places that are described together go together."""

    def __init__(
        self, places: Mapping[str, PlaceCounts], children: Mapping[str, Sequence[str]], evidence: Evidence
    ) -> None:
        self.places = places
        self.children = children
        self.evidence = evidence

    def describe(self, group: tuple[str, ...], results: int, path: tuple[str, ...]) -> Iterator[Declaration]:
        """Declarations on the values at these places, which so many results have."""
        if not self.evidence.shows(results, results):
            return
        counts = [sum(self.places[where].types[bit] for where in group) for bit in range(len(TYPES))]
        yield from self._types(counts, results, path)
        yield from self._form(group, counts, path)
        yield from self._fixed(group, counts, results, path)
        if counts[_OBJECT]:
            yield from self._object(group, min(counts[_OBJECT], results), path)
        elements = self._below(group, EACH)
        if elements:
            yield from self.describe(elements, self._results(elements, results), (*path, "items"))

    def _below(self, group: tuple[str, ...], *steps: str) -> tuple[str, ...]:
        """The places to which these steps lead from a group, as far as there are any."""
        return tuple(place for where in group for step in steps if (place := f"{where}/{step}") in self.places)

    def _results(self, group: tuple[str, ...], most: int) -> int:
        return min(sum(self.places[where].results for where in group), most)

    def _types(self, counts: list[int], results: int, path: tuple[str, ...]) -> Iterator[Declaration]:
        seen = {TYPES[bit] for bit, count in enumerate(counts) if count}
        if not path and "string" in seen:
            return  # a result given as text is what the text looks like, and another text may look like anything
        if seen == {"null"} or len(seen) >= len(TYPES) - 1:
            return  # what has always been null is yet to come
        if "number" in seen or ("integer" in seen and not self.evidence.bears(results, results, INTEGER_FACTOR)):
            seen = seen - {"integer"} | {"number"}
        types = [name for name in TYPES if name in seen]
        value = types[0] if len(types) == 1 else types
        yield Declaration("output_schema", (*path, "type"), value, *self.evidence.of_all(results))

    def _form(self, group: tuple[str, ...], counts: list[int], path: tuple[str, ...]) -> Iterator[Declaration]:
        strings = counts[_STRING]
        for bit, (name, pattern) in enumerate(FORMATS.items()):
            written = sum(self.places[where].formats[bit] for where in group)
            if written and self.evidence.shows(written, strings):
                why = self.evidence.say(written, strings)
                missing = self.evidence.missing(strings) if written == strings else 0
                if name in NAMED_FORMATS:
                    yield Declaration("output_schema", (*path, "format"), name, why, missing)
                yield Declaration("output_schema", (*path, "pattern"), f"^(?:{pattern})$", why, missing)

    def _fixed(
        self, group: tuple[str, ...], counts: list[int], results: int, path: tuple[str, ...]
    ) -> Iterator[Declaration]:
        """Declare values that are always one of a few, as far as arguments do not choose them."""
        if not path:
            return  # a result that is a word may be another one
        places = [self.places[where] for where in group]
        values: Counter[str] = Counter()
        for place in places:
            if place.values is None or place.given:
                return
            values.update(place.values)
        named = {value: times for value, times in values.items() if value != "null"}
        are_labels = all(value.startswith('"') for value in named)
        if not 0 < len(named) <= CHOICES or (len(named) > 1 and not are_labels):
            return
        varied = self.evidence.varied(results)
        if varied < max(self.evidence.few, LEAST_TIMES * len(named)):
            return
        known: list[Any] = [json.loads(value) for value in sorted(named)]
        keyword, declared = ("const", known[0]) if len(values) == 1 else ("enum", known)
        if "null" in values:
            declared = [*known, None]
        is_enough = varied >= self.evidence.enough * FIXED_FACTOR and min(named.values()) >= LEAST_TIMES
        why = self.evidence.say(results, results)
        if not are_labels:  # a number or a boolean that has not changed is one that has not changed yet
            why += "; no label, so this is for you to declare"
        yield Declaration("output_schema", (*path, keyword), declared, why, 0 if are_labels and is_enough else None)

    def required(self, group: tuple[str, ...], objects: int) -> list[str]:
        """The keys that each object at these places had, as far as that can be said."""
        # A result may have objects at several of the places: each counts, and one that lacks a key is not made up for.
        objects = max(objects, sum(self.places[where].types[_OBJECT] for where in group if where in self.places))
        keys = []
        for step in self._steps(group):
            # Results in which no object lacks the key; at most so many, where there are several places.
            always = sum(self.places[place].always for place in self._below(group, step))
            if step not in (EACH, UNDER_ANY) and self.evidence.shows(always, objects):
                keys.append(name_of(step))
        return keys

    def _steps(self, group: tuple[str, ...]) -> list[str]:
        return list(dict.fromkeys(step for where in group for step in self.children.get(where, ())))

    def _object(self, group: tuple[str, ...], objects: int, path: tuple[str, ...]) -> Iterator[Declaration]:
        steps = self._steps(group)
        named = [step for step in steps if step not in (EACH, UNDER_ANY)]
        if self._is_map(group, named, objects):
            below = self._below(group, *(step for step in steps if step != EACH))
            if below:
                yield from self.describe(below, self._results(below, objects), (*path, "additionalProperties"))
            return
        for name in self.required(group, objects):
            yield Declaration("output_schema", (*path, "required", name), name, *self.evidence.of_all(objects))
        for step in named:
            below = self._below(group, step)
            yield from self.describe(below, self._results(below, objects), (*path, "properties", name_of(step)))

    def _is_map(self, group: tuple[str, ...], named: list[str], objects: int) -> bool:
        """All keys are data, or there are many and none is in half of the objects."""
        if not named:
            return True
        most = max(self._results(self._below(group, step), objects) for step in named)
        return len(named) >= MAP_KEYS and most < MAP_SHARE * objects


# --- The profile ---

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
    """Draft a tool's profile, or give the reason why nothing can be declared.

    ``min_calls`` are the calls without an error report that are necessary.
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
    drafted = [*_latency(state, min_calls, cacheable=any(one.field == "cacheable" for one in repeats)), *repeats]
    drafted += [*_length(state, answers, evidence), *required, *_echoes(state, evidence), *schema]
    thin = sorted((one for one in drafted if one.missing != 0), key=_interest)
    if all(one.field == "has_network_io" for one in drafted):
        return f"{_some(distinct, 'distinct answer')} to learn from, which bear no declaration"
    declarations = tuple(one for one in drafted if one.missing == 0)
    if errors and any(one.field in HELD_BY_ERRORS for one in declarations):
        why = f"{errors:,} of {calls:,} results are error reports, which have another form"
        declarations = (Declaration("allow_errors", (), True, why), *declarations)
    notes = list(_notes(state, answers))
    if len(thin) > MOST_TOLD:
        notes.append(f"{len(thin) - MOST_TOLD:,} more things held in too few answers to declare them")
    return Draft(tool, calls, answers, distinct, declarations, (), tuple(thin[:MOST_TOLD]), tuple(notes))


def _interest(one: Declaration) -> int:
    """The order of notes for a reviewer: content of answers first, then their fields, then their form."""
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
    """Declarations from repeated arguments: stateful, cacheable."""
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
    places: dict[str, list[tuple[bool, bool, int, int, str, int]]] = {}  # of each argument; the best one sorts first
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
                places.setdefault(argument, []).append((not bears, is_renamed, -echo.repeated, depth, where, seen))
    for argument, candidates in sorted(places.items()):
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
