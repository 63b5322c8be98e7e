"""What is run: which fault strikes which task, settled before any contestant is asked.

A fault *matters* where the agent without a guard comes to a wrong end. Of a task and a kind a few faults are drawn until
one matters. Of the first task of a template the first fault that shows in an answer and does not matter is run too, to
see what guarding against it costs.
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
from .traffic import Company, Made
from .world import World

__all__ = ["CLEAN_EACH", "DRAWS", "EACH", "Sizes", "as_plain", "episode_from", "planned"]

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
    company: Company, seed: int, sizes: Sizes = Sizes(), done: Callable[[], object] = lambda: None  # noqa: B008
) -> list[Episode]:
    """Settle the episodes: clean ones first, then by template and kind. The work is done in copies of this process."""
    past = Past(company.traffic, company.yesterday)
    with World(company.today) as world:
        drawn = {
            name: tasks(world, seed, max(sizes.clean, sizes.each + 1), [name]) for name in sizes.templates
        }
    episodes = [Episode(drawn[name][: sizes.clean]) for name in sizes.templates]
    jobs = [
        partial(_struck_plain, company.today, past, drawn[name][: sizes.each + 1], sizes.kinds, seed)
        for name in sizes.templates
    ]
    for answer in forked(jobs, done=done):
        episodes += [episode_from(one) for one in answer]
    return episodes


def _struck_plain(today: Path, past: Past, some: Sequence[Task], kinds: Sequence[str], seed: int) -> list[Any]:
    with scenery(today) as made, Stage(made, past) as stage:
        return [as_plain(episode) for kind in kinds for episode in _struck(stage, some, kind, seed)]


def _struck(stage: Stage, some: Sequence[Task], kind: str, seed: int) -> list[Episode]:
    """The episodes of one template with one kind of fault."""
    *struck, after = some
    called = [_calls(task, stage) for task in struck]
    episodes = []
    for task, calls in zip(struck, called, strict=True):
        harmful = harmless = None
        for fault in _drawn(kind, calls, f"{task.template} {task.number} {seed}"):
            episode = Episode([task], fault, "single")
            (run,) = run_episode(Nothing(), episode, stage)
            if run.outcome != "success":
                harmful = episode._replace(matters=[True])
                break
            if harmless is None and run.shown and task is struck[0]:
                harmless = episode._replace(matters=[False])
        episodes += [one for one in (harmful, harmless) if one is not None]
    best = None
    for fault in _drawn(kind, called[0], f"{struck[0].template} {seed}"):
        episode = Episode([*struck, after], fault._replace(args=None), "lasting")
        runs = run_episode(Nothing(), episode, stage)[:-1]
        matters = [run.outcome != "success" for run in runs]
        if any(matters) and (best is None or sum(matters) > sum(best.matters)):
            best = episode._replace(matters=[*matters, False])
        if all(matters):
            break
    return [*episodes, *([] if best is None else [best])]


def _calls(task: Task, stage: Stage) -> list[tuple[str, Mapping[str, Any]]]:
    recorder = Recorder()
    run_episode(recorder, Episode([task]), stage)
    return recorder.calls


def _drawn(kind: str, calls: Sequence[tuple[str, Mapping[str, Any]]], name: str) -> list[Fault]:
    """Faults of a kind in the calls of a task: every call once, in an order that is drawn, then again."""
    rng = Random(f"faults {kind} {name}")
    order = rng.sample(calls, len(calls))
    return [
        Fault(kind, *_place(order[number % len(order)], rng)) for number in range(max(DRAWS, len(order)))
    ]


def _place(call: tuple[str, Mapping[str, Any]], rng: Random) -> tuple[str, int, Mapping[str, Any]]:
    return call[0], rng.getrandbits(32), call[1]


def as_plain(episode: Episode) -> list[Any]:
    """An episode as JSON has it."""
    return [[list(task) for task in episode.tasks], episode.fault, episode.mode, list(episode.matters)]


def episode_from(plain: Sequence[Any]) -> Episode:
    """An episode from JSON."""
    some, fault, mode, matters = plain
    return Episode([Task(*task) for task in some], None if fault is None else Fault(*fault), mode, matters)
