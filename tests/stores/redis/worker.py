"""One of several processes that share a store: what it counts is known beforehand.

``python worker.py URL PREFIX NAME MERGES BATCHES SIZE``: so many deltas of one update each, then so many of ``SIZE``.
"""

from __future__ import annotations

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
    address, keys, worker, *numbers = sys.argv[1:]
    work(address, keys, worker, *map(int, numbers))
