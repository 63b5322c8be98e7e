"""What is measured on judged calls, against figures worked out by hand; the section and its pictures."""

import re

import pytest
from detection import lines
from detection.changes import Recovery
from detection.contestants import Score
from detection.intervals import over_families, resamples
from detection.measures import auroc, cells, early, false_alarms, quiet, recalls, threshold, tradeoffs, warm
from detection.plan import Results
from detection.reliability import reliability
from detection.section import faults_table, section
from detection.trials import Judged, Trial, run
from detection_runs import RUNS, Outcome
from document import document
from tables import tally


def said(posterior, kind="genuine", *, family="shop", number=30, seed=1, usual_ms=200.0):
    verdict = "block" if posterior >= 0.5 else "flag" if posterior >= 0.2 else "accept"
    return Judged(seed, family, kind, number, 200.0, usual_ms, Score(posterior, verdict))


GENUINE = [said(n / 1_000) for n in range(1, 101)]  # .001 to .100


def test_threshold_lets_one_in_a_hundred_genuine_calls_exceed_it():
    assert threshold(GENUINE) == 0.099  # of 100 calls, one lies above
    assert threshold(GENUINE, 0.05) == 0.095
    assert threshold([]) == 1.0


def test_a_cell_counts_recall_at_the_common_threshold():
    wrong = [said(posterior, "stale") for posterior in (0.05, 0.099, 0.15, 0.3, 0.9)]
    (cell,) = cells([*GENUINE, *wrong])
    assert (cell.family, cell.fault, cell.n) == ("shop", "stale", 5)
    assert cell.recalled == 3 / 5  # .15, .3 and .9 lie above .099
    assert cell.blocked == 1 / 5
    assert cell.noticed == 2 / 5
    # Of 100 genuine calls 49.5 lie below .05, 98.5 below .099, all below the rest.
    assert cell.auroc == pytest.approx((49.5 + 98.5 + 300) / 500)


def test_auroc_counts_ties_half():
    assert auroc([0.1, 0.1], [0.1]) == 0.5
    assert auroc([0.1, 0.2], [0.3]) == 1.0


def test_spoiled_history_is_neither_genuine_nor_a_fault():
    assert cells([*GENUINE, said(0.9, "spoiled")]) == []
    assert false_alarms([*GENUINE, said(0.9, "spoiled")])[0].blocked == 0.0


def test_recall_of_all_faults_is_the_mean_over_faults_and_without_the_replayed():
    wrong = [said(0.9, "stale"), said(0.9, "scaled"), said(0.01, "scaled"), said(0.01, "swapped_args_seen")]
    found = cells([*GENUINE, *wrong])
    assert recalls(found, "scaled") == {"shop": 0.5}
    assert recalls(found, "") == {"shop": 0.75}
    assert recalls(found, "swapped_args_seen") == {"shop": 0.0}


def test_warm_and_early_go_by_the_number_of_the_call():
    calls = [said(0.1, number=number) for number in (1, 2, 3, 10, 11, 20, 21)]
    assert [one.number for one in warm(calls)] == [21]
    assert [one.number for one in early(calls)] == [3, 10]


def test_false_alarms_by_family():
    shop, bank = false_alarms([said(0.1), said(0.3), said(0.6), said(0.1), said(0.1, family="zoo")])
    assert (shop.family, shop.n, shop.flagged, shop.blocked) == ("shop", 4, 0.5, 0.25)
    assert (bank.family, bank.flagged) == ("zoo", 0.0)


def test_run_lengths_to_the_first_alarm():
    calls = [said(posterior) for posterior in (0.1, 0.3, 0.1, 0.9)] + [said(0.1, family="zoo") for _ in range(3)]
    blocks, alarms = quiet(calls, "block"), quiet(calls, "flag or block")
    assert blocks.runs == (("shop", 3, True), ("zoo", 3, False))
    assert alarms.runs == (("shop", 1, True), ("zoo", 3, False))
    assert (blocks.calls_an_alarm, alarms.calls_an_alarm) == (7.0, 3.5)
    assert [alarms.still_quiet(calls) for calls in (1, 2, 3)] == [1.0, 0.5, 0.5]
    assert alarms.still_quiet(4) == 0.0  # a course of three says nothing of a fourth call
    assert quiet([said(0.1)], "block").calls_an_alarm is None


def test_a_tradeoff_weighs_faults_of_a_family_alike():
    calls = [said(0.1), said(0.9), said(0.9, "stale"), *[said(0.1, "scaled")] * 9]
    (point,) = tradeoffs(calls, [0.5], lambda one, at: one.score.posterior > at)
    assert (point.setting, point.false_blocks, point.blocks) == (0.5, 0.5, 0.5)


def test_reliability_weighs_wrong_calls_to_their_share():
    # Genuine calls at .05 and wrong ones at .95: with a share b of wrong calls, one bin holds 1 - b at .05 with none
    # wrong, the other b at .95 with all wrong; the error is .05 (1 - b) + .05 b.
    calls = [said(0.05)] * 40 + [said(0.95, "stale")] * 7
    got = reliability(calls, 0.02)
    assert got.error == pytest.approx(0.05)
    assert [(round(one.share, 6), round(one.posterior, 6), one.wrong) for one in got.bins] == [
        (0.98, 0.05, 0.0), (0.02, 0.95, 1.0),
    ]  # fmt: skip


