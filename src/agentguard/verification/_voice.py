"""The voice of a tool: how its results are written, character by character.

A model of character 4-grams, backed off to shorter ones, says how many bits a character of a new result takes; the
tool's own results say how many are usual. What a language model makes up in a known form reads differently.
"""

from __future__ import annotations

import math
from array import array
from functools import lru_cache
from struct import Struct
from typing import Final

SLOTS: Final = 1 << 12  # grams that are told apart
LONGEST: Final = 4  # characters of a gram
SCORED: Final = 24  # characters of one result, evenly spaced
LEARNED: Final = 192  # of one result
LEARNED_FIRST: Final = 1_000  # of each of the first results
FIRST: Final = 8  # results
FULL: Final = 60_000  # characters, after which no more are learned
READ: Final = 4_096  # bytes of a result, from its beginning
UNSEEN: Final = 1.0 / 200.0  # P(a character of which nothing is known)
BACK_OFF: Final = 2.0  # characters that the shorter gram counts for
OF_UNSEEN: Final = BACK_OFF * UNSEEN
LEAST_SPREAD: Final = 0.3  # bits a character
SPREAD_COUNT: Final = 2.0  # results that the least spread counts for
MEMORY: Final = 40.0  # results
FEWEST: Final = 2  # results scored before a new one is held against them
MOST_COUNT: Final = 65_535  # of an unsigned 16-bit integer
MASK: Final = SLOTS - 1
# Odd multipliers, by which the grams of each length are hashed.
FOUR: Final = 0x1E3779B1
THREE: Final = 0x15EBCA77
PAIR: Final = 0x12B2AE3D
ONE: Final = 0x17D4EB2F
_gram = Struct(">I").unpack_from  # four characters as one number, the last of them lowest


class Voice:
    """Counts of hashed grams, and mean and spread of the bits a character of the results so far; bounded.

    >>> voice = Voice()
    >>> for number in range(12):
    ...     voice.learn(b'{"order": "W%d", "status": "delivered"}' % (1000 + 7 * number))
    >>> own, other = b'{"order": "W1003", "status": "delivered"}', b"It left our warehouse!"
    >>> round(voice.away(voice.bits(own))), voice.away(voice.bits(other)) > 5.0
    (-2, True)
    """

    __slots__ = ("characters", "count", "counts", "mean", "squares")

    def __init__(self) -> None:
        self.counts = array("H")  # by gram, whatever its length; empty until something is learned
        self.characters = 0
        self.count = 0.0  # results scored
        self.mean = 0.0  # bits a character
        self.squares = 0.0

    def away(self, bits: float) -> float:
        """The distance of so many bits a character from the tool's mean, in spreads; 0 where too little is known."""
        if self.count < FEWEST:
            return 0.0
        variance = (self.squares + SPREAD_COUNT * LEAST_SPREAD**2) / (self.count + SPREAD_COUNT)
        return (bits - self.mean) / math.sqrt(variance * (1.0 + 1.0 / self.count))

    def bits(self, text: bytes) -> float:
        """Bits a character, ``-log2 P(character | the three before)``, over a sample; at least 0."""
        size = min(len(text), READ) - LONGEST + 1
        counts = self.counts
        if size <= 0 or not counts:
            return 0.0
        scored = min(size, SCORED)
        likelihood = 1.0
        for at in _spread(size, scored):
            (four,) = _gram(text, at)
            three = four >> 8
            fours = counts[four * FOUR >> 24 & MASK]
            threes = counts[three * THREE >> 24 & MASK]
            pairs = counts[(four & 0xFFFF) * PAIR >> 16 & MASK]
            ones = counts[(three & 0xFF) * ONE >> 16 & MASK]
            likelihood *= (fours + BACK_OFF * ((pairs + OF_UNSEEN) / (ones + BACK_OFF))) / (threes + BACK_OFF)
        # Grams that share a slot with others are counted more often than their contexts: P would be above 1.
        return max(0.0, -math.log2(likelihood) / scored)

    def learn(self, text: bytes, bits: float | None = None) -> None:
        """Take in a genuine result, of which the bits a character may be known already."""
        if self.characters:
            bits = self.bits(text) if bits is None else bits
            self.count = min(self.count + 1.0, MEMORY)
            away = bits - self.mean
            self.mean += away / self.count
            self.squares += away * (bits - self.mean)
            if self.count >= MEMORY:
                self.squares *= 1.0 - 1.0 / MEMORY
        size = min(len(text), READ) - LONGEST + 1
        if size <= 0 or self.characters >= FULL:
            return  # shorter than a gram, or enough is known
        if not self.counts:
            self.counts.frombytes(bytes(2 * SLOTS))
        counts = self.counts
        taken = min(size, LEARNED_FIRST if self.count < FIRST else LEARNED)
        for index in range(taken):
            (four,) = _gram(text, (2 * index + 1) * size // (2 * taken))
            three = four >> 8
            for slot in (
                four * FOUR >> 24 & MASK,
                three * THREE >> 24 & MASK,
                (four & 0xFFFF) * PAIR >> 16 & MASK,
                (three & 0xFF) * ONE >> 16 & MASK,
            ):
                count = counts[slot]
                if count < MOST_COUNT:
                    counts[slot] = count + 1
        self.characters += taken


@lru_cache(maxsize=1_024)
def _spread(size: int, count: int) -> tuple[int, ...]:
    """So many places, evenly spaced.

    >>> _spread(100, 4)
    (12, 37, 62, 87)
    """
    return tuple([(2 * index + 1) * size // (2 * count) for index in range(count)])
