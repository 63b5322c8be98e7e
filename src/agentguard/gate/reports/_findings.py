"""Claims of a run with all that belongs to them, the explanation of one, and the claims of all runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple

from agentguard.errors import DataError
from agentguard.gate._kinds import Kind, kind_of
from agentguard.gate._run import GateRun, GateState, read_run
from agentguard.gate._types import Case, Chunk, Claim, ClaimVerdict, Passage, Prompt, Response
from agentguard.gate.records._base import RunRecords, RunSummary

SEPARATOR = " > "

_HEADING = re.compile(r"^(#{1,6})[ \t]+(\S.*)$", re.MULTILINE)


def place_of(quote: str, text: str) -> tuple[int, int] | None:
    r"""Find a quote, whatever its white space: who quotes puts lines together.

    >>> place_of("two years", "It lasts two\nyears.")
    (9, 18)
    """
    words = quote.split()
    if not words:
        return None
    match = re.search(r"\s+".join(map(re.escape, words)), text)
    return None if match is None else match.span()


def heading_at(chunk: Chunk, offset: int) -> str:
    r"""The headings above a place in a chunk, those before the chunk and those inside of it.

    >>> chunk = Chunk("c1", "returns.md", "Returns", "Returns", "# Returns\n\nAll.\n\n## Refunds\n\nIn 10 days.", 0, 40)
    >>> heading_at(chunk, 0), heading_at(chunk, 35)
    ('Returns', 'Returns > Refunds')
    """
    above = [part for part in chunk.heading.split(SEPARATOR) if part]
    for match in _HEADING.finditer(chunk.text, 0, offset):
        above = [*above[: len(match[1]) - 1], match[2].strip()]
    return SEPARATOR.join(above)


# --- Findings ---


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim of a finished run.

    Attributes:
        prompt, response, claim, verdict: As the stages of the run wrote them.
        passages: What the claim was held against, the best first.
    """

    prompt: Prompt
    response: Response
    claim: Claim
    verdict: ClaimVerdict
    passages: tuple[Passage, ...]

    @property
    def passage(self) -> Passage | None:
        """The passage that decided the verdict; None if none did."""
        return next((each for each in self.passages if each.chunk.id == self.verdict.chunk_id), None)

    @property
    def kind(self) -> Kind | None:
        """What is wrong with the claim; None if it is supported."""
        return kind_of(self.claim, self.passages, self.verdict)

    @property
    def quoted(self) -> tuple[int, int] | None:
        """Span of the verdict's quote in the deciding passage, in characters of its chunk."""
        return None if self.passage is None else place_of(self.verdict.quote, self.passage.chunk.text)

    @property
    def heading(self) -> str:
        """The headings above that quote, or above the deciding passage; empty if there are none."""
        if self.passage is None:
            return ""
        return heading_at(self.passage.chunk, self.quoted[0] if self.quoted else 0)


def findings(state: GateState) -> tuple[Finding, ...]:
    """List the claims of a finished run, in their order.

    Raises:
        GateError: If the run has not got so far as to verify claims.
    """
    prompts = {prompt.id: prompt for prompt in state.prompts}
    responses = {response.prompt_id: response for response in state.responses}
    evidence = {each.claim_id: each.passages for each in state.evidence}
    verdicts = {verdict.claim_id: verdict for verdict in state.verdicts}
    return tuple(
        Finding(
            prompts[claim.prompt_id],
            responses[claim.prompt_id],
            claim,
            verdicts[claim.id],
            evidence.get(claim.id, ()),
        )
        for claim in state.claims
    )


# --- Explanation of one claim ---

NAMED = 5


class Marked(NamedTuple):
    """A text in three parts, the one in the middle being what it is about; that one is empty if nothing is."""

    before: str
    marked: str
    after: str

    @property
    def text(self) -> str:
        """The whole."""
        return self.before + self.marked + self.after

    @property
    def span(self) -> tuple[int, int] | None:
        """Span of the marked part, in characters; None if nothing is marked."""
        start = len(self.before)
        return (start, start + len(self.marked)) if self.marked else None


