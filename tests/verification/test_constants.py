"""Words that hardly ever change, and another one in their place."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.verification import VerificationEngine, VerificationResult
from agentguard.verification.constants import MAX_OTHERS, MAX_PLACES, Constants
from agentguard.verification.snapshot import decode, encode


def learned(values: list[Any], place: str = "currency") -> Constants:
    constants = Constants()
    for value in values:
        constants.push({place: [value]}, [place])
    return constants


def test_a_value_that_never_changed() -> None:
    constants = learned(["EUR"] * 99)

    assert constants.odd({"currency": ["EUR"]}) == []
    assert constants.odd({"currency": ["USD"]}) == [("currency", "USD", pytest.approx(0.5 / 100.5))]
    assert constants.odd({"currency": []}) == constants.odd({}) == []


def test_one_that_came_once_is_less_odd_the_second_time_and_a_third_one_more_likely_than_before() -> None:
    constants = learned(["EUR"] * 98 + ["USD"])

    assert constants.odd({"currency": ["USD"]}) == [("currency", "USD", pytest.approx(1.5 / 100.5))]
    assert constants.odd({"currency": ["XYZ"]}) == [("currency", "XYZ", pytest.approx(1.5 / 100.5))]


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([f"K-{n}" for n in range(40)], id="never the same"),
        pytest.param(["open", "shipped"] * 20, id="two states"),
        pytest.param(["EUR"] * 90 + ["USD"] * 6, id="another in more than a twentieth"),
        pytest.param(["2026-03-01"] * 90, id="a date, which moves on"),
        pytest.param(["x" * 100] * 90, id="a text"),
        pytest.param([True] * 90, id="no word"),
        pytest.param(["EUR"] * 90 + [None], id="not always a word"),
    ],
)
def test_where_nothing_is_usual_nothing_is_odd(values: list[Any]) -> None:
    assert learned(values).odd({"currency": ["XYZ"]}) == []


def test_of_several_rows_one_is_enough() -> None:
    constants = Constants()
    for _ in range(50):
        constants.push({"[].unit": ["kg", "kg", "kg"]}, ["[].unit"])

    assert [place for place, _, _ in constants.odd({"[].unit": ["kg", "lb", "kg"]})] == ["[].unit"]


places = st.sampled_from([f"p{n}" for n in range(2 * MAX_PLACES)])
results = st.dictionaries(places, st.lists(st.one_of(st.none(), st.booleans(), st.text(max_size=70)), max_size=8))


@given(st.lists(results, max_size=30), results)
def test_any_values_are_counted_within_bounds_and_outlive_the_process(given: list[Any], asked: Any) -> None:
    constants = Constants()
    for values in given:
        constants.push(values, values)

    for place, value, chance in constants.odd(asked):
        assert value in asked[place]
        assert 0.0 < chance < 1.0
    assert len(constants.usual) <= MAX_PLACES
    assert all(len(others) <= MAX_OTHERS for others in constants.varied.values() if others is not None)
    again = decode(json.loads(json.dumps(encode(constants))))
    assert again.odd(asked) == constants.odd(asked)


# --- In the engine ---


class Prices:
    """A tool whose prices are in euro."""

    def __init__(self, calls: int) -> None:
        self.engine, self.rng, self.number = VerificationEngine(), random.Random(1), 0
        for _ in range(calls):
            self.ask()

    def ask(self, price: float | None = None, currency: str = "EUR", **asked: str) -> VerificationResult:
        self.number += 1
        sku, usual = f"K-{self.number}", round(20.0 + 50.0 * self.rng.random(), 2)
        result = {"sku": sku, "price": usual if price is None else price, "currency": currency}
        took = self.rng.uniform(30.0, 60.0)
        return self.engine.verify("get_price", args={"sku": sku, **asked}, result=result, execution_time_ms=took)


@pytest.mark.parametrize("calls", [100, 1_000, 3_000])
@pytest.mark.parametrize("currency", ["USD", "XYZ"])
def test_another_currency_is_reported_and_stays_so(calls: int, currency: str) -> None:
    prices = Prices(calls)
    found = [prices.ask(currency=currency) for _ in range(10)]

    assert {result.verdict for result in found} == {"flag"}
    assert all(result.signals["format_mismatch"].traits == ("value of currency",) for result in found)
    assert prices.engine.changes()[0].calls == 10


def test_what_was_asked_for_is_nothing_odd() -> None:
    prices = Prices(0)
    for _ in range(100):
        prices.ask(into="EUR")
    assert not prices.ask(currency="USD", into="USD").signals["format_mismatch"].fired
    assert prices.ask(currency="USD", into="EUR").signals["format_mismatch"].fired


def test_nor_what_follows_an_argument_that_has_changed_for_the_first_time() -> None:
    prices = Prices(0)
    for _ in range(100):
        prices.ask(market="Paris")
    assert not prices.ask(currency="USD", market="Boston").signals["format_mismatch"].fired


@pytest.mark.parametrize("forged", [900.0, -5.0])
def test_two_or_three_forged_values_among_thousands_are_all_reported(forged: float) -> None:
    """Twenty genuine calls lie between any two of them, and nobody reviews any."""
    prices = Prices(2_000)
    verdicts = []
    for _ in range(3):
        verdicts.append(prices.ask(forged).verdict)
        for _ in range(20):
            prices.ask()

    assert "accept" not in verdicts
