"""Processes on one store, told what to do one by one or all at once."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .fleet_worker import serve

# Forks of a process that has imported all they need, and has neither threads nor a store.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([serve.__module__, "agentguard.stores._disk", "agentguard.stores._redis"])


class Process:
    """A worker in a process of its own; see ``fleet_worker``."""

    def __init__(self, where: str, name: str) -> None:
        self.ours, theirs = FORKS.Pipe()
        self.running = FORKS.Process(target=serve, args=(theirs, where, name), daemon=True)
        self.running.start()
        theirs.close()

    def say(self, order: str) -> None:
        self.ours.send(order)

    def hear(self) -> Any:
        return json.loads(self.ours.recv())

    def do(self, order: str) -> Any:
        self.say(order)
        return self.hear()

    def kill(self) -> None:
        """As ``kill -9`` does it."""
        self.running.kill()
        self.running.join()
        self.ours.close()


@contextmanager
def fleet(where: str, count: int, begin: int = 0) -> Iterator[list[Process]]:
    """So many workers; all are killed in the end."""
    workers = [Process(where, str(begin + number)) for number in range(count)]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.kill()


def all_do(workers: list[Process], order: str) -> list[Any]:
    """Each does it at the same time; the answers."""
    for worker in workers:
        worker.say(order)
    return [worker.hear() for worker in workers]
