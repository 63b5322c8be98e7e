"""Whole streams: what a warm engine blocks, flags and accepts.

The generators are seeded and stand for the forms that tools answer in: nested JSON, rows with ids and timestamps,
text, keyed lines; with errors and empty answers among them, and several tools behind one engine.
"""

from __future__ import annotations

import json
import math
import random
import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from agentguard.verification import VerificationEngine, VerificationResult

CITIES = (
    "Lisbon Porto Madrid Paris Lyon Berlin Hamburg Vienna Graz Prague Brno Warsaw Krakow Rome Milan Turin Oslo "
    "Bergen Stockholm Malmo Helsinki Tampere Riga Vilnius"
).split()
WORDS = (
    "the order was shipped from our northern warehouse after a short delay caused by heavy rain and customs paperwork "
    "which the carrier has since resolved without further notice to customers or partners in any other region"
).split()


class Answer(NamedTuple):
    args: dict[str, Any]
    result: Any


def weather(rng: random.Random) -> Answer:
    city = rng.choice(CITIES)
    return Answer(
        {"city": city, "units": "metric"},
        {
            "city": city,
            "temperature": round(rng.gauss(15, 6), 1),
            "humidity": rng.randint(30, 95),
            "wind": {"speed": round(rng.lognormvariate(1.5, 0.5), 1), "direction": rng.choice("NESW")},
            "observed_at": f"2024-05-{rng.randint(1, 28):02}T{rng.randint(0, 23):02}:00:00Z",
        },
    )


def orders(rng: random.Random) -> Answer:
    customer = f"C{rng.randint(1000, 9999)}"
    rows = [
        {
            "order_id": rng.randint(10**6, 10**7),
            "total": round(rng.lognormvariate(3, 0.8), 2),
            "status": rng.choice(["open", "paid", "sent"]),
            "placed_at": 1.7e9 + rng.randint(0, 10**7),
        }
        for _ in range(rng.randint(1, 8))
    ]
    result = json.dumps({"customer_id": customer, "orders": rows, "count": len(rows)})
    return Answer({"customer_id": customer, "limit": rng.choice([5, 10, 20])}, result)


def notes(rng: random.Random) -> Answer:
    said = " ".join(rng.choice(WORDS) for _ in range(rng.randint(12, 60)))
    return Answer({"query": " ".join(rng.sample(WORDS, 3))}, f"Result: {said}.")


def user(rng: random.Random) -> Answer:
    identifier = str(uuid.UUID(int=rng.getrandbits(128)))
    lines = [
        f"user_id: {identifier}",
        f"name: {rng.choice(CITIES)} {rng.choice(WORDS)}",
        f"age: {rng.randint(18, 80)}",
        "tags:",
        f"- {rng.choice(WORDS)}",
        f"- {rng.choice(WORDS)}",
        f"active: {rng.choice(['true', 'false'])}",
    ]
    return Answer({"user_id": identifier}, "\n".join(lines) + "\n")


TOOLS: dict[str, tuple[Callable[[random.Random], Answer], float]] = {
    "get_weather": (weather, 200.0),
    "list_orders": (orders, 40.0),
    "search_notes": (notes, 700.0),
    "get_user": (user, 15.0),
}


def genuine(rng: random.Random, tool: str) -> dict[str, Any]:
    """One in twenty is an error, three in a hundred are empty."""
    make, milliseconds = TOOLS[tool]
    answer = make(rng)
    result = answer.result
    draw = rng.random()
    if draw < 0.05:
        result = rng.choice(["Error: service unavailable, try again later", f"Error: {rng.randint(1, 999)} timed out"])
    elif draw < 0.08:
        result = rng.choice(["[]", "", None])
    return {
        "args": answer.args,
        "result": result,
        "execution_time_ms": milliseconds * rng.lognormvariate(0, 0.3),
        "session_id": f"session {rng.randint(0, 20)}",
    }


def warm(rng: random.Random) -> VerificationEngine:
    """An engine that knows every tool from about 150 calls."""
    engine = VerificationEngine()
    for _ in range(600):
        tool = rng.choice(list(TOOLS))
        engine.verify(tool, **genuine(rng, tool))
    return engine


def at_most(share: float, count: int) -> float:
    """A share of ``count`` independent calls, and three standard deviations of that number.

    One seed in 700 exceeds it by chance where the share is exactly this, and hardly any where it is lower.
    """
    return share * count + 3.0 * math.sqrt(count * share * (1.0 - share))


