"""A claim judged by its passages: the label, and grounds that a person can check against the passage's words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from agentguard.content.grounding._values import NUMBER_WORDS
from agentguard.gate.judging import Case
from agentguard.gate.rules.alignment import MAX_WORDS, Alignment, align, weight_of
from agentguard.gate.rules.figures import MAX_FIGURES
from agentguard.gate.rules.reading import Reading
from agentguard.gate.rules.traits import (
    NEAR,
    Traits,
    between,
    nearer_opposite,
    neighbours,
    opposite,
    support,
    traits,
    unlimited,
    unmatched_negations,
)
from agentguard.gate.types import ClaimVerdict, Label, Passage, Reason

__all__ = ["Thresholds", "Weighed", "verdict", "weigh"]

MAX_CLAIM: Final = 4_000  # characters of a claim that are read
MAX_QUOTE: Final = 1_000
MAX_REASONS: Final = 8
LOOKED_AT: Final = 3  # passages, those that share most words with the claim, that it is laid beside
SHORT: Final = 6  # words of a claim, up to which one sentence of the passage must say most of it
WHOLE: Final = 0.9  # of a short claim's words: where one sentence says so many, their order in it matters little
AGAINST: Final = 6  # traits that only speak against a claim, the first ones
_DOUBTS_OF_LONG: Final = frozenset({"name"})
_DOUBTS: Final = frozenset({"name", "opposed", "scope"})
_CONTRADICTIONS: Final = frozenset({"number", "date", "elsewhere", "limit", "negation", "opposite"})


class Thresholds(NamedTuple):
    """Where the labels part.

    Attributes:
        supported: the support from which on a claim is supported.
        weak: the support from which on it is weakly supported; below, it is unsupported.
        coverage: the share of the claim's words that a passage must say for it to be supported.
        weak_coverage: the share below which it is unsupported.
        focus: the share of a short claim's words that one sentence of the passage must say for it to be supported.
    """

    supported: float = 0.5
    weak: float = 0.35
    coverage: float = 0.6
    weak_coverage: float = 0.4
    focus: float = 0.7


class Weighed(NamedTuple):
    """A claim beside the passage that says most of it.

    Attributes:
        passage: the passage; None where there is none.
        alignment: the claim beside it.
        traits: what speaks for and against.
        support: how far it is supported, in [0, 1].
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
        found = traits(alignment)
        score = support(found)
        if not any(found[:AGAINST]) and _is_said_in_one_breath(alignment):
            score = max(score, 0.5)
        own = (round(alignment.coverage + 0.5 * score, 6), score)
        if own > rank and alignment.coverage > 0:
            best, rank = Weighed(passage, alignment, found, score), own
    return best


def _is_said_in_one_breath(alignment: Alignment) -> bool:
    """Whether a few words of one sentence say all of a short claim, in whatever order; a row of a table does."""
    places = [link.place for link in alignment.links if link.place >= 0]
    is_whole = len(alignment.links) <= SHORT and alignment.focus >= WHOLE
    return bool(places) and is_whole and max(places) - min(places) <= NEAR


def _shared(claim: Reading, reading: Reading) -> float:
    """How many of the claim's words a passage has, in some form; words that say little count little."""
    tokens = (token for token in claim.tokens[:MAX_WORDS] if token.kind != "light")
    found = (token for token in tokens if token.root in reading.places or token.family in reading.families)
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
    overlap = Reason(
        "overlap",
        f"the passage says {sum(link.place >= 0 for link in alignment.links)} of the claim's "
        f"{len(alignment.links)} words; support {weighed.support:.2f}",
    )
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
    claim, passage, links = alignment.claim, alignment.passage, alignment.links
    for figure in alignment.figures:
        said = claim.text[figure.start : figure.end]
        found = passage.text[slice(*figure.rival)] if figure.rival[0] >= 0 else ""
        if figure.limits:
            other = "lower" if figure.limits == "upper" else "upper"
            yield Reason(
                "limit", f"the claim has {said} as {figure.limits} limit, the passage as {other} limit", said, found
            )
        elif figure.places and figure.rival[0] >= 0:
            yield Reason(
                "elsewhere", f"the claim says {said}, the passage {found} there, and {said} elsewhere", said, found
            )
        elif not figure.places:
            there = f"the passage {found}" if found else "the passage has no such figure"
            kind = "count" if not found and _is_small_count(said) else figure.kind
            yield Reason(kind, f"the claim says {said}, {there}", said, found)
    for number in range(len(links)):
        place = nearer_opposite(alignment, number)
        if place >= 0:
            token = claim.tokens[links[number].word]
            said, found = claim.text[token.start : token.end], _around(passage, place)
            yield Reason("opposed", f"the claim says {said}; the passage says nearer by: {found}", said, found)
    universal = unlimited(alignment)
    if universal >= 0:
        said = _around(claim, universal)
        yield Reason("scope", f"the claim speaks of all, the passage does not: {said}", said, "")
    for ours, theirs in unmatched_negations(alignment):
        if ours >= 0:
            said = _around(claim, ours)
            after = next((link.place for link in links if link.word > ours and link.place >= 0), -1)
            if after >= 0:
                found = _around(passage, after)
                yield Reason("negation", f"the claim denies what the passage does not deny: {found}", said, found)
        else:
            found = _around(passage, theirs)
            yield Reason("negation", f"the passage denies what the claim affirms: {found}", "", found)
    for number, link in enumerate(links):
        if link.place >= 0:
            continue
        token = claim.tokens[link.word]
        said = claim.text[token.start : token.end]
        place = opposite(alignment, number)
        if place >= 0:
            found = passage.text[passage.tokens[place].start : passage.tokens[place].end]
            yield Reason("opposite", f"the claim says {said}, the passage {found}", said, found)
        elif token.kind == "name":
            found = _instead(alignment, number)
            there = f"has {found} there" if found else "does not name it"
            yield Reason("name", f"the claim names {said}, the passage {there}", said, found)
        elif token.kind == "content":
            found = _instead(alignment, number)
            there = f"the passage has {found!r} there" if found else "the passage does not say it"
            yield Reason("word", f"the claim says {said}; {there}", said, found)
    for one, two in neighbours(links):
        is_far = abs(two.place - one.place) > NEAR
        if is_far and passage.tokens[two.place].sentence != passage.tokens[one.place].sentence:
            said = claim.text[claim.tokens[one.word].start : claim.tokens[two.word].end]
            yield Reason("apart", f"the passage says the parts of {said!r} in different sentences", said, "")


def _is_small_count(said: str) -> bool:
    """Whether a figure is a small number in words, which may count what a passage only lists."""
    return NUMBER_WORDS.get(said.casefold(), 99) <= 12


def _instead(alignment: Alignment, number: int) -> str:
    """What the passage has between the words that say the claim's words before and after one; empty where nothing."""
    passage = alignment.passage
    before, after = between(alignment.links, number)
    if before < 0 or not 1 < after - before <= 6:
        return ""
    inner = passage.tokens[before + 1 : after]
    if all(token.kind == "light" for token in inner):
        return ""
    return passage.text[inner[0].start : inner[-1].end]


def _around(reading: Reading, number: int) -> str:
    """A negation with the words that follow it."""
    last = min(len(reading.tokens) - 1, number + 3)
    return reading.text[reading.tokens[number].start : reading.tokens[last].end]
