"""What a log may hold, and what of it is shown."""

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.live._board import KeptCall, label_event, read_kept, read_label, read_record, shown
from agentguard.stores import MemoryStore
from agentguard.stores._base import Record
from agentguard.verification import VerificationEngine

from ..rows import over

GOOD: dict[str, Any] = {
    "tool": "search", "call_id": "c7", "session_id": "s1", "posterior": 0.7, "false_block_p": 0.01, "verdict": "block",
    "prior": 0.15, "fired": ["!schema_mismatch", "echo_mismatch"],
    "nats": {"latency_anomaly": -0.2, "echo_mismatch": 1.5, "schema_mismatch": 2.0, "silent": 0.0}, "propensity": 1.0,
    "change": "0a1b2c3d4e5f", "asked": 2, "said": {"echo_mismatch": "'id' is another order's", "silent": "nothing"},
    "kept": {"args": "{}", "result": "[]"},
}  # fmt: skip

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def test_a_record_is_shown_with_what_said_most_first() -> None:
    found = read_record(Record(4, 100.0, GOOD))
    assert found is not None

    told = asdict(shown(found, None))

    assert [tuple(signal.values()) for signal in told["signals"]] == [
        ("schema_mismatch", 2.0, True, True, ""),
        ("echo_mismatch", 1.5, True, False, "'id' is another order's"),
        ("latency_anomaly", -0.2, False, False, ""),
    ]
    assert (told["change"], told["asked"]) == ("0a1b2c3d4e5f", 2)
    assert "kept" not in told
    assert {name: told[name] for name in ("sequence", "at", "tool", "call_id", "session_id", "verdict", "label")} == {
        "sequence": 4, "at": 100.0, "tool": "search", "call_id": "c7", "session_id": "s1", "verdict": "block",
        "label": None,
    }  # fmt: skip


LONG = "x" * 1_000
MANY = [str(n) for n in range(100)]


@over(("field", "most", "more"), [
        *((name, LONG, f"{LONG}x") for name in ("tool", "call_id", "session_id")),
        ("fired", [LONG], [f"{LONG}x"]), ("fired", MANY, [*MANY, "x"]),
        ("nats", {LONG: 0.1}, {f"{LONG}x": 0.1}), ("nats", dict.fromkeys(MANY, 0.1), dict.fromkeys([*MANY, "x"], 0.1)),
    ])  # fmt: skip
def test_a_record_that_is_too_large_to_be_shown_is_passed_over(field: str, most: Any, more: Any) -> None:
    assert read_record(Record(1, 0.0, {**GOOD, field: most})) is not None
    assert read_record(Record(1, 0.0, {**GOOD, field: more})) is None


@over(("kept", "expected"), [
        ({"args": "a", "result": "b"}, KeptCall("a", "b")), ({"args": "a", "result": None}, KeptCall("a", None)),
        ({"args": {"x": 1}, "result": 3}, None), ({}, None), ("text", None), (None, None),
        ({"args": "x" * 30_000, "result": ""}, KeptCall("x" * 20_000, "")),
    ])  # fmt: skip
def test_a_call_that_was_kept_is_text_and_bounded(kept: Any, expected: KeptCall | None) -> None:
    assert read_kept(Record(1, 0.0, {**GOOD, "kept": kept})) == expected


@over("said", [None, "text", {"echo_mismatch": 3}, {3: "x"}, ["x"]])
def test_sentences_that_are_none_are_left_out(said: Any) -> None:
    found = read_record(Record(1, 0.0, {**GOOD, "said": said, "change": 7, "asked": True}))

    assert found is not None
    assert {signal.said for signal in shown(found, None).signals} == {""}
    assert (found.change, found.asked) == (None, 0)


def test_what_is_no_record_is_passed_over() -> None:
    assert read_record(Record(1, 0.0, {})) is None


@given(changes=st.dictionaries(st.sampled_from(sorted(GOOD)), JSON), more=st.dictionaries(st.text(), JSON, max_size=2))
def test_whatever_the_log_holds_it_is_read_and_can_be_sent(changes: dict[str, Any], more: dict[str, Any]) -> None:
    event = {**more, **GOOD, **changes}

    found, label = read_record(Record(1, 0.0, event)), read_label(Record(1, 0.0, {**event, "was_hallucination": True}))

    kept = read_kept(Record(1, 0.0, event))
    if kept is not None:
        json.dumps(asdict(kept), ensure_ascii=False).encode()
    if found is not None:
        json.dumps(asdict(shown(found, label)), allow_nan=False, ensure_ascii=False).encode()
    if label is not None:
        assert label.posterior is None or 0.0 <= label.posterior <= 1.0


def test_a_lone_surrogate_is_written_out_and_the_label_has_the_name_as_it_was() -> None:
    found = read_record(Record(1, 0.0, {**GOOD, "tool": "a\ud800"}))
    assert found is not None

    assert shown(found, None).tool == "a\\ud800"
    assert label_event(found.record, was_hallucination=True)["tool"] == "a\ud800"


@pytest.mark.parametrize("label", [True, False])
@pytest.mark.parametrize("declared", [True, False])
def test_a_label_is_the_event_that_record_feedback_writes(label: bool, declared: bool) -> None:
    store = MemoryStore()
    engine = VerificationEngine(store=store)
    if declared:
        engine.register_tool_profile("search", required_fields=["hits"])
    for n in range(30):
        engine.verify("search", args={"q": f"q{n}"}, result={"hits": n, "q": f"q{n}"}, call_id=f"c{n}")
    verdict = engine.verify("search", args={"q": "q99"}, result={"q": "q1"}, call_id="bad")
    assert verdict.verdict != "accept"
    *_, record = store.events("audit")
    found = read_record(record)
    assert found is not None

    engine.record_feedback("search", verdict.posterior, label, call_id="bad")

    (written,) = store.events("feedback")
    assert label_event(found.record, was_hallucination=label) == written.event


@pytest.mark.parametrize("event", [{}, {"tool": "x"}, {"tool": "x", "was_hallucination": 1}, {"reset": "x"}])
def test_what_is_no_label_is_passed_over(event: dict[str, Any]) -> None:
    assert read_label(Record(1, 0.0, event)) is None