def test_genuine_streams_pass() -> None:
    """At most 1% of 5,000 genuine calls blocked, as ``max_false_block_rate`` says by default, and 3% flagged."""
    rng = random.Random(1)
    engine = warm(rng)
    verdicts: Counter[str] = Counter()
    for _ in range(5_000):
        tool = rng.choice(list(TOOLS))
        verdicts[engine.verify(tool, **genuine(rng, tool)).verdict] += 1

    assert verdicts["block"] <= at_most(0.01, 5_000)
    assert verdicts["flag"] <= at_most(0.03, 5_000)


def test_a_lower_rate_blocks_fewer_genuine_calls() -> None:
    blocked = {}
    for rate in (0.002, 0.05):
        rng = random.Random(4)
        engine = warm(rng).calibrate(max_false_block_rate=rate)
        tools = [rng.choice(list(TOOLS)) for _ in range(2_500)]
        blocked[rate] = sum(engine.verify(tool, **genuine(rng, tool)).is_hallucinated for tool in tools)

    assert blocked[0.002] <= at_most(0.002, 2_500)
    assert blocked[0.002] < blocked[0.05] <= at_most(0.05, 2_500)


def truncated(rng: random.Random, tool: str, answer: Answer) -> Any:
    text = answer.result if isinstance(answer.result, str) else json.dumps(answer.result)
    return text[: int(len(text) * rng.uniform(0.3, 0.9))]


def of_another_tool(rng: random.Random, tool: str, answer: Answer) -> Any:
    other = rng.choice([name for name in TOOLS if name != tool])
    return TOOLS[other][0](rng).result


def missing_field(rng: random.Random, tool: str, answer: Answer) -> Any:
    if tool == "get_user":
        gone = rng.choice(["name:", "age:", "active:"])
        return "".join(line for line in answer.result.splitlines(keepends=True) if not line.startswith(gone))
    fields = json.loads(answer.result) if isinstance(answer.result, str) else dict(answer.result)
    del fields[rng.choice(sorted(fields))]
    return json.dumps(fields) if isinstance(answer.result, str) else fields


def of_another_entity(rng: random.Random, tool: str, answer: Answer) -> Any:
    other = answer
    while other.args == answer.args:
        other = TOOLS[tool][0](rng)
    return other.result


def prose(rng: random.Random, tool: str, answer: Answer) -> Any:
    return "I was able to look this up for you, and everything is in order."


STRUCTURED = ["get_weather", "list_orders", "get_user"]
FAULTS: dict[str, tuple[Callable[[random.Random, str, Answer], Any], list[str]]] = {
    "truncated": (truncated, list(TOOLS)),
    "another tool's answer": (of_another_tool, list(TOOLS)),
    "missing field": (missing_field, STRUCTURED),
    # search_notes does not repeat its query, so there an answer to another question cannot be told.
    "another entity": (of_another_entity, STRUCTURED),
    "prose": (prose, STRUCTURED),
}


@pytest.fixture(name="known", scope="module")
def _known() -> VerificationEngine:
    """A warm engine that is only asked, and learns nothing more."""
    return warm(random.Random(5))


@pytest.mark.parametrize(("spoil", "tools"), FAULTS.values(), ids=FAULTS)
def test_typical_faults_are_mostly_caught(
    spoil: Callable[[random.Random, str, Answer], Any], tools: list[str], known: VerificationEngine
) -> None:
    """At least 80% of 300 are flagged or blocked; they come in good time, so that latency tells nothing."""
    rng = random.Random(6)

    def judged() -> VerificationResult:
        tool = rng.choice(tools)
        make, milliseconds = TOOLS[tool]
        answer = make(rng)
        took = milliseconds * rng.lognormvariate(0, 0.3)
        spoiled = spoil(rng, tool, answer)
        return known.verify(tool, args=answer.args, result=spoiled, execution_time_ms=took, learn=False)

    caught = [judged().verdict != "accept" for _ in range(300)]

    assert sum(caught) >= 240


def test_an_instant_answer_of_a_slow_tool_is_mostly_caught(known: VerificationEngine) -> None:
    """Fabricated at once: the content is as ever, the time is not."""
    rng = random.Random(7)

    def judged() -> VerificationResult:
        tool = rng.choice(["get_weather", "search_notes"])
        answer = TOOLS[tool][0](rng)
        return known.verify(tool, args=answer.args, result=answer.result, execution_time_ms=0.3, learn=False)

    caught = [judged().verdict != "accept" for _ in range(200)]

    assert sum(caught) >= 160
