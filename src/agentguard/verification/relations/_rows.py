"""The rows of a result have one value in common, or stand in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from agentguard.verification._sides import Side
from agentguard.verification.relations._relation import Relation

BY_CHANCE = 0.3  # that rows of another source hold to it


class SameInRows(Relation):
    """All rows have the same value, whichever it is."""

    __slots__ = ()
    by_chance: ClassVar[float] = BY_CHANCE

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
    by_chance: ClassVar[float] = BY_CHANCE

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
