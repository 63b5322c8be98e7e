"""Runs of tasks: a contestant between the agent and the company's tools, faults in them, and how each run ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, Literal, NamedTuple, Protocol

from .agent import Agent, Call, Given, Told
from .faults import Fault, Past, Struck
from .tasks import TEMPLATES, Task
from .traffic import Answer, Made
from .world import IN_MEMORY, Rows, World

__all__ = [
    "Contestant",
    "Episode",
    "Mode",
    "Outcome",
    "Run",
    "Scenery",
    "Stage",
    "Tools",
    "Worker",
    "outcome_of",
    "run_episode",
    "scenery",
    "scripted",
]

Mode = Literal["clean", "single", "lasting", "after"]
Outcome = Literal["success", "silent", "reported"]
CENT = 0.0051  # two roundings of one amount

#: Works on a task, given in words, with what makes its calls.
Worker = Callable[[Task, str, Call], Given]


class Contestant(Protocol):
    """What stands between an agent and its tools.

    Attributes:
        learns: what it is told of one task bears on the next: each episode then begins with what was learned from the
            traffic, and nothing else.
    """

    learns: bool

    def learn(self, traffic: Sequence[Made]) -> None:
        """Take in ordinary traffic, in order."""
        ...

    def begin(self, tools: Tools, session: str) -> Call:
        """Stand between an agent and these tools for one task."""
        ...


class Tools:
    """The tools as a contestant calls them.

    Attributes:
        calls: how often they were called.
        ms: the times that they are told to have taken, in all.
        spent: seconds of the processor that they took.
    """

    def __init__(self, struck: Struck, draw: Random) -> None:
        self._struck = struck
        self._draw = draw
        self.calls = 0
        self.ms = 0.0
        self.spent = 0.0

    def __call__(self, tool: str, args: Mapping[str, Any]) -> Answer:
        """Make a call."""
        started = process_time()
        answer = self._struck(tool, args, self._draw)
        self.calls += 1
        self.ms += answer.ms
        self.spent += process_time() - started
        return answer


class Episode(NamedTuple):
    """Tasks that one contestant sees one after the other, in a company that is as they leave it.

    Attributes:
        tasks: the tasks; the first ones are struck.
        fault: what strikes them; None: nothing.
        mode: ``clean``, ``single`` or ``lasting``; the last task of a lasting fault comes after it is gone.
        matters: for each task, the unguarded agent comes to a wrong end.
    """

    tasks: Sequence[Task]
    fault: Fault | None = None
    mode: Mode = "clean"
    matters: Sequence[bool] = ()


class Run(NamedTuple):
    """How the work on one task went.

    Attributes:
        template, number: the task.
        kind, tool: the fault and what it struck; empty where there was none.
        mode: as of the episode; ``after`` for a task that follows a lasting fault.
        matters: the fault makes the unguarded agent fail.
        outcome: ``success``: the right answer and the right state, given as right. ``silent``: a wrong answer or a
            wrong state, given as right. ``reported``: the agent says that it has failed.
        shown: answers that the fault struck.
        noticed: the guard did not accept an answer that the fault struck, whatever it did with it.
        refused: calls that the guard did not accept.
        calls: the agent's; ``tool_calls`` those that the tools got, the guard's own too.
        read: characters that the agent read.
        tool_ms: the times that the tools are told to have taken.
        guard_seconds: of the processor, in the guard without the tools.
    """

    template: str
    number: int
    kind: str
    tool: str
    mode: Mode
    matters: bool
    outcome: Outcome = "reported"
    shown: int = 0
    noticed: bool = False
    refused: int = 0
    calls: int = 0
    tool_calls: int = 0
    read: int = 0
    tool_ms: float = 0.0
    guard_seconds: float = 0.0

    @classmethod
    def of(cls, task: Task, fault: Fault | None, mode: Mode, *, matters: bool) -> Run:
        """The run of a task before it begins."""
        kind, tool = ("", "") if fault is None else (fault.kind, fault.tool)
        return cls(task.template, task.number, kind, tool, mode, matters)


class Scenery(NamedTuple):
    """A copy of the company in a folder of its own, and what there is in it, so that it need not be read again."""

    folder: Path
    seen: dict[str, Rows]
    state: Mapping[str, Any]


@contextmanager
def scenery(today: Path) -> Iterator[Scenery]:
    """Copy the company into a folder that is removed in the end."""
    with TemporaryDirectory(dir=IN_MEMORY) as folder:
        with World(today) as world, world.copy(Path(folder)) as copied:
            made = Scenery(Path(folder), copied.seen, copied.state())
        yield made


class Stage:
    """A copy of the company, open, on which episodes are run one after the other; a context manager.

    Args:
        made: the copy, in which nobody else works.
        past: what faults draw on.
    """

    def __init__(self, made: Scenery, past: Past) -> None:
        self._past = past
        self.world: World = World(made.folder, made.seen)
        self.state: Mapping[str, Any] = made.state

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *error: object) -> None:
        self.world.close()

    def struck(self, fault: Fault | None) -> Struck:
        """The tools with a fault."""
        return Struck(self.world, fault, self._past)


def scripted(task: Task, question: str, call: Call) -> Given:
    """Work on a task as its script says."""
    return Agent(call).work(lambda agent: TEMPLATES[task.template].solve(agent, task.params))


def run_episode(contestant: Contestant, episode: Episode, stage: Stage, worker: Worker = scripted) -> list[Run]:
    """Run an episode and leave the stage as it was; the contestant learns on."""
    struck = stage.struck(episode.fault)
    runs, state = [], stage.state
    with stage.world.undone():
        for place, task in enumerate(episode.tasks):
            mode = episode.mode
            if mode == "lasting" and place == len(episode.tasks) - 1:
                struck, mode = stage.struck(None), "after"
            matters = bool(episode.matters and mode in ("single", "lasting") and episode.matters[place])
            begun = Run.of(task, episode.fault, mode, matters=matters)
            run, state = _run(contestant, task, worker, struck, begun, stage.world, state)
            runs.append(run)
    return runs


def _run(
    contestant: Contestant,
    task: Task,
    worker: Worker,
    struck: Struck,
    run: Run,
    world: World,
    before: Mapping[str, Any],
) -> tuple[Run, Mapping[str, Any]]:
    """One task; how it went, and the state that it leaves."""
    template = TEMPLATES[task.template]
    name = f"{task.template} {task.number} {run.mode} {struck.fault}"
    tools = Tools(struck, Random(f"milliseconds {name}"))
    noticed, refused, seconds, untouched = False, 0, 0.0, struck.shown
    truth, wanted = template.truth(world, task.params), template.changes(world, task.params)
    through = contestant.begin(tools, name)

    def call(tool: str, args: Mapping[str, Any]) -> Told:
        nonlocal noticed, refused, seconds
        shown, inside, started = struck.shown, tools.spent, process_time()
        told = through(tool, args)
        seconds += process_time() - started - (tools.spent - inside)
        odd = told.verdict != "accept"
        refused += odd
        noticed = noticed or (odd and struck.shown > shown)
        return told

    given = worker(task, template.question(task.params), call)
    after = world.state()
    ended = run._replace(
        outcome=outcome_of(given, truth, before, after, wanted), shown=struck.shown - untouched, noticed=noticed,
        refused=refused, calls=given.calls, tool_calls=tools.calls, read=given.read, tool_ms=tools.ms,
        guard_seconds=seconds,
    )  # fmt: skip
    return ended, after


def outcome_of(
    given: Given, truth: Any, before: Mapping[str, Any], after: Mapping[str, Any], wanted: Mapping[str, Any]
) -> Outcome:
    """Hold what the agent gave and left behind against what is right.

    >>> before, right = {"orders/7/status": "paid"}, {"orders/7/status": "packed"}
    >>> done = Given("packed", "", 40, 2)
    >>> outcome_of(done, "packed", before, right, right), outcome_of(done, "packed", before, before, right)
    ('success', 'silent')
    >>> outcome_of(Given(None, "it cannot be trusted", 40, 2), "packed", before, before, right)
    'reported'
    """
    if given.failure:
        return "reported"
    changed = {name for name, _ in before.items() ^ after.items()}
    as_wanted = changed == set(wanted) and all(_alike(after.get(name), value) for name, value in wanted.items())
    return "success" if as_wanted and _alike(given.answer, truth) else "silent"


def _alike(given: Any, right: Any) -> bool:
    numbers = (int, float)
    if isinstance(given, numbers) and isinstance(right, numbers) and not isinstance(given, bool):
        return abs(given - right) < CENT
    return bool(given == right)
