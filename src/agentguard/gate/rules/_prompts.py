"""Write questions from trusted documents: from their headings and sentences, so that a false answer comes easily."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

import yaml

from agentguard.content._text import sentence_spans
from agentguard.errors import GateError
from agentguard.gate._types import Chunk, Prompt
from agentguard.gate.evidence._index import EvidenceIndex
from agentguard.gate.rules._grammar import SUBORDINATORS, begins_order, clause
from agentguard.gate.rules._reading import Reading

MAX_CHUNKS: Final = 400
MAX_TOPICS: Final = 2_000
MAX_SUBJECT: Final = 80  # characters of what a sentence is about, where that is asked about
SENTENCE: Final = range(20, 161)  # characters of a sentence that is asked about as it stands
_ANY: Final = "the of and to in is for with"  # words that are in nearly every English text
_HEADING_MARK = re.compile(r"^\s*#{1,6}\s*")
_NUMBERING = re.compile(r"^\W*(?:\d+(?:\.\d+)*\.?\s+)?")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z]\w+")  # a capital where no sentence begins
# What a question cannot repeat: who speaks there, what stands elsewhere, marks, lists.
_UNFIT = re.compile(
    r"(?i)\b(?:i|we|us|our|my|me|above|below|following|however|also|otherwise|then)\b|[:;()*_`|>\[\]{}?!]|\.\s"
)
_DANGLING = frozenset({"it", "this", "that", "these", "those", "they", "he", "she", "there", "such", "both"})
_WHOLE = re.compile(r"(?<![\d.,])\d{1,6}(?![\d.,]*\d)")


@cache
def _wordings() -> dict[str, list[str]]:
    """The questions of ``questions.yaml``, by category."""
    wordings: dict[str, list[str]] = yaml.safe_load(
        files(__package__).joinpath("questions.yaml").read_text(encoding="utf-8")
    )
    return wordings


class _Topic(NamedTuple):
    """What can be asked about at one place of the documents; what is empty cannot."""

    topic: str = ""
    fact: str = ""
    altered: str = ""


def write(evidence: EvidenceIndex | None, use_case: str, categories: Sequence[str], number: int) -> list[Prompt]:
    """Different questions, ``number`` of them, over the categories in turn; the same documents, the same questions."""
    if evidence is None or not evidence.documents():
        raise GateError(
            "there are no trusted documents to write prompts from: run `agentguard gate ingest` first, or name a file "
            "with prompts (evaluation.prompts) or recorded answers (evaluation.responses) in the configuration"
        )
    topics = list(_topics(_chunks(evidence, use_case)))
    kinds = list(dict.fromkeys(categories)) or ["factual_recall"]
    streams = {kind: _questions(kind, topics, shift) for shift, kind in enumerate(kinds)}
    prompts: list[Prompt] = []
    seen: set[str] = set()
    while len(prompts) < number and streams:
        for kind in list(streams):
            text = next((text for text in streams[kind] if text not in seen), None)
            if text is None:
                del streams[kind]
            elif len(prompts) < number:
                seen.add(text)
                prompts.append(Prompt(f"p{len(prompts) + 1}", text, kind))
    if len(prompts) < number:
        raise GateError(
            f"the documents give rise to {len(prompts)} different questions, not {number}: lower "
            "evaluation.num_prompts, add documents, or name a file with prompts (evaluation.prompts)"
        )
    return prompts


def _chunks(evidence: EvidenceIndex, use_case: str) -> list[Chunk]:
    """Chunks that fit the use case, then those that share words with the documents' names, then of others any."""
    chunks = {passage.chunk.id: passage.chunk for passage in evidence.keyword(use_case, MAX_CHUNKS)}
    for uri in sorted(evidence.documents())[:MAX_CHUNKS]:
        if len(chunks) >= MAX_CHUNKS:
            break
        name = re.sub(r"[\W_]+", " ", uri.rpartition("/")[2].rpartition(".")[0] or uri)
        for passage in evidence.keyword(name, 10):
            chunks.setdefault(passage.chunk.id, passage.chunk)
    known = {chunk.document for chunk in chunks.values()}
    for passage in evidence.keyword(_ANY, MAX_CHUNKS):
        if passage.chunk.document not in known:
            chunks.setdefault(passage.chunk.id, passage.chunk)
    return list(chunks.values())[:MAX_CHUNKS]


