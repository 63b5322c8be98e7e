"""One tool's answers go wrong for thirty calls in a row and come right again; the engine learns all the while.

An agent holds four families of tools and calls them in turn. The busiest tool of one of them answers rightly for its
first sixty calls; then a fault sets in and stays, in every answer in which it shows, for thirty of them; then the tool
recovers, and its next twenty calls are watched. Answers that read like errors are left as they are and not counted.

Which answers are wrong, and how, is settled before any engine sees them: all engines, and the same engine with and
without a reviewer, are given the same calls until they are asked again.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

from detection.calls import Call
from detection.changes import CHANGES
from detection.families import FAMILIES
from detection.faults import Scene
from detection.stream import AHEAD, agents, seeded

from .faults import LASTING
from .forks import AT_ONCE, can_fork, forked

__all__ = [
    "AFTER", "BEFORE", "FAULTY", "MODES", "Course", "Engine", "Lasted", "Make", "Said", "Started", "course", "courses",
    "genuine_change", "judge", "lasted", "reads_as_error", "struck", "trial",
]  # fmt: skip

BEFORE, FAULTY, AFTER = 60, 30, 20
CALLS = 500  # of each family in one course
ENOUGH = BEFORE + FAULTY + AFTER  # calls of the tool that do not read like errors
ELSEWHERE = 12  # calls of each other family that a fault may draw on
SPAN = 2 * FAULTY  # calls of the tool in which a fault shows thirty times: it lasts where it shows in every other
RETRIES = 3
LABELLED_GENUINE = 3  # calls after a genuine change that a reviewer sees, where they are not accepted
NEW = "new_field"

#: How a trial is run: without a word from outside; with a reviewer who labels every faulty call that is not accepted;
#: with the first faulty call asked again at once.
MODES = ("plain", "labelled", "retried")


class Result(Protocol):
    """What an engine says of a call."""

    @property
    def verdict(self) -> str: ...

    @property
    def posterior(self) -> float: ...


class Engine(Protocol):
    """What a trial asks of an engine."""

    def verify(
        self, tool: str, *, args: Any, result: Any, execution_time_ms: float | None, session_id: str | None,
        call_id: str | None = None, is_error: bool = False,
    ) -> Result: ...  # fmt: skip

    def record_feedback(
        self, tool: str, confidence_score: float, was_hallucination: bool, call_id: str | None = None
    ) -> object: ...


Make = Callable[[], Engine]


class Course(NamedTuple):
    """The genuine calls of one agent, in order, and the tool that will go wrong.

    Attributes:
        seed: the same seed gives the same course.
        family: the family whose tool goes wrong.
        tool: its busiest tool.
        order: the family of each call.
        planned: the calls of each family, and some that it makes later.
    """

    seed: int
    family: str
    tool: str
    order: Sequence[str]
    planned: Mapping[str, Sequence[Call]]

    def calls(self) -> Iterator[Call]:
        """All calls, in order."""
        streams = {family: iter(calls) for family, calls in self.planned.items()}
        return (next(streams[family]) for family in self.order)

    def scenes(self) -> Iterator[tuple[int, Call, Scene]]:
        """The calls of the tool with their places in the course, and what a fault of each may draw on."""
        made: Counter[str] = Counter()
        seen: set[tuple[str, str]] = set()
        for place, family in enumerate(self.order):
            at, own = made[family], self.planned[family]
            made[family] += 1
            if family != self.family:
                continue
            call = own[at]
            if call.tool == self.tool:
                others = [
                    other
                    for name, calls in self.planned.items()
                    if name != family
                    for other in calls[made[name] : made[name] + ELSEWHERE]
                ]
                yield place, call, Scene(own[:at], own[at + 1 : at + 1 + AHEAD], others, seen)
            seen.add((call.tool, json.dumps(call.result)))

    def first_calls(self) -> int:
        """How many calls of the course there are until the tool has had its sixty."""
        own = 0
        for place, call in enumerate(self.calls(), 1):
            own += call.tool == self.tool
            if own == BEFORE:
                return place
        return len(self.order)


class Said(NamedTuple):
    """The verdicts of one trial, in order.

    Attributes:
        faulty: on the faulty calls.
        retries: on the first faulty call, asked again at once; none where it was accepted or not asked again.
        after: on the genuine calls of the tool that follow its recovery.
    """

    faulty: Sequence[str]
    retries: Sequence[str]
    after: Sequence[str]

    @property
    def first(self) -> bool:
        """The first faulty call was not accepted."""
        return self.faulty[0] != "accept"

    @property
    def held(self) -> float:
        """Share of the faulty calls that were not accepted."""
        return _share(self.faulty)

    @property
    def spoiled(self) -> float:
        """Share of the genuine calls after the recovery that were not accepted."""
        return _share(self.after)

    @property
    def kept(self) -> bool | None:
        """The first faulty call was not accepted at any asking; None where it was not asked again."""
        return all(verdict != "accept" for verdict in self.retries) if self.retries else None

    @property
    def blocked_from_second(self) -> float | None:
        """Share blocked of the faulty calls after the second that was not accepted; None where there is none."""
        seen = 0
        for place, verdict in enumerate(self.faulty, 1):
            seen += verdict != "accept"
            if seen == 2:
                rest = self.faulty[place:]
                return rest.count("block") / len(rest) if rest else None
        return None


class Lasted(NamedTuple):
    """One fault that lasted, in one family's tool: what was said in each of the modes that were run."""

    seed: int
    family: str
    fault: str
    said: Mapping[str, Said]


