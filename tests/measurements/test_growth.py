"""Growth, memory and bounds: what is weighed, and how a figure is held against its goal."""

import math

import growth_attacks
import pytest
from growth_cost import Point, SizePoint
from growth_hostile import Ordeal
from growth_memory import Held, deep_bytes, state_bytes
from growth_process import ENGINE, Replay, Starts
from growth_tables import Bound, Growth, as_kib, as_ms, as_rate, as_times, growth_lines, growth_section
from tables import tally

from agentguard.verification import VerificationEngine

from ..rows import over

KIB, MIB = 1_024, 1_048_576


def figures(growth):
    return {line.cells[0]: line.figure for line in growth_lines(growth)}


@over(
    ("goal", "figure", "outcome"),
    [
        (Bound("at most", 128, as_kib), 128.0, "reached"),
        (Bound("at most", 128, as_kib), 320.0, "missed: 2.5 times the goal"),
        (Bound("at most", 1.5, as_times), 1.5001, "missed: 1.1 times the goal"),
        (Bound("at least", 20_000, as_rate), 5_000.0, "missed: 1/4 of the goal"),
        (Bound("at most", 0, as_times), 2.0, "missed"),
        (Bound("at most", 2.0, as_times), math.inf, "missed"),
        (Bound("at most", 150, as_ms), None, "not measured"),
    ],
)
def test_a_bound_says_how_many_times_it_was_missed(goal, figure, outcome):
    assert goal.outcome(figure) == outcome


def test_each_object_weighs_once_and_what_lies_outside_nothing():
    text = "x" * 10_000
    assert 10_000 < deep_bytes([[text, text], {"again": text}]) < 11_000
    assert deep_bytes([[text, text]], outside=[text]) < 200


def test_a_tool_weighs_what_it_alone_learned():
    engine = VerificationEngine()
    for n in range(60):
        engine.verify("busy", args={"n": n}, result={"n": n, "text": f"answer {n}"})
    engine.verify("idle", args={"n": 0}, result={"n": 0})
    assert state_bytes(engine, "idle") < state_bytes(engine, "busy")


def test_growth_is_the_dearest_case_over_the_smallest():
    points = [Point(1, [2e-5] * 3), Point(10, [6e-5] * 3), Point(100, [3e-5] * 3)]
    assert figures(Growth(axes={"tools": points}))["tools"] == pytest.approx(3.0)


def test_linear_is_held_against_results_that_are_not_small():
    # 9 ns a byte at 100 KB and 12 at 1 MB: a third more; the 2,000 of the small one is the cost of a call.
    points = [SizePoint("prose", 100, 2e-4, True), SizePoint("prose", 100_000, 9e-4, True)]
    points.append(SizePoint("prose", 1_000_000, 12e-3, False))
    growth = Growth(sizes=points)
    assert figures(growth)["prose"] == pytest.approx(4 / 3)
    assert "| prose | 2,000 | 9 | 12 | ≤ 1 MB | 1.33 | ≤ 1.50 | reached |" in "\n".join(growth_section(growth))


def test_memory_is_judged_by_tool_and_by_what_all_share():
    held = Held("prose", 10, 60 * KIB, 64 * KIB, 2 * MIB, [("keys", 32 * KIB)])
    found = figures(Growth(held=[held], cached=MIB))
    assert found["prose"] == 64.0
    assert found["the largest of these pools"] == 2.0


def test_an_attack_is_quadratic_where_a_character_costs_four_times_as_much():
    ordeal = Ordeal("quotes", [0.1, 0.4, 1.6], 0.8, None, "accept", [])
    assert ordeal.growth == pytest.approx(4.0)
    assert ordeal.relative == pytest.approx(2.0)
    assert tally(growth_lines(Growth(growing=[ordeal]))) == "2 of 3 reached, 1 missed, 0 not measured"


def test_what_was_given_up_has_missed_all_of_its_goals():
    ordeal = Ordeal("bomb", [], None, None, "", [], given_up="not done after 10 s")
    growth = Growth(large=[ordeal])
    # Time, memory and that it did not end are missed; no check failed.
    assert tally(growth_lines(growth)) == "1 of 4 reached, 3 missed, 0 not measured"
    assert "| bomb | not done after 10 s | – | ≤ 3.00 | missed |" in "\n".join(growth_section(growth))


def test_large_results_are_compared_only_where_json_takes_its_time():
    quick = Ordeal("10**400", [2e-4], 1e-5, 0, "accept", [])
    slow = Ordeal("keys", [0.5], 0.25, 3 * MIB, "accept", [])
    lines = [line for line in growth_lines(Growth(large=[quick, slow])) if line.goal.show is as_times]
    assert [(line.cells[0], line.figure) for line in lines] == [("keys", 2.0)]


def test_the_process_is_judged_by_starts_rate_and_memory():
    whole = {"import agentguard": 0.12, ENGINE: 0.22, "agentguard --version": 0.2, "agentguard --help": 0.3}
    replays = [Replay(10_000, 1.0, 50 * MIB), Replay(20_000, 0.8, 50 * MIB), Replay(40_000, 2.0, 60 * MIB)]
    found = [line.figure for line in growth_lines(Growth(starts=Starts(0.02, whole, []), replays=replays))]
    assert found == pytest.approx([100.0, 200.0, 300.0, 0, 25_000.0, 1.2])


def test_a_section_names_its_command_and_leaves_out_what_was_not_measured():
    text = growth_section(Growth())
    assert text == ["## Growth, memory and bounds", "`python benchmarks/growth.py`"]
    assert growth_lines(Growth()) == []


def test_attacks_have_names_of_their_own():
    names = [attack.name for attack in (*growth_attacks.GROWING, *growth_attacks.LARGE)]
    assert len(set(names)) == len(names)


def test_a_log_of_many_tools_is_held_against_one_of_fewer():
    # 8 s for 10,000 calls, 60 s for 40,000: .8 ms and 1.5 ms a call.
    read = [Replay(10_000, 8.0, 100 * MIB), Replay(40_000, 60.0, 130 * MIB)]
    found = figures(Growth(many={"report": read}))
    assert found["time a call, report of 40,000 tools, a call each, against 10,000 (60 s)"] == pytest.approx(1.875)
    assert found["peak memory, report of 40,000 tools, a call each, against 10,000 (130 MiB)"] == pytest.approx(1.3)
