"""How one claim came by its verdict: the question, the words of the answer, the reasons, each passage, the quote."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

from agentguard.errors import DataError
from agentguard.gate.judging import Case
from agentguard.gate.models.judge_questions import ask_for_verdict
from agentguard.gate.types import Chunk, Claim, ClaimVerdict, Passage, Prompt

from .findings import findings

if TYPE_CHECKING:
    from agentguard.gate.runs import GateRun

__all__ = ["Explanation", "Marked", "MarkedPassage", "explain"]

NAMED = 5


class Marked(NamedTuple):
    """A text in three parts, the one in the middle being what it is about; that one is empty where nothing is."""

    before: str
    marked: str
    after: str

    @property
    def text(self) -> str:
        """The whole."""
        return self.before + self.marked + self.after

    @property
    def span(self) -> tuple[int, int] | None:
        """Where the marked part lies, in characters; None where nothing is marked."""
        start = len(self.before)
        return (start, start + len(self.marked)) if self.marked else None


@dataclass(frozen=True, slots=True)
class MarkedPassage:
    """A passage that the claim was held against.

    Attributes:
        chunk: the piece of the document.
        score: how well it fits, from both searches together; comparable within one claim.
        decisive: whether the verdict was decided by it.
        heading: the headings above the quote, or above the chunk where nothing is quoted; empty where there are none.
        text: the piece, with the quote marked where it is decisive.
    """

    chunk: Chunk
    score: float
    decisive: bool
    heading: str
    text: Marked


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that bears on one claim of a run.

    Attributes:
        run_id: the run.
        prompt: what was asked.
        response: what was answered, with the words marked that make the claim.
        claim, verdict: what was claimed and what was decided of it.
        passages: what it was held against, the best first.
    """

    run_id: str
    prompt: Prompt
    response: Marked
    claim: Claim
    verdict: ClaimVerdict
    passages: tuple[MarkedPassage, ...]

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it; ``span`` and ``quote_span`` are in characters of their ``text``.

        ``asked`` is what a judging model was asked, put together anew from the claim and its passages; the record of
        the run has the version of agentguard that did it.
        """
        return {
            "run_id": self.run_id,
            "claim_id": self.claim.id,
            "claim": self.claim.text,
            "label": self.verdict.label,
            "judge": self.verdict.judge,
            "reasons": [asdict(reason) for reason in self.verdict.reasons],
            "quote": self.verdict.quote,
            "asked": self._asked(),
            "answer": self.verdict.answer,
            "prompt": {"id": self.prompt.id, "category": self.prompt.category, "text": self.prompt.text},
            "response": {"text": self.response.text, "span": self.response.span},
            "passages": [
                {
                    "document": passage.chunk.document,
                    "title": passage.chunk.title,
                    "heading": passage.heading,
                    "chunk_id": passage.chunk.id,
                    "score": passage.score,
                    "decisive": passage.decisive,
                    "text": passage.text.text,
                    "quote_span": passage.text.span,
                }
                for passage in self.passages
            ],
        }

    def _asked(self) -> dict[str, str] | None:
        if not self.verdict.answer:
            return None
        passages = tuple(Passage(each.chunk, each.score) for each in self.passages)
        question = ask_for_verdict(Case(self.claim, passages))
        return {"system": question.system, "user": question.user}


def explain(run: GateRun, claim_id: str) -> Explanation:
    """Why a claim has its verdict.

    Raises:
        DataError: where the run has no such claim.
        GateError: where the run has not got so far as to verify claims.
    """
    found = {finding.claim.id: finding for finding in findings(run.state)}
    finding = found.get(claim_id)
    if finding is None:
        near = get_close_matches(claim_id, found, NAMED, 0.0) if found else []
        named = f"it has {', '.join(near)}{' and others' if len(found) > len(near) else ''}" if near else "it has none"
        raise DataError(f"run {run.run_id} has no claim {claim_id[:100]!r}; {named}")
    text, claim, verdict = finding.response.text, finding.claim, finding.verdict
    said = (claim.start, claim.end) if 0 <= claim.start < claim.end <= len(text) else None
    return Explanation(
        run_id=run.run_id,
        prompt=finding.prompt,
        response=_mark(text, said),
        claim=claim,
        verdict=verdict,
        passages=tuple(
            MarkedPassage(
                chunk := passage.chunk,
                passage.score,
                decisive := passage is finding.passage,
                finding.heading if decisive else chunk.heading,
                _mark(chunk.text, finding.quoted if decisive else None),
            )
            for passage in finding.passages
        ),
    )


def _mark(text: str, span: tuple[int, int] | None) -> Marked:
    start, end = (len(text), len(text)) if span is None else span
    return Marked(text[:start], text[start:end], text[end:])
