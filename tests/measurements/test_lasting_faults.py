"""Faults that last: what strikes and keeps to it, trials of engines whose answers are known, and their figures."""

import gzip
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from detection.calls import Call
from detection.faults import FAULTS
from detection.faults.scene import same
from detection.spots import walk
from lasting import recorded as recorded_run
from lasting.curve import Point, Variant, curve
from lasting.faults import LASTING
from lasting.forks import WorkFailedError, forked
from lasting.pictures import PICTURE, draw
from lasting.plan import Outcome, Results, Reviewed, Verdicts, script_report
from lasting.protocol import (
    AFTER,
    BEFORE,
    FAULTY,
    MODES,
    Lasted,
    Said,
    course,
    courses,
    genuine_change,
    lasted,
    reads_as_error,
    struck,
    trial,
)
from lasting.section import goal_lines, section
from lasting.streams import Heard, Stream, generated, listened, pooled, recorded
from tables import tally

from agentguard.verification import VerificationEngine

NAN = float("nan")
HELD = ("records", "prices", "random_walks", "prose")


class Engine:
    """An engine of one rule: from the call's name (None, ``bad-0``, …) and the labels given so far to a verdict."""

    def __init__(self, rule):
        self._rule = rule
        self.labels = []
        self.calls = []

    def verify(self, tool, *, args, result, execution_time_ms, session_id, call_id=None, is_error=False):
        self.calls.append((tool, result, call_id, is_error))
        return SimpleNamespace(verdict=self._rule(self, call_id, is_error), posterior=0.5)

    def record_feedback(self, tool, confidence_score, was_hallucination, call_id=None):
        self.labels.append((tool, was_hallucination, call_id))


def making(rule):
    return lambda: Engine(rule)


def always(verdict):
    return making(lambda engine, call_id, is_error: verdict)


def number(call_id):
    return int(call_id.rpartition("-")[2])


@pytest.fixture(scope="module")
def made():
    """The courses of one agent's four families."""
    return {family: course(1, HELD, family) for family in HELD}


@pytest.fixture(scope="module")
def prices(made):
    return made["prices"], struck(made["prices"], "scaled")


def figures(said):
    return said.first, said.held, said.spoiled, said.kept, said.blocked_from_second


# --- The trials, on engines whose answers are known ---


def test_an_engine_that_always_blocks_holds_everything_and_spoils_everything(prices):
    plain, labelled, retried = (trial(always("block"), *prices, mode) for mode in MODES)
    assert figures(plain) == (True, 1.0, 1.0, None, 1.0)
    assert figures(labelled) == figures(plain)
    assert (len(plain.faulty), len(plain.after)) == (FAULTY, AFTER)
    assert (retried.faulty, retried.retries, retried.kept) == (["block"], ["block"] * 3, True)


def test_an_engine_that_always_accepts_holds_nothing(prices):
    plain, labelled, retried = (trial(always("accept"), *prices, mode) for mode in MODES)
    assert figures(plain) == (False, 0.0, 0.0, None, None)
    assert labelled == plain
    assert (retried.retries, retried.kept) == ([], None)


def test_an_engine_that_reports_only_the_first_holds_a_thirtieth(prices):
    only_first = making(lambda engine, call_id, is_error: "block" if call_id == "bad-0" else "accept")
    assert figures(trial(only_first, *prices)) == (True, 1 / 30, 0.0, None, None)
    assert trial(only_first, *prices, "retried").kept is False  # asked again, the call has no name


def test_labels_reach_the_engine_for_each_faulty_call_that_was_not_accepted(prices):
    def every_third_until_two_labels(engine, call_id, is_error):
        if call_id is None:
            return "accept"
        return "block" if len(engine.labels) >= 2 else "accept" if number(call_id) % 3 else "flag"

    engines = []

    def make():
        engines.append(Engine(every_third_until_two_labels))
        return engines[-1]

    # Flagged: 0, 3, …, 27, and so ten of thirty; labelled: 0 and 3, from then on all 26 are blocked.
    assert figures(trial(make, *prices)) == (True, 1 / 3, 0.0, None, 0.0)
    assert figures(trial(make, *prices, "labelled")) == (True, 28 / 30, 0.0, None, 1.0)
    told = [("get_product", True, f"bad-{n}") for n in (0, *range(3, 30))]
    assert [one.labels for one in engines] == [[], told]


