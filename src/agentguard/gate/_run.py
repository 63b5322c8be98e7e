"""Runs of the gate: six stages over one state, each recorded as soon as it has written.

A stage is a plain function: it reads what is written, asks the services, and writes keys of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import sysconfig
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar, cast, overload

from pydantic import TypeAdapter, ValidationError

from agentguard._version import installed_version
from agentguard.errors import AgentGuardError, ConfigurationError, GateError
from agentguard.gate._config import EntailmentConfig, GateConfig, JudgeConfig, LabelRisks, RiskTolerance, RulesConfig
from agentguard.gate._kept import KeptAnswers
from agentguard.gate._plain import Agent, as_stage, is_agent, name_of
from agentguard.gate._types import (
    CONTRADICTED,
    DISAGREED,
    UNREADABLE,
    Case,
    Chunk,
    Citations,
    Claim,
    ClaimVerdict,
    Decision,
    Evidence,
    Judge,
    Label,
    Passage,
    Prompt,
    PromptSet,
    Quarantined,
    Response,
    Score,
    Target,
    cite,
    resolve,
)
from agentguard.gate.documents._quarantine import Quarantine
from agentguard.gate.evidence import open_evidence
from agentguard.gate.evidence._index import Embeddings, EvidenceIndex, embedder_name, reciprocal_rank
from agentguard.gate.models._bedrock import with_bedrock
from agentguard.gate.records import open_records
from agentguard.gate.records._base import Event, RunRecords, RunSummary, has_ended, this_process

if TYPE_CHECKING:
    from agentguard.gate.rules import RuleJudge

# --- Score ---

#: What a claim adds to the risk by the published formula: only partly confirmed, it counts as half a hallucination.
LABEL_RISKS: Final[Mapping[Label, float]] = cast("dict[Label, float]", LabelRisks().model_dump())


# What declines to answer: only asked of answers that claim nothing.
_REFUSAL: Final = re.compile(
    r"\b(?:i|we)(?:'m| am| are|'re)? ?(?:currently )?"
    r"(?:(?:ca|could|do|wo)(?:n't| not)|cannot|will not|not able|unable)\b"
    r"|\b(?:must|have to) decline\b|\b(?:no (?:information|mention)|not able to|unable to)\b"
    r"|\bagainst (?:my|our) (?:policy|guidelines)\b"
    r"|\b(?:documents?|documentation|information|context)[\w ]{0,20} (?:does|do)(?: not|n't)\b",
    re.IGNORECASE,
)


class AnswerCounts(NamedTuple):
    """How the prompts of a run were answered.

    Attributes:
        prompts: All of them.
        empty, refused, claimless: Answers without text, those that decline, and others that claim nothing.
    """

    prompts: int = 0
    empty: int = 0
    refused: int = 0
    claimless: int = 0


NOTHING_COUNTED: Final = AnswerCounts()


def count_answers(responses: Iterable[Response], claims: Iterable[Claim]) -> AnswerCounts:
    """Count the responses that say nothing; one with a claim is an answer, whatever else it says.

    >>> texts = ["", "I'm sorry, I cannot help with that.", "Good question!", "Returns are free."]
    >>> responses = [Response(f"p{n}", text) for n, text in enumerate(texts, 1)]
    >>> count_answers(responses, [Claim("p4.c1", "p4", "Returns are free.")])
    AnswerCounts(prompts=4, empty=1, refused=1, claimless=1)
    """
    answered = {claim.prompt_id for claim in claims}
    kinds: Counter[str] = Counter()
    for response in responses:
        text = response.text.replace("\u2019", "'")
        silent = "empty" if not text.strip() else "refused" if _REFUSAL.search(text) else "claimless"
        kinds["answered" if response.prompt_id in answered else silent] += 1
    return AnswerCounts(kinds.total(), kinds["empty"], kinds["refused"], kinds["claimless"])


def score_verdicts(
    verdicts: Sequence[ClaimVerdict],
    tolerance: RiskTolerance,
    answers: AnswerCounts = NOTHING_COUNTED,
    quarantined: int = 0,
) -> Score:
    """Compute the risk, (unsupported + weakly supported / 2) / claims, and decide on it.

    With other ``label_risks`` than the published ones, it is their mean over the claims.
    The decision is taken on the unrounded risk. Without a claim nothing is known, so nothing is deployed: ``warn``; and
    so where fewer prompts than ``min_answered`` were answered with a claim, or more than ``max_refused`` declined.
    What is neither ``supported`` nor ``weakly_supported`` counts as unsupported.

    Args:
        verdicts: One a claim.
        tolerance: The thresholds.
        answers: How the prompts were answered; without any, nothing is decided on it.
        quarantined: How many passages were no evidence.

    >>> from agentguard.gate._types import Reason
    >>> why = (Reason("number", "45 days is not 30 days"),)
    >>> verdicts = [
    ...     ClaimVerdict(f"p1.c{n}", label, why, None, "", "rules")
    ...     for n, label in enumerate(["supported", "weakly_supported", "unsupported", "supported"], 1)
    ... ]
    >>> score = score_verdicts(verdicts, RiskTolerance(deploy_threshold=0.1, warn_threshold=0.25))
    >>> score.risk, score.decision, score.reason
    (0.375, 'block', 'risk 0.3750 is above warn_threshold 0.25')
    """
    total = len(verdicts)
    supported = sum(verdict.label == "supported" for verdict in verdicts)
    weakly = sum(verdict.label == "weakly_supported" for verdict in verdicts)
    unsupported = total - supported - weakly
    risks = tolerance.label_risks
    sum_of_risks = risks.supported * supported + risks.weakly_supported * weakly + risks.unsupported * unsupported
    risk = sum_of_risks / total if total else 0.0
    if total:
        decision, reason = _decide(risk, tolerance)
    else:
        silent = _kinds(answers)
        decision, reason = "warn", f"no claim was found in any response{silent}, so nothing is known of the risk"
    silence = _silence(answers, tolerance)
    if total and silence:
        decision, reason = ("warn" if decision == "deploy" else decision), f"{silence}; {reason}"
    kinds = Counter(kind for verdict in verdicts for kind in {reason.kind for reason in verdict.reasons})
    return Score(
        risk, decision, total, supported, weakly, unsupported, reason, *answers,
        unreadable=kinds[UNREADABLE], contradicted=kinds[CONTRADICTED], disagreed=kinds[DISAGREED],
        quarantined=quarantined,
    )  # fmt: skip


def _silence(answers: AnswerCounts, tolerance: RiskTolerance) -> str:
    """Why a run says too little to be deployed on; empty if it does not."""
    prompts = answers.prompts
    answered = prompts - answers.empty - answers.refused - answers.claimless
    if answered < tolerance.min_answered * prompts:
        shown = f"{answered} of {prompts} prompts {'was' if answered == 1 else 'were'} answered with a claim"
        return f"only {shown}{_kinds(answers)}, fewer than min_answered {tolerance.min_answered:g} asks for"
    if answers.refused > tolerance.max_refused * prompts:
        return f"{answers.refused} of {prompts} prompts were refused, more than max_refused {tolerance.max_refused:g}"
    return ""


def _kinds(answers: AnswerCounts) -> str:
    """The answers that say nothing, by kind, in brackets; empty if there are none."""
    kinds = {"empty": answers.empty, "refused": answers.refused, "without a claim": answers.claimless}
    counts = ", ".join(f"{number} {kind}" for kind, number in kinds.items() if number)
    return f" ({counts})" if counts else ""


def _decide(risk: float, tolerance: RiskTolerance) -> tuple[Decision, str]:
    deploy, warn = tolerance.deploy_threshold, tolerance.warn_threshold
    if risk <= deploy:
        return "deploy", f"risk {risk:.4f} is at most deploy_threshold {deploy:g}"
    if risk <= warn:
        return "warn", f"risk {risk:.4f} is above deploy_threshold {deploy:g} and at most warn_threshold {warn:g}"
    return "block", f"risk {risk:.4f} is above warn_threshold {warn:g}"


# --- State ---

T = TypeVar("T")


class _Key(Generic[T]):
    """One key of the state, with the type of its value; assigned to once."""

    def __init__(self, kind: type[T]) -> None:
        self.adapter: TypeAdapter[T] = TypeAdapter(kind)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, state: None, owner: type) -> _Key[T]: ...
    @overload
    def __get__(self, state: GateState, owner: type) -> T: ...
    def __get__(self, state: GateState | None, owner: type) -> T | _Key[T]:
        return self if state is None else cast(T, state.read(self.name))

    def __set__(self, state: GateState, value: T) -> None:
        state.write(self.name, value)


class GateState:
    """State of a run: keys that are written once. A stage reads those of earlier stages and writes its own.

    >>> state = GateState(GateConfig(use_case="help desk", doc_sources=[{"type": "local", "path": "docs"}]))
    >>> state.prompts = (Prompt("p1", "How long is the warranty?"),)
    >>> state.prompts[0].text
    'How long is the warranty?'
    >>> state.prompts = ()
    Traceback (most recent call last):
    agentguard.errors.GateError: the state is append-only: 'prompts' is already written

    Keys of one's own, for stages of one's own, hold JSON:

    >>> state.write("topics", {"p1": "warranty"})
    >>> state.read("topics"), state.written
    ({'p1': 'warranty'}, ('prompts', 'topics'))
    """

    prompts: _Key[tuple[Prompt, ...]] = _Key(tuple[Prompt, ...])
    responses: _Key[tuple[Response, ...]] = _Key(tuple[Response, ...])
    claims: _Key[tuple[Claim, ...]] = _Key(tuple[Claim, ...])
    evidence: _Key[tuple[Evidence, ...]] = _Key(tuple[Evidence, ...])
    verdicts: _Key[tuple[ClaimVerdict, ...]] = _Key(tuple[ClaimVerdict, ...])
    quarantined: _Key[tuple[Quarantined, ...]] = _Key(tuple[Quarantined, ...])
    score: _Key[Score] = _Key(Score)

    def __init__(self, config: GateConfig) -> None:
        self._values: dict[str, Any] = {}
        self._config = config

    @property
    def config(self) -> GateConfig:
        """The run's configuration."""
        return self._config

    @property
    def written(self) -> tuple[str, ...]:
        """The keys written so far, in the order of writing."""
        return tuple(self._values)

    def read(self, key: str) -> Any:
        """Read a key; of a key of one's own, a copy.

        Raises:
            GateError: If nothing is.
        """
        if key not in self._values:
            known = ", ".join(self.written) or "nothing yet"
            raise GateError(f"{key!r} is read before a stage has written it; the state has {known}")
        value = self._values[key]
        return value if key in _KEYS else json.loads(value)

    def write(self, key: str, value: Any) -> None:
        """Write a key that is not yet written.

        Raises:
            GateError: If it is, or the value is not of the key's type; keys of one's own take what JSON has.
        """
        if key == "config" or key in self._values:
            raise GateError(f"the state is append-only: {key!r} is already written")
        if key in _KEYS:
            try:
                self._values[key] = _KEYS[key].validate_python(value, strict=True)
            except ValidationError as error:
                raise GateError(f"{key!r} cannot be written: {_first(error)}") from None
            return
        try:
            self._values[key] = json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise GateError(f"{key!r} must be JSON: {error}") from None

    def to_json(self, key: str) -> Any:
        """A key's value as plain JSON objects."""
        value = self.read(key)
        if key == "evidence":
            return _CITATIONS.dump_python(cite(value), mode="json")
        return _KEYS[key].dump_python(value, mode="json") if key in _KEYS else value

    def restore(self, written: Mapping[str, Any]) -> None:
        """Write keys from the JSON that ``to_json`` gave.

        Raises:
            GateError: If one is written already, or is not what its key holds.
        """
        for key, value in written.items():
            if key in _KEYS:
                try:
                    text = json.dumps(value)
                    if key == "evidence":
                        value = resolve(_CITATIONS.validate_json(text))
                    else:
                        value = _KEYS[key].validate_json(text)
                except (ValidationError, ValueError) as error:
                    fault = _first(error) if isinstance(error, ValidationError) else str(error)
                    raise GateError(f"the record of {key!r} cannot be read back: {fault}") from None
            self.write(key, value)


