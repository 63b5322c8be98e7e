"""Results made to be dear: each aims at one thing that the engine does with what it is given.

``GROWING`` attacks whatever could take more than linear time (each regular expression that reads results, each search
in them, each walk): at n, 2n and 4n. ``LARGE`` is taken once, at a size that must be survived.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

from growth_shapes import LETTERS, sentence

__all__ = ["GROWING", "LARGE", "Attack"]

MB = 1_000_000


class Attack(NamedTuple):
    """A recipe: ``make(n)`` gives arguments and result; ``n`` is about its size in characters, or what ``n`` counts."""

    name: str
    make: Callable[[int], tuple[Any, Any]]
    n: int


def _letters(seed: int, length: int) -> str:
    return "".join(random.Random(seed).choices(LETTERS, k=length))


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


def _cycle(width: int) -> Any:
    value: list[Any] = []
    value.extend([value] * width)
    return value


def _aliases(leaves: int) -> Any:
    """What a YAML bomb parses to: ten references to a list of ten references, and so on."""
    value: Any = ["lol"] * 10
    while leaves > 10:
        value, leaves = [value] * 10, leaves // 10
    return value


def _colliding(size: int) -> Any:
    value: Any = {"x": list(range(size // 6))}
    for _ in range(60):
        value = {1: value, "1": "a"}
    return value


def _sets(size: int) -> Any:
    value: Any = frozenset(range(size // 6))
    for _ in range(50):
        value = frozenset((value, 1))
    return value


def _wide(objects: int) -> Any:
    return {
        _letters(place, 6): {_letters(place * 1_000 + key, 7): {"a": 1, "b": key} for key in range(200)}
        for place in range(objects)
    }


def _records(size: int) -> list[dict[str, Any]]:
    return [{"id": place, "tags": [["a", ["b"]]], "owner": {"name": f"n{place}"}} for place in range(size // 60)]


def _records_text(size: int) -> str:
    item = '{"id":1234567,"tags":[["a",["b"]]],"owner":{"name":"n1234567","of":{"x":[1,2,3]}}}'
    return "[" + ",".join([item] * (size // len(item))) + "]"


def _near_misses(size: int) -> tuple[dict[str, str], str]:
    """Forty arguments, each of which nearly stands at every place of the result."""
    return {
        f"{a}{b}": "a" * 49 + _letters(ord(a) + ord(b), 3) + "a" * 49 for a in "abcdefgh" for b in "abcde"
    }, "a" * size


def _same_names(values: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Forty long arguments of the name that every value of the result has."""
    text = "." * 100
    args = {f"{a}{b}": {"id": text + _letters(ord(a) * ord(b), 290)} for a in "abcdefgh" for b in "abcde"}
    return args, {_letters(place, 6): {"id": text + _letters(place, 290)} for place in range(values)}


def _ever_deeper(size: int) -> str:
    lines = int((2 * size + 38 * 38) ** 0.5) - 38
    return "\n".join(" " * depth + _letters(depth, 37) + ":" for depth in range(lines))


def _of(make: Callable[[int], Any]) -> Callable[[int], tuple[Any, Any]]:
    return lambda n: ({}, make(n))


