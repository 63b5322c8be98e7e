"""The published document's names over the gate's stages: agents of one argument, and the functions that they call.

An agent takes the state, a dictionary, changes it in place and returns nothing. Each of the six is a stage of the gate:
there is no second pipeline behind them.

>>> state = {
...     "config": {"thresholds": {"deploy": 0.10, "warn": 0.25}},
...     "verdicts": [{"label": "unsupported"}, {"label": "supported"}, {"label": "supported"}],
... }
>>> score_risk(state)
>>> state["score"]["risk"], state["score"]["decision"]
(0.3333, 'block')

``run_workflow`` runs them in their order and records the run. The functions that take no state work with the
configuration in force: of the run that is under way, or else the one that ``load_config`` read last, or else that of
``.llm-reliability.yaml`` in this folder, or else the document's own, Claude and Titan at Bedrock and a cluster at
``http://localhost:9200``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from agentguard.errors import GateError
from agentguard.gate import _config, _run
from agentguard.gate._config import ElasticsearchConfig, GateConfig, JudgeConfig
from agentguard.gate._kept import KeptAnswers
from agentguard.gate._plain import FORMS, Agent, as_plain, as_stage, chunk_of, config_as_dict, document_of
from agentguard.gate._plain import from_plain as _from_plain
from agentguard.gate._plain import show as _show
from agentguard.gate._run import GateRun, GateState, Library, Services, Stage, evaluate, open_library, open_services
from agentguard.gate._types import Document, Passage, Prompt
from agentguard.gate.models._asking import Question, ask_all
from agentguard.gate.models._bedrock import CLAUDE, TITAN, with_bedrock
from agentguard.gate.models._opening import open_chat_model
from agentguard.gate.records._base import RunRecords

__all__ = [
    "build_response",
    "call_llm",
    "call_target_llm",
    "deduplicate",
    "embed",
    "extract_claims",
    "generate_prompts",
    "index_doc",
    "load_config",
    "parse_prompts",
    "retrieve_evidence",
    "run_model",
    "run_workflow",
    "score_risk",
    "search_docs",
    "vector_search",
    "verify_claims",
]

State = dict[str, Any]


# --- The configuration in force ---


class _InForce(NamedTuple):
    config: GateConfig
    library: Library | None = None  # open while an agent runs


_IN_FORCE: ContextVar[_InForce | None] = ContextVar("agentguard.gate.workflow", default=None)

_LOCALHOST: Final = "http://localhost:9200"
_UNSAID: Final[Mapping[str, Any]] = {"use_case": "unnamed", "doc_sources": ["."]}


def load_config(path: str | PathLike[str] | None = None) -> State:
    """Read a configuration, and put it in force.

    Args:
        path: The file; ``.llm-reliability.yaml`` where none is named.

    Returns:
        the file's fields for ``state["config"]``, with ``thresholds`` and ``num_prompts`` as agents read them.

    Raises:
        ConfigurationError: If there is no such file.
        FileProblems: With every problem of the file.
    """
    config = _config.load_config(path or _config.CONFIG_NAME)
    _IN_FORCE.set(_InForce(config))
    return {**config_as_dict(config), "folder": str(config.folder)}


def _in_force() -> _InForce:
    found = _IN_FORCE.get()
    if found is not None:
        return found
    if Path(_config.CONFIG_NAME).is_file():
        return _InForce(_config.load_config())
    own = {
        "judge": {"provider": "bedrock", "model_id": CLAUDE},
        "embeddings": {"provider": "bedrock", "model_id": TITAN},
        "elasticsearch": {"host": _LOCALHOST},
    }
    return _InForce(_config.parse_config({**_UNSAID, **own}))


def _config_of(state: Mapping[str, Any], unsaid: Mapping[str, Any] = _UNSAID) -> GateConfig:
    given = state.get("config")
    if isinstance(given, GateConfig):
        return given
    if not isinstance(given, Mapping):
        raise GateError("the state has no config: {'config': load_config()} has that of a file")
    fields = {**unsaid, **given}
    return _config.parse_config(fields, fields.pop("folder", "."))


# --- Agents ---


def generate_prompts(state: State) -> None:
    """Reads ``config``; writes ``prompts``, a list of texts: those that are given, or as many as ``num_prompts``."""
    _apply(_run.generate_prompts, state, (), {"doc_sources": _UNSAID["doc_sources"]})


def run_model(state: State) -> None:
    """Reads ``prompts``; writes ``responses``: for each the ``prompt`` and the ``response`` of the model under test."""
    _apply(_run.run_model, state, ("prompts",))


def extract_claims(state: State) -> None:
    """Reads ``responses``; writes ``claims``: the atomic statements of fact, each with its ``text``."""
    _apply(_run.extract_claims, state, ("prompts", "responses"))


def retrieve_evidence(state: State) -> None:
    """Reads ``claims``; writes ``evidence``: each ``claim`` with the ``documents`` that both searches find for it."""
    _apply(_run.retrieve_evidence, state, ("claims",))


def verify_claims(state: State) -> None:
    """Reads ``claims`` and ``evidence``; writes ``verdicts``: for each claim its ``label`` and the ``reasons``."""
    _apply(_run.verify_claims, state, ("claims", "evidence"))


def score_risk(state: State) -> None:
    """Reads ``verdicts`` and ``config``; writes ``score``: the ``risk``, the ``decision`` and the counts."""
    _apply(_run.score_risk, state, ("prompts", "responses", "claims", "verdicts", "quarantined"))


_STAGES: Final[Mapping[Agent, Stage]] = {
    generate_prompts: _run.generate_prompts,
    run_model: _run.run_model,
    extract_claims: _run.extract_claims,
    retrieve_evidence: _run.retrieve_evidence,
    verify_claims: _run.verify_claims,
    score_risk: _run.score_risk,
}


def run_workflow(state: State, agents: Sequence[Agent] = tuple(_STAGES)) -> None:
    """Run the agents one after the other, and record the run; ``state`` holds all that they wrote.

    Args:
        state: Has ``config``: what ``load_config`` gave, or a dictionary with the same fields.
        agents: In place of the six, or some of one's own between them. An agent writes keys of its own.

    Raises:
        GateError: Naming the agent that failed, and why; what those before it wrote is in the state and in the records.
    """
    config = _config_of(state)
    stages = [_STAGES.get(agent) or as_stage(agent, state) for agent in agents]

    def shown(name: str, run: GateRun) -> None:
        _show(run.state, state)

    with _opened(config, recorded=True) as services:
        run = evaluate(config, services, stages=stages, on_stage=shown)
    _show(run.state, state)
    state["run_id"] = run.run_id


def build_response(state: State) -> State:
    """The answer of ``POST /evaluate``: score, decision, counts, and each claim with its verdict as ``details``."""
    score = state["score"]
    names = ("decision", "total_claims", "supported", "unsupported", "weakly_supported")
    counts = {name: score[name] for name in names}
    return {"score": score["risk"], **counts, "details": list(state["verdicts"])}


def _apply(stage: Stage, state: State, reads: Sequence[str], unsaid: Mapping[str, Any] = _UNSAID) -> None:
    config = _config_of(state, unsaid)
    typed = GateState(config)
    for key in FORMS:
        if key in reads and key in state:
            typed.write(key, _from_plain(key, state[key], typed))
    read = typed.written
    if stage is _run.score_risk:
        _run.score_risk(typed, None)
    else:
        with _opened(config) as services:
            stage(typed, services)
    state.update({key: as_plain(typed, key) for key in typed.written if key not in read})


@contextmanager
def _opened(config: GateConfig, *, recorded: bool = False) -> Iterator[Services]:
    """Open what a configuration names, with this module's functions where they are replaced, and put it in force."""
    own_target = call_target_llm is _OWN.target and (config.model or config.evaluation.responses)
    with open_library(config) as library:
        token = _IN_FORCE.set(_InForce(config, library))
        try:
            own_searches = (search_docs, vector_search) == _OWN.searches and _flat(config) is None
            searches: Any = None if own_searches else _Searches(config.use_case)
            with open_services(
                config,
                target=None if own_target else call_target_llm,
                embeddings=searches or library.embeddings,
                evidence=searches or library.evidence,
                records=None if recorded else cast(RunRecords, _UNRECORDED),
            ) as services:
                yield services
        finally:
            _IN_FORCE.reset(token)


