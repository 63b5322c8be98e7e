"""Memory of calls with the same arguments, and of results seen under other arguments."""

from __future__ import annotations

import math
from array import array
from functools import lru_cache
from typing import Final
from zlib import crc32

from agentguard.verification._arguments import Arguments
from agentguard.verification._document import Document
from agentguard.verification.drift import NO_CLOCKS, ClockValue
from agentguard.verification.statistics import signed_log

MAX_RESULTS: Final = 5  # distinct results of one key
MOST_SEEN: Final = 20  # calls that the means of one key reach back over
MAX_NUMBERS: Final = 24  # numbers of one key
MAX_OWNERS: Final = 4  # keys of one result
KEY_LENGTH: Final = 16  # bytes of a key, see ``args_key``
LEAST_MORE: Final = 16  # bytes: a number with some digits more is no row
NUMBERS_READ: Final = 6  # of the numbers at one path of one result
MARKS = (32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1_024, 1_536, 2_048, 3_072, 4_096, 6_144, 8_192)


def numbers_of(document: Document) -> dict[str, float]:
    """The finite numbers of a result by path, on the signed-log scale; the mean of the first where a path has several.

    >>> from agentguard.verification._document import read
    >>> list(numbers_of(read({"price": 650.0, "open": True})))
    ['price']
    """
    if document.numbers is None:
        document.numbers, layout = {}, document.layout
        for path in () if layout is None else layout.numbers:
            total, count = 0.0, 0
            for value in document.leaves[path][:NUMBERS_READ]:
                kind = type(value)
                if (kind is float or kind is int) and math.isfinite(value):
                    total += signed_log(value)
                    count += 1
            if count and (total or not layout or not layout.empty):  # of a list without elements zero is no level
                document.numbers[path] = total / count
    return document.numbers


class KeyHistory:
    """The results of one argument key: the latest distinct ones by digest, and the mean of each number.

    A tool has many keys: each one is packed, and shares with the others what it can.
    """

    __slots__ = ("changes", "clocks", "count", "marks", "means", "paths", "results", "size", "words")

    def __init__(self, words: frozenset[int]) -> None:
        self.count = 0
        self.changes = 0  # results other than the one before
        self.words = array("I", sorted(words)).tobytes()
        self.results = array("Q")  # distinct digests, the current one last
        self.paths: tuple[str, ...] = ()
        self.means = array("f")  # of the numbers at these paths
        self.clocks: dict[str, ClockValue] = NO_CLOCKS
        self.size = 0
        self.marks = b""

    def learn(self, document: Document) -> None:
        self.count += 1
        digest = document.digest
        changed = not self.results or self.results[-1] != digest
        if changed:
            self.changes += self.count > 1
            if digest in self.results:
                self.results.remove(digest)
            # A new array has no room for more, which ``append`` would make.
            self.results = self.results[1 - MAX_RESULTS :] + array("Q", (digest,))
        self._learn_numbers(numbers_of(document))
        if changed and document.size >= self.size:
            self.size = document.size
            self.marks = _marks(document.text)

    def _learn_numbers(self, numbers: dict[str, float]) -> None:
        paths, values = tuple(numbers)[:MAX_NUMBERS], numbers.values()
        if paths != self.paths:
            known = dict(zip(self.paths, self.means, strict=True))
            self.means = array("f", [known.get(path, numbers[path]) for path in paths])
            self.paths = _shared(paths)
        weight = 1.0 / min(self.count, MOST_SEEN)
        self.means = array("f", [mean + (x - mean) * weight for mean, x in zip(self.means, values, strict=False)])

    def moves(self, numbers: dict[str, float]) -> list[tuple[str, float]]:
        """Distances of the numbers that were there before from their means here, by path."""
        if tuple(numbers) == self.paths:
            return [(path, x - mean) for (path, x), mean in zip(numbers.items(), self.means, strict=True)]
        means = dict(zip(self.paths, self.means, strict=True))
        return [(path, x - means[path]) for path, x in numbers.items() if path in means]

    def has_grown(self, document: Document) -> bool:
        """The result begins as the longest known one does, and has a line or a row more."""
        more = document.size - self.size >= LEAST_MORE and self.size >= MARKS[0]
        return more and _marks(document.text).startswith(self.marks)

    @property
    def seen(self) -> int:
        """The number of results that the means are of, at most 20."""
        return min(self.count, MOST_SEEN)

    def is_cut_off(self, document: Document) -> bool:
        """The result is shorter than the longest known one and says the same as far as it goes.

        Compared by checksums of the first 32, 48, 64, 96, … bytes, to two thirds at least: no text is kept.
        """
        if document.size >= self.size or document.size < MARKS[0] or document.is_structured:
            return False  # JSON that closes all it opened is no beginning of other JSON
        return self.marks.startswith(_marks(document.text))


