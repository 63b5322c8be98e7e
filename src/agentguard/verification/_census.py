"""Census: counts of calls by field, which the workers of one fleet hand over, check and take in.

Two censuses merge by adding their counts, so that the sum is the same however the calls were divided. What depends on
the order of calls (drift, clocks, the latest result of some arguments) is not in it. A field is a JSON array:

============================================ ============================================================
``["calls"]``, ``["errors"]``                calls, and those whose result reports an error
``["untimed"]``, ``["latency", bucket]``     calls without a time, and with one, by bucket (see ``bucket_of``)
``["kind", kind]``                           results by kind (see ``Document``); no errors from here on
``["size", kind, bucket]``                   their length in bytes, by bucket
``["fact", kind, path, type]``               results in which this path has a value of this type
``["keys", kind, path, names]``              results with an object at this path that has these keys in order
``["word", kind, word]``                     texts that say this word
``["ending", kind, class]``                  results that end so (see ``_baseline.ending``)
``["relation", family, *paths, holds]``      calls in which a relation held (1) or not (0)
``["measured", signal, bucket]``             numbers of a signal of the user's own, by bucket (see ``signed_bucket_of``)
``["left out"]``                             layouts beyond the bound, whose facts and keys are not counted
============================================ ============================================================
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from agentguard.errors import DataError
from agentguard.verification._baseline import ToolMemory, ending
from agentguard.verification._document import Document
from agentguard.verification._relations import Relation
from agentguard.verification._shape import facts_of
from agentguard.verification._walk import Layout
from agentguard.verification.statistics import Rate, Ring

GROWTH: Final = 1.05  # from bucket to bucket
LEAST: Final = 1e-3  # below it all values are in one bucket
LEAST_SIGNED: Final = 1e-9  # as far from 0 and no farther is 0
MAX_LAYOUTS: Final = 256  # counted apart between two calls of ``take``
MAX_FACTS: Final = 4_000  # of all layouts and texts together
MAX_RELATIONS: Final = 256  # counted between two calls of ``take``
_LOG_GROWTH: Final = math.log(GROWTH)


def bucket_of(value: float) -> int:
    """The bucket of a positive number: each is a twentieth wider than the one below (Masson et al. 2019, DDSketch).

    >>> bucket_of(1.0), bucket_of(100.0), round(value_of(bucket_of(100.0)))
    (0, 95, 101)
    """
    return math.ceil(math.log(max(value, LEAST)) / _LOG_GROWTH)


def signed_bucket_of(value: float) -> int:
    """The bucket of any number: above 0 for those above it, below 0 for those below, 0 for 0.

    >>> signed_bucket_of(0.0), signed_bucket_of(-2.0), round(signed_value_of(signed_bucket_of(-2.0)), 2)
    (0, -439, -1.96)
    """
    if abs(value) <= LEAST_SIGNED:
        return 0
    bucket = math.ceil(math.log(abs(value) / LEAST_SIGNED) / _LOG_GROWTH)
    return bucket if value > 0.0 else -bucket


def signed_value_of(bucket: int) -> float:
    """The number that stands for a signed bucket."""
    return math.copysign(LEAST_SIGNED * value_of(abs(bucket)), bucket) if bucket else 0.0


def value_of(bucket: int) -> float:
    """The number that is off by the same share (at most 2.5%) from both ends of a bucket."""
    return 2.0 * math.pow(GROWTH, bucket) / (GROWTH + 1.0)


def field(*parts: Any) -> str:
    """A field's name.

    >>> field("latency", 95)
    '["latency",95]'
    """
    return json.dumps(parts, separators=(",", ":"))


def parts(name: str) -> list[Any]:
    """The parts of a field's name; [""] for a name that is no field of a census."""
    try:
        members = json.loads(name)
    except ValueError:
        return [""]
    return members if isinstance(members, list) and members and isinstance(members[0], str) else [""]


