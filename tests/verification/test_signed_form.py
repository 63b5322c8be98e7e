"""What a value is signed by: one text for each JSON value, another for each other, or a refusal."""

from __future__ import annotations

import dataclasses
import json
import math
from collections import OrderedDict, namedtuple
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from itertools import combinations
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel, RootModel
from tests.json_texts import json_texts

from agentguard._limits import LIMITS, Limits
from agentguard.errors import DataError, ReceiptError
from agentguard.verification import receipts as module
from agentguard.verification.receipts import signed_form


class Shade(str, Enum):
    DARK = "dark"


class Size(IntEnum):
    LARGE = 3


class Pair(Enum):
    BOTH = (1, None)


class Text(str):
    def __str__(self) -> str:
        return "another text"


class Whole(int):
    def __int__(self) -> int:
        return 9


class Real(float):
    def __float__(self) -> float:
        raise RuntimeError("no")


class Row(list[Any]):
    """Nothing in it goes the short way."""


class Table(dict[Any, Any]):
    pass


Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Record:
    name: Any
    below: Any = None


@dataclasses.dataclass(slots=True)
class Slotted:
    name: Any


class Customer(BaseModel):
    name: Any
    seen: datetime | None = None


class Secret(BaseModel, extra="allow"):
    shown: str = "shown"


class Names(RootModel[list[str]]):
    pass


def form(value: Any) -> bytes:
    return signed_form(value, "shown")


def long_way(value: Any) -> bytes:
    """The form as it is written where the short way is not taken."""
    text = form(Row([value]))
    assert text[:1] + text[-1:] == b"[]"
    return text[1:-1]


def identical(one: Any, other: Any) -> bool:
    """The same JSON value, numbers as Python's ``json`` keeps them: 1, 1.0, true, 0.0 and -0.0 are five."""
    if type(one) is not type(other):
        return False
    if type(one) is dict:
        return one.keys() == other.keys() and all(identical(item, other[key]) for key, item in one.items())
    if type(one) is list:
        return len(one) == len(other) and all(map(identical, one, other))
    return repr(one) == repr(other)


FLOATS = st.floats() | st.sampled_from([1e15, 1e16, 1e-4, 9.999999999999999e-5, 5e-324, 1e22, 0.1, -0.0, 2.0**63])
# Those beyond are hexadecimal, which JSON has not.
MOST = 2**4_096 - 1
INTEGERS = (
    st.integers(-(2**80), 2**80) | st.integers(-MOST, MOST) | st.sampled_from([2**63, 2**64 - 1, 2**64, -(2**63) - 1])
)
TEXTS = json_texts(max_size=8)
SCALARS = st.none() | st.booleans() | INTEGERS | FLOATS | TEXTS
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
@example({"\uffff": 1, "\U00010000": 2, "\ud800": 3, '"': 4, "\\": 5})
def test_it_is_what_json_writes_with_sorted_keys(value: Any) -> None:
    expected = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    assert form(value) == long_way(value) == expected.encode("utf-8", "surrogatepass")


@given(JSON)
def test_nothing_of_a_value_is_lost(value: Any) -> None:
    """What can be read back is the form of no other value."""
    assert identical(json.loads(form(value).decode("utf-8", "surrogatepass")), value)


def test_every_character_is_written_alike_on_both_ways() -> None:
    text = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))

    assert form(text) == long_way(text) == json.dumps(text, ensure_ascii=False).encode()


@given(JSON, JSON)
def test_two_values_share_a_form_only_where_they_are_one(one: Any, other: Any) -> None:
    assert (form(one) == form(other)) == identical(one, other)


#: Each was, or might be, taken for another.
CONFUSABLE: list[Any] = [
    None, True, False, 0, 1, -1, 0.0, -0.0, 1.0, 1.5, 1e16, 10**16, 1e-5, math.nan, math.inf, -math.inf,
    "", "?", "0", "1", "1.0", "true", "null", "None", "NaN", "Infinity", "-Infinity", "[]", "{}", "<cycle>", "<object>",
    "<deeper than 64>", "<more than 200000 nodes>", "ok", '"', "\\", '\\"', "\\u0000", "\0", "\n", "\\n",
    2**53, 2.0**53, 2**64, float(2**64), 2**70, -(2**70), str(2**70), hex(2**70), 2.0**70,
    2**4_096 - 1, 2**4_096, -(2**4_096), 2**4_097, str(2**4_096), hex(2**4_096),
    "\ud800", "\udbff", "\udc00", "\ud800\ud800", "\udc00\ud800", "\ufffd", "\U00010000", "\\ud800", "e\u0301", "\xe9",
    [], {}, [[]], [{}], [None], [0, 1], [1, 0], [[0], 1], [[0, 1]], ["0,1"], ["0", "1"], [""], ["", ""],
    {"": None}, {"a": 1, "b": 2}, {"a": 2, "b": 1}, {"a": {"b": 1}}, {"a": None}, {"?": 1}, {"\ud800": 1},
    {"a": 1, "b": None}, {'a":1,"b': 1}, {"a": "b"}, ["a", "b"], [["a", "b"]], {"0": "a"}, ["a"],
]  # fmt: skip


