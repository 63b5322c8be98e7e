"""The configuration of a gate, as ``.llm-reliability.yaml`` declares it; all faults of a file are reported at once.

The file says what correctness means for one use of a model: its purpose, the risk that is tolerated, the documents that
are trusted, the model under test. Secrets are never part of it: they come from the environment.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from itertools import combinations
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from agentguard._yaml_files import Subject, read_yaml_file
from agentguard.errors import FileProblems, Problem
from agentguard.gate._names import may_be_same

# --- Sections ---

Text = Annotated[str, Field(min_length=1, max_length=10_000)]


class Section(BaseModel):
    """Section of the file: unknown fields are refused, and nothing changes once it is read."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


def check_url(address: str) -> str:
    """Check that an address is one of HTTP and carries no password.

    Raises:
        ValueError: If it is not.
    """
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


Url = Annotated[Text, AfterValidator(check_url)]

# --- Options of a model ---

_SETTINGS: Final = {
    "model": "model_id",
    "model_id": "model_id",
    "model_name": "model_id",
    "model_provider": "provider",
    "base_url": "base_url",
    "endpoint_url": "base_url",
    "openai_api_base": "base_url",
    "temperature": "temperature",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "num_predict": "max_tokens",
    "timeout": "timeout_seconds",
    "request_timeout": "timeout_seconds",
    "max_retries": "max_retries",
}
_LEFT_OUT: Final = frozenset(
    {"cache", "config_prefix", "configurable_fields", "disable_streaming", "stream", "streaming"}
)
_SECRET: Final = re.compile(
    r"api[_-]?key|access[_-]?key|secret|password|credentials?$|(access|session|auth|bearer)[_-]?token|authorization",
    re.IGNORECASE,
)


def faults_of_options(options: Mapping[str, Any]) -> list[str]:
    """List what is wrong with the options of a model, in their order.

    >>> faults_of_options({"top_p": 0.5, "stream": True, "headers": {"X-Api-Key": "…"}})
    ['stream cannot be set: answers are neither streamed nor cached', \
'headers.X-Api-Key looks like a secret: secrets come from the environment']
    """
    faults = []
    for name, value in options.items():
        if name in _SETTINGS:
            faults.append(f"{name} is what {_SETTINGS[name]} says: set that")
        elif name in _LEFT_OUT:
            faults.append(f"{name} cannot be set: answers are neither streamed nor cached")
        elif name == "client_kwargs" and (not isinstance(value, Mapping) or "timeout" in value):
            faults.append("client_kwargs must be a mapping without timeout, which timeout_seconds says")
        faults += [f"{path} looks like a secret: secrets come from the environment" for path in _secrets(name, value)]
    return faults


def _secrets(name: str, value: Any) -> list[str]:
    """The paths of all that is named as secrets are."""
    if _SECRET.search(name):
        return [name]
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    return [f"{name}.{path}" for key, below in items for path in _secrets(str(key), below)]


# --- Sources of documents ---


class LocalSource(Section):
    """A file, or a folder with all below it.

    Attributes:
        path: Relative to the configuration's folder, and inside of it unless ``--root`` allows more.
        include: Glob patterns of the files taken; all kinds that can be read where there are none.
    """

    type: Literal["local"]
    path: Text
    include: tuple[Text, ...] = ()