def test_reliability_of_a_posterior_that_keeps_its_word_is_zero():
    # The same posterior .15 for all: at a base rate of 15% it is right, at 5% a tenth too high.
    calls = [said(0.15)] * 20 + [said(0.15, "stale")] * 20
    assert reliability(calls, 0.15).error == pytest.approx(0.0)
    assert reliability(calls, 0.05).error == pytest.approx(0.10)
    assert reliability(calls, 0.05, prior=0.05).error == pytest.approx(0.0)


def test_figure_has_an_interval_and_the_worst_family():
    figure = over_families({"a": 0.2, "b": 0.4, "c": 0.9})
    assert figure.mean == pytest.approx(0.5)
    assert 0.2 <= figure.low < figure.mean < figure.high <= 0.9
    assert (figure.worst, figure.worst_family) == (0.2, "a")
    assert over_families({"a": 0.2, "b": 0.4}, worst=max).worst_family == "b"
    assert over_families({}) is None
    assert [*resamples([1, 2, 3])] == [*resamples([1, 2, 3])]


def test_instant_goal_is_for_slow_tools():
    calls = [*GENUINE, said(0.9, "instant"), said(0.01, "instant", usual_ms=40.0)]
    (line,) = lines.instant(calls)
    assert line.figure == 1.0


def test_blocked_share_is_of_what_is_recalled():
    found = cells([*GENUINE, said(0.9, "stale"), said(0.3, "stale"), said(0.3, "truncated")])
    shares = {line.cells[0]: line.figure for line in lines.blocked_share(found)}
    assert shares["blocked as a share of recall, stale"] == 0.5
    assert shares["blocked as a share of recall, truncated"] == 0.0
    assert shares["blocked as a share of recall, swapped_tool"] is None


def test_change_goals_are_for_new_fields_and_states():
    recoveries = [Recovery("new_field", "shop", ("block", "accept")), Recovery("slower", "shop", ("block",))]
    assert [line.figure for line in lines.changed(recoveries)] == [0.5, None]


def test_a_bad_history_is_held_against_the_same_courses():
    clean = [*GENUINE, said(0.9, "stale"), said(0.9, "stale", seed=2)]
    spoiled = {0.1: [*GENUINE, said(0.01, "stale")]}
    results = Results(clean, clean, spoiled, {}, [], [])
    figures = {line.cells[0].split(", ")[-1]: line.figure for line in lines.spoiled(results)}
    assert figures["stale"] == -1.0
    assert [one.seed for one in lines.same_courses(clean, spoiled)] == [1] * 101


@pytest.fixture(scope="module")
def results():
    """Small courses of four families, judged by our engine in every part."""
    plan = Trial("ours", 1, ("records", "counters", "prose", "scalars"), 60)
    clean, full, spoiled = map(run, (plan, plan._replace(contestant="ours, every signal"), plan._replace(spoiled=0.3)))
    recoveries = [Recovery("nothing", "records", ("accept",) * 9), Recovery("new_field", "records", ("block",) * 9)]
    beside = {"default mode": clean, "reference mode": run(plan._replace(contestant="reference mode"))}
    return Results(clean, clean, {0.3: spoiled}, beside, full, recoveries, "it is not there")


def test_the_section_says_every_part_and_what_was_held_out(results):
    whole = section(results)
    text = "\n\n".join(whole.text)
    parts = "By fault|Where changes are adopted|By family|Reliability|Bad history|Calls 3 to 10|Genuine changes|Beside"
    for heading in parts.split("|"):
        assert f"### {heading}" in text
    assert "(calculations, empties, evolving, lists, prices, records, siblings, yaml_text)" in text
    assert "**awesome-agentguard was not measured**: it is not there." in text
    assert "| genuine new state blocked | – | – | – | ≤ 5.0% | not measured |" in text
    assert "| structure_mismatch |" in text
    assert tally(whole.lines).startswith(f"{sum(line.goal.reached(line.figure) is True for line in whole.lines)} of 27")


def test_a_section_stands_in_the_document_and_its_goals_count(results):
    missing = {plan.name: Outcome(None, "no data") for plan in RUNS}
    whole = section(results)
    bare, text = (
        document({}, "python measure.py", dict.fromkeys(missing, "python any.py"), missing, [], sections)
        for sections in ([], [whole])
    )
    assert "## Detection on generated tools" in text
    assert "## Detection on generated tools" not in bare
    before, goals, after = (
        [int(number) for number in re.findall(r"[0-9]+", said)]
        for said in (re.findall("default engine: .*", bare)[0], tally(whole.lines), re.findall("engine: .*", text)[0])
    )
    assert after == [one + other for one, other in zip(before, goals, strict=True)]


def test_faults_are_said_to_be_held_out(results):
    rows = faults_table(cells(warm(results.clean))).splitlines()
    assert any(row.startswith("| instant | held out |") for row in rows)
    assert any(row.startswith("| scaled |  |") for row in rows)
