"""What a tool may return and be given: JSON, and any object that Python has."""

import math
import uuid
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import strategies as st
from pydantic import BaseModel


class Colour(Enum):
    RED = "red"
    MANY = (1, 2)


class Size(IntEnum):
    LARGE = 3


class Text(str):
    pass


class Whole(int):
    pass


class Real(float):
    pass


class Raw(bytes):
    def __bytes__(self):
        raise ValueError("no bytes")

    def decode(self, *_: Any) -> Any:
        raise ValueError("no text")


class Table(dict[Any, Any]):
    pass


class Row(list[Any]):
    pass


Pair = namedtuple("Pair", "left right")


@dataclass
class Order:
    number: int
    lines: Any = field(default_factory=list)


class Customer(BaseModel):
    name: str
    tags: list[Any] = []


class Plain:
    pass


class Unprintable:
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


class Endless(dict[Any, Any]):
    """A mapping of which nothing can be had."""

    def __iter__(self):
        raise RuntimeError("no keys")

    items = keys = values = __iter__


class Unreadable(Mapping[str, Any]):
    def __getitem__(self, key):
        raise KeyError(key)

    def __len__(self):
        return 1

    def __iter__(self):
        yield "key"


class Undumpable(BaseModel):
    name: str = "x"

    def model_dump(self, **_: Any) -> Any:
        raise ValueError("no dump")


class DumpsItself:
    def model_dump(self) -> Any:
        return self


class DumpsAnother:
    def model_dump(self) -> Any:
        return DumpsAnother()


class Secretive:
    def __getattr__(self, name):
        raise PermissionError(name)


@dataclass
class Broken:
    number: int = 1

    def __getattribute__(self, name):
        if name == "number":
            raise OSError("gone")
        return object.__getattribute__(self, name)


class OddDate(datetime):
    def isoformat(self, *_: Any, **__: Any) -> Any:
        return {1, 2}


class OddText:
    def __str__(self):
        return Text("odd")


class KeyOfItself(dict[Any, Any]):
    __hash__ = object.__hash__
    __eq__ = object.__eq__


def _cyclic_list() -> Any:
    value: list[Any] = [1]
    value.append(value)
    return value


def _cyclic_dict() -> Any:
    value: dict[str, Any] = {"a": 1}
    value["self"] = {"again": [value]}
    return value


def _wide_cycle() -> Any:
    value: list[Any] = []
    value.extend([value] * 50)
    return value


def _cyclic_order() -> Any:
    order = Order(7)
    order.lines.append({"of": order})
    return order


def _keys_of_themselves() -> Any:
    first, second = KeyOfItself(), KeyOfItself()
    for one in (first, second):
        one[first], one[second] = 1, 2
    return first


def deep(depth: int, *, of: str = "list") -> Any:
    """A value ``depth`` containers deep."""
    value: Any = "bottom"
    for level in range(depth):
        if of == "list" or (of == "both" and level % 2):
            value = [value]
        elif of == "tuple":
            value = (value,)
        else:
            value = {"k": value}
    return value


