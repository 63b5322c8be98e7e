"""Write-behind: as often as asked for, not after the end, and in each process on its own."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading

import pytest

from agentguard.stores._flusher import Flusher, new_worker


class Counted:
    def __init__(self) -> None:
        self.flushes = 0
        self.forks = 0
        self.flushed = threading.Event()

    def flush_quietly(self) -> None:
        self.flushes += 1
        self.flushed.set()

    def forked(self) -> None:
        self.forks += 1


def test_it_flushes_by_itself() -> None:
    counted = Counted()
    flusher = Flusher(counted, 0.001)
    assert counted.flushed.wait(30)
    flusher.stop()
    stopped_at = counted.flushes
    counted.flushed.clear()
    assert not counted.flushed.wait(0.05)
    assert counted.flushes == stopped_at


def test_it_does_not_keep_alive_what_it_flushes() -> None:
    counted = Counted()
    flusher = Flusher(counted, 0.001)
    assert counted.flushed.wait(30)
    del counted
    gc.collect()
    flusher.thread.join(30)
    assert not flusher.thread.is_alive()


def test_the_last_flush_is_at_the_end_of_the_interpreter() -> None:
    code = """
from agentguard.stores._flusher import Flusher

class Said:
    def flush_quietly(self): print("flushed")
    def forked(self): pass

said = Said()
Flusher(said, 3600.0)
print("ends")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["ends", "flushed"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_goes_on_with_a_thread_of_its_own() -> None:
    code = """
import os, threading
from agentguard.stores._flusher import Flusher

class Said:
    def __init__(self): self.event, self.forks = threading.Event(), 0
    def flush_quietly(self): self.event.set()
    def forked(self):
        self.forks += 1
        self.event.clear()

said = Said()
flusher = Flusher(said, 0.001)
child = os.fork()
if child == 0:
    os._exit(0 if said.event.wait(30) and said.forks == 1 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said.forks)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["0", "0"]


def test_no_two_workers_have_one_name() -> None:
    assert len({new_worker() for _ in range(100)}) == 100
