"""Judge a claim by its passages: traits for and against it, how far it is supported, the label and its grounds.

Each trait has a direction that no fit may turn: a word, a name or a figure that the passage does not say never makes a
claim more likely. The weights are those of a logistic regression with that constraint, fitted to labelled claims by
``benchmarks/gate/fit_claims.py``, which prints them; their unit is the nat.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from agentguard.content.grounding._values import NUMBER_WORDS
from agentguard.gate._types import Case, ClaimVerdict, Label, Passage, Reason
from agentguard.gate.rules._alignment import MAX_WORDS, Alignment, Link, align, is_near, weight_of
from agentguard.gate.rules._figures import MAX_FIGURES
from agentguard.gate.rules._reading import Reading
from agentguard.gate.rules._words import opposites_of, root

NEAR: Final = 12  # words: two neighbours of the claim that lie further apart in the passage were not said together
CLOSE: Final = 3  # words between neighbours that were said in one breath
_NEGATION_REACH: Final = 6  # words after a negation that it may negate


class Traits(NamedTuple):
    """Counts and shares.

    Attributes:
        names: Names that the passage does not say.
        missing: Figures that it does not say, with none in their place.
        rivals: Figures in whose place it says another.
        limits: Figures that bound the other side in the passage.
        negations: Negations of the claim that the passage does not make, and the reverse.
        opposites: Words whose opposite the passage says in their place.
        paraphrased: Of the words that the passage does not say literally, the share it says in other words.
        outside: Of the words that it says, the share it says outside of the sentences that say most of the rest.
        spliced: The share of neighbours that the passage says far apart, times the share it says side by side: near
            zero for what is told in own words, high for what is pieced together.
        close: Of the pairs of neighbours, the share that the passage says close by.
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


DIRECTIONS: Final = Traits(-1, -1, -1, -1, -1, -1, 1, -1, -1, 1)
WEIGHTS: Final = Traits(-2.15, -0.66, -2.76, -2.84, -1.54, -1.91, 3.01, -0.43, -8.91, 1.68)
INTERCEPT: Final = -0.66
AGAINST: Final = 6  # traits that only speak against a claim, the first ones
UNIVERSAL: Final = frozenset(
    map(root, "all any anyone anybody always each every everyone everybody everything".split())
)


class Negation(NamedTuple):
    """A negation that one side makes and the other does not, by the number of its token on the side that makes it."""

    side: Literal["claim", "passage"]
    token: int


def traits(alignment: Alignment) -> Traits:
    """Count the traits of an alignment."""
    claim, links, said = alignment.claim, alignment.links, alignment.said
    unsaid = [claim.tokens[word] for word, link in zip(alignment.words, links, strict=True) if link is None]
    paraphrased = sum(link.quality < 0.9 for link in said)
    pairs = list(pairwise(said))
    steps = [after.position - before.position for before, after in pairs]
    number = len(pairs) or 1
    unmatched = [figure for figure in alignment.figures if not figure.positions]
    return Traits(
        names=sum(token.kind == "name" for token in unsaid),
        missing=sum(figure.rival is None for figure in unmatched),
        rivals=sum(figure.rival is not None for figure in unmatched),
        limits=sum(bool(figure.limits) for figure in alignment.figures),
        negations=len(unmatched_negations(alignment)),
        opposites=sum(opposite(alignment, number) is not None for number in range(len(links))),
        paraphrased=paraphrased / (1 + paraphrased + len(unsaid)),
        outside=_outside(alignment),
        spliced=sum(abs(step) > NEAR for step in steps) / number * sum(_side_by_side(*pair) for pair in pairs) / number,
        close=sum(-CLOSE <= step <= CLOSE + 1 for step in steps) / len(steps) if steps else float(bool(links)),
    )


def _side_by_side(one: Link, two: Link) -> bool:
    return 0 < two.position - one.position <= 3 and two.word - one.word <= 3 and one.quality == two.quality == 1.0


def support(counted: Traits, weights: Traits = WEIGHTS, intercept: float = INTERCEPT) -> float:
    """Support of a claim, in (0, 1): the logistic function of the weighted traits."""
    total = intercept + sum(weight * trait for weight, trait in zip(weights, counted, strict=True))
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, total))))


def _outside(alignment: Alignment) -> float:
    said, outside = alignment.said, 0
    for link in said:
        first, last = alignment.windows[alignment.claim.tokens[link.word].sentence]
        outside += not first <= alignment.passage.tokens[link.position].sentence <= last
    return outside / len(said) if said else 0.0