# orjson 3.12 and 3.13 follow tuples within dicts and lists without a limit, and overwrite memory from some 1,500 on.
LARGE_TUPLE = 500
# Each is built anew, so that equal values are not one object.
AWKWARD = {
    "nan": lambda: math.nan,
    "infinity": lambda: math.inf,
    "minus_infinity": lambda: -math.inf,
    "huge_integer": lambda: 10**400,
    "more_digits_than_python_prints": lambda: 10**5000,
    "lone_surrogate": lambda: "a\ud800",
    "bytes": lambda: b"ok",
    "not_utf_8": lambda: b"\xff\xfe",
    "bytearray": lambda: bytearray(b"ok"),
    "memoryview": lambda: memoryview(b"ok"),
    "set": lambda: {3, 1, 2},
    "mixed_set": lambda: {1, "1", None, (2, "x"), b"y", 2.5},
    "frozenset": lambda: frozenset({"b", "a"}),
    "range": lambda: range(3),
    "complex": lambda: 1 + 2j,
    "decimal": lambda: Decimal("12.50"),
    "fraction": lambda: Fraction(1, 3),
    "datetime": lambda: datetime(2024, 5, 20, 12, 30, tzinfo=timezone.utc),
    "date": lambda: date(2024, 5, 20),
    "time": lambda: time(12, 30),
    "uuid": lambda: uuid.UUID(int=7),
    "path": lambda: PurePosixPath("folder/file"),
    "enum": lambda: Colour.RED,
    "enum_of_a_tuple": lambda: Colour.MANY,
    "int_enum": lambda: Size.LARGE,
    "str_subclass": lambda: Text("text"),
    "int_subclass": lambda: Whole(5),
    "float_subclass": lambda: Real(2.5),
    "bytes_subclass_that_raises": lambda: Raw(b"raw"),
    "dict_subclass": lambda: Table(a=1),
    "list_subclass": lambda: Row([1, 2]),
    "ordered_dict": lambda: OrderedDict(b=1, a=2),
    "defaultdict": lambda: defaultdict(list, a=[1]),
    "deque": lambda: deque([1, 2]),
    "namedtuple": lambda: Pair(1, "r"),
    "dataclass": lambda: Order(7, [Order(8)]),
    "pydantic_model": lambda: Customer(name="Ann", tags=[1, None]),
    "class": lambda: Order,
    "model_class": lambda: Customer,
    "function": lambda: deep,
    "generator": lambda: (x for x in ()),
    "bound_method": lambda: Order(7).__init__,
    "object": lambda: Plain(),
    "ellipsis": lambda: ...,
    "exception": lambda: ValueError("bad", 3),
    "str_raises": lambda: Unprintable(),
    "iter_raises": lambda: Endless(a=1),
    "getitem_raises": lambda: Unreadable(),
    "model_dump_raises": lambda: Undumpable(),
    "model_dump_of_itself": lambda: DumpsItself(),
    "model_dump_without_end": lambda: DumpsAnother(),
    "getattr_raises": lambda: Secretive(),
    "field_raises": lambda: Broken(),
    "isoformat_of_no_text": lambda: OddDate(2024, 5, 20),
    "str_of_a_subclass": lambda: OddText(),
    "integer_and_text_keys": lambda: {1: "a", "1": "b", 1.5: "c", None: "d", True is None: "e"},
    "keys_of_any_type": lambda: {
        (1, 2): 1,
        b"k": 2,
        b"\xff": 3,
        Colour.RED: 4,
        frozenset({1}): 5,
        "\ud800": 6,
        math.inf: 7,
    },
    "cyclic_list": _cyclic_list,
    "cyclic_dict": _cyclic_dict,
    "wide_cycle": _wide_cycle,
    "cyclic_dataclass": _cyclic_order,
    "keys_of_themselves": _keys_of_themselves,
    "deep_list": lambda: deep(10_000),
    "deep_dict": lambda: deep(10_000, of="dict"),
    "deep_tuple": lambda: deep(LARGE_TUPLE, of="tuple"),
    "deep_mixture": lambda: deep(10_000, of="both"),
}

NAMES = st.one_of(st.sampled_from(["id", "name", "rows", "error", "a.b", "k1", ""]), st.text(max_size=8))
SMALL_INTEGERS = st.integers(-(2**63), 2**64 - 1)
JSON_SCALARS = st.one_of(
    st.none(), st.booleans(), SMALL_INTEGERS, st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=20)
)


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.lists(inner, max_size=5), st.dictionaries(NAMES, inner, max_size=5))


JSON = st.recursive(JSON_SCALARS, _containers, max_leaves=25)

HASHABLE = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters(), max_size=6), st.binary(max_size=4),
    st.tuples(st.integers(), st.text(max_size=3)), st.sampled_from([Colour.RED, Size.LARGE, Text("t"), 2**70]),
)  # fmt: skip
OBJECTS = st.recursive(
    st.one_of(
        JSON_SCALARS,
        st.floats(),
        st.integers(),
        st.text(st.characters(), max_size=20),
        st.binary(max_size=10),
        st.sampled_from(sorted(AWKWARD)).map(lambda name: AWKWARD[name]()),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.lists(inner, max_size=5).map(tuple),
        st.lists(inner, max_size=5).map(Row),
        st.dictionaries(HASHABLE, inner, max_size=5),
        st.dictionaries(HASHABLE, inner, max_size=5).map(Table),
        st.sets(HASHABLE, max_size=5),
        st.builds(Order, st.integers(), inner),
    ),
    max_leaves=15,
)
# Values of which a copy in another order can be made, and is equal.
DATA = st.recursive(
    st.one_of(JSON_SCALARS, st.integers(), st.floats(), st.text(st.characters(), max_size=6), st.sets(HASHABLE)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(HASHABLE, inner, max_size=5),
        st.builds(Order, st.integers(), inner),
    ),
    max_leaves=15,
)


def reordered(value: Any) -> Any:
    """An equal value, in which dicts and sets were filled in the opposite order."""
    if isinstance(value, dict):
        return {key: reordered(item) for key, item in reversed(value.items())}
    if isinstance(value, set):
        return set().union(*({item} for item in list(value)[::-1]))
    if isinstance(value, list):
        return [reordered(item) for item in value]
    if isinstance(value, Order):
        return Order(value.number, reordered(value.lines))
    return value


@pytest.fixture(scope="session")
def values() -> SimpleNamespace:
    """The strategies, the makers of awkward values, and the classes they are of."""
    return SimpleNamespace(
        json=JSON, json_scalars=JSON_SCALARS, objects=OBJECTS, data=DATA, awkward=AWKWARD, reordered=reordered,
        deep=deep, Order=Order, Customer=Customer, Colour=Colour,
    )  # fmt: skip


@pytest.fixture
def each_awkward(subtests: pytest.Subtests) -> Iterator[Any]:
    """The makers of the awkward values, one by one; a test goes on with the next where one of them fails."""

    def makers() -> Iterator[Any]:
        for name, make in AWKWARD.items():
            yield subtests.test(name), make

    return makers()