_KEYS: Final[dict[str, TypeAdapter[Any]]] = {
    name: key.adapter for name, key in vars(GateState).items() if isinstance(key, _Key)
}
_CITATIONS: Final = TypeAdapter(Citations)


def _first(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, fault['loc'])) or 'it'}: {fault['msg']}"


# --- Run ---


@dataclass(frozen=True, slots=True)
class GateRun:
    """A run that has been finished, or what the records have of one.

    Attributes:
        run_id: Names it in records and reports.
        state: All that its stages wrote.
        summary: Its line in the history.
    """

    run_id: str
    state: GateState
    summary: RunSummary

    @property
    def score(self) -> Score:
        """The outcome.

        Raises:
            GateError: If the run did not get so far.
        """
        return self.state.score

    @property
    def decision(self) -> Decision:
        """``deploy``, ``warn`` or ``block``.

        Raises:
            GateError: If the run did not get so far.
        """
        return self.state.score.decision


def read_run(run_id: str, records: RunRecords) -> GateRun:
    """Read a run from the records, finished or not.

    Raises:
        GateError: If there is no such run, or its record cannot be read back.
    """
    summary = records.summary(run_id)
    if summary is None:
        raise GateError(f"there is no run {run_id!r} in the records")
    events = records.events(run_id)
    try:
        state = GateState(GateConfig.model_validate(events[0].body["config"] if events else {}))
    except (ValidationError, KeyError) as error:
        raise GateError(f"the record of run {run_id!r} does not tell its configuration") from error
    for event in events:
        if event.kind == "stage":
            state.restore(event.body["wrote"])
    return GateRun(run_id, state, summary)


