"""Learned state that cannot be so is not gone on with, whether it comes from a file or stands in the store."""

from __future__ import annotations

import json
import logging
import math
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentguard.admin._transfer import check_event, import_state
from agentguard.errors import DataError
from agentguard.stores import Delta, MemoryStore
from agentguard.verification import VerificationEngine
from agentguard.verification._baseline import ToolMemory
from agentguard.verification._census import check_counts
from agentguard.verification._document import read
from agentguard.verification._keys import KeyHistory, Keys
from agentguard.verification._pool import Owner, Pool, SessionLog
from agentguard.verification._reference import Baseline, History
from agentguard.verification._relations import Constants, Counts, Deciders, Equal, Relations, Templates
from agentguard.verification._shape import Shape
from agentguard.verification._sides import Side
from agentguard.verification._snapshot import check_record, restore
from agentguard.verification._voice import Voice
from agentguard.verification.drift import Clocks, NumberChart, Stream, Stuck
from agentguard.verification.statistics import Categories, Level, Rate, Ring, RunningStats, Surprises
from agentguard.verification.types import ToolCall


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


def put(**fields: Any) -> Callable[[Any], None]:
    def change(record: Any) -> None:
        for name, value in fields.items():
            setattr(record, name, value)

    return change


def ring(*values: float, size: int = 4) -> Ring:
    made = Ring(size)
    for value in values:
        made.push(value)
    return made


def stats(*values: float, keep: int = 2) -> RunningStats:
    made = RunningStats(keep)
    for value in values:
        made.push(value)
    return made


def shape() -> Shape:
    made = Shape()
    for _ in range(4):
        made.learn(read({"id": 7, "name": "x"}))
    return made


def history(calls: int = 3) -> History:
    made = History()
    for n in range(calls):
        made.push({"total": float(n)})
    return made


def baseline(calls: int = 3) -> Baseline:
    made = Baseline()
    for n in range(calls):
        call = ToolCall("t", {"a": n}, {"total": n}, 5.0, "s")
        made.push(call, read(call.result), b"k" * 16)
    return made


def with_sessions(*sessions: Any) -> Callable[[Any], None]:
    def change(record: Baseline) -> None:
        record._sessions.clear()
        record._sessions.update((bytes([n]) * 16, results) for n, results in enumerate(sessions))

    return change


