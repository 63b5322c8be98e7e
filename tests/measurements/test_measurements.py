"""The measurements document: every figure beside its goal, and what was not measured said so."""

from dataclasses import dataclass
from pathlib import Path

import detection_tables
import pytest
from detection_runs import ROOT, RUNS, Outcome, Plan, command, run
from document import Section, document, renewed
from goals import Goal, as_points, as_ratio, as_score, as_share
from measurements import machine
from speed_tables import speed_lines, speed_rows
from tables import Line, judged, markdown, tally

from ..rows import over

CLEAN, SPOILED, FEW, REFERENCE, REVIEWED = (plan.name for plan in RUNS)
NAN = float("nan")


def fault(recall, *, n=50, auroc=0.9, echoing=None, blocked=0.5):
    return {"n": n, "auroc": auroc, "recall@1%": recall, "recall@1% (echoing tools)": echoing, "blocked": blocked}


REPORT = {
    "stream": {
        "shop/calls": {"n": 100, "flagged": 0.01, "blocked": 0.0, "us_per_call": 41.4},
        "bank/calls": {"n": 900, "flagged": 0.04, "blocked": 0.02, "us_per_call": 38.6},
    },
    "swaps": {
        "shop": {
            "genuine": {"n": 80, "flagged": 0.05, "blocked": 0.0125},
            "swapped_tool": fault(0.98, blocked=0.931),
            "truncated": fault(0.90, blocked=0.90),
            "swapped_args": fault(0.75, echoing=0.99),
            "stale": fault(None, auroc=None, blocked=0.0),
        }
    },
    "pairs": {
        "all": {"n": 40, "auroc": 0.6, "recall@5%": 0.2, "pairwise": 0.6},
        "tools with 3+ other calls": {"n": 0, "auroc": None, "recall@5%": None},
    },
    "latency": {"web": {"n": 30, "auroc": 1.0, "recall@1%": 1.0}},
}


@dataclass
class Ended:
    """A race that ended, with times made up in seconds."""

    size: str
    mode: str
    ours: float | None
    peer: float | None
    floor: float | None
    peer_missing: str = ""

    def p50(self, name):
        return getattr(self, name)

    def p99(self):
        return self.ours

    def ratio(self, other):
        theirs = getattr(self, other)
        return self.ours / theirs if self.ours and theirs else None


def rows_of(table):
    """The body of a Markdown table as lists of cells."""
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:]]


def whole(outcomes=None, standings=()):
    reports = {CLEAN: REPORT, SPOILED: REPORT, FEW: REPORT, REFERENCE: REPORT, REVIEWED: REPORT}
    outcomes = {name: Outcome(report) for name, report in reports.items()} if outcomes is None else outcomes
    commands = {plan.name: command(plan, ROOT / "eval.py", ROOT / "data") for plan in RUNS}
    return document({"CPUs": "2"}, "python benchmarks/measurements.py", commands, outcomes, standings)


@over(
    ("goal", "figure", "outcome"),
    [
        (Goal("at most", 0.015, as_share), 0.015, "reached"),
        (Goal("at most", 0.015, as_share), 0.027, "missed by 1.2 points"),
        (Goal("at most", 0.015, as_share), 0.01501, "missed by 0.1 points"),
        (Goal("at least", 0.97, as_score), 0.97, "reached"),
        (Goal("at least", 0.97, as_score), 0.9, "missed by 0.070"),
        (Goal("at least", 0.97, as_score), 0.96999, "missed by 0.001"),
        (Goal("at least", -0.1, as_points), -0.05, "reached"),
        (Goal("at least", -0.1, as_points), -0.35, "missed by 25.0 points"),
        (Goal("at most", 1 / 5, as_ratio), 0.1, "reached"),
        (Goal("at most", 1 / 15, as_ratio), 0.1, "missed: 1.5 times the goal"),
        (Goal("at most", 1 / 5, as_ratio), 0.2001, "missed: 1.1 times the goal"),
        (Goal("at most", 0.015, as_share), None, "not measured"),
        (Goal("at least", 0.97, as_score), NAN, "not measured"),
    ],
)
def test_outcome_says_reached_or_by_how_much_it_was_missed(goal, figure, outcome):
    assert goal.outcome(figure) == outcome


@over("show", [as_share, as_score, as_points, as_ratio])
@over("figure", [None, NAN])
def test_a_figure_that_is_not_there_is_a_dash(show, figure):
    assert show(figure) == "–"


@pytest.mark.parametrize(
    ("goal", "written"),
    [
        (Goal("at most", 0.005, as_share), "≤ 0.5%"),
        (Goal("at least", 0.4, as_score), "≥ 0.400"),
        (Goal("at least", -0.1, as_points), "≥ -10.0 points"),
        (Goal("at most", 1 / 15, as_ratio), "≤ 1/15"),
    ],
)
def test_a_goal_is_written_in_its_unit(goal, written):
    assert str(goal) == written


