"""``types="check"``: results are held to the return annotation, as the engine reads them."""

from __future__ import annotations

import collections
import datetime
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, Optional, TypeVar

import pytest
from pydantic import BaseModel, Field
from typing_extensions import NotRequired, TypedDict

from agentguard import ConfigurationError, Guard, ResultBlocked, VerificationEngine
from agentguard.integrations import functions
from agentguard.integrations.functions import guarded

from ...rows import over

T = TypeVar("T")


class Price(TypedDict):
    sku: str
    price: float
    note: NotRequired[str]


@dataclass
class Part:
    sku: str
    made: datetime.date
    parts: list[Part]


class Model(BaseModel):
    count: int = Field(alias="Count")


class Pair(NamedTuple):
    left: int
    right: Decimal


class Colour(Enum):
    RED = "red"


def priced(**result: Any) -> Callable[[str], Price]:
    def price(sku: str) -> Price:
        return result  # type: ignore[return-value]  # what no checker could see

    return price


def test_a_result_of_another_form_is_blocked_from_the_first_call_on() -> None:
    good = guarded(VerificationEngine(), types="check")(priced(sku="K-7", price=9.5))
    wrong = guarded(VerificationEngine(), types="check")(priced(sku="K-7", price="9.5"))
    missing = guarded(VerificationEngine(), types="check")(priced(sku="K-7"))

    assert good("K-7") == {"sku": "K-7", "price": 9.5}
    with pytest.raises(ResultBlocked, match="price"):
        wrong("K-7")
    with pytest.raises(ResultBlocked, match="output_schema"):
        missing("K-7")
    assert guarded(VerificationEngine())(priced(sku="K-7"))("K-7") == {"sku": "K-7"}


RETURNED: list[tuple[Any, Any, Any]] = [
    (dict[str, int], {"a": 1}, {"a": "one"}),
    (Optional[Price], None, {"sku": 7}),  # noqa: UP045  # as much code has it
    (Annotated[list[int], Field(max_length=2)], [1, 2], [1, 2, 3]),
    (Part, Part("K", datetime.date(2024, 5, 1), [Part("L", datetime.date(2024, 5, 2), [])]), {"sku": "K"}),
    (Model, Model(Count=3), {"count": "many"}),
    (Pair, Pair(1, Decimal("1.5")), [1]),
    (list[Colour], [Colour.RED], ["blue"]),
    (Colour, Colour.RED, "blue"),
    (Literal["ready", "sold out"], "sold out", "perhaps"),
    (set[int], {1, 2}, {"a"}),
    (collections.deque[int], collections.deque([1]), collections.deque(["a"])),
    (dict[int, list[bytes]], {1: [b"x"]}, {1: "x"}),
    (datetime.datetime, datetime.datetime(2024, 5, 1, 12), {"at": 12}),
    (None, None, {"made": "up"}),
    (int | None, 3, 3.5),
]


@over(("annotation", "good", "bad"), RETURNED)
def test_what_keeps_the_annotation_is_no_suspect_and_what_breaks_it_is(annotation: Any, good: Any, bad: Any) -> None:
    """As Python has it: a dataclass, a set, a date or a model by its fields' names is what it says."""
    engine = VerificationEngine()

    def tool(value: Any) -> Any:
        return value

    tool.__annotations__["return"] = annotation
    guarded(engine, types="check")(tool)

    for value, fired in ((good, False), (bad, True)):
        signal = engine.verify("tool", result=value, learn=False).signals["schema_mismatch"]
        assert signal.fired is fired, signal.detail


async def test_a_coroutine_is_held_to_what_it_is_awaited_for() -> None:
    @guarded(VerificationEngine(), types="check")
    async def price(sku: str) -> Price:
        return {"sku": sku, "price": 9.5} if sku else {"sku": sku}  # type: ignore[typeddict-item]

    @guarded(VerificationEngine(), types="check")
    def later(sku: str) -> Awaitable[Price]:
        return functions.guarded(Guard(VerificationEngine(), shadow=True))(price)(sku)

    assert (await price("K"))["price"] == 9.5
    assert (await later("K"))["price"] == 9.5
    with pytest.raises(ResultBlocked):
        await price("")


async def test_a_generator_is_held_to_its_items() -> None:
    engine = VerificationEngine()

    @guarded(engine, types="check")
    def rows(good: bool) -> Iterator[Price]:
        yield {"sku": "K", "price": 9.5}
        if not good:
            yield {"sku": "L"}  # type: ignore[typeddict-item]

    @guarded(engine, types="check")
    def numbers() -> Generator[int, None, str]:
        yield 1
        return "done"

    @guarded(engine, types="check")
    async def arows() -> AsyncIterator[int]:
        yield 1

    assert list(rows(True)) == [{"sku": "K", "price": 9.5}]
    with pytest.raises(ResultBlocked):
        rows(False)
    assert list(numbers()) == [1]
    drained: Any = arows()
    assert await drained == [1]


