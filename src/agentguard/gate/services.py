"""What a run works with: the model under test, the judge, the evidence, the records; opened as configured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from agentguard.errors import ConfigurationError
from agentguard.gate.config import GateConfig
from agentguard.gate.evidence.base import Embeddings, EvidenceIndex
from agentguard.gate.evidence.embedder import embedder_name
from agentguard.gate.evidence.opening import open_evidence
from agentguard.gate.judging import Judge, Target
from agentguard.gate.records.base import RunRecords
from agentguard.gate.records.opening import open_records
from agentguard.gate.rules.judge import RuleJudge
from agentguard.gate.types import Prompt

__all__ = ["Library", "Services", "open_library", "open_services"]


class Services(NamedTuple):
    """All that a stage may ask.

    Attributes:
        target: the model under test.
        judge: who writes prompts, splits answers and verifies claims.
        embeddings: texts into the vectors that ``evidence`` holds.
        evidence: the trusted documents.
        records: audit trail and history.
        prompts: given ones; None where the judge is to write them.
    """

    target: Target
    judge: Judge
    embeddings: Embeddings
    evidence: EvidenceIndex
    records: RunRecords
    prompts: tuple[Prompt, ...] | None = None


class Library(NamedTuple):
    """The trusted documents alone: all that an ingest works with."""

    embeddings: Embeddings
    evidence: EvidenceIndex


@contextmanager
def open_library(config: GateConfig, *, embeddings: Embeddings | None = None) -> Iterator[Library]:
    """Open the evidence that a configuration names, without any model but that of its vectors; close it in the end.

    Raises:
        ConfigurationError, StoreError: as ``open_services``.
    """
    vectors = embeddings or _embeddings(config)
    evidence = open_evidence(config, embedder_name(vectors))
    try:
        yield Library(vectors, evidence)
    finally:
        evidence.close()


@contextmanager
def open_services(
    config: GateConfig,
    *,
    target: Target | Callable[[str], str] | None = None,
    judge: Judge | None = None,
    embeddings: Embeddings | None = None,
) -> Iterator[Services]:
    """Open what a configuration names, and close it in the end.

    Args:
        config: the gate's configuration.
        target: the model under test in place of the configured one: a ``Target``, or a function from prompt to answer.
        judge: a judge in place of the configured one.
        embeddings: any ``langchain_core.embeddings.Embeddings`` in place of the configured ones.

    Raises:
        ConfigurationError: where what is named cannot be opened: a library, a key, a file is missing.
        StoreError: where evidence or records cannot be read.
    """
    with ExitStack() as stack:
        vectors, evidence = stack.enter_context(open_library(config, embeddings=embeddings))
        records = open_records(config)
        stack.callback(records.close)
        tested, prompts = _target(config, target)
        yield Services(tested, judge or _judge(config, evidence), vectors, evidence, records, prompts)


def _target(
    config: GateConfig, given: Target | Callable[[str], str] | None
) -> tuple[Target, tuple[Prompt, ...] | None]:
    """The model under test, and the prompts that come with it or are configured."""
    from agentguard.gate.models.prompt_sets import read_prompt_set
    from agentguard.gate.models.recorded import RecordedTarget
    from agentguard.gate.models.target import CallableTarget, ModelTarget

    wished = config.evaluation
    prompts = None if wished.prompts is None else read_prompt_set(config.resolve(wished.prompts))
    if given is not None:
        return (CallableTarget(given) if callable(given) else given), prompts
    if wished.responses is not None:
        recorded = RecordedTarget(config.resolve(wished.responses))
        return recorded, recorded.prompts
    if config.model is None:
        raise ConfigurationError(
            "there is no model to test: declare model, or evaluation.responses with recorded answers"
        )
    from agentguard.gate.models.opening import open_chat_model

    return ModelTarget(
        open_chat_model(config.model, max_concurrency=wished.max_concurrency), config.model.name, wished.max_concurrency
    ), prompts


def _judge(config: GateConfig, evidence: EvidenceIndex) -> Judge:
    if config.judge is None:
        return RuleJudge(evidence)
    from agentguard.gate.models.judge import ModelJudge
    from agentguard.gate.models.opening import open_chat_model

    most = config.evaluation.max_concurrency
    return ModelJudge(open_chat_model(config.judge, "judge", max_concurrency=most), config.judge.name, most)


def _embeddings(config: GateConfig) -> Embeddings:
    if config.embeddings is None:
        from agentguard.gate.evidence.lexical import LexicalEmbeddings

        return LexicalEmbeddings()
    from agentguard.gate.models.opening import open_embeddings

    return open_embeddings(config.embeddings, max_concurrency=config.evaluation.max_concurrency)
