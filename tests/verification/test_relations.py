"""Relations that held in every call, and calls that break one of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.verification._arguments import Arguments
from agentguard.verification._document import read
from agentguard.verification._relations import FAMILIES, Broken, Relations

Make = Callable[[random.Random, int], tuple[dict[str, Any], Any]]


def learned(make: Make, calls: int = 60) -> Relations:
    rng, relations = random.Random(3), Relations()
    for number in range(calls):
        learn(relations, *make(rng, number))
    return relations


def learn(relations: Relations, args: Any, result: Any) -> None:
    arguments, document = Arguments(args), read(result)
    relations.note(arguments.side, document.side)
    relations.learn(arguments.side, document.side)


def broken(relations: Relations, args: Any, result: Any) -> Broken:
    return relations.broken(Arguments(args).side, read(result).side)


def order(rng: random.Random, number: int) -> tuple[dict[str, Any], Any]:
    """Orders of eight customers: everything that the families are about holds."""
    customer = rng.randrange(8)
    prices = sorted(rng.sample(range(5, 500), rng.randrange(3, 6)))
    rows = [{"customer": f"C{customer:03d}", "price": price, "shop": f"S{number}"} for price in prices]
    result = {
        "customer": f"C{customer:03d}", "name": f"Name{customer}", "mail": f"c{customer:03d}@example.org",
        "rows": rows, "total": sum(prices), "count": len(rows),
    }  # fmt: skip
    return {"customer": f"C{customer:03d}", "order": number}, result


ORDERS = learned(order)


def asked(**changes: Any) -> Broken:
    args, result = order(random.Random(9), 999)
    return broken(ORDERS, args, {**result, **changes})


def test_a_call_like_all_others_breaks_nothing() -> None:
    for number in range(40):
        args, result = order(random.Random(100 + number), 1000 + number)
        assert broken(ORDERS, args, result) == Broken(0.0, "", ())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"customer": "C999"}, "customer is not the argument customer, as in "),
        ({"mail": "x@example.org"}, "mail does not begin like the argument customer, as in "),
        ({"total": 7}, "total is not the sum of rows[].price, as in "),
        ({"count": 77}, "count is not the number of rows, as in "),
    ],
)
def test_what_is_broken_is_said_with_its_count(changes: dict[str, Any], said: str) -> None:
    found = asked(**changes)

    assert said in found.message
    assert found.message.endswith((" calls", " different answers"))
    assert found.nats > 2.0
    assert found.traits


def test_a_row_of_another_customer() -> None:
    args, result = order(random.Random(9), 999)
    rows = [*result["rows"][:1], {**result["rows"][1], "customer": "C777"}, *result["rows"][2:]]

    assert (
        "not every row's rows[].customer is the argument customer"
        in broken(ORDERS, args, {**result, "rows": rows}).message
    )


def test_rows_out_of_order_and_rows_of_two_shops() -> None:
    args, result = order(random.Random(9), 999)
    backwards = result["rows"][::-1]
    mixed = [{**row, "shop": f"S{place}"} for place, row in enumerate(result["rows"])]

    assert broken(ORDERS, args, {**result, "rows": backwards}).message.startswith(
        "rows[].price does not rise from row to row"
    )
    assert broken(ORDERS, args, {**result, "rows": mixed}).message.startswith("rows[].shop is not the same in all rows")


def test_what_a_result_says_of_itself_counts_once_however_often_it_is_asked() -> None:
    relations = Relations()
    for poll in range(40):  # eight listings, each seen five times
        result = {"seen": poll, "rows": [{"state": "up", "id": poll // 5 * 10 + place} for place in range(3)]}
        arguments, document = Arguments({"zone": "north"}), read(result)
        side = document.side
        stale = relations.look(arguments.key, side)
        relations.note(arguments.side, side, stale)
        relations.learn(arguments.side, side, stale)
        assert stale == (
            {"rows[].state", "rows[].id", "rows#"} if poll % 5 else {"rows[].state", "rows#"} if poll else set()
        )
    tried = {(key[0], key[2], key[3]): relation.tried for key, relation in relations.known.items()}
    # The first look proposes a relation, the seven others are tries; the state has not changed since.
    assert tried["Ordered", "rows[].id", "rises"] == 7
    assert tried["SameInRows", "rows[].state", ""] == 0
    message = broken(
        relations, {"zone": "north"}, {"seen": 41, "rows": [{"state": "up", "id": n} for n in (3, 2, 1)]}
    ).message
    assert message == "rows[].id does not rise from row to row, as in 7 of 7 different answers"


def test_a_count_holds_for_an_empty_list_and_for_a_long_one() -> None:
    assert asked(rows=[], total=0, count=0) == ((0.0, "", ()))
    rows = [{"customer": "C006", "price": price, "shop": "S9"} for price in range(30)]
    assert "count" not in asked(rows=rows, count=30).message
    assert "count is not the number of rows" in asked(rows=[], total=0, count=4).message


def test_an_argument_that_is_said_somewhere() -> None:
    def page(rng: random.Random, number: int) -> tuple[dict[str, Any], Any]:
        topic = f"topic{rng.randrange(1000)}"
        return {"about": topic}, "\n".join(
            f"{rng.random()} {rng.choice(('of', 'on'))} {topic}" for _ in range(rng.randrange(1, 9))
        )

    found = broken(learned(page), {"about": "quarks"}, "0.5 of leptons\n0.1 on hadrons")

    assert found.message.startswith("the result does not say the argument about, as in ")


def test_what_holds_for_the_results_of_other_calls_too_says_nothing() -> None:
    """The currency is the argument's in every call, and would be with the arguments of any other."""

    def price(rng: random.Random, number: int) -> tuple[dict[str, Any], Any]:
        return {"currency": "EUR", "item": number}, {"currency": "EUR", "price": rng.random()}

    relations = learned(price)

    assert relations.known["Equal", "currency", "currency", ""].held == 60
    assert relations.known["Equal", "currency", "currency", ""].strength == 0.0


