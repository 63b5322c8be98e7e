"""What is said of records in a cluster beyond the protocol."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import datetime, timezone
from typing import Any

import pytest
from elastic_transport import ConnectionError
from elasticsearch import Elasticsearch

from agentguard.gate._config import ElasticsearchConfig
from agentguard.gate._types import Chunk, Claim, ClaimVerdict, Prompt, Reason, Response
from agentguard.gate.records._base import Event, RunSummary
from agentguard.gate.records._elasticsearch import ElasticsearchRecords

DAY = 86_400.0
MARCH_15 = datetime(2026, 3, 15, 12, tzinfo=timezone.utc).timestamp()
SUMMARY = RunSummary("r1", "running", MARCH_15, "help desk of a shop", "1f", "ollama:llama3.2", "rules", "host:17")


@pytest.fixture
def place(elasticsearch_url: str, index_name: str) -> ElasticsearchConfig:
    return ElasticsearchConfig(host=elasticsearch_url, index=index_name)


@pytest.fixture
def records(place: ElasticsearchConfig) -> ElasticsearchRecords:
    return ElasticsearchRecords(place)


@pytest.fixture
def cluster(elasticsearch_url: str) -> Elasticsearch:
    return Elasticsearch(elasticsearch_url)


def stage(at: float, key: str, *items: Any) -> Event:
    wrote = json.loads(json.dumps({key: [asdict(item) for item in items]}))
    return Event("stage", at, {"name": f"stage of {key}", "wrote": wrote})


def run_of(at: float, label: Any = "unsupported") -> list[Event]:
    """The trail of a run that judges two claims of an answer; the first is judged as ``label`` says."""
    chunk = Chunk("7c", "docs/returns.md", "Returns", "", "Refunds take 14 days.", 0, 21)
    evidence = {"chunks": [asdict(chunk)], "found": [["p1.c1", [[0, 2.5]]], ["p1.c2", []]]}
    return [
        Event("started", at - 1, {}),
        stage(at, "prompts", Prompt("p1", "When do I get my money back?", "policy_boundaries")),
        stage(at, "responses", Response("p1", "Refunds are paid within 3 days. Nobody asks why.")),
        stage(at, "claims", Claim("p1.c1", "p1", "Refunds are paid within 3 days."), Claim("p1.c2", "p1", "Ask not.")),
        Event("stage", at, {"name": "stage of evidence", "wrote": {"evidence": evidence}}),
        stage(
            at,
            "verdicts",
            ClaimVerdict("p1.c1", label, (Reason("number", "3 days, not 14"),), "7c", "take 14 days", "rules"),
            ClaimVerdict("p1.c2", "supported", (Reason("overlap", "as it is written"),), None, "", "rules"),
        ),
    ]


def verdicts(cluster: Elasticsearch, place: ElasticsearchConfig, **search: Any) -> list[dict[str, Any]]:
    found = cluster.search(index=f"{place.index}-audit", sort=["@timestamp", "run_id", "claim_id"], size=100, **search)
    return [hit["_source"] for hit in found["hits"]["hits"]]


def test_what_did_the_model_say_about_refunds_on_march_15(
    records: ElasticsearchRecords, place: ElasticsearchConfig, cluster: Elasticsearch
) -> None:
    for run_id, at in (("r0", MARCH_15 - DAY), ("r1", MARCH_15), ("r2", MARCH_15 + DAY)):
        records.save(replace(SUMMARY, run_id=run_id))
        for event in run_of(at):
            records.append(run_id, event)
    (said,) = verdicts(
        cluster,
        place,
        query={
            "bool": {
                "must": {"match": {"claim": "refund refunds"}},
                "filter": {"range": {"@timestamp": {"gte": "2026-03-15", "lt": "2026-03-16"}}},
            }
        },
    )

    assert said == {
        "@timestamp": "2026-03-15T12:00:00.000+00:00", "run_id": "r1", "kind": "verdict", "claim_id": "p1.c1",
        "claim": "Refunds are paid within 3 days.", "label": "unsupported", "reasons": ["3 days, not 14"],
        "prompt": "When do I get my money back?", "category": "policy_boundaries",
        "response": "Refunds are paid within 3 days. Nobody asks why.", "chunk_id": "7c", "quote": "take 14 days",
        "document": "docs/returns.md", "judge": "rules", "target": "ollama:llama3.2", "use_case": "help desk of a shop",
    }  # fmt: skip


def test_how_many_unsupported_claims_were_there_in_30_days(
    records: ElasticsearchRecords, place: ElasticsearchConfig, cluster: Elasticsearch
) -> None:
    labels = {40: "unsupported", 29: "unsupported", 20: "supported", 10: "weakly_supported", 1: "unsupported"}
    for days, label in labels.items():
        for event in run_of(MARCH_15 - days * DAY, label):
            records.append(f"r{days}", event)
    month = {"bool": {"filter": [{"term": {"label": "unsupported"}}, {"range": {"@timestamp": {"gte": "2026-02-13"}}}]}}

    assert cluster.count(index=f"{place.index}-audit", query=month)["count"] == 2


def test_risk_can_be_drawn_over_time(
    records: ElasticsearchRecords, place: ElasticsearchConfig, cluster: Elasticsearch
) -> None:
    for day, risk in enumerate((0.0, 0.25, 0.5)):
        for again in (0.0, 0.1):
            run = replace(SUMMARY, run_id=f"{day} {again}", started=MARCH_15 + day * DAY, risk=risk + again)
            records.save(replace(run, decision="deploy"))
    days = cluster.search(
        index=f"{place.index}-history",
        size=0,
        query={"term": {"decision": "deploy"}},
        aggs={
            "days": {
                "date_histogram": {"field": "@timestamp", "calendar_interval": "day"},
                "aggs": {"risk": {"avg": {"field": "risk"}}},
            }
        },
    )["aggregations"]["days"]["buckets"]

    assert [bucket["risk"]["value"] for bucket in days] == pytest.approx([0.05, 0.3, 0.55])


def test_a_stage_that_is_run_again_leaves_each_verdict_once(
    records: ElasticsearchRecords, place: ElasticsearchConfig, cluster: Elasticsearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    *before, last = run_of(MARCH_15)
    for event in before:
        records.append("r1", event)
    with monkeypatch.context() as patched:
        patched.setattr(records, "_create", _interrupted)  # verdicts are written, the event is not
        with pytest.raises(KeyboardInterrupt):
            records.append("r1", last)
    assert records.events("r1") == before

    resumed = ElasticsearchRecords(place)
    resumed.append("r1", last)

    assert resumed.events("r1") == [*before, last]
    judged = verdicts(cluster, place, query={"term": {"kind": "verdict"}})
    assert [found["claim_id"] for found in judged] == ["p1.c1", "p1.c2"]


def test_an_answer_that_is_lost_leaves_the_event_once(records: ElasticsearchRecords) -> None:
    records.append("r1", Event("started", 1.0, {"n": 1}))
    transport = records._connection._client.transport
    perform, asked = transport.perform_request, []

    def losing(method: str, target: str, **options: Any) -> Any:
        answer = perform(method, target, **options)
        asked.append(answer.meta.status)
        if len(asked) == 1:
            raise ConnectionError("reset")
        return answer

    transport.perform_request = losing  # type: ignore[method-assign]  # it is what fails
    records.append("r1", Event("stage", 2.0, {"n": 2}))
    records.append("r1", Event("failed", 3.0, {"n": 3}))

    assert asked == [201, 409, 200, 201]
    assert [event.body["n"] for event in records.events("r1")] == [1, 2, 3]


def test_no_event_is_ever_overwritten(
    records: ElasticsearchRecords, place: ElasticsearchConfig, cluster: Elasticsearch
) -> None:
    other = ElasticsearchRecords(place)
    for number in range(6):
        (records, other)[number % 2].append("r1", Event("stage", 1.0, {"n": number}))
    found = cluster.search(index=f"{place.index}-audit", version=True, sort=["sequence"])["hits"]["hits"]

    assert [hit["_source"]["sequence"] for hit in found] == [0, 1, 2, 3, 4, 5]
    assert {hit["_version"] for hit in found} == {1}
    assert [event.body["n"] for event in records.events("r1")] == [0, 1, 2, 3, 4, 5]


def test_fields_of_a_later_version_are_left_alone(
    records: ElasticsearchRecords, place: ElasticsearchConfig, cluster: Elasticsearch
) -> None:
    records.save(SUMMARY)
    (found,) = cluster.search(index=f"{place.index}-history")["hits"]["hits"]
    later = found["_source"] | {"cost": {"euros": 3}}
    cluster.index(index=f"{place.index}-history", id=found["_id"], document=later, refresh=True)

    assert records.summary("r1") == SUMMARY
    assert records.runs() == [SUMMARY]


def test_a_time_that_is_no_date_is_kept(records: ElasticsearchRecords) -> None:
    records.append("r1", Event("started", 1e300, {}))
    records.save(replace(SUMMARY, started=-1e300))

    assert records.events("r1") == [Event("started", 1e300, {})]
    assert records.runs()[0].started == -1e300


def test_they_show_where_they_are(records: ElasticsearchRecords, place: ElasticsearchConfig) -> None:
    assert repr(records) == (
        f"<ElasticsearchRecords '{place.index}-audit' and '{place.index}-history', Elasticsearch at {place.host}>"
    )


def _interrupted(*arguments: object) -> None:
    raise KeyboardInterrupt