class Started:
    """An engine that has had the first calls of a course, and passes over them when it is given them again."""

    accepted = SimpleNamespace(verdict="accept", posterior=0.0)  # a trial does not look at its first calls' verdicts

    def __init__(self, engine: Any, calls: int) -> None:
        self._engine = engine
        self._left = calls

    def verify(self, *call: Any, **said: Any) -> Any:
        if self._left:
            self._left -= 1
            return self.accepted
        return self._engine.verify(*call, **said)

    def record_feedback(self, *label: Any, **said: Any) -> object:
        return self._engine.record_feedback(*label, **said)


def courses(seeds: Iterable[int], families: Iterable[str] = FAMILIES) -> list[Course]:
    """A course for each of the families, once for each seed; families whose tools are called too rarely have none."""
    wanted = set(families)
    made = [
        course(seed, held, family) for seed in seeds for held in agents(seed) for family in held if family in wanted
    ]
    return [one for one in made if one is not None]


def course(seed: int, held: Sequence[str], family: str, calls: int = CALLS) -> Course | None:
    """The course of an agent that holds these families; None where no tool of the family is called often enough.

    Args:
        seed: the same seed gives the same course.
        held: the agent's families.
        family: the one whose tool goes wrong.
        calls: of each family.
    """
    planned = {name: list(islice(FAMILIES[name](seeded(seed, name)), calls + AHEAD)) for name in held}
    counted = Counter(call.tool for call in planned[family][:calls] if not reads_as_error(call.result))
    tool, times = counted.most_common(1)[0]
    if times < ENOUGH:
        return None
    order = [name for name in held for _ in range(calls)]
    random.Random(f"{seed} {' '.join(held)} in turn").shuffle(order)
    return Course(seed, family, tool, order, planned)


def reads_as_error(result: Any) -> bool:
    """An error report or an empty answer, by its form: a fault is not made of it.

    >>> [reads_as_error(one) for one in ("Error: 404", {"error": "none such"}, [], {"errors_total": 3}, "all well")]
    [True, True, True, False, False]
    """
    if isinstance(result, dict):
        return not result or bool(result.get("error"))
    text = str(result).strip().lower()
    return text in ("", "[]", "{}", "none", "null") or text.startswith(("error", "exception", "traceback"))


def struck(course: Course, fault: str) -> Mapping[int, Call] | None:
    """The wrong answers, by their place in the course; None where the fault shows in less than every other call."""
    strike = LASTING[fault](random.Random(f"{course.seed} {course.family} {fault}"))
    wrong: dict[int, Call] = {}
    since = 0
    for own, (place, call, scene) in enumerate(course.scenes()):
        if own < BEFORE or reads_as_error(call.result):
            continue
        bad = strike(call, scene)
        if bad is not None:
            wrong[place] = bad
        since += bool(wrong)
        if len(wrong) == FAULTY:
            return wrong
        if since == SPAN:
            return None
    return None


