"""A report of a store: what is on record there, what it stands for, and what cannot be read."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from agentguard.report import ReportData, ReviewedCall, html_of, report_of_store
from agentguard.report._charts import bars_of
from agentguard.stores import DiskStore, MemoryStore, Store
from agentguard.verification import VerificationEngine
from agentguard.verification._changes import change_event
from agentguard.verification.statistics import log_odds
from agentguard.verification.types import VerdictCounts

from ..rows import over

HOUR = 3_600.0


def audit(store: Store, **changes: object) -> None:
    event = {
        "tool": "search", "call_id": "c1", "session_id": "s1", "posterior": 0.9, "false_block_p": 0.002,
        "verdict": "block", "prior": 0.15, "fired": ["echo_mismatch"], "nats": {"echo_mismatch": 3.93},
        "propensity": 1.0,
    }  # fmt: skip
    store.append("audit", {**event, **changes})


def report(store: Store, *reviewed: ReviewedCall) -> ReportData:
    return report_of_store(store, reviewed, title="t", source="s")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> ReportData:
    """200 calls of one tool, of which the last is another's result, and from the 150th on slower ones."""
    rng = random.Random(3)
    with DiskStore(str(Path(tmp_path_factory.mktemp("store"), "kept"))) as store:
        with VerificationEngine(store=store, audit_rate=0.1) as engine:
            for n in range(200):
                answer = {"id": f"W{n}", "total": 20.0 + n % 9} if n < 199 else {"temperature": 4, "city": "Oslo"}
                slow = 3.0 if n >= 150 else 1.0
                engine.verify(
                    "get_order", args={"id": f"W{n}"}, result=answer, call_id=f"c{n}",
                    execution_time_ms=slow * rng.lognormvariate(4.0, 0.2),
                )  # fmt: skip
        return report(store, ReviewedCall("get_order", 0.99, True, 1.0, "c199", "block"))


def test_counted_calls_are_split_by_the_verdicts_on_record(guarded: ReportData) -> None:
    assert guarded.counts.calls == 200
    assert guarded.counts.suspects == sum(call.verdict != "accept" for call in guarded.worst) >= 1
    assert guarded.tools[0].name == "get_order"
    assert sum(slot.counts.calls for slot in guarded.timeline.slots) == 200
    assert guarded.timeline.unit == "hour"


def test_the_worst_record_is_a_sum_with_its_label(guarded: ReportData) -> None:
    worst = guarded.worst[0]

    assert (worst.tool, worst.call_id, worst.label) == ("get_order", "c199", "fabricated")
    total = sum(bar.nats for bar in bars_of(worst)[1:-1])
    assert total == pytest.approx(log_odds(worst.posterior) - log_odds(worst.prior), abs=0.006)


def test_latency_is_charted_in_the_order_of_calls(guarded: ReportData) -> None:
    (latency,) = guarded.tools[0].charts
    means = [point.mean for point in latency.points]

    assert latency.values >= 180  # what was learned: accepted calls, of 256 that are kept
    assert max(means[:140]) < sum(means[-40:]) / 40  # it rises where it rose
    (drifted,) = [found for found in guarded.tools[0].drifted if found.what == "latency"]
    assert drifted.sigmas is not None
    assert drifted.sigmas > 2.0
    assert drifted.alarms is None


def test_an_accepted_record_counts_for_those_it_stands_for() -> None:
    store = MemoryStore()
    audit(store)
    for k in range(3):
        audit(store, verdict="accept", posterior=0.05 + k / 1_000, nats={}, propensity=0.02, call_id=f"a{k}")
    found = report(store)

    assert found.counts == VerdictCounts(150, 0, 1)
    assert found.histogram.weights[1] == 150.0
    assert found.tools[0].mean_posterior == pytest.approx((3 * 50 * 0.051 + 0.9) / 151)
    assert [call.call_id for call in found.worst] == ["c1"]


def test_hours_without_counts_are_those_of_the_records() -> None:
    now = [5 * HOUR + 10.0]
    store = MemoryStore(clock=lambda: now[0])
    audit(store)
    now[0] = 7 * HOUR
    audit(store, verdict="flag", call_id="c2")
    slots = report(store).timeline.slots

    assert [(slot.first, slot.counts) for slot in slots] == [
        (5, VerdictCounts(0, 0, 1)), (6, VerdictCounts()), (7, VerdictCounts(0, 1, 0)),
    ]  # fmt: skip


@over("changes", [
        {"posterior": "high"}, {"posterior": 1.5}, {"prior": -1}, {"verdict": "deny"}, {"propensity": 0},
        {"nats": [1, 2]}, {"nats": {"a": "b"}}, {"tool": None, "nats": None},
    ])  # fmt: skip
def test_a_record_that_is_none_is_passed_over(changes: dict[str, object]) -> None:
    store = MemoryStore()
    audit(store)
    audit(store, **changes)
    found = report(store)

    assert len(found.worst) == 1
    html_of(found)


@over("call_id", [None, 7, ["c"], {"c": 1}, "<script>"])
def test_whatever_names_a_call(call_id: object) -> None:
    store = MemoryStore()
    audit(store, call_id=call_id, session_id=call_id)

    assert "<script" not in html_of(report(store))


def test_a_document_that_cannot_be_read_is_told_of() -> None:
    store = MemoryStore()
    store.save({"calibrated:search": {"version": 999, "tool": "search", "learned": {}}})
    audit(store)
    (tool,) = report(store).tools

    assert "version" in str(tool.learned["calibrated"])
    assert tool.charts == ()


def test_an_empty_store_makes_a_page() -> None:
    found = report(MemoryStore())

    assert found.counts == VerdictCounts()
    assert "None of 0 calls was flagged or blocked." in html_of(found)


def test_nothing_is_written_to_the_store() -> None:
    store = MemoryStore()
    audit(store)
    before = (list(store.events("audit")), store.names(), store.counts())
    report(store)

    assert (list(store.events("audit")), store.names(), store.counts()) == before


def test_lasting_changes_are_told_with_who_decided_them(changed: ReportData) -> None:
    open_, over, ended = changed.changes

    begin = 1_767_225_600.0  # 2026-01-01 00:00:00 UTC
    what = "price is about × 1,000 its usual level"
    assert (open_.id, open_.tool, open_.what, open_.state, open_.since) == ("aaaa", "get_price", what, "open", begin)
    assert (open_.calls, open_.blocked, open_.reviewed) == (4, 3, False)
    assert (over.id, over.state, over.since, over.reviewed) == ("cccc", "recovered", begin + 4, False)
    assert (ended.id, ended.state, ended.since, ended.reviewed) == ("bbbb", "adopted", begin + 3, True)
    assert changed.more_changes == 0


def test_so_many_changes_are_shown_and_the_rest_is_counted() -> None:
    store = MemoryStore()
    for n in range(40):
        store.append("changes", change_event(f"{n:012}", "t", "open", what="odd"))
    found = report(store)

    assert (len(found.changes), found.more_changes) == (30, 10)


def test_a_record_says_why_in_words(changed: ReportData) -> None:
    assert {step.detail for step in changed.worst[0].steps} == {"price is 1,000 times its usual level"}