_UNRECORDED: Final = object()


# --- Models ---


def call_llm(prompt: str, system: str = "") -> str:
    """Ask the judge's chat model, Claude at Bedrock where none is configured. Each call is a conversation of its own.

    Raises:
        ConfigurationError: If the model cannot be opened.
        GateError: If it does not answer. Nothing is asked again, unless ``judge.max_retries`` says so.
    """
    config, _ = with_bedrock(_in_force().config)
    named = config.judge if isinstance(config.judge, JudgeConfig) else JudgeConfig(provider="bedrock", model_id=CLAUDE)
    model = open_chat_model(named, "judge")
    return ask_all(model, named.name, [Question("the prompt", prompt, system)], 1)[0]


def embed(text: str) -> list[float]:
    """The vector of a text, by the configured embeddings.

    Raises:
        ConfigurationError, GateError: As ``call_llm``.
    """
    found = _in_force()
    if found.library is not None:
        return found.library.embeddings.embed_query(text)
    return _run._embeddings(with_bedrock(found.config)[0]).embed_query(text)


def call_target_llm(prompt: str) -> str:
    """Ask the model under test. Put a function of your own in its place to test another.

    Raises:
        ConfigurationError: If none is configured, or it cannot be opened.
        GateError: If it does not answer.
    """
    target, _ = _run._target(with_bedrock(_in_force().config)[0], None, KeptAnswers())
    known: Sequence[Prompt] = getattr(target, "prompts", ())  # of recorded answers
    asked = next((each for each in known if each.text == prompt), Prompt("p1", prompt))
    return target.respond([asked])[0]


