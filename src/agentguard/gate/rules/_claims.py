"""Split an answer into atomic claims: by blocks, sentences and main clauses, each with its position in the answer.

Blocks of Markdown are found in one pass over lines, by patterns whose repetitions are bounded: linear on any text.
Questions, opinions, courtesy, refusals, and talk of the answer itself claim nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, Literal, NamedTuple

from agentguard.content._text import STOPWORDS, encodable, sentence_spans, trimmed, words
from agentguard.errors import GateError
from agentguard.gate._types import Claim, Response
from agentguard.gate.rules._grammar import PRONOUNS, SUBORDINATORS, clause, starts_predicate
from agentguard.gate.rules._words import is_plural, word_sections

MAX_CHARACTERS: Final = 200_000  # of an answer; what stands beyond is not read
_FENCE = re.compile(r"[ \t]{0,8}(?:```|~~~)")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+(?=\S)")
_QUOTE = re.compile(r"(?:[ \t]{0,3}>[ \t]?){1,8}")
_ITEM = re.compile(
    r"[ \t]{0,40}(?:[-*+•–][ \t]{1,8}(?:\[[ xX]\][ \t])?|\(?\d{1,4}[.)][ \t]{1,8}|[a-zA-Z]\)[ \t]{1,8})(?=\S)"
)
_RULE = re.compile(r"[ \t]{0,3}(?:[-*_=][ \t]{0,2}){3,}\s*$")
_DIVIDER = re.compile(r"[ \t|:-]{3,2000}$")
_CELL = re.compile(r"(?<!\\)\|")
_INLINE = re.compile(
    r"""
    !\[[^\[\]\n]{0,300}\]\([^()\s]{0,1000}\)
    |\[(?P<link>[^\[\]\n]{1,300})\]\([^()\s]{0,1000}\)
    |\[\^?\d{1,3}\]
    |</?[a-zA-Z][^<>\n]{0,300}>
    |\\(?P<escaped>[^\w\s])
    |\*{2,3}|(?<!\s)\*|\*(?!\s)|_{2,3}|(?<!\w)_(?=\w)|(?<=\w)_(?!\w)|~~|`{1,2}
    |(?P<blank>[ \t\u00a0]*\n\s*)
    """,
    re.VERBOSE,
)


class Plain(NamedTuple):
    """Text without marks, and for each of its characters the place in the answer."""

    text: str
    positions: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Span of a part of the text in the answer; (-1, -1) for an empty one."""
        return (self.positions[start], self.positions[end - 1] + 1) if start < end else (-1, -1)


class Block(NamedTuple):
    """One block.

    Attributes:
        kind: ``heading``, ``paragraph``, ``item`` of a list, or ``cell`` of a table.
        plain: Its text.
        label: What makes a cell understandable: the row's first cell and the column's head; empty elsewhere.
    """

    kind: Literal["heading", "paragraph", "item", "cell"]
    plain: Plain
    label: str = ""


def plain(text: str, start: int, end: int) -> Plain:
    """A part of an answer without marks, line ends as blanks.

    >>> plain("see **the [docs](x)**", 0, 21).text
    'see the docs'
    """
    parts: list[str] = []
    positions: list[int] = []
    at = start
    for match in _INLINE.finditer(text, start, end):
        parts.append(text[at : match.start()])
        positions.extend(range(at, match.start()))
        at = match.end()
        kind = match.lastgroup
        if kind == "blank":
            parts.append(" ")
            positions.append(match.start())
        elif kind:
            parts.append(match[kind])
            positions.extend(range(match.start(kind), match.end(kind)))
    parts.append(text[at:end])
    positions.extend(range(at, end))
    joined = "".join(parts)
    left = len(joined) - len(joined.lstrip())
    right = len(joined.rstrip())
    return Plain(joined[left:right], positions[left:right])


def blocks(text: str) -> Iterator[Block]:
    r"""The blocks of an answer that may claim something, in their order; code is none.

    >>> [(block.kind, block.plain.text) for block in blocks("# A\nOne\nline.\n- two\n```\ncode\n```")]
    [('heading', 'A'), ('paragraph', 'One line.'), ('item', 'two')]
    """
    kind: Literal["paragraph", "item"] = "paragraph"
    begin = end = -1  # of the block that is being read
    fenced = quoted = False
    head: list[str] = []
    at = 0
    for line in text[:MAX_CHARACTERS].splitlines(keepends=True):
        start, at = at, at + len(line)
        stripped = line.strip()
        row = not fenced and stripped.count("|") >= 2 and len(stripped) > 2 and (stripped[0] == "|" or bool(head))
        item = _ITEM.match(line)
        heading = _HEADING.match(line)
        quote = _QUOTE.match(line)
        marked = item or heading or _FENCE.match(line) or _RULE.match(line)
        ends = not stripped or fenced or row or marked is not None or (quote is not None) != quoted
        if ends and begin >= 0:
            yield Block(kind, plain(text, begin, end))
            begin = -1
        quoted = quote is not None
        if not row:
            head = []
        if _FENCE.match(line):
            fenced = not fenced
        elif fenced or not stripped or (_RULE.match(line) and not row):
            continue
        elif row:
            cells = list(_cells(text, start, at))
            if _DIVIDER.match(stripped):
                continue
            if not head:
                head = [cell.text for cell in cells]
                continue
            yield from _row(head, cells)
        elif heading:
            yield Block("heading", plain(text, start + heading.end(), at))
        elif item:
            kind, begin, end = "item", start + item.end(), at
        elif begin >= 0:
            end = at  # the mark of a quotation's further lines stays; it is no word
        else:
            kind, begin, end = "paragraph", start + (quote.end() if quote else 0), at
    if begin >= 0:
        yield Block(kind, plain(text, begin, end))


def _cells(text: str, start: int, end: int) -> Iterator[Plain]:
    line = text[start:end]
    left = start + len(line) - len(line.lstrip())
    right = start + len(line.rstrip())
    left += text[left] == "|"
    right -= text[right - 1] == "|"
    for match in _CELL.finditer(text, left, right):
        yield plain(text, left, match.start())
        left = match.end()
    yield plain(text, left, right)


def _row(head: list[str], cells: list[Plain]) -> Iterator[Block]:
    """A statement of each cell but the first, which says what the row is about."""
    first = cells[0].text
    for name, cell in zip(head[1:], cells[1:], strict=False):
        if cell.text.strip("-–— ") and (first or name):
            yield Block("cell", cell, f"{first}: {name}".strip(": "))


# --- Sentences that state a fact ---


def _phrases() -> dict[str, str]:
    """The sections of ``phrases.txt``, the alternatives of each as one group."""
    groups: dict[str, str] = {}
    for name, alternatives in word_sections("phrases").items():
        joined = re.sub("<([a-z_]+)>", lambda match: groups[match[1]], "|".join(alternatives))
        groups[name] = f"(?:{joined})"
    return groups


_PHRASES: Final = _phrases()
_OPENER = re.compile(rf"(?:{_PHRASES['openers']}\s*[,:!—–-]\s+|(?:and|but|so|also|plus|then)\s+)(?=\S)", re.IGNORECASE)
_WRAPPER = re.compile(_PHRASES["wrappers"], re.IGNORECASE)
_HEDGE = re.compile(_PHRASES["hedges"], re.IGNORECASE)
_INNER_HEDGE = re.compile(rf"\b{_PHRASES['inner_hedges']}\b", re.IGNORECASE)
_MANNERS = re.compile(_PHRASES["manners"], re.IGNORECASE)
_REFUSAL = re.compile(_PHRASES["refusals"], re.IGNORECASE)
_MINE = re.compile(r"(?:i|i'm|i'd|i'll|i've|me|my|let's)\b", re.IGNORECASE)
_TASTE = re.compile(
    r"\b(?:is|are|was|were|it's|that's) (?:(?:really|so|very|quite|truly|absolutely|simply) )*"
    r"(?:great|awesome|wonderful|amazing|fantastic|beautiful|terrible|awful|nice|fun|boring|lovely|brilliant|delightful|"
    r"a pleasure)[.!]*$",
    re.IGNORECASE,
)


def stated(sentence: str) -> int | None:
    """Find the start of a sentence's statement, past what only introduces it; None if it states no fact.

    A hedge ("I think", "probably") makes a sentence an opinion, unless it has a figure in it: who thinks that a refund
    takes 90 days has said 90 days.

    >>> stated("Note that refunds take 5 days."), stated("I'd be happy to help!"), stated("Is it free?")
    (10, None, None)
    """
    at = 0
    for _ in range(4):
        match = _OPENER.match(sentence, at) or _WRAPPER.match(sentence, at)
        if match is None:
            break
        at = match.end()
    hedge = _HEDGE.match(sentence, at)
    rest = sentence[at:].replace("\u2019", "'")
    has_figure = any(character.isdigit() for character in rest)
    if hedge is not None or _INNER_HEDGE.search(rest[:1000]):
        if not has_figure:
            return None
        at = hedge.end() if hedge is not None else at
        rest = sentence[at:].replace("\u2019", "'")
    if rest.rstrip("\"'”)* ").endswith("?") or _REFUSAL.match(rest) or _MANNERS.match(rest):
        return None
    if (_MINE.match(rest) or _TASTE.search(rest[-80:])) and not has_figure:
        return None
    content = [word for word in words(rest[:400]) if word.casefold() not in STOPWORDS]
    return at if len(content) >= 2 or (content and has_figure) else None


# --- Atomic claims ---

MAX_CLAIMS: Final = 5_000  # of one answer
MAX_LENGTH: Final = 2_000  # characters of a claim; a longer sentence is cut between words
_JOINT = re.compile(r"(?P<mark>[,;])?\s+(?P<word>and|but|while|whereas|yet)\s+|;\s+", re.IGNORECASE)
_BEGINNING = re.compile(r"\w+")
_LEAD_END = re.compile(r":\s*$")
_META_LEAD = re.compile(
    r"\b(?:here|below|following|details|summary|answer|points?|steps?|information|examples?|overview)\b", re.IGNORECASE
)
_ANAPHOR = re.compile(r"(?P<one>it|this)\s(?=\w)|(?P<many>they|these)\s(?=\w)", re.IGNORECASE)


class _Part(NamedTuple):
    """A piece of a block that is one claim: its characters in the block, and the words that complete it."""

    start: int
    end: int
    text: str


def split(response: Response) -> list[Claim]:
    """The claims of an answer, in its order: all of them, since one that is left out would never be verified.

    Raises:
        GateError: If the answer is too long, or makes more than ``MAX_CLAIMS``.

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
    claims = list(islice(_claims(encodable(response.text)), MAX_CLAIMS + 1))
    if len(claims) > MAX_CLAIMS:
        raise GateError(
            f"the answer to prompt {response.prompt_id} makes more than {MAX_CLAIMS:,} claims: split it, or leave it "
            "out"
        )
    return [
        Claim(f"{response.prompt_id}.c{number}", response.prompt_id, text, start, end)
        for number, (text, start, end) in enumerate(claims, 1)
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
        if begin is None or text[end - 1 : end] == "?":
            continue
        for first, last in _clauses(text, start + begin, end):
            said = text[first:last]
            if first > start + begin and stated(said) is None:
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
    for position, joint in enumerate(joints):
        until = joints[position + 1].start() if position + 1 < len(joints) else end
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
        if subject and many == is_plural(subject.split()[-1].casefold()):
            return f"{subject} {said[match.end() :]}", subject
        return said, ""
    own = said[: found.subject_end]
    nameable = len(found.subject) <= 6 and found.subject[0].casefold() not in PRONOUNS and "," not in own
    return said, own if nameable and " and " not in own else ""


def _finished(text: str) -> str:
    """Finish a sentence: a capital first, a full stop last."""
    text = text.strip().rstrip(",;:")
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", '"', "”")) else text + "."