FAULTS: dict[str, tuple[Callable[[], Any], Callable[[Any], None], str]] = {
    "a negative total": (Rate, put(hits=-2.0, total=-1.0), "a Rate has -2 hits of -1"),
    "more hits than there were": (Rate, put(hits=3.0, total=2.0), "a Rate has 3 hits of 2"),
    "negative hits": (Rate, put(hits=-0.5, total=2.0), "a Rate has -0.5 hits of 2"),
    "an absurd total": (Rate, put(hits=0.0, total=1e300), "a Rate has 0 hits of 1e"),
    "hits that are no number": (Rate, put(hits=math.nan), "hits of a Rate is no finite number"),
    "a total without end": (Rate, put(total=math.inf), "total of a Rate is no finite number"),
    "text for a number": (Rate, put(hits="1"), "hits of a Rate is a str"),
    "a truth for a number": (Rate, put(hits=True), "hits of a Rate is a bool"),
    "counts that come to more": (
        Categories, put(counts={"a": 3, "b": 2}, total=4), "counts that come to 5 of 4"
    ),
    "a count of nothing": (Categories, put(counts={"a": 0}, total=1), "a count that is none"),
    "a negative count": (Categories, put(counts={"a": 3, "b": -1}, total=4), "a count that is none"),
    "more singles than there were": (Categories, put(singles=5, total=4), "5 that came once, of 4"),
    "negative singles": (Categories, put(singles=-1, total=4), "-1 that came once, of 4"),
    "a share of a count": (Categories, put(total=1.5), "total of a Categories is a float"),
    "a count beyond all bounds": (Categories, put(total=10**400), "total of a Categories is beyond all bounds"),
    "a negative memory": (lambda: Surprises(0.1), put(total=-8.0), "a total of -8"),
    "more surprises than calls": (
        lambda: Surprises(0.1), put(total=1.0, bins=array("d", [1.0, 0.5])), "a histogram of 1.5 in a total of 1"
    ),
    "negative surprises": (lambda: Surprises(0.1), put(total=9.0, bins=array("d", [-1.0])), "a histogram that is none"),
    "too many bins": (lambda: Surprises(0.1), put(total=99.0, bins=array("d", [1.0] * 49)), "a histogram that is none"),
    "bins of another type": (lambda: Surprises(0.1), put(bins=[1.0]), "bins of a Surprises is a list"),
    "no prior": (lambda: Surprises(0.1), put(prior=0.0), "a prior that is none"),
    "a floor above all": (lambda: Surprises(0.1), put(floor=1.5), "a prior that is none"),
    "values out of order": (
        lambda: ring(1.0, 3.0, 2.0), put(ordered=array("d", [1.0, 3.0, 2.0])), "values that are out of their order"
    ),
    "other values in order": (
        lambda: ring(1.0, 3.0, 2.0), put(ordered=array("d", [1.0, 2.0, 4.0])), "values that are out of their order"
    ),
    "a value too few": (lambda: ring(1.0, 2.0), put(ordered=array("d", [1.0])), "2 and 1 values in 4"),
    "more values than there is room": (lambda: ring(1.0, 2.0), put(size=1), "2 and 2 values in 1"),
    "no room": (lambda: ring(), put(size=0), "a size of 0"),
    "absurd room": (lambda: ring(), put(size=1 << 40), "a size of 1,099,511,627,776"),
    "an oldest value that is not there": (lambda: ring(1.0, 2.0), put(_oldest=1), "an oldest value that is none"),
    "an oldest value beyond": (lambda: ring(*range(5)), put(_oldest=4), "an oldest value that is none"),
    "a value that is no number": (lambda: ring(1.0), put(_arrived=array("d", [math.nan])), "is no finite number"),
    "short numbers": (lambda: ring(1.0), put(_arrived=array("f", [1.0])), "_arrived of a Ring is a array"),
    "a negative variance": (Level, put(variance=-0.1), "a variance of -0.1"),
    "no variance": (Level, put(variance=0.0), "a variance of 0"),
    "negative squares": (Level, put(squares=-1.0), "of -1"),
    "a negative level count": (Level, put(count=-3.0), "a count of -3"),
    "negative falls": (Level, put(falls=-1), "falls or rises below none"),
    "a least value above zero": (Level, put(least=2.0), "a least value below zero of 2"),
    "a level at the end of all numbers": (Level, put(last=math.inf), "last of a Level is no finite number"),
    "no power": (Stream, put(power=0.0), "a power of 0"),
    "negative evidence": (NumberChart, put(evidence=-1.0), "evidence of -1"),
    "evidence beyond all": (NumberChart, put(evidence=1e6), "evidence of 1e+06"),
    "a slope of one": (NumberChart, put(slope=1.0), "a slope of 1"),
    "a negative spread": (NumberChart, put(spread=-1.0), "a spread of -1"),
    "no power of a chart": (NumberChart, put(power=0.0), "a power of 0"),
    "a rate above one": (Stuck, put(rate=1.5), "a rate of 1.5"),
    "no rate": (Stuck, put(rate=0.0), "a rate of 0"),
    "a negative run": (Stuck, put(run=-1), "a run of -1"),
    "evidence of repetition beyond all": (Stuck, put(evidence=99.0), "evidence of 99"),
    "a rate within": (Stuck, lambda stuck: put(hits=2.0, total=1.0)(stuck.again), "again: a Rate has 2 hits of 1"),
    "a value that never came": (Constants, put(places={"unit": {7: 0.0}}), "a count that is none"),
    "a value that is none": (Constants, put(places={"unit": {-7: 1.0}}), "a value that is none"),
    "decisions without places": (Counts, put(held=[1]), "a count that is none"),
    "more decided than asked": (Counts, lambda counts: counts.held.__setitem__(0, 2), "more that held than were tried"),
    "a place twice": (Deciders, put(places={"a": 1, "b": 1}), "places that are none"),
    "rows that end early": (Deciders, put(rows={7: b"\3ab"}), "rows that are cut off"),
    "a relation that held too often": (lambda: Equal("a", "b"), put(held=3, tried=2), "3 that held, of 2"),
    "a relation tried below none": (lambda: Equal("a", "b"), put(foreign_tried=-1), "0 that held, of -1"),
    "a relation under another's name": (
        Relations, put(known={("Equal", "a", "c", ""): Equal("a", "b")}), "a relation under another's name"
    ),
    "earlier calls without end": (Relations, put(recent=deque()), "earlier calls that are none"),
    "paths that are no text": (lambda: Side({"a": [1]}), put(paths=(7,)), "paths that are none"),
    "a number without end": (lambda: Side({"a": [1]}), put(_numbers={"a": (math.inf,)}), "a number that is none"),
    "a call of one part": (SessionLog, put(calls={7: [(1,)]}), "calls that are none"),
    "a session without calls": (SessionLog, put(calls={7: []}), "more calls than are kept"),
    "a text that is none": (Templates, put(known=[[-1]]), "a text that is none"),
    "counts of another size": (Voice, put(counts=array("H", [1]), characters=1), "1 counts"),
    "a spread below none": (Voice, put(squares=-1.0), "a spread that is none"),
    "a clock that is no number": (Clocks, put(standing={"at": math.nan}), "standing: a number is beyond all bounds"),
    "more changes than calls": (
        lambda: KeyHistory(frozenset()), put(count=3, changes=3), "3 changes in 3 calls"
    ),
    "more results than calls": (
        lambda: KeyHistory(frozenset()), put(count=1, results=array("Q", [1, 2])), "more results than calls"
    ),
    "more results than are kept": (
        lambda: KeyHistory(frozenset()), put(count=9, results=array("Q", range(6))), "more results than calls"
    ),
    "means of other numbers": (
        lambda: KeyHistory(frozenset()), put(paths=("a",), means=array("f", [1.0, 2.0])), "2 means of 1 numbers"
    ),
    "a word that is cut off": (lambda: KeyHistory(frozenset()), put(words=b"abc"), "checksums that are cut off"),
    "too many marks": (lambda: KeyHistory(frozenset()), put(marks=bytes(72)), "more of a text than is kept"),
    "a key that is cut off": (Keys, put(owners={7: b"abc"}), "keys that are cut off"),
    "too many owners": (Keys, put(owners={7: bytes(80)}), "keys that are cut off"),
    "a word in no key": (Keys, put(word_counts={7: 0}), "a count that is none"),
    "a key that is text": (Keys, put(owners={"7": bytes(16)}), "owners of a Keys holds something else"),
    "more votes than results": (lambda: Owner(7), put(votes=3, results=2), "3 votes of 2"),
    "negative votes": (lambda: Owner(7), put(votes=-1, results=2), "-1 votes of 2"),
    "negative results of all": (Pool, put(results=-5), "-5 results"),
    "too many owners of results": (
        Pool, put(owners=dict.fromkeys(range(140_000), 1)), "owners: there are 140,000 things"
    ),
    "a trait of more results": (
        shape, lambda made: made.facts.update({("id", float): 9}), "a trait of 13 results, of "
    ),
    "a trait of no results": (shape, lambda made: made.facts.update({("id", float): -9}), "a count that is none"),
    "more results than were counted": (shape, put(count=99), "a Shape has 99 results"),
    "negative results of a shape": (Shape, put(count=-1, _added_up=-1), "-1 results"),
    "results that never came": (
        shape, put(_to_count=Counter({read({"id": 7, "name": "x"}).layout: -1})), "a count that is none"
    ),
    "a stock from the future": (shape, put(_usual_at=5), "a stock of 5 results, of 4"),
    "a trait that is none": (shape, put(_usual=frozenset({7})), "a trait that is none"),
    "a layout that is none": (shape, put(_as_usual={7}), "a layout that is none"),
    "a negative sum of squares": (lambda: stats(1.0), put(_m2=-1.0), "a sum of squares of -1"),
    "more kept than came": (lambda: stats(1.0), put(n=0), "1 of 0 values"),
    "more kept than there is room": (lambda: stats(1.0, 2.0), put(keep=1), "2 of 2 values"),
    "a next place beyond": (lambda: stats(1.0, 2.0, 3.0), put(_next=2), "a next value that is none"),
    "a next place too early": (lambda: stats(1.0, keep=9), put(_next=1), "a next value that is none"),
    "more numbers than calls of some arguments": (history, put(calls=2), "more numbers than calls"),
    "more numbers than calls": (baseline, put(calls=2), "more numbers than calls"),
    "negative calls": (Baseline, put(calls=-1), "-1 calls"),
    "a session that grows": (baseline, with_sessions(deque([{"total": 1.0}])), "a session without a bound"),
    "a session of no numbers": (
        baseline, with_sessions(deque([{"total": math.inf}], maxlen=10)), "a number is beyond all bounds"
    ),
    "lengths of other kinds": (
        lambda: ToolMemory("t", Pool()), put(lengths={"object": Ring(4)}), "lengths or endings of other kinds"
    ),
    "negative results of a tool": (lambda: ToolMemory("t", Pool()), put(count=-1), "-1 results"),
    "negative suspects": (lambda: ToolMemory("t", Pool()), put(suspects=-1), "suspects below none"),
    "deep within": (
        lambda: ToolMemory("t", Pool()),
        lambda memory: put(hits=5.0)(memory.errors),
        "errors: a Rate has 5 hits of 0",
    ),
}  # fmt: skip


