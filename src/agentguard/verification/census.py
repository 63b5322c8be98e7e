"""What can be counted of a tool's calls exactly, in any order and on any number of machines.

Integers by field, and nothing else: two censuses merge by adding their counts, so that the sum is the same however the
calls were divided, as far as the bounds below are not reached. This is what workers of one fleet tell each other. What
depends on the order of calls (drift, clocks, the latest result of some arguments) is not in it.

A field is a JSON array that begins with what is counted:

============================================ ============================================================
``["calls"]``, ``["errors"]``                calls, and those whose result reports an error
``["untimed"]``, ``["latency", bucket]``     calls without a time, and with one, by bucket (see ``bucket_of``)
``["kind", kind]``                           results by kind (see ``Document``); no errors from here on
``["size", kind, bucket]``                   their length in bytes, by bucket
``["fact", kind, path, type]``               results in which this path has a value of this type
``["keys", kind, path, names]``              results with an object at this path that has these keys in order
``["word", kind, word]``                     texts that say this word
``["ending", kind, class]``                  results that end so (see ``baseline.ending``)
``["relation", family, *paths, holds]``        calls in which a relation (see ``relations``) held (1) or not (0)
``["left out"]``                             layouts beyond the bound, whose facts and keys are not counted
============================================ ============================================================
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from .baseline import ending
from .document import Document
from .layout import Layout
from .relations import Relation
from .shape import facts_of

__all__ = ["Census", "added", "bucket_of", "field", "parts", "value_of"]

GROWTH: Final = 1.05
LEAST: Final = 1e-3
MAX_LAYOUTS: Final = 256  # counted apart between two calls of ``take``
MAX_FACTS: Final = 4_000  # of all layouts and texts together
MAX_RELATIONS: Final = 256
_LOG_GROWTH: Final = math.log(GROWTH)


def bucket_of(value: float) -> int:
    """The bucket of a positive number: each is a twentieth wider than the one below (Masson et al. 2019, DDSketch).

    >>> bucket_of(1.0), bucket_of(100.0), round(value_of(bucket_of(100.0)))
    (0, 95, 101)
    """
    return math.ceil(math.log(max(value, LEAST)) / _LOG_GROWTH)


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
    """What a field's name is made of; [""] for a name that is no field of a census."""
    try:
        found = json.loads(name)
    except ValueError:
        return [""]
    return found if isinstance(found, list) and found and isinstance(found[0], str) else [""]


class Census:
    """The counts of one tool. Not locked: used under the lock of the tool that it counts."""

    __slots__ = ("_facts", "_latency", "_layouts", "_relations", "_sizes", "_tallies", "_words")

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._tallies: Counter[tuple[str, ...]] = Counter()
        self._latency: Counter[int] = Counter()
        self._sizes: Counter[tuple[str, int]] = Counter()
        self._layouts: Counter[tuple[str, Layout]] = Counter()
        self._words: Counter[tuple[str, str]] = Counter()
        self._relations: Counter[tuple[str, str, str, str, bool]] = Counter()
        self._facts = 0

    def push(
        self, document: Document, milliseconds: float | None, relations: Iterable[tuple[Relation, bool]] = ()
    ) -> None:
        """Count one call.

        Args:
            document: its result.
            milliseconds: how long it took; None where that is unknown.
            relations: those that it holds to (True), or breaks (False).
        """
        tallies, kind = self._tallies, document.kind
        tallies["calls",] += 1
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
        if layout is not None:
            self._push_layout(kind, layout)
        else:
            for word in facts_of(document):
                self._push_word(kind, str(word))
        for relation, holds in relations:
            place = (*relation.key, holds)
            if place in self._relations or len(self._relations) < MAX_RELATIONS:
                self._relations[place] += 1

    def _push_layout(self, kind: str, layout: Layout) -> None:
        place = (kind, layout)
        if place not in self._layouts:
            if len(self._layouts) >= MAX_LAYOUTS or self._facts + len(layout) > MAX_FACTS:
                self._tallies["left out",] += 1
                return
            self._facts += len(layout)
        self._layouts[place] += 1

    def _push_word(self, kind: str, word: str) -> None:
        place = (kind, word)
        if place not in self._words:
            if self._facts >= MAX_FACTS:
                return
            self._facts += 1
        self._words[place] += 1

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
