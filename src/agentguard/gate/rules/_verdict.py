"""Judge a claim by its passages: traits for and against it, how far it is supported, the label and its grounds.

Each trait has a direction that no fit may turn: a word, a name or a figure that the passage does not say never makes a
claim more likely. The weights are those of a logistic regression with that constraint, fitted to labelled claims by
``benchmarks/gate/fit_claims.py``, which prints them; their unit is the nat.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from agentguard.content.grounding._values import NUMBER_WORDS
from agentguard.gate._types import Case, ClaimVerdict, Label, Passage, Reason
from agentguard.gate.rules._alignment import MAX_WORDS, Alignment, Link, align, weight_of
from agentguard.gate.rules._figures import MAX_FIGURES
from agentguard.gate.rules._reading import Reading
from agentguard.gate.rules._statements import ATOMIC, Statement, statements, whole
from agentguard.gate.rules._words import root

NEAR: Final = 12  # words: two neighbours of the claim that lie further apart in the passage were not said together
APART: Final = 0.1  # of a claim that no one statement says beside the rest, from which on it can be pieced together
CLOSE: Final = 3  # words between neighbours that were said in one breath


class Traits(NamedTuple):
    """Counts and shares.

    Attributes:
        names: Names that the passage does not say.
        missing: Figures that it does not say, with none in their place.
        rivals: Figures in whose place it says another.
        limits: Figures that bound the other side in the passage.
        denials: Statements of the claim that the passage denies, or the reverse.
        swaps: Statements that the passage makes of another.
        paraphrased: Of the words that the passage does not say literally, the share it says in other words.
        apart: The share of the claim that no one statement of the passage says beside the rest.
        spliced: Of a claim that is apart, the share of neighbours that the passage says far apart, times the share it
            says side by side: near zero for what is told in own words, high for what is pieced together.
        close: Of the pairs of neighbours, the share that the passage says close by.
    """

    names: float
    missing: float
    rivals: float
    limits: float
    denials: float
    swaps: float
    paraphrased: float
    apart: float
    spliced: float
    close: float


DIRECTIONS: Final = Traits(-1, -1, -1, -1, -1, -1, 1, -1, -1, 1)
WEIGHTS: Final = Traits(-2.11, -0.74, -2.78, -2.95, -2.13, -0.40, 3.01, -0.49, -8.15, 1.73)
INTERCEPT: Final = -0.78
AGAINST: Final = 6  # traits that only speak against a claim, the first ones
UNIVERSAL: Final = frozenset(
    map(root, "all any anyone anybody always each every everyone everybody everything".split())
)
# What makes a statement hold with or without a condition: "whatever the reason", "plan or not", "even on Fridays".
_UNCONDITIONAL = re.compile(
    r"\b(?:whatever|whichever|regardless|irrespective|no matter|unconditional(?:ly)?|without exception|alike|or not|"
    r"just (?:like|as)|in (?:any|every|each|all) (?:cases?|circumstances?|events?)|"
    r"however (?:many|much|long|often|late|early|far|old|big|small|large|little|few)|"
    r"even (?:if|when|where|while|on|in|at|by|during|after|before|with|without|for|to|those|people)|"
    r"(?:as (?:long|often|much|many|late|early) as|when(?:ever)?) (?:you|they|he|she|it|one) "
    r"(?:like|want|wish|need|please)s?)\b|(?:^|,)\s*whether\b",
    re.IGNORECASE,
)
_EXCLUSIVE: Final = frozenset("only solely exclusively sole alone".split())
_RESTRICTING: Final = frozenset(
    "only solely exclusively sole alone just except excepted excluding unless but than other otherwise no not none "
    "never nobody nothing cannot neither nor without single one".split()
)
_PERIODS: Final = frozenset(map(root, "minute hour day night week weekend month quarter season year".split()))


def traits(alignment: Alignment, held: Sequence[Statement]) -> Traits:
    """Count the traits of an alignment and of the statements in it."""
    claim, links, said = alignment.claim, alignment.links, alignment.said
    unsaid = [claim.tokens[word] for word, link in zip(alignment.words, links, strict=True) if link is None]
    paraphrased = sum(link.quality < 0.9 for link in said)
    pairs = list(pairwise(said))
    steps = [after.position - before.position for before, after in pairs]
    number = len(pairs) or 1
    apart = 1.0 - whole(held, alignment)
    far = sum(abs(step) > NEAR for step in steps) / number
    unmatched = [figure for figure in alignment.figures if not figure.positions]
    return Traits(
        names=sum(token.kind == "name" for token in unsaid),
        missing=sum(figure.rival is None and figure.kind != "period" for figure in unmatched),
        rivals=sum(figure.rival is not None for figure in unmatched),
        limits=sum(bool(figure.limits) for figure in alignment.figures),
        denials=sum(bool(each.denial) and not each.is_open for each in held),
        swaps=sum(each.swap is not None for each in held),
        paraphrased=paraphrased / (1 + paraphrased + len(unsaid)),
        apart=apart,
        spliced=0.0 if apart < APART else far * sum(_side_by_side(*pair) for pair in pairs) / number,
        close=sum(-CLOSE <= step <= CLOSE + 1 for step in steps) / len(steps) if steps else float(bool(links)),
    )


def _side_by_side(one: Link, two: Link) -> bool:
    return 0 < two.position - one.position <= 3 and two.word - one.word <= 3 and one.quality == two.quality == 1.0


def support(counted: Traits, weights: Traits = WEIGHTS, intercept: float = INTERCEPT) -> float:
    """Support of a claim, in (0, 1): the logistic function of the weighted traits."""
    total = intercept + sum(weight * trait for weight, trait in zip(weights, counted, strict=True))
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, total))))


def unlimited(alignment: Alignment) -> int | None:
    """Find a word such as "all" or "whatever" in the claim that the passage's sentences have no such word for."""
    claim, passage = alignment.claim, alignment.passage
    unconditional = {claim.token_from(match.start()) for match in _UNCONDITIONAL.finditer(claim.text)}
    for number, token in enumerate(claim.tokens):
        if number in unconditional or (token.root in UNIVERSAL and not _is_rate(claim, number)):
            first, last = alignment.windows[token.sentence]
            positions = (position for word in UNIVERSAL for position in passage.positions.get(word, ()))
            positions = (position for position in positions if not _is_rate(passage, position))
            said = any(first <= passage.tokens[position].sentence <= last for position in positions)
            begin, end = passage.sentences[first][0], passage.sentences[last][1]
            said = said and number not in unconditional
            if not said and not _UNCONDITIONAL.search(passage.text, begin, end):
                return number
    return None


