"""One input tried: what was called, how long that took, and what did not hold."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any

from fuzz.source import Source

__all__ = ["Broken", "Hang", "Trial", "encodable", "require", "weight"]


class Broken(AssertionError):
    """Something that holds for every input did not."""


class Hang(BaseException):
    """The limit of time is up; no ``except Exception`` of the code under test may keep it."""


def require(holds: bool, what: str) -> None:
    """Raise ``Broken`` unless it holds."""
    if not holds:
        raise Broken(what)


def encodable(text: str) -> bool:
    """Whether a text can be printed and written to a file."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class Trial:
    """One input, and the account of what was done with it.

    Args:
        source: draws from the input.
        thorough: with the promises that cost as much as the call itself: that it gives the same answer twice.

    Attributes:
        source: draws from the input.
        thorough: as given.
        seconds: how long the code under test took, without the making of values.
    """

    def __init__(self, source: Source, *, thorough: bool = True) -> None:
        self.source = source
        self.thorough = thorough
        self.seconds = 0.0
        self._given: list[Any] = []

    @property
    def size(self) -> int:
        """Bytes that the code under test was given, about."""
        return sum(map(weight, self._given))

    def call(
        self,
        function: Callable[..., Any],
        *given: Any,
        allowed: type[BaseException] | tuple[type[BaseException], ...] = (),
        again: bool = True,
        of: Any = None,
        **options: Any,
    ) -> Any:
        """What a function makes of these arguments; an error that is allowed is returned.

        Args:
            function: the code under test.
            given: its arguments.
            allowed: errors that its documentation names.
            again: in a thorough trial, call it twice; both outcomes must be the same.
            of: what counts for the size, where it is not the arguments.
            options: its keyword arguments.
        """
        self._given.append(given if of is None else of)
        began = time.perf_counter()
        first = _outcome(function, given, options, allowed)
        self.seconds += time.perf_counter() - began
        if again and self.thorough:
            second = _outcome(function, given, options, allowed)
            if _said(first) != _said(second):
                raise Broken(f"{getattr(function, '__name__', function)} gave two answers to one question")
        return first


def _outcome(function: Callable[..., Any], given: Any, options: Any, allowed: Any) -> Any:
    try:
        return function(*given, **options)
    except allowed as error:
        return error


def _said(outcome: Any) -> str:
    with _all_digits():
        return f"{type(outcome).__name__}: {outcome}" if isinstance(outcome, BaseException) else repr(outcome)


@contextmanager
def _all_digits() -> Iterator[None]:
    """Integers of any length may be written here; the code under test has Python's limit to live with."""
    limit = sys.get_int_max_str_digits() if hasattr(sys, "get_int_max_str_digits") else None
    if limit is not None:
        sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        if limit is not None:
            sys.set_int_max_str_digits(limit)


def _parts(item: Any, kind: type) -> Iterable[Any]:
    if kind is dict:
        return [*item.keys(), *item.values()]
    if issubclass(kind, list | tuple):
        return list.__iter__(item) if issubclass(kind, list) else item
    return [getattr(item, field.name) for field in fields(item)]


def weight(value: Any) -> int:
    """Bytes of a value, about: of its texts, and eight for each other part; what is shared counts once."""
    total, seen, waiting = 0, set(), [value]
    while waiting:
        item = waiting.pop()
        kind = type(item)
        if kind is str:
            total += len(item) if item.isascii() else len(item.encode("utf-8", "surrogatepass"))
        elif kind in (bytes, bytearray):
            total += len(item)
        elif kind is int:
            total += 8 + item.bit_length() // 8
        elif kind is dict or issubclass(kind, list | tuple) or is_dataclass(kind):
            if id(item) not in seen:
                seen.add(id(item))
                total += 2
                waiting += _parts(item, kind)
        else:
            total += 8
    return total
