"""Trials of changes: what each does to an answer, what is noted of them, and the weights that are learned from it."""

import random

import pytest
from detection.calls import Call
from weights.changes import (
    AFTER,
    AGES,
    BEFORE,
    CLUES,
    FAULTS,
    GENUINE_CHANGES,
    ChangeRow,
    areas,
    change_rows,
    learned_changes,
    scores,
)

from ..rows import over

ORDER = {"id": 7, "state": "shipped", "day": "2024-03-09"}
LINES = [1, 2, 3, 4]
NOTE = "The parcel left Hamburg at noon."


def call(result, n=7):
    return Call("orders", {"id": n}, result, 40.0, "s-1")


def made(kind, result):
    """All that a change makes of an answer, over seeds, each once."""
    make = {**GENUINE_CHANGES, **FAULTS}[kind]
    found = []
    for seed in range(40):
        one = make(call(result), {"past": [call(result), call(ORDER | {"id": 6}, 6)]}, random.Random(seed))
        found += [one] if one not in found else []
    return found


@over(
    ("kind", "result", "possible"),
    [
        ("added", ORDER, [ORDER | {"api_version": "2.1"}]),
        ("added", NOTE, [None]),
        ("numbers as text", ORDER, [ORDER | {"id": "7"}]),
        ("dates", ORDER, [ORDER | {"day": "09/03/2024"}]),
        ("wrapped", ORDER, [{"data": ORDER, "meta": {"version": 2}}]),
        ("wrapped", NOTE, [None]),
        ("shorter pages", LINES, [[1, 2]]),
        ("shorter pages", {"id": 7, "lines": LINES}, [{"id": 7, "lines": [1, 2]}]),
        ("longer pages", LINES, [[1, 2, 3, 4, 1, 2, 3]]),
        ("prefaced", NOTE, [f"Result (service v2):\n{NOTE}"]),
        ("signed", NOTE, [f"{NOTE}\n\n(served by v2)"]),
        ("signed", "too short", [None]),
        ("slower", ORDER, [ORDER]),
        ("nulls", ORDER, [{"id": 7, "state": None, "day": None}]),
        ("emptied", ORDER, [{}]),
        ("stuck", ORDER, [ORDER | {"id": 6}]),
        ("tenant", ORDER, [ORDER | {"id": 6}]),
        ("times 100", ORDER, [ORDER | {"id": 700}]),
        ("error page", ORDER, ["<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"]),
    ],
)
def test_a_change_is_made_as_it_is_called(kind, result, possible):
    assert made(kind, result) == possible


def test_one_of_the_fields_is_dropped_or_renamed():
    dropped = made("dropped", ORDER)
    assert sorted(map(len, dropped)) == [2, 2, 2]
    assert all(one.items() <= ORDER.items() for one in dropped)
    renamed = made("renamed", ORDER)
    assert all(list(one.values()) == list(ORDER.values()) and one.keys() != ORDER.keys() for one in renamed)


def test_a_new_state_comes_in_three_answers_of_ten():
    memory, rng = {"past": []}, random.Random(1)
    answers = [GENUINE_CHANGES["a new state"](call({"state": "paid"}, n), memory, rng) for n in range(1000)]
    assert all(one in ({"state": "paid"}, {"state": "deferred"}) for one in answers)
    assert 250 < answers.count({"state": "deferred"}) < 350


@pytest.fixture(scope="module")
def rows():
    """Of a tool whose answers repeat what was asked."""
    rng = random.Random(3)
    calls = [call({"id": n, "name": f"item {n}", "price": rng.uniform(10.0, 20.0)}, n) for n in range(BEFORE + AFTER)]
    return list(change_rows("made", "orders", calls))


def test_a_change_is_noted_at_its_ages_with_shares_that_stay_below_one(rows):
    assert {row.kind for row in rows} >= {"added", "renamed", "nulls", "prose", "emptied"}
    for row in rows:
        assert row.age in AGES
        assert row.fault is (row.kind in FAULTS)
        assert all(-1e-9 < one < row.age / (row.age + 1.0) + 1e-9 for one in row.clues)
    added = [row for row in rows if row.kind == "added" and row.age == 3]
    assert [dict(zip(CLUES, row.clues, strict=True))["added"] for row in added] == [0.75]  # three calls of 3 + 1


def test_no_change_is_noted_in_genuine_calls_that_are_as_they_were(rows):
    assert not [row for row in rows if row.kind in ("as recorded", "slower", "faster")]


def row(kind, fault, age=3, **clues):
    return ChangeRow("made", "orders", kind, fault, age, tuple(clues.get(name, 0.0) for name in CLUES))


def test_a_clue_weighs_for_what_it_came_with_and_within_its_sign():
    trials = [
        row("added", False, added=0.75, short=0.5), row("signed", False, text=0.75),
        row("nulls", True, nulls=0.75, carried=0.75), row("prose", True, prose=0.75),
    ]  # fmt: skip
    constant, weights = learned_changes(trials)

    assert weights["added"] < 0.0 < weights["nulls"]
    assert weights["text"] < 0.0 < weights["prose"]
    assert weights["short"] == weights["carried"] == 0.0  # they came with the other side, and may not speak for it
    assert weights["cut"] == 0.0
    odds = scores(trials, constant, weights)
    assert max(odds[:2]) < min(odds[2:])


def test_an_area_is_that_of_each_kind_of_fault_in_the_mean():
    trials = [row("added", False), row("signed", False), row("nulls", True), row("nulls", True), row("prose", True)]

    found = areas(trials, [0.0, 2.0, 1.0, 2.0, 3.0])

    assert found[3] == pytest.approx((0.5 * (0.5 + 0.75) + 1.0) / 2, abs=0.001)
    assert found[1] != found[1]  # there is none of that age
