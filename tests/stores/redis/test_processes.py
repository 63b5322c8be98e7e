"""Eight processes, 10,000 updates each, one server: the sums are exact."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from agentguard.stores._redis import RedisStore

WORKER = Path(__file__).with_name("worker.py")
PROCESSES = 8
MERGES, BATCHES, SIZE = 1_000, 450, 20  # 1,000 updates one by one and 9,000 by twenty


def test_eight_processes_of_ten_thousand_updates_add_up_exactly(server: Any, prefix: str) -> None:
    numbers = [str(number) for number in (MERGES, BATCHES, SIZE)]
    workers = [
        subprocess.Popen([sys.executable, WORKER, server.url, prefix, f"w{n}", *numbers]) for n in range(PROCESSES)
    ]
    assert [worker.wait(timeout=120) for worker in workers] == [0] * PROCESSES

    store = RedisStore(server.url, prefix=prefix)
    sums = Counter({(tool, field): 0 for tool in ("add", "sub") for field in ("calls",)})
    for names in store.counts().values():
        for tool, fields in names.items():
            sums.update({(tool, field): count for field, count in fields.items()})
    store.close()

    of_add, of_sub = MERGES + BATCHES // 2 * SIZE, BATCHES // 2 * SIZE
    assert of_add + of_sub == 10_000
    assert sums == {
        ("add", "calls"): PROCESSES * of_add,
        ("sub", "calls"): PROCESSES * of_sub,
        **{("add", f"w{n}"): of_add for n in range(PROCESSES)},
        **{("sub", f"w{n}"): of_sub for n in range(PROCESSES)},
    }
