"""Forks while threads judge: ``python forking.py ORDER STORE TIMES``; prints how every child ended.

ORDER is ``stores`` or ``engine``, whichever is imported first; STORE ``memory``, a folder, or the URL of a Redis.
"""

from __future__ import annotations

import importlib
import itertools
import os
import signal
import sys
import threading
from collections import Counter
from typing import Any

PATIENCE = 60  # seconds until a child that hangs is killed; one that does not takes milliseconds


def main(order: str, where: str, times: int) -> None:
    modules = ["agentguard.stores", "agentguard.verification"]
    for name in modules if order == "stores" else reversed(modules):
        importlib.import_module(name)
    engine = engine_on(where)
    stopped = threading.Event()
    threads = [threading.Thread(target=judge, args=(engine, stopped, n)) for n in range(3)]
    for thread in threads:
        thread.start()
    ended: Counter[str] = Counter()
    for number in range(times):
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(PATIENCE)
            os._exit(live(engine, number))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        ended["well" if code == 0 else "hanging" if code == -signal.SIGALRM else str(code)] += 1
    stopped.set()
    for thread in threads:
        thread.join(PATIENCE)
    engine.close()
    print(dict(ended), "parent", "hangs" if any(thread.is_alive() for thread in threads) else "well")


def engine_on(where: str) -> Any:
    from agentguard.stores import DiskStore, MemoryStore, RedisStore
    from agentguard.verification import VerificationEngine

    store: Any = MemoryStore()
    if where.startswith("redis"):
        store = RedisStore(where, flush_seconds=0.01)
    elif where != "memory":
        store = DiskStore(where, flush_seconds=0.01)
    engine = VerificationEngine(store=store, audit_rate=0.5)
    engine.register_tool_profile("price*", response_patterns=['"price": ?[0-9]+'], content={"injection": "block"})
    return engine


def judge(engine: Any, stopped: threading.Event, thread: int) -> None:
    for number in itertools.count():
        if stopped.is_set():
            return
        call(engine, f"price{thread}.{number % 40}", number)
        if number % 10 == 0:
            engine.record_feedback(f"price{thread}.{number % 40}", 0.5, False)


def live(engine: Any, number: int) -> int:
    """What a child does: known tools, new ones, labels, and what it learned is handed over."""
    try:
        for tool in ("price0.0", "price1.1", "price2.2", f"new{number}"):
            call(engine, tool, number)
        engine.record_feedback("price0.0", 0.5, False)
        engine.flush()
        engine.close()
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


def call(engine: Any, tool: str, number: int) -> None:
    engine.verify(
        tool, args={"item": number % 7}, result={"price": 100 + number % 7, "in": "EUR"}, execution_time_ms=20.0,
        session_id=f"s{number % 5}", call_id=f"{tool} {number}",
    )  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