class Shop:
    def price(self, sku: str) -> Price:
        return {"sku": sku, "price": 9.5}

    def __call__(self, sku: str) -> Price:
        return {"sku": sku, "price": 9.5}


def test_methods_and_callables_have_annotations_too() -> None:
    engine = VerificationEngine()
    named = {"method": Shop().price, "unbound": Shop.price, "callable": Shop()}
    for name, function in {**named, "partial": functools.partial(Shop.price, Shop())}.items():
        guarded(engine, name, types="check")(function)
        assert engine.verify(name, result={"sku": 7}, learn=False).signals["schema_mismatch"].fired


# --- Profiles ---


def test_a_profile_of_the_users_own_stands_over_it() -> None:
    engine = VerificationEngine()
    engine.register_tool_profile("price", output_schema={"type": "array"})
    guarded(engine, types="check")(priced())
    assert engine.profile_of("price").output_schema == {"type": "array"}

    later = VerificationEngine()
    guarded(later, types="check")(priced())
    later.register_tool_profile("price", required_fields=["sku"])
    assert later.profile_of("price").output_schema is None


def test_what_else_a_profile_says_still_holds() -> None:
    engine = VerificationEngine()
    engine.register_tool_profile(
        "price", description="Ours.", aliases=["shop.price"], required_fields=["sku"], echoes={"sku": "sku"},
        expected_latency_ms=(1, 100),
    )  # fmt: skip
    before = engine.profile_of("price")
    guarded(engine, types="check")(priced())

    profile = engine.profile_of("shop.price")
    assert profile.output_schema is not None
    assert profile.description == f"Ours. Held to the return annotation of {__name__}.priced.<locals>.price."
    assert profile.model_copy(update={"output_schema": None, "description": "Ours."}) == before
    assert profile.model_fields_set == {*before.model_fields_set, "output_schema"}


def test_a_pattern_stays_that_of_the_other_tools() -> None:
    engine = VerificationEngine()
    engine.register_tool_profile("shop", aliases=["p*"], required_fields=["sku"])
    guarded(engine, types="check")(priced())

    assert engine.profile_of("price").required_fields == ("sku",)
    assert engine.profile_of("price").output_schema is not None
    assert engine.profile_of("part").name == "shop"
    assert engine.profile_of("part").output_schema is None


def test_a_function_that_is_defined_again_is_held_to_its_new_annotation() -> None:
    engine = VerificationEngine()
    guarded(engine, "count", types="check")(priced())

    @guarded(engine, types="check")
    def count() -> int:
        return 3

    assert count() == 3
    assert engine.profile_of("count").output_schema == {"type": "integer"}


# --- What cannot be checked ---


class Opaque:
    pass


REFUSED: list[tuple[Any, str]] = [
    (Any, "Any says nothing of a result"),
    (object, "object says nothing of a result"),
    (T, "~T says nothing of a result"),
    (Opaque, "Opaque has no JSON Schema"),
    (str, "str may be text, which is read as JSON where it is JSON"),
    (dict[str, int] | str, "may be text"),
    (Any | None, "may be text"),
    (Literal["1", "2"], "may be text"),
    (Decimal, "Decimal may be text"),
    ("Missing", "'?Missing'? cannot be resolved .name 'Missing' is not defined."),
    ("list[", "cannot be resolved"),
]


@over(("annotation", "message"), REFUSED)
def test_an_annotation_that_cannot_be_checked_is_refused_when_the_function_is_decorated(
    annotation: Any, message: str
) -> None:
    engine = VerificationEngine()

    def tool() -> Any: ...

    tool.__annotations__["return"] = annotation
    with pytest.raises(ConfigurationError, match=f"cannot check 'tool': .*{message}.*annotate what it returns"):
        guarded(engine, types="check")(tool)
    assert engine.profile_of("tool").output_schema is None


@pytest.mark.parametrize("function", [lambda: 3, len])
def test_so_is_none_at_all(function: Any) -> None:
    with pytest.raises(ConfigurationError, match="it has no return annotation"):
        guarded(VerificationEngine(), "tool", types="check")(function)


def test_only_these_two_are_known() -> None:
    with pytest.raises(ConfigurationError, match="types must be 'ignore' or 'check', not 'strict'"):
        guarded(VerificationEngine(), types="strict")  # type: ignore[arg-type]
