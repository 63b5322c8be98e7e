"""Lay a claim beside a passage: which words of the passage say each word of the claim, and where.

Of all positions a word could be said at, those are taken that lie closest to its neighbours' (a shortest path over the
claim's words): what a claim says in one breath, the passage that supports it says in one place.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, NamedTuple

from agentguard.gate.rules._figures import Figure, figures
from agentguard.gate.rules._reading import Reading
from agentguard.gate.rules._words import Token, generic_roots, opposites_of, related_to, synonyms_of

MAX_WORDS: Final = 150  # of a claim; the words beyond are not aligned
LITTLE: Final = 0.3  # what a generic word counts
MAX_FOUND: Final = 100  # places of one root that are looked at
MAX_PLACES: Final = 8  # places of one word that paths may lead through
_FAR: Final = 25  # words, from which on one place is as far as another
_SAME, _KIN, _ALIKE, _RESEMBLING, _RELATED = 1.0, 0.95, 0.75, 0.7, 0.4


class Link(NamedTuple):
    """A word of the claim, and the word of the passage that says it.

    Attributes:
        word: The number of the claim's token.
        position: The number of the passage's token.
        quality: 1 for the same root, less for kin, synonyms and what looks alike.
    """

    word: int
    position: int
    quality: float


class Alignment(NamedTuple):
    """A claim beside a passage.

    Attributes:
        claim, passage: Both, read.
        words: The numbers of the claim's tokens that are compared: those that mean something, in their order.
        candidates: For each of them, the passage's tokens that could say it, with how well.
        covered: The passage's tokens that can say a word of the claim.
        links: One for each of them; None if the passage does not say the word.
        figures: The claim's figures beside the passage's.
        windows: For each sentence of the claim, the first and last of the passage's sentences that say most of it.
        focus: The largest share of the claim's words that one sentence of the passage says, in [0, 1].
    """

    claim: Reading
    passage: Reading
    words: tuple[int, ...]
    candidates: tuple[tuple[tuple[int, float], ...], ...]
    covered: frozenset[int]
    links: tuple[Link | None, ...]
    figures: tuple[Figure, ...]
    windows: tuple[tuple[int, int], ...]
    focus: float

    @property
    def coverage(self) -> float:
        """The share of the claim's words that the passage says, in [0, 1]; words that say little count little."""
        weights = [weight_of(self.claim.tokens[word]) for word in self.words]
        said = sum(weight * link.quality for weight, link in zip(weights, self.links, strict=True) if link)
        return said / sum(weights) if weights else 0.0

    @property
    def said(self) -> list[Link]:
        """The words of the claim that the passage says."""
        return [link for link in self.links if link is not None]


def align(claim: Reading, passage: Reading) -> Alignment:
    """Lay a claim beside a passage.

    >>> found = align(Reading("Refunds take five days."), Reading("Shipping is free. A refund takes 7 days."))
    >>> [found.passage.tokens[link.position].root if link else "" for link in found.links]
    ['refund', 'tak', '', 'day']
    """
    words = [number for number, token in enumerate(claim.tokens[:MAX_WORDS]) if token.kind != "light"]
    candidates = [_candidates(claim.tokens[word], passage) for word in words]
    votes = _votes(candidates, passage)
    ambient = [_is_ambient(claim.tokens[word].root, passage) for word in words]
    windows = []
    for sentence in range(len(claim.sentences)):
        own = [number for number, word in enumerate(words) if claim.tokens[word].sentence == sentence]
        telling = [number for number in own if candidates[number] and not ambient[number]] or own
        # What is claimed of a figure is held against where the words around it stand, not where the figure does.
        telling = [number for number in telling if words[number] not in claim.figured] or telling
        windows.append(_window(_votes([candidates[number] for number in telling], passage)))
    matched = figures(claim, passage, windows)
    for number, word in enumerate(words):
        token = claim.tokens[word]
        figure = next((each for each in matched if each.start <= token.start < each.end), None)
        if figure is not None and (token.kind == "figure" or not candidates[number]):  # its unit goes with the figure
            candidates[number] = [(position, _SAME) for position in figure.positions]
        elif figure is not None and figure.kind == "date":  # "24 and 26 December" says December of both
            candidates[number] = sorted({*candidates[number], *((position, _SAME) for position in figure.positions)})
    kept = [
        number
        for number, word in enumerate(words)
        if not ambient[number] or _is_in(windows[claim.tokens[word].sentence], candidates[number], passage)
    ]
    words, candidates = [words[number] for number in kept], [candidates[number] for number in kept]
    links = _path(words, [_nearest(list(positions), votes, passage) for positions in candidates])
    weights = [weight_of(claim.tokens[word]) for word in words]
    focus = _focus(weights, candidates, passage)
    covered = {position for positions in candidates for position, _ in positions}
    covered.update(token for figure in matched for token in figure.tokens)
    places = tuple(map(tuple, candidates))
    return Alignment(
        claim, passage, tuple(words), places, frozenset(covered), links, tuple(matched), tuple(windows), focus
    )


def _is_ambient(base: str, passage: Reading) -> bool:
    """Whether title, headings or the head of a table say a word: it need not be said again beside the others."""
    return base in passage.ambient or not passage.ambient.isdisjoint(synonyms_of(base))


def _is_in(window: tuple[int, int], positions: list[tuple[int, float]], passage: Reading) -> bool:
    return any(window[0] <= passage.tokens[position].sentence <= window[1] for position, _ in positions)


def _focus(weights: Sequence[float], candidates: Sequence[list[tuple[int, float]]], passage: Reading) -> float:
    said: dict[int, float] = {}
    for weight, positions in zip(weights, candidates, strict=True):
        best: dict[int, float] = {}
        for position, quality in positions:
            sentence = passage.tokens[position].sentence
            best[sentence] = max(best.get(sentence, 0.0), quality)
        for sentence, quality in best.items():
            said[sentence] = said.get(sentence, 0.0) + weight * quality
    return max(said.values(), default=0.0) / sum(weights) if weights else 0.0


