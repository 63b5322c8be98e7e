"""The ``RunRecords`` protocol as a test class to subclass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol

import pytest

from agentguard.errors import DataError, StoreError
from agentguard.gate.records._base import Event, RunRecords, RunSummary

SUMMARY: Final = RunSummary(
    run_id="20260301T120000-a1",
    status="running",
    started=1_772_366_400.125,
    use_case="help desk",
    config_digest="1f",
    target="ollama:llama3.2",
    judge="rules",
    process="host:17",
)
FINISHED: Final = replace(
    SUMMARY,
    status="finished",
    ended=1_772_366_423.5,
    prompts_digest="2e",
    evidence_digest="3d",
    decision="warn",
    risk=1 / 6,
    total_claims=3,
    supported=2,
    weakly_supported=1,
    unsupported=0,
)

CALLS: Final[dict[str, Callable[[RunRecords], Any]]] = {
    "append": lambda records: records.append("r1", Event("started", 1.0, {})),
    "events": lambda records: records.events("r1"),
    "save": lambda records: records.save(SUMMARY),
    "summary": lambda records: records.summary("r1"),
    "runs": lambda records: records.runs(),
}

BODIES: Final[dict[str, dict[str, Any]]] = {
    "empty": {},
    "nested": {"name": "verify", "wrote": {"verdicts": [{"label": "supported", "reasons": [["a", None]]}], "x": {}}},
    "numbers": {"int": 10**30, "float": 0.1 + 0.2, "tiny": 5e-324, "minus": -0.5, "bool": [True, False, None]},
    "texts": {"": "", "ä b": "„Zwei Jahre“ 🙂 \\ \" ' <b>\n\t\x00\x7f", "a.b": {"$c": 1}},
    "surrogates": {"text": "half of a pair: \ud83d"},
    "mixed": {"values": [1, "one", {"one": 1}, [1]], "1": "one"},
    "long": {"text": "warranty " * 50_000},
    "deep": {"list": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]},
}


def _endless() -> dict[str, Any]:
    body: dict[str, Any] = {}
    body["itself"] = body
    return body


NO_JSON: Final[dict[str, Any]] = {
    "nan": {"risk": math.nan},
    "infinite": {"risk": [math.inf]},
    "set": {"labels": {"supported"}},
    "bytes": {"text": b"x"},
    "object": {"x": object()},
    "number as a key": {"x": {1: "one"}},
    "list": [1],
    "endless": _endless(),
}


class RecordsOpener(Protocol):
    """Opens records, and again the same ones."""

    def __call__(self) -> RunRecords:
        """Records at the test's own place."""


