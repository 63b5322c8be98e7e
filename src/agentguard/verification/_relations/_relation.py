"""A relation: a template bound to paths, and how often it held."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar, Final

from agentguard.verification._sides import Side

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


class Relation(ABC):
    """One relation of a tool; a family is a class of them.

    Attributes:
        left, right, third: the paths that it is bound to; "" where it has none.
        held, tried: its counts over the tool's own calls.
        foreign_held, foreign_tried: over the left side of one call with the right side of another.
    """

    __slots__ = ("foreign_held", "foreign_tried", "held", "left", "right", "third", "tried")

    #: Given where the relation is not tried on other calls' results: how often it holds for one that is made up.
    by_chance: ClassVar[float] = -1.0

    def __init__(self, left: str, right: str, third: str = "") -> None:
        self.left = left
        self.right = right
        self.third = third
        self.held = 0
        self.tried = 0
        self.foreign_held = 0
        self.foreign_tried = 0

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
        """Whether it does in this call; None where the sides do not say."""

    def holds_across(self, arguments: Side, result: Side, other: Side) -> bool | None:
        """The same of the left side of this call and the result of another."""
        return self.holds(arguments, other)

    @abstractmethod
    def said(self) -> str:
        """Say in words what does not hold."""

    @property
    def is_hopeless(self) -> bool:
        """It holds too seldom to be one."""
        return self.tried >= TRIED and self.held < HOPELESS * self.tried

    @property
    def strength(self) -> float:
        """Nats against a call that breaks it."""
        if self.by_chance >= 0.0:
            return ratio(self.held, self.tried, self.by_chance) if self.tried >= TRIED else 0.0
        return evidence(self.held, self.tried, self.foreign_held, self.foreign_tried)

    def push(self, holds: bool) -> None:
        """Count one of the tool's own calls."""
        self.held, self.tried = counted(self.held, self.tried, holds)

    def push_foreign(self, holds: bool) -> None:
        """Count a call with another's result."""
        self.foreign_held, self.foreign_tried = counted(self.foreign_held, self.foreign_tried, holds)