_MARKED: Final = re.compile(r"^\s*(?:\d{1,3}[.)]|[-*•])\s+(\S.*?)\s*$", re.MULTILINE)


def parse_prompts(response: str) -> list[str]:
    r"""The prompts in a model's answer: of a JSON list, of ``{"prompts": [...]}``, of a list, or one a line.

    >>> parse_prompts("Here they are:\n\n1. How long is the warranty?\n2. Who pays for returns?")
    ['How long is the warranty?', 'Who pays for returns?']
    """
    try:
        read = json.loads(response)
    except ValueError:
        return _MARKED.findall(response) or [line.strip() for line in response.splitlines() if line.strip()]
    listed = read.get("prompts") if isinstance(read, dict) else read
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        raise GateError("the answer is JSON, and has no list of prompts")
    return listed


# --- Documents ---


def index_doc(index: str, doc_id: str, body: Mapping[str, Any]) -> None:
    """Index a document into the configured cluster as it is: ``content`` and ``embedding`` are searched.

    Into an index of the gate's own, ``agentguard gate ingest`` makes such, it is written as one passage.

    Raises:
        ConfigurationError, StoreError: If the cluster cannot be reached, or refuses.
    """
    config = _with_index(_in_force().config, index)
    flat = _flat(config)
    if flat is not None:
        properties: dict[str, Any] = {"content": {"type": "text"}}
        if "embedding" in body:
            dims = len(body["embedding"])
            properties["embedding"] = {"type": "dense_vector", "dims": dims, "index": True, "similarity": "cosine"}

        def put(client: Any) -> None:
            if not client.indices.exists(index=index):
                client.indices.create(index=index, mappings={"properties": properties})
            client.index(index=index, id=doc_id, document=dict(body), refresh=True)

        _ask(flat, put)
        return
    chunk = chunk_of({**body, "document": doc_id, "id": ""})
    with _library(config) as library:
        vector = body.get("embedding") or library.embeddings.embed_documents([chunk.text])[0]
        library.evidence.replace(Document(doc_id, chunk.title or doc_id, chunk.text, chunk.id), [chunk], [vector])


