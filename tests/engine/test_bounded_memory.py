"""However many arguments, sessions, paths and tools there are: what is kept of them is bounded.

Several looks at the same thing: the sizes of all containers that the engine holds, what they weigh, and the memory
blocks that the interpreter has handed out.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import pytest

from agentguard.verification import VerificationEngine

Mode = Literal["calibrated", "reference"]
LARGEST = 20_000  # no container of one engine holds more than this many entries


def containers(held: Any, seen: set[int]) -> Iterator[Any]:
    """Every container that an object holds, in whatever depth."""
    if id(held) in seen or isinstance(held, (str, bytes, int, float, type, type(None))):
        return
    seen.add(id(held))
    below: list[Any] = []
    if isinstance(held, Mapping):
        yield held
        below = [*held.keys(), *held.values()]
    elif isinstance(held, (list, tuple, set, frozenset, deque, array)):
        yield held
        below = list(held)
    names = [name for kind in type(held).__mro__ for name in getattr(kind, "__slots__", ())]
    below += [getattr(held, name) for name in names if hasattr(held, name)]
    below += list(getattr(held, "__dict__", {}).values())
    for part in below:
        yield from containers(part, seen)


class Held(NamedTuple):
    """The largest container and the entries of all, what they and their texts weigh, and the interpreter's blocks."""

    largest: int
    entries: int
    weight: int
    blocks: int


def held_by(engine: VerificationEngine) -> Held:
    gc.collect()
    blocks = sys.getallocatedblocks()
    every = list(containers(engine, set()))
    lengths = [len(container) for container in every]
    texts = {id(text): text for container in every for text in _texts(container)}
    weight = sum(map(sys.getsizeof, every)) + sum(map(sys.getsizeof, texts.values()))
    return Held(max(lengths), sum(lengths), weight, blocks)


def _texts(container: Any) -> list[str | bytes]:
    parts = [*container.keys(), *container.values()] if isinstance(container, Mapping) else list(container)
    return [part for part in parts if isinstance(part, (str, bytes))]


def assert_no_growth(before: Held, after: Held, calls: int, *, blocks: int | None = None) -> None:
    """``blocks``: by how many allocated blocks the interpreter grew, where it was measured more than once."""
    assert after.largest <= LARGEST
    assert after.entries - before.entries < 0.02 * before.entries + 500
    assert after.weight - before.weight < 0.02 * before.weight + 50_000
    # A leak of one object in fifty calls would show.
    assert (after.blocks - before.blocks if blocks is None else blocks) < calls / 50 + 2_000


def many_keys(number: int) -> dict[str, Any]:
    return {"args": {"k": number}, "result": number % 97}


def many_sessions_and_paths(number: int) -> dict[str, Any]:
    return {"args": {"k": number % 5}, "result": {letters(number): number % 97}, "session_id": f"session {number}"}


def many_names_and_arguments(number: int) -> dict[str, Any]:
    return {
        "args": {letters(number): f"value {number}", "k": number},
        "result": number % 97,
        "call_id": f"call {number}",
    }


def many_texts(number: int) -> dict[str, Any]:
    return {"args": {"q": letters(number)}, "result": f"{letters(number)} {letters(number + 1)} {letters(7 * number)}"}


def many_errors(number: int) -> dict[str, Any]:
    return {"args": {"k": number}, "result": f"Error: {letters(number)} failed"}


def letters(number: int) -> str:
    """A word that no other number has."""
    word = ""
    for _ in range(5):
        number, place = divmod(number, 26)
        word += chr(ord("a") + place)
    return word


@pytest.mark.parametrize(
    ("make", "half"),
    [
        (many_sessions_and_paths, 21_000),
        (many_names_and_arguments, 17_000),
        (many_texts, 21_000),
        (many_errors, 11_000),
    ],
)
def test_growth_ends(mode: Mode, make: Callable[[int], dict[str, Any]], half: int) -> None:
    """The later stretches of the stream, as new as the first, leave everything that is held as large as it was.

    Allocated blocks are counted for the whole interpreter, in which other tests' threads may still allocate: of two
    stretches the one that grew less counts, since a leak grows in both.
    """
    engine = VerificationEngine(mode=mode)
    held = []
    for start in (0, half, 2 * half):
        for number in range(start, start + half):
            engine.verify("tool", **make(number))
        held.append(held_by(engine))

    first, second, third = held
    assert_no_growth(first, third, half, blocks=min(second.blocks - first.blocks, third.blocks - second.blocks))


def test_growth_ends_to_the_byte(mode: Mode) -> None:
    """By tracemalloc, once everything that is bounded is full.

    A table of texts that starts anew when it is full grows at some time, and when hangs on what ran before: of two
    stretches the one that grew less counts, since a leak grows in both.
    """
    engine = VerificationEngine(mode=mode)
    traced = []
    tracemalloc.start()
    try:
        for start, end in pairwise((0, 20_000, 25_000, 30_000)):
            for number in range(start, end):
                engine.verify("tool", **many_keys(number))
            gc.collect()
            traced.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()

    first, second, third = traced
    assert min(second - first, third - second) < 5_000  # one byte a call


LONG = "x" * 100_000


@pytest.mark.parametrize("place", ["tool", "session", "call", "argument", "argument value", "path", "text", "error"])
def test_long_names_are_not_kept_whole(mode: Mode, place: str) -> None:
    """Two hundred of 100,000 characters each would be 20 MB."""
    engine = VerificationEngine(mode=mode)
    tracemalloc.start()
    try:
        for number in range(200):
            long = f"{letters(number)} {LONG}"
            engine.verify(
                long if place == "tool" else "tool",
                args={long: 1} if place == "argument" else {"k": long if place == "argument value" else number},
                result={"path": {long: 1}, "text": long, "error": f"Error: {long}"}.get(place, number),
                session_id=long if place == "session" else "session",
                call_id=long if place == "call" else None,
            )
        del long
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert held < 6_000_000


def test_twenty_thousand_tools(mode: Mode) -> None:
    """The least recently used are forgotten; one that is called all along is not."""
    engine = VerificationEngine(mode=mode)

    def calls(start: int, end: int) -> int:
        for number in range(start, end):
            engine.verify(f"tool {number}", **many_keys(number))
            if number % 1_000 == 0:
                engine.verify("often", args={"k": 1}, result={"answer": 42}, execution_time_ms=50.0)
        gc.collect()
        return sys.getallocatedblocks()

    blocks = calls(0, 11_000)
    blocks_after = calls(11_000, 20_000)

    assert blocks_after - blocks < 0.02 * blocks
    known = engine.verify("often", args={"k": 1}, result={"answer": 42}, learn=False)
    assert known.signals["historical_inconsistency"].applicable
    forgotten = engine.verify("tool 5", args={"k": 5}, result=5, learn=False)
    assert not forgotten.signals["historical_inconsistency"].applicable