def test_confusable_values_are_told_apart() -> None:
    forms = [(form(value), long_way(value)) for value in CONFUSABLE]

    assert [
        (CONFUSABLE[one], CONFUSABLE[other])
        for one, other in combinations(range(len(CONFUSABLE)), 2)
        if set(forms[one]) & set(forms[other])
    ] == []
    assert all(short == long for short, long in forms)


COUNTS_AS: dict[str, tuple[Any, Any]] = {
    "a tuple": ((1, (2,)), [1, [2]]),
    "a named tuple": (Point(1, "y"), [1, "y"]),
    "an ordered dict": (OrderedDict(b=1, a=2), {"a": 2, "b": 1}),
    "a mapping": (MappingProxyType({"a": (1,)}), {"a": [1]}),
    "keys of numbers": ({1: "a", -2: "b", 1.5: "c"}, {"1": "a", "-2": "b", "1.5": "c"}),
    "keys of words": ({True: "a", None: "b", math.nan: "c"}, {"true": "a", "null": "b", "NaN": "c"}),
    "keys of members": ({Shade.DARK: 1, Size.LARGE: 2}, {"dark": 1, "3": 2}),
    "a key of a UUID": ({UUID(int=1): 1}, {"00000000-0000-0000-0000-000000000001": 1}),
    "a member": ([Shade.DARK, Size.LARGE, Pair.BOTH], ["dark", 3, [1, None]]),
    "a UUID": (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    "subclasses, which count as what they hold": (
        Table(a=Row([Text("text"), Whole(5), Real(2.5)])),
        {"a": ["text", 5, 2.5]},
    ),
    "a dataclass": (Record("x", [Slotted(1)]), {"name": "x", "below": [{"name": 1}]}),
    "a model": (Customer(name=Record(1)), {"name": {"name": 1, "below": None}, "seen": None}),
    "a model of a date": (Customer(name="x", seen=datetime(2024, 5, 20)), {"name": "x", "seen": "2024-05-20T00:00:00"}),
    "a model of more fields": (Secret(more=[1]), {"shown": "shown", "more": [1]}),
    "a model of a list": ([Names(["a"])], [["a"]]),
    "two halves of a pair": ("\ud83d\ude00", "\U0001f600"),
    "two halves in a key": ({"\ud83d\ude00": 1}, {"\U0001f600": 1}),
}


@pytest.mark.parametrize("name", COUNTS_AS)
def test_a_python_object_counts_as_one_json_value(name: str) -> None:
    given, counted = COUNTS_AS[name]

    assert form(given) == long_way(given) == form(counted)


PYTHON = st.recursive(
    SCALARS | st.text(st.characters(exclude_categories=()), max_size=8) | st.sampled_from([Shade.DARK, Size.LARGE]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(TEXTS, inner, max_size=4)
        | st.dictionaries(st.integers(), inner, max_size=4)
        | st.dictionaries(st.floats(), inner, max_size=1)
        | st.dictionaries(st.none() | st.booleans(), inner, max_size=2)
    ),
    max_leaves=12,
)


@given(PYTHON)
def test_a_value_that_went_through_json_is_the_same(value: Any) -> None:
    for ascii_only in (True, False):
        text = json.dumps(value, ensure_ascii=ascii_only)
        assert form(json.loads(text)) == form(value)


class Rude:
    """Of which nothing can be asked."""

    @property  # type: ignore[misc]  # a read-only class is the point of it: isinstance() raises
    def __class__(self) -> Any:
        raise RuntimeError("no class")

    def _raise(self, *_: Any) -> Any:
        raise RuntimeError("no")

    __getattr__ = __str__ = __repr__ = __iter__ = __len__ = __bool__ = __eq__ = __hash__ = _raise  # type: ignore[assignment]


@dataclasses.dataclass
class Broken:
    number: int = 1

    def __getattribute__(self, name: str) -> Any:
        if name == "number":
            raise OSError("gone")
        return object.__getattribute__(self, name)


class Undumpable(BaseModel):
    def model_dump(self, **_: Any) -> Any:
        raise ValueError("no dump")


class DumpsItself(BaseModel):
    def model_dump(self, **_: Any) -> Any:
        return self


class Unnamed(type):
    @property
    def __name__(cls) -> Any:
        raise RuntimeError("no name")


def ring(kind: type) -> Any:
    made: Any = {} if kind is dict else Record("ring") if kind is Record else []
    if kind is dict:
        made["again"] = [made]
    elif kind is Record:
        made.below = (made,)
    else:
        made.append(made)
    return made


def shared(twice: Callable[[Any], Any], levels: int = 60, below: int = 0) -> Any:
    """Two to the power of ``levels`` leaves in as many objects, ``below`` so many lists."""
    made: Any = "leaf"
    for _ in range(levels):
        made = twice(made)
    for _ in range(below):
        made = [made]
    return made


REFUSED: dict[str, tuple[Callable[[], Any], str, str]] = {
    "bytes": (lambda: [b"ok"], "shown[0]", "a bytes is no JSON value"),
    "a bytearray": (lambda: bytearray(b"ok"), "shown", "a bytearray is no JSON value"),
    "a set": (lambda: {"rows": [{}, {"tags": {1}}]}, "shown.rows[1].tags", "a set is no JSON value"),
    "a frozenset": (lambda: frozenset({1}), "shown", "a frozenset is no JSON value"),
    "a datetime": (lambda: {"when": datetime(2024, 5, 20)}, "shown.when", "a datetime is no JSON value"),
    "a date": (lambda: date(2024, 5, 20), "shown", "a date is no"),
    "a time": (lambda: time(12), "shown", "a time is no"),
    "a timedelta": (lambda: timedelta(1), "shown", "a timedelta is no"),
    "a decimal": (lambda: Decimal("1.0"), "shown", "a Decimal is no"),
    "a complex number": (lambda: 1j, "shown", "a complex is no"),
    "a path": (lambda: PurePosixPath("a"), "shown", "a PurePosixPath is no"),
    "a range": (lambda: range(3), "shown", "a range is no"),
    "a generator": (lambda: (n for n in ()), "shown", "a generator is no"),
    "an object": (lambda: {"a b": object()}, "shown['a b']", "an object is no"),
    "a class": (lambda: Customer, "shown", "a ModelMetaclass is no"),
    "what cannot be asked for its class": (lambda: [Rude()], "shown[0]", "a Rude is no"),
    "what hides its type's name": (lambda: [Unnamed("Odd", (), {})()], "shown[0]", "an Odd is no"),
    "a set in an enumeration": (lambda: Enum("Made", {"ONE": {1}}).ONE, "shown", "a set is no"),  # type: ignore[attr-defined]
    "a key of bytes": (lambda: {"a": {b"k": 1}}, "shown.a", "a bytes as a key is no JSON"),
    "a key of a tuple": (lambda: {(1, 2): 1}, "shown", "a tuple as a key is no JSON"),
    "a key of very many digits": (lambda: {2**4_096: 1}, "shown", "an int as a key is no JSON"),
    "two keys that are one": (lambda: {"a": [{1: "a", "1": "b"}]}, "shown.a[0]['1']", "two keys are this one in JSON"),
    "two keys of numbers that are one": (lambda: {"1.5": 1, 1.5: 2}, "shown['1.5']", "two keys are this one in JSON"),
    "two halves beside the pair": (lambda: {"\ud83d\ude00": 1, "\U0001f600": 2}, "shown['\U0001f600']", "two keys are"),
    "a field that raises": (lambda: [Broken()], "shown[0]", "reading it raised OSError"),
    "a dump that raises": (lambda: Undumpable(), "shown", "reading it raised ValueError"),
    "a dump of itself": (lambda: DumpsItself(), "shown", "there are more than 20,000 values up to here"),
    "a model of bytes": (lambda: Customer(name=b"\xff"), "shown", "reading it raised UnicodeDecodeError"),
    "a model of an object": (lambda: Customer(name=object()), "shown", "reading it raised PydanticSerializationError"),
    "a list in itself": (lambda: ring(list), "shown", "more than 20,000 values in it, or it holds itself"),
    "a dict in itself": (lambda: {"a": ring(dict)}, "shown", "more than 20,000 values in it, or it holds itself"),
    "a list in itself on the long way": (lambda: [Row([ring(list)])], "shown[0][0][0]", "it holds itself"),
    "a dict in itself on the long way": (lambda: Row([ring(dict)]), "shown[0].again[0]", "it holds itself"),
    "a dataclass in itself": (lambda: ring(Record), "shown.below[0]", "it holds itself"),
    "very many lists in few": (lambda: shared(lambda made: [made, made]), "shown", "more than 20,000 values in it"),
    "very many tuples in few": (lambda: shared(lambda made: (made, made)), "shown", "more than 20,000 values in it"),
    "very many dicts in few": (lambda: shared(lambda made: {"a": made, "b": made}), "shown", "more than 20,000"),
    "very many dataclasses in few": (lambda: shared(lambda made: Record(made, made)), "shown", "more than 20,000"),
    "very many lists below many": (lambda: shared(lambda made: [made, made], 60, 70), "shown", "20,000 values in it"),
    "many lists on the long way": (lambda: shared(lambda made: Row([made, made])), "shown[0][0]", "20,000 values"),
    "very many lists in a model": (
        lambda: Customer(name=shared(lambda made: [made, made])), "shown", "more than 20,000 values",
    ),
    "very many models in few": (
        lambda: shared(lambda made: Customer.model_construct(name=[made, made])), "shown", "more than 20,000 values",
    ),
    "a long text very often": (lambda: ["x" * 100_000] * 200, "shown", "more than 16,777,216 bytes in it"),
    "a long text on the long way": (lambda: Row(["x" * 100_000] * 200), "shown[167]", "16,777,216 bytes up to"),
    "a long key very often": (lambda: [{"k" * 100_000: 1}] * 200, "shown", "more than 16,777,216 bytes in it"),
    "a long key on the long way": (lambda: Row([{"k" * 100_000: 1}] * 200), "shown[167]", "bytes up to here"),
    "a long key all the way down": (
        lambda: Row([shared(lambda made: {"a": made, "k" * 100_000: 1}, 200)]), "shown[0].a.a", "bytes up to here",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_signed_whole_is_refused_with_its_place(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIMITS", Limits(values=20_000))
    make, path, reason = REFUSED[name]
    with pytest.raises(ReceiptError) as raised:
        form(make())

    error = raised.value
    assert isinstance(error, DataError)
    assert error.part == "shown"
    assert error.path.startswith(path)
    assert reason in error.reason
    assert str(error) == f"{error.path} cannot be signed: {error.reason}"
    assert error.reason.endswith(("; hand over the text, or the JSON, that the model is shown", "; sign a shorter one"))


def test_a_reason_quotes_nothing_and_a_place_is_short() -> None:
    with pytest.raises(ReceiptError) as raised:
        form({"a secret key" * 100: {"a secret value"}})

    assert "secret" not in raised.value.reason
    assert "secret value" not in str(raised.value)
    assert len(raised.value.path) < 250


def test_any_object_is_written_or_refused_and_no_other_error_is_raised(
    each_awkward: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LIMITS", Limits(values=20_000))  # so that what has no end ends soon
    for each, awkward in each_awkward:
        with each:
            found: list[bytes | str] = []
            for _ in "12":
                try:
                    found.append(form({"of": [awkward()]}))
                except ReceiptError as error:
                    found.append(error.reason)

            assert found[0] == found[1]


@pytest.mark.parametrize("of", ["list", "dict", "tuple", "both"])
@pytest.mark.parametrize("depth", [64, 65, 254, 255, 5_000])
def test_no_depth_is_too_much(values: Any, of: str, depth: int) -> None:
    deep = form(values.deep(depth, of=of))

    assert deep.count(b'"bottom"') == 1
    assert deep.count(b"[") + deep.count(b"{") == depth
    assert form(values.deep(depth + 1, of=of)) != deep


def test_all_of_a_wide_value_is_written() -> None:
    most = LIMITS.values - 1
    wide = form([0] * (most - 1) + [1])

    assert wide == b"[%b1]" % (b"0," * (most - 1))
    assert wide != form([0] * (most - 1) + [2])


@pytest.mark.parametrize(
    "value",
    [[1, 2, [3]], {"a": 1, "b": {"c": 2}}, ["x" * 28], "x" * 30, {"k" * 26: 1}, 10**31],
    ids=lambda value: type(value).__name__,
)
def test_a_value_may_be_as_long_as_the_limits_and_no_longer(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIMITS", Limits(values=5, bytes=32))

    assert form(value) == form(json.loads(json.dumps(value)))
    with pytest.raises(ReceiptError, match="more than"):
        form([[value, 1]])


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(("limits", "length"), [(Limits(values=7), 6), (Limits(bytes=13), 6)])
def test_both_ways_have_the_same_limits(
    wrapped: bool, limits: Limits, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LIMITS", limits)
    kind = Row if wrapped else list

    assert form(kind([1] * length)) == b"[1,1,1,1,1,1]"
    with pytest.raises(ReceiptError, match="more than"):
        form(kind([1] * (length + 1)))


def test_a_list_that_grows_while_it_is_read_ends() -> None:
    rows: list[Any] = []

    class Adding(Enum):
        MORE = 1

        @property
        def value(self) -> Any:
            rows.append(self)
            return 1

    rows.extend([Adding.MORE] * 3)

    assert form(rows) == b"[1,1,1]"
    assert len(rows) == 6
