"""What is kept comes back exactly; the keys of rows name nothing twice, and are in order."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.json_texts import json_texts

from agentguard.errors import StoreError
from agentguard.stores._base import decode, encode
from agentguard.stores._disk import after, digest, last_name, last_number, named, numbered

TEXT = st.text(st.characters(codec=None, exclude_categories=()))  # lone surrogates, and two that follow each other
JSON_TEXT = json_texts()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | JSON_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(JSON_TEXT, inner, max_size=4),
    max_leaves=20,
)
NAMES = TEXT | st.lists(st.sampled_from(["\0", "\xff", "a", "\ud800", "\U0010ffff"]), max_size=6).map("".join)
NUMBERS = st.integers(-(1 << 61), (1 << 61) - 1)


def written(value: Any) -> str:
    """With the types and signs that == does not see."""
    return repr(value)


@given(st.dictionaries(JSON_TEXT, JSON, max_size=5))
def test_json_comes_back_exactly(value: dict[str, Any]) -> None:
    assert written(decode(encode("it", value))) == written(value)


@given(st.dictionaries(JSON_TEXT, JSON, max_size=5), st.integers(1_000, 5_000))
def test_long_json_comes_back_exactly_and_shorter(value: dict[str, Any], length: int) -> None:
    value = {**value, "long": "x" * length}

    data = encode("it", value)
    assert written(decode(data)) == written(value)
    assert not data.startswith(b"{") or len(data) < 1_024


@given(st.dictionaries(JSON_TEXT, JSON, max_size=3), st.sampled_from([float("nan"), float("inf"), -float("inf")]))
def test_what_json_does_not_have_is_refused(value: dict[str, Any], number: float) -> None:
    with pytest.raises(StoreError, match="cannot be kept as JSON"):
        encode("it", {**value, "number": [None, {"n": number}]})


@given(st.binary(max_size=200))
def test_any_bytes_are_json_or_refused(data: bytes) -> None:
    try:
        decode(data)
    except ValueError:
        pass
    else:
        assert data[:1] in b"{[x\x08\x18(8HXhx"  # JSON, or one of the headers of zlib


class Proxy:
    """As lazy proxies do outside of their context: not even its class can be asked."""

    @property  # type: ignore[misc]  # a read-only class is the point of it: isinstance() raises
    def __class__(self) -> Any:
        raise RuntimeError("outside of its context")


class Endless(dict[str, Any]):
    def keys(self) -> Any:
        raise RuntimeError("no keys")

    __iter__ = items = keys


@pytest.mark.parametrize("made", [Proxy, lambda: {"a": Proxy()}, lambda: Endless(a=1), lambda: {"a": Endless(b=1)}])
def test_an_object_whose_own_code_fails_is_refused(made: Callable[[], Any]) -> None:
    with pytest.raises(StoreError, match="an event cannot be kept as JSON"):
        encode("an event", made())


def test_what_is_too_long_is_refused() -> None:
    with pytest.raises(StoreError, match="at most 67108864 are kept"):
        encode("it", {"text": "x" * (1 << 26)})


@given(NAMES)
def test_a_name_comes_back_from_its_key(name: str) -> None:
    assert last_name(b"d", named(b"d", name)) == name


@given(NUMBERS)
def test_a_number_comes_back_from_its_key(number: int) -> None:
    assert last_number(numbered(named(b"e", "kind"), number)) == number


@given(NUMBERS, NUMBERS)
def test_keys_are_in_the_order_of_their_numbers(one: int, other: int) -> None:
    assert (numbered(b"n", one) < numbered(b"n", other)) == (one < other)


@given(NAMES, NAMES, NUMBERS, NAMES)
def test_no_key_lies_in_the_range_of_another_name(name: str, other: str, number: int, behind: str) -> None:
    if name == other:
        return
    prefix = named(b"e", name)

    assert named(b"e", other) != prefix
    assert digest(named(b"e", other), behind) != digest(prefix, behind)
    for key in (named(b"e", other), numbered(named(b"e", other), number)):
        assert not numbered(prefix, -(1 << 61)) <= key < numbered(prefix, (1 << 61) - 1)


@given(NAMES, NUMBERS, NAMES)
def test_all_names_below_a_prefix_lie_before_its_end(name: str, number: int, other: str) -> None:
    prefix = numbered(b"n", number)

    assert prefix <= named(prefix, name) < after(prefix)
    assert named(b"d", name) < after(b"d")
    assert (named(b"d", name) == named(b"d", other)) == (name == other)
