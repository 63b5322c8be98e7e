"""What one ``verify`` costs as something else grows: calls seen, tools, argument keys, sessions, the result's size.

Engines that have seen little and much take turns on the same calls in one run; a machine that slows down does so for
all. Read the ratios to the smallest case. Every call learns, as in use.
"""

from __future__ import annotations

import gc
import json
import random
from collections.abc import Callable, Iterator
from itertools import islice
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple

from growth_memory import state_bytes
from growth_shapes import prices, records, sentence
from workload import SIZES

from agentguard.verification import VerificationEngine

# For the sake of one question only: whether a result was looked at as a whole.
from agentguard.verification._document import read

__all__ = ["AXES", "FORMS", "Axis", "Point", "SizePoint", "measure_axis", "measure_sizes", "size_work", "work"]

TURN = 10
LEAST_HISTORY = 500

Words = dict[str, Any]
Advance = Callable[[int], object]


class Point(NamedTuple):
    """One case of an axis: ``n`` of what grows, seconds for each timed call, bytes of the tool's state where asked."""

    n: int
    times: list[float]
    held: int | None = None

    @property
    def p50(self) -> float:
        return median(self.times)


class Axis(NamedTuple):
    """Something that grows.

    Attributes:
        name: what it is called.
        cases: how many of it there are, smallest first.
        calls: the words of each call where there are ``n`` of it; every result is new.
        history: how many calls go before where there are ``n`` of it.
        timed: how many calls of each case are timed.
        weighed: the tool's state is weighed as well.
    """

    name: str
    cases: tuple[int, ...]
    calls: Callable[[int], Iterator[Words]]
    history: Callable[[int], int]
    timed: int = 300
    weighed: bool = False


def _seen(_: int) -> Iterator[Words]:
    for call in records(SIZES["1 KB"]):
        yield {
            "tool": "tool", "args": call.args, "result": call.result, "execution_time_ms": call.ms,
            "session_id": call.session,
        }  # fmt: skip


def _small(name: Callable[[int], Words]) -> Iterator[Words]:
    rng = random.Random(11)
    place = 0
    while True:
        usual = {"tool": "tool", "args": {"sku": f"P-{place % 50}"}, "session_id": "session"}
        yield {**usual, "result": prices(rng, place), "execution_time_ms": rng.lognormvariate(5.3, 0.35), **name(place)}
        place += 1


def _tools(n: int) -> Iterator[Words]:
    # All tools once, then fifty of them in turn: those that are timed have equal histories, however many there are.
    few = min(n, 50)
    return _small(lambda place: {"tool": f"tool-{place if place < n else place % few}"})


def _keys(n: int) -> Iterator[Words]:
    return _small(lambda place: {"args": {"sku": f"P-{place % n}", "shop": "main"}})


def _sessions(n: int) -> Iterator[Words]:
    return _small(lambda place: {"session_id": f"session-{place % n}"})


def _at_least(n: int) -> int:
    return max(n, LEAST_HISTORY)


AXES = (
    Axis("calls seen", (100, 1_000, 10_000, 100_000), _seen, lambda n: n, timed=100, weighed=True),
    Axis("tools", (1, 10, 100, 1_000, 10_000), _tools, lambda n: n + 40 * min(n, 50)),
    Axis("argument keys", (1, 10, 100, 1_000, 10_000, 100_000), _keys, _at_least),
    Axis("sessions", (1, 10, 100, 1_000, 10_000, 100_000), _sessions, _at_least),
)


def work(axis: Axis) -> int:
    """How many calls an axis takes."""
    return sum(axis.history(n) for n in axis.cases) + axis.timed * len(axis.cases)


