"""An answer split into atomic claims: by blocks, sentences and main clauses, each with its place in the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from agentguard.content._text import encodable, sentence_spans, trimmed
from agentguard.errors import GateError
from agentguard.gate.rules.grammar import PRONOUNS, SUBORDINATORS, clause, starts_predicate
from agentguard.gate.rules.layout import MAX_CHARACTERS, Block, blocks
from agentguard.gate.rules.statements import stated
from agentguard.gate.types import Claim, Response

__all__ = ["MAX_CLAIMS", "MAX_LENGTH", "split"]

MAX_CLAIMS: Final = 5_000  # of one answer
MAX_LENGTH: Final = 2_000  # characters of a claim; a longer sentence is cut between words
_JOINT = re.compile(r"(?P<mark>[,;])?\s+(?P<word>and|but|while|whereas|yet)\s+|;\s+", re.IGNORECASE)
_BEGINNING = re.compile(r"\w+")
_LEAD_END = re.compile(r":\s*$")
_META_LEAD = re.compile(
    r"\b(?:here|below|following|details|summary|answer|points?|steps?|information|examples?|overview)\b", re.IGNORECASE
)
_ANAPHOR = re.compile(r"(?P<one>it|this)\s(?=\w)|(?P<many>they|these)\s(?=\w)", re.IGNORECASE)
_OPEN: Final = {'"': '"', "“": "”", "(": ")"}


class _Part(NamedTuple):
    """A piece of a block that is one claim: its characters in the block, and the words that complete it."""

    start: int
    end: int
    text: str


def split(response: Response) -> list[Claim]:
    """The claims of an answer, in its order: all of them, since one that is left out would never be verified.

    Raises:
        GateError: where the answer is too long, or makes more than ``MAX_CLAIMS``.

    >>> text = "Sure! The return policy allows returns within 30 days, and shipping is free for orders over $50."
    >>> for claim in split(Response("p1", text)):
    ...     print(claim.id, claim.text)
    p1.c1 The return policy allows returns within 30 days.
    p1.c2 Shipping is free for orders over $50.
    """
    if len(response.text) > MAX_CHARACTERS:
        raise GateError(
            f"the answer to prompt {response.prompt_id} has {len(response.text):,} characters, and at most "
            f"{MAX_CHARACTERS:,} can be verified: split it, or leave it out"
        )
    found = list(islice(_claims(encodable(response.text)), MAX_CLAIMS + 1))
    if len(found) > MAX_CLAIMS:
        raise GateError(
            f"the answer to prompt {response.prompt_id} makes more than {MAX_CLAIMS:,} claims: split it, or leave it "
            "out"
        )
    return [
        Claim(f"{response.prompt_id}.c{number}", response.prompt_id, text, start, end)
        for number, (text, start, end) in enumerate(found, 1)
    ]


def _claims(text: str) -> Iterator[tuple[str, int, int]]:
    lead = ""  # what introduces the items of a list: "The plan includes:"
    for block in blocks(text):
        if block.kind == "heading":
            lead = ""
        elif block.kind == "cell":
            yield f"{block.label} {block.plain.text}", *block.plain.span(0, len(block.plain.text))
        else:
            if block.kind == "paragraph":
                lead = ""
            for part in _parts(block, lead):
                yield part.text, *block.plain.span(part.start, part.end)
            if block.kind == "paragraph" and _LEAD_END.search(block.plain.text[-8:]):
                last = block.plain.text[slice(*_sentences(block.plain.text)[-1])]
                lead = "" if _META_LEAD.search(last) or len(last) > 200 else last.rstrip(": ")


def _parts(block: Block, lead: str) -> Iterator[_Part]:
    text = block.plain.text
    subject = ""
    for start, end in _sentences(text):
        if _LEAD_END.search(text[max(start, end - 8) : end]):
            continue
        if lead and block.kind == "item" and clause(text[start:end]) is None:
            item = text[start:end]
            small = item if item[1:2].isupper() else item[:1].lower() + item[1:]
            yield _Part(start, end, _finished(f"{lead} {small}"))
            continue
        begin = stated(text[start:end])
        if begin < 0 or text[end - 1 : end] == "?":
            continue
        for first, last in _clauses(text, start + begin, end):
            said = text[first:last]
            if first > start + begin and stated(said) < 0:
                continue
            if starts_predicate(said) and first > start + begin and subject:
                said = f"{subject} {said}"
            else:
                said, subject = _completed(said, subject)
            yield _Part(first, last, _finished(said))


def _sentences(text: str) -> list[tuple[int, int]]:
    """Sentences, a quotation or a bracket never cut in two, none longer than ``MAX_LENGTH``."""
    merged: list[tuple[int, int]] = []
    is_open = False
    for start, end in sentence_spans(text):
        goes_on = bool(merged) and text[start].islower() and text[start - 2 : start - 1] in {'"', "”"}
        if (is_open or goes_on) and end - merged[-1][0] <= MAX_LENGTH // 2:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
        part = text[merged[-1][0] : end]
        is_open = part.count('"') % 2 == 1 or part.count("“") > part.count("”") or part.count("(") > part.count(")")
    short: list[tuple[int, int]] = []
    for start, end in merged:
        while end - start > MAX_LENGTH:
            cut = text.rfind(" ", start, start + MAX_LENGTH)
            cut = cut if cut > start else start + MAX_LENGTH
            short.append(trimmed(text, start, cut))
            start = trimmed(text, cut, end)[0]
        if start < end:
            short.append((start, end))
    return short


def _clauses(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The main clauses of a sentence; one that a condition governs stays whole."""
    first_word = _BEGINNING.match(text, start, end)
    if first_word is not None and first_word[0].casefold() in SUBORDINATORS:
        return [(start, end)]
    cuts: list[tuple[int, int]] = []
    begin = start
    joints = [match for match in _JOINT.finditer(text, start, end) if not _is_inside(text, start, match.start())]
    for place, joint in enumerate(joints):
        until = joints[place + 1].start() if place + 1 < len(joints) else end
        right = text[joint.end() : until]
        left = clause(text[begin : joint.start()])
        if left is None:
            continue
        whole = clause(right) is not None or (len(right.split()) > 2 and clause(text[joint.end() : end]) is not None)
        shared = joint["word"] is not None and joint["word"].casefold() == "and" and starts_predicate(right)
        if (whole and not _is_of_relative(text[begin : joint.start()])) or shared:
            cuts.append((begin, joint.start()))
            begin = joint.end()
    return [*cuts, (begin, end)]


