"""What a fleet does of a tool that changes for all of its workers at once, on whichever store they share."""

from __future__ import annotations

import time
from collections.abc import Callable

from agentguard.stores import open_store
from agentguard.verification._changes import CHANGES, Change, changes_in, decide

from .fleets import all_do, fleet

WORKERS, CALLS = 8, 5
PATIENCE = 30.0  # seconds


def the_change(where: str) -> Change:
    with open_store(where) as store:
        (change,) = changes_in(store)
    return change


def calls_of_the_change(where: str) -> int:
    """0 where there is none."""
    with open_store(where) as store:
        return sum(change.calls for change in changes_in(store))


def soon(holds: Callable[[], bool]) -> None:
    """Waits until it holds."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def states(where: str) -> list[str]:
    """The states that the log tells of."""
    with open_store(where) as store:
        return [record.event["state"] for record in store.events(CHANGES)]


def one_change_for_all(where: str) -> None:
    """One opening event; all know of it; calls are counted once; a decision from outside, and one from inside."""
    with fleet(where, 1) as (first,):
        assert set(first.do("genuine 100")["verdicts"]) == {"a"}
        first.do("flush")
    with fleet(where, WORKERS, begin=1) as workers:
        all_do(workers, "genuine 3")
        held = all_do(workers, f"fault {CALLS}")
        again = all_do(workers, "again")
        for _ in range(2):
            known = all_do(workers, "flush")
        change = the_change(where)

        assert all("a" not in answer["verdicts"] for answer in held)
        assert [answer["asked"] for answer in again] == [1] * WORKERS
        assert states(where) == ["open"]
        assert [answer["known"] for answer in known] == [[[change.id, "open", change.since]]] * WORKERS
        assert [answer["told"] for answer in known] == [["open"]] * WORKERS
        assert change.calls == WORKERS * (CALLS + 1)  # the one that was asked again too
        assert change.blocked == sum(answer["verdicts"].count("b") for answer in held)

        with open_store(where) as store:
            decide(store, change.id, "fault")
        for _ in range(2):
            known = all_do(workers, "flush")
        assert [answer["known"][0][1] for answer in known] == ["fault"] * WORKERS
        assert [answer["verdicts"] for answer in all_do(workers, "fault 3")] == ["bbb"] * WORKERS

        workers[3].do("adopt")
        for _ in range(2):
            known = all_do(workers, "flush")
        assert [answer["known"][0][1] for answer in known] == ["adopted"] * WORKERS
        assert [answer["verdicts"] for answer in all_do(workers, "fault 3")] == ["aaa"] * WORKERS
        assert [answer["told"] for answer in known] == [["open", "fault", "adopted"]] * WORKERS
        assert states(where) == ["open", "fault", "adopted"]


def killed_while_it_is_open(where: str, *, flushed: bool) -> None:
    """A new process goes on with the change, its calls and its decision."""
    with fleet(where, 1) as (first,):
        first.do("genuine 100")
        first.do("flush")
        held = first.do(f"fault {CALLS}")
        if flushed:
            first.do("flush")
        soon(lambda: calls_of_the_change(where) == CALLS)  # a server is told behind the call, and without a flush
        first.kill()
    change = the_change(where)
    assert (change.state, change.calls) == ("open", CALLS)

    with fleet(where, 1, begin=1) as (second,):
        more = second.do("fault 4")
        soon(lambda: calls_of_the_change(where) == CALLS + 4)
        second.kill()
    assert "a" not in held["verdicts"] + more["verdicts"]
    assert more["told"] == []  # it is no news
    assert the_change(where).calls == CALLS + 4
    assert states(where) == ["open"]

    with fleet(where, 1, begin=2) as (third,):
        third.do("reject")
        third.kill()
    with fleet(where, 1, begin=3) as (fourth,):
        assert fourth.do("fault 4")["verdicts"] == "bbbb"
        fourth.kill()
    assert (the_change(where).state, the_change(where).reviewed) == ("fault", True)


SCENES: dict[str, Callable[[str], None]] = {
    "one change for all": one_change_for_all,
    "killed": lambda where: killed_while_it_is_open(where, flushed=False),
    "killed after a flush": lambda where: killed_while_it_is_open(where, flushed=True),
}
