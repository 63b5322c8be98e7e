"""Run records in one SQLite file."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from agentguard.errors import DataError
from agentguard.gate.backends import schema
from agentguard.gate.backends._sqlite import Database, Format
from agentguard.gate.records._base import Event, RunSummary, decode_body, decode_summary, encode_body, encode_summary

FORMAT: Final = Format(
    noun="database of run records",
    application=0x61675272,
    version=1,
    survives="power",
    schema=schema("records.sql"),
)
_RUNS: Final = "SELECT summary FROM runs ORDER BY started DESC, run_id DESC LIMIT ?"
_RUNS_OF: Final = "SELECT summary FROM runs WHERE use_case = ? ORDER BY started DESC, run_id DESC LIMIT ?"


class SqliteRecords:
    """``RunRecords`` in a file, for any number of threads and processes; events are never changed or removed.

    What was written is on the disk when the method returns: it survives ``kill -9`` and a failure of power.

    Args:
        path: Of the file, which is made with mode 0600, its folder, where it is made, with 0700.

    Raises:
        StoreError: From every method, if the file cannot be used; nothing of what was to be written is then.
        DataError: For an event or a summary that is no JSON, as NaN is none.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._database = Database(path, FORMAT)

    def append(self, run_id: str, event: Event) -> None:
        body = encode_body(event)
        with self._database.writing() as rows, _texts_refused(run_id):
            rows.execute(
                "INSERT INTO events (run_id, kind, at, body) VALUES (?, ?, ?, ?)",
                (run_id, event.kind, event.at, body),
            )

    def events(self, run_id: str) -> list[Event]:
        with self._database.reading() as rows:
            result = _fetch(rows, "SELECT kind, at, body FROM events WHERE run_id = ? ORDER BY number", run_id)
        return [Event(kind, at, decode_body(body)) for kind, at, body in result]

    def save(self, summary: RunSummary) -> None:
        text = encode_summary(summary)
        with self._database.writing() as rows, _texts_refused(summary.run_id):
            rows.execute(
                "INSERT INTO runs (run_id, started, use_case, summary) VALUES (?, ?, ?, ?) ON CONFLICT (run_id) "
                "DO UPDATE SET started = excluded.started, use_case = excluded.use_case, summary = excluded.summary",
                (summary.run_id, summary.started, _plain(summary.use_case), text),
            )

    def summary(self, run_id: str) -> RunSummary | None:
        with self._database.reading() as rows:
            result = _fetch(rows, "SELECT summary FROM runs WHERE run_id = ?", run_id)
        return decode_summary(result[0][0]) if result else None

    def runs(self, limit: int = 100, *, use_case: str | None = None) -> list[RunSummary]:
        most = max(limit, 0)  # a negative LIMIT is none
        with self._database.reading() as rows:
            result = _fetch(rows, _RUNS, most) if use_case is None else _fetch(rows, _RUNS_OF, _plain(use_case), most)
        return [decode_summary(text) for (text,) in result]

    def close(self) -> None:
        self._database.close()


def _fetch(rows: sqlite3.Connection, query: str, *values: object) -> list[Any]:
    try:
        return rows.execute(query, values).fetchall()
    except UnicodeEncodeError:  # a name with lone surrogates, which nothing is kept under
        return []


@contextmanager
def _texts_refused(run_id: str) -> Iterator[None]:
    try:
        yield
    except UnicodeEncodeError:
        raise DataError(
            f"the id of run {run_id!r}, or an event's kind, holds lone surrogates, which are no text"
        ) from None


def _plain(text: str) -> str:
    """Any text, lone surrogates too, as one that a database takes."""
    return json.dumps(text)
