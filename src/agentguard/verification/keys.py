"""What is remembered of calls with the same arguments, and of results seen under other arguments."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any, ClassVar
from zlib import crc32

from .arguments import Arguments
from .clocks import ClockValue
from .document import Document
from .statistics import signed_log

__all__ = ["KeyHistory", "Keys", "numbers_of"]

MAX_RESULTS = 6
MAX_NUMBERS = 24
MAX_OWNERS = 4
NUMBERS_READ = 6  # of the numbers at one path of one result
LARGEST = 2.0**63
_NUMBERS = frozenset({int, float})
MARKS = (32, 128, 512, 2048, 8192)


def numbers_of(document: Document) -> dict[str, float]:
    """The finite numbers of a result by path, on the signed-log scale; the mean of the first where a path has several.

    >>> from agentguard.verification.document import read
    >>> list(numbers_of(read({"price": 650.0, "open": True})))
    ['price']
    """
    if document.numbers is None:
        leaves = document.leaves
        document.numbers = {}
        for path in () if document.layout is None else document.layout.numbers:
            values = leaves[path]
            x = signed_log(values[0]) if len(values) == 1 and _is_number(values[0]) else _mean_log(values)
            if x is not None:
                document.numbers[path] = x
    return document.numbers


def _mean_log(values: list[Any]) -> float | None:
    sample = values[:NUMBERS_READ]
    if _NUMBERS.issuperset(map(type, sample)) and min(sample) >= 0.0:  # as nearly all are: at once
        total = sum(map(math.log1p, sample)) if max(sample) < LARGEST else math.nan
        if total == total:
            return total / len(sample)
    logs = [signed_log(value) for value in sample if _is_number(value)]
    return sum(logs) / len(logs) if logs else None


def _is_number(value: Any) -> bool:
    return (type(value) is float and value - value == 0.0) or (type(value) is int and -(2**63) <= value < 2**64)


class KeyHistory:
    """The results of one argument key: the latest distinct ones by digest, and the level of each number."""

    __slots__ = ("clocks", "count", "levels", "marks", "results", "size", "words")

    def __init__(self, words: frozenset[int]) -> None:
        self.count = 0
        self.words = words
        self.results: list[int] = []  # distinct digests, the current one last
        self.levels: dict[str, tuple[float, int]] = {}
        self.clocks: dict[str, ClockValue] = {}
        self.size = 0
        self.marks: tuple[int, ...] = ()

    def learn(self, document: Document, numbers: dict[str, float]) -> None:
        self.count += 1
        if document.digest in self.results:
            self.results.remove(document.digest)
        self.results.append(document.digest)
        del self.results[:-MAX_RESULTS]
        levels = self.levels
        for path, x in numbers.items():
            known = levels.get(path)
            if known is not None:
                mean, count = known
                count = min(count + 1, 20)
                levels[path] = (mean + (x - mean) / count, count)
            elif len(levels) < MAX_NUMBERS:
                levels[path] = (x, 1)
        if document.size >= self.size:
            self.size = document.size
            self.marks = _marks(document.text)

    def is_cut_off(self, document: Document) -> bool:
        """The result is shorter than the longest known one and says the same as far as it goes.

        Compared by checksums of the first 32, 128, 512, … bytes: no text is kept.
        """
        if document.size >= self.size or document.size < MARKS[0] or document.is_structured:
            return False  # JSON that closes all it opened is no beginning of other JSON
        shorter = _marks(document.text)
        return self.marks[: len(shorter)] == shorter


def _marks(text: bytes) -> tuple[int, ...]:
    return tuple(crc32(text[:mark]) for mark in MARKS if mark <= len(text))


class Keys:
    """Key histories and the owners of each result, least recently used first out."""

    __slots__ = ("by_key", "owners", "word_counts")

    MAX_KEYS: ClassVar[int] = 1_000
    MAX_OWNED: ClassVar[int] = 1_500
    MAX_WORDS: ClassVar[int] = 4_000

    def __init__(self) -> None:
        self.by_key: OrderedDict[bytes, KeyHistory] = OrderedDict()
        self.owners: OrderedDict[int, tuple[bytes, ...]] = OrderedDict()
        self.word_counts: dict[int, int] = {}  # in how many keys a word stands

    def learn(self, arguments: Arguments, document: Document, numbers: dict[str, float]) -> KeyHistory:
        """Take the result as that of these arguments; their history."""
        key = arguments.key
        history = self.by_key.get(key)
        if history is None:
            words = arguments.words
            history = self.by_key[key] = KeyHistory(words)
            for word in words:
                if word in self.word_counts or len(self.word_counts) < self.MAX_WORDS:
                    self.word_counts[word] = self.word_counts.get(word, 0) + 1
            if len(self.by_key) > self.MAX_KEYS:
                self._forget(self.by_key.popitem(last=False)[1].words)
        else:
            self.by_key.move_to_end(key)
        history.learn(document, numbers)
        owners = self.owners.get(document.digest, ())
        if key not in owners and len(owners) < MAX_OWNERS:
            self.owners[document.digest] = (*owners, key)
        self.owners.move_to_end(document.digest)
        if len(self.owners) > self.MAX_OWNED:
            self.owners.popitem(last=False)
        return history

    def _forget(self, words: frozenset[int]) -> None:
        for word in words:
            left = self.word_counts.get(word, 0) - 1
            if left > 0:
                self.word_counts[word] = left
            else:
                self.word_counts.pop(word, None)

    def is_foreign(self, arguments: Arguments, digest: int) -> bool:
        """The result is known, but only from calls whose arguments have little in common with these.

        Little: less than half of their words by weight (a Jaccard index below one half), where a word weighs the less
        the more keys it stands in: near-equal questions rightly have equal answers, but ``https`` makes none near.
        """
        owners = self.owners.get(digest)
        if not owners:
            return False
        key, words = arguments.key, arguments.words
        own = self.by_key.get(key)
        if key in owners or (own is not None and digest in own.results):
            return False
        compared = False
        for owner in owners:
            history = self.by_key.get(owner)
            if history is None:
                continue
            compared = True
            if 2.0 * self._weight(words & history.words) >= self._weight(words | history.words):
                return False
        return compared

    def _weight(self, words: frozenset[int]) -> float:
        keys, counts = len(self.by_key) + 1.0, self.word_counts
        return sum(math.log(keys / (counts.get(word, 0) + 0.5)) for word in words)
