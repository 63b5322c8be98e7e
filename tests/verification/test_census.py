"""What workers tell one another: counts that are the same however the calls are divided."""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import DataError
from agentguard.verification._arguments import Arguments
from agentguard.verification._baseline import ToolMemory
from agentguard.verification._census import (
    Census,
    absorb,
    added,
    bucket_of,
    check_counts,
    field,
    parts,
    signed_bucket_of,
    signed_value_of,
    value_of,
)
from agentguard.verification._document import read
from agentguard.verification._pool import Pool
from agentguard.verification._relations import Relations

RESULTS = st.recursive(
    st.one_of(st.none(), st.booleans(), st.floats(), st.text(max_size=30)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)),
    max_leaves=12,
)
CALLS = st.lists(st.tuples(RESULTS, st.dictionaries(st.text(max_size=5), RESULTS, max_size=2), st.floats(0, 1e6)))


def counted(calls: list[tuple[Any, Any, float | None]]) -> dict[str, int]:
    census = Census()
    for result, _, milliseconds in calls:
        census.push(read(result), milliseconds)
    return census.take()


def test_one_call_of_each_kind() -> None:
    calls: list[tuple[Any, Any, float | None]] = [
        ({"city": "Oslo", "rows": [{"id": 1}]}, {"city": "Oslo"}, 100.0),
        ("All is well.", {}, None),
        ([], {}, None),
        ({"error": "not found"}, {}, None),
        ([{"city": "Oslo"}, {"city": "Rome"}], {"city": "Oslo"}, None),
    ]
    counts = counted(calls)

    assert counts[field("calls")] == 5
    assert counts[field("untimed")] == 4
    assert counts[field("errors")] == 1
    assert [counts[field("kind", kind)] for kind in ("object", "prose", "empty")] == [1, 1, 1]
    assert counts[field("latency", 95)] == 1  # 1.05 ** 94 < 100 <= 1.05 ** 95
    assert counts[field("fact", "object", "rows[].id", "float")] == 1
    assert counts[field("keys", "object", "", ["city", "rows"])] == 1
    assert counts[field("word", "prose", "well")] == 1
    assert counts[field("ending", "prose", ".")] == 1


def test_relations_are_counted_where_they_say_something_and_taken_in_elsewhere() -> None:
    """A worker that has seen nothing itself knows of what 40 calls elsewhere held to, and one did not."""
    census, seen, told = Census(), Relations(), Relations()
    for number in range(41):
        arguments = Arguments({"city": f"Town{number}"})
        document = read({"city": "Oslo" if number == 40 else f"Town{number}", "sky": "clear"})
        census.push(document, None, seen.outcomes(arguments.side, document.side))
        seen.learn(arguments.side, document.side)
    for name, times in census.take().items():
        what, *rest = parts(name)
        if what == "relation":
            told.absorb((rest[0], rest[1], rest[2], rest[3]), bool(rest[4]), times)

    equal = told.known["Equal", "city", "city", ""]
    assert (equal.held, equal.tried) == (39, 40)  # the first call proposed it


