"""No call waits for a store that is far away: it answers in its own time, and what is to be told is told behind it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest

from agentguard.errors import StoreError
from agentguard.stores import MemoryStore
from agentguard.verification import VerificationEngine
from agentguard.verification import _registry as registry
from agentguard.verification.receipts import ReceiptSigner, ReceiptStatus

Answer = TypeVar("Answer")
PATIENCE = 60.0  # seconds, for what takes milliseconds
METHODS = "standing append extend events claim merge counts save load names forget prune".split()


class FarStore(MemoryStore):
    """On a server, as far as its engine knows; while ``held`` is set nothing of it comes back."""

    flush_seconds: float | None = 3600.0
    is_near = False

    def __init__(self) -> None:
        super().__init__()
        self.free = threading.Event()
        self.free.set()
        self.asked: list[str] = []
        self.gone = False


def _waiting(name: str) -> Callable[..., Any]:
    plain = getattr(MemoryStore, name)

    def method(self: FarStore, *args: Any, **options: Any) -> Any:
        self.asked.append(name)
        assert self.free.wait(PATIENCE)
        if self.gone:
            raise StoreError("the store does not answer")
        return plain(self, *args, **options)

    return method


for _name in METHODS:
    setattr(FarStore, _name, _waiting(_name))


@pytest.fixture
def store() -> Iterator[FarStore]:
    made = FarStore()
    yield made
    made.gone = False
    made.free.set()


@pytest.fixture
def engine(store: FarStore) -> Iterator[VerificationEngine]:
    with VerificationEngine(store=store, audit_rate=1.0) as made:
        made.register_tool_profile("price", required_fields=["price"])
        made.register_tool_profile("strict", required_fields=["price"], on_error="closed")
        for number in range(30):
            verify(made, "price", number)
        made.flush()
        yield made
        store.gone = False
        store.free.set()


def verify(
    engine: VerificationEngine, tool: str, number: int, *, result: Any = None, call_id: str | None = None
) -> Any:
    value = {"price": 100.0 + number % 7} if result is None else result
    return engine.verify(tool, args={"n": number}, result=value, execution_time_ms=20.0, call_id=call_id)


def in_time(work: Callable[[], Answer]) -> Answer:
    """What it returns, though nothing comes back from the store meanwhile."""
    found: list[Answer] = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(PATIENCE / 4)
    assert not thread.is_alive(), "it waits"
    return found[0]


def soon(holds: Callable[[], bool]) -> None:
    waited = threading.Event()
    for _ in range(int(PATIENCE / 0.01)):
        if holds():
            return
        waited.wait(0.01)
    raise AssertionError("it never came")


def records(store: FarStore) -> list[Any]:
    return [record.event["call_id"] for record in MemoryStore.events(store, "audit")]


def test_calls_of_a_known_tool_go_on_while_a_new_one_is_looked_up(store: FarStore, engine: VerificationEngine) -> None:
    store.free.clear()
    store.asked.clear()
    other = threading.Thread(target=lambda: verify(engine, "new", 0), daemon=True)
    other.start()
    soon(lambda: "load" in store.asked)
    assert in_time(lambda: verify(engine, "price", 1)).verdict == "accept"
    assert in_time(lambda: engine.profile_of("price")).required_fields == ("price",)
    store.free.set()
    other.join(PATIENCE)
    assert not other.is_alive()
    assert in_time(lambda: verify(engine, "new", 1)).verdict == "accept"


def test_two_threads_that_meet_one_tool_learn_in_one_memory(store: FarStore, engine: VerificationEngine) -> None:
    store.free.clear()
    store.asked.clear()
    threads = [threading.Thread(target=lambda: verify(engine, "new", 1), daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    soon(lambda: store.asked.count("load") == 2)
    store.free.set()
    for thread in threads:
        thread.join(PATIENCE)
    engine.flush()
    assert MemoryStore.load(store, ["calibrated:new"])["calibrated:new"]["learned"]["~ToolMemory"]["count"] == 2


def test_a_record_is_written_behind_the_call_and_at_once(store: FarStore, engine: VerificationEngine) -> None:
    store.free.clear()
    said = in_time(lambda: verify(engine, "price", 1, result={"cost": 1}, call_id="bad"))
    assert (said.verdict, "not on record" in said.note) == ("block", False)
    assert "bad" not in records(store)
    store.free.set()
    soon(lambda: "bad" in records(store))  # no flush was due: the next is an hour away


def test_where_the_guards_failures_are_closed_a_call_waits_for_its_record(
    store: FarStore, engine: VerificationEngine
) -> None:
    assert verify(engine, "strict", 1, call_id="kept").verdict == "accept"
    assert "kept" in records(store)
    store.gone = True
    said = verify(engine, "strict", 2, call_id="lost")
    assert (said.verdict, "does not answer" in said.note) == ("block", True)


def test_a_change_is_told_behind_the_call(store: FarStore, engine: VerificationEngine) -> None:
    told = threading.Event()
    engine.on_change(lambda change: told.set())
    store.free.clear()
    for number in range(5):
        assert (
            in_time(lambda number=number: verify(engine, "price", number, result={"cost": number})).verdict != "accept"
        )
    assert not told.is_set()
    store.free.set()
    assert told.wait(PATIENCE)
    assert [change.state for change in engine.changes("price")] == ["open"]


def test_a_tool_for_which_there_is_no_more_room_is_saved_behind_the_call(
    store: FarStore, engine: VerificationEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "MAX_TOOLS", 1)
    verify(engine, "second", 0)
    engine.flush()
    store.free.clear()
    assert in_time(lambda: verify(engine, "second", 1)).verdict == "accept"
    store.free.set()
    for tool in ("price", "second", "price"):  # each puts the other out
        verify(engine, tool, 3)
    engine.flush()
    saved = MemoryStore.load(store)
    counts = {tool: saved[f"calibrated:{tool}"]["learned"]["~ToolMemory"]["count"] for tool in ("price", "second")}
    assert counts == {"price": 32, "second": 3}


def test_a_tool_that_waits_to_be_saved_is_gone_on_with(
    store: FarStore, engine: VerificationEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "MAX_TOOLS", 1)
    verify(engine, "price", 30)
    store.gone = True  # nothing can be saved
    verify(engine, "second", 0)
    verify(engine, "price", 31)
    store.gone = False
    engine.flush()
    assert MemoryStore.load(store, ["calibrated:price"])["calibrated:price"]["learned"]["~ToolMemory"]["count"] == 32


def test_what_waited_during_an_outage_is_drained_behind_calls_oldest_first(
    store: FarStore, engine: VerificationEngine
) -> None:
    store.gone = True
    verify(engine, "price", 0, call_id="0")
    soon(lambda: store.asked.count("extend") > 0 and engine._audit.outbox._failing)  # the thread has met it
    for number in range(1, 50):
        said = verify(engine, "price", number, call_id=str(number))
    assert "audit records wait for the store" in said.note
    backlog = engine.backlog()
    assert backlog is not None
    assert backlog.waiting == 50
    store.gone = False
    store.free.clear()
    flush = threading.Thread(target=engine.flush, daemon=True)
    flush.start()
    assert in_time(lambda: verify(engine, "price", 50, call_id="50")).verdict == "accept"
    store.free.set()
    flush.join(PATIENCE)
    engine.flush()
    assert [name for name in records(store) if name is not None] == [str(number) for number in range(51)]


def test_a_receipt_is_put_on_record_behind_its_call(store: FarStore) -> None:
    signer = ReceiptSigner(b"a key of sixteen bytes or more", store)
    store.free.clear()
    token = in_time(lambda: signer.sign("price", {}, "1", call_id="c1", issued_at=1_000.0))
    assert signer.check(token, "price", {}, "1", call_id="c1", now=1_000.0) is ReceiptStatus.EXECUTED
    store.free.set()
    soon(lambda: [record.event["call_id"] for record in MemoryStore.events(store, "receipts")] == ["c1"])