def test_tally_counts_each_goal_once():
    goal = Goal("at most", 0.5, as_share)
    lines = [Line((), figure, goal) for figure in (0.1, 0.5, 0.6, None, NAN)]
    assert tally(lines) == "2 of 5 reached, 1 missed, 2 not measured"


def test_markdown_keeps_a_cell_in_its_cell():
    table = markdown(("a", "b"), [("x|y", "two\nlines")])
    assert table.splitlines() == ["| a | b |", "|---|---|", r"| x\|y | two lines |"]


def test_judged_table_without_goals_has_the_figures_alone():
    lines = [Line(("shop",), 0.98, Goal("at least", 0.97, as_score))]
    assert rows_of(judged(("source",), lines)) == [["shop", "0.980", "≥ 0.970", "reached"]]
    assert rows_of(judged(("source",), lines, with_goals=False)) == [["shop", "0.980"]]


def test_stream_judges_mean_and_worst_source():
    # Mean flagged (.01 + .04) / 2 = .025, a point over .015; worst .04, a point over .03. Blocked: .01 and .02.
    assert rows_of(judged(("share",), detection_tables.stream(REPORT))) == [
        ["flagged or blocked, mean of sources", "2.5%", "≤ 1.5%", "missed by 1.0 points"],
        ["flagged or blocked, worst source", "4.0%", "≤ 3.0%", "missed by 1.0 points"],
        ["blocked, mean of sources", "1.0%", "≤ 0.5%", "missed by 0.5 points"],
        ["blocked, worst source", "2.0%", "≤ 1.0%", "missed by 1.0 points"],
    ]


def test_swaps_hold_echoing_tools_against_a_goal_of_their_own():
    found = {tuple(line.cells[:2]): (line.figure, str(line.goal)) for line in detection_tables.swaps(REPORT)}
    assert found == {
        ("shop", "swapped_tool"): (0.98, "≥ 0.970"),
        ("shop", "truncated"): (0.90, "≥ 0.980"),
        ("shop", "swapped_args"): (0.75, "≥ 0.900"),
        ("shop", "swapped_args, results echo arguments"): (0.99, "≥ 0.970"),
        ("shop", "stale"): (None, "≥ 0.400"),
    }


def test_blocked_share_is_of_the_recall_and_unknown_without_one():
    shares = {line.cells[1]: line.figure for line in detection_tables.blocked_share(REPORT)}
    assert shares["swapped_tool"] == pytest.approx(0.95)  # .931 / .98
    assert shares["truncated"] == pytest.approx(1.0)
    assert shares["stale"] is None
    none_found = {"swaps": {"shop": {"stale": fault(0.0, blocked=0.0)}}}
    assert detection_tables.blocked_share(none_found)[0].figure is None


def test_contaminated_is_the_change_from_the_clean_run():
    spoiled = {"swaps": {"shop": {"truncated": fault(0.85), "swapped_tool": fault(0.58), "stale": fault(NAN)}}}
    losses = {line.cells[1]: line for line in detection_tables.contaminated(REPORT, spoiled)}
    assert losses["truncated"].goal.outcome(losses["truncated"].figure) == "reached"  # .90 to .85
    assert losses["swapped_tool"].goal.outcome(losses["swapped_tool"].figure) == "missed by 30.0 points"  # .98 to .58
    assert losses["stale"].figure is None


def test_nothing_to_lose_is_no_success():
    nothing = {"swaps": {"shop": {"stale": fault(0.0)}}}
    assert [line.figure for line in detection_tables.contaminated(nothing, nothing)] == [None]


def test_contaminated_without_a_clean_run_is_not_measured():
    assert [line.figure for line in detection_tables.contaminated({}, REPORT)] == [None] * 4


def test_speed_rows_hold_the_ratio_against_the_goal_of_the_size():
    ended = [Ended("1 KB", "calibrated", 30e-6, 150e-6, 2e-6), Ended("50 KB", "reference", 100e-6, 1_000e-6, 25e-6)]
    header, rows = speed_rows(ended)
    small, large = (dict(zip(header, row, strict=True)) for row in rows)
    assert (small["ours p50"], small["ours / floor"], small["ours / peer"]) == ("30.0 µs", "15", "1/5")
    assert (large["peer p50"], large["ours / peer"], large["goal"]) == ("1,000.0 µs", "1/10", "≤ 1/15")
    assert large["outcome"] == "missed: 1.5 times the goal"


def test_speed_without_the_peer_says_why():
    (line,) = speed_lines([Ended("1 KB", "calibrated", 30e-6, None, 2e-6, peer_missing="no network")])
    assert "peer not measured: no network" in line
    assert "ours/floor 15" in line


