"""The course that all contestants run: the company, the plan, and one process a contestant."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .plan import Sizes, as_plain, planned
from .runs import Episode, Run
from .traffic import Company, company

__all__ = ["SEED", "ContestantFailedError", "Course", "Entrant", "Ran", "prepared", "ran"]

WORKER = Path(__file__).with_name("worker.py")
SEED = 1  # of the reported tasks; whatever is tried out is tried on others


class ContestantFailedError(Exception):
    """A contestant's process has ended before its course; says how."""


class Entrant(NamedTuple):
    """Who takes part.

    Attributes:
        key: a short name, as of its file.
        name: as it is called in tables.
        contestant: ``module:factory``.
        about: what it is and how it is set, in a sentence.
        python: its interpreter; None: this one.
        path: folders to put before the path of imports.
    """

    key: str
    name: str
    contestant: str
    about: str
    python: Path | None = None
    path: Sequence[str] = ()


class Course(NamedTuple):
    """What is to be run."""

    company: Company
    episodes: Sequence[Episode]


class Ran(NamedTuple):
    """What came of one contestant: its runs, and the milliseconds that it took to learn one call of the traffic."""

    runs: Sequence[Run]
    learned: float


def prepared(folder: Path, seed: int, sizes: Sizes, done: Callable[[], object]) -> Course:
    """Found the company and settle the episodes."""
    made = company(seed, folder)
    return Course(made, planned(made, seed, sizes, done))


def ran(entrant: Entrant, course: Course, done: Callable[[int], object], model: str = "") -> Ran:
    """Send a contestant through the course, in a process of its own.

    Args:
        entrant: the contestant.
        course: what is run.
        done: is told how many episodes were done since it was told last.
        model: the chat model that is the agent; empty: the scripted one.

    Raises:
        ContestantFailedError: where its process ends early.
    """
    order = {
        "traffic": course.company.traffic, "today": str(course.company.today), "path": list(entrant.path),
        "yesterday": str(course.company.yesterday), "contestant": entrant.contestant, "model": model,
        "episodes": [as_plain(episode) for episode in course.episodes],
    }  # fmt: skip
    # -I for others: neither PYTHONPATH nor the working folder may put our own `agentguard` before theirs.
    words = [sys.executable] if entrant.python is None else [str(entrant.python), "-I"]
    process = subprocess.Popen([*words, str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    runs: list[Run] = []
    learned = 0.0
    try:
        json.dump(order, process.stdin)
        process.stdin.close()
        for line in process.stdout:
            answer: dict[str, Any] = json.loads(line)
            learned = answer.get("learned", learned)
            runs += [Run(*fields) for fields in answer.get("runs", ())]
            done(answer.get("episodes", 0))
    except (OSError, ValueError) as error:
        raise ContestantFailedError(f"{entrant.name} did not take the order: {type(error).__name__}") from error
    finally:
        process.stdout.close()
        code = process.wait()
    if code:
        raise ContestantFailedError(f"the process of {entrant.name} ended with code {code}")
    return Ran(runs, learned)