class Census:
    """The counts of one tool. Not locked: used under the lock of the tool that it counts."""

    __slots__ = ("_facts", "_latency", "_layouts", "_measured", "_relations", "_sizes", "_tallies", "_words")

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._tallies: Counter[tuple[str, ...]] = Counter()
        self._latency: Counter[int] = Counter()
        self._sizes: Counter[tuple[str, int]] = Counter()
        self._layouts: Counter[tuple[str, Layout]] = Counter()
        self._words: Counter[tuple[str, str]] = Counter()
        self._relations: Counter[tuple[str, str, str, str, bool]] = Counter()
        self._measured: Counter[tuple[str, int]] = Counter()
        self._facts = 0

    def push(
        self,
        document: Document,
        milliseconds: float | None,
        relations: Iterable[tuple[Relation, bool]] = (),
        measured: Mapping[str, float] | None = None,
    ) -> None:
        """Count a call, its milliseconds where they are known, and the relations that it holds to (True) or breaks.

        ``measured`` are the numbers of signals of the user's own.
        """
        tallies, kind = self._tallies, document.kind
        tallies["calls",] += 1
        if measured is not None:
            for name, value in measured.items():
                self._measured[name, signed_bucket_of(value)] += 1
        if milliseconds is None:
            tallies["untimed",] += 1
        else:
            self._latency[bucket_of(milliseconds)] += 1
        if document.is_error:
            tallies["errors",] += 1
            return
        tallies["kind", kind] += 1
        if kind == "empty":
            return
        self._sizes[kind, bucket_of(document.size)] += 1
        tallies["ending", kind, ending(document)] += 1
        layout = document.layout
        if layout is None:
            for word in facts_of(document):
                self._push_facts(self._words, (kind, str(word)), 1)
        elif not self._push_layout((kind, layout)):
            tallies["left out",] += 1
        for relation, holds in relations:
            key = (*relation.key, holds)
            if key in self._relations or len(self._relations) < MAX_RELATIONS:
                self._relations[key] += 1

    def _push_layout(self, key: tuple[str, Layout]) -> bool:
        if len(self._layouts) >= MAX_LAYOUTS and key not in self._layouts:
            return False
        return self._push_facts(self._layouts, key, len(key[1]))

    def _push_facts(self, tally: Counter[Any], key: Any, facts: int) -> bool:
        """Count a layout or a word, where there is still room for its facts."""
        if key not in tally:
            if self._facts + facts > MAX_FACTS:
                return False
            self._facts += facts
        tally[key] += 1
        return True

    def take(self) -> dict[str, int]:
        """The counts since they were last taken, by field; the census is empty after."""
        counts: Counter[str] = Counter()
        for tally, times in self._tallies.items():
            counts[field(*tally)] += times
        for bucket, times in self._latency.items():
            counts[field("latency", bucket)] += times
        for size, times in self._sizes.items():
            counts[field("size", *size)] += times
        for (kind, layout), times in self._layouts.items():
            for path, type_ in layout.facts:
                counts[field("fact", kind, path, type_.__name__)] += times
            for path, names in layout.forms:
                counts[field("keys", kind, path, names)] += times
        for word, times in self._words.items():
            counts[field("word", *word)] += times
        for number, times in self._measured.items():
            counts[field("measured", *number)] += times
        for (*key, holds), times in self._relations.items():
            counts[field("relation", *key, int(holds))] += times
        self._clear()
        return dict(counts)


