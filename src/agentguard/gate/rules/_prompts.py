"""Write questions from trusted documents: from their headings and sentences, so that a false answer comes easily."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import count
from typing import Any, Final, NamedTuple

import yaml

from agentguard.content._text import sentence_spans
from agentguard.errors import GateError
from agentguard.gate._types import Chunk, Prompt
from agentguard.gate.evidence._index import EvidenceIndex
from agentguard.gate.rules._grammar import clause
from agentguard.gate.rules._reading import Reading

MAX_CHUNKS: Final = 400
MAX_TOPICS: Final = 2_000
_ANY: Final = "the of and to in is for with"  # words that are in nearly every English text
_HEADING_MARK = re.compile(r"^\s*#{1,6}\s*")
_NUMBERING = re.compile(r"^\W*(?:\d+(?:\.\d+)*\.?\s+)?")


@cache
def _wordings() -> dict[str, Any]:
    """The questions of ``questions.yaml``: plain ones and such with a figure, by category, and those of any other."""
    wordings: dict[str, Any] = yaml.safe_load(files(__package__).joinpath("questions.yaml").read_text(encoding="utf-8"))
    return wordings


class _Topic(NamedTuple):
    """Topic to ask about."""

    text: str
    title: str
    figure: str = ""


def write(evidence: EvidenceIndex | None, use_case: str, categories: Sequence[str], number: int) -> list[Prompt]:
    """Different questions, ``number`` of them, over the categories in turn; the same documents, the same questions."""
    if evidence is None or not evidence.documents():
        raise GateError(
            "there are no trusted documents to write prompts from: run `agentguard gate ingest` first, or name a file "
            "with prompts (evaluation.prompts) or recorded answers (evaluation.responses) in the configuration"
        )
    found = _chunks(evidence, use_case)
    topics = list(_topics(found))
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
    """Headings first, then the subjects of sentences; the chunks in turn, so that all documents are asked about."""
    streams = [_of_chunk(chunk) for chunk in chunks]
    seen: set[str] = set()
    while streams and len(seen) < MAX_TOPICS:
        left = []
        for stream in streams:
            topic = next((topic for topic in stream if topic.text.casefold() not in seen), None)
            if topic is not None:
                seen.add(topic.text.casefold())
                left.append(stream)
                yield topic
        streams = left


def _of_chunk(chunk: Chunk) -> Iterator[_Topic]:
    title = chunk.title.strip() or chunk.document
    heading = _NUMBERING.sub("", chunk.heading.rpartition(" > ")[2].strip())
    text = _HEADING_MARK.sub("", chunk.text)[:20_000]
    spans = [span for start, end in _lines(text) for span in _within(text, start, end)]
    figured = next((figure for start, end in spans if (figure := _figure(text[start:end]))), "")
    if heading and len(heading) <= 100:
        yield _Topic(_small(heading), title, figured)
    for start, end in spans:
        opening = clause(text[start:end])
        if opening is None or len(opening.subject) > 8 or (len(opening.subject) == 1 and len(opening.subject[0]) < 4):
            continue
        subject = text[start : start + opening.subject_end].strip("*_`> -|")
        if 4 <= len(subject) <= 80 and "\n" not in subject:
            yield _Topic(_small(subject), title, _figure(text[start:end]))
    if not heading:
        yield _Topic(_small(title), title, figured)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    for part in text.split("\n\n"):
        if not part.lstrip().startswith(("#", "|", "```")):
            yield at, at + len(part)
        at += len(part) + 2


def _within(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for first, last in sentence_spans(text[start:end]):
        yield start + first, start + last


def _figure(sentence: str) -> str:
    quantities = Reading(sentence[:1_000]).quantities
    return next((each.text for each in quantities if any(character.isdigit() for character in each.text)), "")


def _small(text: str) -> str:
    """A heading as it stands inside a sentence: a capital that only begins it made small."""
    text = " ".join(text.split()).rstrip(".:!?")
    first = text.partition(" ")[0]
    return text[:1].lower() + text[1:] if first[1:].islower() or len(first) == 1 else text


def _questions(kind: str, topics: Sequence[_Topic], shift: int) -> Iterator[str]:
    """Questions of one category: over all topics, then again in other words; each category begins elsewhere."""
    wordings = _wordings()
    plain = wordings["plain"].get(kind, wordings["other"])
    figured = wordings["figured"].get(kind, ())
    called = kind.replace("_", " ").strip()
    rounds = max(len(plain), len(figured))
    for turn in range(rounds + len(figured)):
        for position, _ in zip(count(shift), topics, strict=False):
            topic = topics[position % len(topics)]
            choice = [*plain, *(figured if topic.figure else ())]
            wording = choice[(position + turn) % len(choice)]
            yield wording.format(topic=topic.text, title=topic.title, figure=topic.figure, kind=called)
