"""Runs by what a person calls them: an id, or the latest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agentguard.errors import DataError
from agentguard.gate._config import GateConfig
from agentguard.gate.records import open_records
from agentguard.gate.records._base import RunRecords, RunSummary, mark_interrupted

from .gate_options import LATEST
from .output import printable

__all__ = ["finished_run", "last_unfinished", "opened_records"]

LOOKED_AT = 100
NAMED = 3


@contextmanager
def opened_records(config: GateConfig) -> Iterator[RunRecords]:
    """The records of a gate that has run before; runs that died are marked as interrupted.

    Raises:
        DataError: where nothing is on record; none are made.
        ConfigurationError, StoreError: where they cannot be opened.
    """
    if config.elasticsearch is None:
        folder = config.resolve(config.embedded.path)
        if not folder.is_dir():
            raise DataError(
                f"nothing is on record at {printable(str(folder))}: 'agentguard gate run' makes a first run"
            )
    records = open_records(config)
    try:
        mark_interrupted(records)
        yield records
    finally:
        records.close()


def finished_run(records: RunRecords, wanted: str, use_case: str) -> str:
    """The id of a run: as given, or of the latest that was finished.

    Raises:
        DataError: where there is none.
    """
    runs = records.runs(LOOKED_AT, use_case=use_case)
    if wanted == LATEST:
        found = next((run for run in runs if run.status == "finished"), None)
        if found is None:
            raise DataError("no run of this use case is finished yet; 'agentguard gate run' makes one")
        return found.run_id
    if records.summary(wanted) is None:
        latest = ", ".join(run.run_id for run in runs[:NAMED])
        raise DataError(
            f"there is no run {printable(wanted)[:100]!r}; "
            + (f"the latest are {latest}" if latest else "there is none of this use case yet")
        )
    return wanted


def last_unfinished(records: RunRecords, use_case: str) -> RunSummary | None:
    """The latest run, where it failed or was interrupted."""
    run = next(iter(records.runs(1, use_case=use_case)), None)
    return run if run is not None and run.status in ("failed", "interrupted") else None