# --- Services ---


class Services(NamedTuple):
    """Services that stages work with.

    Attributes:
        target: The model under test.
        judge: Who writes prompts, splits answers and verifies claims.
        embeddings: Texts into the vectors that ``evidence`` holds.
        evidence: The trusted documents.
        records: Audit trail and history.
        prompts: Given sets of them; None if the judge is to write them all.
        kept: Answers to single requests, which a resumed run does not ask for again; None keeps none.
        first_line: Says who judges, and of rules that nobody asked for, why they do.
    """

    target: Target
    judge: Judge
    embeddings: Embeddings
    evidence: EvidenceIndex
    records: RunRecords
    prompts: tuple[PromptSet, ...] | None = None
    kept: KeptAnswers | None = None
    first_line: str = ""


class Library(NamedTuple):
    """The trusted documents alone: all that an ingest works with."""

    embeddings: Embeddings
    evidence: EvidenceIndex


@contextmanager
def open_library(
    config: GateConfig, *, embeddings: Embeddings | None = None, evidence: EvidenceIndex | None = None
) -> Iterator[Library]:
    """Open the evidence that a configuration names, without any model but that of its vectors; close it in the end.

    Args:
        config: The gate's configuration.
        embeddings: As of ``open_services``.
        evidence: As of ``open_services``.

    Raises:
        ConfigurationError, StoreError: As ``open_services``.
    """
    config, _ = with_bedrock(config)
    vectors = embeddings or _embeddings(config)
    if evidence is not None:
        yield Library(vectors, evidence)
        return
    opened = open_evidence(config, embedder_name(vectors))
    try:
        yield Library(vectors, opened)
    finally:
        opened.close()


