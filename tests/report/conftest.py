"""Reports to look at: one of a log with faults, and one in which every text is hostile."""

from __future__ import annotations

import random
from typing import Any

import pytest

from agentguard.report import ReportBuilder, ReportData, report_of_store
from agentguard.report._stored import kept_of
from agentguard.stores import MemoryStore
from agentguard.verification import VerificationEngine
from agentguard.verification._changes import change_event
from agentguard.verification.types import ToolCall

HOSTILE = (
    "<script>window.ran=1</script>",
    "\"><img src=x onerror='window.ran=1'>",
    "</title></style></svg><svg onload=window.ran=1>",
    "javascript:window.ran=1",
    "]]><!--&amp;&#x3c;",
    "a\x00\x1b[31mb\u202ec\ud800\ufffe",
)


def judged(calls: list[tuple[ToolCall, str | None]], *, content: bool = False, **options: Any) -> ReportData:
    store = MemoryStore()
    engine, builder = VerificationEngine(store=store), ReportBuilder(content=content)
    for number, (call, label) in enumerate(calls, 1):
        verdict = engine.verify(
            call.tool, args=call.args, result=call.result, execution_time_ms=call.execution_time_ms,
            session_id=call.session_id, call_id=call.call_id,
        )  # fmt: skip
        builder.add(call, verdict, label=label, place=f"calls.jsonl:{number}")
    engine.flush()
    options = {"title": "Calls of a shop", "source": "calls.jsonl", **options}
    return builder.data(learned=lambda tool: kept_of(store, tool).learned, **options)


def order(rng: random.Random, number: int, **changes: Any) -> ToolCall:
    name = f"W{rng.randrange(5_000)}"
    result = {"id": name, "total": round(rng.lognormvariate(3.5, 0.4), 2), "items": [{"sku": f"A{rng.randrange(90)}"}]}
    call = ToolCall("get_order", {"id": name}, result, rng.lognormvariate(5.0, 0.2), "s1", f"c{number}")
    return call._replace(**changes)


@pytest.fixture(scope="session")
def shop() -> ReportData:
    """400 orders: two are another order's, and from the 300th on the tool takes twice as long."""
    rng = random.Random(11)
    calls: list[tuple[ToolCall, str | None]] = []
    for number in range(400):
        call = order(rng, number)
        if number >= 300:
            call = call._replace(execution_time_ms=2.2 * (call.execution_time_ms or 0.0))
        if number in (150, 250):
            calls.append((call._replace(result={"id": "W9999", "total": 1e8}), "swapped"))
        else:
            calls.append((call, "genuine"))
    return judged(calls)


@pytest.fixture(scope="session")
def hostile() -> ReportData:
    """A report in which every name, argument, result and label is an attack on the page."""
    rng = random.Random(12)
    calls: list[tuple[ToolCall, str | None]] = []
    for text in HOSTILE:
        for number in range(30):
            result: Any = {text: rng.gauss(50.0, 4.0), "say": text}
            if number == 25:
                result = {f"other {text}": text * 40, text: 1e9}
            call = ToolCall(text, {text: text}, result, rng.lognormvariate(4.0, 0.2), text, f"{text}{number}")
            calls.append((call, "genuine" if number != 25 else text))
    return judged(calls, content=True, title=HOSTILE[0], source=HOSTILE[1], notes=(HOSTILE[2],))


@pytest.fixture(scope="session")
def changed() -> ReportData:
    """Of a store with lasting changes: one that is open, one that a reviewer has ended, one with names that attack."""
    now = iter(range(1_767_225_600, 1_767_325_600))
    store = MemoryStore(clock=lambda: float(next(now)))
    for id_, tool, what in (
        ("aaaa", "get_price", "price is about × 1,000 its usual level"),
        ("bbbb", "search", "the key 'hits' is missing"),
        ("cccc", HOSTILE[0], HOSTILE[1]),
    ):  # fmt: skip
        store.append("changes", change_event(id_, tool, "open", what=what))
    store.append("changes", change_event("bbbb", "search", "adopted", by="review"))
    store.append("changes", change_event("cccc", HOSTILE[0], "recovered"))
    for n in range(4):
        store.append("audit", {
            "tool": "get_price", "call_id": f"c{n}", "session_id": "s1", "posterior": 0.9, "false_block_p": 0.002,
            "verdict": "block" if n < 3 else "flag", "prior": 0.15, "fired": ["value_anomaly"],
            "nats": {"value_anomaly": 3.93}, "propensity": 1.0, "change": "aaaa", "asked": n // 3,
            "said": {"value_anomaly": "price is 1,000 times its usual level"},
        })  # fmt: skip
    return report_of_store(store, title="A shop that changed", source="kept")
