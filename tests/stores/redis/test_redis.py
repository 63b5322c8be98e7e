"""What is particular to Redis: keys, expiry, scripts, the server's clock, and answers that are not a store's."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import fakeredis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentguard.errors import ConfigurationError, StoreError
from agentguard.stores import Delta, Store, _base
from agentguard.stores._redis import RedisStore

HOUR = 3600
INT64 = st.integers(-(2**63), 2**63 - 1)
POWERS = (10**9, 10**15, 2**53, 2**62)
# Where the arithmetic changes: digits that a double holds, billions, and the ends.
EDGES = st.one_of(
    INT64,
    st.sampled_from([sign * (power + by) for sign in (1, -1) for power in POWERS for by in (-1, 0, 1)]),
    st.integers(2**63 - 20, 2**63 - 1),
    st.integers(-(2**63), -(2**63) + 20),
)


class Clock:
    def __init__(self, now: float = 500_000.5 * HOUR) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def store(server: Any, prefix: str) -> Iterator[RedisStore]:
    store = RedisStore(server.url, prefix=prefix, timeout=20.0)
    yield store
    store.close()


@pytest.fixture
def client(server: Any) -> Iterator[Any]:
    client = server.client()
    yield client
    client.close()


def wait_for(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def keys_of(client: Any, prefix: str) -> list[bytes]:
    return sorted(client.scan_iter(match=f"{{{prefix}}}:*", count=1000))


def fill(store: Store, sequence: int = 1) -> int:
    store.append("feedback", {"tool": "add"})
    store.claim("receipt", "c1")
    store.save({"add": {"version": 1}})
    return store.merge(Delta("w", sequence, {"add": {"calls": 1}}))


def test_a_node_of_a_cluster_keeps_all_keys_in_one_slot(started: Callable[..., Any]) -> None:
    server = started("--cluster-enabled", "yes")
    with server.client() as client:
        client.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
        wait_for(lambda: client.cluster("INFO")["cluster_state"] == "ok")
        store = RedisStore(server.url)
        fill(store)
        store.append("}{other}", {"n": 1})
        store.merge(Delta("}{", 1, {"{x}": {"n": 1}}))
        store.close()
        keys = client.keys()
        slots = {client.execute_command("CLUSTER KEYSLOT", key) for key in keys}

    assert len(keys) == 12
    assert len(slots) == 1


def test_the_hour_and_the_time_are_the_servers(store: RedisStore, client: Any) -> None:
    before = client.time()
    hour = fill(store)
    after = client.time()
    [record] = store.events("feedback")

    assert before[0] // HOUR <= hour <= after[0] // HOUR
    assert before[0] + before[1] / 1e6 <= record.at <= after[0] + after[1] / 1e6


def test_what_ages_expires_by_itself(server: Any, client: Any, prefix: str) -> None:
    store = RedisStore(server.url, prefix=prefix, max_hours=5)
    fill(store)
    lifetimes = {key.split(b":")[2]: client.ttl(key) for key in keys_of(client, prefix)}
    store.forget(["add"])
    fill(store, 2)
    again = {key.split(b":")[2]: client.ttl(key) for key in keys_of(client, prefix)}
    store.close()

    for found in (lifetimes, again):
        assert 5 * HOUR < found[b"counts"] <= 6 * HOUR
        assert 5 * HOUR < found[b"names"] <= 6 * HOUR
        assert 167 * HOUR < found[b"worker"] <= 168 * HOUR
        assert found[b"events"] == found[b"claims"] == found[b"documents"] == -1


def test_an_hour_beyond_the_bound_leaves_no_key(server: Any, client: Any, prefix: str) -> None:
    clock = Clock()
    store = RedisStore(server.url, prefix=prefix, max_hours=2, clock=clock)
    for sequence in range(1, 6):
        store.merge(Delta("w", sequence, {"add": {"calls": 1}, f"t{sequence}": {"calls": 1}}))
        clock.now += HOUR
    left = [key for key in keys_of(client, prefix) if b":counts:" in key or b":names:" in key]
    store.close()

    assert len(left) == 2 * (2 + 1)


def test_names_beyond_the_bound_leave_no_key(server: Any, client: Any, prefix: str) -> None:
    store = RedisStore(server.url, prefix=prefix, max_names=3, clock=Clock())
    store.merge(Delta("w", 1, {f"t{n}": {"calls": 1} for n in range(8)}))
    store.merge(Delta("w", 2, {"t6": {"calls": 1}, "t9": {"calls": 1}}))
    left = [key.rpartition(b":")[2] for key in keys_of(client, prefix) if b":counts:" in key]
    store.close()

    assert sorted(left) == [b"t6", b"t7", b"t9"]


@settings(deadline=None, max_examples=60)
@given(steps=st.lists(st.dictionaries(st.sampled_from("abc"), EDGES, max_size=3), min_size=1, max_size=6))
def test_sums_are_those_of_integers_without_bound(server: Any, steps: list[dict[str, int]]) -> None:
    store = RedisStore(server.url, prefix=f"sums{time.monotonic_ns()}", clock=Clock(), timeout=20.0)
    sums: dict[str, int] = {}
    for sequence, fields in enumerate(steps, 1):
        total = sums | {field: sums.get(field, 0) + more for field, more in fields.items()}
        if all(-(2**63) <= number < 2**63 for number in total.values()):
            store.merge(Delta("w", sequence, {"add": fields}))
            sums = total
        else:
            with pytest.raises(StoreError, match="'add' would pass 64 bits"):
                store.merge(Delta("w", sequence, {"add": fields}))
        assert store.counts() == ({500_000: {"add": sums}} if sums else {})
    store.close()


def test_sequence_numbers_are_compared_as_numbers(store: RedisStore) -> None:
    for sequence in (9, 10, 99, 100, 2**53, 2**53 + 1, 2**63 - 1):
        store.merge(Delta("w", sequence, {"add": {"calls": 1}}))
        store.merge(Delta("w", sequence, {"add": {"calls": 1}}))
        store.merge(Delta("w", sequence - 1, {"add": {"calls": 1}}))

    assert list(store.counts().values()) == [{"add": {"calls": 7}}]


def test_a_delta_may_have_many_names_and_fields(store: RedisStore) -> None:
    counts = {"wide": {f"f{n}": n for n in range(9_001)}, **{f"tool{n}": {"calls": n} for n in range(3_000)}}
    for sequence in (1, 2):
        hour = store.merge(Delta("w", sequence, counts))

    assert store.counts()[hour] == {
        name: {field: 2 * count for field, count in fields.items()} for name, fields in counts.items()
    }


def test_a_server_that_forgot_the_scripts_is_told_again(store: RedisStore, client: Any) -> None:
    hour = fill(store)
    client.script_flush()
    fill(store, 2)

    assert store.counts() == {hour: {"add": {"calls": 2}}}
    assert [record.sequence for record in store.events("feedback")] == [1, 2]


def test_events_are_read_page_by_page(store: RedisStore, client: Any) -> None:
    for n in range(1_000):
        store.append("audit", {"n": n, "text": "x" * 3_000})
    before = int(client.info("commandstats")["cmdstat_evalsha"]["calls"])
    records = store.events("audit")
    first = [next(records).sequence for _ in range(10)]
    read = int(client.info("commandstats")["cmdstat_evalsha"]["calls"]) - before

    assert first == list(range(1, 11))
    assert read == 1
    assert [record.event["n"] for record in records] == list(range(10, 1_000))


def test_what_is_older_than_max_age_goes_at_a_later_write(server: Any, prefix: str) -> None:
    clock = Clock()
    store = RedisStore(server.url, prefix=prefix, max_age=100.0, clock=clock)
    fill(store)
    clock.now += 101
    store.append("feedback", {"tool": "new"})
    found = [record.event["tool"] for record in store.events("feedback")], store.names(), store.claim("receipt", "c1")
    store.close()

    assert found == (["new"], (), True)


def test_a_clock_that_goes_back_keeps_the_order(server: Any, prefix: str) -> None:
    clock = Clock()
    store = RedisStore(server.url, prefix=prefix, clock=clock, max_names=2, max_events=2)
    for n in range(4):
        store.save({f"d{n}": {"n": n}})
        store.append("audit", {"n": n})
        store.claim("receipt", f"c{n}")
        clock.now -= 1000
    found = store.names(), [record.event["n"] for record in store.events("audit")], store.claim("receipt", "c3")
    store.close()

    assert found == (("d2", "d3"), [2, 3], False)


@pytest.mark.parametrize(
    "planted",
    [
        b"",
        b"{",
        b"[1]",
        b"1",
        b"\x80\x04cos\nsystem\n",
        zlib.compress(b"{}")[:-2],
        zlib.compress(b" " * (1 << 18) + b"{}"),
    ],
    ids=["empty", "half", "list", "number", "pickle", "cut off", "bomb"],
)
def test_what_no_store_has_written_is_refused(
    store: RedisStore, client: Any, prefix: str, planted: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_base, "LONGEST", 1 << 16)
    fill(store)
    root = f"{{{prefix}}}:1"
    client.hset(f"{root}:documents", "add", planted)
    client.xadd(f"{root}:events:feedback", {"at": "1.5", "event": planted}, id="2-0")
    client.hset(f"{root}:kinds", "feedback", 2)

    with pytest.raises(StoreError, match="the document 'add' is nothing that a store has written"):
        store.load()
    with pytest.raises(StoreError, match="event 2 of 'feedback' is nothing"):
        list(store.events("feedback"))


def test_counts_that_are_no_numbers_are_refused(store: RedisStore, client: Any, prefix: str) -> None:
    hour = fill(store)
    client.hset(f"{{{prefix}}}:1:counts:{hour}:add", "calls", "many")

    with pytest.raises(StoreError, match="the counts of 'add' is nothing that a store has written"):
        store.counts()


def test_keys_of_something_else_under_the_prefix_are_told(store: RedisStore, client: Any, prefix: str) -> None:
    client.set(f"{{{prefix}}}:1:kinds", "x")

    with pytest.raises(StoreError, match="has keys of something else under this prefix: choose another prefix"):
        store.append("feedback", {})


def test_stores_with_other_prefixes_see_nothing_of_each_other(server: Any, prefix: str) -> None:
    stores = [RedisStore(server.url, prefix=prefix + end) for end in ("", ":1", "a")]
    fill(stores[0])
    seen = [(store.names(), store.counts(), list(store.events("feedback"))) for store in stores[1:]]
    for store in stores:
        store.close()

    assert seen == [((), {}, [])] * 2


def test_a_client_may_be_handed_over_and_stays_open() -> None:
    client = fakeredis.FakeRedis()
    store = RedisStore(client)
    fill(store)
    store.close()

    assert client.ping()
    with pytest.raises(StoreError, match="the store is closed"):
        store.names()


def test_a_client_that_answers_with_text_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="leave decode_responses off"):
        RedisStore(fakeredis.FakeRedis(decode_responses=True))


@pytest.mark.parametrize(
    "options",
    [
        {"prefix": ""}, {"prefix": "a}b"}, {"prefix": "{a"}, {"max_events": 0}, {"max_names": 0}, {"max_hours": 0},
        {"timeout": 0}, {"timeout": -1.0}, {"flush_seconds": 0}, {"max_age": 0}, {"max_age": float("nan")},
    ],
    ids=str,
)  # fmt: skip
def test_bounds_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        RedisStore("redis://localhost", **options)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_has_connections_of_its_own(store: RedisStore) -> None:
    fill(store)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            for n in range(200):
                store.append("child", {"n": n})
            store.close()
            os.write(writing, b"done")
        finally:
            os._exit(0)
    for n in range(200):
        store.append("parent", {"n": n})
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b"done"

    for kind in ("child", "parent"):
        assert [record.event["n"] for record in store.events(kind)] == list(range(200))


def test_a_server_without_memory_is_told(started: Callable[..., Any]) -> None:
    server = started("--maxmemory", "1", "--maxmemory-policy", "noeviction")
    store = RedisStore(server.url)
    for call in (
        lambda: store.append("feedback", {"n": 1}),
        lambda: store.merge(Delta("w", 1, {"add": {"n": 1}})),
        lambda: store.save({"add": {}}),
    ):
        with pytest.raises(StoreError, match="is out of memory: prune the store, lower its bounds or raise maxmemory"):
            call()
    assert (store.names(), store.counts(), list(store.events("feedback"))) == ((), {}, [])
    store.close()


def test_a_replica_is_told(started: Callable[..., Any], server: Any) -> None:
    replica = started("--replicaof", "127.0.0.1", str(server.port), "--masterauth", server.password)
    store = RedisStore(replica.url)

    with pytest.raises(StoreError, match="is a replica: name the primary in the URL"):
        store.append("feedback", {"n": 1})
    store.close()


@contextmanager
def imitation(answer: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """A server that gives each script this answer and hangs up; its URL, and what it was asked."""
    asked: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                while data := connection.recv(65536):
                    if b"EVALSHA" in data:
                        asked.append(data)
                        connection.sendall(answer)
                        break
                    connection.sendall(b"+PONG\r\n" if b"PING" in data else b"+OK\r\n" * data.count(b"CLIENT"))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"redis://127.0.0.1:{listening.getsockname()[1]}", asked
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join(20)


@pytest.mark.parametrize(
    ("call", "times"),
    [
        (lambda store: store.append("feedback", {"n": 1}), 1),
        (lambda store: store.claim("receipt", "c1"), 1),
        (lambda store: store.merge(Delta("w", 1, {"add": {"n": 1}})), 2),
        (lambda store: store.save({"add": {"n": 1}}), 2),
    ],
    ids=["append", "claim", "merge", "save"],
)
def test_what_would_count_twice_is_sent_once_though_the_answer_is_lost(
    call: Callable[[Store], object], times: int
) -> None:
    with imitation(b"") as (url, asked):
        store = RedisStore(url, timeout=20.0)
        with pytest.raises(StoreError, match="cannot be reached"):
            call(store)
        store.close()

    assert len(asked) == times


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("MISCONF Errors writing to the AOF file: No space left on device", "cannot write to its disk: free some room"),
        ("LOADING Redis is loading the dataset in memory", "is still loading its data: try again shortly"),
        ("NOAUTH Authentication required.", "refuses the login|asks for a password"),
        ("MOVED 3999 127.0.0.1:6381", "is a node of a cluster, and another one keeps these keys"),
        ("CLUSTERDOWN The cluster is down", "is a node of a cluster that is down"),
        ("BUSY Redis is busy running a script.", "is busy with a script of somebody's"),
        ("ERR unknown command 'EVALSHA'", "refuses what was asked .unknown command 'EVALSHA'"),
    ],
)
def test_what_a_server_cannot_do_is_said(answer: str, said: str) -> None:
    with imitation(f"-{answer}\r\n".encode()) as (url, _):
        store = RedisStore(url, timeout=20.0)
        with pytest.raises(StoreError, match=said):
            store.append("feedback", {"n": 1})
        store.close()


def test_documents_and_events_are_kept_as_json(store: RedisStore, client: Any, prefix: str) -> None:
    store.save({"short": {"a": 1}, "long": {"a": "x" * 100_000}})
    store.append("audit", {"a": 1})
    root = f"{{{prefix}}}:1"
    short, long = client.hmget(f"{root}:documents", "short", "long")
    [(_, entry)] = client.xrange(f"{root}:events:audit")

    assert json.loads(short) == {"a": 1}
    assert json.loads(zlib.decompress(long)) == {"a": "x" * 100_000}
    assert len(long) < 1_000
    assert json.loads(entry[b"event"]) == {"a": 1}