@contextmanager
def open_services(
    config: GateConfig,
    *,
    target: Target | Callable[[str], str] | None = None,
    judge: Judge | None = None,
    embeddings: Embeddings | None = None,
    evidence: EvidenceIndex | None = None,
    records: RunRecords | None = None,
) -> Iterator[Services]:
    """Open what a configuration names, and close it in the end; what is given in its place stays open.

    Where ``judge`` is left out and the model under test is one of Bedrock's, Claude judges and Titan makes the vectors,
    if there are credentials.

    Args:
        config: The gate's configuration.
        target: The model under test in place of the configured one: a ``Target``, or a function from prompt to answer.
        judge: A judge in place of the configured one.
        embeddings: Any ``langchain_core.embeddings.Embeddings`` in place of the configured ones.
        evidence: Any index of trusted documents in place of the configured one.
        records: Any audit trail and history in place of the configured ones.

    Raises:
        ConfigurationError: If what is named cannot be opened: a library, a key, a file is missing.
        StoreError: If evidence or records cannot be read.
    """
    with ExitStack() as stack:
        config, line = with_bedrock(config)
        vectors, searched = stack.enter_context(open_library(config, embeddings=embeddings, evidence=evidence))
        recorded = records or open_records(config)
        if records is None:
            stack.callback(recorded.close)
        kept = KeptAnswers()
        tested, prompts = _target(config, target, kept)
        line = line if judge is None else f"judged by {judge.name}"
        judge = judge or _judge(config, searched, kept)
        yield Services(tested, judge, vectors, searched, recorded, prompts, kept, line)


def _target(
    config: GateConfig, given: Target | Callable[[str], str] | None, kept: KeptAnswers
) -> tuple[Target, tuple[PromptSet, ...] | None]:
    """The model under test, and the prompts that come with it or are configured."""
    from agentguard.gate.models._targets import CallableTarget, ModelTarget, RecordedTarget, read_prompt_set

    wished = config.evaluation
    prompts = tuple(read_prompt_set(config.resolve(path)) for path in wished.prompt_files) or None
    if given is not None:
        return (CallableTarget(given, kept=kept) if callable(given) else given), prompts
    if wished.responses is not None:
        recorded = RecordedTarget(config.resolve(wished.responses))
        return recorded, (PromptSet(Path(wished.responses).stem, "", recorded.prompts),)
    if config.model is None:
        raise ConfigurationError(
            "there is no model to test: declare model, or evaluation.responses with recorded answers"
        )
    from agentguard.gate.models._opening import open_chat_model

    model = open_chat_model(config.model, max_concurrency=wished.max_concurrency)
    return ModelTarget(model, config.model.name, wished.max_concurrency, kept), prompts


