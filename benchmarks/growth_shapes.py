"""Calls of generated tools, one endless stream a shape: what fills a tool's state, each in its own way.

Every call is new in arguments, result or both: a stream that repeats itself would fill nothing.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from workload import SIZES, Call
from workload import calls as search_calls

__all__ = ["SHAPES", "Shape", "prices", "records", "sentence"]

WORDS = (
    "account address balance booking branch budget carrier category channel city client colour contract country "
    "currency customer deadline delivery deposit discount driver engine estimate factor filter flight folder gate "
    "handle harbour height index invoice journal kernel label ledger letter limit margin market member method minute "
    "model month nation notice number object offer order origin owner parcel partner payment period permit phase "
    "policy price product profile quantity query range rate record region report result return route sample schedule"
).split()
LETTERS = "abcdefghijklmnop"

Results = Callable[[random.Random, int], tuple[dict[str, Any], Any]]


class Shape(NamedTuple):
    """A stream of calls, and after how many of them its tool's state is looked at."""

    name: str
    calls: Callable[[], Iterator[Call]]
    number: int


def sentence(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(WORDS, k=words)) + "."


def _word(rng: random.Random, length: int) -> str:
    return "".join(rng.choices(LETTERS, k=length))


def _calls(results: Results) -> Iterator[Call]:
    rng = random.Random(7)
    n = 0
    while True:
        args, result = results(rng, n)
        yield Call(args, result, round(rng.lognormvariate(5.3, 0.35), 2), f"session-{n // 3}")
        n += 1


def records(size: int) -> Iterator[Call]:
    """The search tool of the races, with new arguments in every second call and sessions of three calls."""
    for n, call in enumerate(search_calls(size)):
        page = call.args["page"] if n % 2 else n
        yield call._replace(args={**call.args, "page": page}, session=f"session-{n // 3}")


def prices(rng: random.Random, n: int) -> dict[str, Any]:
    """The result of a small look-up, about 100 bytes."""
    day = f"2025-{n % 12 + 1:02d}-{n % 28 + 1:02d}"
    return {"name": rng.choice(WORDS), "price": round(rng.lognormvariate(3.5, 0.5), 2), "stock": n % 400, "as_of": day}


def _many_keys(rng: random.Random, n: int) -> tuple[dict[str, Any], Any]:
    return {"sku": f"P-{n}", "shop": rng.choice(WORDS), "note": _word(rng, 12)}, prices(rng, n)


def _wide(rng: random.Random, n: int) -> tuple[dict[str, Any], Any]:
    fields = [f"{first}_{second}" for first in WORDS[:12] for second in WORDS[12:22]]
    row = {name: round(rng.gauss(50, 9), 2) if len(name) % 2 else sentence(rng, 1) for name in fields}
    totals = {name: rng.randrange(999) for name in rng.sample(fields, 40)}
    return {"page": n % 400}, {"row": {name: row[name] for name in fields if rng.random() < 0.7}, "totals": totals}


def _prose(rng: random.Random, n: int) -> tuple[dict[str, Any], Any]:
    return {"topic": f"{rng.choice(WORDS)} {n % 3_000}"}, f"{sentence(rng, 120)} Reference {n}."


def _keyed(rng: random.Random, n: int) -> tuple[dict[str, Any], Any]:
    lines = [f"{name}: {rng.choice(WORDS)} {rng.randrange(1_000)}" for name in rng.sample(WORDS, 12)]
    return {"id": n % 2_000}, "\n".join(lines)


def _errors(rng: random.Random, n: int) -> tuple[dict[str, Any], Any]:
    said = " ".join(rng.choices(WORDS, k=4))
    return {"id": n}, f"Error: {said}" if n % 2 else {"error": said, "code": n}


def _all_different(rng: random.Random, n: int) -> tuple[dict[str, Any], Any]:
    """No two results share a key; every kind of result in turn, arguments of 30 words."""
    result = {_word(rng, 24): f"{n}-{place}" for place in range(190)}
    forms = (
        lambda: result,
        lambda: [result] * 3,
        lambda: json.dumps(result)[:-5],
        lambda: "\n".join(f"{key}: {value}" for key, value in result.items()),
        lambda: " ".join(result),
    )
    return {_word(rng, 60): " ".join(_word(rng, 9) for _ in range(30))}, forms[n % len(forms)]()


def _all_deep(rng: random.Random, n: int) -> tuple[dict[str, Any], Any]:
    """Keys new in every call, far inside: as JSON and as indented text in turn."""
    if n % 2:
        return {"n": n}, "\n".join(f"{' ' * depth}{_word(rng, 38)}:" for depth in range(200))
    result: Any = {_word(rng, 8): place for place in range(200)}
    for depth in range(22):
        result = {LETTERS[depth % 16] * 80: result}
    return {"n": n}, result


SHAPES = (
    Shape("records, 1 KB", lambda: records(SIZES["1 KB"]), 10_000),
    Shape("new arguments in every call", lambda: _calls(_many_keys), 10_000),
    Shape("160 fields, some missing", lambda: _calls(_wide), 4_000),
    Shape("records, 50 KB", lambda: records(SIZES["50 KB"]), 2_000),
    Shape("prose", lambda: _calls(_prose), 10_000),
    Shape("keyed text", lambda: _calls(_keyed), 10_000),
    Shape("errors", lambda: _calls(_errors), 5_000),
    Shape("hostile: no two results share a key", lambda: _calls(_all_different), 2_000),
    Shape("hostile: new keys, deep inside", lambda: _calls(_all_deep), 1_000),
)