class RecordsConformance:
    """Holds records to the ``RunRecords`` protocol: subclass it in a file of tests, and say how yours are opened.

    ::

        from agentguard.gate.conformance import RecordsConformance


        class TestMyRecords(RecordsConformance):
            def open(self, place):
                return MyRecords(place)

    ``place`` is a path that nothing lies at; a fixture ``place`` of your class gives something else, as the name of an
    index on a server. Tests open the same place twice to see what is there for the next.
    """

    def open(self, place: Any) -> RunRecords:
        """Your records at a place that no other test uses.

        Args:
            place: What the fixture ``place`` returned.
        """
        raise NotImplementedError("define open(self, place) -> RunRecords")

    @pytest.fixture
    def place(self, tmp_path: Path) -> Any:
        """Path of a test's records, unless a subclass has another fixture of this name."""
        return tmp_path / "records"

    @pytest.fixture
    def opened(self, place: Any) -> Iterator[RecordsOpener]:
        """Opens records in one place, and closes them when the test ends."""
        all_records: list[RunRecords] = []

        def opener() -> RunRecords:
            all_records.append(self.open(place))
            return all_records[-1]

        yield opener
        for records in all_records:
            records.close()

    @pytest.fixture
    def records(self, opened: RecordsOpener) -> RunRecords:
        """New records, empty."""
        return opened()

    def test_nothing_is_known_at_first(self, records: RunRecords) -> None:
        assert records.events("r1") == []
        assert records.summary("r1") is None
        assert records.runs() == []
        assert records.runs(use_case="help desk") == []

    # --- Events

    def test_events_come_back_in_the_order_of_writing(self, records: RunRecords) -> None:
        trail = [
            Event("started", 5.25, {"config": {"use_case": "help desk"}}),
            Event("stage", 7.5, {"name": "generate_prompts", "wrote": {"prompts": [{"id": "p1"}]}}),
            Event("stage", 6.0, {"name": "run_model", "wrote": {}}),  # a clock that was set back
            Event("stage", 6.0, {"name": "run_model", "wrote": {}}),  # twice the same
            Event("failed", 6.0, {"error": "no answer"}),
        ]
        for event in trail:
            records.append("r1", event)
        records.append("r2", Event("started", 1.0, {}))

        assert records.events("r1") == trail
        assert records.events("r2") == [Event("started", 1.0, {})]

    def test_a_long_trail_comes_back_whole(self, records: RunRecords) -> None:
        for number in range(120):
            records.append("r1", Event("stage", float(number), {"number": number}))

        assert [event.body["number"] for event in records.events("r1")] == list(range(120))

    @pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
    def test_a_body_comes_back_exactly(self, records: RunRecords, body: dict[str, Any]) -> None:
        records.append("r1", Event("stage", 1_772_366_400.123456, body))
        (event,) = records.events("r1")

        assert event == Event("stage", 1_772_366_400.123456, body)
        assert repr(event.body) == repr(body)  # equal, and of the same types

    def test_one_key_may_hold_different_types(self, records: RunRecords) -> None:
        bodies = [{"value": value} for value in (1, "one", [1], {"one": 1}, None, 0.5, True, "2026-03-01")]
        for body in bodies:
            records.append("r1", Event("stage", 1.0, body))

        assert [event.body for event in records.events("r1")] == bodies

    def test_a_body_may_have_thousands_of_keys(self, records: RunRecords) -> None:
        body = {f"key{number}": number for number in range(3_000)}
        records.append("r1", Event("stage", 1.0, body))

        assert records.events("r1") == [Event("stage", 1.0, body)]

    @pytest.mark.parametrize("body", NO_JSON.values(), ids=NO_JSON)
    def test_what_is_no_json_object_is_refused(self, records: RunRecords, body: Any) -> None:
        with pytest.raises(DataError):
            records.append("r1", Event("stage", 1.0, body))

        assert records.events("r1") == []

    @pytest.mark.parametrize("run_id", ["a b/c?d#e", "Ärger", "..", "'; DROP TABLE events; --", "x" * 500, "*"])
    def test_any_text_names_a_run(self, records: RunRecords, run_id: str) -> None:
        records.append(run_id, Event("started", 1.0, {"n": 1}))
        records.save(replace(SUMMARY, run_id=run_id))

        assert records.events(run_id) == [Event("started", 1.0, {"n": 1})]
        assert records.summary(run_id) == replace(SUMMARY, run_id=run_id)
        assert records.events(run_id[:-1]) == []

    # --- Summaries

    @pytest.mark.parametrize("summary", [SUMMARY, FINISHED], ids=["running", "finished"])
    def test_a_summary_comes_back_as_it_was(self, records: RunRecords, summary: RunSummary) -> None:
        records.save(summary)

        assert records.summary(summary.run_id) == summary
        assert records.runs() == [summary]

    def test_a_summary_takes_the_place_of_the_one_before(self, records: RunRecords) -> None:
        records.save(SUMMARY)
        records.save(FINISHED)

        assert records.summary(SUMMARY.run_id) == FINISHED
        assert records.runs() == [FINISHED]

    def test_a_failure_keeps_its_words(self, records: RunRecords) -> None:
        failed = replace(SUMMARY, status="failed", ended=9e9, error="no answer:\n„\ud83d“ " + "x" * 40_000)
        records.save(failed)

        assert records.summary(SUMMARY.run_id) == failed

    def test_runs_come_the_newest_first(self, records: RunRecords) -> None:
        runs = [replace(SUMMARY, run_id=f"r{number}", started=float(number)) for number in range(12)]
        for number in (3, 11, 0, 7, 1, 9, 2, 10, 4, 8, 5, 6):
            records.save(runs[number])

        assert records.runs() == runs[::-1]
        assert records.runs(3) == [runs[11], runs[10], runs[9]]
        assert records.runs(0) == []

    def test_runs_that_began_together_come_by_their_ids(self, records: RunRecords) -> None:
        for run_id in ("b", "c", "a"):
            records.save(replace(SUMMARY, run_id=run_id))

        assert [run.run_id for run in records.runs()] == ["c", "b", "a"]

    def test_runs_of_one_use_case(self, records: RunRecords) -> None:
        cases = ("help desk", "help", "Help desk", "help desk for partners")
        for number, use_case in enumerate(cases):
            records.save(replace(SUMMARY, run_id=f"r{number}", use_case=use_case))
            records.save(replace(SUMMARY, run_id=f"s{number}", use_case=use_case))

        assert [run.run_id for run in records.runs(use_case="help desk")] == ["s0", "r0"]
        assert [run.run_id for run in records.runs(1, use_case="help")] == ["s1"]
        assert records.runs(use_case="desk") == []

    def test_a_long_use_case_is_told_from_another(self, records: RunRecords) -> None:
        long = "answers questions of customers " * 300
        records.save(replace(SUMMARY, run_id="r1", use_case=long + "a"))
        records.save(replace(SUMMARY, run_id="r2", use_case=long + "b"))

        assert [run.run_id for run in records.runs(use_case=long + "a")] == ["r1"]

    # --- Several at once, and the end

    def test_what_one_writes_the_other_reads(self, opened: RecordsOpener) -> None:
        one, other = opened(), opened()
        one.append("r1", Event("started", 1.0, {"n": 1}))
        one.save(SUMMARY)
        assert other.events("r1") == [Event("started", 1.0, {"n": 1})]
        assert other.summary(SUMMARY.run_id) == SUMMARY
        other.append("r1", Event("interrupted", 2.0, {"n": 2}))
        other.save(replace(SUMMARY, status="interrupted"))
        one.close()

        assert [event.kind for event in opened().events("r1")] == ["started", "interrupted"]
        assert [run.status for run in opened().runs()] == ["interrupted"]

    def test_threads_may_share_records(self, opened: RecordsOpener) -> None:
        shared = [opened(), opened()]

        def work(number: int) -> None:
            for turn in range(10):
                shared[number % 2].append("r1", Event("stage", 1.0, {"who": number, "turn": turn}))
                shared[number % 2].save(replace(SUMMARY, run_id=f"r{number}", started=float(turn)))

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(work, range(6), timeout=120))
        trail = [event.body for event in shared[0].events("r1")]

        assert [[body["turn"] for body in trail if body["who"] == number] for number in range(6)] == [[*range(10)]] * 6
        assert {run.started for run in shared[1].runs()} == {9.0}

    @pytest.mark.parametrize("call", CALLS)
    def test_closed_records_refuse(self, records: RunRecords, call: str) -> None:
        CALLS[call](records)
        records.close()

        with pytest.raises(StoreError, match="closed"):
            CALLS[call](records)

    def test_records_may_be_closed_twice(self, records: RunRecords) -> None:
        records.close()
        records.close()