def test_no_call_is_left_without_a_second_label():
    said = Said(["accept"] * 28 + ["flag"] * 2, [], [])
    assert said.blocked_from_second is None  # the second was the last
    assert Said(["flag", "flag", "block", "flag"], [], []).blocked_from_second == 0.5


def test_a_genuine_change_is_labelled_three_times_at_most_and_watched_for_27_calls(made):
    engines = []

    def flags_new(engine, call_id, is_error):
        return "accept" if call_id is None or len(engine.labels) > 1 else "flag"

    def make():
        engines.append(Engine(flags_new))
        return engines[-1]

    assert genuine_change(make, made["records"]) == ["accept"] * 27
    assert engines[-1].labels == [("get_customer", False, "new-0"), ("get_customer", False, "new-1")]
    changed = [result for _, result, call_id, _ in engines[-1].calls if call_id]
    assert [set(result) >= {"revision", "customer_id"} for result in changed] == [True] * FAULTY
    assert genuine_change(always("flag"), made["records"]) == ["flag"] * 27


def test_trials_in_copies_of_the_process_are_those_with_fresh_engines(made):
    some, kinds = [made["prices"], made["prose"]], ("scaled", "repeated", "truncated")
    copied, plain = (lasted(VerificationEngine, some, kinds, copies=copies) for copies in (True, False))
    assert copied == plain
    found, changes = plain
    assert [(one.family, one.fault) for one in found] == [(f, k) for f in ("prices", "prose") for k in kinds]
    assert set(changes) == {"prices", "prose"}
    assert {verdict for one in found for said in one.said.values() for verdict in said.faulty} > {"accept", "block"}


def test_only_what_is_asked_for_is_run(made):
    found, changes = lasted(always("flag"), [made["prices"]], ("negated",), ("plain",))
    assert [set(one.said) for one in found] == [{"plain"}]
    assert changes == {}


# --- What strikes ---


def test_every_fault_can_last():
    assert list(LASTING) == list(FAULTS)


def test_a_course_is_the_same_for_the_same_seed_and_has_enough_calls_of_its_tool(made):
    one = made["records"]
    assert course(1, HELD, "records") == one
    assert course(2, HELD, "records") != one
    own = [call for call in one.calls() if call.tool == one.tool]
    assert len([*one.calls()]) == len(one.order) == 2_000
    assert len(own) == 500
    assert [call for _, call, _ in one.scenes()] == own
    assert sum(call.tool == one.tool for call in [*one.calls()][: one.first_calls()]) == BEFORE
    assert courses((1,), ["few_calls"]) == []


@pytest.mark.parametrize("fault", LASTING)
def test_a_fault_strikes_thirty_calls_of_the_tool_after_sixty_and_nothing_else(fault, made):
    tried = 0
    for one in made.values():
        wrong = struck(one, fault)
        if wrong is None:
            continue
        tried += 1
        assert struck(one, fault) == wrong
        calls = [*one.calls()]
        assert len(wrong) == FAULTY
        assert min(wrong) >= one.first_calls()
        for place, bad in wrong.items():
            right = calls[place]
            assert bad[:2] == right[:2] == (one.tool, right.args)
            assert (json.dumps(bad.result), bad.ms) != (json.dumps(right.result), right.ms)
            assert not reads_as_error(right.result)
    assert tried >= (1 if fault == "stale" else 3)


def columns_changed(right, bad):
    """Where two results of the same form differ, without places in lists."""
    left, other = (dict(walk(one)) for one in (right, bad))
    return {
        tuple("[]" if isinstance(step, int) else step for step in path)
        for path in left
        if path and not isinstance(left[path], (dict, list)) and not same(left[path], other.get(path))
    }


@pytest.mark.parametrize("family", ["records", "prices", "random_walks"])
@pytest.mark.parametrize("fault", ["scaled", "negated", "unit_changed", "reformatted", "wrong_type"])
def test_a_fault_in_a_value_keeps_to_its_field(fault, family, made):
    wrong = struck(made[family], fault)
    calls = [*made[family].calls()]
    pairs = [(calls[place].result, bad.result) for place, bad in wrong.items()]
    if fault == "wrong_type" and family == "records":  # here the whole answer was drawn: all are wrapped
        assert all(bad == [right] for right, bad in pairs)
        return
    fields = [columns_changed(right, bad) for right, bad in pairs]
    assert len(set.union(*fields)) == 1
    name = next(iter(fields[0]))[-1]
    if fault == "negated":
        assert all(bad[name] == -right[name] for right, bad in pairs)
    if fault == "scaled":  # whole numbers stay whole
        assert any(all(abs(bad[name] - factor * right[name]) <= 0.5 for right, bad in pairs) for factor in (10, 0.1))


