"""The day played through once without faults, without waiting and without a guard.

The tools' answers follow from the seed and the minute alone, so the rehearsal knows what will be true at each call.
That is what lets faults be placed where they really are faults: a stale answer where the truth has changed, a wrong
entity where the other entity's answer differs.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .plan import PlannedCall
from .toolbox import Toolbox

__all__ = ["Rehearsed", "facts", "rehearse"]


class Rehearsed(NamedTuple):
    """A planned call, its true answer, and arguments of another entity whose answer differs then (None: no such)."""

    call: PlannedCall
    answer: str
    other_args: Mapping[str, Any] | None


def rehearse(plan: Sequence[PlannedCall], seed: int) -> list[Rehearsed]:
    """What each planned call will find."""
    draw = random.Random(f"rehearsal {seed}")
    asked: dict[str, list[dict[str, Any]]] = {}
    for call in plan:
        known = asked.setdefault(_form(call.tool, call.args), [])
        if call.args not in known:
            known.append(call.args)
    played: list[Rehearsed] = []
    with Toolbox(seed, over_http=False) as toolbox:
        for call in plan:
            toolbox.advance(call.step)
            answer = toolbox.call(call.tool, call.args)
            known = asked[_form(call.tool, call.args)]
            others = (
                args
                for args in draw.sample(known, len(known))
                if args != call.args and facts(toolbox.call(call.tool, args)) != facts(answer)
            )
            played.append(Rehearsed(call, answer, next(others, None)))
    return played


def facts(answer: str) -> Any:
    """What an answer says, without the times at which it says it.

    >>> facts('{"price": 20.5, "as_of": "2025-03-03T08:00:00Z"}')
    {'price': 20.5}
    """
    return _without_times(json.loads(answer))


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(item) for key, item in value.items() if not key.endswith(("_at", "as_of"))}
    return [_without_times(item) for item in value] if isinstance(value, list) else value


def _form(tool: str, args: Mapping[str, Any]) -> str:
    """Calls of one form differ in the entity only: the same tool and, for queries, the same SQL."""
    return f"{tool} {args.get('sql', '')}"
