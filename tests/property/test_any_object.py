"""Whatever is handed to ``verify``: it never raises, and answers with a probability."""

from __future__ import annotations

import dataclasses
import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentguard.verification import VerificationEngine, VerificationResult

Mode = Literal["calibrated", "reference"]
both_modes = pytest.mark.parametrize("mode", ["calibrated", "reference"])


class Proxy:
    """As lazy proxies do outside of their context: nothing of it can be asked, not even its class."""

    @property  # type: ignore[misc]  # a read-only class is the point of it: isinstance() raises
    def __class__(self) -> Any:
        raise RuntimeError("working outside of a context")


class Raising:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def _raise(self, *_: Any) -> Any:
        raise RuntimeError("no")

    __str__ = __repr__ = __iter__ = __len__ = __float__ = __int__ = __bool__ = __lt__ = __getitem__ = _raise


class Unhashable(str):
    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # text that no dictionary takes as a key


class Wrong(float):
    """A number whose own code fails."""

    __slots__ = ()

    def __float__(self) -> float:
        raise RuntimeError("no")

    def __lt__(self, other: object) -> bool:
        raise RuntimeError("no")

    __gt__ = __le__ = __ge__ = __lt__


class Mapped(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("no items")

    keys = __iter__ = items


class Colour(str, Enum):
    RED = "red"


@dataclasses.dataclass
class Record:
    name: Any
    below: Any = None


def cycle() -> list[Any]:
    ring: list[Any] = []
    ring.append({"ring": ring})
    return ring


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=40)
    | st.sampled_from(["NaN", "null", "[]", "{", '{"a": ', "Error: no", "- a: 1\n  b: 'x", "{'a': (1,)}", "\ud800"])
)
json_values = st.recursive(
    scalars,
    lambda below: st.lists(below, max_size=5) | st.dictionaries(st.text(max_size=12), below, max_size=5),
    max_leaves=20,
)
odd_objects = st.one_of(
    st.binary(max_size=40),
    st.complex_numbers(),
    st.decimals(),
    st.fractions(),
    st.datetimes(),
    st.dates(),
    st.timedeltas(),
    st.uuids(),
    st.sets(st.integers() | st.text(max_size=5), max_size=4),
    st.frozensets(st.floats(), max_size=4),
    st.tuples(st.integers(), st.text(max_size=5)),
    st.integers(10**300, 10**320),
    st.sampled_from([object, len, int, math, Ellipsis, NotImplemented, range(10**9), ValueError("x"), Colour.RED]),
    st.builds(object),
    st.builds(Proxy),
    st.builds(Raising),
    st.builds(cycle),
    st.builds(Unhashable, st.text(max_size=5)),
    st.builds(Wrong, st.floats()),
    st.builds(Mapped, st.dictionaries(st.text(max_size=3), st.integers(), max_size=2)),
    st.builds(lambda count: iter(range(count)), st.integers(0, 3)),
    st.builds(bytearray, st.binary(max_size=9)),
    st.binary(max_size=9).map(lambda data: memoryview(data)),
)
anything = st.recursive(
    scalars | odd_objects,
    lambda below: (
        st.lists(below, max_size=4)
        | st.dictionaries(scalars, below, max_size=4)
        | st.builds(Record, below, below)
        | st.tuples(below, below)
    ),
    max_leaves=12,
)
json_calls = st.fixed_dictionaries(
    {
        "args": json_values,
        "result": json_values,
        "execution_time_ms": st.none() | st.floats() | st.integers(),
        "session_id": st.none() | st.text(max_size=5),
        "call_id": st.none() | st.text(max_size=5),
    }
)
any_calls = st.fixed_dictionaries(
    {
        "args": anything,
        "result": anything,
        "execution_time_ms": anything,
        "session_id": anything,
        "call_id": anything,
        "learn": st.booleans(),
    }
)


def guarded(mode: Mode) -> VerificationEngine:
    """An engine that fails closed, with everything declared and some calls learned."""
    engine = VerificationEngine(mode=mode)
    engine.register_tool_profile(
        "declared",
        expected_latency_ms=(20, 5000),
        required_fields=["a", "rows[].id", "b.c"],
        forbidden_fields=["mock", "rows[].mock"],
        response_patterns=['"a"', "^x"],
        min_response_length=3,
        max_response_length=200,
        output_schema={"properties": {"a": {"type": "number"}, "rows": {"type": "array"}}},
        echoes={"a": "a", "b.c": "rows[].id"},
        on_error="closed",
    )
    engine.register_tool_profile("closed", on_error="closed")
    for number in range(12):
        call: dict[str, Any] = {"args": {"a": number % 3}, "result": {"a": number % 3, "rows": [{"id": number}]}}
        for tool in ("declared", "closed"):
            engine.verify(tool, **call, execution_time_ms=100.0, session_id="s")
    return engine


@contextmanager
def nothing_logged() -> Iterator[None]:
    """A check that fails is logged; here none may."""
    records: list[logging.LogRecord] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    handler, logger = Keep(), logging.getLogger("agentguard")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
    assert [record.getMessage() for record in records] == []


def assert_a_verdict(verdict: VerificationResult) -> None:
    assert 0.0 <= verdict.posterior <= 1.0
    assert verdict.verdict in ("accept", "flag", "block")
    assert isinstance(verdict.explanation, str)
    assert all(math.isfinite(nats) for nats in verdict.contributions.values())


@both_modes
@given(stream=st.lists(json_calls, min_size=1, max_size=6))
def test_any_json_value_is_judged_and_no_check_fails(mode: Mode, stream: list[dict[str, Any]]) -> None:
    """And left as it is."""
    engine, before = guarded(mode), repr(stream)
    with nothing_logged():
        for call in stream:
            for tool in ("declared", "closed", "nameless"):
                assert_a_verdict(engine.verify(tool, **call))
    assert repr(stream) == before


@both_modes
@given(stream=st.lists(any_calls, min_size=1, max_size=4))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_python_object_is_judged_and_no_check_fails(mode: Mode, stream: list[dict[str, Any]]) -> None:
    engine = guarded(mode)
    with nothing_logged():
        for call in stream:
            for tool in ("declared", "closed", "nameless"):
                assert_a_verdict(engine.verify(tool, **call))


@both_modes
@given(tool=anything, call_id=anything, label=st.booleans())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_name_of_tool_and_call(mode: Mode, tool: Any, call_id: Any, label: bool) -> None:
    engine = VerificationEngine(mode=mode)
    with nothing_logged():
        assert_a_verdict(engine.verify(tool, result={"a": 1}, call_id=call_id))
        engine.record_feedback(tool, 0.5, label, call_id)
        verdict = engine.verify(tool, result={"a": 1}, call_id=call_id)
    assert_a_verdict(verdict)
    assert (verdict.prior > 0.15) is label


@both_modes
@given(value=json_values)
def test_a_result_may_come_as_a_value_or_as_its_json(mode: Mode, value: Any) -> None:
    """Objects and lists are the same result in both forms, as long as JSON can say them."""
    import orjson

    try:
        text = orjson.dumps(value).decode()
    except (TypeError, orjson.JSONEncodeError):
        return
    if not isinstance(value, (dict, list)) or orjson.loads(text) != value:
        return
    engine = guarded(mode)
    as_value, as_text = (engine.verify("declared", args={"a": 1}, result=form, learn=False) for form in (value, text))

    assert as_value.posterior == as_text.posterior
    assert as_value.signals == as_text.signals