def unmatched_negations(alignment: Alignment) -> list[Negation]:
    """The negations by which one side denies what the other affirms."""
    claim, passage, said = alignment.claim, alignment.passage, alignment.said
    unmatched = []
    for negation in claim.negated:
        after = [link for link in said if negation < link.word <= negation + _NEGATION_REACH]
        positions = [link.position for link in after] + _said_together(alignment, after)
        if not any(is_near(passage.negated, position - 2, 3) for position in positions):
            unmatched.append(Negation("claim", negation))
    for negation in passage.negated:
        sentence = passage.tokens[negation].sentence
        around = [link for link in said if -5 <= link.position - negation <= 4 and link.quality >= 0.9]
        around = [link for link in around if passage.tokens[link.position].sentence == sentence]
        after = [link for link in around if 0 < link.position - negation <= 3]
        if (
            len(around) >= 2
            and after
            and not any(is_near(claim.negated, link.word - 2, _NEGATION_REACH) for link in after)
        ):
            unmatched.append(Negation("passage", negation))
    return unmatched


def _said_together(alignment: Alignment, links: Sequence[Link]) -> list[int]:
    """Positions of these words in the one sentence of the passage that says most of them, at least two.

    The subject may have led the alignment to another sentence: "Acme ships to France. We do not ship to Chad."
    """
    passage = alignment.passage
    sentences: dict[int, list[int]] = {}
    for link in links:
        for position in passage.positions.get(alignment.claim.tokens[link.word].root, ()):
            sentences.setdefault(passage.tokens[position].sentence, []).append(position)
    roots = {
        sentence: {passage.tokens[position].root for position in positions} for sentence, positions in sentences.items()
    }
    best = max(sorted(roots), key=lambda sentence: len(roots[sentence]), default=None)
    return sentences[best] if best is not None and len(roots[best]) >= 2 else []


def opposite(alignment: Alignment, number: int) -> int | None:
    """The passage's word that excludes a word of the claim and stands where that would."""
    if alignment.links[number] is not None:
        return None
    around = between(alignment.links, number)
    for word in sorted(opposites_of(alignment.claim.tokens[alignment.words[number]].root)):
        for position in alignment.passage.positions.get(word, ()):
            if any(other is not None and abs(position - other) <= 5 for other in around):
                return position
    return None


def nearer_opposite(alignment: Alignment, number: int) -> int | None:
    """The opposite of a word that the passage says, standing nearer, in its sentence, to the words said beside it."""
    link, passage = alignment.links[number], alignment.passage
    around = [position for position in between(alignment.links, number) if position is not None]
    if link is None or not around:
        return None
    for word in sorted(opposites_of(alignment.claim.tokens[link.word].root)):
        for position in passage.positions.get(word, ()):
            same = passage.tokens[position].sentence == passage.tokens[link.position].sentence
            if same and all(abs(position - other) + 1 < abs(link.position - other) for other in around):
                return position
    return None


def unlimited(alignment: Alignment) -> int | None:
    """The word of the claim that speaks of all, where no word of the sentences that say the rest does."""
    claim, passage = alignment.claim, alignment.passage
    for number, token in enumerate(claim.tokens):
        if token.root in UNIVERSAL:
            first, last = alignment.windows[token.sentence]
            positions = (position for word in UNIVERSAL for position in passage.positions.get(word, ()))
            if not any(first <= passage.tokens[position].sentence <= last for position in positions):
                return number
    return None


def between(links: Sequence[Link | None], number: int) -> tuple[int | None, int | None]:
    """The passage's words that say the nearest of the five words before one of the claim, and of the five after it."""
    before = next((link.position for link in reversed(links[max(0, number - 5) : number]) if link), None)
    after = next((link.position for link in links[number + 1 : number + 6] if link), None)
    return before, after


# --- Verdict ---

MAX_CLAIM: Final = 4_000  # characters of a claim that are read
MAX_QUOTE: Final = 1_000
MAX_REASONS: Final = 8
LOOKED_AT: Final = 3  # passages, those that share most words with the claim, that it is laid beside
SHORT: Final = 6  # words of a claim, up to which one sentence of the passage must say most of it
WHOLE: Final = 0.9  # of a short claim's words: where one sentence says so many, their order in it matters little
_DOUBTS_OF_LONG: Final = frozenset({"name"})
_DOUBTS: Final = frozenset({"name", "opposed", "scope"})
_CONTRADICTIONS: Final = frozenset({"number", "date", "elsewhere", "limit", "negation", "opposite"})


