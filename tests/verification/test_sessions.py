"""What was called in a session between two answers to the same question."""

from __future__ import annotations

import random
from itertools import takewhile
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentguard.verification import VerificationEngine
from agentguard.verification._pool import MAX_CALLS, MAX_SESSIONS, Between, SessionLog


def test_the_calls_since_the_same_call() -> None:
    log = SessionLog()
    log.push("s", 1, 100, (7,))
    log.push("s", 2, 200, (9,))
    log.push("s", 1, 101, (7,))
    log.push("s", 3, 300, (7, 8))
    log.push("t", 4, 400, (7,))

    assert log.between("s", 1, (7,)) == Between(True, (2 * 3 + 1,), (300,))
    assert log.between("s", 1, (8,)) == Between(False, (2 * 3 + 1, 2 * 1, 2 * 2), (300,))
    assert log.between("nobody", 1, (7,)) == Between(False, (), ())


marks = st.lists(st.integers(1, 4), max_size=4).map(tuple)
digests = st.integers(0, 2**64 - 1)


@given(st.lists(st.tuples(st.sampled_from([1, 2, 2**64 - 1]), digests, marks), max_size=20), marks)
def test_of_any_calls(calls: list[tuple[int, int, tuple[int, ...]]], asked: tuple[int, ...]) -> None:
    log = SessionLog()
    for tool, result, values in calls:
        log.push("s", tool, result, values)

    latest = calls[-MAX_CALLS:][::-1]
    since = list(takewhile(lambda call: (call[0], call[2]) != (2, asked), latest))
    shared = [bool({*values} & {*asked}) for _, _, values in since]
    tools = tuple(dict.fromkeys(2 * tool + shares for (tool, _, _), shares in zip(since, shared, strict=True)))
    results = tuple(result for (_, result, _), shares in zip(since, shared, strict=True) if shares)
    assert log.between("s", 2, asked) == Between(len(since) < len(latest), tools, results)


def test_it_is_bounded() -> None:
    log = SessionLog()
    for number in range(2 * MAX_SESSIONS):
        for call in range(2 * MAX_CALLS):
            log.push(f"s{number}", call, call, (call,))

    assert len(log.calls) == MAX_SESSIONS
    assert {len(calls) for calls in log.calls.values()} == {MAX_CALLS}


def taught() -> VerificationEngine:
    """Sessions that read an account, pay, and read it again: it is lower then. Without a payment it stays."""
    engine, rng = VerificationEngine(), random.Random(5)
    for number in range(80):
        session, balance = f"s{number}", float(rng.randrange(100, 900))
        for change in (0.0, 0.0, 10.0 + rng.randrange(50)):
            if change:
                engine.verify("pay", args={"amount": change}, result={"paid": change}, session_id=session)
            balance -= change
            read(engine, session, balance)
    return engine


def read(engine: VerificationEngine, session: str, balance: float, *, learn: bool = True) -> Any:
    return engine.verify(
        "balance", args={"account": "A1"}, result={"account": "A1", "balance": balance}, session_id=session, learn=learn
    )


def test_after_a_call_that_changes_it_the_old_answer_is_odd_and_a_new_one_is_not() -> None:
    engine = taught()
    read(engine, "now", 500.0)
    quiet_same, quiet_new = (read(engine, "now", balance, learn=False) for balance in (500.0, 470.0))
    engine.verify("pay", args={"amount": 30.0}, result={"paid": 30.0}, session_id="now")
    same, new = (read(engine, "now", balance, learn=False) for balance in (500.0, 470.0))

    stale = same.signals["stale_result"]
    assert (stale.fired, stale.detail) == (True, "the same result as before a call that changes it")
    # An answer from before the payment: three in ten of those made up, none of the 80 genuine ones.
    assert 2.0 < stale.likelihood_ratio <= 20.0
    assert same.posterior > 0.5 > new.posterior
    assert not new.signals["stale_result"].fired
    assert not any(read(engine, "other", 500.0, learn=False).signals["stale_result"].fired for _ in range(2))
    assert quiet_new.posterior > quiet_same.posterior
    assert quiet_new.posterior > new.posterior
