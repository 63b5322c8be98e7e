"""The configuration of a gate, as ``.llm-reliability.yaml`` declares it; every fault of a file is told at once.

What the file says is what correctness means for one use of a model: its purpose, the risk that is tolerated, the
documents that are trusted, the model under test. Secrets are never part of it: they come from the environment.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from agentguard.gate.config_models import EmbeddingsConfig, JudgeConfig, ModelConfig
from agentguard.gate.config_section import Section, Text, check_url
from agentguard.gate.config_sources import HttpSource, LocalSource, S3Source, Source

__all__ = [
    "CATEGORIES",
    "ChunkingConfig",
    "ElasticsearchConfig",
    "EmbeddedConfig",
    "EmbeddingsConfig",
    "EvaluationConfig",
    "GateConfig",
    "HttpSource",
    "JudgeConfig",
    "LocalSource",
    "ModelConfig",
    "RiskTolerance",
    "S3Source",
    "Source",
]

CATEGORIES = ("factual_recall", "edge_cases", "policy_boundaries", "ambiguous_queries")

Risk = Annotated[float, Field(ge=0.0, le=1.0, strict=True, allow_inf_nan=False)]
Tokens = Annotated[int, Field(ge=0, le=100_000, strict=True)]


class RiskTolerance(Section):
    """How much risk is tolerated, in [0, 1].

    Attributes:
        deploy_threshold: up to this risk a model is deployed.
        warn_threshold: up to this one with a warning; above it, it is blocked.
    """

    deploy_threshold: Risk = 0.10
    warn_threshold: Risk = 0.25

    @model_validator(mode="after")
    def _ordered(self) -> RiskTolerance:
        if self.deploy_threshold > self.warn_threshold:
            raise ValueError(
                f"deploy_threshold ({self.deploy_threshold:g}) must not be above warn_threshold "
                f"({self.warn_threshold:g}): what may be deployed would be worse than what is warned of"
            )
        return self


class EvaluationConfig(Section):
    """What the model under test is asked, and how its answers are held against the documents.

    Attributes:
        num_prompts: how many prompts are written, where none are given.
        prompt_categories: the kinds of question, in equal shares.
        prompts: a file with a prompt set of one's own (YAML, JSON Lines, or one prompt a line).
        responses: a file with recorded answers (JSON Lines with ``prompt`` and ``response``): no model is asked.
        passages: how many passages a claim is held against.
        max_concurrency: how many requests to a model are under way at once.
    """

    num_prompts: Annotated[int, Field(ge=1, le=10_000, strict=True)] = 20
    prompt_categories: tuple[Text, ...] = CATEGORIES
    prompts: Text | None = None
    responses: Text | None = None
    passages: Annotated[int, Field(ge=1, le=100, strict=True)] = 5
    max_concurrency: Annotated[int, Field(ge=1, le=1_000, strict=True)] = 8

    @model_validator(mode="after")
    def _consistent(self) -> EvaluationConfig:
        if not self.prompt_categories:
            raise ValueError("prompt_categories must name at least one category")
        if self.prompts is not None and self.responses is not None:
            raise ValueError("give prompts or responses: recorded responses bring their own prompts")
        return self


class ChunkingConfig(Section):
    """How documents are cut into pieces, in tokens of four characters.

    Attributes:
        least, most: a piece has at least, and at most, so many, but for the last of its document.
        overlap_least, overlap_most: how much of a piece the next one repeats.
    """

    least: Tokens = 500
    most: Tokens = 1000
    overlap_least: Tokens = 50
    overlap_most: Tokens = 100

    @model_validator(mode="after")
    def _possible(self) -> ChunkingConfig:
        if not self.overlap_least <= self.overlap_most < self.least <= self.most:
            raise ValueError("must be: overlap_least <= overlap_most < least <= most")
        return self


class ElasticsearchConfig(Section):
    """A cluster that holds documents, audit trail and history.

    They are the indices ``index``, ``index-audit`` and ``index-history``.
    Credentials come from the environment: ``ELASTICSEARCH_API_KEY``, or ``ELASTICSEARCH_USERNAME`` and
    ``ELASTICSEARCH_PASSWORD``; ``ELASTICSEARCH_CA_CERTS`` names a file of certificates.

    Attributes:
        host: the cluster's address.
        index: the name of the index of documents, and the beginning of the other two.
        timeout_seconds: after which a request has failed.
    """

    host: Text
    index: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,199}$")] = "trusted_docs"
    timeout_seconds: Annotated[float, Field(gt=0.0, le=3_600.0, strict=True)] = 30.0

    @field_validator("host")
    @classmethod
    def _address(cls, host: str) -> str:
        return check_url(host)


class EmbeddedConfig(Section):
    """The embedded index and records, where no cluster is declared.

    Attributes:
        path: their folder, relative to the configuration's.
    """

    path: Text = ".llm-reliability"


class GateConfig(Section):
    """One gate. ``folder`` is where its relative paths begin; it is no part of the file.

    Attributes:
        use_case: what the model is for, in words.
        risk_tolerance, evaluation, doc_sources: see their classes.
        model: the model under test; None where recorded responses are judged.
        judge: None: rules judge.
        embeddings: None: lexical vectors.
        elasticsearch: None: the embedded index.
        embedded: where that is kept.
        chunking: how documents are cut.
    """

    use_case: Text
    risk_tolerance: RiskTolerance = RiskTolerance()
    evaluation: EvaluationConfig = EvaluationConfig()
    doc_sources: tuple[Source, ...]
    model: ModelConfig | None = None
    judge: JudgeConfig | None = None
    embeddings: EmbeddingsConfig | None = None
    elasticsearch: ElasticsearchConfig | None = None
    embedded: EmbeddedConfig = EmbeddedConfig()
    chunking: ChunkingConfig = ChunkingConfig()
    folder: Path = Field(default=Path(), exclude=True, repr=False)

    @model_validator(mode="after")
    def _complete(self) -> GateConfig:
        faults = []
        if not self.doc_sources:
            faults.append("doc_sources must name at least one source of trusted documents")
        if (
            self.model is not None
            and self.judge is not None
            and self.judge.may_be(self.model)
            and not self.judge.allow_same_model
        ):
            faults.append(
                f"judge is the model under test ({self.judge.name}), which would verify its own claims: "
                "name another judge, leave judge out so that rules verify, or say allow_same_model: true below it"
            )
        if faults:
            raise ValueError("; ".join(faults))
        return self

    def resolve(self, path: str) -> Path:
        """A path of the file, from the configuration's folder on."""
        return self.folder / path

    @property
    def digest(self) -> str:
        """Of all that the file declares, in hexadecimal; where the file lies is no part of it."""
        return hashlib.blake2b(self.model_dump_json().encode(), digest_size=16).hexdigest()