GROWING = (
    Attack("escaped quotes after an open quote", _of(lambda n: '{"' + '\\"' * (n // 2)), 20_000),
    Attack("the same, of a Python literal", _of(lambda n: "{'" + "\\'" * (n // 2)), 20_000),
    Attack("backslashes after an open quote", _of(lambda n: '{"' + "\\" * n), 100_000),
    Attack("quotes", _of(lambda n: '["' + '"a' * (n // 2)), 100_000),
    Attack("open brackets", _of(lambda n: '{"a":[' * (n // 6)), 100_000),
    Attack("closed brackets", _of(lambda n: "[" * (n // 2) + "]" * (n // 2)), 100_000),
    Attack("open parentheses in prose", _of(lambda n: "see " + '("' * (n // 2)), 200_000),
    Attack(
        "digits, then spaces, where JSON may start", _of(lambda n: "[" + "1" * (n // 2) + " " * (n // 2) + "x"), 100_000
    ),
    Attack("integers of 4,200 digits", _of(lambda n: "[" + ",".join(["9" * 4_200] * (n // 4_200)) + "]"), 100_000),
    Attack("one integer of 4,299 digits, many times", _of(lambda n: [10**4_299] * n), 100),
    Attack("NaN in a list", _of(lambda n: "[" + ",".join(["NaN"] * (n // 4)) + "]"), 100_000),
    Attack("lone surrogates", _of(lambda n: {"a": "\ud800" * n}), 100_000),
    Attack("JSON Lines, the last cut off", _of(lambda n: '{"a":1}\n' * (n // 8) + '{"a'), 100_000),
    Attack("a literal of sums", _of(lambda n: "[1" + "+1" * (n // 2) + ",'']"), 4_900),
    Attack("a literal of escapes", _of(lambda n: "['" + "\\q" * (n // 2) + "']"), 4_900),
    Attack("keyed text: doubled quotes", _of(lambda n: "a: '" + "''" * (n // 2)), 100_000),
    Attack(
        "keyed text: a quote that goes on for lines",
        _of(lambda n: 'a: "\n' + ("\\" * 399 + '"\n') * (n // 400)),
        60_000,
    ),
    Attack("keyed text: dashes and spaces", _of(lambda n: "a: 1\n" + "- " * (n // 4) + " " * (n // 2) + "!"), 100_000),
    Attack("keyed text: ever deeper", _of(_ever_deeper), 20_000),
    Attack("an error report of dots", _of(lambda n: "." * n), 148),
    Attack("an error report of spaces", _of(lambda n: "error:" + " " * n), 148),
    Attack("an error report of web addresses", _of(lambda n: "http" * (n // 8) + " " * (n // 2)), 148),
    Attack("times that are none", _of(lambda n: {"at": ["2024-05-20T10:00:00." + "1" * 14] * (n // 36)}), 100_000),
    Attack("arguments that nearly stand everywhere", _near_misses, 50_000),
    Attack("arguments and values of one name", _same_names, 75),
    Attack("objects in objects, no key twice", _of(_wide), 10),
    Attack("a list of objects, no two alike", _of(lambda n: [{_letters(i, 5): i} for i in range(n)]), 5_000),
    Attack("integers as keys", _of(lambda n: {i: i for i in range(n)}), 5_000),
    Attack("keys that collide as text", _of(_colliding), 50_000),
    Attack("sets in sets", _of(_sets), 50_000),
    Attack("aliased lists, as of a YAML bomb", _of(lambda n: [_aliases(10)] * n), 20_000),
)

LARGE = (
    Attack("100 MB of prose", _of(lambda n: sentence(random.Random(1), 10_000) * (n // 80_000)), 100 * MB),
    Attack("100 MB of one letter", _of(lambda n: "a" * n), 100 * MB),
    Attack("100 MB of nested JSON text", _of(_records_text), 100 * MB),
    Attack("100 MB of brackets", _of(lambda n: "[" * (n // 2) + "]" * (n // 2)), 100 * MB),
    Attack("an object 10,000 deep", _of(_nested), 10_000),
    Attack("text of an object 10,000 deep", _of(lambda n: '{"a":' * n + "1" + "}" * n), 10_000),
    Attack("a list that holds itself 100,000 times", _of(_cycle), 100_000),
    Attack("10**400", _of(lambda n: {"total": 10**n}), 400),
    Attack("an integer of 10 million bits", _of(lambda n: {"total": 1 << n}), 10_000_000),
    Attack("NaN and infinities", _of(lambda n: {"x": [float("nan"), float("inf")] * n}), 3),
    Attack("an object of a million keys", _of(lambda n: {f"key-{i}": i for i in range(n)}), 1_000_000),
    Attack("a list of a million numbers", _of(lambda n: list(range(n))), 1_000_000),
    Attack("a list of 100,000 objects, no two alike", _of(lambda n: [{_letters(i, 5): i} for i in range(n)]), 100_000),
    Attack("10 MB of records", _of(_records), 10 * MB),
    Attack("a megabyte of lone surrogates", _of(lambda n: "\ud800" * n), 1_000_000),
    Attack("a YAML bomb of 10 million leaves", _of(_aliases), 10_000_000),
)
