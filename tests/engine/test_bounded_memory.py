"""However many arguments, sessions, paths and tools there are: what is kept of them is bounded.

Several looks at the same thing: the sizes of all containers that the engine holds, what they weigh, and the memory
blocks that the interpreter has handed out. Bounds of many thousand entries are lowered, so that they are soon reached.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import pytest

from agentguard.verification import VerificationEngine, _audit, _pool, _registry, profile
from agentguard.verification._walk import Remembered

Mode = Literal["calibrated", "reference"]
#: Bounds of an engine's containers that no stream of a few thousand calls reaches.
LARGE = {
    "POOLED_RESULTS": _pool,
    "POOLED_FORMS": _pool,
    "POOLED_SESSIONS": _pool,
    "MAX_REMEMBERED_CALLS": _audit,
    "MAX_TOOLS": _registry,
    "MAX_CACHED": profile,
}
LARGEST = 20_000  # no container of one engine holds more than this many entries
LOWERED = 487  # entries, and no other bound is the same
CACHED = 64  # entries of a cache


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the large bounds of the engine, and those of the caches that all engines of a process share."""
    for name, module in LARGE.items():
        assert LOWERED < getattr(module, name) <= LARGEST
        monkeypatch.setattr(module, name, LOWERED)
    smaller: dict[int, Any] = {}
    modules = [module for name, module in sys.modules.items() if name.startswith("agentguard.")]
    for module in modules:
        for name, value in list(vars(module).items()):
            if isinstance(value, Remembered):
                smaller.setdefault(id(value), Remembered(value._share * 5))  # a twentieth
            elif hasattr(value, "cache_parameters") and (value.cache_parameters()["maxsize"] or 0) > CACHED:
                smaller.setdefault(id(value), lru_cache(CACHED)(value.__wrapped__))
            if id(value) in smaller:
                monkeypatch.setattr(module, name, smaller[id(value)])


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
    """The sizes of containers and the entries of all, what they and their texts weigh, and the interpreter's blocks."""

    sizes: frozenset[int]
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
    return Held(frozenset(lengths), sum(lengths), weight, blocks)


def _texts(container: Any) -> list[str | bytes]:
    parts = [*container.keys(), *container.values()] if isinstance(container, Mapping) else list(container)
    return [part for part in parts if isinstance(part, (str, bytes))]


def assert_no_growth(before: Held, after: Held, calls: int, *, blocks: int) -> None:
    """``blocks``: by how many allocated blocks the interpreter grew in so many calls."""
    assert max(after.sizes) <= LARGEST
    assert after.entries - before.entries < 0.02 * before.entries + 100
    assert after.weight - before.weight < 0.02 * before.weight + 10_000
    # A leak of one object in twenty calls would show.
    assert blocks < calls / 20


def many_keys(number: int) -> dict[str, Any]:
    return {"args": {"k": number}, "result": number % 97}


def many_sessions_and_paths(number: int) -> dict[str, Any]:
    return {
        "args": {"k": number % 5},
        "result": {letters(number): number % 97, "in": "EUR"},
        "session_id": f"session {number}",
    }


def many_names_and_arguments(number: int) -> dict[str, Any]:
    return {
        "args": {letters(number): f"value {number}", "k": number},
        "result": number % 97,
        "call_id": f"call {number}",
    }


def many_texts(number: int) -> dict[str, Any]:
    return {"args": {"q": letters(number)}, "result": " ".join(letters(number + n) for n in range(0, 40, 10))}


def many_errors(number: int) -> dict[str, Any]:
    return {"args": {"k": number}, "result": f"Error: {letters(number)} failed"}


def letters(number: int) -> str:
    """A word that no other number has."""
    word = ""
    for _ in range(5):
        number, place = divmod(number, 26)
        word += chr(ord("a") + place)
    return word


STRETCH = 2_500  # calls
#: The streams that fill what has a lowered bound; the others' have smaller ones.
REACHED = {
    ("calibrated", many_sessions_and_paths),
    ("calibrated", many_names_and_arguments),
    ("calibrated", many_texts),
    ("reference", many_names_and_arguments),
}


@pytest.mark.usefixtures("lowered")
@pytest.mark.parametrize("make", [many_sessions_and_paths, many_names_and_arguments, many_texts, many_errors])
def test_growth_ends(mode: Mode, make: Callable[[int], dict[str, Any]]) -> None:
    """The later stretches of the stream, as new as the first, leave everything that is held as large as it was.

    Allocated blocks are counted for the whole interpreter, in which other tests' threads may still allocate: of two
    stretches the one that grew less counts, since a leak grows in both.
    """
    engine = VerificationEngine(mode=mode)
    held = []
    for start in range(0, 3 * STRETCH, STRETCH):
        for number in range(start, start + STRETCH):
            engine.verify("tool", **make(number))
        held.append(held_by(engine))

    first, second, third = held
    assert_no_growth(first, third, STRETCH, blocks=min(second.blocks - first.blocks, third.blocks - second.blocks))
    assert (LOWERED in third.sizes) == ((mode, make) in REACHED)


@pytest.mark.usefixtures("lowered")
def test_growth_ends_to_the_byte(mode: Mode) -> None:
    """By tracemalloc, once everything that is bounded is full.

    A table of texts that starts anew when it is full grows at some time, and when hangs on what ran before: of two
    stretches the one that grew less counts, since a leak grows in both.
    """
    engine = VerificationEngine(mode=mode)
    traced = []
    tracemalloc.start()
    try:
        for start, end in pairwise((0, STRETCH, 2 * STRETCH, 3 * STRETCH)):
            for number in range(start, end):
                engine.verify("tool", **many_keys(number))
            gc.collect()
            traced.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()

    first, second, third = traced
    assert min(second - first, third - second) < STRETCH  # one byte a call


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


@pytest.mark.usefixtures("lowered")
def test_more_tools_than_are_kept(mode: Mode) -> None:
    """The least recently used are forgotten; one that is called all along is not."""
    engine = VerificationEngine(mode=mode)

    held = []
    for start in range(0, 3 * STRETCH, STRETCH):
        for number in range(start, start + STRETCH):
            engine.verify(f"tool {number}", **many_keys(number))
            if number % 100 == 0:
                engine.verify("often", args={"k": 1}, result={"answer": 42}, execution_time_ms=50.0)
        held.append(held_by(engine))

    first, second, third = held
    assert_no_growth(first, third, STRETCH, blocks=min(second.blocks - first.blocks, third.blocks - second.blocks))
    assert len(engine._tools.known()) == LOWERED
    known = engine.verify("often", args={"k": 1}, result={"answer": 42}, learn=False)
    assert known.signals["historical_inconsistency"].applicable
    forgotten = engine.verify("tool 5", args={"k": 5}, result=5, learn=False)
    assert not forgotten.signals["historical_inconsistency"].applicable
