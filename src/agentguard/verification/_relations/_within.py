"""Relations within one result: alike or in order over the rows of a list, totals of what they say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from agentguard.verification._relations._relation import Relation
from agentguard.verification._sides import COUNT, Side

# --- The rows of a result have one value in common, or stand in order ---

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


# --- A number of the result is the sum of a column, the number of its rows, or the sum times the number of others ---

MOST_NUMBERS: Final = 14
MOST_COLUMNS: Final = 8
EXACT: Final = 1e-6  # of the number
CENT: Final = 0.006


class Total(Relation):
    """``total = sum(items[].price)``; with a third path ``total = sum(flights[].price) passengers#``."""

    __slots__ = ()

    @classmethod
    def proposed(cls, arguments: Side, result: Side) -> Iterator[Relation]:
        columns = [path for path in result.paths if "[]" in path and result.numbers(path)][:MOST_COLUMNS]
        counts = [path for path in result.paths if path.endswith(COUNT)]
        if not counts:
            return
        numbers = [path for path in result.paths if result.number(path) is not None][:MOST_NUMBERS]
        for place, count in enumerate(counts):
            for number in numbers:
                if number not in counts[: place + 1] and result.marks(number) == result.marks(count):
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