def _is_exclusive(reading: Reading, number: int) -> bool:
    """Whether a word leaves out all else: "only", unless it makes little of a number, as in "only 30 pence"."""
    if reading.words[number] not in _EXCLUSIVE:
        return False
    return not any(token.kind == "figure" for token in reading.tokens[number + 1 : number + 3])


def _is_rate(reading: Reading, number: int) -> bool:
    """Whether a word such as "each" tells how often: "each year"."""
    return number + 1 < len(reading.tokens) and reading.tokens[number + 1].root in _PERIODS


def between(links: Sequence[Link | None], number: int) -> tuple[int | None, int | None]:
    """Find the passage's words that say the neighbours of a word of the claim, up to five before and after it."""
    before = next((link.position for link in reversed(links[max(0, number - 5) : number]) if link), None)
    after = next((link.position for link in links[number + 1 : number + 6] if link), None)
    return before, after


# --- Verdict ---

MAX_CLAIM: Final = 4_000  # characters of a claim that are read
MAX_QUOTE: Final = 1_000
MAX_REASONS: Final = 8
LOOKED_AT: Final = 3  # passages, those that share most words with the claim, that it is laid beside
SHORT: Final = 6  # words of a claim, up to which one sentence of the passage must say most of it
BRIEF: Final = 12  # words of a claim, up to which one clause of a rule must say most of it
CLAUSE: Final = 0.66  # of such a claim, what one clause must say: two words of three
WHOLE: Final = 0.9  # of a claim's words: where single statements of the passage say so many, it is not paraphrased
# A claim is pieced together of the passage's own words: where it has others, that its words stand apart tells little.
LITERAL: Final = 0.8
DOUBT: Final = 0.2  # support of what nothing else speaks against
_DIGITS = re.compile(r"\d[\d.,]*(?<=\d)")
_DOUBTS_OF_LONG: Final = frozenset({"name", "another", "modality", "condition", "denial", "scope", "elsewhere"})
_DOUBTS: Final = _DOUBTS_OF_LONG | {"scope"}
_CONTRADICTIONS: Final = frozenset({"number", "date", "elsewhere", "limit", "negation", "opposite", "swapped"})


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
    weak: float = 0.2
    coverage: float = 0.6
    weak_coverage: float = 0.4
    focus: float = 0.7


