"""Genuine changes of a tool: a new field, a new state, another unit, a new name, another speed, for good.

What follows a change is right and must be learned. A change takes a call as the tool would have answered before and
gives it as the tool answers now, or None where it does not show in this answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, NamedTuple

from agentguard.verification import VerificationEngine

from .calls import Call
from .families import FAMILIES
from .faults.misshapen import with_key
from .spots import columns, number_columns, replaced, walk
from .stream import agents, seeded

__all__ = ["CHANGES", "UNCHANGED", "Recovery", "Turnover", "turnover", "turnovers"]

BEFORE, AFTER = 120, 100  # calls of each family before and after the change
SETTLED = 5  # accepted changed calls in a row, from which on a change counts as learned
STATE = re.compile(r"[a-z][a-z_]+")


def new_field(call: Call) -> Call | None:
    """Objects carry one field more, a text one line more."""
    match call.result:
        case {}:
            return call._replace(result={**call.result, "revision": 7})
        case [{}, *_]:
            return call._replace(result=[{**item, "revision": 7} for item in call.result])
        case str() as text if " " in text:
            return call._replace(result=f"{text.rstrip()}\nsource: national service")
    return None


def new_state(call: Call) -> Call | None:
    """The first text field with a state in it has one that was never seen."""
    given = set(map(str, call.args.values()))
    fields = columns(
        call.result, lambda value: isinstance(value, str) and bool(STATE.fullmatch(value)) and value not in given
    )
    fields = [spots for spots in fields if spots[0].path]
    return call._replace(result=replaced(call.result, dict.fromkeys(fields[0], "suspended"))) if fields else None


def new_unit(call: Call) -> Call | None:
    """The last number field counts in thousandths now."""
    fields = number_columns(call.result, call.args)
    if not fields:
        return None
    return call._replace(result=replaced(call.result, {spot: spot.value * 1_000 for spot in fields[-1]}))


def new_name(call: Call) -> Call | None:
    """The last key has another name."""
    keys = [key for _, value in walk(call.result) if isinstance(value, dict) for key in value]
    return call._replace(result=with_key(call.result, keys[-1])) if keys else None


def slower(call: Call) -> Call | None:
    """The server is five times as far away."""
    return call._replace(ms=5.0 * call.ms)


def faster(call: Call) -> Call | None:
    """The server is a fifth as far away."""
    return call._replace(ms=0.2 * call.ms)


UNCHANGED = "nothing"
CHANGES: Mapping[str, Callable[[Call], Call | None]] = {
    UNCHANGED: lambda call: call,
    **{change.__name__: change for change in (new_field, new_state, new_unit, new_name, slower, faster)},
}


class Turnover(NamedTuple):
    """One change of one family, in an agent that goes on calling its other families as they were."""

    change: str
    seed: int
    family: str
    company: tuple[str, ...]


class Recovery(NamedTuple):
    """How an engine took a change: its verdicts on the changed calls, in order."""

    change: str
    family: str
    verdicts: tuple[str, ...]

    @property
    def blocked(self) -> float:
        """Share of the changed calls that were blocked."""
        return self.verdicts.count("block") / len(self.verdicts)

    @property
    def calls_until_accepted(self) -> int | None:
        """Changed calls before five in a row are accepted; None where that never happened."""
        for n in range(len(self.verdicts) - SETTLED + 1):
            if set(self.verdicts[n : n + SETTLED]) == {"accept"}:
                return n
        return None


def turnovers(seeds: Iterable[int]) -> list[Turnover]:
    """Every change in every family once for each seed."""
    return [
        Turnover(change, seed, family, tuple(name for name in families if name != family))
        for seed in seeds
        for families in agents(seed)
        for family in families
        for change in CHANGES
    ]


def turnover(plan: Turnover) -> Recovery | None:
    """Let the default engine learn the family, change it, and watch; None where the change never shows."""
    engine = VerificationEngine()
    change = CHANGES[plan.change]
    courses = {name: FAMILIES[name](seeded(plan.seed, name)) for name in (plan.family, *plan.company)}
    verdicts = []
    for n, call in enumerate(islice(courses[plan.family], BEFORE + AFTER)):
        for name in plan.company:
            _verify(engine, next(courses[name]))
        changed = change(call) if n >= BEFORE else None
        verdict = _verify(engine, changed or call)
        if changed is not None:
            verdicts.append(verdict)
    return Recovery(plan.change, plan.family, tuple(verdicts)) if verdicts else None


def _verify(engine: VerificationEngine, call: Call) -> str:
    said: Any = engine.verify(
        call.tool, args=call.args, result=call.result, execution_time_ms=call.ms, session_id=call.session
    )
    return str(said.verdict)