def _topics(chunks: Sequence[Chunk]) -> Iterator[_Topic]:
    """Topics of the chunks in turn, so that all documents are asked about; of a chunk its heading first."""
    names = {name for chunk in chunks for name in _NAME.findall(chunk.text)}
    streams = [_of_chunk(chunk, names) for chunk in chunks]
    seen: set[tuple[str, ...]] = set()
    while streams and len(seen) < MAX_TOPICS:
        left = []
        for stream in streams:
            topic = next((topic for topic in stream if (topic.topic.casefold(), topic.fact) not in seen), None)
            if topic is not None:
                seen.add((topic.topic.casefold(), topic.fact))
                left.append(stream)
                yield topic
        streams = left


def _of_chunk(chunk: Chunk, names: Collection[str]) -> Iterator[_Topic]:
    heading = _NUMBERING.sub("", chunk.heading.rpartition(" > ")[2].strip())
    text = _HEADING_MARK.sub("", chunk.text)[:20_000]
    sentences = [text[start:end] for start, end in _spans(text)]
    topics = [topic for sentence in sentences if any(topic := _of_sentence(sentence, names))]
    heading = heading if heading and len(heading) <= 100 else chunk.title.strip() or chunk.document
    # A heading is asked about beside the first fact below it.
    first = next((topic for topic in topics if topic.altered), topics[0] if topics else _Topic())
    yield first._replace(topic=_inside(heading, names))
    yield from topics


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """The sentences of a text, without headings, tables and code."""
    start = 0
    for part in text.split("\n\n"):
        if not part.lstrip().startswith(("#", "|", "```")):
            for first, last in sentence_spans(part):
                yield start + first, start + last
        start += len(part) + 2


def _of_sentence(sentence: str, names: Collection[str]) -> _Topic:
    """What can be asked of a sentence: about its subject, and whether it is so."""
    opening = clause(sentence)
    words = [] if opening is None else [word.casefold() for word in opening.subject]
    if opening is None or begins_order(words) or not SUBORDINATORS.isdisjoint(words):
        return _Topic()
    first, subject = words[0], sentence[: opening.subject_end].strip("*_`> -")
    topic = fact = altered = ""
    if first not in _DANGLING and "\n" not in subject and 4 <= len(subject) <= MAX_SUBJECT and len(words) <= 8:
        topic = "" if _UNFIT.search(subject) else _inside(subject, names)
    statement = " ".join(sentence.split()).removesuffix(".")
    if first not in _DANGLING and len(statement) in SENTENCE and not _UNFIT.search(statement):
        fact = _inside(statement, names)
        altered = _altered(fact)
    return _Topic(topic, fact, altered)


def _altered(statement: str) -> str:
    """A statement with another figure than it has: twice as much, or half of more than 50%; "" where none will do."""
    for each in Reading(statement).quantities:
        number = _WHOLE.search(statement, each.start, each.end)
        counts = each.noun or (each.readings and each.readings[0].unit is not None)
        if number and counts and int(number[0]) > 1:  # of 1, the noun is another
            value = int(number[0])
            other = value // 2 if "%" in each.text and value > 50 else 2 * value
            return f"{statement[: number.start()]}{other}{statement[number.end() :]}"
    return ""


def _inside(text: str, names: Collection[str]) -> str:
    """A heading or sentence as it stands inside another: a capital that only begins it made small."""
    text = " ".join(text.split()).rstrip(".:!?")
    first = re.split(r"\W", text, maxsplit=1)[0]
    return text[:1].lower() + text[1:] if first not in names and (first[1:].islower() or len(first) == 1) else text


def _questions(kind: str, topics: Sequence[_Topic], shift: int) -> Iterator[str]:
    """Questions of one category: over all topics, then again in other words; each category begins elsewhere."""
    wordings = _wordings().get(kind, _wordings()["other"])
    called = kind.replace("_", " ").strip()
    for turn in range(len(wordings)):
        for position, _ in enumerate(topics):
            parts = topics[(position + shift) % len(topics)]._asdict()
            fitting = [each for each in wordings if all(parts[name] for name in parts if f"{{{name}}}" in each)]
            if turn < len(fitting):
                yield fitting[(position + turn) % len(fitting)].format(kind=called, **parts)
