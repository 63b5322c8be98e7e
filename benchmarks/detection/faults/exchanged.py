"""Faults that answer with something real which is not the answer: another call's, an older one, nothing, too soon."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

from ..calls import Call
from .scene import Scene, same

__all__ = [
    "emptied",
    "instant",
    "repeated",
    "stale",
    "swapped_args",
    "swapped_args_seen",
    "swapped_tool",
    "swapped_tool_seen",
]

SLOW_MS = 20.0


def swapped_args(call: Call, scene: Scene, rng: Random) -> Call | None:
    """The answer to other arguments, one that nobody has seen yet."""
    return _instead(call, _other_args(call, scene.unseen(scene.ahead)), rng)


def swapped_args_seen(call: Call, scene: Scene, rng: Random) -> Call | None:
    """The answer to other arguments, one that was given before."""
    return _instead(call, _other_args(call, scene.past[-60:]), rng)


def swapped_tool(call: Call, scene: Scene, rng: Random) -> Call | None:
    """The answer of another tool that nobody has seen yet: of a sibling where there is one."""
    siblings = [other for other in scene.unseen(scene.ahead) if other.tool != call.tool]
    return _instead(call, siblings or scene.elsewhere, rng)


def swapped_tool_seen(call: Call, scene: Scene, rng: Random) -> Call | None:
    """The answer of a sibling that was given before; none where the family has one tool."""
    return _instead(call, [other for other in scene.past[-60:] if other.tool != call.tool], rng)


def stale(call: Call, scene: Scene, rng: Random) -> Call | None:
    """An older answer to the same arguments, where the right one has changed since."""
    older = [past for past in scene.of_tool(call.tool) if past.args == call.args]
    return _instead(call, older[:8], rng)


def repeated(call: Call, scene: Scene, rng: Random) -> Call | None:
    """The previous answer of the tool once more, though the arguments are others now."""
    previous = next(scene.of_tool(call.tool), None)
    return None if previous is None else _instead(call, _other_args(call, [previous]), rng)


def emptied(call: Call, scene: Scene, rng: Random) -> Call | None:
    """Nothing where there is something: the bare container, null, or every field without its value."""
    result = call.result
    if result in (None, "", [], {}, "[]"):
        return None
    choices: list[Any] = [None, "" if isinstance(result, str) else [] if isinstance(result, list) else {}]
    if isinstance(result, dict):
        choices.append({key: _without(value, result) for key, value in result.items()})
    return call._replace(result=rng.choice(choices))


def instant(call: Call, scene: Scene, rng: Random) -> Call | None:
    """An answer within a millisecond from a tool that takes longer: nobody was asked."""
    if call.ms < SLOW_MS or scene.usual_ms(call.tool) < SLOW_MS:
        return None
    return call._replace(ms=round(rng.uniform(0.05, 1.0), 3))


def _other_args(call: Call, calls: Iterable[Call]) -> list[Call]:
    return [other for other in calls if other.tool == call.tool and other.args != call.args]


def _instead(call: Call, donors: Sequence[Call], rng: Random) -> Call | None:
    usable = [donor for donor in donors if not same(donor.result, call.result)]
    return call._replace(result=rng.choice(usable).result) if usable else None


def _without(value: Any, result: dict[str, Any]) -> Any:
    return [] if isinstance(value, list) else {} if isinstance(value, dict) else "" if isinstance(value, str) else None
