"""A stream of calls as agents make them: several tools, kinds of results, sessions, and faults among them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

CITIES = ["Lisbon", "Porto", "Madrid", "Vienna", "Graz", "Oslo", "Riga", "Turin", "Lyon", "Prague"]
WORDS = "river stone harbour winter market bridge garden copper signal paper".split()


def calls(count: int, seed: int = 5) -> Iterator[dict[str, Any]]:
    """Keyword arguments of ``verify``, one call after the other."""
    rng = random.Random(seed)
    for number in range(count):
        call = rng.choice((weather, weather, orders, report, lookup))(rng, number)
        if rng.random() < 0.3:
            call["session_id"] = f"session {number // 40}"
        yield {**call, "call_id": f"call {number}"}


def weather(rng: random.Random, number: int) -> dict[str, Any]:
    city = rng.choice(CITIES)
    result: Any = {
        "city": city,
        "temperature": round(rng.gauss(15, 5), 1),
        "as_of": f"2026-03-{1 + number // 100:02d}T10:00:00",
        "wind": {"speed": rng.randint(0, 30), "from": rng.choice("NESW")},
    }
    fault = rng.random()
    if fault < 0.02:
        result = str(result)[: rng.randint(5, 40)]
    elif fault < 0.04:
        result["city"] = rng.choice(CITIES)
    elif fault < 0.06:
        result = {"error": "service unavailable", "code": 503}
    return {
        "tool": "get_weather", "args": {"city": city}, "result": result,
        "execution_time_ms": 0.4 if fault > 0.98 else 200.0 * rng.lognormvariate(0, 0.3),
    }  # fmt: skip


def orders(rng: random.Random, number: int) -> dict[str, Any]:
    customer = f"c{rng.randint(1, 30)}"
    rows = [
        {"id": number * 10 + k, "customer": customer, "total": round(rng.lognormvariate(4, 1), 2), "paid": k % 2 == 0}
        for k in range(rng.randint(0, 5))
    ]
    return {
        "tool": "list_orders", "args": {"customer": customer, "limit": 5}, "result": rows,
        "execution_time_ms": rng.uniform(30, 60),
    }  # fmt: skip


def report(rng: random.Random, number: int) -> dict[str, Any]:
    text = " ".join(rng.choices(WORDS, k=rng.randint(10, 60))).capitalize() + "."
    if rng.random() < 0.05:
        text = text[: len(text) // 2]
    return {"tool": "write_report", "args": {"subject": rng.choice(WORDS)}, "result": text}


def lookup(rng: random.Random, number: int) -> dict[str, Any]:
    key = rng.randint(1, 12)
    value = f"value: {key * 7}\nowner: team-{key % 3}\nversion: {number}"
    if rng.random() < 0.03:
        value = "key not found"
    return {
        "tool": f"lookup_{key % 4}", "args": {"key": key}, "result": value,
        "execution_time_ms": 0.05 if rng.random() < 0.5 else rng.uniform(5, 9),
    }  # fmt: skip