def trial(make: Make, course: Course, wrong: Mapping[int, Call], mode: str = "plain") -> Said:
    """What an engine says while the tool's answers are wrong, and after it.

    Args:
        make: gives a fresh engine.
        course: the calls.
        wrong: the answers that take the place of the right ones.
        mode: one of ``MODES``.
    """
    engine = make()
    faulty: list[str] = []
    retries: list[str] = []
    after: list[str] = []
    for place, call in enumerate(course.calls()):
        bad = wrong.get(place)
        if bad is None:
            verdict = judge(engine, call).verdict
            if len(faulty) == len(wrong) and call.tool == course.tool and not reads_as_error(call.result):
                after.append(verdict)
                if len(after) == AFTER:
                    break
            continue
        name = f"bad-{len(faulty)}"
        said = judge(engine, bad, call_id=name)
        faulty.append(said.verdict)
        if said.verdict != "accept" and mode == "labelled":
            engine.record_feedback(course.tool, said.posterior, True, call_id=name)
        if mode == "retried":
            if said.verdict != "accept":
                retries = [judge(engine, bad).verdict for _ in range(RETRIES)]
            break
    return Said(faulty, retries, after)


def genuine_change(make: Make, course: Course) -> list[str] | None:
    """The verdicts on the tool's calls after a new field came for good; None where the field shows in too few calls.

    A reviewer labels those of the first three that are not accepted as genuine; the verdicts are those on the 27 calls
    that follow.
    """
    shown: dict[int, Call] = {}
    for own, (place, call, _) in enumerate(course.scenes()):
        changed = CHANGES[NEW](call) if own >= BEFORE and not reads_as_error(call.result) else None
        if changed is not None and len(shown) < FAULTY:
            shown[place] = changed
    if len(shown) < FAULTY:
        return None
    engine = make()
    verdicts: list[str] = []
    for place, call in enumerate(course.calls()):
        changed = shown.get(place)
        if changed is None:
            judge(engine, call)
            continue
        name = f"new-{len(verdicts)}"
        said = judge(engine, changed, call_id=name)
        verdicts.append(said.verdict)
        if len(verdicts) <= LABELLED_GENUINE and said.verdict != "accept":
            engine.record_feedback(course.tool, said.posterior, False, call_id=name)
        if len(verdicts) == FAULTY:
            break
    return verdicts[LABELLED_GENUINE:]


def lasted(
    make: Make,
    courses: Iterable[Course],
    faults: Iterable[str] = LASTING,
    modes: Sequence[str] = MODES,
    at_once: int = AT_ONCE,
    done: Callable[[], object] = lambda: None,
    *,
    copies: bool | None = None,
) -> tuple[list[Lasted], dict[str, list[str]]]:
    """Every fault in every course; and the verdicts after a genuine change, by family, where all modes are run.

    The calls before a fault sets in are judged once, and every trial of the course goes on from there in a copy of the
    process: what comes out is what single trials with fresh engines give.

    Args:
        make: gives a fresh engine.
        courses: from ``courses``.
        faults: kinds of fault.
        modes: some of ``MODES``.
        at_once: how many trials run at the same time.
        done: called after each course.
        copies: whether trials run in copies of the process; None: where the system can.
    """
    kinds = list(faults)
    found: list[Lasted] = []
    changes: dict[str, list[str]] = {}
    for one in courses:
        plans = {fault: wrong for fault in kinds if (wrong := struck(one, fault)) is not None}
        runs = [(fault, mode) for fault in plans for mode in modes]
        changing = len(modes) == len(MODES)
        if can_fork() if copies is None else copies:
            start = _started(make, one)
            jobs: list[Callable[[], Any]] = [partial(trial, start, one, plans[fault], mode) for fault, mode in runs]
            answers = forked([*jobs, *([partial(genuine_change, start, one)] if changing else [])], at_once)
        else:
            answers = [trial(make, one, plans[fault], mode) for fault, mode in runs]
            answers += [genuine_change(make, one)] if changing else []
        said = dict(zip(runs, answers, strict=False))  # behind them the change, where there is one
        found += [
            Lasted(one.seed, one.family, fault, {mode: Said(*said[fault, mode]) for mode in modes}) for fault in plans
        ]
        if changing and answers[-1] is not None:
            changes.setdefault(one.family, []).extend(answers[-1])
        done()
    return found, changes


def _started(make: Make, course: Course) -> Make:
    """An engine that has judged the calls before any fault, for use in one copy of the process each."""
    engine, calls = make(), course.first_calls()
    for call in islice(course.calls(), calls):
        judge(engine, call)
    return lambda: Started(engine, calls)


def judge(engine: Engine, call: Call, call_id: str | None = None) -> Result:
    """Let the engine judge a call and learn from it as it sees fit."""
    return engine.verify(
        call.tool, args=call.args, result=call.result, execution_time_ms=call.ms, session_id=call.session,
        call_id=call_id,
    )  # fmt: skip


def _share(verdicts: Sequence[str]) -> float:
    return sum(verdict != "accept" for verdict in verdicts) / len(verdicts) if verdicts else float("nan")
