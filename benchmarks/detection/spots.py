"""Where things stand in a result, object or text, and the result again with something else in their place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

__all__ = ["Spot", "columns", "leaves", "number_columns", "replaced", "walk"]

# A number of its own in a text: no part of a word, a date, a time, a version or an address.
NUMBER = re.compile(r"(?<![\w./:-])(?<!\d,)\d+(?:\.\d+)?(?![\w/:-])(?!\.\d)")
Step = str | int


class Spot(NamedTuple):
    """A leaf: its path into the result, its place in the text where the result is a text, and its value."""

    path: tuple[Step, ...]
    span: tuple[int, int] | None
    value: Any

    @property
    def column(self) -> tuple[Step, ...]:
        """The path without places in lists: what all elements of a list have in common."""
        return tuple("[]" if isinstance(step, int) else step for step in self.path) + (self.span or ())


def walk(value: Any, path: tuple[Step, ...] = ()) -> Iterator[tuple[tuple[Step, ...], Any]]:
    """Every node of a result, containers before what they hold."""
    yield path, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from walk(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from walk(inner, (*path, place))


def leaves(result: Any) -> list[Spot]:
    """All leaves of an object; of a text its numbers.

    >>> [(spot.path, spot.value) for spot in leaves({"a": [1, "x"]})]
    [(('a', 0), 1), (('a', 1), 'x')]
    >>> [spot.value for spot in leaves("2025-01-02: 7 of 12.5 km, v1.2.3")]
    [7, 12.5]
    """
    if isinstance(result, str):
        return [
            Spot((), found.span(), float(found[0]) if "." in found[0] else int(found[0]))
            for found in NUMBER.finditer(result)
        ]
    return [Spot(path, None, value) for path, value in walk(result) if not isinstance(value, (dict, list))]


def columns(result: Any, wanted: Callable[[Any], bool]) -> list[list[Spot]]:
    """Leaves with a wanted value, those of one field of all elements of a list together."""
    grouped: dict[tuple[Step, ...], list[Spot]] = {}
    for spot in leaves(result):
        if wanted(spot.value):
            grouped.setdefault(spot.column, []).append(spot)
    return list(grouped.values())


def number_columns(result: Any, args: Mapping[str, Any]) -> list[list[Spot]]:
    """The numbers of a result, by field, without those that only repeat an argument and without zeros alone."""
    given = set(map(str, args.values()))
    found = columns(result, lambda value: isinstance(value, (int, float)) and not isinstance(value, bool))
    return [spots for spots in found if any(spot.value and str(spot.value) not in given for spot in spots)]


def replaced(result: Any, news: Mapping[Spot, Any]) -> Any:
    """A copy of the result with new values at these spots."""
    if isinstance(result, str) and all(spot.span for spot in news):
        for spot, new in sorted(news.items(), key=lambda item: item[0].span or (0, 0), reverse=True):
            start, end = spot.span or (0, 0)
            result = f"{result[:start]}{new}{result[end:]}"
        return result
    by_path = {spot.path: new for spot, new in news.items()}

    def copied(value: Any, path: tuple[Step, ...]) -> Any:
        if path in by_path:
            return by_path[path]
        if isinstance(value, dict):
            return {key: copied(inner, (*path, key)) for key, inner in value.items()}
        if isinstance(value, list):
            return [copied(inner, (*path, place)) for place, inner in enumerate(value)]
        return value

    return copied(result, ())