def search_docs(query: str, index: str | None = None) -> list[State]:
    """Find documents by their words, the best first; each has its ``content``.

    Args:
        query: Any text.
        index: The configuration's where none is named, which is ``trusted_docs`` where it says nothing.

    Raises:
        ConfigurationError, StoreError: If the index cannot be read.
    """
    config = _with_index(_in_force().config, index)
    flat = _flat(config)
    if flat is not None:
        return _hits(flat, query={"match": {"content": query}})
    with _library(config) as library:
        return [document_of(passage.chunk) for passage in library.evidence.keyword(query, 10)]


def vector_search(text: str, index: str | None = None, k: int = 5) -> list[State]:
    """Find the ``k`` documents whose vectors are nearest to that of a text, the nearest first.

    Args:
        text: What is searched for.
        index: As of ``search_docs``.
        k: How many.

    Raises:
        ConfigurationError, GateError, StoreError: If there is no vector, or the index cannot be read.
    """
    config = _with_index(_in_force().config, index)
    vector = embed(text)
    flat = _flat(config)
    if flat is not None:
        return _hits(flat, knn={"field": "embedding", "query_vector": vector, "k": k, "num_candidates": 100})
    with _library(config) as library:
        return [document_of(passage.chunk) for passage in library.evidence.vector(vector, k)]


def deduplicate(documents: Sequence[State]) -> list[State]:
    """The documents, each once, in the order in which they first come.

    >>> deduplicate([{"content": "a"}, {"content": "b"}, {"content": "a"}])
    [{'content': 'a'}, {'content': 'b'}]
    """
    return [document for place, document in enumerate(documents) if document not in documents[:place]]


class _Searches:
    """The module's two searches as the stages ask for them: a query stays a text until ``vector_search`` has it."""

    name = "vector_search"

    def __init__(self, use_case: str) -> None:
        self._use_case = use_case

    def documents(self) -> Mapping[str, str]:
        """Those that the use case finds, which rules make prompts of."""
        found = [*self.keyword(self._use_case, 10), *self.vector(self._use_case, 10)]
        return {passage.chunk.document: passage.chunk.id for passage in found}

    def embed_query(self, text: str) -> Any:
        return text

    def keyword(self, query: str, limit: int) -> list[Passage]:
        return _ranked(search_docs(query)[:limit])

    def vector(self, query: Any, limit: int) -> list[Passage]:
        return _ranked(vector_search(query)[:limit])

    def digest(self) -> str:
        return ""


class _Own(NamedTuple):
    """The module's own functions, to see whether one is replaced."""

    target: Any
    searches: tuple[Any, Any]


_OWN: Final = _Own(call_target_llm, (search_docs, vector_search))


def _ranked(documents: Sequence[State]) -> list[Passage]:
    return [Passage(chunk_of(document), 1 / rank) for rank, document in enumerate(documents, 1)]


@contextmanager
def _library(config: GateConfig) -> Iterator[Library]:
    """The documents of a configuration: those that are open, or opened for this call."""
    found = _in_force()
    if found.library is not None and found.config == config:
        yield found.library
        return
    with open_library(config) as library:
        yield library


def _with_index(config: GateConfig, index: str | None) -> GateConfig:
    cluster = config.elasticsearch
    if index is None or cluster is None or index == cluster.index:
        return config
    return config.model_copy(update={"elasticsearch": cluster.model_copy(update={"index": index})})


def _flat(config: GateConfig) -> ElasticsearchConfig | None:
    """The cluster whose index has a document an entry, as the published document has it, or is not there at all."""
    cluster = config.elasticsearch
    if cluster is None:
        return None
    from agentguard.gate.evidence._elasticsearch import has_documents_alone

    alone = _ask(cluster, lambda client: has_documents_alone(client, cluster.index), missing=lambda: True)
    return cluster if alone else None


def _hits(cluster: ElasticsearchConfig, **search: Any) -> list[State]:
    index = cluster.index
    found = _ask(cluster, lambda client: client.search(index=index, **search).body["hits"]["hits"], missing=list)
    return [hit["_source"] for hit in found]


def _ask(cluster: ElasticsearchConfig, call: Callable[[Any], Any], **options: Any) -> Any:
    from agentguard.gate.backends._elasticsearch import ElasticConnection

    connection = ElasticConnection(cluster)
    try:
        return connection.ask(call, **options)
    finally:
        connection.close()
