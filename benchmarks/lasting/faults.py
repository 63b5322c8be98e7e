"""The sixteen kinds of fault, each made to last: what is wrong with the first answer is wrong with all that follow.

A fault that has set in keeps to what it struck: the same field in the same other unit, the same key gone, the same
answer stuck, the same foreign tool's answers. It passes over a call in which it does not show.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import islice
from random import Random
from typing import Any, TypeVar

from detection.calls import Call
from detection.faults import FAULTS, Fault, Scene
from detection.faults.misread import UNITS, alike, other_form
from detection.faults.misshapen import YAML_KEY, with_key
from detection.faults.scene import same
from detection.spots import Spot, columns, leaves, number_columns, replaced, walk

__all__ = ["LASTING", "Strike"]

T = TypeVar("T")

#: A fault that has set in: the call with its wrong answer, or None where the fault does not show.
Strike = Callable[[Call, Scene], Call | None]
#: Draws how the fault will be, and gives it.
Onset = Callable[[Random], Strike]

WORD_BEFORE = re.compile(r"([^\W\d]+)[^\w\n]*$")
LOOKED_BACK, USUAL = 20, 0.5  # a field counts as usual where half of the tool's last twenty answers have it


class _Chosen:
    """What a fault strikes: chosen when it first shows, among what the tool's answers usually have; kept ever after."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._name: Hashable = None

    def among(self, found: Callable[[Call], Mapping[Hashable, T]], call: Call, scene: Scene) -> T | None:
        """What stands under the chosen name in this call; None where nothing does."""
        here = found(call)
        if self._name is None and here:
            past = [set(found(one)) for one in islice(scene.of_tool(call.tool), LOOKED_BACK)]
            usual = [name for name in here if sum(name in names for names in past) >= USUAL * len(past)]
            self._name = self._rng.choice(usual or list(here))
        return here.get(self._name)


def _same_draws(fault: Fault) -> Onset:
    """The fault with the same draws at every call: the same share cut off, the same words."""

    def onset(rng: Random) -> Strike:
        seed = rng.getrandbits(64)
        return lambda call, scene: fault(call, scene, Random(seed))

    return onset


def _new_draws(fault: Fault) -> Onset:
    """The fault drawn anew at every call: a model that stands in for the tool, a time that is always too short."""
    return lambda rng: lambda call, scene: fault(call, scene, rng)


def _number(change_of: Callable[[Random], Callable[[float], float]]) -> Onset:
    """One number field, changed in the same way in every answer."""

    def onset(rng: Random) -> Strike:
        change, chosen = change_of(rng), _Chosen(rng)

        def strike(call: Call, scene: Scene) -> Call | None:
            spots = chosen.among(_numbers, call, scene) or ()
            return _answering(call, replaced(call.result, {spot: alike(spot, change(spot.value)) for spot in spots}))

        return strike

    return onset


def _scaled(rng: Random) -> Callable[[float], float]:
    factor = rng.choice((10, 0.1))
    return lambda number: number * factor


def _negated(rng: Random) -> Callable[[float], float]:
    return lambda number: -number


def _unit_changed(rng: Random) -> Callable[[float], float]:
    factor, offset = rng.choice(UNITS)
    return lambda number: number * factor + offset


def _reformatted(rng: Random) -> Strike:
    chosen, way, seed = _Chosen(rng), rng.randrange(2), rng.getrandbits(64)

    def fields(call: Call) -> Mapping[Hashable, list[Spot]]:
        return _by_column(columns(call.result, lambda value: other_form(value, way) is not None))

    def strike(call: Call, scene: Scene) -> Call | None:
        if isinstance(call.result, str):
            return FAULTS["reformatted"](call, scene, Random(seed))
        spots = chosen.among(fields, call, scene) or ()
        return _answering(call, replaced(call.result, {spot: other_form(spot.value, way) for spot in spots}))

    return strike


def _renamed(rng: Random) -> Strike:
    chosen = _Chosen(rng)

    def keys(call: Call) -> Mapping[Hashable, str]:
        if isinstance(call.result, str):
            return {found[2]: found[2] for found in YAML_KEY.finditer(call.result)}
        return {key: key for _, value in walk(call.result) if isinstance(value, dict) for key in value}

    def strike(call: Call, scene: Scene) -> Call | None:
        key = chosen.among(keys, call, scene)
        if key is None or not isinstance(call.result, str):
            return None if key is None else _answering(call, with_key(call.result, key))
        new = next(iter(with_key({key: 0}, key)))
        text = YAML_KEY.sub(lambda found: found[1] + (new if found[2] == key else found[2]), call.result)
        return _answering(call, text)

    return strike


