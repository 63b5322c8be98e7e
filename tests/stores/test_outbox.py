"""Events that wait for the store: none is lost to an outage, and one that the store refuses stops no other."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from agentguard.errors import StoreError
from agentguard.stores import MemoryStore
from agentguard.stores._flusher import Outbox


class Failing(MemoryStore):
    """Takes no events at once; of those written singly it fails at some attempts, and at some events always."""

    def __init__(self, attempts: Collection[int] = (), refused: Collection[str] = ()) -> None:
        super().__init__()
        self.attempts, self.refused, self.attempt = attempts, refused, 0

    def extend(self, kind: str, events: Any, /) -> int:
        raise StoreError("the store does not answer")

    def append(self, kind: str, event: Any, /) -> int:
        self.attempt += 1
        if self.attempt in self.attempts or event["call_id"] in self.refused:
            raise StoreError("the store does not answer")
        return super().extend(kind, [event])


def kept(store: Failing, times: int) -> list[str]:
    """What is on record of five events once they were written so many times."""
    outbox = Outbox(store, "audit", "an audit record", room=100)
    for number in range(5):
        outbox._waiting.append({"tool": "price", "call_id": str(number)})
    for _ in range(times):
        try:
            outbox.flush()
        except StoreError:
            continue
    return sorted(record.event["call_id"] for record in store.events("audit"))


@pytest.mark.parametrize("attempt", range(1, 7))
def test_an_event_that_met_the_end_of_an_outage_is_written(attempt: int) -> None:
    assert kept(Failing(attempts=[attempt]), times=6) == ["0", "1", "2", "3", "4"]


def test_an_event_that_the_store_refuses_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    assert kept(Failing(refused=["1"]), times=6) == ["0", "2", "3", "4"]
    assert [record.getMessage() for record in caplog.records] == [
        "an audit record of 'price' is given up: the store refuses it"
    ]


def test_where_the_store_refuses_all_of_them_all_wait() -> None:
    store = Failing(refused=["0", "1", "2", "3", "4"])
    assert kept(store, times=6) == []