class Thresholds(NamedTuple):
    """Thresholds between the labels.

    Attributes:
        supported: The support from which on a claim is supported.
        weak: The support from which on it is weakly supported; below, it is unsupported.
        coverage: The share of the claim's words that a passage must say for it to be supported.
        weak_coverage: The share below which it is unsupported.
        focus: The share of a short claim's words that one sentence of the passage must say for it to be supported.
    """

    supported: float = 0.5
    weak: float = 0.35
    coverage: float = 0.6
    weak_coverage: float = 0.4
    focus: float = 0.7


class Weighed(NamedTuple):
    """A claim beside the passage that says most of it.

    Attributes:
        passage: The passage; None if there is none.
        alignment: The claim beside it.
        traits: What speaks for and against.
        support: How far it is supported, in [0, 1].
    """

    passage: Passage | None
    alignment: Alignment | None
    traits: Traits | None
    support: float


def weigh(claim: Reading, passages: Sequence[tuple[Passage, Reading]]) -> Weighed:
    """The passage that says most of a claim, and how far it supports it; of equals the first."""
    best: Weighed = Weighed(None, None, None, 0.0)
    rank = (-1.0, -1.0)
    nearest = sorted(enumerate(passages), key=lambda each: (-_shared(claim, each[1][1]), each[0]))[:LOOKED_AT]
    for _, (passage, reading) in sorted(nearest, key=lambda each: each[0]):
        alignment = align(claim, reading)
        counted = traits(alignment)
        score = support(counted)
        if not any(counted[:AGAINST]) and _is_said_in_one_breath(alignment):
            score = max(score, 0.5)
        own = (round(alignment.coverage + 0.5 * score, 6), score)
        if own > rank and alignment.coverage > 0:
            best, rank = Weighed(passage, alignment, counted, score), own
    return best


def _is_said_in_one_breath(alignment: Alignment) -> bool:
    """Whether a few words of one sentence say all of a short claim, in whatever order; a row of a table does."""
    positions = [link.position for link in alignment.said]
    is_whole = len(alignment.links) <= SHORT and alignment.focus >= WHOLE
    return bool(positions) and is_whole and max(positions) - min(positions) <= NEAR


def _shared(claim: Reading, reading: Reading) -> float:
    """Weight of the claim's words that a passage has, in some form."""
    tokens = (token for token in claim.tokens[:MAX_WORDS] if token.kind != "light")
    found = (token for token in tokens if token.root in reading.positions or token.family in reading.families)
    return sum(weight_of(token) for token in found)


def verdict(case: Case, weighed: Weighed, thresholds: Thresholds, judge: str) -> ClaimVerdict:
    """The verdict on a claim that was weighed, with its grounds."""
    identifier = case.claim.id
    if weighed.alignment is None or weighed.passage is None:
        detail = "no passage bears on it" if case.passages else "the trusted documents have no passage on it"
        return ClaimVerdict(identifier, "unsupported", (Reason("overlap", detail),), None, "", judge)
    alignment = weighed.alignment
    against = sorted(_against(alignment), key=lambda reason: reason.kind not in _CONTRADICTIONS)
    label = _label(weighed, against, thresholds)
    said = f"the passage says {len(alignment.said)} of the claim's {len(alignment.words)} words"
    overlap = Reason("overlap", f"{said}; support {weighed.support:.2f}")
    quote = alignment.passage.quote(*alignment.windows[0])[:MAX_QUOTE]
    if _is_read_in_part(alignment.claim):
        read = f"only the first {MAX_WORDS} words and {MAX_FIGURES} figures of a claim are compared, and it has more"
        against.insert(0, Reason("length", read))
    reasons = [overlap, *against] if label == "supported" else [*against, overlap]
    return ClaimVerdict(identifier, label, tuple(reasons[:MAX_REASONS]), weighed.passage.chunk.id, quote, judge)


def _label(weighed: Weighed, against: Sequence[Reason], thresholds: Thresholds) -> Label:
    alignment = weighed.alignment
    if alignment is None:
        return "unsupported"
    coverage = alignment.coverage
    contradicted = any(reason.kind in _CONTRADICTIONS for reason in against)
    if contradicted or coverage < thresholds.weak_coverage or weighed.support < thresholds.weak:
        return "unsupported"
    short = len(alignment.links) <= SHORT
    doubtful = _DOUBTS if short else _DOUBTS_OF_LONG
    doubted = any(reason.kind in doubtful for reason in against)
    scattered = short and alignment.focus < thresholds.focus
    if doubted or scattered or coverage < thresholds.coverage or weighed.support < thresholds.supported:
        return "weakly_supported"
    return "weakly_supported" if _is_read_in_part(alignment.claim) else "supported"


