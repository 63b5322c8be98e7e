"""Learned state as JSON: nothing lost on the way there and back, nothing believed that was not written so."""

from __future__ import annotations

import contextlib
import json
import math
from array import array
from collections import Counter, OrderedDict, deque
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import DataError
from agentguard.verification._baseline import ToolMemory
from agentguard.verification._pool import Pool
from agentguard.verification._relations import Relations
from agentguard.verification._sides import Side
from agentguard.verification._snapshot import RECORDS, decode, encode, restore
from agentguard.verification.statistics import Level, Rate, Ring

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False), st.text(), st.binary()
)
KEYS = st.one_of(st.text(), st.integers(), st.tuples(st.text(), st.integers()), st.just("~"), st.just("~Rate"))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(KEYS, inner, max_size=5),
        st.lists(inner, max_size=4).map(tuple),
        st.lists(SCALARS, max_size=4).map(lambda items: OrderedDict.fromkeys(items, 1)),
        st.frozensets(SCALARS, max_size=4),
        st.lists(inner, max_size=4).map(lambda items: deque(items, maxlen=4)),
        st.lists(st.text(), max_size=4).map(Counter),
    ),
    max_leaves=20,
)


def by_text(value: Any) -> Any:
    return decode(json.loads(json.dumps(encode(value))))


@given(VALUES)
def test_there_and_back(value: Any) -> None:
    back = by_text(value)
    assert type(back) is type(value)
    assert repr(back) == repr(value) or back == value


@pytest.mark.parametrize("typecode", ["d", "f", "I", "Q"])
def test_arrays(typecode: str) -> None:
    assert by_text(array(typecode, [1, 2, 3])) == array(typecode, [1, 2, 3])


@pytest.mark.parametrize("value", [math.inf, -math.inf, 5e-324, 1.7976931348623157e308, -0.0, 0.1 + 0.2])
def test_floats_to_the_last_bit(value: float) -> None:
    assert repr(by_text(value)) == repr(value)


def test_the_order_of_keys_is_kept_for_what_is_forgotten_in_it() -> None:
    digests = {2**63 + 5: 7, 3: 2**64 - 1, 1: 7}
    assert list(by_text(digests).items()) == list(digests.items())
    assert list(by_text({(1, "b"): 1, (0, "a"): 2}).items()) == [((1, "b"), 1), ((0, "a"), 2)]


def fields_of(cls: type) -> set[str]:
    """The names of what an instance holds: its slots, or the keys of its dictionary where it has none."""
    slots = {name for kind in cls.__mro__ for name in vars(kind).get("__slots__", ())}
    return slots or set(vars(cls()))


@pytest.mark.parametrize("cls", RECORDS, ids=lambda cls: cls.__name__)
def test_every_field_of_a_record_is_written(cls: type) -> None:
    left_out = {
        ToolMemory: {"id", "pool"}, Pool: {"lock"}, Relations: {"_plans"},
        Side: {"_counts", "_leaves", "_lowered", "_times", "_whole"},
    }.get(cls, set())  # fmt: skip
    fields = fields_of(cls)
    assert set(RECORDS[cls]) == fields - left_out


def test_a_level_goes_on_as_it_would_have() -> None:
    level = Level()
    for x in (1.0, 1.5, 0.7, 1.1, 40.0, 0.9, 1.2, 1.3, 1.1, -2.0):
        level.push(x)
    other = by_text(level)
    for x in (0.5, 1.9, 1.0):
        level.push(x)
        other.push(x)
        assert other.p(2.5) == level.p(2.5)
        assert other.sign_p(-1.0) == level.sign_p(-1.0)


def test_a_ring_forgets_in_the_same_order() -> None:
    ring = Ring(4)
    for x in (5.0, 1.0, 3.0, 2.0, 9.0):
        ring.push(x)
    other = by_text(ring)
    other.push(7.0)
    assert list(other.ordered) == [2.0, 3.0, 7.0, 9.0]


DAMAGED: list[Any] = [
    {"~Rate": 5},
    {"~os.system": "true"},
    {"~type": "object"},
    {"~array": ["u", "AAAA"]},
    {"~array": ["d", "AAAA"]},
    {"~array": ["d", "no base64!"]},
    {"~bytes": 7},
    {"~float": "much"},
    {"~dict": [[1]]},
    {"~dict": [[[1], 2]]},
    {"~tuple": 3},
    {"~digests": ["AAAA"]},
    {"~Layout": [1, 2]},
    {"~frozenset": [[1]]},
]


@pytest.mark.parametrize("written", DAMAGED, ids=repr)
def test_what_was_not_written_so_is_refused(written: Any) -> None:
    with pytest.raises(DataError):
        decode(written)


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
        lambda inner: st.one_of(
            st.lists(inner),
            st.dictionaries(
                st.one_of(
                    st.text(),
                    st.sampled_from(
                        [f"~{cls.__name__}" for cls in RECORDS]
                        + [
                            "~tuple",
                            "~dict",
                            "~set",
                            "~array",
                            "~bytes",
                            "~float",
                            "~type",
                            "~Layout",
                            "~digests",
                            "~deque",
                        ]
                    ),
                ),
                inner,
            ),
        ),
    )
)
def test_any_json_is_read_or_refused(written: Any) -> None:
    with contextlib.suppress(DataError):
        decode(written)


def test_too_deep_is_refused() -> None:
    written: Any = 1
    for _ in range(500):
        written = [written]
    with pytest.raises(DataError, match="too deeply"):
        decode(written)


def test_a_record_that_cannot_be_restored_is_as_it_was() -> None:
    rate = Rate()
    rate.push(True)
    for written in ({"~Level": {}}, {"~Rate": 3}, [1, 2], "Rate", None, {"a": 1}, {"~Rate": {"hits": {"~nothing": 1}}}):
        with pytest.raises(DataError):
            restore(rate, written)
        assert (rate.hits, rate.total) == (1.0, 1.0)


def test_a_field_that_did_not_exist_yet_stands_as_it_is_made() -> None:
    assert decode({"~Rate": {"hits": 3.0}}).total == 0.0
