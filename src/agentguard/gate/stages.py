"""The six stages of a run, each a plain function: reads what is written, does one thing, writes one key."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from agentguard.errors import GateError
from agentguard.gate.evidence.fusion import reciprocal_rank
from agentguard.gate.judging import Case
from agentguard.gate.score import score_verdicts
from agentguard.gate.services import Services
from agentguard.gate.state import GateState
from agentguard.gate.types import Chunk, Evidence, Passage, Response

__all__ = [
    "STAGES",
    "Stage",
    "extract_claims",
    "generate_prompts",
    "retrieve_evidence",
    "run_model",
    "score_risk",
    "verify_claims",
]

Stage = Callable[[GateState, Services], None]
"""Reads keys of the state, asks the services, writes keys of its own. Its ``__name__`` is its name in the records."""

#: How many more passages than asked for each search gives, so that what both find can rise.
SEARCHED: Final = 4

#: How many claims are embedded before they are searched for: the vectors of many thousands do not fit into memory.
EMBEDDED: Final = 500


def generate_prompts(state: GateState, services: Services) -> None:
    """Writes ``prompts``: those that are given, or as many as wished of the judge's."""
    wished = state.config.evaluation
    if services.prompts is not None:
        state.prompts = services.prompts
        return
    state.prompts = tuple(
        services.judge.write_prompts(state.config.use_case, wished.prompt_categories, wished.num_prompts)
    )


def run_model(state: GateState, services: Services) -> None:
    """Writes ``responses``: what the model under test answers, one a prompt."""
    answers = services.target.respond(state.prompts)
    if len(answers) != len(state.prompts):
        raise GateError(f"{services.target.name} gave {len(answers)} answers to {len(state.prompts)} prompts")
    state.responses = tuple(Response(prompt.id, answer) for prompt, answer in zip(state.prompts, answers, strict=True))


def extract_claims(state: GateState, services: Services) -> None:
    """Writes ``claims``: the atomic statements of fact in the responses."""
    state.claims = tuple(claim for claims in services.judge.extract_claims(state.responses) for claim in claims)


def retrieve_evidence(state: GateState, services: Services) -> None:
    """Writes ``evidence``: for each claim what keyword and vector search find, fused by rank."""
    wished = state.config.evaluation
    searched = wished.passages * SEARCHED
    found = []
    chunks: dict[Chunk, Chunk] = {}  # each of them is held once, however many claims it is found for
    with ThreadPoolExecutor(wished.max_concurrency) as pool:
        for start in range(0, len(state.claims), EMBEDDED):
            claims = state.claims[start : start + EMBEDDED]
            vectors = pool.map(services.embeddings.embed_query, [claim.text for claim in claims])
            for claim, vector in zip(claims, vectors, strict=True):
                searches = [services.evidence.keyword(claim.text, searched), services.evidence.vector(vector, searched)]
                best = reciprocal_rank(searches)[: wished.passages]
                passages = (Passage(chunks.setdefault(passage.chunk, passage.chunk), passage.score) for passage in best)
                found.append(Evidence(claim.id, tuple(passages)))
    state.evidence = tuple(found)


def verify_claims(state: GateState, services: Services) -> None:
    """Writes ``verdicts``: whether its passages support a claim. The judge sees these two, and nothing else."""
    passages = {evidence.claim_id: evidence.passages for evidence in state.evidence}
    verdicts = services.judge.verify([Case(claim, passages[claim.id]) for claim in state.claims])
    if [verdict.claim_id for verdict in verdicts] != [claim.id for claim in state.claims]:
        raise GateError(f"{services.judge.name} did not give one verdict a claim, in their order")
    state.verdicts = tuple(verdicts)


def score_risk(state: GateState, services: Services) -> None:
    """Writes ``score``: the risk, and what is decided on it."""
    state.score = score_verdicts(state.verdicts, state.config.risk_tolerance)


STAGES: Final[tuple[Stage, ...]] = (
    generate_prompts,
    run_model,
    extract_claims,
    retrieve_evidence,
    verify_claims,
    score_risk,
)
