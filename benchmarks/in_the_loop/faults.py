"""Implicit faults: what a tool answers is wrong and looks right, once or from some moment on.

=============  ========================================================================================================
stale          the answer as it was before the night
scaled         a number field times 10, 100, 1,000 or 0.1
negated        a number field of the other sign, or a flag turned
swapped_args   the tool's own answer to other arguments
swapped_tool   another tool's answer
truncated      the text cut off after 30 to 95%
mixed          a field with the value that another answer of the tool has there
foreign_row    a row of another answer among this one's
lost_rows      the second half of the rows gone
shifted        a date field a day, a month or a year off, a time one or two hours
recoded        a word of a fixed set written in another code
noop           a write that answers as always and writes nothing
invented       what a model would make up, the tool not called: the right fields, plausible values
mock           a recorded answer that repeats the arguments, the tool not called: a mock left in
=============  ========================================================================================================

A single fault strikes one call and is gone when the call is made again. A lasting one strikes every call of the tool in
which it shows, and keeps to what it struck: the same field, the same factor, the same mock.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import cached_property
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from detection.faults.misread import alike
from detection.faults.scene import same
from detection.spots import Spot, leaves, replaced, walk

from .tools import TOOLS
from .traffic import Answer, Made, answered, as_text
from .world import IN_MEMORY, World

__all__ = ["KINDS", "Fault", "Past", "Struck"]

DATE = re.compile(r"(?<!\d)(20\d\d-\d\d-\d\d)(T\d\d:\d\d)?")
TOKEN = re.compile(r"[^\s,:=]+")
WORD = re.compile(r"[A-Za-z]+")
PLAIN_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
FEW, ENOUGH = 8, 20  # a field with at most so many different words in at least so many answers has a fixed set of them
SHORTEST = 8  # characters that can be cut off
GENERIC = ("Example Item", "John Smith", "Sample entry", "Standard", "Acme")
INSTANT_MS = (0.05, 1.0)
SHOWN_MOST = 300  # answers of a tool that a fault may draw on
TRIES = 12


class Fault(NamedTuple):
    """One fault.

    Attributes:
        kind: one of ``KINDS``.
        tool: the tool that it strikes.
        seed: of what it draws.
        args: of the one call that a single fault strikes; None: it lasts.
    """

    kind: str
    tool: str
    seed: int
    args: Mapping[str, Any] | None = None

    @property
    def lasting(self) -> bool:
        """It strikes every call of the tool."""
        return self.args is None


class Past:
    """What was answered in the weeks before, by tool, and the company as it was yesterday."""

    def __init__(self, traffic: Sequence[Made], yesterday: Path) -> None:
        self.yesterday = yesterday
        self.made: defaultdict[str, list[Made]] = defaultdict(list)
        for one in traffic:
            if not one.answer.is_error:
                self.made[one.tool].append(one)

    @cached_property
    def words(self) -> Mapping[str, set[str]]:
        """The fields with a fixed set of words, as ``tool field``."""
        seen: defaultdict[str, list[str]] = defaultdict(list)
        for tool, made in self.made.items():
            for one in made:
                for name, spots in fields(one.answer.value).items():
                    seen[f"{tool} {name}"] += [spot.value for spot in spots if isinstance(spot.value, str)]
        return {
            name: set(values)
            for name, values in seen.items()
            if len(values) >= ENOUGH and len(set(values)) <= FEW and all(map(WORD.fullmatch, values))
        }

    def recent(self, tool: str) -> Sequence[Made]:
        """The latest answers of a tool."""
        return self.made[tool][-SHOWN_MOST:]


class Scene(NamedTuple):
    """What a fault has at hand at one call.

    Attributes:
        tool, args: the call.
        value: the right answer.
        chosen: a fault's memory: what it strikes.
        rng: drawn from anew at each call, so that a lasting fault draws the same each time.
        others: answers of the tool to other arguments, made now.
        past: what was before.
        world: the company.
    """

    tool: str
    args: Mapping[str, Any]
    value: Any
    chosen: dict[str, Any]
    rng: Random
    others: Callable[[], Iterator[Any]]
    past: Past
    world: World


# --- The fields of an answer ---


def fields(value: Any) -> Mapping[str, list[Spot]]:
    """The leaves of an answer by field; of a text the words of its lines by column or by the word before them."""
    named: defaultdict[str, list[Spot]] = defaultdict(list)
    if not isinstance(value, str):
        for spot in leaves(value):
            named[".".join(map(str, spot.column))].append(spot)
        return named
    at = 0
    for line in value.splitlines(keepends=True):
        tokens = list(TOKEN.finditer(line))
        table = "," in line
        for number, token in enumerate(tokens):
            if table or number:
                name = str(number) if table else f"{tokens[0][0]} {number}"
            else:
                name = "alone" if len(tokens) == 1 else ""
            if name:
                named[name].append(Spot((), (at + token.start(), at + token.end()), _typed(token[0])))
        at += len(line)
    return named


def _typed(text: str) -> Any:
    if not PLAIN_NUMBER.fullmatch(text):
        return text
    return float(text) if "." in text else int(text)


def _some_field(scene: Scene, wanted: Callable[[Any], bool], *, given: bool = False) -> list[Spot]:
    """The spots of one field with a wanted value: chosen when the fault first shows, kept ever after."""
    repeats = set(map(str, scene.args.values()))
    here = {
        name: some
        for name, spots in fields(scene.value).items()
        if (some := [spot for spot in spots if wanted(spot.value) and (given or str(spot.value) not in repeats)])
    }
    if "field" not in scene.chosen and here:
        scene.chosen["field"] = scene.rng.choice(sorted(here))
    return list(here.get(scene.chosen.get("field", ""), ()))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value != 0


# --- The kinds ---


def stale(scene: Scene) -> Any:
    if TOOLS[scene.tool].writes:
        return None
    with (
        TemporaryDirectory(dir=IN_MEMORY) as folder,
        World(scene.past.yesterday) as kept,
        kept.copy(Path(folder)) as yesterday,
    ):
        answer = answered(yesterday, scene.tool, scene.args, Random(0))
    return None if answer.is_error else answer.value


def scaled(scene: Scene) -> Any:
    factor = scene.rng.choice((10, 100, 1_000, 0.1))
    spots = _some_field(scene, _is_number)
    return replaced(scene.value, {spot: alike(spot, spot.value * factor) for spot in spots})


def negated(scene: Scene) -> Any:
    spots = _some_field(scene, lambda value: isinstance(value, bool) or _is_number(value))
    return replaced(
        scene.value, {spot: not spot.value if isinstance(spot.value, bool) else -spot.value for spot in spots}
    )


def swapped_args(scene: Scene) -> Any:
    return None if TOOLS[scene.tool].writes else next(scene.others(), None)


def swapped_tool(scene: Scene) -> Any:
    siblings = [
        name for name, tool in TOOLS.items() if name != scene.tool and not tool.writes and scene.past.made[name]
    ]
    tool = scene.chosen.setdefault("tool", scene.rng.choice(siblings))
    draw = Random(f"{scene.rng.random()} {json.dumps(scene.args)}")
    made = draw.choice(scene.past.recent(tool))
    answer = _asked_aside(scene.world, tool, made.args)
    return None if answer.is_error else answer.value


def truncated(scene: Scene) -> Any:
    text = as_text(scene.value)
    return text[: len(text) * scene.rng.randrange(30, 95) // 100] if len(text) >= SHORTEST else None


def mixed(scene: Scene) -> Any:
    spots = _some_field(scene, lambda value: not isinstance(value, bool))
    name = scene.chosen.get("field", "")
    for other in scene.others():
        theirs = [spot.value for spot in fields(other).get(name, ()) if spot.value not in [own.value for own in spots]]
        if spots and theirs:
            return replaced(scene.value, {spots[-1]: theirs[0]})
    return None


def foreign_row(scene: Scene) -> Any:
    for other in scene.others():
        theirs = dict(_rows(other))
        for path, rows in _rows(scene.value):
            new = [row for row in theirs.get(path, ()) if row not in rows]
            if new:
                return _with_rows(scene.value, path, [*rows, new[-1]])
    return None


def lost_rows(scene: Scene) -> Any:
    for path, rows in _rows(scene.value):
        if len(rows) > 1:
            return _with_rows(scene.value, path, rows[: (len(rows) + 1) // 2])
    return None


def shifted(scene: Scene) -> Any:
    spots = _some_field(scene, lambda value: isinstance(value, str) and DATE.search(value) is not None)
    way = scene.rng.randrange(4)
    return replaced(scene.value, {spot: DATE.sub(lambda match: _moved(match, way), spot.value) for spot in spots})


def recoded(scene: Scene) -> Any:
    def has_a_code(name: str, value: Any) -> bool:
        return isinstance(value, str) and f"{scene.tool} {name}" in scene.past.words

    here = {
        name: some
        for name, spots in fields(scene.value).items()
        if (some := [spot for spot in spots if has_a_code(name, spot.value)])
    }
    if "field" not in scene.chosen and here:
        scene.chosen["field"] = scene.rng.choice(sorted(here))
    spots = here.get(scene.chosen.get("field", ""), ())
    return replaced(scene.value, {spot: f"{spot.value[0]}{spot.value[-1]}".upper() for spot in spots})


def noop(scene: Scene) -> Any:
    return scene.value  # what was written is undone: see Struck


def invented(scene: Scene) -> Any:
    repeats = set(map(str, scene.args.values()))
    news = {
        spot: _made_up(f"{scene.tool} {name}", spot.value, scene)
        for name, spots in fields(scene.value).items()
        for spot in spots
        if str(spot.value) not in repeats
    }
    return replaced(scene.value, news)


def mock(scene: Scene) -> Any:
    fixture = scene.chosen.setdefault("fixture", scene.rng.choice(scene.past.recent(scene.tool)))
    given = {str(value): scene.args.get(name) for name, value in fixture.args.items()}
    spots = [spot for spots in fields(fixture.answer.value).values() for spot in spots if str(spot.value) in given]
    return replaced(fixture.answer.value, {spot: given[str(spot.value)] for spot in spots})


KINDS: Mapping[str, Callable[[Scene], Any]] = {
    kind.__name__: kind
    for kind in (
        stale, scaled, negated, swapped_args, swapped_tool, truncated, mixed, foreign_row, lost_rows, shifted, recoded,
        noop, invented, mock,
    )
}  # fmt: skip
UNCALLED = ("invented", "mock")  # kinds in which the tool is not called
UNDONE = ("noop", *UNCALLED)


def _rows(value: Any) -> Iterator[tuple[tuple[str | int, ...], list[Any]]]:
    """The lists of records in an answer; of a text of several lines all but the first."""
    if isinstance(value, str):
        lines = value.splitlines(keepends=True)
        if len(lines) > 2:
            yield (), lines[1:]
        return
    for path, inner in walk(value):
        if isinstance(inner, list) and inner and isinstance(inner[0], dict):
            yield path, inner


def _with_rows(value: Any, path: tuple[str | int, ...], rows: list[Any]) -> Any:
    if isinstance(value, str):
        return "".join([value.splitlines(keepends=True)[0], *rows])
    return replaced(value, {Spot(path, None, None): rows})


def _moved(match: re.Match[str], way: int) -> str:
    day, time = date.fromisoformat(match[1]), match[2] or ""
    if time and way < 2:
        return f"{datetime.fromisoformat(match[0]) + timedelta(hours=way + 1):%Y-%m-%dT%H:%M}"
    if way < 2:
        return f"{day + timedelta(days=1 if way else -1)}{time}"
    month = (day.month % 12) + 1 if way == 2 else day.month
    return f"{day.replace(year=day.year + (way == 3), month=month, day=min(day.day, 28))}{time}"


def _made_up(field: str, value: Any, scene: Scene) -> Any:
    rng = scene.rng
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        new = value * rng.uniform(0.5, 1.6)
        return int(float(f"{new:.1g}")) if isinstance(value, int) else float(f"{new:.2g}")
    if DATE.search(value):
        return DATE.sub(
            lambda match: f"{match[1][:4]}-{rng.randrange(1, 13):02d}-15{(match[2] and 'T10:30') or ''}", value
        )
    known = scene.past.words.get(field)
    if known:
        return rng.choice(sorted(known))
    return re.sub(r"\d", lambda _: str(rng.randrange(10)), value) if re.search(r"\d", value) else rng.choice(GENERIC)


def _asked_aside(world: World, tool: str, args: Mapping[str, Any]) -> Answer:
    """Ask a tool for what a fault needs to know; whatever a command does meanwhile is undone."""
    if tool != "run_command":
        return answered(world, tool, args, Random(0))
    with world.undone():
        return answered(world, tool, args, Random(0))


# --- A fault at work ---


class Struck:
    """A company's tools with a fault in one of them.

    Args:
        world: the company; another one may take its place (``world``) while the fault lasts.
        fault: None: everything is right.
        past: what the fault draws on.

    Attributes:
        shown: how often the answer was another than the right one, or nothing was written.
    """

    def __init__(self, world: World, fault: Fault | None, past: Past) -> None:
        self.world = world
        self.fault = fault
        self.shown = 0
        self._past = past
        self._chosen: dict[str, Any] = {}

    def __call__(self, tool: str, args: Mapping[str, Any], draw: Random) -> Answer:
        """Call a tool."""
        fault = self.fault
        if fault is None or fault.tool != tool or not (fault.lasting or (args == fault.args and not self.shown)):
            return answered(self.world, tool, args, draw)
        if fault.kind in UNDONE:
            with self.world.undone():
                before = self.world.state()
                right = answered(self.world, tool, args, draw)
                left = self.world.state() != before
        else:
            right = answered(self.world, tool, args, draw)
        if right.is_error:
            return right if fault.kind not in UNDONE else answered(self.world, tool, args, draw)
        wrong = KINDS[fault.kind](self._scene(fault, tool, args, right.value))
        shows = left if fault.kind == "noop" else wrong is not None and not same(wrong, right.value)
        if not shows:
            return answered(self.world, tool, args, draw) if fault.kind in UNDONE else right
        self.shown += 1
        rng = Random(f"{fault.seed} {self.shown} instant")
        return Answer(wrong, False, round(rng.uniform(*INSTANT_MS), 3) if fault.kind in UNCALLED else right.ms)

    def _scene(self, fault: Fault, tool: str, args: Mapping[str, Any], value: Any) -> Scene:
        def others() -> Iterator[Any]:
            draw = Random(f"{fault.seed} {json.dumps(args)} others")
            made = [one for one in self._past.recent(tool) if one.args != args]
            for one in draw.sample(made, min(TRIES, len(made))):
                answer = one.answer if TOOLS[tool].writes else _asked_aside(self.world, tool, one.args)
                if not answer.is_error and not same(answer.value, value):
                    yield answer.value

        rng = Random(f"{fault.seed} {fault.kind}")
        return Scene(tool, args, value, self._chosen, rng, others, self._past, self.world)
