"""An argument's value comes back: as it is, in every row, by its beginning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from agentguard.verification._relations._relation import Relation
from agentguard.verification._sides import Side


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
    by_chance: ClassVar[float] = 0.15

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
            said = result.says(text)
            if said:
                return True
            holds = said if holds is None else holds
        return holds

    def said(self) -> str:
        return f"the result does not say the argument {self.left}"