def test_a_text_is_misread_behind_the_same_word(made):
    wrong = struck(made["prose"], "negated")
    words = set()
    calls = [*made["prose"].calls()]
    for place, bad in wrong.items():
        before, after = calls[place].result.split(), bad.result.split()
        at = next(n for n, (old, new) in enumerate(zip(before, after, strict=True)) if old != new)
        words.add(before[at - 1])
    assert len(words) == 1


def test_the_same_keys_are_gone_or_renamed(made):
    for fault in ("dropped", "renamed"):
        calls = [*made["prices"].calls()]
        gone = {
            frozenset(set(calls[place].result) - set(bad.result))
            for place, bad in struck(made["prices"], fault).items()
            if "was" not in calls[place].result
        }
        assert len(gone) == 1


def test_a_stuck_answer_and_a_stale_copy_are_from_before_the_fault(made):
    one = made["random_walks"]
    calls = [*one.calls()]
    stuck, stale = struck(one, "repeated"), struck(one, "stale")
    answers = [call.result for call in calls[: min(stuck)] if call.tool == one.tool]
    assert all(bad.result == answers[-1] for bad in stuck.values())
    last = {call.args["symbol"]: call.result for call in calls[: min(stale)] if call.tool == one.tool}
    assert all(bad.result == last[bad.args["symbol"]] for bad in stale.values())


def test_one_foreign_tool_answers(made):
    one = made["prose"]  # two tools: the sibling answers
    guides = [call.result for call in one.planned["prose"] if call.tool != one.tool]
    assert all(bad.result in guides for bad in struck(one, "swapped_tool").values())


def test_a_fault_that_shows_too_rarely_is_none(made):
    assert struck(made["records"], "stale") is None  # records seldom change


# --- Copies of the process ---


def test_results_come_in_the_order_of_the_jobs():
    ended = []
    jobs = [lambda n=n: {"n": n, "text": "x" * 200_000} for n in range(5)]
    assert [got["n"] for got in forked(jobs, 2, lambda: ended.append(1))] == [0, 1, 2, 3, 4]
    assert len(ended) == 5
    assert forked([]) == []


def test_what_a_copy_learns_ends_with_it():
    learned = []
    assert forked([lambda: learned.append(1) or len(learned)] * 3) == [1, 1, 1]
    assert learned == []


@pytest.mark.parametrize(
    ("job", "says"), [(lambda: 1 / 0, "ZeroDivisionError"), (lambda: os._exit(3), "without a result")]
)
def test_a_copy_that_fails_says_so(job, says):
    with pytest.raises(WorkFailedError, match=says):
        forked([lambda: 1, job, lambda: 3])


# --- Genuine streams ---


def heard(n, tool="shop", source="s", is_error=False):
    return [Heard(source, Call(tool, {}, {"n": at}, 9.0, "x"), 9.0, is_error) for at in range(n)]


class Telling(Engine):
    """Tells of two changes, one of which no call looked like."""

    def changes(self):
        return [
            SimpleNamespace(tool="shop", state="open", calls=3, what="price"),
            SimpleNamespace(tool="shop", state="open", calls=0, what="stock"),
        ]


def test_a_stream_counts_known_calls_and_all_changes():
    odd = iter(["block"] * 22 + ["accept", "flag", "block"])
    (one,) = listened(Telling(lambda engine, call_id, is_error: next(odd)), heard(25))
    assert one[:6] == ("s", 25, 5, 4, 3, 1)  # known: 21 to 25, of which two and the last are blocked
    assert (one.flagged_share, one.blocked_share, one.per_thousand) == (0.8, 0.6, 40.0)
    assert one.told == ["shop: open, 3 calls, price"]


def test_an_engine_is_told_of_errors_only_where_it_shall_be():
    calls = [*heard(3), *heard(2, is_error=True)]
    accepts_marked = making(lambda engine, call_id, is_error: "accept" if is_error else "flag")
    (blind,), (told,) = (listened(accepts_marked(), calls, marked=marked) for marked in (False, True))
    assert (blind.errors, blind.errors_share) == (2, 1.0)
    assert (told.errors, told.errors_share) == (2, 0.0)
    assert told.changes is None  # this engine tells of none
    assert told.per_thousand is None