class Weighed(NamedTuple):
    """A claim beside the passage that says most of it.

    Attributes:
        passage: The passage; None if there is none.
        alignment: The claim beside it.
        statements: The claim's statements beside the passage's.
        traits: What speaks for and against.
        support: How far it is supported, in [0, 1].
    """

    passage: Passage | None
    alignment: Alignment | None
    statements: tuple[Statement, ...]
    traits: Traits | None
    support: float


def weigh(claim: Reading, passages: Sequence[tuple[Passage, Reading]]) -> Weighed:
    """The passage that says most of a claim, and how far it supports it; of equals the first."""
    best: Weighed = Weighed(None, None, (), None, 0.0)
    rank = (-1.0, -1.0)
    nearest = sorted(enumerate(passages), key=lambda each: (-_shared(claim, each[1][1]), each[0]))[:LOOKED_AT]
    for _, (passage, reading) in sorted(nearest, key=lambda each: each[0]):
        alignment = align(claim, reading)
        held = statements(alignment)
        counted = traits(alignment, held)
        score = support(counted)
        if not any(counted[:AGAINST]):
            if whole(held, alignment) >= WHOLE:
                score = max(score, 0.5)
            elif alignment.coverage < LITERAL or whole(held, alignment) >= LITERAL:
                score = max(score, DOUBT)
        own = (round(alignment.coverage + 0.5 * score, 6), score)
        if own > rank and alignment.coverage > 0:
            best, rank = Weighed(passage, alignment, held, counted, score), own
    return best


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
    against = sorted(_against(alignment, weighed.statements), key=lambda reason: reason.kind not in _CONTRADICTIONS)
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
    # In a claim that has words of its own, a figure of another sentence may well be in its place.
    open_kinds = {"elsewhere"} if coverage < LITERAL else set()
    contradicted = any(reason.kind in _CONTRADICTIONS - open_kinds for reason in against)
    if contradicted or coverage < thresholds.weak_coverage or weighed.support < thresholds.weak:
        return "unsupported"
    short = len(alignment.links) <= SHORT
    doubtful = _DOUBTS if short else _DOUBTS_OF_LONG
    doubted = any(reason.kind in doubtful for reason in against)
    held, share = weighed.statements, whole(weighed.statements, alignment)
    scattered = short and max(alignment.focus, share) < thresholds.focus
    # A rule is said by one clause; of events, one clause may tell who, and another what.
    is_rule = len(held) <= ATOMIC and all(each.home is None or each.home.conditional for each in held)
    scattered = scattered or (is_rule and len(alignment.links) <= BRIEF and share < CLAUSE)
    if doubted or scattered or coverage < thresholds.coverage or weighed.support < thresholds.supported:
        return "weakly_supported"
    return "weakly_supported" if _is_read_in_part(alignment.claim) else "supported"


def _is_read_in_part(claim: Reading) -> bool:
    """Whether a claim has words or figures that nothing was held against."""
    return len(claim.tokens) > MAX_WORDS or max(len(claim.quantities), len(claim.moments)) > MAX_FIGURES


def _against(alignment: Alignment, held: Sequence[Statement]) -> Iterator[Reason]:
    """Yield the reasons against a claim, each with the words of both sides that it rests on."""
    for reason in _figures_against(alignment, held):
        if reason.kind != "elsewhere" or len(held) <= ATOMIC:  # of several statements, one may well be about the other
            yield reason
    claim, links = alignment.claim, alignment.links
    universal = unlimited(alignment)
    if universal is not None:
        said = _around(claim, universal)
        yield Reason("scope", f"the claim speaks of all, the passage does not: {said}", said, "")
    for each in held:
        yield from _statement_against(alignment, each)
    for number, word in enumerate(alignment.words):
        if links[number] is None:
            yield from _unsaid(alignment, held, number, word)


