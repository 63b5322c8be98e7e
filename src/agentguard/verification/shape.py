"""The learned shape of a tool's results, one for each kind of result (object, prose, …).

A shape is a bag of *facts*: this path is there with this type, this object has these keys, this word is said. A
result is unusual where it says what no result said before, or leaves out what all results said.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

from .document import Document
from .statistics import Categories, Rate

__all__ = ["Shape", "facts_of"]

MAX_FACTS = 1_500
MAX_WORDS = 40
MAX_FORMATS = 128
FORMATS_READ = 3  # of the strings at one path of one result
_WORD = re.compile(r"[A-Za-z]{3,}")
_DIGITS_AND_LETTERS = str.maketrans(
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "9" * 10 + "a" * 26 + "A" * 26
)

Fact = Hashable


def facts_of(document: Document) -> set[Fact]:
    """What a result says about its own form.

    >>> from agentguard.verification.document import read
    >>> sorted(map(str, facts_of(read({"id": 7}))))
    ["('id', <class 'float'>)"]
    """
    if document.facts is None:
        if document.kind in ("prose", "broken", "word"):
            text = document.text[:2000].decode("utf-8", "replace")
            document.facts = {word.lower() for word in _WORD.findall(text)[:MAX_WORDS]}
        else:
            document.facts = {
                (path, _type(value)) for path, values in document.leaves.items() for value in _one_of_each_type(values)
            }
    return document.facts


def _one_of_each_type(values: list[Any]) -> Iterable[Any]:
    return values if len(values) == 1 else {type(value): value for value in values}.values()


def _type(value: Any) -> type:
    """Integers and floats are one type: JSON does not tell 20 from 20.0."""
    kind = type(value)
    return float if kind is int else kind


def string_format(value: str) -> str:
    """The format of a short string: letters as ``a`` and ``A``, digits as ``9``, the rest as it is.

    >>> string_format("HAT069"), string_format("2024-05-20")
    ('AAA999', '9999-99-99')
    """
    return value[:32].translate(_DIGITS_AND_LETTERS)


class Shape:
    """The facts of one kind of result, counted."""

    __slots__ = ("_novel", "_usual", "_usual_at", "count", "facts", "formats", "keys")

    def __init__(self) -> None:
        self.count = 0
        self.facts: Counter[Fact] = Counter()
        self.keys: dict[str, Categories] = {}
        self.formats: dict[str, Categories | None] = {}
        self._novel = Rate()
        self._usual: frozenset[Fact] = frozenset()  # facts of more than half of the results
        self._usual_at = 0

    def surprise(self, document: Document, facts: set[Fact]) -> tuple[float, float, str]:
        """``-ln p`` of the most unusual trait, its extent, and what it is; (0, 0, "") where nothing is unusual.

        The extent is the share of the result concerned, in (0, 1]: a field more is what interfaces come by, a result
        of which nothing is known is another tool's.
        """
        count, known = self.count, self.facts
        worst, extent, why = 0.0, 0.0, ""
        new = [fact for fact in facts if fact not in known]
        if new:
            worst, extent = -math.log(self._novel.mean()), len(new) / len(facts)
            why = f"{len(new)} trait{'s' if len(new) > 1 else ''} never seen: {min(map(_say, new))}"
        missing = self._usual - facts
        if missing:
            extent = max(extent, len(missing) / len(self._usual))
            seen = max(known[fact] for fact in missing)
            x = -math.log((count - seen + 0.5) / (count + 1.5))
            if x > worst:
                rarest = min(_say(fact) for fact in missing if known[fact] == seen)
                worst, why = x, f"{rarest} is missing, there in {seen} of {count}"
        odd = 0
        for path, names in document.forms:
            categories = self.keys.get(path)
            if categories is not None and categories.total >= 2:
                p = categories.p(names)
                if p < 1.0:
                    odd += 1
                    if -math.log(p) > worst:
                        worst, why = -math.log(p), f"unusual keys at {path or 'the top'}"
        if odd:
            extent = max(extent, 0.5 * odd / len(document.forms))
        return worst, extent, why

    def format_surprise(self, document: Document) -> tuple[float, str]:
        """``-ln p`` of the most unusual string format, over the paths whose strings have a format."""
        least, where, judged = 1.0, "", 0
        for path, formats in self.formats.items():
            if formats is not None and formats.total >= 3 and path in document.leaves:
                for value in document.leaves[path][:FORMATS_READ]:
                    if type(value) is str:
                        judged += 1
                        p = formats.p(string_format(value))
                        if p < least:
                            least, where = p, path
        if not where:
            return 0.0, ""
        return -math.log(min(least * (1.0 + 0.5 * (judged - 1)), 1.0)), f"{where} is written in an unusual way"

    def is_cut_object(self, path: str, names: tuple[str, ...]) -> bool:
        """The object's keys are the first few of an order of keys that is known here, and were never all there was."""
        known = self.keys.get(path)
        if known is None or names in known.counts:
            return False
        return any(len(other) > len(names) and other[: len(names)] == names for other in known.counts)

    def learn(self, document: Document, facts: set[Fact]) -> None:
        known = self.facts
        if self.count:
            self._novel.push(any(fact not in known for fact in facts))
        self.count += 1
        if len(known) < MAX_FACTS:
            known.update(facts)
        else:
            known.update(fact for fact in facts if fact in known)
        if self.count - self._usual_at > self.count // 8:
            self._usual = frozenset(fact for fact, seen in known.items() if seen * 2 > self.count)
            self._usual_at = self.count
        for path, names in document.forms:
            categories = self.keys.get(path)
            if categories is None:
                if len(self.keys) >= MAX_FACTS // 4:
                    continue
                categories = self.keys[path] = Categories()
            categories.push(names)
        for path, values in document.leaves.items():
            if type(values[0]) is str or (len(values) > 1 and str in map(type, values[1:FORMATS_READ])):
                self._learn_formats(path, values)

    def _learn_formats(self, path: str, values: list[Any]) -> None:
        """Formats of free text are all distinct: such a path is given up for good, and costs nothing from then on."""
        if path not in self.formats:
            if len(self.formats) >= MAX_FORMATS:
                return
            self.formats[path] = Categories()
        formats = self.formats[path]
        if formats is None:
            return
        for value in values[:FORMATS_READ]:
            if type(value) is str:
                formats.push(string_format(value))
        distinct = len(formats.counts)
        if distinct > 12 and distinct * 3 > formats.total:
            self.formats[path] = None


def _say(fact: Fact) -> str:
    if isinstance(fact, tuple):
        path, kind = fact
        return f"{path or 'the value'} as {kind.__name__}"
    return f"the word {fact!r}"
