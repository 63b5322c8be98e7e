"""Processes on one store, told what to do one by one or all at once."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WORKER = Path(__file__).with_name("fleet_worker.py")


class Process:
    """A worker in a process of its own; see ``fleet_worker``."""

    def __init__(self, where: str, name: str) -> None:
        self.running = subprocess.Popen(
            [sys.executable, str(WORKER), where, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def say(self, order: str) -> None:
        assert self.running.stdin is not None
        self.running.stdin.write(order + "\n")
        self.running.stdin.flush()

    def hear(self) -> Any:
        assert self.running.stdout is not None
        return json.loads(self.running.stdout.readline())

    def do(self, order: str) -> Any:
        self.say(order)
        return self.hear()

    def kill(self) -> None:
        """As ``kill -9`` does it."""
        self.running.send_signal(signal.SIGKILL)
        self.running.communicate()


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
