"""The records of all runs in an Elasticsearch cluster: audit trail and history."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from agentguard.gate.config import ElasticsearchConfig
from agentguard.gate.elastic import ElasticConnection, Template, document_id

from .base import Event, RunSummary
from .elasticsearch_index import (
    audit_template,
    event_entry,
    history_template,
    summary_entry,
    use_case_is,
    verdict_entries,
    verdicts_of,
)
from .encoding import decode_summary, encode_body, encode_summary

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

__all__ = ["ElasticsearchRecords"]

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
        config: cluster, and the beginning of the indices' names.
        environ: where credentials are; None: the process's environment.

    Raises:
        StoreError: from every method, where the cluster cannot be reached or refuses.
        DataError: for an event or a summary that is no JSON, as NaN is none.
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
        self._make(audit_template(self._audit))
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
        self._make(history_template(self._history))
        entry = summary_entry(summary)
        self._connection.ask(
            lambda client: client.index(
                index=self._history, id=document_id(summary.run_id), document=entry, refresh=True
            )
        )

    def summary(self, run_id: str) -> RunSummary | None:
        name = document_id(run_id)
        found = self._connection.ask(
            lambda client: client.options(ignore_status=404).get(index=self._history, id=name).body
        )
        return _summary(found["_source"]) if found.get("found") else None

    def runs(self, limit: int = 100, *, use_case: str | None = None) -> list[RunSummary]:
        order = [{"started": "desc"}, {"run_id": "desc"}]
        return [_summary(entry) for entry in self._all(self._history, use_case_is(use_case), order, limit)]

    def close(self) -> None:
        self._connection.close()

    def _make(self, template: Template) -> None:
        if template.index not in self._made:
            self._connection.make_index(template, {})
            self._made.add(template.index)

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
        found: list[dict[str, Any]] = []
        page: dict[str, Any] = {"index": index, "query": query, "sort": sort, "allow_partial_search_results": False}
        while limit is None or len(found) < limit:
            page["size"] = PAGE if limit is None else min(PAGE, limit - len(found))
            hits = self._connection.ask(lambda client: client.search(**page).body["hits"]["hits"], missing=list)
            found += [hit["_source"] for hit in hits]
            if len(hits) < page["size"]:
                break
            page["search_after"] = hits[-1]["sort"]
        return found


def _events_of(run_id: str) -> dict[str, Any]:
    return {"bool": {"filter": [{"term": {"run_id": run_id}}, {"exists": {"field": "sequence"}}]}}


def _summary(entry: Mapping[str, Any]) -> RunSummary:
    return decode_summary(json.dumps(entry))