def added(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Both counts together."""
    total = dict(one)
    for name, times in other.items():
        total[name] = total.get(name, 0) + times
    return total


# --- Taking in what other workers counted ---

MOST_VALUES: Final = 64  # taken into a ring at one time, so that a fleet does not push out what is seen here

#: What says, in a field, what it is of.
_FIELDS: Final[Mapping[str, tuple[Any, ...]]] = {
    "calls": (), "errors": (), "untimed": (), "left out": (), "latency": (int,), "kind": (str,), "size": (str, int),
    "fact": (str, str, str), "keys": (str, str, list), "word": (str, str), "ending": (str, str),
    "relation": (str, str, str, str, int), "measured": (str, int),
}  # fmt: skip
_TYPES: Final = {kind.__name__: kind for kind in (float, str, bool, type(None))}


def absorb(memory: ToolMemory, counts: Mapping[str, int]) -> None:
    """Take counts of other workers into a tool's memory; fields of a newer version's workers are passed over."""
    facts: dict[str, dict[Any, int]] = {}
    keys: dict[str, list[tuple[str, tuple[str, ...], int]]] = {}
    kinds: dict[str, int] = {}
    latencies: list[tuple[float, int]] = []
    sizes: dict[str, list[tuple[float, int]]] = {}
    endings: list[tuple[str, str, int]] = []
    measured: dict[str, list[tuple[float, int]]] = {}
    calls = errors = 0
    for name, times in counts.items():
        what, *rest = parts(name)
        if times <= 0 or what not in _FIELDS or len(rest) != len(_FIELDS[what]):
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
        elif what == "measured":
            measured.setdefault(rest[0], []).append((signed_value_of(rest[1]), times))
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
    for name, values in measured.items():
        for value in _quantiles(values):
            memory.measure(name, value)
    for kind, end, times in endings:
        if kind in memory.endings:
            memory.endings[kind].push(end, times)


def _count(rate: Rate, hits: int, total: int) -> None:
    if hits:
        rate.push(True, float(hits))
    if total > hits:
        rate.push(False, float(total - hits))


def _fill(ring: Ring, values: Iterable[tuple[float, int]]) -> None:
    for value in _quantiles(values):
        ring.push(value)


def _quantiles(values: Iterable[tuple[float, int]]) -> Iterator[float]:
    """The values, each as often as it came; where there are too many, by as many evenly spaced quantiles."""
    ordered = sorted(values)
    total = sum(times for _, times in ordered)
    wanted = min(total, MOST_VALUES)
    seen, taken = 0, 0
    for value, times in ordered:
        seen += times
        while taken < wanted and (taken + 0.5) * total <= seen * wanted:
            yield value
            taken += 1


# --- Whether counts can be so: no part is more than its whole ---

MAX_COUNT: Final = 1 << 53  # integers up to it are exact as floats
_CALLS: Final = field("calls")
_BUCKETS: Final = range(-1_000, 14_000)  # 1.05 to this power is a float
_SIGNED: Final = range(-14_000, 14_000)


def is_count(name: str, count: Any) -> bool:
    """A field of a census and how often it was counted; fields of newer versions are let pass.

    >>> is_count('["latency",95]', 3), is_count('["latency"]', 3), is_count('["calls"]', -1)
    (True, False, False)
    """
    if type(count) is not int or not 0 < count <= MAX_COUNT:
        return False
    what, *rest = parts(name)
    forms = _FIELDS.get(what)
    if forms is None:
        return bool(what)  # of a newer version, and passed over
    if len(rest) != len(forms):
        return False
    for part, form in zip(rest, forms, strict=True):
        if type(part) is not form or (form is list and not all(type(one) is str for one in part)):
            return False
    if what == "measured":
        return rest[-1] in _SIGNED
    return what not in ("latency", "size") or int(rest[-1]) in _BUCKETS


def check_counts(fields: Any) -> None:
    """The counts of a tool's calls: each is one, and none counts more than there were.

    Raises:
        DataError: naming the field that is wrong.

    >>> check_counts({'["calls"]': 3, '["errors"]': 1, '["kind","object"]': 2, '["fact","object","id","str"]': 2})
    """
    if not isinstance(fields, dict) or not fields:
        raise DataError("fields must be an object of counts")
    sums: Counter[tuple[Any, ...]] = Counter()
    for name, count in fields.items():
        if not is_count(name, count):
            raise DataError(f"{name[:60]!r} is no count of calls")
        what, *rest = parts(name)
        if what in _FIELDS:
            sums[_summed(what, rest, name)] += count
    for (_, kind, name), count in sums.items():
        of = fields.get(_CALLS, 0) if kind is None else fields.get(field("kind", kind), 0)
        if count > of:
            raise DataError(
                f"{name[:60]!r} is counted {count:,} times in {of:,} {'calls' if kind is None else 'results'}"
            )


def _summed(what: str, rest: Sequence[Any], name: str) -> tuple[Any, ...]:
    """The sum that a field belongs to, the kind of result that bounds it (None: calls do), and its name in messages."""
    if what in ("fact", "keys", "word"):
        return what, rest[0], name
    if what == "relation":
        return (what, *rest[:4]), None, name
    if what in ("size", "ending"):
        return what, rest[0], what
    if what in ("untimed", "latency"):
        return "time", None, "latency"
    if what == "measured":
        return (what, rest[0]), None, "measured"
    return ("answer", None, "kind") if what in ("kind", "errors") else (what, None, what)
