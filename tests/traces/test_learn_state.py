"""What is counted of a log is the same however the log is divided, bounded, and survives JSON."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import DataError
from agentguard.traces import BrokenLine, TraceRow
from agentguard.traces._counts import (
    MAX_ECHOES,
    MAX_KEYS,
    MAX_PLACES,
    MAX_RESULTS,
    MAX_TOOLS,
    Kept,
    State,
    merge,
    partial,
)
from agentguard.verification import ToolCall

from ..rows import over

scalars = st.none() | st.booleans() | st.integers(-5, 2**70) | st.floats() | st.text(max_size=6) | st.just("2024-05-01")
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.just("id"), inner, max_size=3),
    max_leaves=8,
)
calls = st.builds(
    ToolCall,
    st.sampled_from(["a", "b", "c\ud800"]),
    st.fixed_dictionaries({}, optional={"id": scalars, "name": values}),
    values | st.sampled_from(["error: no", '{"id": "abc"}', "id: abc\nname: x"]),
    st.none() | st.floats(),
)
rows = st.lists(
    st.builds(TraceRow, st.just("f"), st.just(1), calls, st.none()) | st.just(BrokenLine("f", 2, "not JSON")),
    max_size=12,
)


def row(result: Any, tool: str = "t", args: Any = None, ms: float | None = None) -> TraceRow:
    return TraceRow("calls.jsonl", 1, ToolCall(tool, args, result, ms), None)


@given(rows, rows, rows)
def test_merging_is_exact_in_any_order_and_grouping(a: list[Any], b: list[Any], c: list[Any]) -> None:
    whole = partial([*a, *b, *c])
    one, two, three = partial(a), partial(b), partial(c)
    before = one.as_dict()

    assert merge(merge(one, two), three) == whole
    assert merge(one, merge(two, three)) == whole
    assert merge(three, merge(two, one)) == whole
    assert merge(State(), whole) == whole
    assert one.as_dict() == before


@given(rows)
def test_a_state_survives_json(lines: list[Any]) -> None:
    state = partial(lines)

    assert State.from_dict(json.loads(json.dumps(state.as_dict()))) == state


@given(st.lists(st.integers(0, 200)), st.lists(st.integers(0, 200)), st.integers(1, 12))
def test_kept_are_the_lowest_with_complete_counts(one: list[int], other: list[int], limit: int) -> None:
    def counted(numbers: list[int]) -> Kept[int, list[int]]:
        kept: Kept[int, list[int]] = Kept(limit, lambda: [0], lambda number: number % 7)
        for number in numbers:
            if (count := kept.at(number)) is not None:
                count[0] += 1
        return kept

    distinct = sorted({*one, *other}, key=lambda number: (number % 7, number))
    merged = counted([*one, *other])

    assert merged.is_cut == (len(distinct) > limit)
    assert merged.entries == {number: [[*one, *other].count(number)] for number in distinct[:limit]}
    assert all(number in counted(one).entries for number in merged.entries if number in one)


def test_what_is_counted_of_a_tool() -> None:
    state = partial(
        [
            row({"id": "x1", "n": None}, args={"id": "x1"}, ms=10.0),
            row({"id": "x2", "n": 3}, args={"id": "x2"}),
            row({"error": "no such id"}, args={"id": "x3"}, ms=1.0),
            row([{"id": "2024-05-01"}, {}], args={"id": "x4"}, ms=float("nan")),
        ]
    ).tools.entries["t"]

    numbers = {name: times for name, times in state.counts.items() if name[0] not in ("latency", "size")}
    assert numbers == {
        ("calls",): 4,
        ("errors",): 1,
        ("untimed",): 2,
        ("kind", "object"): 2,
        ("kind", "array"): 1,
    }
    assert state.extremes[:2] == [1.0, 10.0]
    assert sorted(state.places.entries) == ["", "/id", "/n", "/~2", "/~2/id"]
    root, element = state.places.entries["/id"], state.places.entries["/~2/id"]
    assert (root.results, root.always, root.types) == (2, 2, [0, 0, 0, 0, 2, 0, 0])
    assert (element.results, element.always, element.formats[0]) == (1, 0, 1)  # one of the two elements lacks it
    (echo,) = (echo for name, echo in state.echoes.entries.items() if name == '["id","id"]')
    assert (echo.repeated, echo.passing, echo.lacking) == (2, 0, 0)


def test_memory_is_bounded_however_various_the_log() -> None:
    rng = random.Random(3)
    many = [
        row({f"field_{rng.getrandbits(40):x}_": {"id": rng.random()} for _ in range(10)}, args={"q": rng.random()})
        for _ in range(600)
    ]
    names = [f"key_{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(300)]
    echoing = [row({name: f"value {name}"}, args={name: f"value {name}"}) for name in names]

    state = partial([*many, *echoing]).tools.entries["t"]

    sizes = [len(kept.entries) for kept in (state.places, state.results, state.keys, state.echoes)]
    assert sizes == [MAX_PLACES, MAX_RESULTS, MAX_KEYS, MAX_ECHOES]
    assert all(where.rpartition("/")[0] in state.places.entries for where in state.places.entries if where)
    assert state.counts["calls",] == 900


def test_tools_beyond_the_bound_are_counted_together() -> None:
    state = partial(row(1, tool=f"tool{number}") for number in range(MAX_TOOLS + 9))

    assert (state.calls, len(state.tools.entries), state.tools.is_cut) == (MAX_TOOLS + 9, MAX_TOOLS, True)


def test_keys_that_are_data_are_one_place() -> None:
    result = {"2024-05-01": {"t": 1}, "2024-05-02": {"t": 2}, "1656367028": {"u": 1}, "ok": True}

    assert sorted(partial([row(result)]).tools.entries["t"].places.entries) == ["", "/ok", "/~3", "/~3/t", "/~3/u"]


@over("data", [{}, [], {"version": 1}, {"version": 2}, {"version": 2, "calls": "x"}, None])
def test_what_is_no_state_is_refused(data: Any) -> None:
    with pytest.raises(DataError, match="count the log again"):
        State.from_dict(data)


def test_a_damaged_state_is_refused() -> None:
    data = partial([row({"id": 1})]).as_dict()
    data["tools"]["t"]["places"]["/id"] = [1]

    with pytest.raises(DataError, match=r"damaged counts of a log \(ValueError\)"):
        State.from_dict(data)
