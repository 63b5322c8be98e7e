"""Calls of one search tool: realistic, all different, the same for every engine.

A catalogue answers 50 queries. Each call finds its query's products with today's prices and stock, so that a query's
results resemble one another as a real tool's do (history and session have something to hold a call against), and yet
no two results are equal: nothing remembered of a whole result can flatter an engine.

A result has one number at its top level. The peer looks at those only and takes about half as long again for each
further one, so that a result with many would flatter us.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

__all__ = ["PROFILE", "SIZES", "TOOL", "Call", "calls"]

TOOL = "search_products"
SIZES = {"1 KB": 1_024, "50 KB": 51_200}
QUERIES, SESSIONS = 50, 20

# What both engines understand; ours is given `echoes` as well (see race.py).
PROFILE: dict[str, Any] = {
    "expected_latency_ms": (20.0, 5_000.0),
    "required_fields": ["query", "total", "items", "next"],
    "forbidden_fields": ["mock", "traceback"],
    "response_patterns": [r'"items"\s*:\s*\[\s*\{\s*"id"\s*:\s*"P-\d+"'],
    "min_response_length": 200,
    "max_response_length": 200_000,
}

_ADJECTIVES = "light solid folding compact outdoor woven ceramic cordless classic wide insulated brushed slim".split()
_NOUNS = "kettle lamp backpack drill blanket desk bottle tent jacket speaker notebook shelf grinder mirror".split()
_MATERIALS = "steel oak cotton bamboo glass wool aluminium linen cork leather".split()


class Call(NamedTuple):
    """One executed call; ``ms`` is its execution time in milliseconds."""

    args: dict[str, Any]
    result: Any
    ms: float
    session: str


def calls(size: int, seed: int = 2_024) -> Iterator[Call]:
    """An endless stream of calls whose results are about ``size`` bytes of compact JSON (within 10%)."""
    rng = random.Random(seed)
    queries = rng.sample([f"{word} {noun}" for word in _MATERIALS for noun in _NOUNS], QUERIES)
    return _stream(rng, [_answer(rng, query, size) for query in queries])


def _stream(rng: random.Random, catalogue: list[dict[str, Any]]) -> Iterator[Call]:
    while True:
        known = rng.choice(catalogue)
        result = {**known, "items": [_today(rng, item) for item in known["items"]]}
        result["total"] += rng.randrange(-9, 10)
        args = {"query": known["query"], "page": 1, "in_stock": True}
        yield Call(args, result, round(rng.lognormvariate(5.3, 0.35), 2), f"session-{rng.randrange(SESSIONS)}")


def _answer(rng: random.Random, query: str, size: int) -> dict[str, Any]:
    answer: dict[str, Any] = {"query": query, "total": rng.randrange(300, 900), "items": [], "next": "/search?page=2"}
    left = size - len(json.dumps(answer, separators=(",", ":")))
    while left > 0.05 * size:
        item = _item(rng, query)
        left -= len(json.dumps(item, separators=(",", ":"))) + 1
        answer["items"].append(item)
    answer["items"][-1]["title"] += "".join(f" {word}" for word in rng.choices(_ADJECTIVES, k=max(0, left // 8)))
    return answer


def _item(rng: random.Random, query: str) -> dict[str, Any]:
    number = rng.randrange(10_000, 99_999)
    return {
        "id": f"P-{number}",
        "title": f"{rng.choice(_ADJECTIVES)} {query}, {rng.choice(_ADJECTIVES)}",
        "price": round(rng.lognormvariate(3.5, 0.5), 2),
        "stock": rng.randrange(400),
        "rating": round(rng.uniform(2.5, 5.0), 1),
        "url": f"https://shop.example/p/{number}",
        "updated": "2025-03-01T00:00:00Z",
    }


def _today(rng: random.Random, item: dict[str, Any]) -> dict[str, Any]:
    spread = rng.random()
    return {
        **item,
        "price": round(item["price"] * (0.95 + 0.1 * spread), 2),
        "stock": rng.randrange(400),
        "updated": f"2025-03-{rng.randrange(1, 29):02d}T{int(spread * 24):02d}:{int(spread * 3_600) % 60:02d}:00Z",
    }
