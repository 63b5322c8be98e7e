"""Reports to look at: one of a log with faults, and one in which every text is hostile."""

from __future__ import annotations

import random
from typing import Any

import pytest

from agentguard.report import ReportBuilder, ReportData
from agentguard.report.stored_tool import kept_of
from agentguard.stores import MemoryStore
from agentguard.verification import VerificationEngine
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
