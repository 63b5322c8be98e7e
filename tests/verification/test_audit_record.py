"""What an event of the audit log must have to be a verdict."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.stores import MemoryStore
from agentguard.stores._base import Record
from agentguard.verification import VerificationEngine
from agentguard.verification._audit import audit_record

GOOD: dict[str, Any] = {
    "tool": "search", "call_id": "c7", "session_id": "s1", "posterior": 0.7, "false_block_p": 0.01, "verdict": "block",
    "prior": 0.15, "fired": ["echo_mismatch"], "nats": {"echo_mismatch": 1.5, "latency_anomaly": -0.2},
    "propensity": 1.0,
}  # fmt: skip
LEFT_OUT = ("session_id", "false_block_p")  # records of engines before these had none

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize("mode", ["calibrated", "reference"])
def test_what_an_engine_writes_is_read_as_it_was_judged(mode: Any) -> None:
    store = MemoryStore()
    engine = VerificationEngine(mode=mode, store=store, audit_rate=1.0)
    engine.register_tool_profile("search", required_fields=["hits"], min_response_length=5)
    verdicts = [
        engine.verify("search", args={"q": n}, result={"hits": n} if n % 3 else {}, call_id=f"c{n}", session_id="s1")
        for n in range(60)
    ]

    read = [audit_record(record) for record in store.events("audit")]

    assert {verdict.verdict for verdict in verdicts} >= {"accept", "block"}
    for record, verdict in zip(read, verdicts, strict=True):
        assert record is not None
        assert (record.tool, record.call_id, record.session_id) == ("search", verdict.call_id, "s1")
        assert (record.posterior, record.false_block_p) == (verdict.posterior, verdict.false_block_p)
        assert (record.call.verdict, record.call.prior) == (verdict.verdict, verdict.prior)
        assert dict(record.call.nats) == verdict.contributions


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tool", 3), ("tool", None), ("call_id", 7), ("session_id", []), ("posterior", 1.1), ("posterior", math.nan),
        ("posterior", "0.7"), ("posterior", True), ("posterior", 10**400), ("prior", -0.1), ("propensity", 0.0),
        ("propensity", 2.0), ("verdict", "<script>"), ("verdict", []), ("verdict", {}), ("false_block_p", 2),
        ("fired", [3]), ("fired", None), ("nats", {"x": "1"}), ("nats", {"x": math.inf}), ("nats", {"x": math.nan}),
        ("nats", {"x": True}), ("nats", {"x": 10**400}), ("nats", 3),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_no_record(field: str, value: Any) -> None:
    assert audit_record(Record(1, 0.0, GOOD)) is not None
    assert audit_record(Record(1, 0.0, {**GOOD, field: value})) is None


@pytest.mark.parametrize("field", GOOD)
def test_what_a_record_may_lack(field: str) -> None:
    found = audit_record(Record(1, 0.0, {name: value for name, value in GOOD.items() if name != field}))

    assert (found is not None) == (field in LEFT_OUT)


@pytest.mark.parametrize("at", [math.nan, math.inf, -math.inf])
def test_a_time_that_is_none(at: float) -> None:
    assert audit_record(Record(1, at, GOOD)) is None


@given(changes=st.dictionaries(st.sampled_from(sorted(GOOD)), JSON), more=st.dictionaries(st.text(), JSON, max_size=2))
def test_whatever_the_log_holds_it_is_read(changes: dict[str, Any], more: dict[str, Any]) -> None:
    found = audit_record(Record(1, 0.0, {**more, **GOOD, **changes}))

    if found is not None:
        assert 0.0 <= found.posterior <= 1.0
        assert 0.0 < found.call.propensity <= 1.0
        assert all(map(math.isfinite, found.call.nats.values()))
