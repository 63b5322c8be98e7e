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
MERGES, BATCHES, SIZE = 400, 96, 100  # 400 updates one by one and 9,600 by a hundred


def test_eight_processes_of_ten_thousand_updates_add_up_exactly(server: Any, prefix: str) -> None:
    numbers = [str(number) for number in (PROCESSES, MERGES, BATCHES, SIZE)]
    run = subprocess.run(
        [sys.executable, WORKER, server.url, prefix, *numbers], capture_output=True, text=True, timeout=120, check=False
    )
    assert run.stdout == f"{[0] * PROCESSES}\n", run.stderr

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