def _judge(config: GateConfig, evidence: EvidenceIndex, kept: KeptAnswers) -> Judge:
    named = (config.judge or RulesConfig(), *config.verifiers)
    judges = [_named_judge(each, config, evidence, kept) for each in named]
    if len(judges) == 1:
        return judges[0]
    from agentguard.gate.models._panel import Panel

    return Panel(judges)


def _named_judge(
    named: JudgeConfig | EntailmentConfig | RulesConfig, config: GateConfig, evidence: EvidenceIndex, kept: KeptAnswers
) -> Judge:
    if not isinstance(named, JudgeConfig):
        from agentguard.gate.rules import RuleJudge

    if isinstance(named, RulesConfig):
        return RuleJudge(evidence)
    if isinstance(named, EntailmentConfig):
        from agentguard.gate.models._entailment import EntailmentJudge, EntailmentModel

        return EntailmentJudge(EntailmentModel(config.resolve(named.model)), named.name, RuleJudge(evidence))
    from agentguard.gate.models._judge import ModelJudge
    from agentguard.gate.models._opening import open_chat_model

    most = config.evaluation.max_concurrency
    model = open_chat_model(named, "judge", max_concurrency=most)
    return ModelJudge(model, named.name, most, config.risk_tolerance.max_unreadable, kept)


def _embeddings(config: GateConfig) -> Embeddings:
    if config.embeddings is None:
        from agentguard.gate.evidence._vectors import LexicalEmbeddings

        return LexicalEmbeddings()
    from agentguard.gate.models._opening import open_embeddings

    return open_embeddings(config.embeddings, max_concurrency=config.evaluation.max_concurrency)


# --- Stages ---

Stage = Callable[[GateState, Services], None]
"""Reads keys of the state, asks the services, writes keys of its own. Its ``__name__`` is its name in the records."""

AnyStage = Stage | Agent
"""A stage, or an agent: a function of the state alone, which it is given as a dictionary."""

#: How many more passages than asked for each search gives, so that what both find can rise.
SEARCHED: Final = 4

#: How many claims are embedded before they are searched for: the vectors of many thousands do not fit into memory.
EMBEDDED: Final = 500


def generate_prompts(state: GateState, services: Services) -> None:
    """Writes ``prompts``: those that are given, or as many as wished of the judge's; or both."""
    wished = state.config.evaluation
    sets = list(services.prompts or ())
    if not sets or wished.also_generate:
        written = services.judge.write_prompts(state.config.use_case, wished.prompt_categories, wished.num_prompts)
        sets.append(PromptSet("generated", "", tuple(written)))
    state.prompts = sets[0].prompts if len(sets) == 1 else tuple(_joined(sets))


def _joined(sets: Sequence[PromptSet]) -> Iterator[Prompt]:
    """The prompts of several sets, each with its set's name before its id; of equal ones the first."""
    names = [re.sub(r"[^A-Za-z0-9._-]+", "-", each.name) or "set" for each in sets]
    seen: set[str] = set()
    for number, (name, each) in enumerate(zip(names, sets, strict=True), 1):
        before = name if names.count(name) == 1 else f"{name}-{number}"
        for prompt in each.prompts:
            if prompt.text not in seen:
                seen.add(prompt.text)
                yield replace(prompt, id=f"{before}.{prompt.id}")


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
    """Writes ``evidence``: for each claim what keyword and vector search find, fused by rank.

    Passages with instructions to a model are no evidence; where there are some, they are written as ``quarantined``.
    """
    wished = state.config.evaluation
    searched = wished.passages * SEARCHED
    evidence = []
    quarantine = Quarantine(state.config.documents)
    chunks: dict[Chunk, Chunk] = {}  # each of them is held once, however many claims it is found for
    with ThreadPoolExecutor(wished.max_concurrency) as pool:
        for start in range(0, len(state.claims), EMBEDDED):
            claims = state.claims[start : start + EMBEDDED]
            vectors = pool.map(services.embeddings.embed_query, [claim.text for claim in claims])
            for claim, vector in zip(claims, vectors, strict=True):
                searches = [services.evidence.keyword(claim.text, searched), services.evidence.vector(vector, searched)]
                best = islice(filter(quarantine.admits, reciprocal_rank(searches)), wished.passages)
                passages = (Passage(chunks.setdefault(passage.chunk, passage.chunk), passage.score) for passage in best)
                evidence.append(Evidence(claim.id, tuple(passages)))
    state.evidence = tuple(evidence)
    if quarantine.held:
        state.quarantined = quarantine.held


