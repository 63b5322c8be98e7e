"""Processes that share a store: what they count is known beforehand.

``python worker.py URL PREFIX PROCESSES MERGES BATCHES SIZE``: each of so many processes sends so many deltas of one
update, then so many of ``SIZE``. They are forks of one that has imported all, and has no store.
"""

from __future__ import annotations

import os
import sys

from agentguard.stores import Delta
from agentguard.stores._redis import RedisStore


def work(url: str, prefix: str, name: str, merges: int, batches: int, size: int) -> None:
    """An update counts one call, and one under the worker's own name; batches alternate between two tools."""
    store = RedisStore(url, prefix=prefix, timeout=30.0)
    for sequence in range(1, merges + 1):
        store.merge(Delta(name, sequence, {"add": {"calls": 1, name: 1}}))
    for number in range(batches):
        tool = ("add", "sub")[number % 2]
        store.merge(Delta(name, merges + number + 1, {tool: {"calls": size, name: size}}))
    store.close()


if __name__ == "__main__":
    address, keys, *texts = sys.argv[1:]
    processes, *numbers = map(int, texts)
    forks = []
    for place in range(processes):
        forks.append(os.fork())
        if forks[-1] == 0:
            work(address, keys, f"w{place}", *numbers)
            sys.exit()
    print([os.waitpid(fork, 0)[1] for fork in forks])
