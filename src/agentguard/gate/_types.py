"""Records that stages hand on, from a prompt to the score, and the protocols of who takes part in a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal, NamedTuple, Protocol

from pydantic import Field

Label = Literal["supported", "weakly_supported", "unsupported"]
Decision = Literal["deploy", "warn", "block"]

# Kinds of a verdict's reasons that a run counts.
UNREADABLE: Final = "unreadable"
CONTRADICTED: Final = "rules"
DISAGREED: Final = "agreement"


@dataclass(frozen=True, slots=True)
class Document:
    """A trusted document, cleaned.

    Attributes:
        uri: Where it comes from: ``docs/returns.md``, ``https://…``, ``s3://bucket/key``. One uri, one document.
        title: What it calls itself; its file name where it has no title.
        text: Plain text; paragraphs apart by a blank line, headings on lines of their own that begin with ``#``.
        digest: Of the bytes it was read from, in hexadecimal: equal digests, equal documents.
    """

    uri: str
    title: str
    text: str
    digest: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document that is searched for as a whole; pieces that follow each other overlap.

    Attributes:
        id: The same for the same piece of the same text, in every index.
        document: The uri of its document.
        title: The document's.
        heading: The headings above it, joined by `` > ``; empty if there are none.
        text: The piece itself.
        start, end: Where it lies in the document's text, in characters.
    """

    id: str
    document: str
    title: str
    heading: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that a search has found.

    Attributes:
        chunk: What was found.
        score: How well it fits, more is better; comparable within one search only.
    """

    chunk: Chunk
    score: float


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question put to the model under test.

    Attributes:
        id: ``p1``, ``p2``, …, or the id that a prompt set gives.
        text: What is asked.
        category: What kind of question it is, ``factual_recall`` for example; empty if nobody said.
    """

    id: str
    text: str
    category: str = ""


@dataclass(frozen=True, slots=True)
class PromptSet:
    """Prompts that are kept together, such as all on returns.

    Attributes:
        name: The set's name; of a file that gives none, the file's without its ending.
        version: Which state of the set it is, as its author counts; empty if nobody does.
        prompts: In their order.
    """

    name: str
    version: str
    prompts: tuple[Prompt, ...]

    @property
    def title(self) -> str:
        """Name and version: ``returns 3``."""
        return f"{self.name} {self.version}".rstrip()


@dataclass(frozen=True, slots=True)
class Response:
    """Answer of the model under test to a prompt."""

    prompt_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Claim:
    """One atomic statement of fact in a response.

    Attributes:
        id: ``p1.c1``, ``p1.c2``, …: the prompt's id and a number.
        prompt_id: The response that it is taken from, by its prompt.
        text: The statement, understandable by itself.
        start, end: The characters of the response that say it; -1 where it says so in no one place.
    """

    id: str
    prompt_id: str
    text: str
    start: int = -1
    end: int = -1


