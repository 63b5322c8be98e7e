"""What the embedded records promise beyond the protocol: nothing is changed, nothing that was told is lost."""

import random
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.json_texts import json_texts

from agentguard.errors import DataError, StoreError
from agentguard.gate.evidence._sqlite import SqliteEvidence
from agentguard.gate.records._base import Event, RunSummary, has_ended, mark_interrupted
from agentguard.gate.records._sqlite import SqliteRecords

WRITER = Path(__file__).with_name("records_writer.py")
KILLS = 4
SUMMARY = RunSummary("r1", "running", 1.0, "help desk", "1f", "model", "rules", "host:1")


@pytest.fixture
def records(tmp_path: Path) -> Iterator[SqliteRecords]:
    opened = SqliteRecords(tmp_path / "new" / "records.sqlite")
    yield opened
    opened.close()


def test_a_writer_killed_at_any_moment_loses_nothing_that_it_was_told_is_kept(tmp_path: Path) -> None:
    chance = random.Random(11)
    path = tmp_path / "records.sqlite"
    for number in range(KILLS):
        run_id = f"r{number}"
        with subprocess.Popen([sys.executable, WRITER, path, run_id], stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            said = [writer.stdout.readline() for _ in range(chance.randint(1, 40))]
            writer.kill()
            said += writer.stdout.readlines()
            assert writer.wait(timeout=30) == -signal.SIGKILL
        acknowledged = int([line for line in said if line.endswith("\n")][-1])
        with closing(SqliteRecords(path)) as records:
            trail = records.events(run_id)
            summary = records.summary(run_id)

        assert [event.body["n"] for event in trail] == list(range(1, len(trail) + 1))
        assert all(len(event.body["text"]) == event.body["n"] * 997 % 20_000 for event in trail)
        assert len(trail) - acknowledged in (0, 1)
        assert summary is not None
        assert int(summary.error or 0) - acknowledged in (0, 1)
        assert has_ended(summary.process)
    with closing(SqliteRecords(path)) as records:
        marked = mark_interrupted(records)

        assert {summary.run_id for summary in marked} == {f"r{number}" for number in range(KILLS)}
        assert {summary.status for summary in records.runs()} == {"interrupted"}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET body = '{}'",
        "UPDATE events SET number = 99",
        "DELETE FROM events",
        "DELETE FROM events WHERE run_id = 'r1'",
        "INSERT OR REPLACE INTO events (number, run_id, kind, at, body) VALUES (1, 'r1', 'stage', 1, '{}')",
        "REPLACE INTO events (number, run_id, kind, at, body) VALUES (1, 'r1', 'stage', 1, '{}')",
    ],
)
def test_no_event_is_changed_or_removed(records: SqliteRecords, tmp_path: Path, statement: str) -> None:
    records.append("r1", Event("started", 1.0, {"n": 1}))
    connection = sqlite3.connect(tmp_path / "new" / "records.sqlite")
    with closing(connection), pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)

    assert records.events("r1") == [Event("started", 1.0, {"n": 1})]


def test_every_write_waits_for_the_disk(records: SqliteRecords) -> None:
    with records._database.reading() as connection:
        (level,) = connection.execute("PRAGMA synchronous").fetchone()
        (journal,) = connection.execute("PRAGMA journal_mode").fetchone()

    assert (level, journal) == (2, "wal")  # FULL


def test_only_the_user_may_read_the_file(records: SqliteRecords, tmp_path: Path) -> None:
    records.save(SUMMARY)

    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").iterdir()} == {0o600}


def test_an_evidence_index_is_no_record(tmp_path: Path) -> None:
    SqliteEvidence(tmp_path, "test").close()
    with pytest.raises(StoreError, match="no database of run records"):
        SqliteRecords(tmp_path / "evidence.sqlite")


@pytest.mark.parametrize("value", ["no JSON", "[1]", "{'a': 1}"])
def test_an_event_that_was_planted_is_no_crash(records: SqliteRecords, tmp_path: Path, value: str) -> None:
    with closing(sqlite3.connect(tmp_path / "new" / "records.sqlite")) as connection:
        connection.execute("INSERT INTO events (run_id, kind, at, body) VALUES ('r1', 'stage', 1, ?)", (value,))
        connection.commit()
    with pytest.raises(StoreError, match="damaged"):
        records.events("r1")


@pytest.mark.parametrize("value", ["", "{}", "null", '{"run_id": "r1"}', "[[[["])
def test_a_summary_that_was_planted_is_no_crash(records: SqliteRecords, tmp_path: Path, value: str) -> None:
    records.save(SUMMARY)
    with closing(sqlite3.connect(tmp_path / "new" / "records.sqlite")) as connection:
        connection.execute("UPDATE runs SET summary = ?", (value,))
        connection.commit()
    for read in (lambda: records.summary("r1"), lambda: records.runs()):
        with pytest.raises(StoreError, match="damaged"):
            read()


def test_half_a_surrogate_pair_names_no_run(records: SqliteRecords) -> None:
    with pytest.raises(DataError, match="surrogates"):
        records.append("\ud83d", Event("started", 1.0, {}))

    assert records.events("\ud83d") == []
    assert records.summary("\ud83d") is None


@pytest.mark.parametrize(
    "event", [Event("stage", float("nan"), {}), Event("stage", float("inf"), {}), Event("stage", True, {})]
)
def test_a_time_is_a_finite_number(records: SqliteRecords, event: Event) -> None:
    with pytest.raises(DataError, match="time"):
        records.append("r1", event)


def test_a_risk_is_a_finite_number(records: SqliteRecords) -> None:
    broken = RunSummary("r1", "finished", 1.0, "help", "1f", "m", "rules", "h:1", risk=float("nan"))
    with pytest.raises(DataError, match="summary of run 'r1'"):
        records.save(broken)

    assert records.summary("r1") is None


def nested(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(values, max_size=4) | st.dictionaries(json_texts(), values, max_size=4)


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | json_texts(),
    nested,
    max_leaves=15,
)


@given(st.dictionaries(json_texts(), json_values, max_size=5), st.floats(0, 4e9))
def test_any_json_object_comes_back(tmp_path_factory: pytest.TempPathFactory, body: dict[str, Any], at: float) -> None:
    with closing(SqliteRecords(tmp_path_factory.mktemp("run") / "records.sqlite")) as records:
        records.append("r1", Event("stage", at, body))

        assert repr(records.events("r1")) == repr([Event("stage", at, body)])


def deep(depth: int) -> dict[str, Any]:
    return {"in": deep(depth - 1)} if depth else {}


def test_depth_is_bounded(records: SqliteRecords) -> None:
    records.append("r1", Event("stage", 1.0, deep(150)))
    with pytest.raises(DataError, match="200 deep"):
        records.append("r1", Event("stage", 1.0, deep(250)))

    assert records.events("r1") == [Event("stage", 1.0, deep(150))]
