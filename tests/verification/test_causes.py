"""The clues of a change, and the probability that they give: a fault, or another service."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.verification import VerificationEngine
from agentguard.verification._causes import CLUES, grounds, p_fault, says_canned
from agentguard.verification._incidents import Incident
from agentguard.verification.weights import CHANGE_WEIGHTS

from ..rows import over

TOOL = "get_price"


def price(number: int, **more: Any) -> dict[str, Any]:
    draw = random.Random(number)
    result = {"sku": f"K-{number}", "price": round(draw.uniform(10.0, 90.0), 2), "currency": "EUR", **more}
    return {name: value for name, value in result.items() if value is not ...}


def ask(engine: VerificationEngine, number: int, result: Any, **more: Any) -> Any:
    return engine.verify(TOOL, args={"sku": f"K-{number}"}, result=result, execution_time_ms=40.0 + number % 7, **more)


def changed(*results: Any, first: int = 200) -> Incident:
    """The one change of a tool that has given a hundred prices, and these results then."""
    engine = VerificationEngine()
    engine.register_tool_profile(TOOL, on_change="hold")
    for number in range(100):
        assert ask(engine, number, price(number)).verdict == "accept"
    verdicts = [ask(engine, first + place, result) for place, result in enumerate(results)]
    ids = {verdict.change for verdict in verdicts} - {None}
    assert len(ids) == 1
    found = engine._tools.find(TOOL, keep=False).incidents.find(ids.pop())
    assert found is not None
    assert found.judged == len(results)
    return found


def shares(incident: Incident) -> dict[str, float]:
    """The clues of a change that were met, by the share of its calls."""
    met = {name: total / incident.judged for name, total in zip(CLUES, incident.clues, strict=True)}
    return {name: share for name, share in met.items() if share}


CHANGED: list[tuple[str, Any, set[str], set[str]]] = [
    ("a field more", lambda n: price(n, vat=0.19), {"added", "carried", "echoes"}, {"renamed", "nulls"}),
    ("another name", lambda n: price(n, currency=..., currency_code="EUR"), {"renamed", "carried"}, {"added"}),
    ("a field less", lambda n: price(n, currency=...), {"echoes"}, {"renamed", "added"}),
    ("a null", lambda n: price(n, price=None), {"nulls"}, {"added", "format"}),
    ("text for a number", lambda n: price(n, price=str(price(n)["price"])), {"format", "carried"}, {"nulls"}),
    ("nothing in it", lambda n: {}, {"empty"}, {"carried"}),
    ("cut", lambda n: '{"sku": "K-200", "price": 12.', {"cut"}, {"echoes"}),
    ("prose", lambda n: f"The price of K-{n} is not known to me, I am afraid.", {"prose"}, {"empty", "carried"}),
    ("a mock", lambda n: price(n, source="mock_server"), {"canned", "added"}, {"renamed"}),
    ("another currency", lambda n: price(n, currency="USD"), {"value", "carried", "echoes"}, {"added"}),
    ("another article", lambda n: price(7), {"unasked"}, {"echoes"}),
]


@over(("name", "make", "met", "not_met"), CHANGED)
def test_what_a_call_says_of_its_change(name: str, make: Any, met: set[str], not_met: set[str]) -> None:
    found = shares(changed(make(200)))

    assert met <= found.keys()
    assert not_met.isdisjoint(found)


def test_one_answer_for_all_is_copied_and_another_each_time_is_not() -> None:
    one = shares(changed(*[price(7)] * 4))
    varied = shares(changed(*[price(number, currency=...) for number in range(200, 204)]))

    assert one["copied"] == 0.75  # all but the first
    assert "copied" not in varied
    assert "again" not in one.keys() | varied.keys()


@pytest.mark.parametrize(("times", "factor"), [(100.0, True), (4.0, False)])
def test_a_number_off_by_a_large_factor(times: float, factor: bool) -> None:
    engine = VerificationEngine()
    engine.register_tool_profile(TOOL, on_change="hold")
    for number in range(100):
        ask(engine, number, price(number))
    for number in range(200, 220):
        ask(engine, number, price(number, price=round(times * price(number)["price"], 2)))
    found = max(engine._tools.find(TOOL, keep=False).incidents, key=lambda incident: incident.judged)

    assert shares(found)["level"] == 1.0
    assert ("factor" in shares(found)) is factor


def test_words_that_the_tool_uses_give_no_mock_away() -> None:
    engine = VerificationEngine()
    engine.register_tool_profile(TOOL, on_change="hold")
    for number in range(100):
        ask(engine, number, price(number, note="a placeholder"))
    verdict = ask(engine, 200, price(200, note="a placeholder", source="fixture"))
    found = engine._tools.find(TOOL, keep=False).incidents.find(verdict.change)

    assert found is not None
    assert "canned" not in shares(found)


@pytest.mark.parametrize(
    ("text", "canned"),
    [(b'{"source": "mock"}', True), (b"MOCKED_RESPONSE", True), (b"lorem ipsum", True), (b"a hammock", False),
     (b"the stubborn", False), (b"x" * 4_096 + b" mock", False)],
)  # fmt: skip
def test_words_of_mocks(text: bytes, canned: bool) -> None:
    assert says_canned(text) is canned


@given(st.lists(st.floats(0.0, 1.0), min_size=len(CLUES), max_size=len(CLUES)), st.integers(1, 1_000))
def test_more_calls_alike_move_the_probability_further_the_same_way(shares: list[float], calls: int) -> None:
    before = p_fault([calls * share for share in shares], calls)
    after = p_fault([(calls + 1) * share for share in shares], calls + 1)
    leaning = sum(CHANGE_WEIGHTS[name] * share for name, share in zip(CLUES, shares, strict=True))

    assert 0.0 <= before <= 1.0
    assert (after - before) * leaning >= -1e-12


@given(st.lists(st.just(0.0) | st.floats(1e-9, 50.0), min_size=len(CLUES), max_size=len(CLUES)))
def test_grounds_are_those_against_a_fault(clues: list[float]) -> None:
    said = grounds(clues, 50)
    against = [CLUES[name] for name, total in zip(CLUES, clues, strict=True) if CHANGE_WEIGHTS[name] * total < 0.0]

    assert all(part in against for part in said.split("; ") if part)
    assert bool(said) is bool(against)