def _is_of_relative(left: str) -> bool:
    """Whether what stands to the left ends in a condition that may govern the right side too."""
    return re.search(r"\b(?:if|unless|when|whenever|because|whether)\b", left[-200:], re.IGNORECASE) is not None


def _is_inside(text: str, start: int, at: int) -> bool:
    """Whether a character stands in a quotation or in brackets."""
    part = text[max(start, at - 400) : at]
    return part.count('"') % 2 == 1 or part.count("“") > part.count("”") or part.count("(") > part.count(")")


def _completed(said: str, subject: str) -> tuple[str, str]:
    """A clause with its pronoun replaced by the subject before, where number agrees; and the subject that it leaves."""
    found = clause(said)
    match = _ANAPHOR.match(said)
    if found is None:
        return said, ""
    if match is not None and len(found.subject) == 1:
        many = match["many"] is not None
        if subject and many == _is_plural(subject):
            return f"{subject} {said[match.end() :]}", subject
        return said, ""
    own = said[: found.subject_end]
    nameable = len(found.subject) <= 6 and found.subject[0].casefold() not in PRONOUNS and "," not in own
    return said, own if nameable and " and " not in own else ""


def _is_plural(subject: str) -> bool:
    last = subject.split()[-1].casefold()
    return last.endswith("s") and not last.endswith(("ss", "us", "is"))


def _finished(text: str) -> str:
    """As a sentence: a capital first, a full stop last."""
    text = text.strip().rstrip(",;:")
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", '"', "”")) else text + "."