def _dropped(rng: Random) -> Strike:
    chosen, share, seed = _Chosen(rng), rng.uniform(0.3, 0.7), rng.getrandbits(64)
    gone: list[str] = []  # the keys that are missing, where the chosen container is an object

    def containers(call: Call) -> Mapping[Hashable, list[Spot]]:
        spots = [
            Spot(path, None, value)
            for path, value in walk(call.result)
            if isinstance(value, (dict, list)) and len(value) > 1
        ]
        return _by_column([[spot] for spot in spots])

    def rest(value: Any) -> Any:
        if isinstance(value, list):
            return value[: _kept(value, share)]
        if not gone:
            gone.extend(rng.sample(list(value), rng.randrange(1, max(2, len(value) // 3 + 1))))
        return {key: inner for key, inner in value.items() if key not in gone}

    def strike(call: Call, scene: Scene) -> Call | None:
        if isinstance(call.result, str):
            return FAULTS["dropped"](call, scene, Random(seed))
        spots = chosen.among(containers, call, scene) or ()
        return _answering(
            call, replaced(call.result, {Spot(spot.path, None, None): rest(spot.value) for spot in spots})
        )

    return strike


def _wrong_type(rng: Random) -> Strike:
    chosen, whole, way = _Chosen(rng), rng.random() < 0.2, rng.randrange(12)

    def fields(call: Call) -> Mapping[Hashable, list[Spot]]:
        return _by_column(columns(call.result, lambda value: value is not None))

    def strike(call: Call, scene: Scene) -> Call | None:
        result = call.result
        if whole or not isinstance(result, (dict, list)) or not (result and fields(call)):
            return call._replace(result=[result] if isinstance(result, dict) else {"result": result})
        spots = chosen.among(fields, call, scene) or ()
        return _answering(call, replaced(result, {spot: _other_type(spot.value, way) for spot in spots}))

    return strike


def _repeated(rng: Random) -> Strike:
    """One answer for every question: the last one before the fault set in."""
    stuck: list[Call] = []

    def strike(call: Call, scene: Scene) -> Call | None:
        if not stuck:
            stuck.extend(islice(scene.of_tool(call.tool), 1))
        return _answering(call, stuck[0].result) if stuck else None

    return strike


def _stale(rng: Random) -> Strike:
    """Every answer as it was when the fault set in: a copy that is no longer brought up to date."""
    copy: list[Call] = []

    def strike(call: Call, scene: Scene) -> Call | None:
        if not copy:
            copy.extend(scene.of_tool(call.tool))
        old = next((past for past in copy if past.args == call.args), None)
        return None if old is None else _answering(call, old.result)

    return strike


def _swapped_args(rng: Random) -> Strike:
    """Answers are one off: each call gets what belongs to the next call with other arguments."""

    def strike(call: Call, scene: Scene) -> Call | None:
        others = (one for one in scene.unseen(scene.ahead) if one.tool == call.tool and one.args != call.args)
        other = next((one for one in others if not same(one.result, call.result)), None)
        return None if other is None else call._replace(result=other.result)

    return strike


def _swapped_tool(rng: Random) -> Strike:
    """One other tool answers in this one's place: a sibling where there is one."""
    chosen: list[str] = []

    def strike(call: Call, scene: Scene) -> Call | None:
        siblings = [one for one in scene.unseen(scene.ahead) if one.tool != call.tool]
        if not chosen:
            tools = dict.fromkeys(one.tool for one in siblings or scene.elsewhere)
            chosen.extend(rng.sample(list(tools), min(1, len(tools))))
        foreign = (one for one in (*siblings, *scene.elsewhere) if one.tool in chosen)
        other = next((one for one in foreign if not same(one.result, call.result)), None)
        return None if other is None else call._replace(result=other.result)

    return strike


LASTING: Mapping[str, Onset] = {
    "dropped": _dropped,
    "emptied": _same_draws(FAULTS["emptied"]),
    "instant": _new_draws(FAULTS["instant"]),
    "invented": _new_draws(FAULTS["invented"]),
    "negated": _number(_negated),
    "pretended": _same_draws(FAULTS["pretended"]),
    "reformatted": _reformatted,
    "renamed": _renamed,
    "repeated": _repeated,
    "scaled": _number(_scaled),
    "stale": _stale,
    "swapped_args": _swapped_args,
    "swapped_tool": _swapped_tool,
    "truncated": _same_draws(FAULTS["truncated"]),
    "unit_changed": _number(_unit_changed),
    "wrong_type": _wrong_type,
}


def _numbers(call: Call) -> Mapping[Hashable, list[Spot]]:
    """The number fields of an answer by name: of an object its columns, of a text the word before each number."""
    if not isinstance(call.result, str):
        return _by_column(number_columns(call.result, call.args))
    given = set(map(str, call.args.values()))
    named: dict[Hashable, list[Spot]] = {}
    for spot in leaves(call.result):
        if spot.value and str(spot.value) not in given:
            word = WORD_BEFORE.search(call.result[: spot.span[0]] if spot.span else "")
            named.setdefault(word[1] if word else "", []).append(spot)
    return named


def _by_column(found: Sequence[Sequence[Spot]]) -> Mapping[Hashable, list[Spot]]:
    named: dict[Hashable, list[Spot]] = {}
    for spots in found:
        named.setdefault(spots[0].column, []).extend(spots)
    return named


def _other_type(value: Any, way: int) -> Any:
    choices: tuple[Any, ...] = ("N/A", [value], {"value": value}, True)
    if isinstance(value, str):
        choices = ({"value": value}, [value], 0, True)
    elif isinstance(value, bool):
        choices = ("unknown", [value])
    return choices[way % len(choices)]


def _answering(call: Call, result: Any) -> Call | None:
    return None if same(result, call.result) else call._replace(result=result)


def _kept(items: Sequence[Any], share: float) -> int:
    return max(1, int(len(items) * share))
