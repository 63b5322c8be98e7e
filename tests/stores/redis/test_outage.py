"""Redis is ended and started again under load: only ``StoreError``, nothing acknowledged lost, counts exact."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from agentguard.errors import StoreError
from agentguard.stores import Delta
from agentguard.stores._redis import RedisStore

from ...rows import over

THREADS = 4
PATIENCE = 60.0  # seconds


class Load:
    """Threads that append, claim and merge until they are told to end, each sending again what was not acknowledged."""

    def __init__(self, store: RedisStore) -> None:
        self.store = store
        self.appended: list[list[int]] = [[] for _ in range(THREADS)]
        self.claimed: list[list[int]] = [[] for _ in range(THREADS)]
        self.merged = [0] * THREADS
        self.refused = 0
        self.wrong: list[BaseException] = []
        self._ending = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(n,), daemon=True) for n in range(THREADS)]
        for thread in self._threads:
            thread.start()

    def advance(self, merges: int) -> None:
        """Wait until each thread has had so many more acknowledged."""
        before = min(self.merged)
        self.wait_for(lambda: min(self.merged) >= before + merges)

    def be_refused(self, times: int) -> None:
        before = self.refused
        self.wait_for(lambda: self.refused >= before + times)

    def wait_for(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert not self.wrong
            assert time.monotonic() < deadline
            time.sleep(0.005)

    def end(self) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()

    def _work(self, thread: int) -> None:
        number = 0
        try:
            while not self._ending.is_set():
                number += 1
                try:
                    self.store.append("feedback", {"thread": thread, "number": number})
                    self.appended[thread].append(number)
                    if self.store.claim("receipt", f"{thread}:{number}"):
                        self.claimed[thread].append(number)
                except StoreError:
                    self.refused += 1
                delta = Delta(f"w{thread}", self.merged[thread] + 1, {"add": {"calls": 1, f"of {thread}": number}})
                while True:
                    try:
                        self.store.merge(delta)
                        break
                    except StoreError:
                        self.refused += 1
                        time.sleep(0.002)
                self.merged[thread] += 1
        except BaseException as error:
            self.wrong.append(error)


def check(store: RedisStore, load: Load) -> None:
    """What was acknowledged is there; what was counted was counted once."""
    sums: dict[str, int] = {}
    for names in store.counts().values():
        for field, count in names["add"].items():
            sums[field] = sums.get(field, 0) + count
    expected = {f"of {n}": load.merged[n] * (load.merged[n] + 1) // 2 for n in range(THREADS)}
    assert sums == {"calls": sum(load.merged), **expected}

    records = list(store.events("feedback"))
    assert [record.sequence for record in records] == list(range(1, len(records) + 1))
    for n in range(THREADS):
        kept = [record.event["number"] for record in records if record.event["thread"] == n]
        assert len(kept) == len(set(kept))  # nothing is sent again by one call
        assert set(load.appended[n]) <= set(kept)
        assert not any(store.claim("receipt", f"{n}:{number}") for number in load.claimed[n])


def test_killed_and_shut_down_under_load(started: Callable[..., Any]) -> None:
    server = started()
    store = RedisStore(server.url, max_events=10_000_000)
    load = Load(store)
    for end in (server.kill, server.shut_down) * 3:
        load.advance(40)
        end()
        load.be_refused(THREADS)
        server.start()
    load.advance(40)
    load.end()

    assert load.wrong == []
    check(store, load)
    store.close()


def written_by_a_cut_append(started: Callable[..., Any], at: bytes, **options: bool) -> tuple[list[int], list[Any]]:
    """A server dies while it writes ``cut`` down, up to ``at``; it is started, asked for more, and started once more.

    Returns:
        the numbers that were acknowledged, and the number and name of each event that is there in the end.
    """
    server = started(**options)
    with RedisStore(server.url) as store:
        acknowledged = [store.append("feedback", {"name": "before"})]
        begin = server.log_of_writes.stat().st_size
        store.extend("feedback", [{"name": "cut"}, {"name": "cut too"}])
        server.kill()
        written = server.log_of_writes.read_bytes()
        os.truncate(server.log_of_writes, written.index(at, begin) + len(at))
        server.start()
        acknowledged += [store.append("feedback", {"name": name}) for name in ("second", "third")]
        server.shut_down()
        server.start()
        acknowledged.append(store.append("feedback", {"name": "fourth"}))
        server.kill()
        server.start()
        return acknowledged, [(record.sequence, record.event["name"]) for record in store.events("feedback")]


CUTS = [b"MUL", b"MULTI\r\n", b"*4\r\n$4\r\nHSET", b"*9\r\n$4\r\nXADD", b"cut", b"cut too", b"*1\r\n$4\r\nEX"]


@over("at", CUTS)
def test_killed_while_a_transaction_is_written(started: Callable[..., Any], at: bytes) -> None:
    acknowledged, events = written_by_a_cut_append(started, at)

    assert acknowledged == [1, 2, 3, 4]
    assert events == [(1, "before"), (2, "second"), (3, "third"), (4, "fourth")]


def test_what_a_server_executes_late_takes_no_number(started: Callable[..., Any]) -> None:
    """By its own settings Redis leaves the first half of a transaction in its log and executes it a start later."""
    at = b"*9\r\n$4\r\nXADD"
    acknowledged, events = written_by_a_cut_append(started, at, repaired=False)

    assert acknowledged == [1, 2, 3, 4]
    assert events == [(1, "before"), (2, "second"), (3, "third"), (4, "fourth")]


def test_the_first_call_after_a_restart_works(started: Callable[..., Any]) -> None:
    server = started()
    store = RedisStore(server.url)
    store.append("feedback", {"n": 1})
    server.kill()
    with pytest.raises(StoreError, match=f"Redis at 127.0.0.1:{server.port}/0 cannot be reached: see whether it runs"):
        store.append("feedback", {"n": 2})
    server.start()
    assert store.append("feedback", {"n": 3}) == 2
    server.shut_down()
    server.start()  # nobody noticed

    assert store.append("feedback", {"n": 4}) == 3
    assert [record.event["n"] for record in store.events("feedback")] == [1, 3, 4]
    store.close()


def test_connections_of_many_threads_are_all_made_anew(started: Callable[..., Any]) -> None:
    server = started()
    store = RedisStore(server.url, timeout=20.0)
    rounds = threading.Barrier(THREADS + 1, timeout=PATIENCE)
    wrong: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(2):
                rounds.wait()
                for n in range(50):
                    store.append("feedback", {"n": n})
                rounds.wait()
        except BaseException as error:
            wrong.append(error)
            rounds.abort()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    rounds.wait()
    rounds.wait()
    server.kill()
    server.start()
    rounds.wait()
    rounds.wait()
    for thread in threads:
        thread.join(PATIENCE)

    assert wrong == []
    assert len(list(store.events("feedback"))) == 2 * THREADS * 50
    store.close()


def test_a_server_that_hangs_is_given_up(started: Callable[..., Any]) -> None:
    server = started()
    store = RedisStore(server.url, timeout=0.2)
    hour = store.merge(Delta("w", 1, {"add": {"calls": 1}}))
    server.freeze()
    try:
        for _ in range(2):
            with pytest.raises(StoreError, match="did not answer in time: see whether it runs and can be reached"):
                store.merge(Delta("w", 2, {"add": {"calls": 10}}))
    finally:
        server.thaw()
    patient = RedisStore(server.url, timeout=20.0)
    patient.merge(Delta("w", 2, {"add": {"calls": 10}}))

    assert patient.counts() == {hour: {"add": {"calls": 11}}}
    assert patient.counts() == store.counts()
    store.close()
    patient.close()


def test_reading_is_told_of_an_outage_too(started: Callable[..., Any]) -> None:
    server = started()
    store = RedisStore(server.url)
    for n in range(600):
        store.append("audit", {"n": n})
    records = store.events("audit")
    next(records)
    server.kill()

    with pytest.raises(StoreError, match="cannot be reached"):
        list(records)
    for call in (store.names, store.load, store.counts, lambda: store.prune(1.0), lambda: store.events("audit")):
        with pytest.raises(StoreError, match="cannot be reached"):
            call()
    store.close()