def test_streams_pool_by_calls():
    some = [Stream("a", 100, 80, 4, 2, 1, ["x"], 2, 1), Stream("b", 300, 20, 1, 0, 0, [], 0, 0)]
    both = pooled(some)
    assert (both.flagged_share, both.blocked_share, both.per_thousand, both.errors_share) == (0.05, 0.02, 2.5, 0.5)
    assert pooled([]).per_thousand is None


def test_recorded_streams_are_read_as_they_were_recorded(tmp_path):
    row = {"session_id": 7, "tool": "t", "args": {"a": 1}, "is_error": False, "latency_ms": 5.0, "label": "genuine"}
    rows = [
        row | {"result": '{"n": 1}'}, row | {"result": "1"}, row | {"result": "x", "label": "injected"},
        row | {"result": "<Data omitted because it is unsafe>"}, row | {"result": "Error", "is_error": True},
    ]  # fmt: skip
    for folder, name in (("mcp_recorded", "shop"), ("apibank", "calls"), ("apibank", "attacked_runs"), ("other", "x")):
        (tmp_path / folder).mkdir(exist_ok=True)
        with gzip.open(tmp_path / folder / f"{name}.jsonl.gz", "wt") as out:
            out.writelines(json.dumps(one) + "\n" for one in rows)
    seen = []

    class Noting(Engine):
        def verify(self, tool, **said):
            seen.append((said["result"], said["execution_time_ms"], said["session_id"], said.get("is_error")))
            return super().verify(tool, **said)

    # In this process, where what the engine saw can be looked at.
    from lasting.streams import _file, stream_files

    files = stream_files(tmp_path)
    assert [path.parent.name for path in files] == ["apibank", "mcp_recorded"]
    for path in files:
        (one,) = _file(lambda: Noting(lambda *call: "accept"), path, True)
        assert one[:3] == (f"{path.parent.name}/{path.name.split('.')[0]}", 3, 0)
        assert one.errors == 1
    untimed, timed = seen[:3], seen[3:]
    assert timed == [({"n": 1}, 5.0, "7", None), ("1", 5.0, "7", None), ("Error", 5.0, "7", True)]
    assert [ms for _, ms, _, _ in untimed] == [None] * 3
    assert [one.source for one in recorded(always("accept"), tmp_path)] == ["apibank/calls", "mcp_recorded/shop"]


def test_generated_streams_are_of_the_families_that_were_asked_for():
    found = generated(always("flag"), (1,), ["records", "lists"], calls=30)
    assert [(one.source, one.calls, one.known, one.flagged_share) for one in found] == [
        ("lists", 30, 10, 1.0), ("records", 30, 10, 1.0),
    ]  # fmt: skip


# --- The script for recorded calls ---

#: A script with the parts that are asked of one: two tools, whose calls count up; a fault shows in every second call.
SCRIPT = """
import argparse, importlib, json, sys
BEFORE = 4
FAULTS = {"odd": lambda n: -n if n % 2 else None, "never": lambda n: None}

def one(engine, row, call_id=None):
    return engine.verify(row["tool"], args={}, result=row["n"], execution_time_ms=None, session_id="s", call_id=call_id)

def trial(make, calls, tool, kind, label, retry=False):
    engine, own, faulty, retried, after = make(), 0, [], None, []
    for row in calls:
        own += row["tool"] == tool
        bad = FAULTS[kind](row["n"]) if row["tool"] == tool and own > BEFORE and len(faulty) < 3 else None
        if bad is None:
            said = one(engine, row).verdict if own > BEFORE else one(engine, row)
            if len(faulty) == 3:
                after.append(said != "accept")
            continue
        name = f"bad-{len(faulty)}"
        got = one(engine, {**row, "n": bad}, name)
        faulty.append(got.verdict != "accept")
        if label and faulty[-1]:
            engine.record_feedback(tool, got.posterior, True, call_id=name)
        if retry and len(faulty) == 1 and faulty[0]:
            retried = all(one(engine, {**row, "n": bad}).verdict != "accept" for _ in range(3))
    return (faulty, retried, after) if len(faulty) == 3 else None

def change(make, calls, tool):
    engine = make()
    return [one(engine, row).verdict != "accept" for row in calls][-3:] if tool == "a" else None

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data"); parser.add_argument("--engine"); parser.add_argument("--tools", type=int, default=9)
    parser.add_argument("--json")
    options = parser.parse_args()
    module, _, factory = options.engine.partition(":")
    sys.path.insert(0, ".")
    make = getattr(importlib.import_module(module), factory)
    calls = [{"tool": "ab"[n % 3 == 0], "n": n} for n in range(40)]
    report = {}
    for tool in "ab"[: options.tools]:
        for kind in FAULTS:
            plain = trial(make, calls, tool, kind, label=False)
            if plain is not None:
                labelled = trial(make, calls, tool, kind, label=True)
                again = trial(make, calls, tool, kind, label=False, retry=True)[1]
                report.setdefault(kind, {})[tool] = [plain, labelled, again]
        report.setdefault("change", {})[tool] = change(make, calls, tool)
    text = json.dumps(report)
    print(text)
    if options.json:
        open(options.json, "w").write(text)

if __name__ == "__main__":
    main()
"""

