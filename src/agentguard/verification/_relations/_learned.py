"""The relations of one tool: what was proposed, how often each held, and what a call breaks."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from agentguard.verification._document import Document
from agentguard.verification._relations._constants import Constants
from agentguard.verification._relations._deciding import Deciders
from agentguard.verification._relations._equality import Equal, EveryRow, SameStart, Somewhere
from agentguard.verification._relations._relation import LONGEST, MOST_FOREIGN, Relation
from agentguard.verification._relations._templates import Templates
from agentguard.verification._relations._within import Ordered, SameInRows, Total
from agentguard.verification._sides import Side

#: The families whose relations are bound to paths, and counted one by one.
FAMILIES: Final[tuple[type[Relation], ...]] = (Equal, EveryRow, SameStart, Somewhere, SameInRows, Ordered, Total)
_BY_NAME: Final = {family.__name__: family for family in FAMILIES}
MOST_OF_A_FAMILY: Final = 40
PROPOSING: Final = 24  # calls, all of whose relations are taken up; later those of one call in sixteen
LATER: Final = 16
YOUNG: Final = 30  # tries, before which a relation is counted in all calls
OTHERS: Final = 2  # earlier calls, on which each relation is tried with this one
SHORTEST_TEXT: Final = 8  # characters of a text that may be of a template
LONGEST_TEXT: Final = 2_000
SHARES: Final = (1.0, 0.5, 0.3, 0.2)  # of the strongest broken relation of each family, the strongest first
MOST_PLANS: Final = 32


class Broken(NamedTuple):
    """What a call breaks.

    Attributes:
        nats: against the call: the strongest broken relation of each family in full, by half, .3 and .2.
        said: the strongest, in words and with its count; "" where nothing is broken.
        traits: the broken relations for programs, the strongest of each family.
    """

    nats: float
    said: str
    traits: tuple[str, ...]


NOTHING: Final = Broken(0.0, "", ())


class Relations:
    """The relations of one tool. Bounded; learned from genuine calls alone."""

    __slots__ = ("_plans", "calls", "constant_arguments", "constants", "deciders", "known", "recent", "templates")

    def __init__(self) -> None:
        self.calls = 0
        self.known: dict[tuple[str, str, str, str], Relation] = {}
        self.constants = Constants()
        self.constant_arguments = Constants()
        self.deciders = Deciders()
        self.templates = Templates()
        self.recent: deque[tuple[Side, Side, bytes]] = deque(maxlen=OTHERS)
        self._plans: dict[tuple[tuple[str, ...], tuple[str, ...]], list[Relation]] = {}

    def side(self, document: Document, *, learn: bool = False) -> Side:
        """A result's scalars and, of its texts, the slots of their templates.

        Args:
            document: the result.
            learn: take the texts into account before they are read.
        """
        if not learn and document.slotted is not None:
            return document.slotted
        leaves = document.leaves
        fields: dict[str, Sequence[Any]] | None = None
        for path in leaves if document.layout is None else document.layout.strings:
            values = leaves[path]
            if len(values) == 1 and type(values[0]) is str:
                text = values[0]
                if SHORTEST_TEXT <= len(text) <= LONGEST_TEXT and " " in text and "[]" not in path:
                    if learn:
                        self.templates.learn(text)
                    for slot, token in self.templates.slots(text).items():
                        if fields is None:
                            fields = dict(leaves)
                        fields[path + slot] = (token,)
        side = document.side if fields is None else Side(fields, document.text)
        document.slotted = side
        return side

    def broken(self, arguments: Side, result: Side, changed: float = 0.0) -> Broken:
        """What does not hold in a call that held before.

        Args:
            arguments: the call's,
            result: and what it returned.
            changed: P(what the arguments decide has changed by now).
        """
        strongest: dict[str, tuple[float, str, str]] = {}
        for relation in self._plan(arguments, result):
            if relation.holds(arguments, result) is False:
                nats = relation.strength
                family = relation.key[0]
                if nats > 0.0 and (family not in strongest or nats > strongest[family][0]):
                    said = f"{relation.said()}, as in {relation.held:,} of {relation.tried:,} calls"
                    strongest[family] = nats, said, " ".join(filter(None, relation.key))
        if changed < 1.0:
            path, where, nats, held, tried = self.deciders.broken(arguments, result)
            if changed > 0.0:
                nats = min(nats, -math.log(changed))
            if nats > 0.0:
                other = f"{where or 'the result'} is another than it was for this {path}"
                said = f"{other}, as in {held:,} of {tried:,} calls"
                strongest["Decides"] = nats, said, f"decided {path} {where} {arguments.mark(path):x}"
        if not strongest:
            return NOTHING
        found = sorted(strongest.values(), reverse=True)
        nats = sum(share * one[0] for share, one in zip(SHARES, found))
        return Broken(nats, found[0][1], tuple([trait for _, _, trait in found]))

    def new_value(self, arguments: Side, result: Side) -> tuple[str, float, int]:
        """The path whose value hardly ever changes and is new, its chance, and how many came; ("", 1, 0) without.

        A constant may follow what was asked: what the arguments say is none, nor is any where an argument that hardly
        ever changes has changed.
        """
        if self.constant_arguments.new_value(arguments)[0]:
            return "", 1.0, 0
        asked = frozenset([mark for path in arguments.paths for mark in arguments.marks(path)])
        return self.constants.new_value(result, asked)

    def outcomes(self, arguments: Side, result: Side) -> Iterator[tuple[Relation, bool]]:
        """The relations that a call holds to (True), or breaks (False)."""
        for relation in self._plan(arguments, result):
            holds = relation.holds(arguments, result)
            if holds is not None:
                yield relation, holds

    def absorb(self, key: tuple[str, str, str, str], holds: bool, times: int) -> None:
        """Count what other workers saw of a relation; one of an unknown family, of a newer version, is passed over."""
        family = _BY_NAME.get(key[0])
        relation = self.known.get(key)
        if relation is None:
            if family is None or self._room(key[0]) <= 0:
                return
            relation = self.known[key] = family(*key[1:])
            self._plans.clear()
        for _ in range(min(times, LONGEST)):
            relation.push(holds)

    def note(self, arguments: Side, result: Side) -> None:
        """Count a call, whatever is believed of it, for the relations that are still young.

        Were only those counted that are believed, a chance match could never be found out: what breaks it is doubted.
        """
        for relation in self._plan(arguments, result):
            if relation.tried < YOUNG:
                holds = relation.holds(arguments, result)
                if holds is not None:
                    relation.push(holds)

    def learn(self, arguments: Side, result: Side) -> None:
        """Take one call as genuine."""
        self.calls += 1
        if self.calls <= PROPOSING or self.calls % LATER == 0:
            self._propose(arguments, result)
            self.deciders.pack()
        others = [recent for recent in self.recent if recent[0].differs(arguments)]
        hopeless = False
        for relation in self._plan(arguments, result):
            holds = relation.holds(arguments, result) if relation.tried >= YOUNG else None
            if holds is not None:
                relation.push(holds)
            hopeless = hopeless or relation.is_hopeless
            if relation.by_chance < 0.0 and (relation.foreign_tried < MOST_FOREIGN or self.calls % LATER == 0):
                for _, other, _ in others:
                    across = relation.holds_across(arguments, result, other)
                    if across is not None:
                        relation.push_foreign(across)
        if hopeless:
            self.known = {key: relation for key, relation in self.known.items() if not relation.is_hopeless}
            self._plans.clear()
        self.constants.learn(result)
        self.constant_arguments.learn(arguments)
        row = self.deciders.learn(arguments, result, [(asked, decided) for asked, _, decided in others])
        arguments.settle()
        result.settle()
        self.recent.append((arguments, result, row))

    def _propose(self, arguments: Side, result: Side) -> None:
        """Take up the relations that hold in this call, as far as there is room."""
        for family in FAMILIES:
            room = self._room(family.__name__)
            for relation in family.proposed(arguments, result):
                if room > 0 and relation.key not in self.known:
                    self.known[relation.key] = relation
                    room -= 1
                    self._plans.clear()

    def _room(self, family: str) -> int:
        return MOST_OF_A_FAMILY - sum(key[0] == family for key in self.known)

    def _plan(self, arguments: Side, result: Side) -> list[Relation]:
        """The relations whose paths these two have."""
        key = arguments.paths, result.paths
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            plan = self._plans[key] = [
                relation
                for relation in self.known.values()
                if (not relation.right or relation.right in result.paths)
                and (not relation.left or relation.left in arguments.paths or relation.left in result.paths)
            ]
        return plan