def weight_of(token: Token) -> float:
    """Weight of a word of a claim: low if it says little by itself, as "policy" or "include"."""
    return LITTLE if token.kind == "content" and token.root in generic_roots() else 1.0


def _votes(candidates: Sequence[list[tuple[int, float]]], passage: Reading) -> dict[int, float]:
    """Weight of the claim's words that each sentence of the passage says; common ones count less."""
    votes: dict[int, float] = {}
    for positions in candidates:
        seen: dict[int, float] = {}
        for position, quality in positions:
            sentence = passage.tokens[position].sentence
            seen[sentence] = max(seen.get(sentence, 0.0), quality)
        rarity = 1.0 / (1.0 + len(seen)) ** 0.5
        for sentence, quality in seen.items():
            votes[sentence] = votes.get(sentence, 0.0) + quality * rarity
    return votes


def _candidates(token: Token, passage: Reading) -> list[tuple[int, float]]:
    qualities: dict[int, float] = dict.fromkeys(passage.positions.get(token.root, ())[:MAX_FOUND], _SAME)
    if token.kind == "figure":
        return sorted(qualities.items())
    for position in passage.families.get(token.family, ())[:MAX_FOUND]:
        qualities.setdefault(position, _KIN)
    for alias in passage.aliases.get(token.root, ()):
        for position in passage.positions.get(alias, ())[:MAX_FOUND]:
            qualities.setdefault(position, _KIN)
    if token.kind == "name" and qualities:
        return sorted(qualities.items())
    for alike in synonyms_of(token.root):
        for position in passage.positions.get(alike, ())[:MAX_FOUND]:
            qualities.setdefault(position, _ALIKE)
    opposites = opposites_of(token.root)
    if not qualities:
        for near in related_to(token.root) - opposites:
            for position in passage.positions.get(near, ())[:MAX_FOUND]:
                qualities.setdefault(position, _RELATED)
    if not qualities and len(token.root) >= 5 and not any(map(str.isdigit, token.root)):
        for other in passage.resembling(token.root):
            if other not in opposites and _resembles(token.root, other):
                for position in passage.positions[other][:MAX_FOUND]:
                    qualities.setdefault(position, _RESEMBLING)
    return sorted(qualities.items())


def _resembles(one: str, two: str) -> bool:
    """Whether two roots begin alike for most of their length, or one is a part of the other, a compound."""
    if one[:4] != two[:4]:
        short, long = (one, two) if len(one) < len(two) else (two, one)
        return len(short) >= 5 and long.endswith(f"-{short}")
    size = min(len(one), len(two))
    same = next((at for at in range(4, size) if one[at] != two[at]), size)
    return same >= 5 and same >= 0.65 * max(len(one), len(two))


def _nearest(positions: list[tuple[int, float]], votes: dict[int, float], passage: Reading) -> list[tuple[int, float]]:
    if len(positions) <= MAX_PLACES:
        return positions
    positions.sort(key=lambda each: (-votes.get(passage.tokens[each[0]].sentence, 0.0), -each[1], each[0]))
    return positions[:MAX_PLACES]


class _Step(NamedTuple):
    """A word of the claim: its places, what the path to each costs, and by which place of the word before it leads."""

    number: int
    positions: list[tuple[int, float]]
    costs: list[float]
    origins: list[int]


def _path(words: Sequence[int], candidates: Sequence[list[tuple[int, float]]]) -> tuple[Link | None, ...]:
    """The place of each word on the shortest path through all of them; a word without places is passed over.

    A step costs the distance in words, up to ``_FAR``, a fifth more backwards, two fifths more where two words share a
    place; and twice what a word's quality lacks.
    """
    steps: list[_Step] = []
    for number, positions in enumerate(candidates):
        if not positions:
            continue
        costs, origins = [], []
        before = steps[-1] if steps else None
        for position, quality in positions:
            best, origin = 0.0, 0
            if before is not None:
                best = float("inf")
                for index, (other, _) in enumerate(before.positions):
                    gap = abs(position - other)
                    cost = (
                        before.costs[index] + (gap if gap < _FAR else _FAR) / _FAR + (0.2 if position < other else 0.0)
                    )
                    if gap == 0:
                        cost += 0.4
                    if cost < best:
                        best, origin = cost, index
            costs.append(best + 2.0 * (1.0 - quality))
            origins.append(origin)
        steps.append(_Step(number, positions, costs, origins))
    # Back from the cheapest end, each place tells the one before it.
    chosen: dict[int, Link] = {}
    index = min(range(len(steps[-1].costs)), key=steps[-1].costs.__getitem__) if steps else 0
    for step in reversed(steps):
        chosen[step.number] = Link(words[step.number], *step.positions[index])
        index = step.origins[index]
    return tuple(map(chosen.get, range(len(words))))


def _window(votes: dict[int, float]) -> tuple[int, int]:
    """The sentence that says most of the claim, and the one beside it where that says much of the rest."""
    if not votes:
        return 0, 0
    best = max(sorted(votes), key=votes.__getitem__)
    beside = max((best - 1, best + 1), key=lambda each: votes.get(each, 0.0))
    if votes.get(beside, 0.0) >= 0.5 * votes[best]:
        return min(best, beside), max(best, beside)
    return best, best


def is_near(positions: Sequence[int], at: int, reach: int) -> bool:
    """Whether one of ascending places lies within reach of another."""
    index = bisect_left(positions, at - reach)
    return index < len(positions) and positions[index] <= at + reach
