"""What speaks for a claim and against it, counted on its alignment with a passage; from it, how far it is supported.

Each trait has a direction that no fit may turn: a word, a name or a figure that the passage does not say never makes a
claim more likely. The weights are those of a logistic regression with that constraint, fitted to labelled claims by
``benchmarks/gate/fit_claims.py``, which prints them; their unit is the nat.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from agentguard.gate.rules.alignment import Alignment, Link, nearby
from agentguard.gate.rules.opposites import opposites_of
from agentguard.gate.rules.roots import root

__all__ = [
    "DIRECTIONS",
    "INTERCEPT",
    "WEIGHTS",
    "Traits",
    "between",
    "opposite",
    "support",
    "traits",
    "unmatched_negations",
]

NEAR: Final = 12  # words: two neighbours of the claim that lie further apart in the passage were not said together
CLOSE: Final = 3  # words between neighbours that were said in one breath
_NEGATION_REACH: Final = 6  # words after a negation that it may negate


class Traits(NamedTuple):
    """Counts and shares.

    Attributes:
        names: names that the passage does not say.
        missing: figures that it does not say, with none in their place.
        rivals: figures in whose place it says another.
        limits: figures that bound the other side in the passage.
        negations: negations of the claim that the passage does not make, and the reverse.
        opposites: words whose opposite the passage says in their place.
        paraphrased: of the words that the passage does not say literally, the share it says in other words.
        outside: of the words that it says, the share it says outside of the sentences that say most of the rest.
        spliced: the share of neighbours that the passage says far apart, times the share it says side by side: near
            zero for what is told in own words, high for what is pieced together.
        close: of the pairs of neighbours, the share that the passage says close by.
    """

    names: float
    missing: float
    rivals: float
    limits: float
    negations: float
    opposites: float
    paraphrased: float
    outside: float
    spliced: float
    close: float


UNIVERSAL: Final = frozenset(
    map(root, "all any anyone anybody always each every everyone everybody everything".split())
)
DIRECTIONS: Final = Traits(-1, -1, -1, -1, -1, -1, 1, -1, -1, 1)
WEIGHTS: Final = Traits(-2.15, -0.66, -2.76, -2.84, -1.54, -1.91, 3.01, -0.43, -8.91, 1.68)
INTERCEPT: Final = -0.66


def traits(alignment: Alignment) -> Traits:
    """Count the traits of an alignment."""
    claim, links = alignment.claim, alignment.links
    unsaid = [claim.tokens[link.word] for link in links if link.place < 0]
    paraphrased = sum(0.0 < link.quality < 0.9 for link in links)
    pairs = neighbours(links)
    steps = [after.place - before.place for before, after in pairs]
    number = len(pairs) or 1
    return Traits(
        names=sum(token.kind == "name" for token in unsaid),
        missing=sum(not figure.places and figure.rival[0] < 0 for figure in alignment.figures),
        rivals=sum(not figure.places and figure.rival[0] >= 0 for figure in alignment.figures),
        limits=sum(bool(figure.limits) for figure in alignment.figures),
        negations=len(unmatched_negations(alignment)),
        opposites=sum(opposite(alignment, number) >= 0 for number in range(len(links))),
        paraphrased=paraphrased / (1 + paraphrased + len(unsaid)),
        outside=_outside(alignment),
        spliced=sum(abs(step) > NEAR for step in steps) / number * sum(_side_by_side(*pair) for pair in pairs) / number,
        close=sum(-CLOSE <= step <= CLOSE + 1 for step in steps) / len(steps) if steps else float(bool(links)),
    )


def _side_by_side(one: Link, two: Link) -> bool:
    return 0 < two.place - one.place <= 3 and two.word - one.word <= 3 and one.quality == two.quality == 1.0


def support(found: Traits, weights: Traits = WEIGHTS, intercept: float = INTERCEPT) -> float:
    """How far a claim is supported, in (0, 1): the logistic function of the weighted traits."""
    total = intercept + sum(weight * trait for weight, trait in zip(weights, found, strict=True))
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, total))))


def _outside(alignment: Alignment) -> float:
    passage, said = alignment.passage, [link for link in alignment.links if link.place >= 0]
    outside = 0
    for link in said:
        first, last = alignment.windows[alignment.claim.tokens[link.word].sentence]
        outside += not first <= passage.tokens[link.place].sentence <= last
    return outside / len(said) if said else 0.0


def unmatched_negations(alignment: Alignment) -> list[tuple[int, int]]:
    """Where one side negates what the other affirms: the numbers of claim's and passage's negation, one of them -1."""
    claim, passage, links = alignment.claim, alignment.passage, alignment.links
    found = []
    for negation in claim.negated:
        after = [link for link in links if negation < link.word <= negation + _NEGATION_REACH and link.place >= 0]
        opposed = any(opposite(alignment, number) >= 0 for number, link in enumerate(links) if link in after)
        places = [link.place for link in after] + _said_together(alignment, after)
        if not opposed and not any(nearby(passage.negated, place - 2, 3) >= 0 for place in places):
            found.append((negation, -1))
    for negation in passage.negated:
        sentence = passage.tokens[negation].sentence
        around = [link for link in links if -5 <= link.place - negation <= 4 and link.quality >= 0.9]
        around = [link for link in around if passage.tokens[link.place].sentence == sentence]
        after = [link for link in around if 0 < link.place - negation <= 3]
        if (
            len(around) >= 2
            and after
            and not any(nearby(claim.negated, link.word - 2, _NEGATION_REACH) >= 0 for link in after)
        ):
            found.append((-1, negation))
    return found


def _said_together(alignment: Alignment, links: Sequence[Link]) -> list[int]:
    """Where the one sentence of the passage that says most of these words says them.

    The subject may have led the alignment to another sentence: "Acme ships to France. We do not ship to Chad."
    """
    passage = alignment.passage
    sentences: dict[int, list[int]] = {}
    for link in links:
        for place in passage.places.get(alignment.claim.tokens[link.word].root, ()):
            sentences.setdefault(passage.tokens[place].sentence, []).append(place)
    roots = {sentence: {passage.tokens[place].root for place in places} for sentence, places in sentences.items()}
    best = max(sorted(roots), key=lambda sentence: len(roots[sentence]), default=-1)
    return sentences.get(best, []) if len(roots.get(best, ())) >= 2 else []


def opposite(alignment: Alignment, number: int) -> int:
    """The passage's word that excludes a word of the claim and stands where that would; -1 where there is none."""
    link = alignment.links[number]
    if link.place >= 0:
        return -1
    excluding = opposites_of(alignment.claim.tokens[link.word].root)
    if not excluding:
        return -1
    before, after = between(alignment.links, number)
    for word in sorted(excluding):
        for place in alignment.passage.places.get(word, ()):
            if (before >= 0 and abs(place - before) <= 5) or (after >= 0 and abs(place - after) <= 5):
                return place
    return -1


