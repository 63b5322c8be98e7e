"""What a store holds as a file: the same there and back, and nothing written of a file that is not whole."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.admin import _transfer as transfer
from agentguard.admin._overview import overview
from agentguard.admin._transfer import Export, Imported, contents_of, import_state
from agentguard.errors import DataError, StoreError
from agentguard.stores import Delta, Document, MemoryStore
from agentguard.verification import VerificationEngine
from agentguard.verification import _persistence as persistence
from agentguard.verification._snapshot import sealed

LABEL = {"tool": "weather", "confidence_score": 0.4, "was_hallucination": True, "call_id": None}


class Shared(MemoryStore):
    """In memory, but engines hand over to it."""

    flush_seconds: float | None = 3_600.0


def taught() -> Shared:
    """Both modes, several kinds of results, sessions, names and values of all sorts, labels and audit records."""
    store = Shared()
    for mode in ("calibrated", "reference"):
        with VerificationEngine(mode=mode, store=store, audit_rate=1.0) as engine:  # type: ignore[arg-type]  # both are
            for n in range(60):
                record = {"id": f"r-{n % 4}", "at": f"2025-03-01T10:{n:02d}:00Z", "rows": [{"x": n, "y": None}], "v": n}
                engine.verify(
                    "records", args={"id": f"r-{n % 4}"}, result=record, execution_time_ms=50.0 + n % 7,
                    session_id=f"s{n % 3}", call_id=f"c{n}",
                )  # fmt: skip
                engine.verify("téxt\ud800", args={"q": "rain"}, result="rain today, " * (1 + n % 5))
                engine.verify("errors", result={"error": "not found"} if n % 2 else [], execution_time_ms=float("inf"))
            engine.record_feedback("records", 0.4, True, call_id="c59")
            engine.record_feedback("errors", 0.1, False)
    return store


TAUGHT = taught()
LINES = tuple(Export(TAUGHT, at=1_767_225_600.0))


def reading(lines: Any) -> Callable[[], Iterator[bytes]]:
    return lambda: iter(lines)


def line(**data: Any) -> bytes:
    return json.dumps(data).encode() + b"\n"


def made(*lines: bytes, **end: int) -> list[bytes]:
    counted = {"documents": 0, "counts": 0, "events": 0, **end}
    return [line(agentguard_state=1, at=None, tools=None), *lines, line(end=counted)]


def timeless(lines: Any) -> list[Any]:
    """The lines without what a store gives out itself: numbers and times of events."""
    parsed = [json.loads(one) for one in lines]
    return [{key: value for key, value in one.items() if key not in ("sequence", "at")} for one in parsed]


def content(store: MemoryStore) -> Any:
    return dict(store.load()), store.counts(), [[*store.events(kind)] for kind in ("feedback", "audit", "changes")]


def test_there_and_back_gives_the_same_lines() -> None:
    store = MemoryStore()

    done = import_state(store, reading(LINES))

    assert timeless(Export(store, at=1_767_225_600.0)) == timeless(LINES)
    # Two modes of three tools, and what all tools have in common in one; three tools; an audit record of each of
    # 2 × 180 calls, four labels, and two events of changes.
    assert done == Imported(documents=7, counts=3, events=366)
    assert store.load() == TAUGHT.load()


def test_an_engine_goes_on_from_what_was_imported() -> None:
    store = Shared()
    import_state(store, reading(LINES))
    call: dict[str, Any] = {"args": {"id": "r-1"}, "result": {"id": "r-9"}, "execution_time_ms": 52.0}

    with VerificationEngine(store=TAUGHT) as there, VerificationEngine(store=store) as here:
        assert here.verify("records", **call, learn=False) == there.verify("records", **call, learn=False)


def test_a_file_of_some_tools_holds_nothing_of_others() -> None:
    lines = timeless(Export(TAUGHT, ["errors"]))

    assert lines[0]["tools"] == ["errors"]
    assert {one.get("document") for one in lines[1:-1]} - {None} == {"calibrated:errors", "reference:errors"}
    assert {one.get("counts") for one in lines[1:-1]} - {None} == {"errors"}
    assert {one["content"]["tool"] for one in lines[1:-1] if "event" in one} == {"errors"}


def test_a_file_of_an_unknown_tool_is_not_made() -> None:
    with pytest.raises(DataError, match="near it: 'errors'"):
        Export(TAUGHT, ["error"])


def test_counts_of_several_hours_are_one_sum() -> None:
    now = [3_600.0]
    store = MemoryStore(clock=lambda: now[0])
    store.merge(Delta("w", 1, {"weather": {'["calls"]': 2}}))
    now[0] = 7_200.0
    store.merge(Delta("w", 2, {"weather": {'["calls"]': 3, '["errors"]': 1}}))

    assert timeless(Export(store))[1] == {"counts": "weather", "fields": {'["calls"]': 5, '["errors"]': 1}}


def test_labels_that_were_taken_back_are_not_exported() -> None:
    store = MemoryStore()
    for event in (LABEL, {"reset": "weather", "labels": True}, {**LABEL, "call_id": "c2"}, {"reset": "weather"}):
        store.append("feedback", event)

    events = [one["content"]["call_id"] for one in timeless(Export(store)) if "event" in one]

    assert events == ["c2"]


def test_what_no_engine_can_read_is_left_out_and_named() -> None:
    store = MemoryStore()
    store.save({"calibrated:a": {"version": 1, "tool": "a", "learned": 5}, "notes": {}})
    store.append("audit", {"tool": "a"})

    export = Export(store)

    assert len(list(export)) == 2
    assert sorted(export.left_out) == ["audit 1", "calibrated:a", "notes"]


def test_the_same_content_is_refused_a_second_time_whatever_file_it_is_in() -> None:
    store = MemoryStore()
    import_state(store, reading(LINES))
    before = content(store)

    with pytest.raises(DataError, match="documents of these names: 'calibrated', 'calibrated:errors'"):
        import_state(store, reading(LINES))
    with pytest.raises(DataError, match="has taken in this content before"):
        import_state(store, reading([*Export(TAUGHT, at=1.0)]), replace=True)
    assert content(store) == before


def test_again_counts_nothing_twice() -> None:
    store = MemoryStore()
    import_state(store, reading(LINES))
    before = content(store)

    done = import_state(store, reading(LINES), replace=True, again=True)

    assert done.events == 0
    assert content(store) == before


class FailingOnce(MemoryStore):
    """Fails at the third event."""

    appended = 0

    def append(self, kind: str, event: Document, /) -> int:
        self.appended += 1
        if self.appended == 3:
            raise StoreError("the disk is full")
        return super().append(kind, event)


def test_an_import_that_broke_off_is_completed_by_the_next() -> None:
    lines = made(*(line(event="feedback", sequence=n, at=1.0, content={**LABEL, "n": n}) for n in range(5)), events=5)
    store = FailingOnce()

    with pytest.raises(StoreError, match=r"the disk is full; part of the file is in the store"):
        import_state(store, reading(lines))
    import_state(store, reading(lines), replace=True, again=True)

    kept = [record.event["n"] for record in store.events("feedback")]
    # The one that failed had been claimed: of an event that may or may not be kept, none is kept twice.
    assert kept == [0, 1, 3, 4]


def test_other_tools_of_the_store_stay_as_they_are() -> None:
    store = Shared()
    with VerificationEngine(store=store) as engine:
        engine.verify("mine", result={"a": 1})
    mine = store.load(["calibrated:mine"])

    import_state(store, reading(list(Export(TAUGHT, ["errors"]))))

    assert store.load(["calibrated:mine"]) == mine
    assert {tool.tool for tool in overview(store).tools} == {"errors", "mine"}


def test_a_file_that_changes_while_it_is_read_is_told_of() -> None:
    other = made(line(event="feedback", sequence=1, at=1.0, content={**LABEL, "call_id": "other"}), events=1)
    versions = iter([made(line(event="feedback", sequence=1, at=1.0, content=LABEL), events=1), other])

    with pytest.raises(DataError, match="changed while it was read"):
        import_state(MemoryStore(), lambda: iter(next(versions)))


DOCUMENT = {"version": 1, "tool": "weather", "learned": {"~ToolMemory": {}}}
AUDITED = {
    "tool": "weather", "call_id": "c", "verdict": "flag", "prior": 0.1, "fired": [], "nats": {}, "propensity": 1.0,
}  # fmt: skip


def document(name: str = "calibrated:weather", **changes: Any) -> list[bytes]:
    return made(line(document=name, content=sealed({**DOCUMENT, **changes})), documents=1)


def counts(fields: Any) -> list[bytes]:
    return made(line(counts="weather", fields=fields), counts=1)


def event(kind: str, content: Any) -> list[bytes]:
    return made(line(event=kind, sequence=1, at=1.0, content=content), events=1)


def test_the_smallest_forms_are_taken_in() -> None:
    newer = '["calls by day",3]'
    for lines in (
        made(), document(), document("calibrated", tool=None, learned={"~Pool": {}}), event("feedback", LABEL),
        document("reference:weather", learned={"~Baseline": {}}), counts({'["calls"]': 1, newer: 2}),
        event("audit", AUDITED),
    ):  # fmt: skip
        import_state(MemoryStore(), reading(lines))


def deep(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


FAULTY: dict[str, tuple[Any, str]] = {
    "empty": ([], "the file is empty"),
    "something else": ([b"tool,calls\n"], "line 1: it is no JSON"),
    "another JSON": ([b'{"tool": "weather"}\n'], "line 1: this is no exported state"),
    "a newer file": ([b'{"agentguard_state": 2}\n'], "version 2, this agentguard reads versions up to 1: upgrade"),
    "a version of True": ([b'{"agentguard_state": true}\n'], "line 1: this is no exported state"),
    "no UTF-8": ([LINES[0], b"\xff\xfe\n"], "line 2: it is no JSON"),
    "NaN": ([LINES[0], b'{"event": NaN}\n'], "line 2: it is no JSON"),
    "a bomb of brackets": ([LINES[0], b"[" * 100_000 + b"\n"], "line 2: it is no JSON"),
    "digits without end": ([LINES[0], b'{"counts": ' + b"9" * 20_000 + b"}\n"], "line 2: it is n"),
    "cut off": (LINES[:-1], "cut off"),
    "a line lost": ([*LINES[:3], *LINES[4:]], "lines are missing, or were added"),
    "more after the end": ([*LINES, LINES[-1]], "there is more after the end"),
    "the same twice": (made(*document()[1:2] * 2, documents=2), "is there twice"),
    "an unknown line": (made(line(program="rm -rf"), documents=0), "line 2: it is neither"),
    "an unknown kind of event": (event("receipts", {}), "line 2: it is neither"),
    "a newer document": (document(version=2), "has version 2, this agentguard knows versions up to 1: upgrade it"),
    "no version": (document(version=None), "cannot be used: it has version None"),
    "another's name": (document(tool="search"), "not named by the tool"),
    "a stranger's document": (document("secrets"), "is no document of an engine"),
    "a damaged one": (document("damaged:calibrated:weather"), "is no document of an engine"),
    "another class": (document(learned={"~Pool": {}}), "a ToolMemory was expected"),
    "an unknown class": (document(learned={"~ToolMemory": {"keys": {"~Popen": {}}}}), "does not know"),
    "a deep one": (document(learned={"~ToolMemory": {"forms": deep(200)}}), "nested too deeply"),
    "changed since": (
        made(line(document="calibrated:weather", content={**sealed(DOCUMENT), "new": 1}), documents=1),
        "it was changed after an engine wrote it",
    ),
    "an infinity": (document(more=1e308 * 10), "it is no JSON"),
    "no record at all": (document("reference:weather", learned={"a": 1}), "cannot be used: learned state"),
    "shared by nobody": (document("reference", learned={"~Baseline": {}}), "nothing of all tools together"),
    "counts of text": (counts({'["calls"]': "1"}), "is no count of calls"),
    "counts below zero": (counts({'["calls"]': -1}), "is no count of calls"),
    "counts of a truth": (counts({'["calls"]': True}), "is no count of calls"),
    "counts without end": (counts({'["calls"]': 10**30}), "is no count of calls"),
    "a field without its parts": (counts({'["latency"]': 1}), "is no count of calls"),
    "a bucket beyond all numbers": (counts({'["latency",99999999]': 1}), "is no count of calls"),
    "keys that are none": (counts({'["keys","object","",[5]]': 1}), "is no count of calls"),
    "a field that is none": (counts({"calls": 1}), "is no count of calls"),
    "no counts": (counts({}), "must be an object of counts"),
    "a label without a tool": (event("feedback", {"was_hallucination": True}), "the field 'tool'"),
    "a label without a finding": (event("feedback", {"tool": "weather"}), "the field 'was_hallucination'"),
    "a reset": (event("feedback", {"reset": "weather", "labels": True}), "the field 'tool'"),
    "a label of odd signals": (event("feedback", {**LABEL, "fired": [[]]}), "the field 'fired'"),
    "an audit record without a sum": (event("audit", {**AUDITED, "nats": None}), "the field 'nats'"),
    "an audit record of no verdict": (event("audit", {**AUDITED, "verdict": "maybe"}), "the field 'verdict'"),
    "an event beyond the depth": (event("feedback", {**LABEL, "x": deep(300)}), "cannot be kept as JSON"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTY)
def test_a_faulty_file_is_refused_and_nothing_is_written(name: str) -> None:
    lines, said = FAULTY[name]
    store = MemoryStore()

    with pytest.raises(DataError) as caught:
        import_state(store, reading(lines))

    assert said in str(caught.value)
    assert content(store) == ({}, {}, [[], [], []])
    assert store.claim("import", "nothing was claimed") is True


def test_a_line_beyond_all_bounds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentguard.admin._transfer.MAX_LINE_BYTES", 100)

    with pytest.raises(DataError, match="line 2: it is longer than 100 bytes"):
        contents_of([LINES[0], b'"' + b"x" * 200 + b'"\n'])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


ODD = st.sampled_from([float("inf"), float("-inf"), float("nan"), 1e308, -1e308, 1e39, 10**400, 5e-324, "9" * 400])
results = st.recursive(
    json_values | ODD,
    lambda inner: st.dictionaries(st.text(max_size=2), inner, max_size=3) | st.lists(inner, max_size=3),
)


@given(st.lists(st.tuples(results, results, st.none() | ODD | st.floats()), min_size=1, max_size=6))
def test_whatever_an_engine_learned_goes_there_and_back(calls: list[tuple[Any, Any, Any]]) -> None:
    store, other = Shared(), Shared()
    for mode in ("calibrated", "reference"):
        with VerificationEngine(mode=mode, store=store) as engine:  # type: ignore[arg-type]  # one of the two
            engine.trust("odd", 100)
            for args, result, milliseconds in calls:
                engine.verify("odd", args={"a": args}, result={"r": result}, execution_time_ms=milliseconds)
                engine.verify("odd", args=args, result=result, execution_time_ms=milliseconds, session_id="s")

    export = Export(store)
    import_state(other, lambda: iter(export))

    assert export.left_out == []
    assert other.load() == store.load()


@given(st.lists(st.binary(max_size=60), max_size=4))
def test_any_bytes_are_refused_with_one_kind_of_error(lines: list[bytes]) -> None:
    with pytest.raises(DataError):
        import_state(MemoryStore(), reading(lines))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value."""
    yield path
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*path, key))


