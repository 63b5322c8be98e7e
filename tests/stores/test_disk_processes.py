"""DiskStore under many processes, and under processes that are killed: what was acknowledged is there, exactly."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agentguard.stores import Delta, DiskStore

WRITER = Path(__file__).with_name("disk_writer.py")
LANES, KILLS = 2, 50


def start(task: str, folder: Path, *rest: object) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, WRITER, task, folder, *map(str, rest)], stdout=subprocess.PIPE, text=True)


def acknowledged(process: "subprocess.Popen[str]", lines: int) -> dict[str, int]:
    """Kill a writer when it has said so many lines; the last round of each kind of writing that it had said by then."""
    assert process.stdout is not None
    said = [process.stdout.readline() for _ in range(lines)]
    process.kill()
    said += process.stdout.readlines()
    process.stdout.close()
    assert process.wait(timeout=30) == -signal.SIGKILL
    rounds = dict.fromkeys(["append", "merge", "claim", "save"], 0)
    for line in said:
        if line.endswith("\n") and line != "opening\n":
            name, n = line.split()
            rounds[name] = int(n)
    return rounds


def check(store: DiskStore, worker: str, events: list[Any], rounds: dict[str, int]) -> None:
    """Of each kind all that was acknowledged is there, whole, and at most the one that was under way when it died."""
    assert [event["n"] for event in events] == list(range(1, len(events) + 1))
    assert len(events) - rounds["append"] in (0, 1)
    assert all(event["text"].replace(f"{event['n']:06d}", "") == "" for event in events)

    counts = list(store.counts([worker, "tool"]).values())
    merged = sum(names["tool"].get(worker, 0) for names in counts)
    assert merged - rounds["merge"] in (0, 1)
    assert sum(names.get(worker, {}).get("n", 0) for names in counts) == merged * (merged + 1) // 2

    assert not any(store.claim("receipt", f"{worker}/{n}") for n in range(1, rounds["claim"] + 1))
    saved = store.load([f"{worker}/left", f"{worker}/right"])
    if saved or rounds["save"]:
        assert saved[f"{worker}/left"]["n"] == saved[f"{worker}/right"]["n"]
        assert saved[f"{worker}/left"]["n"] - rounds["save"] in (0, 1)


def events_by_worker(store: DiskStore, after: int = 0) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for record in store.events("audit", after=after):
        found.setdefault(record.event["worker"], []).append(record.event)
    return found


def test_a_writer_killed_at_any_moment_loses_nothing_that_it_was_told_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    rounds: dict[str, dict[str, int]] = {}

    def kill_some(lane: int) -> None:
        chance = random.Random(lane)
        newest = 0
        for n in range(KILLS // LANES):
            worker = f"worker {lane}/{n}"
            # The first line is said before the store is opened: one in ten dies while it opens.
            lines = 1 if n % 10 == 0 else chance.randint(2, 250)
            rounds[worker] = acknowledged(start("write", folder, worker), lines)
            with DiskStore(folder) as store:
                check(store, worker, events_by_worker(store, newest).get(worker, []), rounds[worker])
                newest = max((record.sequence for record in store.events("audit", newest)), default=newest)

    with ThreadPoolExecutor(LANES) as pool:  # while one is killed and looked after, the other goes on writing
        list(pool.map(kill_some, range(LANES)))

    assert len(rounds) == KILLS
    with DiskStore(folder) as store:
        events = events_by_worker(store)
        for worker, acknowledged_rounds in rounds.items():
            check(store, worker, events.get(worker, []), acknowledged_rounds)
            before = store.counts()
            if acknowledged_rounds["merge"]:
                store.merge(Delta(worker, acknowledged_rounds["merge"], {"tool": {worker: 1}}))
            assert store.counts() == before
        for names in store.counts(["tool"]).values():
            assert names["tool"].pop("all") == sum(names["tool"].values())
    with closing(sqlite3.connect(folder / "cache.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert sorted(path.name for path in folder.iterdir()) == ["cache.db"]


@pytest.mark.parametrize(("number", "batch"), [(10_000, 20), (300, 1)])
def test_updates_of_eight_processes_are_exact(tmp_path: Path, number: int, batch: int) -> None:
    workers = [f"worker {n}" for n in range(8)]
    processes = [start("count", tmp_path / "store", worker, number, batch) for worker in workers]
    said = [process.communicate(timeout=100)[0] for process in processes]

    assert said == ["done\n"] * 8
    with DiskStore(tmp_path / "store") as store:
        totals: dict[str, int] = {}
        for names in store.counts().values():
            for field, count in names["tool"].items():
                totals[field] = totals.get(field, 0) + count
    assert totals == {"calls": 8 * number, **dict.fromkeys(workers, number)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_store_is_used_on_both_sides_of_a_fork(tmp_path: Path) -> None:
    process = start("fork", tmp_path / "store")
    said, _ = process.communicate(timeout=60)

    assert (said, process.returncode) == ("child is done\n", 0)
    with DiskStore(tmp_path / "store") as store:
        events = [dict(record.event) for record in store.events("audit")]
        assert events[:2] == [{"by": "parent", "when": "before"}, {"by": "parent", "when": "after"}]
        assert events[2:] == [{"by": "child", "n": n} for n in range(100)]
        assert [names["tool"]["calls"] for names in store.counts().values()] == [11]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_children_are_forked_while_threads_write(tmp_path: Path) -> None:
    process = start("fork-under-load", tmp_path / "store")
    said, _ = process.communicate(timeout=100)

    assert process.returncode == 0
    with DiskStore(tmp_path / "store") as store:
        by = [record.event["by"] for record in store.events("audit")]
    assert by.count("child") == 200
    assert by.count("thread") == int(said)
    with closing(sqlite3.connect(tmp_path / "store" / "cache.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


OTHER = """
import sys
from agentguard.stores import DiskStore

with DiskStore(sys.argv[1]) as store:
    print([record.event["n"] for record in store.events("audit")])
"""


def test_a_second_store_of_a_process_takes_no_lock_from_the_first(tmp_path: Path) -> None:
    """Locks are the process's: to open and close the file by other means than SQLite's would give them all up."""

    def seen_by_another() -> str:
        return subprocess.run([sys.executable, "-c", OTHER, tmp_path], stdout=subprocess.PIPE, text=True).stdout.strip()

    with DiskStore(tmp_path) as first, DiskStore(tmp_path) as second:
        first.append("audit", {"n": 1})
        second.append("audit", {"n": 2})
        DiskStore(tmp_path).close()
        assert seen_by_another() == "[1, 2]"
        first.append("audit", {"n": 3})
        assert seen_by_another() == "[1, 2, 3]"
        second.append("audit", {"n": 4})
        assert seen_by_another() == "[1, 2, 3, 4]"
