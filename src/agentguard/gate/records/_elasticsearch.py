"""Run records in two indices of an Elasticsearch cluster: audit trail and history."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter, ValidationError

from agentguard.gate._config import ElasticsearchConfig
from agentguard.gate._types import Citations, Claim, ClaimVerdict, Prompt, Response
from agentguard.gate.backends._elasticsearch import ElasticConnection, Template, document_id
from agentguard.gate.records._base import Event, RunSummary, decode_summary, encode_body, encode_summary

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch


_WROTE: Final[dict[str, TypeAdapter[Any]]] = {
    "prompts": TypeAdapter(tuple[Prompt, ...]),
    "responses": TypeAdapter(tuple[Response, ...]),
    "claims": TypeAdapter(tuple[Claim, ...]),
    "evidence": TypeAdapter(Citations),
    "verdicts": TypeAdapter(tuple[ClaimVerdict, ...]),
}


def event_entry(run_id: str, event: Event, sequence: int, writing: str) -> dict[str, Any]:
    """An event; ``writing`` tells a repeated attempt to write it from somebody else's."""
    return _at(event.at) | {
        "run_id": run_id,
        "kind": event.kind,
        "sequence": sequence,
        "at": event.at,
        "writing": writing,
        "body": dict(event.body),
    }


def verdicts_of(events: Sequence[Event]) -> dict[str, Any]:
    """Read back what the stages of a run wrote, if the last of them wrote verdicts; else nothing.

    Stages of one's own may write these keys in shapes of their own, which nobody here can search.
    """
    last = events[-1].body.get("wrote")
    if events[-1].kind != "stage" or not isinstance(last, Mapping) or "verdicts" not in last:
        return {}
    wrote: dict[str, Any] = {key: [] for key in _WROTE} | {"evidence": {"chunks": [], "found": []}}
    for event in events:
        wrote.update(event.body["wrote"] if isinstance(event.body.get("wrote"), Mapping) else {})
    try:
        return {key: adapter.validate_python(wrote[key]) for key, adapter in _WROTE.items()}
    except ValidationError:
        return {}


