"""The gate's rules: answers split into claims, claims judged by passages; and what a judging model may answer."""

from __future__ import annotations

from agentguard.errors import DataError
from agentguard.gate._types import Case, Chunk, Claim, Passage, Response
from agentguard.gate.models._judge import read_claims, read_prompts, read_verdict
from agentguard.gate.rules._claims import MAX_CLAIMS, MAX_LENGTH, split
from agentguard.gate.rules._judge import RuleJudge
from fuzz import grammar, tokens
from fuzz.harness import Harness
from fuzz.source import Source
from fuzz.trial import Trial, encodable, require

__all__ = ["HARNESSES"]

STATED = (
    tokens.WORDS,
    tokens.WORDS,
    tokens.ENTITIES,
    tokens.NUMBERS,
    tokens.DATES,
    tokens.UNITS,
    tokens.MARKDOWN,
    tokens.UNICODE,
)
LABELS = ("supported", "weakly_supported", "unsupported")


def _split(trial: Trial) -> None:
    text = grammar.text(trial.source, STATED, 40)
    claims = trial.call(split, Response("p1", text))
    require(len(claims) <= MAX_CLAIMS, f"{len(claims)} claims")
    require(len({claim.id for claim in claims}) == len(claims), "two claims of one id")
    last = 0
    for claim in claims:
        require(bool(claim.text.strip()) and encodable(claim.text), f"claim {claim.text!r}")
        require(len(claim.text) <= 3 * MAX_LENGTH, f"a claim of {len(claim.text)} characters")
        require(0 <= claim.start < claim.end <= len(text), f"a claim at {claim.start}-{claim.end} of {len(text)}")
        require(claim.start >= last, "claims are not in their order")
        last = claim.start


def _passages(source: Source) -> tuple[Passage, ...]:
    made = []
    for number in range(source.integer(0, 3)):
        text = grammar.text(source, STATED, 24)
        heading = grammar.text(source, STATED, 3)
        made.append(Passage(Chunk(f"c{number}", "d", "Title", heading, text, 0, len(text)), 1.0))
    return tuple(made)


def _verify(trial: Trial) -> None:
    source = trial.source
    text = grammar.text(source, STATED, 12)
    case = Case(Claim("p1.c1", "p1", text, 0, len(text)), _passages(source))
    if case.passages and source.chance(3):  # what a passage says itself
        said = case.passages[0].chunk.text
        case = Case(case.claim, (*case.passages, Passage(Chunk("c9", "d", "T", "", f"{said} {text}", 0, 1), 0.5)))
    judge = RuleJudge()
    (found,) = trial.call(judge.verify, [case])
    require(found.label in LABELS and bool(found.reasons), found.label)
    chunks = {passage.chunk.id: passage.chunk.text for passage in case.passages}
    require(found.chunk_id is None or found.chunk_id in chunks, f"chunk {found.chunk_id!r} of none of the passages")
    require(found.chunk_id is not None or found.label != "supported", "supported by nothing")
    if trial.thorough:
        require(repr(RuleJudge().verify([case])[0]) == repr(found), "another judge says another thing")


def _answers(trial: Trial) -> None:
    source = trial.source
    answer = grammar.json_text(source)
    kind = source.integer(0, 5)
    if kind == 0:
        answer = grammar.text(source)
    elif kind == 1:
        answer = f'{{"claims": [{{"text": "{grammar.name(source)}", "quote": {answer}}}]}}'
    elif kind == 2:
        answer = f'{{"label": "supported", "passage": {source.integer(-1, 4)}, "quote": "{grammar.name(source)}"}}'
    elif kind == 3:
        answer = f"<think>{grammar.name(source)}</think>\n```json\n{answer}\n```"
    said = grammar.text(source, STATED, 12)
    for read, *more in ((read_prompts,), (read_claims, Response("p1", said))):
        found = trial.call(read, answer, *more, allowed=DataError)
        if isinstance(found, DataError):
            require(encodable(str(found)), "the reason cannot be printed")
        elif more:
            for claim in found:
                require(-1 <= claim.start <= claim.end <= len(said), f"a claim at {claim.start}-{claim.end}")
    case = Case(Claim("p1.c1", "p1", said), _passages(source))
    verdict = trial.call(read_verdict, answer, case, "judge")
    require(verdict.label in LABELS and bool(verdict.reasons), verdict.label)
    require(all(encodable(reason.detail) for reason in verdict.reasons), "a reason that cannot be printed")
    require(verdict.label != "supported" or bool(verdict.quote), "supported without a quote")


HARNESSES = (
    Harness("claim_splitting", "gate.rules.split", _split),
    Harness("claim_judging", "RuleJudge.verify", _verify),
    Harness("judge_answers", "what a judging model answers: read_prompts, read_claims, read_verdict", _answers),
)