def _statement_against(alignment: Alignment, held: Statement) -> Iterator[Reason]:
    """Yield the reasons against one statement of the claim."""
    claim, passage, home = alignment.claim, alignment.passage, held.home
    if held.swap is not None:
        said, found = _span(claim, *held.swap.claimed), _span(passage, *held.swap.said)
        yield Reason("swapped", f"the claim says {said}; the passage says the rest of {found}", said, found)
    if held.another is not None:
        said, found = _span(claim, *held.another.claimed), _span(passage, *held.another.said)
        yield Reason("another", f"the claim says it of {said}, the passage of {found}", said, found)
    alone = next((at for at in range(*held.segment[:2]) if _is_exclusive(claim, at)), None)
    if home is not None and alone is not None and _RESTRICTING.isdisjoint(passage.words[home.first : home.last]):
        said, found = _around(claim, alone), _span(passage, home.first, home.last)
        yield Reason("scope", f"the claim leaves nothing else, the passage does not say so: {said}", said, found)
    if held.modality is not None:
        ours, theirs = (_word(*each) for each in zip((claim, passage), held.modality, strict=True))
        yield Reason("modality", f"the claim says {ours}, the passage {theirs}", ours, theirs)
    if home is not None and held.denial:
        said, found = _span(claim, held.segment.first, held.segment.last), _span(passage, home.first, home.last)
        if held.is_open:
            yield Reason("denial", f"it is open whether the passage denies what the claim says: {found}", said, found)
        elif held.opposites:
            ours, theirs = (_word(*each) for each in zip((claim, passage), held.opposites[0], strict=True))
            yield Reason("opposite", f"the claim says {ours}, the passage {theirs}", ours, theirs)
        elif held.denial == "claim":
            said = _around(claim, held.segment.negations[0])
            yield Reason("negation", f"the claim denies what the passage does not deny: {found}", said, found)
        else:
            yield Reason("negation", f"the passage denies what the claim affirms: {found}", "", found)
    for condition in held.dropped:
        found = _span(passage, *condition)
        yield Reason(
            "condition", f"the passage says it under a condition that the claim leaves out: {found}", "", found
        )


def _span(reading: Reading, first: int, last: int) -> str:
    """The words from one token to another, which is not included."""
    return reading.text[reading.tokens[first].start : reading.tokens[last - 1].end]


def _figures_against(alignment: Alignment, held: Sequence[Statement]) -> Iterator[Reason]:
    at_home = [each.home for each in held if each.home is not None]
    homes = {token for home in at_home for token in (*range(home.first, home.last), *home.carried)}
    for figure in alignment.figures:
        said = alignment.claim.text[figure.start : figure.end]
        found = "" if figure.rival is None else alignment.passage.text[slice(*figure.rival)]
        if figure.limits:
            other = "lower" if figure.limits == "upper" else "upper"
            detail = f"the claim has {said} as {figure.limits} limit, the passage as {other} limit"
            yield Reason("limit", detail, said, found)
        elif figure.positions and figure.rival is not None and homes.isdisjoint(figure.positions):
            detail = f"the claim says {said}, the passage {found} there, and {said} elsewhere"
            yield Reason("elsewhere", detail, said, found)
        elif not figure.positions:
            digits = _DIGITS.search(said)
            if found:
                there = f"the passage {found}"
            elif digits and re.search(rf"(?<!\d){re.escape(digits[0])}(?!\d)", alignment.passage.text):
                there = f"the passage says {digits[0]} of something else"
            else:
                there = "the passage has no such figure"
            kind = "count" if not found and (figure.kind == "period" or _is_small_count(said)) else "number"
            kind = "date" if figure.kind == "date" else kind
            yield Reason(kind, f"the claim says {said}, {there}", said, found)


def _unsaid(alignment: Alignment, held: Sequence[Statement], number: int, word: int) -> Iterator[Reason]:
    """Yield the reason why a word that the passage does not say speaks against the claim; figures have their own."""
    kind, said = alignment.claim.tokens[word].kind, _word(alignment.claim, word)
    if any(word == ours for each in held for ours, _ in each.opposites):
        return  # it is weighed with the negations
    if kind == "name":
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
