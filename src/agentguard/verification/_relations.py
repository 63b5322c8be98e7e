"""Relations that held in every call so far: between the arguments and the result, and within the result.

A relation is a template bound to paths, with two counts: how often it held for the tool's own calls, and how often it
holds for the arguments of one call and the result of *another*. The guard makes these negatives itself, so the ratio
of both is measured; a relation that holds for foreign results as well says nothing.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from array import array
from collections import deque
from collections.abc import Iterator
from itertools import combinations, permutations
from typing import ClassVar, Final, NamedTuple

from agentguard.verification._sides import COUNT, Side, is_word
from agentguard.verification.types import Trait

TRIED: Final = 5  # times, own and foreign, before a relation says anything
APART: Final = 0.15  # how much oftener it holds for own calls; or
TELLING: Final = 4.0  # how many times oftener foreign ones break it
LONGEST: Final = 256  # tries, after which the counts are halved
MOST_FOREIGN: Final = 48  # tries, after which few more are made
HOPELESS: Final = 0.8  # of the own calls; what holds in fewer is given up


def ratio(held: int, tried: int, foreign: float) -> float:
    """``ln P(broken | another call's result) / P(broken | genuine)``, in nats; 0 where it says nothing.

    Args:
        held: own calls that it held for,
        tried: of so many. P is Krichevsky and Trofimov's ``(held + 1/2) / (tried + 1)``.
        foreign: P(it holds | another call's result).
    """
    own = (held + 0.5) / (tried + 1.0)
    if own - foreign < APART and 1.0 - foreign < TELLING * (1.0 - own):
        return 0.0
    return max(math.log((1.0 - foreign) / (1.0 - own)), 0.0)


def evidence(held: int, tried: int, foreign_held: int, foreign_tried: int) -> float:
    """``ratio``, of a relation that was tried on other calls' results; 0 until both were tried five times."""
    if tried < TRIED or foreign_tried < TRIED:
        return 0.0
    return ratio(held, tried, (foreign_held + 0.5) / (foreign_tried + 1.0))


def counted(held: int, tried: int, holds: bool) -> tuple[int, int]:
    """Both counts with one more try; halved together beyond 256, so that old calls fade.

    >>> counted(9, 10, True), counted(255, 256, False)
    ((10, 11), (127, 128))
    """
    held, tried = held + holds, tried + 1
    return (held, tried) if tried <= LONGEST else (held // 2, tried // 2)


ANSWERS: Final = "different answers"


class Relation(ABC):
    """One relation of a tool; a family is a class of them.

    Attributes:
        left, right, third: the paths that it is bound to; "" where it has none.
        held, tried: its counts over the tool's own calls.
        foreign_held, foreign_tried: over the left side of one call with the right side of another.
    """

    __slots__ = ("foreign_held", "foreign_tried", "held", "left", "right", "third", "tried")

    #: What it is about in words: calls, or answers where the result speaks of itself alone.
    counts: ClassVar[str] = "calls"

    #: Given where the relation is not tried on other calls' results: how often it holds for one that is made up.
    by_chance: ClassVar[float | None] = None

    def __init__(self, left: str, right: str, third: str = "") -> None:
        self.left = left
        self.right = right
        self.third = third
        self.held = self.tried = 0
        self.foreign_held = self.foreign_tried = 0

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The family and the paths, by which it is known."""
        return type(self).__name__, self.left, self.right, self.third

    @classmethod
    @abstractmethod
    def proposed(cls, arguments: Side, result: Side) -> Iterator[Relation]:
        """The relations of this family that hold in a call, new and without counts."""

    @abstractmethod
    def holds(self, arguments: Side, result: Side) -> bool | None:
        """Whether it holds in this call; None where the sides do not say."""

    def holds_across(self, arguments: Side, result: Side, other: Side) -> bool | None:
        """Whether it holds for the left side of this call and the result of another."""
        return self.holds(arguments, other)

    @abstractmethod
    def said(self) -> str:
        """Say what does not hold."""

    def is_stale(self, stale: frozenset[str]) -> bool:
        """It is about the result alone, and was tried on these very values: they say it once, however often asked."""
        if self.counts == "calls":
            return False
        return self.right in stale and (not self.left or self.left in stale)

    @property
    def is_hopeless(self) -> bool:
        """Whether it holds too seldom to be one."""
        return self.tried >= TRIED and self.held < HOPELESS * self.tried

    @property
    def strength(self) -> float:
        """Nats against a call that breaks it; 0 where it holds too seldom, until it is given up."""
        if self.is_hopeless:
            return 0.0
        if self.by_chance is not None:
            return ratio(self.held, self.tried, self.by_chance) if self.tried >= TRIED else 0.0
        return evidence(self.held, self.tried, self.foreign_held, self.foreign_tried)

    def push(self, holds: bool) -> None:
        """Count one of the tool's own calls."""
        self.held, self.tried = counted(self.held, self.tried, holds)

    def push_foreign(self, holds: bool) -> None:
        """Count a call with another's result."""
        self.foreign_held, self.foreign_tried = counted(self.foreign_held, self.foreign_tried, holds)


# --- An argument's value comes back: as it is, in every row, by its beginning, somewhere ---


class Equal(Relation):
    """A value of the result is an argument's, or a list of them is."""

    __slots__ = ()

    @classmethod
    def proposed(cls, arguments: Side, result: Side) -> Iterator[Relation]:
        for path in arguments.paths:
            marks = arguments.marks(path)
            if marks[0]:
                for other in result.paths:
                    if ("[]" in other) is ("[]" in path) and result.marks(other) == marks:
                        yield cls(path, other)

    def holds(self, arguments: Side, result: Side) -> bool | None:
        left, right = arguments.marks(self.left), result.marks(self.right)
        return left == right if left and right and left[0] else None

    def said(self) -> str:
        return f"{self.right or 'the result'} is not the argument {self.left}"


class EveryRow(Relation):
    """All rows have an argument's value."""

    __slots__ = ()

    @classmethod
    def proposed(cls, arguments: Side, result: Side) -> Iterator[Relation]:
        for path in arguments.paths:
            mark = arguments.mark(path)
            if mark:
                for other in result.paths:
                    if "[]" in other and result.marks(other)[0] == mark:
                        yield cls(path, other)

    def holds(self, arguments: Side, result: Side) -> bool | None:
        left, right = arguments.marks(self.left), result.marks(self.right)
        return None if not left or not right or not left[0] else right.count(left[0]) == len(right)

    def said(self) -> str:
        return f"not every row's {self.right} is the argument {self.left}"


class SameStart(Relation):
    """A value of the result begins like an argument's: ``sara_doe_496`` and ``Sara``."""

    __slots__ = ()

    @classmethod
    def proposed(cls, arguments: Side, result: Side) -> Iterator[Relation]:
        for path in arguments.paths:
            start = arguments.start(path)
            if start:
                for other in result.paths:
                    if result.start(other) == start and result.mark(other) != arguments.mark(path):
                        yield cls(path, other)

    def holds(self, arguments: Side, result: Side) -> bool | None:
        left, right = arguments.start(self.left), result.start(self.right)
        return left == right if left and right else None

    def said(self) -> str:
        return f"{self.right or 'the result'} does not begin like the argument {self.left}"


class Somewhere(Relation):
    """An argument's value stands somewhere in the result's text."""

    __slots__ = ()
    by_chance = 0.15

    @classmethod
    def proposed(cls, arguments: Side, result: Side) -> Iterator[Relation]:
        for path in arguments.paths:
            relation = cls(path, "")
            if relation.holds(arguments, result):
                yield relation

    def holds(self, arguments: Side, result: Side) -> bool | None:
        """One of the argument's values is said."""
        holds: bool | None = None
        for text in arguments.texts(self.left):
            is_there = result.says(text)
            if is_there:
                return True
            holds = is_there if holds is None else holds
        return holds

    def said(self) -> str:
        return f"the result does not say the argument {self.left}"


# --- The rows of a result have one value in common, or stand in order ---

BY_CHANCE = 0.3  # that rows of another source hold to it


class SameInRows(Relation):
    """All rows have the same value, whichever it is."""

    __slots__ = ()
    counts = ANSWERS
    by_chance = BY_CHANCE

    @classmethod
    def proposed(cls, arguments: Side, result: Side) -> Iterator[Relation]:
        for path in result.paths:
            marks = result.marks(path)
            if len(marks) > 1 and marks.count(marks[0]) == len(marks):
                yield cls("", path)

    def holds(self, arguments: Side, result: Side) -> bool | None:
        marks = result.marks(self.right)
        return None if len(marks) < 2 else marks.count(marks[0]) == len(marks)

    def said(self) -> str:
        return f"{self.right} is not the same in all rows"


class Ordered(Relation):
    """The rows rise, or fall, by a number or a date; ``third`` says which."""

    __slots__ = ()
    counts = ANSWERS
    by_chance = BY_CHANCE

    @classmethod
    def proposed(cls, arguments: Side, result: Side) -> Iterator[Relation]:
        for path in result.paths:
            if len(result.marks(path)) > 2:
                for third in ("rises", "falls"):
                    relation = cls("", path, third)
                    if relation.holds(arguments, result):
                        yield relation

    def holds(self, arguments: Side, result: Side) -> bool | None:
        numbers = result.order(self.right)
        if len(numbers) < 3:
            return None
        return list(numbers) == sorted(numbers, reverse=self.third == "falls")

    def said(self) -> str:
        return f"{self.right} does not {'rise' if self.third == 'rises' else 'fall'} from row to row"


# --- A number of the result is the sum of a column, the number of its rows, or the sum times the number of others ---

MOST_NUMBERS: Final = 14  # of one result that may be totals
MOST_COLUMNS: Final = 8  # of one result that may be summed
EXACT: Final = 1e-6  # of the number
CENT: Final = 0.006  # prices are rounded to cents


class Total(Relation):
    """``total = sum(items[].price)``; with a third path ``total = sum(flights[].price) passengers#``."""

    __slots__ = ()
    counts = ANSWERS

    @classmethod
    def proposed(cls, arguments: Side, result: Side) -> Iterator[Relation]:
        columns = [path for path in result.paths if "[]" in path and result.numbers(path)][:MOST_COLUMNS]
        counts = [path for path in result.paths if path.endswith(COUNT) and result.number(path)]
        if not counts:
            return  # of a list without elements every zero is the number
        numbers = [path for path in result.paths if result.number(path) is not None][:MOST_NUMBERS]
        for index, count in enumerate(counts):
            for number in numbers:
                if number not in counts[: index + 1] and result.marks(number) == result.marks(count):
                    yield cls(count, number)
        for column in columns:
            for number in numbers:
                if number != column and not number.endswith(COUNT):
                    for times in ("", *(count for count in counts if not column.startswith(count.removesuffix(COUNT)))):
                        relation = cls(column, number, times)
                        if relation.holds(arguments, result):
                            yield relation

    def holds(self, arguments: Side, result: Side) -> bool | None:
        return self.holds_across(arguments, result, result)

    def holds_across(self, arguments: Side, result: Side, other: Side) -> bool | None:
        column, number = result.numbers(self.left), other.number(self.right)
        if not column or number is None:
            return None
        total = sum(column)
        if self.third:
            times = result.number(self.third)
            if times is None:
                return None
            total *= times
        return abs(total - number) <= EXACT * abs(number) + CENT

    def said(self) -> str:
        summed = f"the sum of {self.left}" if "[]" in self.left else f"the number of {self.left.removesuffix(COUNT)}"
        times = f" times that of {self.third.removesuffix(COUNT)}" if self.third else ""
        return f"{self.right or 'the result'} is not {summed}{times}"


class Weighted(Relation):
    """``total = sum(items[].price items[].quantity)``: the sum of the products of two columns of one list."""

    __slots__ = ()
    counts = ANSWERS

    @classmethod
    def proposed(cls, arguments: Side, result: Side) -> Iterator[Relation]:
        columns = [path for path in result.paths if "[]" in path and result.numbers(path)][:MOST_COLUMNS]
        numbers = [path for path in result.paths if "[]" not in path and result.number(path) is not None]
        for one, other in combinations(columns, 2):
            if _list_of(one) == _list_of(other):
                for number in numbers[:MOST_NUMBERS]:
                    relation = cls(one, number, other)
                    if not number.endswith(COUNT) and relation.holds(arguments, result):
                        yield relation

    def holds(self, arguments: Side, result: Side) -> bool | None:
        return self.holds_across(arguments, result, result)

    def holds_across(self, arguments: Side, result: Side, other: Side) -> bool | None:
        left, right, number = result.numbers(self.left), result.numbers(self.third), other.number(self.right)
        if not left or len(left) != len(right) or number is None:
            return None
        total = sum([one * times for one, times in zip(left, right, strict=True)])
        return abs(total - number) <= EXACT * abs(number) + CENT

    def said(self) -> str:
        return f"{self.right or 'the result'} is not the sum of {self.left} times {self.third}"


# --- One time of a record comes after another, and not long after ---

_DAY: Final = 86_400.0  # seconds
#: The longest that may lie between two times, by the name under which it is kept.
SPANS: Final = {"an hour": 3_600.0, "a day": _DAY, "a week": 7 * _DAY, "a month": 31 * _DAY, "a year": 366 * _DAY}
MOST_TIMES: Final = 5  # times of one record


class Within(Relation):
    """One time of each record comes after another one and within an hour, a day, … of it; ``third`` says which."""

    __slots__ = ()
    counts = ANSWERS
    by_chance = BY_CHANCE

    @classmethod
    def proposed(cls, arguments: Side, result: Side) -> Iterator[Relation]:
        times = [path for path in result.paths if result.times(path)][:MOST_TIMES]
        for left, right in permutations(times, 2):
            if _list_of(left) == _list_of(right):
                for span in SPANS:
                    relation = cls(left, right, span)
                    if relation.holds(arguments, result):
                        yield relation

    def holds(self, arguments: Side, result: Side) -> bool | None:
        before, after, most = result.times(self.left), result.times(self.right), SPANS.get(self.third)
        if not before or len(before) != len(after) or most is None:
            return None
        return all(0.0 <= later - earlier <= most for earlier, later in zip(before, after, strict=True))

    def said(self) -> str:
        return f"{self.right} is not within {self.third} after {self.left}"


def _list_of(path: str) -> str:
    """The path of the innermost list that a path leads through; "" where it leads through none."""
    return path[: path.rfind("[]") + 1]


# --- Constants: a path has one of a few values, those that came there before ---

MOST_CONSTANTS: Final = 60  # paths that are followed
MOST_DIFFERENT: Final = 12  # values at one path, beyond which it is no constant
FEWEST: Final = 20  # values seen
MOST_OTHERS: Final = 0.1  # of the values, beyond which there is no usual one
FADES_AT: Final = 1_024.0  # of one value, when all counts of its path are halved


class Constants:
    """By path how often each value came; none where there were too many.

    >>> constants = Constants()
    >>> for _ in range(40):
    ...     constants.learn(Side({"currency": ["EUR"]}))
    >>> constants.new_value(Side({"currency": ["USD"]}))
    ('currency', 0.0120..., 40)
    """

    __slots__ = ("places",)

    def __init__(self) -> None:
        self.places: dict[str, dict[int, float] | None] = {}

    def new_value(
        self, result: Side, asked: frozenset[int] = frozenset(), vouched: frozenset[str] = frozenset()
    ) -> tuple[str, float, int]:
        """The path whose new value is the least likely, its chance, and how many values came there; ("", 1, 0) without.

        The chance of a new value after n, k of which were other than the usual one, is ``(k + 1/2) / (n + 3/2)``. What
        the arguments say (the marks in ``asked``) is no new value, nor is what others have confirmed (``vouched``).
        """
        rarest, least, times = "", 1.0, 0
        for path, known in self.places.items():
            if known is None or path in vouched:
                continue
            for mark in result.marks(path):
                if mark not in known and is_word(mark) and mark not in asked:
                    total = sum(known.values())
                    others = total - max(known.values(), default=0.0)
                    if total >= FEWEST and others <= MOST_OTHERS * total:
                        p = (others + 0.5) / (total + 1.5)
                        if p < least:
                            rarest, least, times = path, p, int(total)
                    break
        return rarest, least, times

    def learn(self, result: Side) -> None:
        """Count the values of a genuine result."""
        places = self.places
        for path in result.paths:
            known = places.get(path)
            if known is None:
                if path in places or len(places) >= MOST_CONSTANTS:
                    continue
                known = places[path] = {}
            marks = result.marks(path)
            for mark in set(marks) if len(marks) > 1 else marks:
                if not is_word(mark):
                    places[path] = None
                    break
                count = known.get(mark, 0.0)
                if count == 0.0 and len(known) >= MOST_DIFFERENT:
                    places[path] = None
                    break
                known[mark] = count + 1.0
                if count >= FADES_AT:
                    for each in known:
                        known[each] *= 0.5


# --- The relations of one tool: what was proposed, how often each held, and what a call breaks ---

#: The families whose relations are bound to paths, and counted one by one.
FAMILIES: Final[tuple[type[Relation], ...]] = (
    Equal, EveryRow, SameStart, Somewhere, SameInRows, Ordered, Total, Weighted, Within,
)  # fmt: skip
_BY_NAME: Final = {family.__name__: family for family in FAMILIES}
MOST_OF_A_FAMILY: Final = 40  # relations of one tool
PROPOSING: Final = 24  # calls, all of whose relations are taken up; later those of one call in sixteen
LATER: Final = 16  # calls, of which one proposes relations
YOUNG: Final = 30  # tries, before which a relation is counted in all calls
OTHERS: Final = 2  # earlier calls, on which each relation is tried with this one
SHARES: Final = (1.0, 0.5, 0.3, 0.2)  # of the strongest broken relation of each family, the strongest first
MOST_LOOKS: Final = 48  # arguments whose latest answer is known again, path by path
MOST_PLANS: Final = 32  # pairs of forms whose relations are remembered


class Broken(NamedTuple):
    """The relations that a call breaks.

    Attributes:
        nats: against the call: the strongest broken relation of each family in full, by half, .3 and .2.
        message: the strongest, in words and with its count; "" where nothing is broken.
        traits: the broken relations for programs, the strongest of each family.
    """

    nats: float
    message: str
    traits: tuple[Trait, ...]


NOTHING: Final = Broken(0.0, "", ())


class Relations:
    """The relations of one tool. Bounded; learned from genuine calls alone."""

    __slots__ = (
        "_plans",
        "calls",
        "constant_arguments",
        "constants",
        "known",
        "looks",
        "recent",
    )

    def __init__(self) -> None:
        self.calls = 0
        self.known: dict[tuple[str, str, str, str], Relation] = {}
        self.constants = Constants()
        self.constant_arguments = Constants()
        self.looks: dict[bytes, tuple[tuple[str, ...], array[int]]] = {}  # paths, and a checksum of the values at each
        self.recent: deque[tuple[Side, Side]] = deque(maxlen=OTHERS)
        self._plans: dict[tuple[tuple[str, ...], tuple[str, ...]], list[Relation]] = {}

    def broken(self, arguments: Side, result: Side, vouched: frozenset[str] = frozenset()) -> Broken:
        """Find the relations that held before and that this call breaks.

        ``vouched`` has the paths of the result whose values others have confirmed: a relation that is about these and
        the arguments alone is not broken by the tool.
        """
        strongest: dict[str, tuple[float, str, Trait]] = {}
        for relation in self._plan(arguments, result):
            if relation.holds(arguments, result) is False and not _is_vouched(relation, result, vouched):
                nats = relation.strength
                family = relation.key[0]
                if nats > 0.0 and (family not in strongest or nats > strongest[family][0]):
                    message = f"{relation.said()}, as in {relation.held:,} of {relation.tried:,} {relation.counts}"
                    paths = " ".join(filter(None, relation.key[1:]))
                    strongest[family] = nats, message, Trait("relation", paths, family)
        if not strongest:
            return NOTHING
        broken = sorted(strongest.values(), reverse=True)
        nats = sum(share * one[0] for share, one in zip(SHARES, broken, strict=False))
        return Broken(nats, broken[0][1], tuple([trait for _, _, trait in broken]))

    def new_value(self, arguments: Side, result: Side, vouched: frozenset[str] = frozenset()) -> tuple[str, float, int]:
        """The path whose value hardly ever changes and is new, its chance, and how many came; ("", 1, 0) without.

        A constant may follow what was asked: what the arguments say is none, nor is any where an argument that hardly
        ever changes has changed.
        """
        if self.constant_arguments.new_value(arguments)[0]:
            return "", 1.0, 0
        asked = frozenset([mark for path in arguments.paths for mark in arguments.marks(path)])
        return self.constants.new_value(result, asked, vouched)

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

    def look(self, key: bytes, result: Side) -> frozenset[str]:
        """Take a look at an answer: the paths whose values are those of the last look with the same arguments."""
        paths = result.paths
        values = array("I", [hash(result.marks(path)) & 0xFFFFFFFF for path in paths])
        last = self.looks.pop(key, None)
        self.looks[key] = paths, values
        if last is None:
            if len(self.looks) > MOST_LOOKS:
                del self.looks[next(iter(self.looks))]
            return frozenset()
        before = dict(zip(*last, strict=True))
        return frozenset([path for path, value in zip(paths, values, strict=True) if before.get(path) == value])

    def note(self, arguments: Side, result: Side, stale: frozenset[str] = frozenset()) -> None:
        """Count a call, whatever is believed of it, for the relations that are still young; see ``look``.

        Were only those counted that are believed, a chance match could never be found out: what breaks it is doubted.
        """
        for relation in self._plan(arguments, result):
            if relation.tried < YOUNG and not relation.is_stale(stale):
                holds = relation.holds(arguments, result)
                if holds is not None:
                    relation.push(holds)

    def learn(self, arguments: Side, result: Side, stale: frozenset[str] = frozenset()) -> None:
        """Take one call as genuine; at the paths in ``stale`` its result speaks of itself once more (see ``look``)."""
        self.calls += 1
        if self.calls <= PROPOSING or self.calls % LATER == 0:
            self._propose(arguments, result)
        others = [other for asked, other in self.recent if asked.differs(arguments)]
        hopeless = False
        for relation in self._plan(arguments, result):
            old = relation.tried >= YOUNG and not relation.is_stale(stale)
            holds = relation.holds(arguments, result) if old else None
            if holds is not None:
                relation.push(holds)
            hopeless = hopeless or relation.is_hopeless
            if relation.by_chance is None and (relation.foreign_tried < MOST_FOREIGN or self.calls % LATER == 0):
                for other in others:
                    across = relation.holds_across(arguments, result, other)
                    if across is not None:
                        relation.push_foreign(across)
        if hopeless:
            self.known = {key: relation for key, relation in self.known.items() if not relation.is_hopeless}
            self._plans.clear()
        self.constants.learn(result)
        self.constant_arguments.learn(arguments)
        arguments.settle()
        result.settle()
        self.recent.append((arguments, result))

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
        """The number of relations of a family that may still be taken up."""
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


def _is_vouched(relation: Relation, result: Side, vouched: frozenset[str]) -> bool:
    """All places of the result that a relation is about are known to have the right values."""
    return relation.right in vouched and all(
        path not in result.paths or path in vouched for path in (relation.left, relation.third)
    )
