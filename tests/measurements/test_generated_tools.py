"""Generated tools: families, faults, the courses made of them, and what is held out."""

import json
import random
import subprocess
import sys
from itertools import islice

from detection import rival_worker
from detection.calls import Call
from detection.changes import CHANGES, UNCHANGED, Recovery
from detection.families import FAMILIES
from detection.faults import FAULTS, REPLAYED, Scene
from detection.split import HELD_OUT_FAMILIES, HELD_OUT_FAULTS, held_out
from detection.spots import columns, leaves, number_columns, replaced
from detection.stream import GENUINE, SPOILED, agents, events

from ..rows import over

SHOP = {
    "id": "A-7", "price": 12.5, "stock": 40, "open": True, "since": "2024-03-09", "tags": ["old", "new", "red", "big"],
}  # fmt: skip


def call(result, tool="shop", ms=120.0, **args):
    return Call(tool, args or {"id": "A-7"}, result, ms, "s-1")


def scene(past=(), ahead=(), elsewhere=()):
    return Scene(past, ahead, elsewhere, {(one.tool, json.dumps(one.result)) for one in past})


def course(seed=1, families=("records", "counters", "prose", "scalars"), calls=30, spoiled=0.0):
    return list(events(seed, families, calls, spoiled))


def outcomes(fault, genuine, around, tries=60):
    """All that a fault makes of a call, over seeds."""
    made = [FAULTS[fault](genuine, around, random.Random(seed)) for seed in range(tries)]
    return [one for one in made if one is not None]


def test_what_is_held_out_is_every_third():
    assert len(FAMILIES) == 24
    assert sorted(HELD_OUT_FAMILIES) == "calculations empties evolving lists prices records siblings yaml_text".split()
    assert sorted(HELD_OUT_FAULTS) == "instant pretended repeated swapped_args unit_changed".split()
    assert held_out("records", "scaled")
    assert held_out("caches", "instant")
    assert not held_out("caches", "scaled")


@over(
    ("fault", "possible"),
    [
        ("scaled", [SHOP | {"price": 125.0}, SHOP | {"price": 1.2}, SHOP | {"stock": 400}, SHOP | {"stock": 4}]),
        ("negated", [SHOP | {"price": -12.5}, SHOP | {"stock": -40}]),
        ("renamed", [{("since_value" if key == "since" else key): value for key, value in SHOP.items()}]),
        ("emptied", [None, {}]),
        ("dropped", [SHOP | {"tags": ["old"]}, SHOP | {"tags": ["old", "new"]}]),
        ("reformatted", [SHOP | {"price": "12.5"}, SHOP | {"since": "09/03/2024"}, SHOP | {"open": "yes"}]),
        ("wrong_type", [[SHOP], SHOP | {"price": "N/A"}, SHOP | {"open": [True]}]),
    ],
)
def test_what_a_fault_makes_of_a_record(fault, possible):
    made = [one.result for one in outcomes(fault, call(SHOP), scene())]
    for result in possible:
        assert result in made


def test_unit_changed_reckons_in_another_unit():
    made = {one.result["degrees"] for one in outcomes("unit_changed", call({"degrees": 20.0}), scene())}
    # 20 °C are 68 °F; 20 km are 12.4 miles, 20 kg 44.1 pounds; thousands either way; 20 ft are 6.1 m; hundredths.
    assert made == {68.0, 12.4, 44.1, 20_000.0, 0.02, 6.1, 2_000.0}


def test_truncated_keeps_a_strict_beginning():
    text = json.dumps(SHOP)
    for one in outcomes("truncated", call(SHOP), scene()):
        assert text.startswith(one.result)
        assert 0.3 * len(text) - 1 <= len(one.result) < 0.9 * len(text)


def test_instant_is_for_tools_that_take_their_time():
    past = [call({"n": n}, ms=90.0) for n in range(5)]
    assert all(one.ms <= 1.0 for one in outcomes("instant", call(SHOP), scene(past)))
    assert outcomes("instant", call(SHOP), scene([one._replace(ms=0.4) for one in past])) == []
    assert outcomes("instant", call(SHOP, ms=0.5), scene(past)) == []


def test_stale_is_an_older_answer_to_the_same_arguments():
    past = [
        call({"n": 1}, id="a"),
        call({"n": 2}, id="b"),
        call({"n": 3}, id="a"),
        call({"n": 9}, tool="other", id="a"),
    ]
    found = {one.result["n"] for one in outcomes("stale", call({"n": 3}, id="a"), scene(past))}
    assert found == {1}


def test_swapped_args_takes_what_nobody_has_seen_and_its_sibling_what_was_seen():
    past, ahead = [call({"n": 1}, id="a")], [call({"n": 1}, id="b"), call({"n": 2}, id="c"), call({"n": 3}, id="d")]
    around = scene(past, ahead)
    assert {one.result["n"] for one in outcomes("swapped_args", call({"n": 3}, id="d"), around)} == {2}
    assert REPLAYED["swapped_args_seen"](call({"n": 3}, id="d"), around, random.Random(0)).result == {"n": 1}