def test_what_cannot_be_so_is_refused_with_its_place(subtests: pytest.Subtests) -> None:
    for name, (new, change, said) in FAULTS.items():
        with subtests.test(name):
            record = new()
            check_record(record)

            change(record)

            with pytest.raises(DataError) as caught:
                check_record(record)
            assert str(caught.value).startswith("learned state is damaged: ")
            assert said in str(caught.value)


@pytest.mark.parametrize("mode", TAUGHT)
def test_what_an_engine_learned_holds(mode: str) -> None:
    for name, document in TAUGHT[mode].items():
        record: Any = Baseline() if mode == "reference" else Pool() if name == mode else ToolMemory("", Pool())
        restore(record, document["learned"], check_record)


#: Fields whose numbers may lie on either side of 0, or are digests.
SIGNED = {
    "ewma", "lag", "last", "level", "mean", "run", "rises", "_names_left", "_numbers", "owners", "sessions", "forms",
    "result", "_sessions", "calls", "clocks", "standing", "after", "rows", "places", "marks", "known",
}  # fmt: skip


def numbers(value: Any, path: tuple[Any, ...] = (), field: str = "") -> Iterator[tuple[tuple[Any, ...], str]]:
    """The places of all numbers other than 0 in what is written of records, each with the name of its field."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers(item, (*path, key), key if is_record(path) else field)
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from numbers(item, (*path, place), field)
    elif type(value) in (int, float) and value:
        yield path, field


def is_record(path: tuple[Any, ...]) -> bool:
    return bool(path) and isinstance(path[-1], str) and path[-1][:1] == "~" and path[-1][1:2].isupper()


@pytest.mark.parametrize("mode", TAUGHT)
def test_no_number_of_a_document_may_be_below_zero_that_never_is(mode: str) -> None:
    tried, taken = 0, []
    for name, document in TAUGHT[mode].items():
        for path, field in list(numbers(document["learned"])):
            if field in SIGNED:
                continue
            written = json.loads(json.dumps(document["learned"]))
            place = written
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = -place[path[-1]]
            record: Any = Baseline() if mode == "reference" else Pool() if name == mode else ToolMemory("", Pool())
            tried += 1
            try:
                restore(record, written, check_record)
            except DataError:
                continue
            taken.append((name, path, place[path[-1]]))
    assert taken == []
    assert tried > 50


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


def test_a_record_that_does_not_hold_is_as_it_was() -> None:
    memory = ToolMemory("orders", Pool())
    memory.suspects = 3

    with pytest.raises(DataError):
        restore(memory, {"~ToolMemory": {"count": 9, "errors": {"~Rate": {"hits": 2.0}}}}, check_record)

    assert (memory.count, memory.suspects, memory.errors.hits) == (0, 3, 0.0)


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
    content = {**TAUGHT["calibrated"]["calibrated:orders"], "incidents": incidents}
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
        incident(calls=-1), incident(blocked=9), incident(runs=10**30), incident(verdict="maybe"), {"incidents": 5},
        same(1.5), same(-1), same(10**30), same(9, -1), incident(clues=[9.0]), incident(judged=6),
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


def test_a_counter_is_checked_by_its_own_type() -> None:
    made = shape()
    made.facts = Counter()
    check_record(made)
    made.facts = {}  # type: ignore[assignment]  # which is what is refused
    with pytest.raises(DataError, match="facts of a Shape is a dict"):
        check_record(made)


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
