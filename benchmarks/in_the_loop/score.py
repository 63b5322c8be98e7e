"""What came of a contestant's runs: counts by kind of fault, what it cost, as one row of the leaderboard."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .plan import as_plain
from .runs import Episode, Mode, Run
from .tools import TOOLS

__all__ = ["CHARACTERS_A_TOKEN", "FAULTY", "Counts", "Entry", "counts", "digest", "reduced", "row", "share"]

#: Of English text and JSON; a tokeniser of one model would count for that model alone.
CHARACTERS_A_TOKEN = 4
FAULTY: tuple[Mode, ...] = ("single", "lasting")

Counts = Mapping[str, int]
Entry = Mapping[str, Any]


def row(about: Mapping[str, str], runs: Sequence[Run], course: Mapping[str, Any], learned: float) -> Entry:
    """A row of the leaderboard.

    Args:
        about: of the contestant: ``key``, ``name``, ``version`` and ``about``, and who ``agent`` was.
        runs: all runs of the course.
        course: what was run: see ``digest``.
        learned: milliseconds of the processor that it took to learn one call of the ordinary traffic.
    """
    struck = [run for run in runs if run.mode in FAULTY]
    harm = [run for run in struck if run.matters]
    read_back = [run for run in harm if run.kind == "noop" and TOOLS[run.tool].confirm is not None]
    clean = [run for run in runs if run.mode == "clean"]
    return {
        "contestant": dict(about),
        "course": dict(course),
        "clean": counts(clean),
        "after": counts(run for run in runs if run.mode == "after"),
        **{mode: counts(run for run in harm if run.mode == mode) for mode in FAULTY},
        "harmless": counts(run for run in struck if run.mode == "single" and not run.matters),
        "kinds": {
            kind: {mode: counts(run for run in harm if (run.kind, run.mode) == (kind, mode)) for mode in FAULTY}
            for kind in sorted({run.kind for run in harm})
        },
        "tools": {tool: counts(run for run in harm if run.tool == tool) for tool in sorted({run.tool for run in harm})},
        "read_back": counts(read_back),
        "cost": {"clean": _cost(clean), "faulty": _cost(harm), "learning_ms_a_call": round(learned, 3)},
    }


def counts(runs: Iterable[Run]) -> Counts:
    """Runs by their end, and those in which the guard did not accept what was struck.

    >>> counts([Run("t", 0, "noop", "set_price", "single", True, "reported", noticed=True)])
    {'runs': 1, 'success': 0, 'silent': 0, 'reported': 1, 'noticed': 1}
    """
    some = list(runs)
    return {
        "runs": len(some),
        **{end: sum(run.outcome == end for run in some) for end in ("success", "silent", "reported")},
        "noticed": sum(run.noticed for run in some),
    }


def share(found: Counts, what: str) -> float | None:
    """Share of the runs; None where there are none."""
    return found[what] / found["runs"] if found["runs"] else None


def reduced(found: Counts, without: Counts) -> float | None:
    """By how much silent corruption is less than without a guard, as a share; None where there is none to reduce.

    >>> none, some = {"runs": 10, "silent": 8}, {"runs": 10, "silent": 2}
    >>> reduced(some, none)
    0.75
    """
    now, then = share(found, "silent"), share(without, "silent")
    return 1.0 - now / then if now is not None and then else None


def _cost(runs: Sequence[Run]) -> Mapping[str, float]:
    """Means a task; of the guard's time, in milliseconds of the processor, that of a call of a tool."""
    n, calls = max(len(runs), 1), max(sum(run.tool_calls for run in runs), 1)
    return {
        "calls": round(sum(run.calls for run in runs) / n, 3),
        "tool_calls": round(sum(run.tool_calls for run in runs) / n, 3),
        "tokens": round(sum(run.read for run in runs) / CHARACTERS_A_TOKEN / n, 1),
        "tool_ms": round(sum(run.tool_ms for run in runs) / n, 1),
        "guard_ms_a_call": round(1e3 * sum(run.guard_seconds for run in runs) / calls, 3),
    }


class Digest(NamedTuple):
    """What makes two rows comparable: the same seed and the same episodes."""

    seed: int
    tasks: int
    runs: int
    digest: str


def digest(seed: int, episodes: Sequence[Episode]) -> Mapping[str, Any]:
    """What was run, so that rows of the same course can be told."""
    text = json.dumps([as_plain(episode) for episode in episodes], sort_keys=True)
    struck = {
        (task.template, task.number)
        for episode in episodes
        if episode.fault is not None
        for task in (episode.tasks[:-1] if episode.mode == "lasting" else episode.tasks)
    }
    return Digest(
        seed,
        len(struck),
        sum(len(episode.tasks) for episode in episodes),
        hashlib.sha256(text.encode()).hexdigest()[:16],
    )._asdict()