def test_swapped_tool_prefers_a_sibling():
    ahead, elsewhere = [call({"n": 2}, tool="sibling")], [call({"n": 3}, tool="stranger")]
    assert {one.result["n"] for one in outcomes("swapped_tool", call({"n": 1}), scene((), ahead, elsewhere))} == {2}
    assert {one.result["n"] for one in outcomes("swapped_tool", call({"n": 1}), scene((), (), elsewhere))} == {3}


def test_invented_repeats_the_arguments_and_keeps_the_shape():
    for one in outcomes("invented", call(SHOP), scene()):
        assert list(one.result) == list(SHOP)
        assert one.result["id"] == "A-7"
        assert [type(value) for value in one.result.values()] == [type(value) for value in SHOP.values()]


def test_spots_of_an_object_and_of_a_text():
    assert [spot.value for spot in leaves("7 of 12.5 km on 2025-01-02, v1.2.3, 510,000 people")] == [7, 12.5, 510]
    rows = {"rows": [{"n": 1, "at": "x"}, {"n": 2, "at": "y"}], "of": 2}
    assert [[spot.value for spot in spots] for spots in columns(rows, lambda value: isinstance(value, str))] == [
        ["x", "y"]
    ]
    assert [[spot.value for spot in spots] for spots in number_columns(rows, {"limit": 2})] == [[1, 2]]
    first = leaves(rows)[0]
    assert replaced(rows, {first: 9}) == {"rows": [{"n": 9, "at": "x"}, {"n": 2, "at": "y"}], "of": 2}
    assert rows["rows"][0]["n"] == 1
    text = "7 of 12 km"
    assert replaced(text, {spot: spot.value * 10 for spot in leaves(text)}) == "70 of 120 km"


def test_agents_hold_every_family_once():
    held = [name for families in agents(3) for name in families]
    assert sorted(held) == sorted(FAMILIES)
    assert agents(3) != agents(4)


def test_a_course_learns_the_genuine_calls_and_nothing_else():
    made = course()
    genuine = [event for event in made if event.learn]
    assert course() == made
    assert [event.kind for event in genuine] == [GENUINE] * 120
    streams = {name: [event.call for event in genuine if event.family == name] for name in ("records", "prose")}
    assert streams["records"] == [*islice(FAMILIES["records"](random.Random("1 records")), 30)]
    numbers = [event.number for event in genuine if event.call.tool == "weather_report"]
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_bad_history_has_bad_answers_in_place_of_genuine_ones():
    made = [event for event in course(calls=100, spoiled=0.3) if event.learn]
    assert len(made) == 400
    bad = [event for event in made if event.kind == SPOILED]
    assert 0.22 < len(bad) / 400 < 0.38  # 30%, within three and a half standard deviations


def test_never_seen_was_never_seen():
    seen = set()
    swapped = 0
    for event in course(families=("siblings", "records", "lists", "search"), calls=80):
        answer = (event.family, event.call.tool, json.dumps(event.call.result))
        if event.kind == "swapped_args":
            swapped += 1
            assert answer not in seen
        elif event.learn:
            seen.add(answer)
    assert swapped > 10


FAKE_PEER = """
from types import SimpleNamespace
class VerificationEngine:
    calls = 0
    def verify(self, tool, result, ms, *, args, session_id):
        self.calls += 1
        return SimpleNamespace(posterior=self.calls / 10, verdict="flag")
"""


def test_the_peer_forgets_what_it_is_not_to_learn(tmp_path):
    (tmp_path / "agentguard").mkdir()
    (tmp_path / "agentguard" / "__init__.py").touch()  # else the installed package stands before it
    (tmp_path / "agentguard" / "verification.py").write_text(FAKE_PEER)
    asked = [{"call": ["tool", {}, {"n": 1}, 5.0, "s"], "learn": learn} for learn in (True, False, False, True)]
    said = subprocess.run(
        [sys.executable, rival_worker.__file__], input=json.dumps(asked), capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert json.loads(said.stdout) == [[0.1, "flag"], [0.2, "flag"], [0.2, "flag"], [0.2, "flag"]]


def test_genuine_changes_show_in_the_answer_and_leave_the_call():
    record = call({"id": "A-7", "state": "open", "price": 2.0})
    shown = {name: change(record) for name, change in CHANGES.items()}
    assert shown[UNCHANGED] == record
    assert shown["new_field"].result == record.result | {"revision": 7}
    assert shown["new_state"].result == record.result | {"state": "suspended"}
    assert shown["new_unit"].result == record.result | {"price": 2_000.0}
    assert shown["new_name"].result == {"id": "A-7", "state": "open", "cost": 2.0}
    assert (shown["slower"].ms, shown["faster"].ms) == (600.0, 24.0)
    assert record.result == {"id": "A-7", "state": "open", "price": 2.0}
    assert CHANGES["new_state"](call({"n": 3})) is None


def test_a_change_is_accepted_from_the_first_of_five_accepted_calls():
    said = ("block", "accept", "flag", *["accept"] * 5, "block", "accept")
    assert Recovery("any", "shop", said).calls_until_accepted == 3
    assert Recovery("any", "shop", said).blocked == 0.2
    assert Recovery("any", "shop", ("accept",) * 4).calls_until_accepted is None
