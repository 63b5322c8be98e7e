"""The whole benchmark: which courses are run for what, in processes, with a progress bar."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from .changes import Recovery, turnover, turnovers
from .rival import rival_missing
from .trials import Judged, run, trials

__all__ = ["CALLS", "SEEDS", "SHARED_CALLS", "SHARED_SEEDS", "Results", "quick", "whole"]

Plan = TypeVar("Plan")
Found = TypeVar("Found")
CALLS = 400  # genuine calls of each family in one course
SEEDS, FEWER_SEEDS = range(1, 6), range(1, 3)
# The courses that all contestants judge: the peer must be copied for every call that it is not to learn.
SHARED_SEEDS, SHARED_CALLS = (1,), 200
SPOILED = (0.1, 0.3)
RIVAL = "awesome-agentguard"
BESIDE = {"default mode": "ours", **{name: name for name in ("reference mode", "isolation forest", RIVAL)}}


class Results(NamedTuple):
    """All judged calls, by what they were run for.

    Attributes:
        clean: our engine on clean histories.
        reviewed: the same with a reviewer who adopts each change that is told of.
        spoiled: the same with a share of the history bad, by that share.
        beside: every contestant on courses of their own, the same for all, by name; ours is first.
        every_signal: our engine with each signal left out.
        recoveries: genuine changes.
        rival_missing: why the peer did not take part; empty where it did.
    """

    clean: list[Judged]
    reviewed: list[Judged]
    spoiled: dict[float, list[Judged]]
    beside: dict[str, list[Judged]]
    every_signal: list[Judged]
    recoveries: list[Recovery]
    rival_missing: str = ""


def whole(console: Console) -> Results:
    """Run everything; a few minutes on two cores."""
    missing = rival_missing()
    with _Pool(console) as pool:
        return Results(
            pool.judged("our engine", "ours", SEEDS, CALLS),
            pool.judged("our engine, reviewed", "ours, reviewed", SEEDS, CALLS),
            {
                share: pool.judged(f"{share:.0%} of the history bad", "ours", FEWER_SEEDS, CALLS, share)
                for share in SPOILED
            },
            {
                name: pool.judged(name, contestant, SHARED_SEEDS, SHARED_CALLS)
                for name, contestant in BESIDE.items()
                if contestant != RIVAL or not missing
            },
            pool.judged("without each signal", "ours, every signal", FEWER_SEEDS, CALLS),
            [found for found in pool.map("genuine changes", turnover, turnovers((1,))) if found is not None],
            missing,
        )


def quick(console: Console, seeds: Iterable[int] = FEWER_SEEDS, calls: int = CALLS) -> list[Judged]:
    """Our engine on clean courses of every family: seconds for two of them."""
    with _Pool(console) as pool:
        return pool.judged("our engine", "ours", seeds, calls)


class _Pool:
    """Processes and a progress bar."""

    def __init__(self, console: Console) -> None:
        self._processes = ProcessPoolExecutor(max(1, min(os.cpu_count() or 1, 8)))
        self._progress = Progress(
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            console=console,
        )  # fmt: skip

    def judged(
        self, what: str, contestant: str, seeds: Iterable[int], calls: int, spoiled: float = 0.0
    ) -> list[Judged]:
        plans = trials(contestant, list(seeds), calls, spoiled)
        return [one for judged in self.map(what, run, plans) for one in judged]

    def map(self, what: str, work: Callable[[Plan], Found], plans: Sequence[Plan]) -> list[Found]:
        """The results in the order of the plans, whichever process was done first."""
        task = self._progress.add_task(f"generated tools, {what}", total=len(plans))
        found = []
        for result in self._processes.map(work, plans):
            found.append(result)
            self._progress.advance(task)
        return found

    def __enter__(self) -> _Pool:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()
        self._processes.shutdown(cancel_futures=True)