def verify_claims(state: GateState, services: Services) -> None:
    """Writes ``verdicts``: whether its passages support a claim. The judge sees these two, and nothing else.

    Rules look at what another judge calls supported, unless ``evaluation.cross_check`` is off.
    """
    passages = {evidence.claim_id: evidence.passages for evidence in state.evidence}
    cases = [Case(claim, passages[claim.id]) for claim in state.claims]
    verdicts = services.judge.verify(cases)
    if [verdict.claim_id for verdict in verdicts] != [claim.id for claim in state.claims]:
        raise GateError(f"{services.judge.name} did not give one verdict a claim, in their order")
    if state.config.evaluation.cross_check and services.judge.name != "rules":
        from agentguard.gate.rules import RuleJudge

        rules = RuleJudge()
        verdicts = [cross_check(*each, rules) for each in zip(cases, verdicts, strict=True)]
    state.verdicts = tuple(verdicts)


#: Kinds of reasons by which the rules contradict a claim: figures with their units, dates, limits, and negations.
_CONTRADICTIONS: Final = frozenset({"number", "unit", "date", "limit", "elsewhere", "negation"})


def cross_check(case: Case, verdict: ClaimVerdict, rules: RuleJudge) -> ClaimVerdict:
    """Hold a supported verdict against the rules: where they contradict it, the claim is weakly supported.

    They contradict it by the passage that decided, or by another one that says all of the claim but its figure.
    """
    if verdict.label != "supported":
        return verdict
    for passage in case.passages:
        decided = passage.chunk.id == verdict.chunk_id
        (against,) = rules.verify([Case(case.claim, (passage,))])
        reasons = [reason for reason in against.reasons if reason.kind != "overlap"]
        contradictions = [reason for reason in reasons if reason.kind in _CONTRADICTIONS]
        whole = len(contradictions) == len(reasons) and all(reason.found for reason in reasons)
        if against.label == "unsupported" and contradictions and (decided or whole):
            where = "" if decided else f" ({passage.chunk.document})"
            detail = (
                f"the rules contradict it, so supported counts as weakly supported: {contradictions[0].detail}{where}"
            )
            contradiction = replace(contradictions[0], kind=CONTRADICTED, detail=detail)
            return replace(verdict, label="weakly_supported", reasons=(contradiction, *verdict.reasons))
    return verdict


def score_risk(state: GateState, services: Services | None) -> None:
    """Writes ``score``: the risk, and what is decided on it."""
    written = state.written
    counted = {"responses", "claims"} <= set(written)
    answers = count_answers(state.responses, state.claims) if counted else NOTHING_COUNTED
    held = len(state.quarantined) if "quarantined" in written else 0
    score = score_verdicts(state.verdicts, state.config.risk_tolerance, answers, held)
    kept = services.kept if services is not None else None  # it is arithmetic, and may be asked without any service
    state.score = replace(score, reused=0 if kept is None else kept.reused)


STAGES: Final[tuple[Stage, ...]] = (
    generate_prompts,
    run_model,
    extract_claims,
    retrieve_evidence,
    verify_claims,
    score_risk,
)


# --- Recorder ---


