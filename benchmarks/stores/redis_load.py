"""What 1,000 workers that flush once a second cost the one Redis they share.

``python benchmarks/stores/redis_load.py`` prints it.

A real ``redis-server`` on loopback with its append-only file on, as a fleet would have it, and a connection for each
worker. Every simulated second each worker merges a delta, and a tenth of them pull the fleet's counts. The load is sent
as fast as one client can, one command at a time, so that the server finds no two at once and saves nothing by that; its
processor time is its own account (INFO), per simulated second.
"""

from __future__ import annotations

import random
import resource
import shutil
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from redis import Redis
from redis.exceptions import ConnectionError

from agentguard.stores import Delta
from agentguard.stores._redis import HOUR, RedisStore

__all__ = ["GOAL", "RedisLoad", "measure_redis_load", "redis_server"]

WORKERS, SECONDS, PULL_SECONDS = 1_000, 10, 10
TOOLS, TOOLS_OF_WORKER, FIELDS = 30, 3, 20
GOAL = 0.2  # of a core


class RedisLoad(NamedTuple):
    """One run: ``share`` of a core, microseconds at the caller, bytes of append-only file a second, sums as sent."""

    workers: int
    seconds: int
    fields: int
    share: float
    merge_us: float
    pull_us: float
    log_bytes: float
    exact: bool


def measure_redis_load(workers: int = WORKERS, seconds: int = SECONDS) -> RedisLoad:
    """Simulate so many workers for so many seconds."""
    chance = random.Random(5)
    names = [f"tool_{number}" for number in range(TOOLS)]
    fields = [f"latency.bucket_{number}" for number in range(FIELDS)]
    sent: Counter[tuple[str, str]] = Counter()
    spent = {"merge": 0.0, "pull": 0.0}
    pulls = 0
    with ExitStack() as opened:
        port, folder = opened.enter_context(redis_server(workers))
        watching = opened.enter_context(Redis(port=port))
        stores = []
        for _ in range(workers):
            stores.append(RedisStore(f"redis://127.0.0.1:{port}/0", timeout=30.0))
            opened.callback(stores[-1].close)
            stores[-1].names()  # connects
        of_worker = [chance.sample(names, TOOLS_OF_WORKER) for _ in stores]
        before, size = _processor_seconds(watching), _size(folder)
        for second in range(1, seconds + 1):
            for number, store in enumerate(stores):
                tools = of_worker[number]
                counts = {tool: {field: chance.randrange(1, 200) for field in fields} for tool in tools}
                start = perf_counter()
                hour = store.merge(Delta(f"worker-{number}", second, counts))
                spent["merge"] += perf_counter() - start
                sent.update({(tool, field): count for tool in tools for field, count in counts[tool].items()})
                if (second + number) % PULL_SECONDS == 0:
                    start = perf_counter()
                    store.counts(tools, hour - 1)
                    spent["pull"] += perf_counter() - start
                    pulls += 1
        used, grown = _processor_seconds(watching) - before, _size(folder) - size
        kept: Counter[tuple[str, str]] = Counter()
        for found in stores[0].counts(since=int(time.time()) // HOUR - 1).values():
            kept.update({(tool, field): count for tool, counted in found.items() for field, count in counted.items()})
    merges = workers * seconds
    return RedisLoad(
        workers, seconds, FIELDS * TOOLS_OF_WORKER, used / seconds, 1e6 * spent["merge"] / merges,
        1e6 * spent["pull"] / max(pulls, 1), grown / seconds, kept == sent,
    )  # fmt: skip


def _processor_seconds(client: Any) -> float:
    used = client.info("cpu")
    return float(sum(used[f"used_cpu_{kind}{of}"] for kind in ("user", "sys") for of in ("", "_children")))


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@contextmanager
def redis_server(connections: int = 16) -> Iterator[tuple[int, Path]]:
    program = shutil.which("redis-server")
    if program is None:
        raise SystemExit("there is no redis-server; on Debian and Ubuntu: apt-get install redis-server")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + 200
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard)
        )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="agentguard-redis-") as folder:
        process = subprocess.Popen(
            [
                program, "--port", str(port), "--bind", "127.0.0.1", "--maxclients", str(wanted),
                "--dir", folder, "--save", "", "--appendonly", "yes",
            ],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            with Redis(port=port) as client:
                while process.poll() is None:
                    with suppress(ConnectionError):
                        client.ping()
                        break
                    time.sleep(0.01)
                else:
                    raise SystemExit(f"redis-server ended at once; try it: {program} --port {port}")
            yield port, Path(folder)
        finally:
            process.kill()
            process.wait()


if __name__ == "__main__":
    load = measure_redis_load()
    print(f"{load.workers:,} workers: a delta of {load.fields} fields each every second, a pull every {PULL_SECONDS} s")
    print(f"  Redis: {load.share:.3f} of a core (goal: at most {GOAL})")
    print(f"  its append-only file: {load.log_bytes / 1e6:.1f} MB a second")
    print(f"  caller: {load.merge_us:.0f} µs a merge, {load.pull_us:.0f} µs a pull")
    print(f"  counts after {load.seconds} simulated seconds: {'exact' if load.exact else 'NOT EXACT'}")
