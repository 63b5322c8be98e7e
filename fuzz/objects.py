"""Python objects of which little can be asked: what a tool in the wild may return."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import fractions
import uuid
from enum import Enum
from typing import Any

from fuzz import grammar
from fuzz.source import Source

__all__ = ["anything"]


class _Proxy:
    """As lazy proxies do outside of their context: not even the class can be asked."""

    @property  # type: ignore[misc]  # a read-only class is the point of it: isinstance() raises
    def __class__(self) -> Any:
        raise RuntimeError("outside of its context")

    def __repr__(self) -> str:
        return "a proxy"


class _Refusing:
    """Every question is an error."""

    def _refuse(self, *_: Any) -> Any:
        raise RuntimeError("no")

    __getattr__ = __str__ = __iter__ = __len__ = __float__ = __int__ = __bool__ = __lt__ = __eq__ = __hash__ = _refuse

    def __repr__(self) -> str:
        return "a refusal"


class _NoKey(str):
    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # text that no dictionary takes as a key


class _Mapping(dict[str, Any]):
    """A dictionary that cannot be gone through."""

    def items(self) -> Any:
        raise RuntimeError("no items")

    keys = values = __iter__ = items


class _Liar(list[Any]):
    """A list that says it is longer than it is."""

    def __len__(self) -> int:
        return 2**40


class _Colour(str, Enum):
    RED = "red"


@dataclasses.dataclass
class _Record:
    name: Any
    below: Any = None


def _ring() -> list[Any]:
    ring: list[Any] = []
    ring.append({"ring": ring})
    return ring


def _shared() -> list[Any]:
    """Two to the power of sixty leaves in sixty lists."""
    made: list[Any] = ["leaf"]
    for _ in range(60):
        made = [made, made]
    return made


def _shared_tuples() -> tuple[Any, ...]:
    made: tuple[Any, ...] = ("leaf",)
    for _ in range(60):
        made = (made, made)
    return made


def _shared_dicts() -> dict[str, Any]:
    made: dict[str, Any] = {"leaf": 1}
    for _ in range(60):
        made = {"a": made, "b": made}
    return made


def _loop_of_dicts() -> dict[str, Any]:
    made: dict[str, Any] = {}
    made["self"] = made
    return made


_MADE: tuple[Any, ...] = (
    lambda: b"bytes\xff", lambda: bytearray(b"x"), lambda: memoryview(b"view"), lambda: {1, "two"},
    lambda: frozenset({2.5}), lambda: complex(1, 2), lambda: decimal.Decimal("NaN"),
    lambda: decimal.Decimal("1e999999"), lambda: decimal.Decimal("sNaN"), lambda: fractions.Fraction(1, 3),
    lambda: datetime.datetime(1, 1, 1), lambda: datetime.date.max, lambda: datetime.timedelta.max,
    lambda: datetime.time(23, 59, fold=1), lambda: uuid.UUID(int=7), lambda: _Colour.RED, lambda: range(10**9),
    lambda: object, lambda: len, lambda: Ellipsis, lambda: ValueError("\ud800"), lambda: iter([1, 2]),
    lambda: (n for n in range(3)), _Proxy, _Refusing, lambda: _NoKey("text"), lambda: _Mapping(a=1),
    lambda: _Liar([1]), _ring, _loop_of_dicts,
    lambda: _Record("x", _Record("y")),
    lambda: {1: "one", None: "none", (1, 2): "pair"}, lambda: {1.5: 2, True: 3}, lambda: type("Made", (), {})(),
    lambda: float("nan"), lambda: 10**400,
)  # fmt: skip


# Rarely drawn: it takes its time to find out that they go on and on.
_SHARED: tuple[Any, ...] = (_shared, _shared_tuples, _shared_dicts)


def anything(source: Source, depth: int = 3, *, shared: bool = True) -> Any:
    """A JSON value, an odd object, or a container of such.

    Args:
        source: draws it.
        depth: of the containers.
        shared: with lists that hold one another many times over, which whoever writes a value down has to bound.
    """
    kind = source.integer(0, 7)
    if kind < 3 or not source.left:
        return grammar.value(source, depth)
    if shared and source.large and source.chance(60):
        return source.choice(_SHARED)()
    if kind < 6 or not depth:
        return source.choice(_MADE)()
    if kind == 6:
        return [anything(source, depth - 1, shared=shared) for _ in range(source.integer(0, 4))]
    pairs = ((grammar.key(source), anything(source, depth - 1, shared=shared)) for _ in range(source.integer(0, 4)))
    return _Record(grammar.key(source), anything(source, depth - 1, shared=shared)) if source.chance(4) else dict(pairs)