def verdict_entries(
    run_id: str, at: float, wrote: Mapping[str, Any], summary: RunSummary | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each verdict by its claim's id, with all that it is about."""
    prompts = {prompt.id: prompt for prompt in wrote["prompts"]}
    responses = {response.prompt_id: response.text for response in wrote["responses"]}
    claims = {claim.id: claim for claim in wrote["claims"]}
    chunks = {chunk.id: chunk for chunk in wrote["evidence"].chunks}
    about = {"target": summary.target, "use_case": summary.use_case} if summary else {}
    for verdict in wrote["verdicts"]:
        claim = claims.get(verdict.claim_id)
        prompt = prompts.get(claim.prompt_id) if claim else None
        chunk = chunks.get(verdict.chunk_id)
        entry = _at(at) | about | {
            "run_id": run_id,
            "kind": "verdict",
            "claim_id": verdict.claim_id,
            "claim": claim.text if claim else None,
            "label": verdict.label,
            "reasons": [reason.detail for reason in verdict.reasons],
            "prompt": prompt.text if prompt else None,
            "category": prompt.category if prompt else None,
            "response": responses.get(claim.prompt_id) if claim else None,
            "chunk_id": verdict.chunk_id,
            "document": chunk.document if chunk else None,
            "quote": verdict.quote,
            "judge": verdict.judge,
        }  # fmt: skip
        yield verdict.claim_id, entry


def summary_entry(summary: RunSummary) -> dict[str, Any]:
    """A summary; its use case also as one word, however long it is."""
    return asdict(summary) | _at(summary.started) | {"use_case_exact": document_id(summary.use_case)}


def use_case_is(use_case: str | None) -> dict[str, Any]:
    """The query for summaries of one use case, or of all."""
    return {"match_all": {}} if use_case is None else {"term": {"use_case_exact": document_id(use_case)}}


def _at(seconds: float) -> dict[str, str]:
    """The moment as dates are searched; none where it is no date."""
    try:
        return {"@timestamp": datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds")}
    except (OSError, OverflowError, ValueError):
        return {}


# --- The records ---

PAGE: Final = 100  # events, whose bodies may be long, or summaries that are read at once
ENDS: Final = ("finished", "failed", "interrupted")


class ElasticsearchRecords:
    """``RunRecords`` in two indices of a cluster, for any number of threads, processes and machines.

    ``<index>-audit`` has an entry for each event, which is created and never overwritten, and one for each verdict of
    a claim, of the ``kind`` ``verdict``, with its ``label``, ``claim``, ``prompt``, ``response``, ``reasons``,
    ``quote`` and ``@timestamp``, so that one can ask what a model said of refunds on some day, or count the claims
    without support of a month. ``<index>-history`` has an entry for each run.

    What was written is on the disks of all copies of the index when the method returns, and every search that begins
    afterwards finds it.

    Args:
        config: Cluster, and the beginning of the indices' names.
        environ: Where credentials are; None: the process's environment.

    Raises:
        StoreError: From every method, if the cluster cannot be reached or refuses.
        DataError: For an event or a summary that is no JSON, as NaN is none.
    """

    def __init__(self, config: ElasticsearchConfig, *, environ: Mapping[str, str] | None = None) -> None:
        self._connection = ElasticConnection(config, environ)
        self._audit, self._history = f"{config.index}-audit", f"{config.index}-history"
        self._made: set[str] = set()
        self._next: dict[str, int] = {}  # number of the next event, by run

    def __repr__(self) -> str:
        return f"<ElasticsearchRecords {self._audit!r} and {self._history!r}, {self._connection.where}>"

    def append(self, run_id: str, event: Event) -> None:
        encode_body(event)
        self._make("audit", self._audit)
        if event.kind == "stage" and "verdicts" in (event.body.get("wrote") or ()):
            # Before the event: if this process dies in between, the stage is run again, and writes them again.
            self._write_verdicts(run_id, event)
        writing = secrets.token_hex(8)
        self._connection.ask(lambda client: self._create(client, run_id, event, writing))
        if event.kind in ENDS:
            self._next.pop(run_id, None)

    def events(self, run_id: str) -> list[Event]:
        entries = self._all(self._audit, _events_of(run_id), [{"sequence": "asc"}])
        return [Event(entry["kind"], entry["at"], entry["body"]) for entry in entries]

    def save(self, summary: RunSummary) -> None:
        encode_summary(summary)
        self._make("history", self._history)
        entry = summary_entry(summary)
        self._connection.ask(
            lambda client: client.index(
                index=self._history, id=document_id(summary.run_id), document=entry, refresh=True
            )
        )

    def summary(self, run_id: str) -> RunSummary | None:
        name = document_id(run_id)
        results = self._connection.ask(
            lambda client: client.options(ignore_status=404).get(index=self._history, id=name).body
        )
        return _summary(results["_source"]) if results.get("found") else None

    def runs(self, limit: int = 100, *, use_case: str | None = None) -> list[RunSummary]:
        order = [{"started": "desc"}, {"run_id": "desc"}]
        return [_summary(entry) for entry in self._all(self._history, use_case_is(use_case), order, limit)]

    def close(self) -> None:
        self._connection.close()

    def _make(self, template: str, index: str) -> None:
        if index not in self._made:
            self._connection.make_index(Template.named(template, index), {})
            self._made.add(index)

    def _create(self, client: Elasticsearch, run_id: str, event: Event, writing: str) -> None:
        """Write the event under the next number that is free: numbers have no gaps, and nothing is overwritten."""
        number = self._next.get(run_id)
        if number is None:
            number = self._count(client, run_id)
        while True:
            name = document_id(run_id, number)
            entry = event_entry(run_id, event, number, writing)
            answer = client.options(ignore_status=409).create(index=self._audit, id=name, document=entry, refresh=True)
            if answer.meta.status != 409:
                break
            taken = client.get(index=self._audit, id=name, source_includes=["writing"])
            if taken["_source"]["writing"] == writing:
                break  # by this very call, whose answer was lost
            number += 1
        self._next[run_id] = number + 1

    def _count(self, client: Elasticsearch, run_id: str) -> int:
        search = {"query": _events_of(run_id), "sort": [{"sequence": "desc"}], "size": 1}
        hits = client.search(index=self._audit, body=search, allow_partial_search_results=False)["hits"]["hits"]
        return int(hits[0]["_source"]["sequence"]) + 1 if hits else 0

    def _write_verdicts(self, run_id: str, event: Event) -> None:
        wrote = verdicts_of([*self.events(run_id), event])
        if wrote:
            self._connection.bulk(
                {"_index": self._audit, "_id": document_id(run_id, "verdict", claim_id), "_source": entry}
                for claim_id, entry in verdict_entries(run_id, event.at, wrote, self.summary(run_id))
            )

    def _all(
        self, index: str, query: Mapping[str, Any], sort: list[dict[str, str]], limit: int | None = None
    ) -> list[dict[str, Any]]:
        """Entries in their order, a page after the other; what is sorted by stays as it is."""
        self._connection.check_open()
        results: list[dict[str, Any]] = []
        page: dict[str, Any] = {"index": index, "query": query, "sort": sort, "allow_partial_search_results": False}
        while limit is None or len(results) < limit:
            page["size"] = PAGE if limit is None else min(PAGE, limit - len(results))
            hits = self._connection.ask(lambda client: client.search(**page).body["hits"]["hits"], missing=list)
            results += [hit["_source"] for hit in hits]
            if len(hits) < page["size"]:
                break
            page["search_after"] = hits[-1]["sort"]
        return results


def _events_of(run_id: str) -> dict[str, Any]:
    return {"bool": {"filter": [{"term": {"run_id": run_id}}, {"exists": {"field": "sequence"}}]}}


def _summary(entry: Mapping[str, Any]) -> RunSummary:
    return decode_summary(json.dumps(entry))