def test_numbers_of_a_users_signal_are_counted_and_taken_in_elsewhere() -> None:
    """The tail of them stays what it was, to a fortieth; a field that cannot be so is refused."""
    census, memory = Census(), ToolMemory("t", Pool())
    for number in range(200):
        census.push(read({"a": 1}), None, (), {"discount": number - 100.0, "other": 7.0})
    counts = census.take()
    check_counts(counts)
    absorb(memory, counts)

    discounts = list(memory.measured["discount"].ordered)
    assert discounts[0] == pytest.approx(-99.0, rel=0.05)
    assert discounts[-1] == pytest.approx(98.0, rel=0.05)
    assert discounts[len(discounts) // 2] == pytest.approx(0.0, abs=3.0)
    assert list(memory.measured["other"].ordered) == pytest.approx([7.0] * 64, rel=0.025)
    with pytest.raises(DataError, match="is no count of calls"):
        check_counts({field("calls"): 1, field("measured", "discount", 10**6): 1})
    with pytest.raises(DataError, match="3 times in 2 calls"):
        check_counts({field("calls"): 2, field("measured", "a", 1): 1, field("measured", "a", -1): 2})


@given(st.floats(-1e150, 1e150))
def test_a_signed_bucket_tells_any_number_to_a_fortieth(value: float) -> None:
    bucket = signed_bucket_of(value)
    assert signed_value_of(bucket) == pytest.approx(value, rel=0.0251, abs=1e-9)
    check_counts({field("calls"): 1, field("measured", "s", bucket): 1})


def test_what_was_taken_is_not_there_any_more() -> None:
    census = Census()
    census.push(read({"a": 1}), 5.0)
    assert census.take()
    assert census.take() == {}


@given(CALLS, st.randoms())
def test_the_sum_does_not_depend_on_how_the_calls_are_divided(calls: list[Any], rng: random.Random) -> None:
    whole = counted(calls)
    shuffled = list(calls)
    rng.shuffle(shuffled)
    total: dict[str, int] = {}
    while shuffled:
        size = rng.randint(1, len(shuffled))
        total = added(total, counted(shuffled[:size]))
        shuffled = shuffled[size:]
    assert total == whole
    assert all(type(count) is int and count > 0 for count in whole.values())


@given(st.floats(1e-3, 1e12))
def test_a_bucket_tells_a_number_to_a_fortieth(value: float) -> None:
    assert value_of(bucket_of(value)) == pytest.approx(value, rel=0.0251)


@given(st.text())
def test_any_text_as_a_field(name: str) -> None:
    found = parts(name)
    assert isinstance(found[0], str)


def test_hostile_layouts_are_bounded() -> None:
    """Every result has other keys: the counts do not grow with them."""
    letters = [chr(97 + k) for k in range(26)]
    calls = [({f"{a}{b}{c}": 1, "b": 1}, {}, None) for a in letters[:5] for b in letters for c in letters][:3_000]
    counts = counted(calls)
    assert len(counts) < 6_000
    assert counts[field("calls")] == 3_000
    assert counts[field("left out")] > 2_000


class TestAbsorbing:
    """A worker that takes in counts judges form, length and time as one that saw the calls."""

    @staticmethod
    def calls(count: int, seed: int) -> list[tuple[Any, Any, float]]:
        rng = random.Random(seed)
        found = []
        for number in range(count):
            city = rng.choice(["Oslo", "Riga", "Graz"])
            result = {"city": city, "temperature": rng.gauss(15, 5), "rows": [{"id": number}] * rng.randint(1, 3)}
            found.append((result, {"city": city}, rng.lognormvariate(5, 0.2)))
        return found

    def memory(self, calls: list[tuple[Any, Any, float]]) -> ToolMemory:
        memory = ToolMemory("tool", Pool())
        for result, args, milliseconds in calls:
            memory.learn(read(result), Arguments(args), milliseconds, None)
        return memory

    def test_the_shape_is_what_it_would_be_had_it_seen_them(self) -> None:
        calls = self.calls(120, 1)
        seen, told = self.memory(calls), self.memory([])
        absorb(told, counted(calls))
        seen.shapes["object"]._add_up()

        assert told.count == seen.count
        assert told.shapes["object"].count == seen.shapes["object"].count
        assert told.shapes["object"].facts == seen.shapes["object"].facts
        keys = seen.shapes["object"].keys
        assert {path: found.counts for path, found in told.shapes["object"].keys.items()} == {
            path: found.counts for path, found in keys.items()
        }
        assert told.kinds.counts == seen.kinds.counts

    def test_latencies_and_lengths_keep_their_quantiles(self) -> None:
        calls = self.calls(500, 2)
        told = self.memory([])
        absorb(told, counted(calls))
        times = sorted(math.log(milliseconds) for _, _, milliseconds in calls)
        kept = list(told.latency.ordered)

        assert len(kept) == 64
        for share in (0.05, 0.25, 0.5, 0.75, 0.95):
            assert kept[int(share * 64)] == pytest.approx(times[int(share * 500)], abs=0.06)

    def test_strange_fields_are_passed_over(self) -> None:
        told = self.memory(self.calls(10, 3))
        before = told.shapes["object"].count
        absorb(told, {"": 3, "[]": 2, '["wonder",1]': 5, '{"a":1}': 1, field("calls"): -4, field("kind", "object"): 0})
        assert told.shapes["object"].count == before
        assert told.count == 10

    def test_errors_and_empties(self) -> None:
        told = self.memory([])
        absorb(
            told,
            Counter({field("calls"): 10, field("errors"): 4, field("kind", "empty"): 3, field("kind", "prose"): 3}),
        )
        assert (told.errors.hits, told.errors.total) == (4.0, 10.0)
        assert (told.empties.hits, told.empties.total) == (3.0, 6.0)
