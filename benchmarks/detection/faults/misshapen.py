"""Faults in form: cut off, parts missing, a key renamed, a value of the wrong type, prose where data should be."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

from ..calls import Call
from ..spots import Spot, leaves, replaced, walk
from .scene import Scene, same

__all__ = ["YAML_KEY", "dropped", "pretended", "renamed", "truncated", "with_key", "wrong_type"]

OTHER_NAMES = {
    "id": "identifier",
    "name": "title",
    "title": "name",
    "status": "state",
    "state": "status",
    "total": "sum",
    "price": "cost",
    "city": "town",
    "query": "q",
    "value": "val",
    "count": "n",
    "email": "mail",
}
YAML_KEY = re.compile(r"^(\s*(?:- )?)(\w+)(?=:(?: |$))", re.MULTILINE)
SHORTEST = 8


def truncated(call: Call, scene: Scene, rng: Random) -> Call | None:
    """The text of the answer cut off after 30 to 90%."""
    text = call.result if isinstance(call.result, str) else json.dumps(call.result)
    return call._replace(result=text[: len(text) * rng.randrange(30, 90) // 100]) if len(text) >= SHORTEST else None


def dropped(call: Call, scene: Scene, rng: Random) -> Call | None:
    """A list or a text of several lines that ends early, or an object that lacks up to a third of its fields."""
    if isinstance(call.result, str):
        lines = call.result.splitlines(keepends=True)
        return call._replace(result="".join(lines[: _kept(lines, rng)])) if len(lines) > 1 else None
    spots: list[tuple[tuple[str | int, ...], Any]] = [
        (path, value) for path, value in walk(call.result) if isinstance(value, (dict, list)) and len(value) > 1
    ]
    if not spots:
        return None
    path, value = rng.choice(spots)
    if isinstance(value, list):
        rest: Any = value[: _kept(value, rng)]
    else:
        gone = rng.sample(list(value), rng.randrange(1, max(2, len(value) // 3 + 1)))
        rest = {key: inner for key, inner in value.items() if key not in gone}
    return call._replace(result=replaced(call.result, {Spot(path, None, None): rest}))


def renamed(call: Call, scene: Scene, rng: Random) -> Call | None:
    """One key under another name, in every element of a list alike."""
    if isinstance(call.result, str):
        names = sorted({found[2] for found in YAML_KEY.finditer(call.result)})
        if not names:
            return None
        name = rng.choice(names)
        result: Any = YAML_KEY.sub(
            lambda found: found[1] + (_renamed(name) if found[2] == name else found[2]), call.result
        )
        return call._replace(result=result)
    keys = sorted({key for _, value in walk(call.result) if isinstance(value, dict) for key in value})
    return call._replace(result=with_key(call.result, rng.choice(keys))) if keys else None


def wrong_type(call: Call, scene: Scene, rng: Random) -> Call | None:
    """A field, or the whole answer, of another type."""
    result = call.result
    fields = [spot for spot in leaves(result) if spot.value is not None] if isinstance(result, (dict, list)) else []
    if not fields or rng.random() < 0.2:
        wrapped: Any = {"result": result} if not isinstance(result, dict) else [result]
        return call._replace(result=wrapped)
    spot = rng.choice(fields)
    if isinstance(spot.value, str):
        choices: list[Any] = [{"value": spot.value}, [spot.value], 0, True]
    elif isinstance(spot.value, bool):
        choices = ["unknown", [spot.value]]
    else:
        choices = ["N/A", [spot.value], {"value": spot.value}, True]
    return call._replace(result=replaced(result, {spot: rng.choice(choices)}))


def pretended(call: Call, scene: Scene, rng: Random) -> Call | None:
    """A model speaks of a call that it did not make, with the values in the right answer's kind."""
    said = ", ".join(f"{spot.path[-1] if spot.path else 'value'}: {spot.value}" for spot in leaves(call.result)[:4])
    about = " and ".join(map(str, call.args.values())) or "your request"
    text = rng.choice((
        f"I called {call.tool} for {about}. Here is what I found: {said or 'everything looks fine'}.",
        f"Based on the {call.tool} tool, the result for {about} is as follows: {said or 'done'}. Let me know!",
        f"Sure! The {call.tool.replace('_', ' ')} returned {said or 'the expected result'}.",
    ))  # fmt: skip
    return None if same(text, call.result) else call._replace(result=text)


def _kept(items: Any, rng: Random) -> int:
    return max(1, int(len(items) * rng.uniform(0.3, 0.7)))


def with_key(value: Any, name: str) -> Any:
    """A copy of the value in which a key has another name, wherever it is."""
    if isinstance(value, dict):
        return {_renamed(key) if key == name else key: with_key(inner, name) for key, inner in value.items()}
    return [with_key(inner, name) for inner in value] if isinstance(value, list) else value


def _renamed(name: str) -> str:
    """CamelCase for snake_case, another word where one is known, else a suffix.

    >>> _renamed("created_at"), _renamed("city"), _renamed("ask")
    ('createdAt', 'town', 'ask_value')
    """
    head, *rest = name.split("_")
    return head + "".join(map(str.capitalize, rest)) if rest else OTHER_NAMES.get(name, f"{name}_value")
