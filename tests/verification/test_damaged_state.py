"""Learned state that cannot be so is not gone on with, whether it comes from a file or stands in the store."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agentguard.admin._transfer import check_event, import_state
from agentguard.errors import DataError
from agentguard.stores import Delta, MemoryStore
from agentguard.verification import VerificationEngine
from agentguard.verification._baseline import ToolMemory
from agentguard.verification._census import check_counts
from agentguard.verification._pool import Pool
from agentguard.verification._reference import Baseline
from agentguard.verification._snapshot import check_seal, encode, restore, sealed


class Shared(MemoryStore):
    """In memory, but engines hand over to it."""

    flush_seconds: float | None = 3_600.0


def order(n: int) -> dict[str, Any]:
    return {
        "args": {"id": f"r-{n % 9}", "q": f"word{n % 5}"},
        "result": {"id": f"r-{n % 9}", "at": f"2025-03-01T10:{n % 60:02d}:00Z", "total": 20.5 + n % 7, "unit": "EUR"},
        "execution_time_ms": 50.0 + n % 7,
        "session_id": f"s{n % 3}",
    }


def taught(mode: Any = "calibrated") -> Shared:
    store = Shared()
    with VerificationEngine(mode=mode, store=store) as engine:
        for n in range(60):
            engine.verify("orders", **order(n))
            engine.verify(
                "notes", args={"q": "rain"}, result="rain today, " * (1 + n % 5), execution_time_ms=9.0 + n % 3
            )
    return store


TAUGHT = {mode: dict(taught(mode).load()) for mode in ("calibrated", "reference")}


@pytest.mark.parametrize("mode", TAUGHT)
def test_what_an_engine_learned_is_restored(mode: str) -> None:
    for name, document in TAUGHT[mode].items():
        record: Any = Baseline() if mode == "reference" else Pool() if name == mode else ToolMemory("", Pool())
        check_seal(json.loads(json.dumps(document)))
        restore(record, document["learned"])
        assert encode(record) == document["learned"]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


@pytest.mark.parametrize("mode", TAUGHT)
@given(data=st.data())
def test_any_change_of_a_document_is_found(mode: str, data: st.DataObject) -> None:
    document = json.loads(json.dumps(TAUGHT[mode][f"{mode}:orders"]))
    path = data.draw(st.sampled_from(list(places(document))))
    place = document
    for key in path[:-1]:
        place = place[key]
    value = data.draw(st.one_of(st.integers(), st.floats(), st.text(), st.none(), st.just([]), st.just({"~Rate": {}})))
    assume(json.dumps(value) != json.dumps(place[path[-1]]))
    place[path[-1]] = value

    with pytest.raises(DataError, match="changed after an engine wrote it"):
        check_seal(document)


def damaged(change: Callable[[Any], None]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(TAUGHT["calibrated"]["calibrated:orders"]))
    change(document["learned"]["~ToolMemory"])
    return document


def negative_scores(learned: Any) -> None:
    learned["scores"]["~Surprises"]["total"] = -400.0


def negative_relations(learned: Any) -> None:
    for _, relation in learned["relations"]["~Relations"]["known"]["~dict"]:
        next(iter(relation.values()))["tried"] = -5


def negative_shape(learned: Any) -> None:
    learned["shapes"]["object"]["~Shape"]["_added_up"] = -3


@pytest.mark.parametrize("change", [negative_scores, negative_relations, negative_shape])
def test_a_damaged_document_of_the_store_is_not_used(
    change: Callable[[Any], None], caplog: pytest.LogCaptureFixture
) -> None:
    store = Shared()
    store.save({"calibrated:orders": damaged(change)})

    with caplog.at_level(logging.ERROR, "agentguard"), VerificationEngine(store=store) as engine:
        found = engine.verify("orders", **order(7))

    with VerificationEngine() as fresh:
        assert found == fresh.verify("orders", **order(7))
    assert "'calibrated:orders' in the store cannot be used and is kept as 'damaged:calibrated:orders'" in caplog.text
    assert store.load(["damaged:calibrated:orders"])["damaged:calibrated:orders"] == damaged(change)


@pytest.mark.parametrize("change", [negative_scores, negative_relations, negative_shape])
def test_a_damaged_document_is_not_imported(change: Callable[[Any], None]) -> None:
    lines = [
        {"agentguard_state": 1, "at": None, "tools": None},
        {"document": "calibrated:orders", "content": damaged(change)},
        {"end": {"documents": 1, "counts": 0, "events": 0}},
    ]
    store = MemoryStore()

    with pytest.raises(DataError, match=r"^line 2: 'calibrated:orders' cannot be used: learned state is damaged: \w+"):
        import_state(store, lambda: (json.dumps(line).encode() + b"\n" for line in lines))

    assert store.load() == {}


def test_a_record_of_an_unknown_kind_is_as_it_was() -> None:
    memory = ToolMemory("orders", Pool())
    memory.suspects = 3

    with pytest.raises(DataError, match="'Wonder', which this version does not know"):
        restore(memory, {"~ToolMemory": {"count": 9, "errors": {"~Wonder": {}}}})

    assert (memory.count, memory.suspects) == (0, 3)


def incident(**changes: Any) -> dict[str, Any]:
    fields = {
        "id": "c1", "traits": [["added", "id", "float"]], "what": "a new field", "verdict": "block",
        "state": "open", "reviewed": False, "calls": 5, "blocked": 2, "judged": 5, "runs": 1, "run": 2, "misses": 0,
        "told": True, "ends": 0, **changes,
    }  # fmt: skip
    return {"incidents": [fields], "same": []}


def same(number: Any, asked: Any = 1) -> dict[str, Any]:
    key = {"~tuple": [{"~bytes": "AAAA"}, 7, "c1", "block", None, number, asked]}
    return {**incident(), "same": [key]}


def imported(incidents: Any) -> None:
    content = sealed({**TAUGHT["calibrated"]["calibrated:orders"], "incidents": incidents})
    lines = [
        {"agentguard_state": 1, "at": None, "tools": None},
        {"document": "calibrated:orders", "content": content},
        {"end": {"documents": 1, "counts": 0, "events": 0}},
    ]
    import_state(MemoryStore(), lambda: (json.dumps(line).encode() + b"\n" for line in lines))


def test_incidents_that_hold_are_taken_in() -> None:
    imported(incident())
    imported(same(97))


@pytest.mark.parametrize(
    "incidents",
    [
        incident(verdict="maybe"), incident(traits=[]), incident(state="unknown"), {"incidents": 5},
    ],
    ids=repr,
)  # fmt: skip
def test_incidents_that_cannot_be_so_are_not_imported(incidents: Any) -> None:
    with pytest.raises(DataError, match=r"^line 2: 'calibrated:orders' cannot be used: its incidents cannot be read"):
        imported(incidents)


COUNTS = {'["calls"]': 10, '["errors"]': 2, '["untimed"]': 4, '["latency",95]': 6, '["kind","object"]': 8}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({'["errors"]': 3}, "'kind' is counted 11 times in 10 calls"),
        ({'["kind","prose"]': 1}, "'kind' is counted 11 times in 10 calls"),
        ({'["untimed"]': 5}, "'latency' is counted 11 times in 10 calls"),
        ({'["latency",96]': 1}, "'latency' is counted 11 times in 10 calls"),
        ({'["size","object",50]': 9}, "'size' is counted 9 times in 8 results"),
        ({'["ending","object","}"]': 9}, "'ending' is counted 9 times in 8 results"),
        ({'["fact","object","id","str"]': 9}, "is counted 9 times in 8 results"),
        ({'["keys","object","",["id"]]': 9}, "is counted 9 times in 8 results"),
        ({'["word","prose","rain"]': 1}, "is counted 1 times in 0 results"),
        ({'["relation","Equal","id","id","",1]': 11}, "is counted 11 times in 10 calls"),
        ({'["left out"]': 11}, "is counted 11 times in 10 calls"),
    ],
)
def test_counts_of_more_than_there_were_are_refused(fields: dict[str, int], said: str) -> None:
    check_counts(COUNTS)
    with pytest.raises(DataError) as caught:
        check_counts({**COUNTS, **fields})
    assert said in str(caught.value)


def test_counts_of_as_many_as_there_were_are_taken() -> None:
    check_counts({
        **COUNTS, '["size","object",50]': 8, '["ending","object","}"]': 8, '["fact","object","id","str"]': 8,
        '["keys","object","",["id"]]': 8, '["relation","Equal","id","id","",1]': 10, '["left out"]': 10,
    })  # fmt: skip


AUDITED = {
    "tool": "t", "call_id": "c", "verdict": "flag", "prior": 0.1, "fired": [], "nats": {}, "propensity": 1.0,
    "posterior": 0.4, "said": {}, "traits": [], "change": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("nats", {"echo_mismatch": math.inf}), ("nats", {"echo_mismatch": math.nan}), ("nats", {"echo_mismatch": -1e9}),
        ("nats", {"echo_mismatch": "5"}), ("said", {"echo_mismatch": 5}), ("said", []), ("traits", "abc"),
        ("traits", [5]), ("change", 5), ("posterior", 1.5), ("posterior", -0.1), ("posterior", math.nan),
        ("propensity", -1.0), ("propensity", 2.0), ("false_block_p", 7), ("session_id", 5), ("prior", None),
    ],
    ids=repr,
)  # fmt: skip
def test_events_that_cannot_be_so_are_refused(name: str, value: Any) -> None:
    check_event("audit", AUDITED)
    label = {**AUDITED, "was_hallucination": True, "confidence_score": 0.5}
    check_event("feedback", label)

    with pytest.raises(DataError, match=f"the field '{name}' of an event of kind audit cannot be used"):
        check_event("audit", {**AUDITED, name: value})
    if value is not None:
        with pytest.raises(DataError, match=f"the field '{name}' of an event of kind feedback cannot be used"):
            check_event("feedback", {**label, name: value})


def test_the_number_of_a_label_of_another_log_is_not_taken_in() -> None:
    change = {"change": "c1", "tool": "t", "state": "fault", "by": "label"}
    check_event("changes", change)

    with pytest.raises(DataError, match="'reviews' of an event of kind changes"):
        check_event("changes", {**change, "reviews": 10**30})
    lines = [
        {"agentguard_state": 1, "at": None, "tools": None},
        {"event": "changes", "sequence": 1, "at": 1.0, "content": {**change, "label": 10**9}},
        {"end": {"documents": 0, "counts": 0, "events": 1}},
    ]
    with pytest.raises(DataError, match="line 2: the field 'label' of an event of kind changes"):
        import_state(MemoryStore(), lambda: (json.dumps(line).encode() + b"\n" for line in lines))


def test_counts_of_other_workers_that_cannot_be_so_are_not_taken_in(caplog: pytest.LogCaptureFixture) -> None:
    store, seen = Shared(), []
    with VerificationEngine(store=store) as engine, caplog.at_level(logging.ERROR, "agentguard"):
        for n in range(20):
            engine.verify("orders", **order(n))
        engine.flush()
        for sequence, fact in enumerate(('["fact","object","id","str"]', '["kind","object"]'), 1):
            more = {'["calls"]': 1, '["kind","object"]': 1}
            store.merge(Delta("other", sequence, {"orders": {**more, fact: 1 if sequence == 2 else 900}}))
            engine.verify("orders", **order(20 + sequence))
            engine.flush()
            learned: Any = store.load(["calibrated:orders"])["calibrated:orders"]
            seen.append(learned["learned"]["~ToolMemory"]["shapes"]["object"]["~Shape"]["count"])

    assert caplog.text.count("what other workers counted of a tool cannot be used") == 1
    assert seen[0] == 21  # those that were judged here
    assert VerificationEngine(store=store).verify("orders", **order(30)).verdict == "accept"
