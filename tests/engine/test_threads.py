"""One engine shared by 16 threads loses no observation and does not stand still."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from threading import Barrier, Thread
from typing import Any, Literal

import pytest

from agentguard.errors import ConfigurationError
from agentguard.stores import MemoryStore
from agentguard.verification import VerificationEngine

Mode = Literal["calibrated", "reference"]
THREADS, CALLS = 16, 75
TOOLS = ("get_weather", "list_orders", "search_notes")
LONGEST_S = 120.0  # a failure, not a wait: the threads end by themselves after a second or two


@pytest.fixture(autouse=True)
def _eager_switches() -> Iterator[None]:
    """Threads take turns as often as the interpreter lets them, so that a lost update shows."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work: Callable[[int], None]) -> None:
    """Run ``work(number)`` in 16 threads that start at once; what one of them raises is raised here."""
    start, raised = Barrier(THREADS), list[BaseException]()

    def run(number: int) -> None:
        try:
            start.wait()
            work(number)
        except BaseException as error:
            raised.append(error)

    threads = [Thread(target=run, args=(number,), daemon=True) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONGEST_S)
    assert not any(thread.is_alive() for thread in threads), "a deadlock"
    if raised:
        raise raised[0]


def verify(engine: VerificationEngine, thread: int, call: int) -> None:
    key = (thread * CALLS + call) % 40
    engine.verify(
        TOOLS[call % len(TOOLS)],
        args={"id": f"key {key}"},
        result={"id": f"key {key}", "amount": 40.0 + key, "rows": [{"n": key}]},
        execution_time_ms=100.0 + key,
        session_id=f"session {thread % 4}",
        call_id=f"{thread}.{call}",
    )


def test_no_observation_is_lost(mode: Mode, memory_of: Any, learned: Any) -> None:
    """Every call is trusted, so every call is learned: 16 threads x 75 calls, a third of them of each tool."""
    engine = VerificationEngine(mode=mode)
    each = THREADS * CALLS // len(TOOLS)
    for tool in TOOLS:
        engine.trust(tool, each)

    def work(thread: int) -> None:
        for call in range(CALLS):
            verify(engine, thread, call)

    together(work)

    for tool in TOOLS:
        assert learned(engine, tool) == each
        # The trust is used up to the last call: the next one is judged like any other.
        assert "trusted" not in engine.verify(tool, result={"other": 1}, learn=False).note
    if mode == "reference":
        for tool in TOOLS:
            memory = memory_of(engine, tool)
            assert memory.latency.n == memory.size.n == memory.fields["amount"].n == each
            assert memory.fields["rows[].n"].n == each


def test_nor_is_any_of_what_tools_have_in_common(memory_of: Any) -> None:
    """Each thread has a tool of its own, so only what is pooled is shared; fewer calls than let old ones fade."""
    engine = VerificationEngine()
    for thread in range(THREADS):
        engine.trust(f"tool {thread}", 30)

    def work(thread: int) -> None:
        for call in range(30):
            engine.verify(f"tool {thread}", args={"id": f"key {call}"}, result={"id": f"key {call}", "n": thread})

    together(work)

    pool = memory_of(engine, "tool 0").pool
    assert pool.scores.total == pool.errors.total == pool.broken.total == 30 * THREADS


def test_nor_is_any_where_nothing_is_trusted(mode: Mode, learned: Any) -> None:
    """One and the same genuine result is accepted and learned each time."""
    engine = VerificationEngine(mode=mode)

    def work(thread: int) -> None:
        for _ in range(CALLS):
            result = {"zone": "UTC", "hour": 7}
            verdict = engine.verify("clock", args={"zone": "UTC"}, result=result, execution_time_ms=80.0)
            assert verdict.verdict == "accept"

    together(work)

    assert learned(engine, "clock") == THREADS * CALLS


def test_no_label_is_lost(mode: Mode) -> None:
    """The prior is what the same labels make it one after the other, and the store has each of them."""
    store = MemoryStore()
    engine, alone = VerificationEngine(mode=mode, store=store), VerificationEngine(mode=mode)

    def label(thread: int) -> None:
        for _ in range(8):
            engine.record_feedback("fabricates", 0.6, True)
            engine.record_feedback("delivers", 0.4, False)

    together(label)
    for _ in range(8 * THREADS):
        alone.record_feedback("fabricates", 0.6, True)
        alone.record_feedback("delivers", 0.4, False)

    for tool in ("fabricates", "delivers"):
        assert engine.verify(tool, learn=False).prior == alone.verify(tool, learn=False).prior
    labels = [(record.event["tool"], record.event["was_hallucination"]) for record in store.events("feedback")]
    assert labels.count(("fabricates", True)) == labels.count(("delivers", False)) == 8 * THREADS
    assert len(labels) == 2 * 8 * THREADS


def test_everything_at_once_neither_raises_nor_stands_still(mode: Mode) -> None:
    """Registering, calibrating, labelling, trusting and judging the same tools."""
    engine = VerificationEngine(mode=mode)

    def work(thread: int) -> None:
        for call in range(60):
            tool = TOOLS[(thread + call) % len(TOOLS)]
            verify(engine, thread, call)
            match thread % 8:
                case 0:
                    engine.register_tool_profile(tool, required_fields=["id"], aliases=[f"{tool}_{call}"])
                case 1:
                    engine.calibrate(tool, prior=0.1 + call / 200)
                case 2:
                    engine.calibrate(prior=0.2, likelihood_ratios={"schema_mismatch": 5.0 + call})
                case 3:
                    engine.record_feedback(tool, 0.5, call % 2 == 0, f"{thread}.{call}")
                case 4:
                    engine.trust(tool, call)
                case 5:
                    engine.verify(f"{tool}_{call}", result=[call], learn=False)
                case 6:
                    with pytest.raises(ConfigurationError):
                        engine.calibrate(tool, prior=2.0)
                case _:
                    engine.verify(f"new {thread}.{call}", result={"n": call})

    together(work)

    assert engine.verify("a tool of its own", result=1).prior == 0.2
