"""The guard in LangGraph beside a wrapper that does nothing: both are timed, and the difference is held to its goal."""

import in_langgraph
from in_langgraph import MOST, Added, measure, section


def test_both_wrappers_are_timed_in_every_way() -> None:
    rows = measure(warm=1, timed=5)

    assert [row.how for row in rows] == ["invoke", "ainvoke", "a turn of an agent"]
    assert all(0 < row.nothing <= row.nothing_p50 for row in rows)


def test_the_difference_of_the_minima_stands_beside_its_goal(monkeypatch) -> None:
    turns = [(100e-6, 240e-6), (300e-6, 500e-6), (200e-6, 700e-6)]
    row = in_langgraph._added("invoke", turns)

    assert [round(figure) for figure in row[1:]] == [100, 200, 140, 200]

    rows = [row, Added("ainvoke", 90.0, 110.0, 170.0, 190.0)]
    monkeypatch.setattr(in_langgraph, "measure", lambda: rows)
    made = section()

    assert [line.goal.reached(line.figure) for line in made.lines] == [True, False]
    assert "| invoke | 100 µs | 200 µs | 200 µs | 140 µs | ≤ 150 µs | reached |" in made.text[-1]
    assert MOST.outcome(170.0) == "missed by 20 µs"
