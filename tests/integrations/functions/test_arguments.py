"""What the engine is told of a call: the arguments by name, the session, the tool."""

import functools
import inspect
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentguard import VerificationEngine
from agentguard.guard import Guard, Outcome
from agentguard.integrations.functions import guarded


class Seen(list[Outcome]):
    def __call__(self, outcome: Outcome, _: object) -> None:
        self.append(outcome)


def test_arguments_are_bound_by_name_with_defaults() -> None:
    seen = Seen()

    @guarded(Guard(VerificationEngine(), on_judgement=seen))
    def find(query: str, /, limit: int = 10, *words: str, exact: bool = False, **rest: int) -> int:
        return 0

    find("a")
    find("a", 5, "x", "y", exact=True, extra=3)
    assert [outcome.args for outcome in seen] == [
        {"query": "a", "limit": 10, "words": (), "exact": False},
        {"query": "a", "limit": 5, "words": ("x", "y"), "exact": True, "extra": 3},
    ]
    assert {outcome.tool for outcome in seen} == {"find"}


@given(st.dictionaries(st.text(), st.integers()))
def test_any_keywords_arrive_as_they_are(keywords: dict[str, int]) -> None:
    seen = Seen()
    guarded(Guard(VerificationEngine(), on_judgement=seen), "take")(lambda **given: given)(**keywords)
    assert seen[0].args == keywords


def test_methods_are_told_without_their_receiver() -> None:
    seen = Seen()

    class Shop:
        @guarded(Guard(VerificationEngine(), on_judgement=seen))
        def price(self, sku: str) -> int:
            return 3

        @classmethod
        @guarded(Guard(VerificationEngine(), on_judgement=seen))
        def tax(cls, rate: float) -> float:
            return rate

        @staticmethod
        @guarded(Guard(VerificationEngine(), on_judgement=seen))
        def greet(name: str) -> str:
            return name

        @guarded(Guard(VerificationEngine(), on_judgement=seen))
        async def stock(self, sku: str) -> int:
            return 4

    shop = Shop()
    assert (shop.price("k"), shop.tax(0.2), Shop.greet("Ada")) == (3, 0.2, "Ada")
    shop.stock("k").close()
    assert guarded(Guard(VerificationEngine(), on_judgement=seen))(shop.price)("b") == 3
    # The bound method is guarded twice: the inner guard speaks first.
    assert [outcome.args for outcome in seen] == [
        {"sku": "k"},
        {"rate": 0.2},
        {"name": "Ada"},
        {"sku": "b"},
        {"sku": "b"},
    ]


def test_a_function_outside_of_a_class_keeps_an_argument_called_self() -> None:
    seen = Seen()

    @guarded(Guard(VerificationEngine(), on_judgement=seen))
    def odd(self: int) -> int:
        return self

    odd(1)
    assert seen[0].args == {"self": 1}


def test_ignored_parameters_are_no_arguments_of_the_call() -> None:
    seen = Seen()

    @guarded(Guard(VerificationEngine(), on_judgement=seen), ignore=["context"])
    def search(context: object, query: str) -> str:
        return query

    assert search(object(), "q") == "q"
    assert seen[0].args == {"query": "q"}


def test_builtins_without_a_signature_are_told_by_position() -> None:
    seen = Seen()
    assert guarded(Guard(VerificationEngine(), on_judgement=seen))(max)(3, 5) == 5
    assert seen[0].args == {"args": [3, 5]}


def test_a_partial_needs_a_name_and_gets_it() -> None:
    seen = Seen()
    double = functools.partial(pow, exp=2)
    assert guarded(Guard(VerificationEngine(), on_judgement=seen), "square")(double)(3) == 9
    assert seen[0].tool == "square"
    assert seen[0].args["base"] == 3


def test_the_session_is_asked_before_each_call() -> None:
    seen, sessions = Seen(), iter(["s1", None])
    ask = guarded(Guard(VerificationEngine(), on_judgement=seen), "ask", session=lambda: next(sessions))(lambda: 1)
    ask()
    ask()
    guarded(Guard(VerificationEngine(), on_judgement=seen), "ask", session="fixed")(lambda: 1)()
    assert [outcome.session_id for outcome in seen] == ["s1", None, "fixed"]


def test_every_call_has_an_id_of_its_own() -> None:
    seen = Seen()
    ask = guarded(Guard(VerificationEngine(), on_judgement=seen), "ask")(lambda: 1)
    ask()
    ask()
    assert len({outcome.call_id for outcome in seen}) == 2


def test_the_face_of_the_function_stays() -> None:
    def area(width: float, height: float = 1.0) -> float:
        """Width by height."""
        return width * height

    face: Any = guarded(VerificationEngine())(area)
    assert (face.__name__, face.__doc__, face.__annotations__) == ("area", "Width by height.", area.__annotations__)
    assert inspect.signature(face) == inspect.signature(area)