class HttpSource(Section):
    """Pages, by their addresses.

    Attributes:
        url, urls: One address or several; nothing they link to is followed.
        allow_private: Whether addresses of a private network may be asked.
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
            check_url(address)
        return self

    @property
    def addresses(self) -> tuple[str, ...]:
        """All addresses, in their order."""
        return (*(() if self.url is None else (self.url,)), *self.urls)


class S3Source(Section):
    """The objects of a bucket whose keys begin with a prefix.

    Attributes:
        bucket, prefix: Which objects.
        region, endpoint_url: Where the bucket is, where that is not what the environment says.
    """

    type: Literal["s3"]
    bucket: Text
    prefix: str = ""
    region: Text | None = None
    endpoint_url: Text | None = None


Source = Annotated[LocalSource | HttpSource | S3Source, Field(discriminator="type")]


# --- Models ---


def provider_key(provider: str) -> str:
    """A provider's one name, as langchain spells it but for ``bedrock``, however it is written.

    >>> provider_key("Bedrock-Converse"), provider_key("OpenAI")
    ('bedrock', 'openai')
    """
    key = provider.strip().lower().replace("-", "_")
    return "bedrock" if key == "bedrock_converse" else key


class ProviderModel(Section):
    """A model of a provider.

    Attributes:
        provider: ``bedrock``, ``ollama``, ``openai``, or any provider that langchain knows.
        model_id: The provider's name of the model.
        base_url: Where it is served, where that is not the provider's own address.
    """

    provider: Text
    model_id: Text
    base_url: Url | None = None

    @property
    def name(self) -> str:
        """``provider:model_id``."""
        return f"{self.provider}:{self.model_id}"


class ModelConfig(ProviderModel):
    """A chat model, as ``langchain.chat_models.init_chat_model`` opens it.

    Attributes:
        provider: ``bedrock``, ``ollama``, ``openai``, or any provider that langchain knows.
        model_id: The provider's name of the model.
        base_url: Where it is served, where that is not the provider's own address.
        temperature: 0 where nothing is said.
        max_tokens: The most tokens of an answer.
        timeout_seconds: After which a request has failed.
        max_retries: How often a request that failed is sent again, after a pause that grows.
        options: Further arguments of the model's class; ``base_model`` names the model behind an opaque ``model_id``.
    """

    temperature: Annotated[float, Field(ge=0.0, le=2.0, strict=True)] = 0.0
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000, strict=True)] = 4096
    timeout_seconds: Annotated[float, Field(gt=0.0, le=3_600.0, strict=True)] = 60.0
    max_retries: Annotated[int, Field(ge=0, le=20, strict=True)] = 0
    options: dict[str, Any] = Field(default_factory=dict)

    @field_validator("options")
    @classmethod
    def _further(cls, options: dict[str, Any]) -> dict[str, Any]:
        faults = faults_of_options(options)
        if faults:
            raise ValueError("; ".join(faults))
        return options

    def may_be(self, other: ModelConfig) -> bool:
        """Whether both may be the same model, by their names without what providers add to them.

        At two addresses of one provider they are two, since servers of one's own name their models as they like; a
        name of Bedrock's is the same everywhere.
        """
        ours, theirs = provider_key(self.provider), provider_key(other.provider)
        addresses = {each.base_url.rstrip("/") for each in (self, other) if each.base_url is not None}
        if ours == theirs != "bedrock" and len(addresses) == 2:
            return False
        return may_be_same(self._model_name, other._model_name)

    @property
    def _model_name(self) -> str:
        return str(self.options.get("base_model_id") or self.options.get("base_model") or self.model_id)


class JudgeConfig(ModelConfig):
    """A chat model that writes prompts, splits answers into claims and verifies them.

    Attributes:
        allow_same_model: An explicit yes to a judge that is the model under test.
    """

    allow_same_model: Annotated[bool, Field(strict=True)] = False


class EntailmentConfig(Section):
    """A model of entailment on this machine, which verifies claims; rules write prompts and split answers.

    Attributes:
        model: The folder of its export, relative to the configuration's.
    """

    type: Literal["onnx"]
    model: Text

    @property
    def name(self) -> str:
        """``onnx:model``."""
        return f"{self.type}:{self.model}"


class RulesConfig(Section):
    """Rules, which write prompts, split answers and verify claims without any model."""

    type: Literal["rules"] = "rules"

    @property
    def name(self) -> str:
        """``rules``."""
        return self.type


_CHAT: Final = ""  # the type of a judge that is a chat model: it has none


def _type_of_judge(judge: Any) -> str:
    kind = judge.get("type") if isinstance(judge, Mapping) else getattr(judge, "type", None)
    return _CHAT if kind is None else str(kind)


AnyJudge = Annotated[
    Annotated[JudgeConfig, Tag(_CHAT)]
    | Annotated[EntailmentConfig, Tag("onnx")]
    | Annotated[RulesConfig, Tag("rules")],
    Discriminator(_type_of_judge),
]


class EmbeddingsConfig(ProviderModel):
    """The model whose vectors the evidence is searched by; without one, hashed n-grams of characters.

    Attributes:
        provider: ``bedrock``, ``ollama``, ``openai``.
        model_id: ``amazon.titan-embed-text-v2:0``, for example.
        base_url: Where it is served, where that is not the provider's own address.
    """


# --- The whole configuration ---

CATEGORIES = ("factual_recall", "edge_cases", "policy_boundaries", "ambiguous_queries")

Risk = Annotated[float, Field(ge=0.0, le=1.0, strict=True, allow_inf_nan=False)]
Tokens = Annotated[int, Field(ge=0, le=100_000, strict=True)]


class LabelRisks(Section):
    """Risks, in [0, 1], that a claim adds to a run by its verdict.

    ``agentguard gate calibrate`` measures them on verdicts that people have looked at.

    Attributes:
        supported: Of a claim that a passage says.
        weakly_supported: Of one that a passage says in part; half a hallucination by the published formula.
        unsupported: Of one that no passage says.
    """

    supported: Risk = 0.0
    weakly_supported: Risk = 0.5
    unsupported: Risk = 1.0

    @model_validator(mode="after")
    def _ordered(self) -> LabelRisks:
        if not self.supported <= self.weakly_supported <= self.unsupported:
            raise ValueError("must be: supported <= weakly_supported <= unsupported")
        return self


class RiskTolerance(Section):
    """Risk that is tolerated, in [0, 1].

    Attributes:
        deploy_threshold: Up to this risk a model is deployed.
        warn_threshold: Up to this one with a warning; above it, it is blocked.
        min_answered: The share of prompts that must be answered with a claim; of less, nothing is deployed.
        max_refused: The share of prompts that may be declined; of more, nothing is deployed.
        max_unreadable: The share of a judge's answers that may be unreadable; of more, the run has failed.
        label_risks: What a claim adds to the risk, by its verdict.
    """

    deploy_threshold: Risk = 0.10
    warn_threshold: Risk = 0.25
    min_answered: Risk = 0.5  # a risk is measured on what is said: on half of the prompts at least
    max_refused: Risk = 0.3  # one kind of prompts in four is ambiguous, and may rightly be declined as a whole
    max_unreadable: Risk = 0.2
    label_risks: LabelRisks = LabelRisks()

    @model_validator(mode="after")
    def _ordered(self) -> RiskTolerance:
        if self.deploy_threshold > self.warn_threshold:
            raise ValueError(
                f"deploy_threshold ({self.deploy_threshold:g}) must not be above warn_threshold "
                f"({self.warn_threshold:g}): what may be deployed would be worse than what is warned of"
            )
        return self


class EvaluationConfig(Section):
    """Prompts for the model under test, and how its answers are held against the documents.

    Attributes:
        num_prompts: How many prompts are written, where none are given, or ``also_generate`` says so.
        prompt_categories: The kinds of question, in equal shares.
        prompts: A file with a prompt set of one's own (YAML, JSON Lines, or one prompt a line), or several such files.
        also_generate: Whether prompts are written beside those of one's own.
        responses: A file with recorded answers (JSON Lines with ``prompt`` and ``response``): no model is asked.
        passages: How many passages a claim is held against.
        max_concurrency: How many requests to a model are under way at once.
        cross_check: Whether rules look at what a judge calls supported: a figure, unit or negation that the passage
            contradicts makes it weakly supported. The rules read English.
    """

    num_prompts: Annotated[int, Field(ge=1, le=10_000, strict=True)] = 20
    prompt_categories: tuple[Text, ...] = CATEGORIES
    prompts: Text | Annotated[tuple[Text, ...], Field(min_length=1, max_length=100)] | None = None
    also_generate: Annotated[bool, Field(strict=True)] = False
    responses: Text | None = None
    passages: Annotated[int, Field(ge=1, le=100, strict=True)] = 5
    max_concurrency: Annotated[int, Field(ge=1, le=1_000, strict=True)] = 8
    cross_check: Annotated[bool, Field(strict=True)] = True

    @model_validator(mode="after")
    def _consistent(self) -> EvaluationConfig:
        if not self.prompt_categories:
            raise ValueError("prompt_categories must name at least one category")
        if self.prompts is not None and self.responses is not None:
            raise ValueError("give prompts or responses: recorded responses bring their own prompts")
        if self.also_generate and self.prompts is None:
            raise ValueError("also_generate is for prompts of one's own: without them, prompts are written anyway")
        return self

    @property
    def prompt_files(self) -> tuple[str, ...]:
        """The files of ``prompts``, in their order."""
        return (self.prompts,) if isinstance(self.prompts, str) else self.prompts or ()


class DocumentsConfig(Section):
    """Documents that hold instructions to a model, such as "ignore all previous instructions".

    Attributes:
        quarantine: Whether they are kept out of the evidence.
        trusted: Documents that are evidence nevertheless, as patterns of their uris (``policies/*.md``).
    """

    quarantine: Annotated[bool, Field(strict=True)] = True
    trusted: tuple[Text, ...] = ()


class ChunkingConfig(Section):
    """Sizes of the pieces that documents are cut into, in tokens of four characters.

    Attributes:
        least, most: A piece has at least, and at most, so many, but for the last of its document.
        overlap_least, overlap_most: How much of a piece the next one repeats.
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
        host: The cluster's address.
        index: The name of the index of documents, and the beginning of the other two.
        timeout_seconds: After which a request has failed.
    """

    host: Url
    index: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,199}$")] = "trusted_docs"
    timeout_seconds: Annotated[float, Field(gt=0.0, le=3_600.0, strict=True)] = 30.0


class EmbeddedConfig(Section):
    """The embedded index and records, where no cluster is declared.

    Attributes:
        path: Their folder, relative to the configuration's.
    """

    path: Text = ".llm-reliability"


class GateConfig(Section):
    """One gate. ``folder`` is where its relative paths begin; it is no part of the file.

    Attributes:
        use_case: What the model is for, in words.
        risk_tolerance, evaluation: See their classes.
        doc_sources: Where the trusted documents are.
        model: The model under test; None if recorded responses are judged.
        judge: Who writes prompts, splits answers and verifies claims; None: Claude where ``model`` is Bedrock's and can
            be reached, and rules otherwise.
        verifiers: Further judges, which verify each claim beside the first; a claim is supported where all agree.
        embeddings: None: Titan's where Claude judges by default, and lexical vectors otherwise.
        elasticsearch: None: the embedded index.
        embedded: Where that is kept.
        documents: Which of them are no evidence.
        chunking: How they are cut.
        notes: A line for each field that stood elsewhere, as in the published state's configuration.
    """

    use_case: Text
    risk_tolerance: RiskTolerance = RiskTolerance()
    evaluation: EvaluationConfig = EvaluationConfig()
    doc_sources: tuple[Source, ...]
    model: ModelConfig | None = None
    judge: AnyJudge | None = None
    verifiers: Annotated[tuple[AnyJudge, ...], Field(max_length=10)] = ()
    embeddings: EmbeddingsConfig | None = None
    elasticsearch: ElasticsearchConfig | None = None
    embedded: EmbeddedConfig = EmbeddedConfig()
    documents: DocumentsConfig = DocumentsConfig()
    chunking: ChunkingConfig = ChunkingConfig()
    folder: Path = Field(default=Path(), exclude=True, repr=False)
    notes: SkipJsonSchema[tuple[str, ...]] = Field(default=(), exclude=True, repr=False)

    @model_validator(mode="after")
    def _complete(self) -> GateConfig:
        faults = []
        if not self.doc_sources:
            faults.append("doc_sources must name at least one source of trusted documents")
        judges = (() if self.judge is None else (self.judge,)) + self.verifiers
        faults += [
            f"judge is the model under test ({' and '.join(dict.fromkeys((each.name, self.model.name)))}), which would "
            "verify its own claims: name another judge, let rules verify (type: rules), or say allow_same_model: true "
            "below it"
            for each in judges
            if isinstance(each, JudgeConfig) and self.model is not None
            if each.may_be(self.model) and not each.allow_same_model
        ]
        if self.verifiers and self.judge is None:
            faults.append("verifiers stand beside a judge: declare judge, the first of them")
        if any(_same_judge(*pair) for pair in combinations(judges, 2)):
            faults.append("judge and verifiers must be different models: the same one would agree with itself")
        if faults:
            raise ValueError("; ".join(faults))
        return self

    def resolve(self, path: str) -> Path:
        """A path of the file, from the configuration's folder on."""
        return self.folder / path

    @property
    def digest(self) -> str:
        """Digest of all that the file declares, in hexadecimal; the file's path is no part of it."""
        return hashlib.blake2b(self.model_dump_json().encode(), digest_size=16).hexdigest()


def _same_judge(one: AnyJudge, other: AnyJudge) -> bool:
    if isinstance(one, JudgeConfig) and isinstance(other, JudgeConfig):
        return one.may_be(other)
    return one.name == other.name


# --- Reading it ---

CONFIG_NAME: Final = ".llm-reliability.yaml"
_SUBJECT = Subject("gate configuration", "use_case: customer support")
# Where pydantic puts the type of a section into the place of a fault.
_PLACES_OF_TYPES: Final = {"doc_sources": 2, "judge": 1, "verifiers": 2}


def load_config(path: str | PathLike[str] = CONFIG_NAME) -> GateConfig:
    """Read a gate's configuration.

    Args:
        path: The file; the relative paths in it begin at its folder.

    Raises:
        ConfigurationError: If there is no such file.
        FileProblems: With every problem of the file, each with its line.
    """
    raw, problems = read_yaml_file(path, _SUBJECT)
    if raw is None:
        raise FileProblems(problems)
    data, notes = _as_in_the_file(raw.data)
    lines = {now: raw.lines[before] for before, now in _MOVED.items() if before in raw.lines} | dict(raw.lines)
    try:
        config = GateConfig.model_validate({**data, "folder": Path(path).absolute().parent, "notes": notes})
    except ValidationError as error:
        problems += [_problem(fault, raw.source, lines) for fault in error.errors(include_url=False)]
    problems += [
        Problem(raw.source, raw.lines.get((name,)), name, "is no field of the file")
        for name in ("folder", "notes")
        if name in raw.data
    ]
    if problems:
        raise FileProblems(sorted(problems, key=lambda problem: problem.line or 0))
    return config


def parse_config(data: Mapping[str, Any], folder: str | PathLike[str] = ".") -> GateConfig:
    """A gate's configuration from plain data.

    Raises:
        FileProblems: With every problem.

    >>> parse_config({"use_case": "help desk", "max_refused": 0.5})
    Traceback (most recent call last):
    agentguard.errors.FileProblems: configuration has 2 problems:
      configuration: doc_sources: is missing
      configuration: max_refused: is unknown here; did you mean risk_tolerance.max_refused?
    """
    moved, notes = _as_in_the_file(data)
    try:
        return GateConfig.model_validate({**moved, "folder": Path(folder).absolute(), "notes": notes})
    except ValidationError as error:
        raise FileProblems(
            [_problem(fault, "configuration", {}) for fault in error.errors(include_url=False)]
        ) from None


#: Where the published state's configuration has what the published file has elsewhere.
_MOVED: Final[Mapping[tuple[str | int, ...], tuple[str, str]]] = {
    ("thresholds", "deploy"): ("risk_tolerance", "deploy_threshold"),
    ("thresholds", "warn"): ("risk_tolerance", "warn_threshold"),
    ("num_prompts",): ("evaluation", "num_prompts"),
}


def _as_in_the_file(given: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Put the fields of the published state's configuration where the file has them, and note each.

    >>> state = {"thresholds": {"deploy": 0.1}, "risk_tolerance": 0.15, "doc_sources": ["s3://docs/support/"]}
    >>> for field in _as_in_the_file(state)[0].items():
    ...     print(field)
    ('doc_sources', [{'type': 's3', 'bucket': 'docs', 'prefix': 'support/'}])
    ('risk_tolerance', {'deploy_threshold': 0.1})
    """
    data, notes = dict(given), []
    tolerance = data.get("risk_tolerance")
    if isinstance(tolerance, (int, float)) and isinstance(data.get("thresholds"), Mapping):
        del data["risk_tolerance"]
        notes.append(f"risk_tolerance: {tolerance} decides nothing: thresholds do")
    for before, (section, now) in _MOVED.items():
        above, name = before[:-1], str(before[-1])
        holder = data.get("thresholds") if above else data
        taker = data.get(section, {})
        if not (isinstance(holder, Mapping) and isinstance(taker, Mapping)) or name not in holder or now in taker:
            continue
        left = {key: value for key, value in holder.items() if key != name}
        data = {**data, "thresholds": left} if above else left
        data[section] = {**taker, now: holder[name]}
        notes.append(f"{'.'.join(map(str, before))} is read as {section}.{now}: {holder[name]}")
    if data.get("thresholds") == {}:
        del data["thresholds"]
    sources = data.get("doc_sources")
    if isinstance(sources, (list, tuple)):
        data["doc_sources"] = [_source(each) if isinstance(each, str) else each for each in sources]
        for each in filter(lambda source: isinstance(source, str), sources):
            fields = ", ".join(f"{name}: {value}" for name, value in _source(each).items())
            notes.append(f"doc_sources: {each} is read as {{{fields}}}")
    return data, notes


def _source(address: str) -> dict[str, str]:
    """A source that is given by its address alone."""
    kind, found, rest = address.partition("://")
    if found and kind == "s3":
        bucket, _, prefix = rest.partition("/")
        return {"type": "s3", "bucket": bucket, "prefix": prefix}
    return (
        {"type": "http", "url": address} if found and kind in ("http", "https") else {"type": "local", "path": address}
    )


def _problem(fault: Any, source: str, lines: Mapping[tuple[str | int, ...], int]) -> Problem:
    location = tuple(fault["loc"])
    place = _PLACES_OF_TYPES.get(location[0]) if location else None
    if place is not None:
        location = location[:place] + location[place + 1 :]
    line = next((lines[location[:end]] for end in range(len(location), -1, -1) if location[:end] in lines), None)
    return Problem(source, line, ".".join(map(str, location)), _message(fault, location))


def _message(fault: Any, location: Sequence[str | int]) -> str:
    kind = fault["type"]
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden" and tuple(location) in _LEFT:
        return _LEFT[tuple(location)]
    if tuple(location) == ("risk_tolerance",) and isinstance(fault["input"], (int, float)):
        return "one number decides nothing: give deploy_threshold and warn_threshold below it"
    if kind == "extra_forbidden":
        name = str(location[-1])
        here = ".".join(str(part) for part in location[:-1] if isinstance(part, str))
        beside = [path.rpartition(".")[2] for path in _fields() if path.rpartition(".")[0] == here]
        if name in beside:  # of another type of source or judge
            return "is unknown"
        known = _places_of(name) or get_close_matches(name, beside, 2, 0.7)
        if not known:
            leaves = [path.rpartition(".")[2] for path in _fields()]
            known = [path for leaf in get_close_matches(name, leaves, 1, 0.8) for path in _places_of(leaf)]
        return f"is unknown here; did you mean {' or '.join(known)}?" if known else "is unknown"
    if kind == "union_tag_invalid":
        known_types = "known are local, http and s3"
        if location[0] != "doc_sources":
            known_types = "known are onnx and rules; a chat model has no type"
        return f"type {fault['ctx']['tag']!r} is not known; {known_types}"
    if kind == "union_tag_not_found":
        return "needs a type: local, http or s3"
    if kind == "value_error":
        return str(fault["ctx"]["error"])
    message = str(fault["msg"])
    return message[:1].lower() + message[1:]


#: What is said of a field that could not be put where the file has it.
_LEFT: Final[Mapping[tuple[str | int, ...], str]] = {
    ("thresholds",): "takes deploy and warn, unless risk_tolerance says the same",
    ("num_prompts",): "says what evaluation.num_prompts says: give one of them",
}


def _places_of(name: str) -> list[str]:
    """List the fields of this name, each with its sections."""
    return [path for path in _fields() if path.rpartition(".")[2] == name]


@cache
def _fields() -> tuple[str, ...]:
    """List every field of the file, with its sections: ``evaluation.num_prompts``."""

    def below(model: type[BaseModel], above: str) -> Iterator[str]:
        for field, info in model.model_fields.items():
            if info.exclude:
                continue
            yield f"{above}{field}"
            for section in _sections(info.annotation):
                yield from below(section, f"{above}{field}.")

    return tuple(dict.fromkeys(below(GateConfig, "")))


def _sections(annotation: Any) -> list[type[BaseModel]]:
    if get_origin(annotation) is None:
        return [annotation] if isinstance(annotation, type) and issubclass(annotation, BaseModel) else []
    return [section for argument in get_args(annotation) for section in _sections(argument)]
