"""The manner of a response in seven figures, and how far they are from the usual ones."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from math import log2, sqrt
from typing import Final, Literal

from agentguard.errors import ConfigurationError

from .types import EngineResult, Fingerprint, Status

__all__ = ["Method", "check", "cosine_distance", "take", "weighted_distance"]

METRIC: Final = "fingerprint"
Method = Literal["weighted", "cosine"]
_WEIGHTS: Final = (0.3, 0.3, 0.2, 0.2)  # of tokens, sentences, sentence length, entropy
# A full stop inside a number or a name ends no sentence; those of Chinese and Japanese need no space after them.
# One mark at a time: of several in a row the last ends the sentence, and no row of them is tried twice.
_SENTENCE_END: Final = re.compile("[.!?\u2026](?=[\\s\"')\\]\u00bb\u201d\u2019]|$)|[\u3002\uff01\uff1f]")
_WORD: Final = re.compile(r"\w")


def take(text: str) -> Fingerprint:
    """The fingerprint of a text, in time linear in its length.

    >>> found = take("It is mild. Bring a coat!")
    >>> found.tokens, found.sentences, found.sentence_length, found.punctuation
    (6.0, 2.0, 3.0, 1.0)
    >>> take("abab").entropy
    1.0
    """
    words = text.split()
    characters = Counter(text)
    sentences = sum(1 for part in _SENTENCE_END.split(text) if _WORD.search(part))
    marks = sum(times for mark, times in characters.items() if unicodedata.category(mark)[0] == "P")
    distinct = len({word.lower() for word in words})
    return Fingerprint(
        tokens=float(len(words)),
        sentences=float(sentences),
        sentence_length=len(words) / sentences if sentences else 0.0,
        entropy=_entropy(characters, len(text)),
        word_length=sum(map(len, words)) / len(words) if words else 0.0,
        diversity=distinct / len(words) if words else 0.0,
        punctuation=marks / max(sentences, 1),
    )


def _entropy(characters: Counter[str], length: int) -> float:
    bits = -sum(times / length * log2(times / length) for times in characters.values())
    return max(0.0, bits)  # one character repeated gives -0.0


def weighted_distance(now: Fingerprint, usual: Fingerprint) -> float:
    """The weighted mean of relative differences, ``|now − usual| / max(usual, 1)``: 0 and above.

    Words and sentences weigh 0.3 each, the length of a sentence and the entropy 0.2 each.
    """
    return sum(
        weight * abs(figure - before) / max(before, 1.0)
        for weight, figure, before in zip(_WEIGHTS, now, usual, strict=False)  # the last three have no weight
    )


def cosine_distance(now: Fingerprint, usual: Fingerprint) -> float:
    """One minus the cosine between (sentences, word length, diversity, punctuation a sentence): in [0, 1].

    The figures enter as they are, so that the share of distinct words, at most 1, turns the angle least. Of two empty
    responses the distance is 0, of an empty one from any other 1.
    """
    left = [now.sentences, now.word_length, now.diversity, now.punctuation]
    right = [usual.sentences, usual.word_length, usual.diversity, usual.punctuation]
    # Divided by the largest, so that no square is beyond a float.
    large, larger = max(left), max(right)
    if not large or not larger:
        return float(large != larger)
    left, right = [value / large for value in left], [value / larger for value in right]
    product = sum(a * b for a, b in zip(left, right, strict=True))
    cosine = product / sqrt(sum(a * a for a in left) * sum(b * b for b in right))
    return min(1.0, max(0.0, 1.0 - cosine))


_DISTANCES: Final = {"weighted": weighted_distance, "cosine": cosine_distance}


def check(
    now: Fingerprint | None,
    usual: Fingerprint | None,
    *,
    method: Method = "weighted",
    warn: float = 0.3,
    error: float = 0.6,
) -> EngineResult:
    """Compare a fingerprint with the usual one; the value is the distance, at most 1.

    A response may well be shorter or longer for a good reason. Of repeated work of one kind this says most; where the
    prompts are mixed, about half of all genuine responses are in error by the weighted distance, and one in ten by the
    cosine, which does not look at their length in words.

    Args:
        now: of this response.
        usual: of the responses before it.
        method: ``weighted`` or ``cosine``, the distance that is taken.
        warn: the distance from which the status is ``warn``.
        error: the distance from which it is ``error``.

    Raises:
        ConfigurationError: for another method.

    >>> usual = take("It is mild today. Bring a coat!")
    >>> check(take("It is cold today. Bring a hat!"), usual).status, check(take("No."), usual).status
    ('ok', 'error')
    """
    distance = _DISTANCES.get(method)
    if distance is None:
        raise ConfigurationError(f"the fingerprint's method must be 'weighted' or 'cosine', not {method!r}")
    if now is None:
        return EngineResult.abstain(METRIC, "no text was read")
    if usual is None:
        return EngineResult.abstain(METRIC, "no usual responses to compare with")
    value = distance(now, usual)
    status: Status = "ok" if value < warn else "warn" if value < error else "error"
    detail = (
        f"words {now.tokens:.0f}, usually {usual.tokens:.3g}; sentences {now.sentences:.0f}, usually "
        f"{usual.sentences:.3g}; {method} distance {value:.2f}"
    )
    return EngineResult(METRIC, min(1.0, value), status, True, detail)