@lru_cache(maxsize=1_024)
def _shared(paths: tuple[str, ...]) -> tuple[str, ...]:
    return paths


def _marks(text: bytes) -> bytes:
    marks, begin, checksum = array("I"), 0, 0
    for end in MARKS:
        if end > len(text):
            break
        checksum = crc32(text[begin:end], checksum)
        marks.append(checksum)
        begin = end
    return marks.tobytes()


def _keys_in(owners: bytes) -> list[bytes]:
    return [owners[begin : begin + KEY_LENGTH] for begin in range(0, len(owners), KEY_LENGTH)]


class Keys:
    """Key histories and the owners of each result, least recently used first out.

    Both are plain dicts, in the order of their last use: they take a third of the memory of ordered ones.
    """

    __slots__ = ("by_key", "heard", "owners", "word_counts")

    MAX_KEYS: Final = 100
    MAX_OWNED: Final = 160
    MAX_WORDS: Final = 160
    MAX_HEARD: Final = 64

    def __init__(self) -> None:
        self.by_key: dict[bytes, KeyHistory] = {}
        self.owners: dict[int, bytes] = {}  # up to four keys, one after the other
        self.word_counts: dict[int, int] = {}  # in how many keys a word stands
        self.heard: dict[int, int] = {}  # the session of answers that came, learned or not, by key and result

    def learn(self, arguments: Arguments, document: Document) -> KeyHistory:
        """Take the result as that of these arguments; their history."""
        key = arguments.key
        history = self.by_key.pop(key, None)
        if history is None:
            history = KeyHistory(arguments.words)
            self._count(arguments.words)
            if len(self.by_key) >= self.MAX_KEYS:
                self._forget(self.by_key.pop(next(iter(self.by_key))))
        self.by_key[key] = history
        history.learn(document)
        owners = self.owners.pop(document.digest, key)
        if len(owners) < MAX_OWNERS * KEY_LENGTH and key not in _keys_in(owners):
            owners += key
        self.owners[document.digest] = owners
        if len(self.owners) > self.MAX_OWNED:
            del self.owners[next(iter(self.owners))]
        return history

    def hear(self, key: bytes, digest: int, session: int) -> None:
        """Note an answer that these arguments did not have before, whatever is believed of it."""
        own = self.by_key.get(key)
        if own is None or digest not in own.results:
            self.heard.setdefault(crc32(key) ^ digest, session)
            if len(self.heard) > self.MAX_HEARD:
                del self.heard[next(iter(self.heard))]

    def is_heard_again(self, key: bytes, digest: int, session: int) -> bool:
        """These arguments had this answer in another session: what comes again is no slip."""
        return self.heard.get(crc32(key) ^ digest, session) != session

    def pack(self) -> None:
        """Close the gaps that what was forgotten has left in the dicts, for which they take twice the room."""
        self.by_key, self.word_counts = dict(self.by_key), dict(self.word_counts)

    def _count(self, words: frozenset[int]) -> None:
        counts = self.word_counts
        for word in words:
            counts[word] = counts.get(word, 0) + 1
        if len(counts) > self.MAX_WORDS:  # those of one key only weigh the most, counted or not
            self.word_counts = {word: count for word, count in counts.items() if count > 1}

    def _forget(self, history: KeyHistory) -> None:
        for word in array("I", history.words):
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
        packed = self.owners.get(digest)
        if packed is None:
            return False
        owners = _keys_in(packed)
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
            others = frozenset(array("I", history.words))
            if 2.0 * self._weight(words & others) >= self._weight(words | others):
                return False
        return compared

    def _weight(self, words: frozenset[int]) -> float:
        keys, counts = len(self.by_key) + 1.0, self.word_counts
        return sum(math.log(keys / (counts.get(word, 0) + 0.5)) for word in words)
