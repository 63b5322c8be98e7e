"""The course of one agent's calls: genuine ones that are learned, and beside each the same call gone wrong.

An agent holds four families of tools and calls them in turn. Before a genuine call is judged and learned, faulty
versions of it are judged and left out of what is learned, so that detection is measured at every moment of a tool's
history and the history stays as it was said to be: clean, or with a share of bad answers in the genuine ones' place.
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from .calls import Call
from .families import FAMILIES
from .faults import FAULTS, REPLAYED, Scene

__all__ = ["EARLY", "GENUINE", "WARM", "Event", "agents", "events", "seeded"]

GENUINE, SPOILED = "genuine", "spoiled"
FAMILIES_AN_AGENT = 4
AHEAD, ELSEWHERE = 40, 8
WARM = 20  # calls of a tool, after which its verdicts count as those of a known tool
EARLY = range(3, 11)  # the calls of a tool that count as early ones, from 1
PROBES_EARLY, PROBES_LATER = 3, 1


class Event(NamedTuple):
    """One call to judge.

    Attributes:
        family: the family of the tool.
        kind: ``"genuine"``, the name of a fault, or ``"spoiled"`` for a bad answer in the history.
        number: which call of its tool this is or stands in for, from 1.
        call: the call.
        usual_ms: the tool's median time until now, in milliseconds.
    """

    family: str
    kind: str
    number: int
    call: Call
    usual_ms: float

    @property
    def learn(self) -> bool:
        """Whether the call belongs to the history."""
        return self.kind in (GENUINE, SPOILED)


def agents(seed: int) -> list[tuple[str, ...]]:
    """All families, four an agent, grouped anew for each seed."""
    names = sorted(FAMILIES)
    random.Random(seed).shuffle(names)
    return [tuple(names[n : n + FAMILIES_AN_AGENT]) for n in range(0, len(names), FAMILIES_AN_AGENT)]


def events(seed: int, families: Sequence[str], calls: int, spoiled: float = 0.0) -> Iterator[Event]:
    """The course of one agent.

    Args:
        seed: the same seed gives the same course.
        families: names of the agent's families.
        calls: genuine calls of each family.
        spoiled: share of the history, in [0, 1], in which a bad answer stands in the genuine one's place.
    """
    rng = random.Random(f"{seed} {' '.join(families)}")
    planned = {name: list(islice(FAMILIES[name](seeded(seed, name)), calls + AHEAD)) for name in families}
    made: Counter[str] = Counter()
    numbers: Counter[str] = Counter()
    seen: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    kinds = {name: _in_turn(rng) for name in families}
    order = [name for name in families for _ in range(calls)]
    rng.shuffle(order)
    for family in order:
        at = made[family]
        call = planned[family][at]
        elsewhere = [planned[name][made[name]] for name in families if name != family]
        scene = Scene(planned[family][:at], planned[family][at + 1 : at + 1 + AHEAD], elsewhere, seen[family])
        made[family] += 1
        numbers[call.tool] += 1
        number, usual = numbers[call.tool], scene.usual_ms(call.tool)
        for _ in range(PROBES_EARLY if number in EARLY else PROBES_LATER):
            probe = next(_made(kinds[family], call, scene, rng), None)
            if probe is not None:
                yield Event(family, probe[0], number, probe[1], usual)
        bad = next(_made(kinds[family], call, scene, rng), None) if rng.random() < spoiled else None
        if bad is not None:
            yield Event(family, SPOILED, number, bad[1], usual)
        else:
            yield Event(family, GENUINE, number, call, usual)
        seen[family].add((call.tool, json.dumps(call.result)))


def _made(kinds: Iterator[str], call: Call, scene: Scene, rng: random.Random) -> Iterator[tuple[str, Call]]:
    """The next kinds of fault that can be made of this call, with what they make of it; tries each kind once."""
    for kind in islice(kinds, len(FAULTS) + len(REPLAYED)):
        wrong = (FAULTS.get(kind) or REPLAYED[kind])(call, scene, rng)
        if wrong is not None:
            yield kind, wrong


def _in_turn(rng: random.Random) -> Iterator[str]:
    """All kinds of fault without end, in a new order every time, so that each comes up equally often."""
    kinds: list[str] = [*FAULTS, *REPLAYED]
    while True:
        rng.shuffle(kinds)
        yield from kinds


def seeded(seed: int, name: str) -> random.Random:
    """The randomness of one family's course."""
    return random.Random(f"{seed} {name}")