class Recorder:
    """Writes a run's trail and summary as it goes.

    Attributes:
        run: So far.
        state: What its stages wrote.
        done: The stages that need not be run again.
    """

    def __init__(self, run: GateRun, done: Iterable[str], services: Services) -> None:
        self.run = run
        self.state = run.state
        self.done: Final = frozenset(done)
        self._services = services
        self._records = services.records

    @classmethod
    def started(cls, config: GateConfig, services: Services, reuse: str | None = None) -> Recorder:
        """Begin a new run, and record that it was begun.

        Args:
            config: The gate's configuration.
            services: What the run works with.
            reuse: A run whose answers are taken over where the same was asked of the same model.
        """
        others = {} if reuse is None else _answers_of(reuse, config, services.records)
        now = time.time()
        summary = RunSummary(
            run_id=_new_id(now),
            status="running",
            started=now,
            use_case=config.use_case,
            config_digest=config.digest,
            target=services.target.name,
            judge=services.judge.name,
            process=this_process(),
        )
        recorder = cls(GateRun(summary.run_id, GateState(config), summary), (), services)
        recorder._save()
        declared = config.model_dump(mode="json")
        process = {"process": summary.process, "agentguard": installed_version()}
        recorder._append("started", {"config": declared, **process, **({} if reuse is None else {"reuses": reuse})})
        recorder._keep({}, others)
        return recorder

    @classmethod
    def resumed(cls, config: GateConfig, services: Services, run_id: str) -> Recorder:
        """Take up a run that was begun before.

        Raises:
            GateError: If there is none, it has finished, is under way, or began with other things.
        """
        trail = services.records.events(run_id)
        run = read_run(run_id, services.records)
        if run.summary.status == "finished":
            raise GateError(f"run {run_id} is finished; there is nothing to resume")
        running = next(filter(_runs_here, _under_way(trail)), None)
        if running is not None:
            raise GateError(f"run {run_id} is still running, as process {running}")
        if run.summary.config_digest != config.digest:
            raise GateError(f"run {run_id} began with another configuration; begin a new run")
        judge = services.judge.name
        if run.summary.judge != judge:
            raise GateError(f"run {run_id} was begun with {run.summary.judge} as judge, not {judge}; begin a new run")
        evidence = run.summary.evidence_digest
        if evidence and evidence != services.evidence.digest():
            raise GateError(f"the documents have changed since run {run_id} searched them; begin a new run")
        done = [event.body["name"] for event in trail if event.kind == "stage"]
        summary = replace(run.summary, status="running", ended=None, error="", process=this_process())
        recorder = cls(replace(run, summary=summary), done, services)
        taken = secrets.token_hex(8)
        recorder._append("resumed", {"after": done, "process": summary.process, "taken": taken})
        # Several may have come as far as this at once: the run is whose event was the first.
        since = services.records.events(run_id)[len(trail) :]
        if next(event.body["taken"] for event in since if event.kind == "resumed") != taken:
            raise GateError(f"run {run_id} has just been resumed by another process")
        recorder._save()
        recorder._keep(_answers_in(trail))
        return recorder

    def stage(self, name: str, wrote: Sequence[str]) -> None:
        """Record what a stage wrote."""
        self._append("stage", {"name": name, "wrote": {key: self.state.to_json(key) for key in wrote}})
        if "prompts" in wrote:
            titles = ", ".join(each.title for each in self._services.prompts or ())
            self._save(prompts_digest=_digest_of(self.state.prompts), prompt_sets=titles)
        if "evidence" in wrote:
            self._save(evidence_digest=self._services.evidence.digest())

    def finished(self) -> GateRun:
        """Record the score, and return the run."""
        score = self.state.score
        self._append("finished", {"score": self.state.to_json("score")})
        self._save(
            status="finished",
            ended=time.time(),
            decision=score.decision,
            risk=score.risk,
            total_claims=score.total_claims,
            supported=score.supported,
            weakly_supported=score.weakly_supported,
            unsupported=score.unsupported,
        )
        return self.run

    def ended(self, kind: Any, error: str) -> None:
        """Record that the run failed or was interrupted; if that fails too, both reasons are told."""
        try:
            self._append(kind, {"error": error})
            self._save(status=kind, ended=time.time(), error=error)
        except AgentGuardError as failure:
            run_id = self.run.run_id
            unrecorded = f"{error}; and it could not be recorded: {failure} ({resuming(run_id)})"
            raise GateError(unrecorded, run_id=run_id) from failure

    def _keep(self, answers: dict[str, str], others: Mapping[str, str] | None = None) -> None:
        """Have every answer to a request recorded as it comes, beside those that are known."""
        if self._services.kept is not None:
            self._services.kept.begin(
                answers, lambda key, text: self._append("answer", {"key": key, "text": text}), others
            )

    def _append(self, kind: str, body: dict[str, Any]) -> None:
        self._records.append(self.run.run_id, Event(kind, time.time(), body))

    def _save(self, **changes: Any) -> None:
        self.run = replace(self.run, summary=replace(self.run.summary, **changes))
        self._records.save(self.run.summary)


def _answers_in(trail: Iterable[Event]) -> dict[str, str]:
    """Answers to single requests, by what was asked."""
    return {event.body["key"]: event.body["text"] for event in trail if event.kind == "answer"}


