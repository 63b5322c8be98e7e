"""Faults that disturb a relation and nothing else: another answer's value, a changed constant, rows not asked for."""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Mapping
from functools import partial
from itertools import islice
from random import Random
from typing import Any

from detection.calls import Call
from detection.faults import Fault, Scene
from detection.spots import Spot, leaves, replaced, walk

__all__ = ["WITHIN"]

LOOKED_AT, SEEN = 12, 60  # past answers
DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(.*)", re.DOTALL)


def mixed(call: Call, scene: Scene, rng: Random) -> Call | None:
    """One value that another answer of the tool had in its place."""
    others = list(islice(scene.of_tool(call.tool), LOOKED_AT))
    rng.shuffle(others)
    for other in others:
        values = {spot.column: spot.value for spot in leaves(other.result)}
        spots = [spot for spot in _fields(call) if values.get(spot.column, spot.value) != spot.value]
        if spots:
            spot = rng.choice(spots)
            return call._replace(result=replaced(call.result, {spot: values[spot.column]}))
    return None


def recoded(call: Call, scene: Scene, rng: Random) -> Call | None:
    """A word that was the same in every answer, another one."""
    seen: dict[Any, Counter[str]] = {}
    for past in islice(scene.of_tool(call.tool), SEEN):
        for spot in _fields(past):
            if isinstance(spot.value, str):
                seen.setdefault(spot.column, Counter())[spot.value] += 1
    spots = [
        spot
        for spot in _fields(call)
        if isinstance(spot.value, str) and len(seen.get(spot.column, ())) == 1 and seen[spot.column].total() >= 20
    ]
    if not spots:
        return None
    spot = rng.choice(spots)
    return call._replace(result=replaced(call.result, {spot: rng.choice(("other", "unknown", "standard", "default"))}))


def turned(call: Call, scene: Scene, rng: Random) -> Call | None:
    """One flag that says the contrary."""
    spots = [spot for spot in _fields(call) if isinstance(spot.value, bool)]
    if not spots:
        return None
    spot = rng.choice(spots)
    return call._replace(result=replaced(call.result, {spot: not spot.value}))


def shifted(call: Call, scene: Scene, rng: Random) -> Call | None:
    """One date a day, a month or a year off."""
    spots = [spot for spot in _fields(call) if isinstance(spot.value, str) and DATE.fullmatch(spot.value)]
    if not spots:
        return None
    spot = rng.choice(spots)
    found = DATE.fullmatch(spot.value)
    assert found is not None
    year, month, day = int(found[1]), int(found[2]), int(found[3])
    part = rng.randrange(3)
    year, month, day = (
        year + rng.choice((-1, 1)) * (part == 0),
        month % 12 + 1 if part == 1 else month,
        day % 28 + 1 if part == 2 else day,
    )
    return call._replace(result=replaced(call.result, {spot: f"{year:04d}-{month:02d}-{day:02d}{found[4]}"}))


def foreign_row(call: Call, scene: Scene, rng: Random) -> Call | None:
    """A row of another answer among this one's."""
    others = [past for past in islice(scene.of_tool(call.tool), LOOKED_AT) if past.args != call.args]
    rng.shuffle(others)
    for other in others:
        found = _lists(call.result, other.result)
        if found:
            path, rows = rng.choice(found)
            row, place = rng.choice(rows), rng.random()
            return call._replace(result=_with(call.result, path, partial(_inserted, row=row, share=place)))
    return None


def lost_rows(call: Call, scene: Scene, rng: Random) -> Call | None:
    """Half of the rows."""
    lists = [path for path, value in walk(call.result) if isinstance(value, list) and len(value) > 1]
    if not lists:
        return None
    return call._replace(result=_with(call.result, rng.choice(lists), lambda own: own[: len(own) // 2]))


def unrefreshed(call: Call, scene: Scene, rng: Random) -> Call | None:
    """What the same arguments had got before in this session, where they now get something else."""
    for past in scene.of_tool(call.tool):
        if past.session == call.session and past.args == call.args:
            return call._replace(result=past.result) if past.result != call.result else None
    return None


def _fields(call: Call) -> list[Spot]:
    return [] if isinstance(call.result, str) else leaves(call.result)


def _lists(result: Any, other: Any) -> list[tuple[Any, list[Any]]]:
    own = {path: value for path, value in walk(result) if isinstance(value, list) and value}
    return [
        (path, value) for path, value in walk(other) if isinstance(value, list) and value and path in own
    ]  # of the same place


def _inserted(own: list[Any], row: Any, share: float) -> list[Any]:
    place = round(share * len(own))
    return [*own[:place], copy.deepcopy(row), *own[place:]]


def _with(result: Any, path: tuple[Any, ...], change: Any) -> Any:
    """A copy of the result with a changed list."""
    made = copy.deepcopy(result)
    if not path:
        return change(made)
    holder = made
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = change(holder[path[-1]])
    return made


WITHIN: Mapping[str, Fault] = {
    fault.__name__: fault for fault in (foreign_row, lost_rows, mixed, recoded, shifted, turned, unrefreshed)
}
