"""The race over HTTP: both requests are answered, and the figures stand beside their goal."""

import over_http
from over_http import GOAL, Served, measure, section


def test_both_requests_are_timed():
    served = measure(1_024, warm=2, timed=20)

    assert 0 < served.nothing_p50 <= served.nothing_p99
    assert 0 < served.verify_p50 <= served.verify_p99


def test_the_figures_stand_beside_their_goal(monkeypatch):
    monkeypatch.setattr(over_http, "measure", lambda size: Served(0.4, 0.9, 1.25 if size < 2_000 else 2.5, 3.0))

    made = section()

    assert [line.goal.reached(line.figure) for line in made.lines] == [True, False]
    assert made.text[0] == "## Over HTTP"
    assert "| 1 KB | 0.40 ms | 0.90 ms | 3.00 ms | 1.25 ms | ≤ 2.00 ms | reached |" in made.text[-1]
    assert GOAL.outcome(2.5) == "missed by 0.50 ms"