def measure_axis(axis: Axis, advance: Advance = lambda calls: None) -> list[Point]:
    """Build up an engine for each case, then time them in turns."""
    gc.collect()
    gc.freeze()  # what other measurements left behind is no burden of these calls
    streams, engines = [], []
    for n in axis.cases:
        engine, stream = VerificationEngine(), axis.calls(n)
        for done, words in enumerate(islice(stream, axis.history(n)), 1):
            engine.verify(**words)
            if done % 1_000 == 0:
                advance(1_000)
        advance(axis.history(n) % 1_000)
        engines.append(engine)
        streams.append(stream)
    sizes = [state_bytes(engine) if axis.weighed else None for engine in engines]
    times: list[list[float]] = [[] for _ in axis.cases]
    for _ in range(axis.timed // TURN):
        for engine, stream, taken in zip(engines, streams, times, strict=True):
            for words in list(islice(stream, TURN)):
                start = perf_counter()
                engine.verify(**words)
                taken.append(perf_counter() - start)
        advance(TURN * len(axis.cases))
    gc.unfreeze()
    return [Point(n, taken, size) for n, taken, size in zip(axis.cases, times, sizes, strict=True)]


class SizePoint(NamedTuple):
    """One size of one form of result: bytes (as compact JSON, or of the text), median seconds, looked at as a whole."""

    form: str
    size: int
    p50: float
    whole: bool

    @property
    def ns_per_byte(self) -> float:
        return 1e9 * self.p50 / self.size


RESULT_SIZES = (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
FORMS = ("object", "JSON text", "prose", "long list")
SIZE_WARM = 10
SIZE_ROUNDS = 7
_ITEM = {"id": "P-10000", "title": "light kettle", "price": 18.5, "stock": 240, "updated": "2025-03-01T00:00:00Z"}
_ITEM_BYTES = 100


def _result(rng: random.Random, form: str, size: int) -> Any:
    """A result of about that size, another one each time."""
    if form == "prose":
        return sentence(rng, max(size // 8, 2))
    if form == "long list":
        return [rng.randrange(10**6, 10**7) for _ in range(size // 8)]
    count = max((size - 90) // _ITEM_BYTES, 0)
    items = [{**_ITEM, "id": f"P-{10_000 + place % 90_000}", "stock": place % 400} for place in range(count)]
    result = {"query": "kettle", "total": rng.randrange(900), "next": "/search?page=2&sort=price", "items": items}
    return json.dumps(result, separators=(",", ":")) if form == "JSON text" else result


def measure_sizes(advance: Advance = lambda calls: None) -> list[SizePoint]:
    """Each form at each size, a tool for each, in rounds; processor time, since the largest take long."""
    gc.collect()
    gc.freeze()
    rng = random.Random(5)
    engine = VerificationEngine()
    cases = [(form, size) for form in FORMS for size in RESULT_SIZES]
    times: dict[tuple[str, int], list[float]] = {case: [] for case in cases}
    sizes: dict[tuple[str, int], tuple[int, bool]] = {}
    for turn in range(SIZE_WARM + SIZE_ROUNDS):
        for form, size in cases:
            if turn < SIZE_WARM and size > 1_000_000 and turn % 3:
                continue  # four calls are history enough for what takes a second to build
            for _ in range(20 if turn >= SIZE_WARM and size <= 10_000 else 1):
                result = _result(rng, form, size)
                start = process_time()
                engine.verify(f"{form} {size}", args={"query": "kettle"}, result=result, session_id="session")
                taken = process_time() - start
                if turn >= SIZE_WARM:
                    times[form, size].append(taken)
            if turn == 0:
                sizes[form, size] = _size(result), bool(getattr(read(result), "complete", True))
        advance(len(cases))
    gc.unfreeze()
    return [
        SizePoint(form, sizes[form, size][0], median(times[form, size]), sizes[form, size][1]) for form, size in cases
    ]


def size_work() -> int:
    """How many results ``measure_sizes`` tells of."""
    return (SIZE_WARM + SIZE_ROUNDS) * len(FORMS) * len(RESULT_SIZES)


def _size(result: Any) -> int:
    return len(result if isinstance(result, str) else json.dumps(result, separators=(",", ":")))