@dataclass(frozen=True, slots=True)
class Evidence:
    """Passages of trusted documents for a claim, the best first."""

    claim_id: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Reason:
    """One ground of a verdict.

    Attributes:
        kind: ``number``, ``date``, ``name``, ``negation``, ``overlap``, … or ``judge`` for what a model said.
        detail: In words, for a person.
        said: The part of the claim that it is about; empty if it is about the whole.
        found: What the passage has in its place; empty if it has nothing.
    """

    kind: str
    detail: str
    said: str = ""
    found: str = ""


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """Verdict on a claim, with its reasons.

    Attributes:
        claim_id: The claim's.
        label: ``supported``, ``weakly_supported`` or ``unsupported``.
        reasons: Why, the weightiest first; never empty.
        chunk_id: The passage that decided it; None if no passage bears on the claim.
        quote: The words of that passage that decided it; empty if there are none.
        judge: Who decided: ``rules``, or the model's name.
        answer: What the judging model returned, word for word, its beginning where it is very long; empty if none
            was asked.
    """

    claim_id: str
    label: Label
    reasons: tuple[Reason, ...]
    chunk_id: str | None
    quote: str
    judge: str
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """The outcome of a run.

    Attributes:
        risk: (unsupported + weakly supported / 2) / claims, or what ``label_risks`` make of it; in [0, 1], unrounded; 0
            where nothing was claimed.
        decision: ``deploy``, ``warn`` or ``block``.
        total_claims, supported, weakly_supported, unsupported: How many claims there are of each kind.
        reason: Why, in words.
        prompts: How many questions were put.
        empty, refused, claimless: How many of their answers have no text, decline to answer, or say something else
            that claims nothing; every other answer makes a claim.
        unreadable: How many claims are unsupported because the judge's answer could not be read.
        contradicted: How many claims the judge holds for supported and the rules for contradicted.
        disagreed: How many claims several judges do not agree on.
        quarantined: How many passages were no evidence because they hold instructions to a model.
        reused: How many answers of models were taken over from another run.
    """

    risk: float
    decision: Decision
    total_claims: int
    supported: int
    weakly_supported: int
    unsupported: int
    reason: str
    prompts: int = 0
    empty: int = 0
    refused: int = 0
    claimless: int = 0
    unreadable: int = 0
    contradicted: int = 0
    quarantined: int = 0
    reused: int = 0
    disagreed: int = 0

    @property
    def answered(self) -> int:
        """How many answers make a claim."""
        return self.prompts - self.empty - self.refused - self.claimless


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A passage that was found, and is no evidence because it holds instructions to a model.

    Attributes:
        document: The uri of its document.
        chunk_id: The passage.
        detail: What gives the instructions away, in words.
    """

    document: str
    chunk_id: str
    detail: str


# --- Who takes part in a run ---


class Case(NamedTuple):
    """A claim, and the passages that it is held against, the best first."""

    claim: Claim
    passages: tuple[Passage, ...]


class Target(Protocol):
    """The model under test."""

    @property
    def name(self) -> str:
        """Its name in records and reports."""

    def respond(self, prompts: Sequence[Prompt]) -> list[str]:
        """The answers, one a prompt, in their order.

        Raises:
            GateError: If one of them could not be had.
        """


class Judge(Protocol):
    """Writes prompts, splits answers into claims, verifies claims. Each is asked by itself and remembers nothing."""

    @property
    def name(self) -> str:
        """Its name in records and reports."""

    def write_prompts(self, use_case: str, categories: Sequence[str], number: int) -> list[Prompt]:
        """Questions that are likely to bring out false answers, ``number`` of them, spread over the categories.

        Raises:
            GateError: If they could not be had.
        """

    def extract_claims(self, responses: Sequence[Response]) -> list[list[Claim]]:
        """The atomic claims of each response, in the order of the text.

        Raises:
            GateError: If they could not be had.
        """

    def verify(self, cases: Sequence[Case]) -> list[ClaimVerdict]:
        """A verdict for each case, in their order; an answer that makes no sense counts as unsupported.

        Raises:
            GateError: If one of them could not be had.
        """


# --- Evidence as it is recorded: each chunk once ---


@dataclass(frozen=True, slots=True)
class Citations:
    """Evidence as it is recorded: each chunk once, however many claims it was found for.

    Attributes:
        chunks: Each of them once.
        found: Of each claim its id and its passages, the best first: the chunk's place in ``chunks``, and the score.
    """

    chunks: tuple[Chunk, ...]
    found: tuple[tuple[str, tuple[tuple[Annotated[int, Field(ge=0)], float], ...]], ...]


def cite(evidence: Iterable[Evidence]) -> Citations:
    """Convert evidence into its recorded form.

    >>> chunk = Chunk("k1", "returns.md", "Returns", "", "Within 30 days.", 0, 15)
    >>> evidence = (Evidence("p1.c1", (Passage(chunk, 0.5),)), Evidence("p1.c2", (Passage(chunk, 0.25),)))
    >>> len(cite(evidence).chunks), cite(evidence).found
    (1, (('p1.c1', ((0, 0.5),)), ('p1.c2', ((0, 0.25),))))
    >>> resolve(cite(evidence)) == evidence
    True
    """
    indices: dict[Chunk, int] = {}
    found = tuple(
        (each.claim_id, tuple((indices.setdefault(p.chunk, len(indices)), p.score) for p in each.passages))
        for each in evidence
    )
    return Citations(tuple(indices), found)


def resolve(citations: Citations) -> tuple[Evidence, ...]:
    """Convert recorded evidence back.

    Raises:
        ValueError: If a place names no chunk.
    """
    try:
        return tuple(
            Evidence(claim_id, tuple(Passage(citations.chunks[index], score) for index, score in passages))
            for claim_id, passages in citations.found
        )
    except IndexError:
        raise ValueError("a passage names a chunk that is not there") from None