#: It learns: a result is odd where it is below the mean of all until now; two labels make it block.
ENGINE = """
from types import SimpleNamespace
class make:
    def __init__(self):
        self.seen, self.labels = [], 0
    def verify(self, tool, *, result, **said):
        self.seen.append(result)
        odd = result < sum(self.seen) / len(self.seen) - 1 and len(self.seen) % 5
        verdict = "block" if self.labels >= 2 else "flag" if odd else "accept"
        return SimpleNamespace(verdict=verdict, posterior=.5)
    def record_feedback(self, *label, **said):
        self.labels += 1
"""


@pytest.fixture
def script(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "stub_engine.py").write_text(ENGINE)
    return tmp_path / "script.py"


@pytest.mark.parametrize("more", [(), ("--tools", "1")])
def test_the_script_run_in_copies_gives_its_own_report(script, more):
    words = [str(script), str(script.parent), "--engine", "stub_engine:make", *more]

    def report(*by):
        ended = subprocess.run([sys.executable, *by, *words], capture_output=True, text=True, cwd=script.parent)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    plain, copied = report(), report(recorded_run.__file__)
    blocked = copied["odd"].pop(recorded_run.BLOCKED)
    assert copied == plain
    assert list(copied) == list(plain)
    # Of three faulty calls, the third is the one after the second label: blocked, in each tool.
    assert [labelled[0] for _, labelled, _ in plain["odd"].values()] == [[True] * 3] * len(plain["odd"])
    assert blocked == 1.0


def test_a_report_says_why_there_is_none(script, tmp_path):
    assert script_report(script, tmp_path / "none").missing.startswith("there is no folder")
    assert script_report(tmp_path / "none.py", tmp_path).missing.startswith("there is no file")
    script.write_text("raise SystemExit(7)")
    assert script_report(script, tmp_path) == Outcome(None, "the script ended with code 7")


# --- The section ---


def kind(**figures):
    return {"trials": 4, "first": 1.0, "held": 0.95, "labelled": 1.0, "retried": 1.0, "after": 0.0, **figures}


def results(**changes):
    report = {
        "null": kind(**{recorded_run.BLOCKED: 1.0}), "dropped": kind(held=0.85, **{recorded_run.BLOCKED: 0.98}),
        "scaled": kind(first=0.7, held=0.6, labelled=0.7, retried=None, after=0.04, **{recorded_run.BLOCKED: 0.7}),
        "change": {"trials": 3, "flagged": 0.02},
    }  # fmt: skip
    said = {mode: Said(["block"] * 15 + ["accept"] * 15, ["block"] * 3, ["accept"] * 20) for mode in MODES}
    found = [Lasted(1, family, fault, said) for family in ("records", "search") for fault in ("scaled", "instant")]
    streams = [
        Stream("mcp_recorded/x", 1_000, 900, 9, 0, 2, [], 50, 2),
        Stream("apibank/y", 500, 400, 8, 4, 0, [], 5, 5),
    ]
    ours = Verdicts(found, {"records": ["accept"] * 27}, [Stream("records", 1_000, 980, 49, 0, 7, [], 0, 0)])
    points = [
        Point("low", 0.9, 0.8, 0.01, 0.02, 0.004, 2.0, None, None, None),
        Point("high", 0.8, 0.7, 0.01, 0.01, 0.002, 1.0, None, None, None),
    ]
    adopted = Reviewed(
        [stream._replace(flagged=4, blocked=1, changes=1) for stream in streams],
        [Stream("records", 1_000, 980, 10, 0, 2, [], 0, 0)],
    )
    whole = Results(Outcome(report), Outcome({"null": kind(held=0.1)}), ours, ours, streams, streams, adopted, points)
    return whole._replace(**changes)


