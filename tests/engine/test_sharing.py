"""Several engines on one store: what one has seen, the others know; nothing is counted twice or lost."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from agentguard.errors import StoreError
from agentguard.stores import Delta, Document, MemoryStore
from agentguard.verification import VerificationEngine
from agentguard.verification import _persistence as persistence
from agentguard.verification._census import field
from agentguard.verification._snapshot import sealed

from . import recorded

KEPT = 3600.0  # seconds: the engine counts for the fleet, and no thread of it comes in between
CALLS = field("calls")


class SharedStore(MemoryStore):
    """In memory, and yet told what is learned, as stores are that outlive the process."""

    flush_seconds: float | None = KEPT

    def __init__(self) -> None:
        super().__init__()
        self.gone = False

    def extend(self, kind: str, events: Sequence[Mapping[str, Any]], /) -> int:
        self.reach()
        return super().extend(kind, events)

    def merge(self, delta: Delta, /) -> int:
        self.reach()
        return super().merge(delta)

    def save(self, documents: Mapping[str, Document], /) -> None:
        self.reach()
        super().save(documents)

    def load(self, names: Any = None, /) -> dict[str, Document]:
        self.reach()
        return super().load(names)

    def events(self, kind: str, /, after: int = 0) -> Any:
        self.reach()
        return super().events(kind, after)

    def counts(self, names: Any = None, /, since: int = 0) -> dict[int, dict[str, dict[str, int]]]:
        self.reach()
        return super().counts(names, since)

    def reach(self) -> None:
        if self.gone:
            raise StoreError("the store at example:6379 does not answer; start it again")


def total(store: MemoryStore, tool: str, name: str = CALLS) -> int:
    return sum(tools.get(tool, {}).get(name, 0) for tools in MemoryStore.counts(store).values())


def weather(engine: VerificationEngine, begin: int, end: int, **more: Any) -> None:
    for number in range(begin, end):
        city = recorded.CITIES[number % 10]
        result = {"city": city, "temperature": number % 17 + 0.5, **more}
        engine.verify("get_weather", args={"city": city}, result=result, execution_time_ms=100.0 + number % 7)


def test_a_worker_that_comes_later_knows_what_the_first_one_learned() -> None:
    store = SharedStore()
    first = VerificationEngine(store=store)
    weather(first, 0, 60)
    first.flush()
    second = VerificationEngine(store=store)

    wrong = {"args": {"city": "Oslo"}, "result": {"city": "Riga", "temperature": 3.5}, "learn": False}
    assert second.verify("get_weather", **wrong) == first.verify("get_weather", **wrong)
    assert second.verify("get_weather", **wrong).verdict != "accept"
    assert VerificationEngine(store=SharedStore()).verify("get_weather", **wrong).verdict == "accept"


def test_workers_that_run_at_the_same_time_learn_from_one_another() -> None:
    """A field that is new to one worker is known once another one has seen it often."""
    store = SharedStore()
    engines = [VerificationEngine(store=store) for _ in range(2)]
    for engine in engines:
        weather(engine, 0, 60)
        engine.flush()
    with_new_field = {"args": {"city": "Oslo"}, "result": {"city": "Oslo", "temperature": 3.5, "wind": 4}}
    before = engines[1].verify("get_weather", **with_new_field, learn=False).signals["structure_mismatch"]
    weather(engines[0], 60, 160, wind=4)
    engines[0].flush()
    weather(engines[1], 60, 61)
    engines[1].flush()

    after = engines[1].verify("get_weather", **with_new_field, learn=False).signals["structure_mismatch"]
    assert before.fired
    assert not after.fired


def test_everything_is_counted_once_however_often_it_is_flushed() -> None:
    store = SharedStore()
    engines = [VerificationEngine(store=store) for _ in range(3)]
    for round_ in range(5):
        for engine in engines:
            weather(engine, round_ * 10, round_ * 10 + 10)
            engine.flush()
            engine.flush()

    assert total(store, "get_weather") == 150
    assert total(store, "get_weather", field("kind", "object")) == 150
    # The first call proposes the relation.
    assert total(store, "get_weather", field("relation", "Equal", "city", "city", "", 1)) == 149


def test_what_was_learned_from_others_is_not_told_them_again() -> None:
    store = SharedStore()
    engines = [VerificationEngine(store=store) for _ in range(2)]
    for _ in range(6):
        for engine in engines:
            weather(engine, 0, 1)
            engine.flush()
    assert total(store, "get_weather") == 12
    learned = store.load(["calibrated:get_weather"])["calibrated:get_weather"]["learned"]["~ToolMemory"]["count"]
    assert 10 <= learned <= 12  # of both: 12, but for what the other one counted before the tool was first met here


def test_labels_reach_every_worker() -> None:
    store = SharedStore()
    engines = [VerificationEngine(store=store) for _ in range(2)]
    engines[0].record_feedback("get_weather", 0.3, True)
    assert engines[1].verify("get_weather", learn=False).prior == 0.15
    engines[1].flush()
    engines[0].flush()

    assert engines[0].verify("get_weather", learn=False).prior == pytest.approx(7 / 41)
    assert engines[1].verify("get_weather", learn=False).prior == pytest.approx(7 / 41)


def test_a_label_on_a_call_that_another_worker_judged_finds_it() -> None:
    store = SharedStore()
    engines = [VerificationEngine(store=store) for _ in range(2)]
    for engine in engines:
        engine.register_tool_profile("get_weather", required_fields=["humidity"])
    verdict = engines[0].verify("get_weather", result={"city": "Oslo"}, call_id="a")
    assert verdict.verdict != "accept"
    before = verdict.signals["schema_mismatch"].likelihood_ratio
    engines[1].record_feedback("get_weather", verdict.posterior, False, "a")
    engines[0].flush()

    for engine in engines:
        after = engine.verify("get_weather", result={"city": "Oslo"}, learn=False)
        assert 1.0 < after.signals["schema_mismatch"].likelihood_ratio < before


def test_a_tool_that_is_reset_is_unknown_to_every_worker() -> None:
    store = SharedStore()
    engine = VerificationEngine(store=store)
    weather(engine, 0, 60)
    engine.flush()
    store.forget(["calibrated:get_weather", "get_weather"])
    store.append("feedback", {"reset": "get_weather", "labels": False})
    engine.flush()

    verdict = engine.verify("get_weather", args={"city": "Oslo"}, result={"city": "Riga"}, learn=False)
    assert not verdict.signals["structure_mismatch"].applicable


class TestOutage:
    """The store is gone: the caller notices nothing, and in the end nothing is missing."""

    def test_calls_go_on_and_are_counted_when_it_is_back(self, caplog: pytest.LogCaptureFixture) -> None:
        store = SharedStore()
        engine = VerificationEngine(store=store)
        weather(engine, 0, 30)
        engine.flush()
        store.gone = True
        for number in range(30, 90, 10):
            weather(engine, number, number + 10)
            engine._persistence.flush_quietly()
        assert total(store, "get_weather") == 30
        said = [record for record in caplog.records if "goes on without it" in record.getMessage()]
        assert len(said) == 1, "one outage is one line in the log"
        store.gone = False
        engine.flush()

        assert total(store, "get_weather") == 90
        assert any("reached again" in record.getMessage() for record in caplog.records)

    def test_asked_for_a_flush_it_says_that_the_store_is_gone(self) -> None:
        store = SharedStore()
        engine = VerificationEngine(store=store)
        weather(engine, 0, 3)
        store.gone = True
        with pytest.raises(StoreError, match="does not answer"):
            engine.flush()
        with pytest.raises(StoreError, match="does not answer"):
            engine.record_feedback("get_weather", 0.3, True)
        assert engine.verify("get_weather", learn=False).prior == 0.15

    def test_a_delta_whose_answer_was_lost_counts_once(self) -> None:
        class Hasty(SharedStore):
            lost = 0

            def merge(self, delta: Delta, /) -> int:
                hour = super().merge(delta)
                if self.lost:
                    self.lost -= 1
                    raise StoreError("the connection broke")
                return hour

        store = Hasty()
        engine = VerificationEngine(store=store)
        weather(engine, 0, 10)
        store.lost = 2
        for _ in range(2):
            with pytest.raises(StoreError, match="broke"):
                engine.flush()
            weather(engine, 0, 5)
        engine.flush()
        engine.flush()
        assert total(store, "get_weather") == 20

    def test_audit_records_wait_for_the_store(self) -> None:
        store = SharedStore()
        engine = VerificationEngine(store=store)
        engine.register_tool_profile("get_weather", required_fields=["humidity"])
        store.gone = True
        verdicts = [engine.verify("get_weather", result={"city": "Oslo"}, call_id=str(n)) for n in range(3)]
        assert all("not on record" in verdict.note for verdict in verdicts)
        assert "does not answer" in verdicts[0].note
        store.gone = False
        engine.flush()

        assert [record.event["call_id"] for record in store.events("audit")] == ["0", "1", "2"]

    def test_where_failures_are_closed_ones_what_is_not_on_record_is_blocked(self) -> None:
        store = SharedStore()
        engine = VerificationEngine(store=store)
        engine.register_tool_profile("get_weather", required_fields=["humidity"], on_error="closed")
        engine.register_tool_profile("search", required_fields=["hits"], on_error="open")
        open_before = engine.verify("search", result={"city": "Oslo"}, learn=False).verdict
        store.gone = True
        assert engine.verify("get_weather", result={"city": "Oslo"}).verdict == "block"
        assert engine.verify("search", result={"city": "Oslo"}).verdict == open_before

    def test_a_worker_that_starts_while_it_is_gone_does_not_write_over_what_others_learned(self) -> None:
        store = SharedStore()
        first = VerificationEngine(store=store)
        weather(first, 0, 60)
        first.record_feedback("get_weather", 0.4, True)
        first.close()
        store.gone = True
        late = VerificationEngine(store=store)
        weather(late, 0, 2)
        store.gone = False
        late.flush()

        wrong = {"args": {"city": "Oslo"}, "result": {"city": "Riga", "temperature": 3.5}, "learn": False}
        verdict = VerificationEngine(store=store).verify("get_weather", **wrong)
        assert verdict.verdict != "accept"
        assert late.verify("get_weather", **wrong).verdict != "accept"
        assert late.verify("get_weather", **wrong).prior > 0.15

    def test_a_store_that_raises_something_else_does_no_harm_either(self, caplog: pytest.LogCaptureFixture) -> None:
        class Strange(SharedStore):
            def save(self, documents: Mapping[str, Document], /) -> None:
                raise KeyError("secret")

            def extend(self, kind: str, events: Sequence[Mapping[str, Any]], /) -> int:
                raise KeyError("secret")

        engine = VerificationEngine(store=Strange())
        engine.register_tool_profile("get_weather", required_fields=["humidity"])
        with caplog.at_level(logging.INFO):
            verdict = engine.verify("get_weather", result={"city": "Oslo"})
            assert verdict.note == "not on record: the store raised KeyError"
            engine._persistence.flush_quietly()
        assert "secret" not in caplog.text


def renamed(learned: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if name == old else name: fields for name, fields in learned.items()}


def test_the_labels_of_a_tool_that_is_reset_with_them_weigh_no_more() -> None:
    store = SharedStore()
    engine = VerificationEngine(store=store)
    engine.register_tool_profile("get_weather", required_fields=["humidity"])
    asked = {"result": {"city": "Oslo"}, "learn": False}
    before = engine.verify("get_weather", **asked)
    for number in range(30):
        engine.verify("get_weather", result={"city": "Oslo"}, call_id=str(number))
        engine.record_feedback("get_weather", 0.7, False, str(number))
    assert engine.verify("get_weather", **asked).posterior < before.posterior
    store.append("feedback", {"reset": "get_weather", "labels": True})
    engine.flush()

    for asked_engine in (engine, VerificationEngine(store=store)):
        asked_engine.register_tool_profile("get_weather", required_fields=["humidity"])
        assert asked_engine.verify("get_weather", **asked).posterior == before.posterior


def test_what_is_no_label_in_the_log_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    store = SharedStore()
    store.append("feedback", {"tool": "get_weather"})
    store.append("feedback", {"tool": "get_weather", "was_hallucination": True, "propensity": "often"})
    store.append("feedback", {"tool": "get_weather", "was_hallucination": True})
    engine = VerificationEngine(store=store)
    assert engine.verify("get_weather", learn=False).prior == pytest.approx(7 / 41)
    assert caplog.text.count("is no label") == 2


def test_where_nobody_flushes_the_next_record_takes_the_waiting_ones_with_it() -> None:
    """A store without write-behind: an outage that is over is over, also under ``on_error: closed``."""
    store = SharedStore()
    store.flush_seconds = None
    engine = VerificationEngine(store=store)
    engine.register_tool_profile("get_weather", required_fields=["humidity"], on_error="closed")
    store.gone = True
    for name in ("0", "1"):
        assert "on_error is closed" in engine.verify("get_weather", result={"city": "Oslo"}, call_id=name).note
    store.gone = False
    assert "not on record" not in engine.verify("get_weather", result={"city": "Oslo"}, call_id="2").note
    assert [record.event["call_id"] for record in store.events("audit")] == ["0", "1", "2"]


def test_what_is_no_audit_record_in_the_log_is_passed_over() -> None:
    store = SharedStore()
    for event in ({"call_id": "x"}, {"call_id": "x", "tool": "t", "verdict": "flag", "prior": "much"}, {"tool": "t"}):
        store.append("audit", event)
    engine = VerificationEngine(store=store)
    engine.record_feedback("t", 0.4, True, "x")
    assert engine.verify("t", learn=False).prior == pytest.approx(7 / 41)


def test_a_profile_is_told_without_asking_the_store() -> None:
    store = SharedStore()
    engine = VerificationEngine(store=store)
    engine.register_tool_profile("get_weather", required_fields=["humidity"])
    store.load = None  # type: ignore[assignment]  # whoever asks it raises
    assert engine.profile_of("get_weather").required_fields == ("humidity",)
    assert engine.profile_of("unknown").name == "unknown"


def test_what_is_counted_after_an_outage_is_handed_over_with_the_last_flush() -> None:
    store = SharedStore()
    engine = VerificationEngine(store=store)
    weather(engine, 0, 3)
    store.merge, kept = None, store.merge  # type: ignore[assignment,method-assign]  # whoever calls it raises
    with pytest.raises(TypeError):
        engine.flush()
    store.merge = kept  # type: ignore[method-assign]
    weather(engine, 3, 5)
    engine.close()
    assert sum(hour["get_weather"][CALLS] for hour in store.counts().values()) == 5


def test_an_audit_record_that_the_store_refuses_does_not_hold_up_the_others() -> None:
    class Choosy(SharedStore):
        def extend(self, kind: str, events: Sequence[Mapping[str, Any]], /) -> int:
            if any(event.get("call_id") == "1" for event in events):
                raise StoreError("this one is refused")
            return super().extend(kind, events)

    store = Choosy()
    engine = VerificationEngine(store=store)
    engine.register_tool_profile("get_weather", required_fields=["humidity"])
    for number in range(4):
        engine.verify("get_weather", result={"city": "Oslo"}, call_id=str(number))
    engine.flush()
    assert [record.event["call_id"] for record in store.events("audit")] == ["0", "2", "3"]


class TestDamage:
    def test_a_document_of_an_older_version_is_migrated(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """As if what is a ``~ToolMemory`` today had been called ``~Tool`` once, two versions ago."""
        store = SharedStore()
        first = VerificationEngine(store=store)
        weather(first, 0, 60)
        first.flush()
        name = "calibrated:get_weather"
        document = store.load([name])[name]
        store.save({name: sealed({**document, "learned": {"~Older": document["learned"]["~ToolMemory"]}})})
        steps = {1: lambda old: renamed(old, "~Older", "~Tool"), 2: lambda old: renamed(old, "~Tool", "~ToolMemory")}
        monkeypatch.setattr(persistence, "VERSION", 3)
        monkeypatch.setattr(persistence, "MIGRATIONS", steps)

        wrong = {"args": {"city": "Oslo"}, "result": {"city": "Riga", "temperature": 3.5}, "learn": False}
        second = VerificationEngine(store=store)
        assert second.verify("get_weather", **wrong) == first.verify("get_weather", **wrong)
        weather(second, 0, 1)
        second.flush()
        assert store.load([name])[name]["version"] == 3

    def test_a_document_of_another_version_is_put_aside(self, caplog: pytest.LogCaptureFixture) -> None:
        store = SharedStore()
        strange = {"version": 99, "tool": "get_weather", "learned": {"~Wonder": {}}}
        store.save({"calibrated:get_weather": strange})
        engine = VerificationEngine(store=store)
        weather(engine, 0, 3)
        engine.flush()

        assert store.load(["damaged:calibrated:get_weather"]) == {"damaged:calibrated:get_weather": strange}
        assert store.load(["calibrated:get_weather"])["calibrated:get_weather"]["version"] == 1
        assert "version 99" in caplog.text

    @pytest.mark.parametrize(
        "learned", [None, 7, {}, {"~ToolMemory": 3}, {"~Pool": {}}, {"~ToolMemory": {"count": {"~x": 1}}}, {"a": 1}]
    )
    def test_a_document_that_cannot_be_read_is_put_aside(self, learned: Any) -> None:
        store = SharedStore()
        store.save({"calibrated:get_weather": sealed({"version": 1, "learned": learned})})
        engine = VerificationEngine(store=store)
        weather(engine, 0, 3)
        engine.flush()

        assert "damaged:calibrated:get_weather" in store.names()
        assert total(store, "get_weather") == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_worker_counts_its_own_calls_only() -> None:
    """The parent has calls that it has not handed over when it forks; the child does not hand them over again."""
    import tempfile

    from agentguard.stores._disk import DiskStore

    with tempfile.TemporaryDirectory() as folder:
        store = DiskStore(folder, flush_seconds=KEPT)
        engine = VerificationEngine(store=store)
        weather(engine, 0, 10)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                weather(engine, 10, 15)
                engine.flush()
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        weather(engine, 15, 18)
        engine.close()
        found = store.counts()
        assert sum(tools["get_weather"][CALLS] for tools in found.values()) == 18
        store.close()
