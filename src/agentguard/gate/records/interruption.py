"""Runs that died without a word."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from .base import Event, RunRecords, RunSummary
from .process import has_ended

__all__ = ["mark_interrupted"]


def mark_interrupted(
    records: RunRecords,
    *,
    limit: int = 1000,
    ended: Callable[[str], bool] = has_ended,
    clock: Callable[[], float] = time.time,
) -> list[RunSummary]:
    """Note of every run that is said to be running, and whose process has ended, that it was interrupted.

    Args:
        records: of all runs.
        limit: how many of the newest runs are looked at.
        ended: tells of a process whether it has ended; that of another machine has not, as far as is known here.
        clock: seconds since the epoch.

    Returns:
        the summaries of these runs, as they are now; each can be resumed.

    Raises:
        StoreError: where the records cannot be read or written.
    """
    marked = []
    for found in records.runs(limit):
        if found.status != "running" or not ended(found.process):
            continue
        # It may have finished, or been resumed by another, between the reading and the look at its process.
        summary = records.summary(found.run_id)
        if summary is None or summary.status != "running" or summary.process != found.process:
            continue
        now = clock()
        error = f"its process {summary.process} ended before the run did"
        records.append(summary.run_id, Event("interrupted", now, {"error": error}))
        interrupted = replace(summary, status="interrupted", ended=now, error=error)
        records.save(interrupted)
        marked.append(interrupted)
    return marked