def test_goals_are_held_against_the_worst_kind_and_scaled_against_its_own():
    lines = {(line.cells[0], line.cells[1]): line for line in goal_lines(results())}
    of_all, hard = lines["of 30 faulty calls, not accepted", "recorded"], None
    hard = lines["of 30 faulty calls, not accepted, scaled", "recorded"]
    assert (of_all.figure, str(of_all.goal), of_all.cells[2]) == (0.85, "≥ 0.900", "dropped")
    assert (hard.figure, str(hard.goal)) == (0.6, "≥ 0.650")
    assert lines["genuine calls after the recovery not accepted", "recorded"].figure == 0.04
    assert lines["asked again three times, never accepted", "recorded"].figure == 1.0
    # Means of the sources: 9 of 900 and 8 of 400 calls; 2 incidents in 1,500 calls; 2 of 50 errors of real servers.
    assert lines["genuine calls not accepted", "recorded"].figure == pytest.approx(0.015)
    assert lines["incidents in 1,000 genuine calls", "recorded"].figure == pytest.approx(4 / 3)
    errors = lines["calls marked as errors not accepted, of 50", "recorded"]
    assert (errors.figure, errors.goal.outcome(errors.figure)) == (0.04, "missed by 2.0 points")
    often = lines["incidents in 1,000 genuine calls", "generated"]
    assert often.goal.outcome(often.figure) == "missed by 4.0"


def test_the_section_has_every_part_and_marks_what_is_held_out():
    whole = section(results(), "python any.py")
    text = "\n\n".join(whole.text)
    for heading in "goals|on recorded calls|on generated tools|beside awesome-agentguard 0.2.0".split("|"):
        assert f"### Lasting faults {heading}".replace("faults goals", "faults: goals") in text
    assert "| instant | held out | 2 | 1.000 | 0.500 (0.500 to 0.500) | 0.500 (0.500 to 0.500) |" in text
    assert "| scaled |  | 2 |" in text
    assert "| mcp_recorded/x | 1000 | 900 | 1.0% | 0.0% | 2.0 | 0.4% | 0.1% | 1.0 | 50 | 4.0% |" in text
    assert "| null | 1.000 | 1.000 | 0.950 | 0.100 |" in text
    assert PICTURE in text
    # Missed: held and held of scaled, after, errors; of the generated streams flags and incidents.
    assert tally(whole.lines).startswith("21 of 27 reached, 6 missed")


def test_the_section_says_what_was_not_measured():
    gone = Outcome(None, "there is no folder ../data")
    bare = results(
        script=gone, recorded=[], marked=[], reviewed=Reviewed([], []), rival=None, rival_missing="no network"
    )
    text = "\n".join(section(bare, "python any.py").text)
    assert text.count("**Not measured**: there is no folder ../data.") == 2
    assert "**Not measured**: no recorded calls." in text
    assert "**awesome-agentguard was not measured**: no network." in text


def test_the_curve_takes_any_engine():
    done = []
    variants = [Variant("blocks", always("block")), Variant("accepts", always("accept"))]
    blocks, accepts = curve(variants, None, lambda: done.append(1), ["records", "counters", "search"])
    assert blocks == Point("blocks", 1.0, 1.0, 1.0, 1.0, 1.0, None, None, None, None)
    assert accepts == Point("accepts", 0.0, 0.0, 0.0, 0.0, 0.0, None, None, None, None)
    assert len(done) == 2


def test_the_picture_is_the_same_for_the_same_figures(tmp_path):
    for folder in ("a", "b"):
        draw(results().curve, tmp_path / folder)
    drawn = (tmp_path / "a" / PICTURE).read_bytes()
    assert drawn == (tmp_path / "b" / PICTURE).read_bytes()
    assert b"<dc:date>" not in drawn
    assert b"incidents in 1,000 genuine calls" in drawn
