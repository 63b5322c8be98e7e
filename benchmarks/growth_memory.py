"""How much memory a tool takes: every object that its state reaches, counted once.

A walk over the objects says whose the bytes are, which a difference of allocations does not; on a new engine the two
agree within a few per cent. Objects that the tool shares with the pool count for both. Not seen by the walk: what C++
and Rust keep for compiled patterns and schemas, which depends on the profile and not on the calls.
"""

from __future__ import annotations

import gc
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from types import BuiltinFunctionType, CodeType, FunctionType, GetSetDescriptorType, MethodType, ModuleType
from typing import Any, NamedTuple

from growth_shapes import SHAPES, Shape

from agentguard.verification import VerificationEngine

__all__ = ["Held", "cached_bytes", "deep_bytes", "held", "measure", "state_bytes"]

TOOL = "tool"
LARGEST = 3
# What exists once in a process, whoever refers to it.
_COMMON = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, CodeType, GetSetDescriptorType)
_SMALL_INTEGERS = range(-5, 257)  # one object each, in every process


class Held(NamedTuple):
    """What the state of one tool came to, in bytes.

    Attributes:
        shape: the name of the stream.
        calls: how many calls the tool had.
        halfway: bytes after half of them.
        tool: bytes after all of them.
        shared: bytes of the pool that all tools share.
        parts: the largest attributes of the tool's memory, with their bytes.
    """

    shape: str
    calls: int
    halfway: int
    tool: int
    shared: int
    parts: list[tuple[str, int]]


def deep_bytes(roots: Iterable[Any], outside: Iterable[Any] = ()) -> int:
    """Bytes of everything that can be reached from the roots, without passing through what is outside.

    >>> twice = "x" * 1_000
    >>> deep_bytes([[twice, twice]]) < 1_500
    True
    """
    seen = {id(thing) for thing in outside}
    waiting = list(roots)
    total = 0
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, _COMMON):
            continue
        seen.add(id(thing))
        if thing is None or type(thing) is bool or (type(thing) is int and thing in _SMALL_INTEGERS):
            continue
        total += sys.getsizeof(thing)
        waiting += gc.get_referents(thing)
    return total


def state_bytes(engine: VerificationEngine, tool: str = TOOL) -> int:
    """Bytes of one tool's contract, settings and memory, without the pool."""
    return deep_bytes([_state(engine, tool)], outside=_pools(engine))


def cached_bytes() -> int:
    """Bytes of what the package's modules themselves remember, for all engines of the process."""
    modules = [module for name, module in sys.modules.items() if name.startswith("agentguard.")]
    caches = [
        thing
        for module in modules
        for thing in vars(module).values()
        if hasattr(thing, "cache_info") or isinstance(thing, (dict, OrderedDict, list, set))
    ]
    return deep_bytes(caches)


def held(shape: Shape, advance: Callable[[int], object] = lambda calls: None) -> Held:
    """Put a shape's calls through a new engine and look at what is kept."""
    engine = VerificationEngine()
    stream = shape.calls()
    halfway = 0
    for half in range(2):
        _verify(engine, stream, shape.number // 2, advance)
        halfway = halfway if half else state_bytes(engine)
    memory, pools = _state(engine, TOOL).memory, _pools(engine)
    parts = [(name, deep_bytes([getattr(memory, name)], outside=pools)) for name in _attributes(memory)]
    parts.sort(key=lambda part: -part[1])
    return Held(shape.name, shape.number, halfway, state_bytes(engine), deep_bytes(pools), parts[:LARGEST])


def measure(advance: Callable[[int], object] = lambda calls: None) -> list[Held]:
    """All shapes, one after the other."""
    return [held(shape, advance) for shape in SHAPES]


def _verify(engine: VerificationEngine, stream: Iterator[Any], count: int, advance: Callable[[int], object]) -> None:
    for call in islice(stream, count):
        engine.verify(
            TOOL, args=call.args, result=call.result, execution_time_ms=call.ms, session_id=call.session
        )  # fmt: skip
    advance(count)


def _state(engine: VerificationEngine, tool: str) -> Any:
    return engine._tools.find(tool, keep=True)


def _pools(engine: VerificationEngine) -> list[Any]:
    pool = getattr(engine._method, "pool", None)
    return [] if pool is None else [pool]


def _attributes(thing: Any) -> list[str]:
    slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
    return [name for name in (*slots, *getattr(thing, "__dict__", ())) if hasattr(thing, name)]