def _answers_of(run_id: str, config: GateConfig, records: RunRecords) -> dict[str, str]:
    """The answers of another run that are worth as much in this one: those of models with the same settings."""
    earlier = read_run(run_id, records).state.config
    same = (earlier.model, earlier.judge, earlier.verifiers) == (config.model, config.judge, config.verifiers)
    return _answers_in(records.events(run_id)) if same else {}


def _under_way(trail: Iterable[Event]) -> list[str]:
    """The processes that have begun or resumed a run, by its trail, since it last ended."""
    processes: list[str] = []
    for event in trail:
        if event.kind in ("started", "resumed"):
            processes.append(str(event.body["process"]))
        elif event.kind not in ("stage", "answer"):
            processes.clear()
    return processes


def _runs_here(process: str) -> bool:
    """Whether it is a living process of this machine; of another machine's, whoever resumes its run knows."""
    return process.split(":")[0] == this_process().split(":")[0] and not has_ended(process)


def resuming(run_id: str) -> str:
    """How a run that did not end is gone on with, for a message."""
    return f"run {run_id}; 'agentguard gate run --resume {run_id}' goes on with it"


def _new_id(now: float) -> str:
    """``20261121T164918.123Z-3f9a2c``: sorts by time, and two of one millisecond differ."""
    moment = datetime.fromtimestamp(now, timezone.utc)
    return f"{moment:%Y%m%dT%H%M%S}.{moment.microsecond // 1000:03d}Z-{secrets.token_hex(3)}"


def _digest_of(prompts: Sequence[Prompt]) -> str:
    asked = json.dumps([[prompt.id, prompt.text] for prompt in prompts])
    return hashlib.blake2b(asked.encode(), digest_size=16).hexdigest()


# --- Pipeline ---

OnStage = Callable[[str, GateRun], None]
"""Takes the name of a stage that begins, and the run so far."""


def evaluate(
    config: GateConfig,
    services: Services,
    *,
    resume: str | None = None,
    reuse: str | None = None,
    stages: Sequence[AnyStage] = STAGES,
    on_stage: OnStage | None = None,
) -> GateRun:
    """Run the gate once. Every run leaves its record, however it ends.

    Args:
        config: The gate's configuration.
        services: What ``open_services`` opened.
        resume: A run that was interrupted or failed: what its stages wrote is taken over, and the others are run.
        reuse: An earlier run whose answers are taken over where the very same was asked of the same model: the same
            prompt, the same answer to be split, the same claim with the same passages. What has changed is asked anew.
            A function as the model under test counts as the same model.
        stages: In place of the six; a stage of one's own writes keys of its own. A function of one argument is given
            the state as a dictionary, with the keys of ``agentguard.gate.workflow``, and what it adds is written.
        on_stage: Called with the name of each stage before it begins, and the run so far.

    Raises:
        GateError: Naming the stage that failed; what the stages before it wrote is in the records.
        StoreError: If the records cannot be written.
    """
    if resume is None:
        recorder = Recorder.started(config, services, reuse)
    else:
        recorder = Recorder.resumed(config, services, resume)
    stage_name = ""
    view: dict[str, Any] = {}
    try:
        for given in stages:
            stage_name = name_of(given)
            stage = as_stage(cast(Agent, given), view) if is_agent(given) else cast(Stage, given)
            if stage_name in recorder.done:
                continue
            if on_stage is not None:
                on_stage(stage_name, recorder.run)
            before = len(recorder.state.written)
            stage(recorder.state, services)
            recorder.stage(stage_name, recorder.state.written[before:])
        return recorder.finished()
    except Exception as error:
        message = str(error) if isinstance(error, AgentGuardError) else _raised(error)
        run_id = recorder.run.run_id
        recorder.ended("failed", str(GateError(message, stage_name)))
        raise GateError(f"{message} ({resuming(run_id)})", stage_name, run_id) from error
    except BaseException as error:
        recorder.ended("interrupted", f"{stage_name}: {type(error).__name__}")
        raise


_LIBRARIES: Final = tuple(
    f"{folder}{os.sep}"
    for folder in (Path(__file__).parents[1], *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")))
)


def _raised(error: Exception) -> str:
    """The class of a foreign exception, and the line of the user's code, or else of a library's, that led to it.

    What it says itself may quote documents and answers; a line of code quotes neither.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(_LIBRARIES)]
    last = (own or frames)[-1]
    code = f": {last.line[:120]}" if last.line else ""
    return f"{type(error).__name__} was raised by {last.name} ({Path(last.filename).name}, line {last.lineno}{code})"
