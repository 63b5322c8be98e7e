"""What a call of a known tool takes while the Redis behind the guard answers after 300 ms.

    python benchmarks/stores/slow_redis.py

A real ``redis-server`` behind a relay that holds each answer back, in a process of its own. Beside it the same calls
without a store. While they are timed, another thread meets new tools, and one call in fifty is put on record.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import count, islice
from multiprocessing.synchronize import Event
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

# Run as a script, this file's folder is on the path; what it shares lies one above.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from document import Section
from goals import Goal, as_ratio
from stores.redis_load import redis_server
from tables import Line, judged
from workload import TOOL, calls

from agentguard.stores import RedisStore
from agentguard.verification import VerificationEngine

__all__ = ["Slow", "measure", "section"]

ROUND_TRIP = 0.3  # seconds
WARM, TIMED = 600, 6_000
GOAL = Goal("at most", 2.0, as_ratio)
COMMAND = "python benchmarks/stores/slow_redis.py"


class Slow(NamedTuple):
    """Microseconds of a call: the median and the 99th percentile, without a store and with the slow one."""

    alone_p50: float
    alone_p99: float
    slow_p50: float
    slow_p99: float


def measure() -> Slow:
    """Time both.

    Raises:
        SystemExit: where there is no ``redis-server``.
    """
    with redis_server() as (port, _):
        ready, relay_port = multiprocessing.Event(), multiprocessing.Value("i", 0)
        relay = multiprocessing.Process(target=_relay, args=(port, relay_port, ready), daemon=True)
        relay.start()
        try:
            ready.wait(30)
            alone = _times(VerificationEngine, lambda engine: None)
            store = RedisStore(f"redis://127.0.0.1:{relay_port.value}/0", timeout=10.0)
            with VerificationEngine(store=store) as engine:
                slow = _times(lambda: engine, _meets_new_tools)
        finally:
            relay.terminate()
    return Slow(_at(alone, 0.5), _at(alone, 0.99), _at(slow, 0.5), _at(slow, 0.99))


def section() -> Section:
    """The figures as a section of the measurements document."""
    try:
        found = measure()
    except SystemExit as why:
        return Section(["## Under a slow store", f"**Not measured**: {why}."])
    ratios = (found.slow_p50 / found.alone_p50, found.slow_p99 / found.alone_p99)
    cells = [("median", found.alone_p50, found.slow_p50), ("99th percentile", found.alone_p99, found.slow_p99)]
    lines = [
        Line((name, f"{alone:.0f} µs", f"{slow:.0f} µs"), ratio, GOAL)
        for (name, alone, slow), ratio in zip(cells, ratios, strict=True)
    ]
    text = [
        "## Under a slow store",
        f"`{COMMAND}`",
        f"Calls of a known tool with a Redis whose answers take {1_000 * ROUND_TRIP:.0f} ms, beside the same calls "
        "without a store; meanwhile another thread meets new tools, and one call in fifty is put on record.",
        judged(("a call", "without a store", "under a slow Redis"), lines),
    ]
    return Section(text, lines)


def _times(make: Callable[[], VerificationEngine], beside: Callable[[VerificationEngine], Any]) -> list[float]:
    engine, found = make(), []
    stream = calls(1_024)
    for call in islice(stream, WARM):
        engine.verify(TOOL, args=call.args, result=call.result, execution_time_ms=call.ms, session_id=call.session)
    stop = beside(engine)
    for call in islice(stream, TIMED):
        start = perf_counter()
        engine.verify(TOOL, args=call.args, result=call.result, execution_time_ms=call.ms, session_id=call.session)
        found.append(1e6 * (perf_counter() - start))
    if stop is not None:
        stop.set()
    return sorted(found)


def _meets_new_tools(engine: VerificationEngine) -> threading.Event:
    stopped = threading.Event()

    def meet() -> None:
        for number in count():
            if stopped.is_set():
                return
            engine.verify(f"new {number}", args={"n": number}, result={"ok": True}, execution_time_ms=5.0)

    threading.Thread(target=meet, daemon=True).start()
    return stopped


def _at(ordered: list[float], share: float) -> float:
    return ordered[int(share * (len(ordered) - 1))]


def _relay(port: int, relay_port: Any, ready: Event) -> None:
    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float) -> None:
        loop = asyncio.get_running_loop()
        with suppress(ConnectionError):
            while data := await reader.read(65_536):
                loop.call_later(delay, writer.write, data)
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        their_reader, their_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pump(reader, their_writer, 0.0), pump(their_reader, writer, ROUND_TRIP))

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        relay_port.value = server.sockets[0].getsockname()[1]
        ready.set()
        await server.serve_forever()

    asyncio.run(run())


if __name__ == "__main__":
    print("\n\n".join(section().text))