def nearer_opposite(alignment: Alignment, number: int) -> int:
    """The opposite of a word that stands nearer, in its sentence, to the words said beside it; -1 where none does."""
    link, passage = alignment.links[number], alignment.passage
    excluding = opposites_of(alignment.claim.tokens[link.word].root) if link.place >= 0 else frozenset()
    around = [place for place in between(alignment.links, number) if place >= 0]
    for word in sorted(excluding) if around else ():
        for place in passage.places.get(word, ()):
            same = passage.tokens[place].sentence == passage.tokens[link.place].sentence
            if same and all(abs(place - other) + 1 < abs(link.place - other) for other in around):
                return place
    return -1


def unlimited(alignment: Alignment) -> int:
    """The word of the claim that speaks of all, where no word of the sentences that say the rest does; -1 for none."""
    claim, passage = alignment.claim, alignment.passage
    for number, token in enumerate(claim.tokens):
        if token.root in UNIVERSAL:
            first, last = alignment.windows[token.sentence]
            places = (place for word in UNIVERSAL for place in passage.places.get(word, ()))
            if not any(first <= passage.tokens[place].sentence <= last for place in places):
                return number
    return -1


def neighbours(links: tuple[Link, ...]) -> list[tuple[Link, Link]]:
    """Each word that the passage says with the next one."""
    said = [link for link in links if link.place >= 0]
    return list(pairwise(said))


def between(links: tuple[Link, ...], number: int) -> tuple[int, int]:
    """The passage's words that say the claim's words before and after one; -1 where there is none."""
    before = next((links[at].place for at in range(number - 1, max(-1, number - 6), -1) if links[at].place >= 0), -1)
    after = next((links[at].place for at in range(number + 1, min(len(links), number + 6)) if links[at].place >= 0), -1)
    return before, after
