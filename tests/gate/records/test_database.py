"""One SQLite file of the gate: transactions, waiting, closing."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from agentguard.errors import ConfigurationError, StoreError
from agentguard.gate.backends._sqlite import Database, Format

NUMBERS = Format(
    "list of numbers", 7, 1, "CREATE TABLE numbers (n INTEGER);\nINSERT INTO numbers VALUES (1);\n", "process"
)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "numbers.sqlite", NUMBERS, timeout=0.05)
    yield opened
    opened.close()


def numbers(database: Database) -> list[int]:
    with database.reading() as rows:
        return [n for (n,) in rows.execute("SELECT n FROM numbers ORDER BY n")]


def test_a_transaction_that_fails_leaves_nothing(database: Database) -> None:
    with suppress(KeyError), database.writing() as rows:
        rows.execute("INSERT INTO numbers VALUES (2)")
        raise KeyError
    with database.writing() as rows:
        rows.execute("INSERT INTO numbers VALUES (3)")

    assert numbers(database) == [1, 3]


def test_a_reader_looks_at_one_moment(database: Database) -> None:
    other = Database(database.path, NUMBERS)
    with database.reading() as rows:
        before = rows.execute("SELECT count(*) FROM numbers").fetchone()
        with other.writing() as theirs:
            theirs.execute("INSERT INTO numbers VALUES (2)")
        after = rows.execute("SELECT count(*) FROM numbers").fetchone()
    other.close()

    assert before == after == (1,)
    assert numbers(database) == [1, 2]


def test_a_writer_that_waits_too_long_is_told(database: Database) -> None:
    with closing(sqlite3.connect(database.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another process has been writing"), database.writing():
            pass
        assert numbers(database) == [1]  # who reads does not wait
        other.execute("ROLLBACK")
    with database.writing() as rows:
        rows.execute("INSERT INTO numbers VALUES (2)")

    assert numbers(database) == [1, 2]


def test_a_full_disk_is_told_and_leaves_what_was_there(database: Database) -> None:
    with database.reading() as rows:
        (pages,) = rows.execute("PRAGMA page_count").fetchone()
        rows.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match="disk is full"), database.writing() as rows:
        rows.executemany("INSERT INTO numbers VALUES (?)", [(n,) for n in range(10_000)])

    assert numbers(database) == [1]


def test_closed_it_refuses_and_names_itself(database: Database) -> None:
    database.close()
    database.close()
    with pytest.raises(StoreError, match=r"list of numbers .*numbers\.sqlite is closed"), database.reading():
        pass


def test_what_is_made_is_made_once(tmp_path: Path) -> None:
    for _ in range(3):
        with closing(Database(tmp_path / "numbers.sqlite", NUMBERS)) as database:
            assert numbers(database) == [1]


def test_an_empty_file_is_a_new_one(tmp_path: Path) -> None:
    (tmp_path / "numbers.sqlite").touch()
    with closing(Database(tmp_path / "numbers.sqlite", NUMBERS)) as database:
        assert numbers(database) == [1]


def test_a_sqlite_without_full_text_search_is_told(tmp_path: Path) -> None:
    lacking = replace(NUMBERS, schema="CREATE VIRTUAL TABLE words USING fts5_of_another_build (text);\n")
    with pytest.raises(ConfigurationError, match="FTS5"):
        Database(tmp_path / "numbers.sqlite", lacking)
