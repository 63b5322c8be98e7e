"""What is run: which fault strikes which task, settled before any contestant is asked.

Every task is struck by every other kind of fault, and every kind strikes half of the tasks. A fault *matters* where the
agent without a guard comes to a wrong end. Of a task and a kind a few faults are drawn until one matters. Of the first
task of a template the first fault that shows in an answer and does not matter is run too, to see what guarding against
it costs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from lasting.forks import forked

from .contestants import Nothing
from .faults import KINDS, Fault, Past
from .runs import Episode, Stage, Tools, run_episode, scenery
from .tasks import TEMPLATES, Task, tasks
from .traffic import Company
from .world import World

__all__ = ["CLEAN_EACH", "DRAWS", "EACH", "Sizes", "as_plain", "episode_from", "planned"]

Calls = Sequence[tuple[str, Mapping[str, Any]]]

EACH, CLEAN_EACH, DRAWS = 3, 15, 4


class Sizes(NamedTuple):
    """How much is run.

    Attributes:
        templates: the kinds of tasks.
        kinds: the kinds of faults.
        each: tasks of a template that are struck; one more comes after a lasting fault.
        clean: tasks of a template that are run without a fault.
    """

    templates: Sequence[str] = tuple(TEMPLATES)
    kinds: Sequence[str] = tuple(KINDS)
    each: int = EACH
    clean: int = CLEAN_EACH


WHOLE = Sizes()


class Recorder(Nothing):
    """No guard; keeps what was called."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Mapping[str, Any]]] = []

    def begin(self, tools: Tools, session: str) -> Any:
        """Hand on, and keep."""
        through = super().begin(tools, session)

        def call(tool: str, args: Mapping[str, Any]) -> Any:
            self.calls.append((tool, dict(args)))
            return through(tool, args)

        return call


def planned(
    company: Company,
    seed: int,
    sizes: Sizes = WHOLE,
    done: Callable[[], object] = lambda: None,
) -> list[Episode]:
    """Settle the episodes: clean ones first, then by template and kind. The work is done in copies of this process."""
    past = Past(company.traffic, company.yesterday)
    with World(company.today) as world:
        drawn = {name: tasks(world, seed, max(sizes.clean, sizes.each + 1), [name]) for name in sizes.templates}
    episodes = _days([task for name in sizes.templates for task in drawn[name][: sizes.clean]], sizes, seed)
    jobs = [
        partial(_struck_plain, company.today, past, drawn[name][: sizes.each + 1], _turned(sizes.kinds, place), seed)
        for place, name in enumerate(sizes.templates)
    ]
    for answer in forked(jobs, done=done):
        episodes += [episode_from(one) for one in answer]
    return episodes


def _days(some: list[Task], sizes: Sizes, seed: int) -> list[Episode]:
    """Clean tasks of all kinds in a drawn order, a day's worth to an episode."""
    rng = Random(f"days {seed}")
    days = [[task for task in some if task.number == number] for number in range(sizes.clean)]
    return [Episode(rng.sample(day, len(day))) for day in days]


def _turned(kinds: Sequence[str], by: int) -> Sequence[str]:
    return [*kinds[by % 2 :], *kinds[: by % 2]]


def _struck_plain(today: Path, past: Past, some: Sequence[Task], kinds: Sequence[str], seed: int) -> list[Any]:
    """The episodes of one template.

    The first kind, the third and so on strike its first task and its third, and last; the others strike the second.
    """
    *struck, after = some
    episodes = []
    with scenery(today) as made, Stage(made, past) as stage:
        calls = [_calls(task, stage) for task in struck]
        for place, kind in enumerate(kinds):
            for number, task in enumerate(struck):
                if place % 2 == number % 2 or len(struck) == 1:
                    episodes += _singles(stage, task, calls[number], kind, seed)
            if place % 2 == 0:
                episodes += _lasting(stage, struck, after, calls[0], kind, seed)
    return [as_plain(episode) for episode in episodes]


def _singles(stage: Stage, task: Task, calls: Calls, kind: str, seed: int) -> list[Episode]:
    """A fault that matters, and of the first task one that shows and does not matter; where there are such."""
    episodes: list[Episode] = []
    for fault in _drawn(kind, calls, f"{task.template} {task.number} {seed}"):
        episode = Episode([task], fault, "single")
        (run,) = run_episode(Nothing(), episode, stage)
        if run.outcome != "success":
            return [*episodes, episode._replace(matters=[True])]
        if not episodes and run.shown and task.number == 0:
            episodes.append(episode._replace(matters=[False]))
    return episodes


def _lasting(stage: Stage, struck: Sequence[Task], after: Task, calls: Calls, kind: str, seed: int) -> list[Episode]:
    """The fault that matters to most of the tasks, of those that are drawn."""
    best: list[Episode] = []
    for fault in _drawn(kind, calls, f"{after.template} {seed}"):
        episode = Episode([*struck, after], fault._replace(args=None), "lasting")
        matters = [run.outcome != "success" for run in run_episode(Nothing(), episode, stage)[:-1]]
        if any(matters) and (not best or sum(matters) > sum(best[0].matters)):
            best = [episode._replace(matters=[*matters, False])]
        if all(matters):
            break
    return best


def _calls(task: Task, stage: Stage) -> Calls:
    recorder = Recorder()
    run_episode(recorder, Episode([task]), stage)
    return recorder.calls


def _drawn(kind: str, calls: Calls, name: str) -> list[Fault]:
    """Faults of a kind in the calls of a task: every call once, in an order that is drawn, then again."""
    rng = Random(f"faults {kind} {name}")
    order = rng.sample(calls, len(calls))
    faults = []
    for number in range(max(DRAWS, len(order))):
        tool, args = order[number % len(order)]
        faults.append(Fault(kind, tool, rng.getrandbits(32), args))
    return faults


def as_plain(episode: Episode) -> list[Any]:
    """An episode as JSON has it."""
    return [[list(task) for task in episode.tasks], episode.fault, episode.mode, list(episode.matters)]


def episode_from(plain: Sequence[Any]) -> Episode:
    """An episode from JSON."""
    some, fault, mode, matters = plain
    return Episode([Task(*task) for task in some], None if fault is None else Fault(*fault), mode, matters)
