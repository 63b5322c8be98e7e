"""Runs whose process died are found, and no others."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agentguard.gate.records._base import Event, RunSummary, has_ended, mark_interrupted, this_process
from agentguard.gate.records._sqlite import SqliteRecords

from ...rows import over

RUN = RunSummary("r1", "running", 1.0, "help", "1f", "m", "rules", "dead:1")
PRINTS_ITSELF = "from agentguard.gate.records._base import this_process; print(this_process(), flush=True); input()"

posix = pytest.mark.skipif(os.name != "posix", reason="processes are looked up by signals")
linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc")


@pytest.fixture
def records(tmp_path: Path) -> Iterator[SqliteRecords]:
    opened = SqliteRecords(tmp_path / "records.sqlite")
    yield opened
    opened.close()


@posix
def test_a_process_ends_when_it_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PRINTS_ITSELF], stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout is not None
        name = process.stdout.readline().strip()
        host, pid = name.split(":")[:2]

        assert (host, int(pid)) == (socket.gethostname(), process.pid)
        assert not has_ended(name)
        assert not has_ended(f"{host}:{pid}")
        process.kill()
        process.wait(timeout=30)
        assert has_ended(name)
        assert has_ended(f"{host}:{pid}")


@linux
def test_a_killed_process_that_nobody_has_asked_after_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", PRINTS_ITSELF], stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout is not None
        name = process.stdout.readline().strip()
        os.kill(process.pid, signal.SIGKILL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it is dead, and stays in the table

        assert has_ended(name)


@linux
def test_another_process_with_its_number_is_another_process() -> None:
    host, pid, started = this_process().split(":")

    assert not has_ended(f"{host}:{pid}:{started}")
    assert has_ended(f"{host}:{pid}:{int(started) + 1}")


@over(
    "process",
    ["", "x", "elsewhere:1", "{host}", "{host}:", "{host}:x", "{host}:-1", "{host}:0", "{host}:1:2:3", "{host}:²",
     "{host}:99999999999999999999"],
)  # fmt: skip
def test_what_cannot_be_told_has_not_ended(process: str) -> None:
    assert not has_ended(process.format(host=socket.gethostname()))


def test_a_dead_run_is_marked_and_its_trail_tells(records: SqliteRecords) -> None:
    records.append("r1", Event("started", 1.0, {}))
    records.save(RUN)
    marked = mark_interrupted(records, ended=lambda process: process == "dead:1", clock=lambda: 5.0)
    error = "its process dead:1 ended before the run did"

    assert marked == [replace(RUN, status="interrupted", ended=5.0, error=error)]
    assert records.summary("r1") == marked[0]
    assert records.events("r1")[1:] == [Event("interrupted", 5.0, {"error": error})]
    assert mark_interrupted(records, ended=lambda process: True) == []


def test_other_runs_are_left_alone(records: SqliteRecords) -> None:
    records.save(replace(RUN, run_id="alive", process="alive:1"))
    for status in ("finished", "failed", "interrupted"):
        records.save(replace(RUN, run_id=status, status=status))
    before = records.runs()

    assert mark_interrupted(records, ended=lambda process: process == "dead:1") == []
    assert records.runs() == before


def test_a_run_that_ended_by_itself_in_the_meantime_stays_as_it_is(records: SqliteRecords) -> None:
    finished = replace(RUN, status="finished", ended=2.0)
    resumed = replace(RUN, run_id="r2", process="alive:2")

    def ended(process: str) -> bool:
        records.save(finished)
        records.save(resumed)
        return True

    records.save(RUN)
    records.save(replace(RUN, run_id="r2"))

    assert mark_interrupted(records, ended=ended) == []
    assert (records.summary("r1"), records.summary("r2")) == (finished, resumed)
