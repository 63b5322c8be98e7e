"""The configuration of a gate, as ``.llm-reliability.yaml`` declares it; every fault of a file is told at once.

What the file says is what correctness means for one use of a model: its purpose, the risk that is tolerated, the
documents that are trusted, the model under test. Secrets are never part of it: they come from the environment.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

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

_SECRET = re.compile(r"api_?key|secret|password|credential|access_?token|session_?token|authorization", re.IGNORECASE)

Text = Annotated[str, Field(min_length=1, max_length=10_000)]
Risk = Annotated[float, Field(ge=0.0, le=1.0, strict=True, allow_inf_nan=False)]


Tokens = Annotated[int, Field(ge=0, le=100_000, strict=True)]


class _Section(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class RiskTolerance(_Section):
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


class EvaluationConfig(_Section):
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


class LocalSource(_Section):
    """A file, or a folder with all below it.

    Attributes:
        path: relative to the configuration's folder, and inside of it unless ``--root`` allows more.
        include: glob patterns of the files taken; all kinds that can be read where there are none.
    """

    type: Literal["local"]
    path: Text
    include: tuple[Text, ...] = ()


class HttpSource(_Section):
    """Pages, by their addresses.

    Attributes:
        url, urls: one address or several; nothing they link to is followed.
        allow_private: whether addresses of a private network may be asked.
    """

    type: Literal["http", "https", "url"]
    url: Text | None = None
    urls: tuple[Text, ...] = ()
    allow_private: Annotated[bool, Field(strict=True)] = False

    @model_validator(mode="after")
    def _addressed(self) -> HttpSource:
        if not self.addresses:
            raise ValueError("needs a url, or urls")
        for address in self.addresses:
            _check_url(address)
        return self

    @property
    def addresses(self) -> tuple[str, ...]:
        """All addresses, in their order."""
        return (*(() if self.url is None else (self.url,)), *self.urls)


class S3Source(_Section):
    """The objects of a bucket whose keys begin with a prefix.

    Attributes:
        bucket, prefix: which objects.
        region, endpoint_url: where the bucket is, where that is not what the environment says.
    """

    type: Literal["s3"]
    bucket: Text
    prefix: str = ""
    region: Text | None = None
    endpoint_url: Text | None = None


Source = Annotated[LocalSource | HttpSource | S3Source, Field(discriminator="type")]


class ModelConfig(_Section):
    """A chat model, as ``langchain.chat_models.init_chat_model`` opens it.

    Attributes:
        provider: ``bedrock``, ``ollama``, ``openai``, or any provider that langchain knows.
        model_id: the provider's name of the model.
        base_url: where it is served, where that is not the provider's own address.
        temperature: 0 where nothing is said.
        max_tokens: the most tokens of an answer.
        timeout_seconds: after which a request has failed.
        max_retries: of a request that failed; none unless asked, since a retry hides what failed.
        options: further arguments of the model's class.
    """

    provider: Text
    model_id: Text
    base_url: Text | None = None
    temperature: Annotated[float, Field(ge=0.0, le=2.0, strict=True)] = 0.0
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000, strict=True)] = 4096
    timeout_seconds: Annotated[float, Field(gt=0.0, le=3_600.0, strict=True)] = 60.0
    max_retries: Annotated[int, Field(ge=0, le=20, strict=True)] = 0
    options: dict[str, Any] = {}

    @field_validator("base_url")
    @classmethod
    def _address(cls, base_url: str | None) -> str | None:
        return None if base_url is None else _check_url(base_url)

    @field_validator("options")
    @classmethod
    def _no_secrets(cls, options: dict[str, Any]) -> dict[str, Any]:
        secret = sorted(name for name in options if _SECRET.search(name))
        if secret:
            raise ValueError(f"{', '.join(secret)}: a key is no part of the file; it comes from the environment")
        return options

    @property
    def name(self) -> str:
        """``provider:model_id``."""
        return f"{self.provider}:{self.model_id}"


class JudgeConfig(ModelConfig):
    """The model that writes prompts, splits answers into claims and verifies them; without one, rules do all three.

    Attributes:
        allow_same_model: an explicit yes to a judge that is the model under test.
    """

    allow_same_model: Annotated[bool, Field(strict=True)] = False


class EmbeddingsConfig(_Section):
    """The model whose vectors the evidence is searched by; without one, hashed n-grams of characters.

    Attributes:
        provider: ``bedrock``, ``ollama``, ``openai``.
        model_id: ``amazon.titan-embed-text-v2:0``, for example.
        base_url: where it is served, where that is not the provider's own address.
    """

    provider: Text
    model_id: Text
    base_url: Text | None = None

    @field_validator("base_url")
    @classmethod
    def _address(cls, base_url: str | None) -> str | None:
        return None if base_url is None else _check_url(base_url)

    @property
    def name(self) -> str:
        """``provider:model_id``."""
        return f"{self.provider}:{self.model_id}"


class ChunkingConfig(_Section):
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


class ElasticsearchConfig(_Section):
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
        return _check_url(host)


class EmbeddedConfig(_Section):
    """The embedded index and records, where no cluster is declared.

    Attributes:
        path: their folder, relative to the configuration's.
    """

    path: Text = ".llm-reliability"


class GateConfig(_Section):
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
        same = (
            self.model is not None
            and self.judge is not None
            and self.model.name.casefold() == self.judge.name.casefold()
            and self.model.base_url == self.judge.base_url
        )
        if same and self.judge is not None and not self.judge.allow_same_model:
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


def _check_url(address: str) -> str:
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise ValueError(f"{address[:200]!r} is no http:// or https:// address")
    if parts.username is not None or parts.password is not None:
        raise ValueError("an address must not carry a password: credentials come from the environment")
    return address