def test_a_chance_match_is_found_out_though_what_breaks_it_is_doubted() -> None:
    """Nothing is learned of the calls that break it: they are only taken note of."""
    relations = Relations()
    for _ in range(2):
        learn(relations, {"k": 3}, {"x": 3})
    for number in range(30):
        arguments, document = Arguments({"k": number}), read({"x": 50 + number})
        relations.note(arguments.side, document.side)

    assert relations.known["Equal", "k", "x", ""].strength == 0.0


def test_a_new_word_where_there_was_one_only() -> None:
    def unit(rng: random.Random, number: int) -> tuple[dict[str, Any], Any]:
        return {"id": number}, {
            "unit": "metre",
            "x": rng.random(),
            "state": rng.choice(("open", "closed", "new", "old")),
        }

    relations = learned(unit)
    arguments = Arguments({"id": 7}).side

    # After sixty values of which none was another one: (0 + 1/2) / (60 + 3/2).
    assert relations.new_value(arguments, read({"unit": "foot", "x": 0.5}).side) == (
        "unit",
        pytest.approx(0.5 / 61.5),
        60,
    )
    assert relations.new_value(arguments, read({"unit": "metre", "state": "lost"}).side) == ("", 1.0, 0)
    assert relations.new_value(Arguments({"unit": "foot"}).side, read({"unit": "foot"}).side) == ("", 1.0, 0)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(st.tuples(JSON, JSON), max_size=30))
def test_any_calls(calls: list[tuple[Any, Any]]) -> None:
    relations = Relations()
    for args, result in calls:
        found = broken(relations, args, result)
        assert found.nats >= 0.0
        assert bool(found.message) is (found.nats > 0.0)
        learn(relations, args, result)


def test_what_is_kept_is_bounded() -> None:
    relations = Relations()
    for number in range(300):
        args = {f"a{k}": f"{number}-{k}" for k in range(20)}
        learn(relations, args, {**{f"r{k}": value for k, value in enumerate(args.values())}, f"new{number}": number})

    by_family = [sum(key[0] == family.__name__ for key in relations.known) for family in FAMILIES]
    assert max(by_family) <= 40
    assert len(relations.constants.places) <= 60


# --- Totals of two columns, and times that follow on one another ---


def invoice(rng: random.Random, number: int) -> tuple[dict[str, Any], Any]:
    rows = [
        {"price": rng.randrange(100, 900) / 100, "quantity": rng.randrange(2, 9)} for _ in range(rng.randrange(1, 4))
    ]
    placed = date(2026, 1, 1) + timedelta(days=number)
    times = [(f"2026-03-01T{hour:02d}:00", f"2026-03-01T{hour:02d}:{rng.choice((15, 30, 45))}") for hour in (8, 11)]
    return {"invoice": number}, {
        "total": round(sum(row["price"] * row["quantity"] for row in rows), 2), "rows": rows,
        "placed": str(placed), "due": str(placed + timedelta(days=rng.randrange(4, 12))),
        "slots": [{"starts": starts, "ends": ends} for starts, ends in times],
    }  # fmt: skip


INVOICES = learned(invoice)


def slots(*times: tuple[str, str]) -> dict[str, Any]:
    return {"slots": [{"starts": f"2026-03-01T{starts}", "ends": f"2026-03-01T{ends}"} for starts, ends in times]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"total": 7_000.0}, "total is not the sum of rows[].price times rows[].quantity, as in "),
        ({"due": "2026-01-02"}, "due is not within "),  # before it was placed
        ({"placed": "2025-09-20"}, "due is not within "),
        (slots(("08:00", "08:30"), ("12:00", "11:30")), "slots[].ends is not within "),
        (slots(("08:00", "08:30"), ("11:00", "13:30")), "slots[].ends is not within an hour after slots[].starts"),
    ],
)  # fmt: skip
def test_a_total_and_times_are_held_to_what_they_always_were(changes: dict[str, Any], said: str) -> None:
    args, result = invoice(random.Random(9), 20)
    assert broken(INVOICES, args, result) == Broken(0.0, "", ())

    found = broken(INVOICES, args, {**result, **changes})
    assert found.message.startswith(said)
    assert found.nats > 2.0


def test_what_others_have_confirmed_is_not_held_against_the_arguments_or_the_rest() -> None:
    args, result = invoice(random.Random(9), 20)
    wrong = read({**result, "placed": "2025-09-20"})
    sides = Arguments(args).side, wrong.side

    assert INVOICES.broken(*sides, vouched=frozenset({"due"})).nats > 0.0  # one of the two is wrong
    assert INVOICES.broken(*sides, vouched=frozenset({"placed", "due"})) == Broken(0.0, "", ())


def test_what_holds_in_fewer_than_four_of_five_calls_says_nothing_before_it_is_given_up() -> None:
    relations = Relations()
    for number in range(9):
        learn(relations, {"n": number}, {"rows": [{"on": True}, {"on": True}]})
    mixed = {"rows": [{"on": True}, {"on": False}]}
    assert broken(relations, {"n": 9}, mixed).nats > 0.0

    for number in range(3):  # noted, and not believed
        relations.note(Arguments({"n": number}).side, read(mixed).side)
    assert broken(relations, {"n": 9}, mixed) == Broken(0.0, "", ())