@dataclass(frozen=True, slots=True)
class MarkedPassage:
    """A passage that the claim was held against.

    Attributes:
        chunk: The piece of the document.
        score: How well it fits, from both searches together; comparable within one claim.
        decisive: Whether the verdict was decided by it.
        heading: The headings above the quote, or above the chunk where nothing is quoted; empty if there are none.
        text: The piece, with the quote marked where it is decisive.
    """

    chunk: Chunk
    score: float
    decisive: bool
    heading: str
    text: Marked


@dataclass(frozen=True, slots=True)
class Explanation:
    """Explanation of one claim of a run.

    Attributes:
        run_id: The run.
        prompt: What was asked.
        response: What was answered, with the words marked that make the claim.
        claim, verdict: What was claimed and what was decided of it.
        passages: What it was held against, the best first.
    """

    run_id: str
    prompt: Prompt
    response: Marked
    claim: Claim
    verdict: ClaimVerdict
    passages: tuple[MarkedPassage, ...]

    def as_dict(self) -> dict[str, Any]:
        """Convert to plain JSON data; ``span`` and ``quote_span`` are in characters of their ``text``.

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
        from agentguard.gate.models._judge import ask_for_verdict

        passages = tuple(Passage(each.chunk, each.score) for each in self.passages)
        question = ask_for_verdict(Case(self.claim, passages))
        return {"system": question.system, "user": question.user}


def explain(run: GateRun, claim_id: str) -> Explanation:
    """Explain why a claim has its verdict.

    Raises:
        DataError: If the run has no such claim.
        GateError: If the run has not got so far as to verify claims.
    """
    by_id = {finding.claim.id: finding for finding in findings(run.state)}
    finding = by_id.get(claim_id)
    if finding is None:
        near = get_close_matches(claim_id, by_id, NAMED, 0.0) if by_id else []
        named = f"it has {', '.join(near)}{' and others' if len(by_id) > len(near) else ''}" if near else "it has none"
        raise DataError(f"run {run.run_id} has no claim {claim_id[:100]!r}; {named}")
    text, claim, verdict = finding.response.text, finding.claim, finding.verdict
    span = (claim.start, claim.end) if 0 <= claim.start < claim.end <= len(text) else None
    return Explanation(
        run_id=run.run_id,
        prompt=finding.prompt,
        response=_mark(text, span),
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


# --- Claims of all runs ---

MOST_RUNS = 10_000


@dataclass(frozen=True, slots=True)
class RecordedClaim:
    """A claim of a run that is on record.

    Attributes:
        run: The run that found it.
        finding: The claim, with its prompt, its response and its verdict.
    """

    run: RunSummary
    finding: Finding


def recorded_claims(
    records: RunRecords,
    use_case: str,
    *,
    words: Sequence[str] = (),
    since: float | None = None,
    until: float | None = None,
) -> Iterator[RecordedClaim]:
    """Search the judged claims of a use case's runs, the newest run first.

    Args:
        records: Of all runs; the newest 10,000 are looked at, one after the other.
        use_case: Whose runs.
        words: All of them stand in the claim or its prompt, in whatever case, or parts of words of it.
        since: Runs that began then or later, in seconds since the epoch.
        until: Runs that began before.

    Raises:
        GateError, StoreError: If a record cannot be read.
    """
    sought = [word.casefold() for word in words]
    for run in records.runs(MOST_RUNS, use_case=use_case):
        if (since is not None and run.started < since) or (until is not None and run.started >= until):
            continue
        state = read_run(run.run_id, records).state
        for finding in findings(state) if "verdicts" in state.written else ():
            text = f"{finding.claim.text} {finding.prompt.text}".casefold()
            if all(word in text for word in sought):
                yield RecordedClaim(run, finding)