def _is_read_in_part(claim: Reading) -> bool:
    """Whether a claim has words or figures that nothing was held against."""
    return len(claim.tokens) > MAX_WORDS or max(len(claim.quantities), len(claim.moments)) > MAX_FIGURES


def _against(alignment: Alignment) -> Iterator[Reason]:
    """Yield the reasons against a claim, each with the words of both sides that it rests on."""
    yield from _figures_against(alignment)
    claim, passage, links = alignment.claim, alignment.passage, alignment.links
    for number, link in enumerate(links):
        position = nearer_opposite(alignment, number)
        if link is not None and position is not None:
            said, found = _word(claim, link.word), _around(passage, position)
            yield Reason("opposed", f"the claim says {said}; the passage says nearer by: {found}", said, found)
    universal = unlimited(alignment)
    if universal is not None:
        said = _around(claim, universal)
        yield Reason("scope", f"the claim speaks of all, the passage does not: {said}", said, "")
    for side, negation in unmatched_negations(alignment):
        if side == "passage":
            found = _around(passage, negation)
            yield Reason("negation", f"the passage denies what the claim affirms: {found}", "", found)
            continue
        after = next((link.position for link in alignment.said if link.word > negation), None)
        if after is not None:
            said, found = _around(claim, negation), _around(passage, after)
            yield Reason("negation", f"the claim denies what the passage does not deny: {found}", said, found)
    for number, word in enumerate(alignment.words):
        if links[number] is None:
            yield from _unsaid(alignment, number, word)
    for one, two in pairwise(alignment.said):
        is_far = abs(two.position - one.position) > NEAR
        if is_far and passage.tokens[two.position].sentence != passage.tokens[one.position].sentence:
            said = claim.text[claim.tokens[one.word].start : claim.tokens[two.word].end]
            yield Reason("apart", f"the passage says the parts of {said!r} in different sentences", said, "")


def _figures_against(alignment: Alignment) -> Iterator[Reason]:
    for figure in alignment.figures:
        said = alignment.claim.text[figure.start : figure.end]
        found = "" if figure.rival is None else alignment.passage.text[slice(*figure.rival)]
        if figure.limits:
            other = "lower" if figure.limits == "upper" else "upper"
            detail = f"the claim has {said} as {figure.limits} limit, the passage as {other} limit"
            yield Reason("limit", detail, said, found)
        elif figure.positions and figure.rival is not None:
            detail = f"the claim says {said}, the passage {found} there, and {said} elsewhere"
            yield Reason("elsewhere", detail, said, found)
        elif not figure.positions:
            there = f"the passage {found}" if found else "the passage has no such figure"
            kind = "count" if not found and _is_small_count(said) else figure.kind
            yield Reason(kind, f"the claim says {said}, {there}", said, found)


def _unsaid(alignment: Alignment, number: int, word: int) -> Iterator[Reason]:
    """Yield the reason why a word that the passage does not say speaks against the claim; figures have their own."""
    kind, said = alignment.claim.tokens[word].kind, _word(alignment.claim, word)
    position = opposite(alignment, number)
    if position is not None:
        found = _word(alignment.passage, position)
        yield Reason("opposite", f"the claim says {said}, the passage {found}", said, found)
    elif kind == "name":
        found = _instead(alignment, number)
        there = f"has {found} there" if found else "does not name it"
        yield Reason("name", f"the claim names {said}, the passage {there}", said, found)
    elif kind == "content":
        found = _instead(alignment, number)
        there = f"the passage has {found!r} there" if found else "the passage does not say it"
        yield Reason("word", f"the claim says {said}; {there}", said, found)


def _word(reading: Reading, number: int) -> str:
    token = reading.tokens[number]
    return reading.text[token.start : token.end]


def _is_small_count(said: str) -> bool:
    """Whether a figure is a small number in words, which may count what a passage only lists."""
    return NUMBER_WORDS.get(said.casefold(), 99) <= 12


def _instead(alignment: Alignment, number: int) -> str:
    """The passage's words between those that say the claim's words before and after one; empty if there are none."""
    passage = alignment.passage
    before, after = between(alignment.links, number)
    if before is None or after is None or not 1 < after - before <= 6:
        return ""
    inner = passage.tokens[before + 1 : after]
    if all(token.kind == "light" for token in inner):
        return ""
    return passage.text[inner[0].start : inner[-1].end]


def _around(reading: Reading, number: int) -> str:
    """A negation with the words that follow it."""
    last = min(len(reading.tokens) - 1, number + 3)
    return reading.text[reading.tokens[number].start : reading.tokens[last].end]
