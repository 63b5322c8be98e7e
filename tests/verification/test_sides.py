"""One side of a call as relations compare it."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentguard.verification._document import read
from agentguard.verification._sides import Side, is_word, mark_of

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=80)


@given(SCALARS)
def test_a_mark_is_32_bits_and_the_same_each_time(value: Any) -> None:
    assert 0 <= mark_of(value) < 1 << 32
    assert mark_of(value) == mark_of(value)
    assert not (is_word(mark_of(value)) and any(map(str.isdigit, str(value))) and type(value) is int)


@given(st.dictionaries(st.text(max_size=5), st.lists(SCALARS, max_size=30), max_size=80))
def test_any_leaves(leaves: dict[str, list[Any]]) -> None:
    side = Side(leaves)
    for path in side.paths:
        assert 0 < len(side.marks(path)) <= 20
        assert len(side.numbers(path)) in (0, len(side.marks(path)))
        assert side.start(path) >= 0
    assert not side.differs(side)
    side.settle()
    assert all(side.marks(path) for path in side.paths)


def test_dates_stand_in_order_and_other_texts_do_not() -> None:
    assert Side({"at": ["2024-02-03T10:00Z", "2024-11-30"]}).order("at") == (20240203.0, 20241130.0)
    assert Side({"at": ["2024-02-03", "soon"]}).order("at") == ()


def test_a_text_is_said_whatever_its_case_and_short_ones_are_not_looked_for() -> None:
    side = Side({}, b"The Harbour of OSLO")

    assert (side.says("oslo"), side.says("harbour"), side.says("rome"), side.says("of")) == (True, True, False, None)


def test_the_length_of_a_list_is_told_also_where_it_has_no_elements_or_is_sampled() -> None:
    side = read({"total": 0, "hits": []}).side
    assert side.paths == ("total", "hits#")
    assert side.number("hits#") == 0.0
    assert read({"hits": [{"id": n} for n in range(40)]}).side.number("hits#") == 40.0