@given(st.data())
def test_an_engine_judges_on_whatever_was_taken_in(data: st.DataObject) -> None:
    number = data.draw(st.integers(1, 12))
    changed = json.loads(LINES[number])
    path = data.draw(st.sampled_from([path for path in places(changed) if path]))
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = data.draw(json_values)
    lines = [*LINES[:number], json.dumps(changed).encode() + b"\n", *LINES[number + 1 :]]
    store = Shared()

    try:
        import_state(store, reading(lines))
    except DataError:
        assert content(store) == ({}, {}, [[], [], []])
        return
    with VerificationEngine(store=store) as engine:
        for tool in ("records", "errors"):
            engine.verify(tool, args={"id": "r-1"}, result={"id": "r-1", "v": 3}, execution_time_ms=51.0)
        engine.flush()
    assert overview(store).tools


def test_documents_of_an_older_version_are_taken_in_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(persistence, "VERSION", 2)
    monkeypatch.setattr(transfer, "VERSION", 2)
    monkeypatch.setitem(persistence.MIGRATIONS, 1, lambda learned: {"~ToolMemory": {"count": learned["results"]}})
    store = MemoryStore()

    import_state(store, reading(document(learned={"results": 7})))
    with pytest.raises(DataError, match="cannot be brought from version 1 to 2"):
        import_state(MemoryStore(), reading(document(learned={})))

    assert store.load()["calibrated:weather"]["version"] == 1