def test_document_has_every_section_and_its_command():
    text = whole(standings=[Ended("1 KB", "calibrated", 10e-6, 150e-6, 2e-6)])
    for plan in RUNS:
        assert f"`{command(plan, ROOT / 'eval.py', ROOT / 'data')}`" in text
    assert "| 1 KB | calibrated | 10.0 µs |" in text
    assert "| tools with 3+ other calls | 0 | – | – | ≥ 0.920 | not measured |" in text
    assert str(ROOT) not in text


def test_document_counts_the_goals_of_the_default_engine_only():
    # Stream 0 of 4; swaps 2 of 5, one unknown; shares 2 of 4, one unknown; pairs 0 of 2, one unknown; latency 1 of 1;
    # nothing lost to contamination 3 of 4, one unknown; few calls 0 of 1; speed 1 of 1. The reference race adds none,
    # and where changes are adopted there are the stream and the swaps again.
    standings = [Ended("1 KB", "calibrated", 10e-6, 150e-6, 2e-6), Ended("1 KB", "reference", 90e-6, 150e-6, 2e-6)]
    assert "default engine: 11 of 31 reached, 15 missed, 5 not measured." in whole(standings=standings)


def test_document_says_what_was_not_measured():
    outcomes = {plan.name: Outcome(None, "there is no folder data") for plan in RUNS}
    text = whole(outcomes, [Ended("1 KB", "calibrated", 10e-6, None, 2e-6, peer_missing="no network")])
    assert text.count("**Not measured**: there is no folder data.") == len(RUNS)
    assert "**The peer was not measured**: no network." in text


def test_document_says_where_a_task_had_no_data():
    empty = {"stream": {}, "swaps": {}, "pairs": {}, "latency": {}}
    text = whole({plan.name: Outcome(empty) for plan in RUNS})
    assert "Not measured: the data has no rows for it." in text


def test_machine_names_no_host():
    assert set(machine()) == {"CPUs", "architecture", "Python"}


def test_command_is_relative_to_the_project():
    said = command(Plan("any", ("--history", "5")), ROOT / "../eval/detection.py", ROOT / "../data")
    assert said == "python ../eval/detection.py ../data --history 5"


SCRIPT = """
import json, sys
options = sys.argv[1:]
with open(options[options.index("--json") + 1], "w") as out:
    json.dump({"stream": {"args": options[:2][1:]}}, out)
print("noise")
"""


def test_run_reads_the_report_that_the_script_writes(tmp_path):
    script = tmp_path / "detection.py"
    script.write_text(SCRIPT)
    assert run(Plan("any", ("--quick",)), script, tmp_path) == Outcome({"stream": {"args": ["--quick"]}})


@pytest.mark.parametrize(
    ("source", "said"), [("raise SystemExit(7)", "the script ended with code 7"), (None, "there is no file")]
)
def test_run_says_why_there_is_no_report(tmp_path, source, said):
    script = tmp_path / "detection.py"
    if source is not None:
        script.write_text(source)
    outcome = run(Plan("any", ()), script, tmp_path)
    assert outcome.report is None
    assert said in outcome.missing


def test_run_without_data_says_so():
    assert run(RUNS[0], ROOT / "any.py", Path("no-such-folder")).missing.startswith("there is no folder")


OLD = """# Measurements

Goals of the default engine: 2 of 5 reached, 2 missed, 1 not measured.

## What is missed, and why

What was said.

## Claims (`old command`)

| what | measured | goal | outcome |
|---|---|---|---|
| found | 0.500 | ≥ 0.850 | missed by 0.350 |
| accused | 3.0% | ≤ 1.0% | missed by 2.0 points |

## Clone

Not measured: `command`.

## Speed

| what | outcome |
|---|---|
| fast | reached |
"""


def test_a_section_that_is_measured_anew_takes_the_place_of_the_old_one_and_its_goals_count():
    accused = Line(("accused",), 0.005, Goal("at most", 0.01, as_share))
    claims = Section(["## Claims (`command`)", judged(("what",), [accused])], [accused])
    clones = [Line((name,), figure, Goal("at most", 1.0, as_ratio)) for name, figure in (("a", 0.5), ("b", None))]
    clone = Section(["## Clone (`command`)", judged(("what",), clones)], clones)

    text = renewed(OLD, [claims, clone])

    assert "Goals of the default engine: 4 of 6 reached, 0 missed, 2 not measured." in text
    assert "found" not in text.partition("## Claims")[2]
    assert text.index("## Claims (`command`)") < text.index("## Clone (`command`)") < text.index("## Speed\n\n| what")
    assert "What was said." not in text
    assert renewed(text, [claims, clone]) == text


def test_a_section_that_is_not_there_is_no_new_one():
    with pytest.raises(ValueError, match="no section '## Growth'"):
        renewed(OLD, [Section(["## Growth"])])
