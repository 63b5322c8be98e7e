import io
import json
import re
import tempfile
import threading
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

from agentguard.demo import DemoReport, run_demo
from agentguard.demo._agent import Event, FaultKind, run_agent
from agentguard.demo._plan import plan_calls, rehearse
from agentguard.demo._run import line
from agentguard.demo._tools import PROFILES, Toolbox
from agentguard.errors import ConfigurationError

from .guards import Always, Interrupted, Oracle, verdict_of


def screen(**options):
    return Console(file=io.StringIO(), width=200, **options)


def unwrapped(console):
    """What was printed, without the line breaks of long sentences."""
    return re.sub(r" ?\n(?! )", " ", console.file.getvalue())


def run(guard, *, calls=150, seed=7, as_json=False, delay_scale=0.0):
    console = screen()
    report = run_demo(console, calls=calls, seed=seed, as_json=as_json, engine=guard, delay_scale=delay_scale)
    return report, unwrapped(console)


def rehearsed_150():
    return rehearse(plan_calls(150, seed=7), seed=7)


@pytest.fixture(scope="module")
def accepted():
    guard = Always("accept")
    return guard, *run(guard)


@pytest.fixture(scope="module")
def blocked():
    guard = Always("block")
    return guard, *run(guard)


class TestAGuardThatAcceptsEverything:
    def test_catches_nothing_and_the_report_says_so(self, accepted):
        _, report, shown = accepted
        assert [(f.occurrences, f.blocked, f.flagged, f.missed) for f in report.faults] == [(2, 0, 0, 2)] * 8
        assert report.genuine == (134, 0, 0)
        assert (report.genuine_warm_up.calls, report.genuine_later.calls) == (30, 104)
        assert (report.kinds_mostly_caught, report.goal_reached, report.abandoned_steps) == (0, False, 0)
        assert "0 of 8 kinds of fault were caught" in shown
        assert "0 of 134 genuine calls (0.0%) were blocked" in shown
        assert "is not reached" in shown
        assert (
            "Of 16 faulty answers the agent refused 0 and asked again, used 0 with a warning and believed 16." in shown
        )
        assert "<-" not in shown

    def test_is_told_what_an_adapter_would_tell_it_and_nothing_else(self, accepted):
        guard, _, _ = accepted
        assert guard.profiles == PROFILES
        assert len(guard.asked) == 150
        for number, (tool, given) in enumerate(guard.asked, start=1):
            assert given.keys() == {"args", "result", "execution_time_ms", "session_id", "call_id"}
            assert given["call_id"] == f"call-{number}"
            assert re.fullmatch(r"session-\d+", given["session_id"])
            assert type(given["result"]) is str
            assert tool in PROFILES
            assert given["execution_time_ms"] > 0

    def test_a_fabricated_answer_takes_no_call(self, accepted):
        _, report, _ = accepted
        network = [event for event in report.events if event.tool in ("get_weather", "get_quote")]
        instant = [event.execution_ms for event in network if event.fault is FaultKind.INSTANT]
        assert len(instant) == 2
        assert max(instant) < min(event.execution_ms for event in network if event.fault is not FaultKind.INSTANT)


class TestAGuardThatBlocksEverything:
    def test_is_wrong_about_every_genuine_call_and_the_report_says_so(self, blocked):
        _, report, shown = blocked
        assert [(f.occurrences, f.blocked, f.missed) for f in report.faults] == [(2, 2, 0)] * 8
        assert report.genuine == (434, 434, 0)  # 134 genuine first tries and two retries of all 150
        assert (report.kinds_mostly_caught, report.goal_reached, report.abandoned_steps) == (8, False, 150)
        assert "8 of 8 kinds of fault were caught" in shown
        assert "434 of 434 genuine calls (100.0%) were blocked" in shown
        assert "is not reached" in shown
        assert "150 calls were given up after 2 retries." in shown
        assert shown.count("GENUINE (false alarm)") == 434

    def test_the_agent_asks_again_twice_with_the_same_arguments(self, blocked):
        guard, report, _ = blocked
        assert Counter(event.step for event in report.events) == dict.fromkeys(range(150), 3)
        assert [event.attempt for event in report.events] == [0, 1, 2] * 150
        for first in range(0, 450, 3):
            tries = guard.asked[first : first + 3]
            assert len({(tool, repr(given["args"]), given["session_id"]) for tool, given in tries}) == 1

    def test_a_retry_is_the_real_call(self, blocked):
        guard, report, _ = blocked
        truth = {call.step: answer for call, answer, _ in rehearsed_150()}
        for event, (_, given) in zip(report.events, guard.asked, strict=True):
            assert (given["result"] == truth[event.step]) == (event.fault is None)
            assert event.attempt == 0 or event.fault is None


class TestAGuardThatKnowsTheTruth:
    def test_reaches_the_goal_with_every_fault_a_real_one(self, day):
        report, shown = run(Oracle(answer for _, answer, _ in day.rehearsed), calls=600)
        assert [(f.occurrences, f.blocked, f.missed) for f in report.faults] == [(8, 8, 0)] * 8
        assert report.genuine == (600, 0, 0)
        assert (report.goal_reached, report.abandoned_steps) == (True, 0)
        assert {event.step for event in report.events if event.fault} == day.faults.keys()
        assert "the goal of at least 7 of 8 and at most 1% is reached." in shown
        assert shown.count(" <- ") == 64

    def test_a_flagged_answer_is_used_and_not_asked_for_again(self):
        report, shown = run(Oracle((answer for _, answer, _ in rehearsed_150()), "flag"))
        assert [(f.blocked, f.flagged, f.missed) for f in report.faults] == [(0, 2, 0)] * 8
        assert len(report.events) == 150
        assert report.goal_reached is True
        assert "used 16 with a warning and believed 0" in shown


class TestTheReport:
    def test_counts_what_the_events_say(self, day):
        report, _ = run(Oracle((answer for _, answer, _ in day.rehearsed), "flag"), calls=600)
        for fault in report.faults:
            mine = [event.verdict for event in report.events if event.fault is fault.kind]
            assert fault == (fault.kind, len(mine), mine.count("block"), mine.count("flag"))
        genuine = [event.verdict for event in report.events if event.fault is None]
        assert report.genuine == (len(genuine), genuine.count("block"), genuine.count("flag"))
        times = sorted(event.verify_us for event in report.events)
        assert report.verify_p50_us == times[299]  # the 300th of 600 is the first that half do not exceed
        assert report.verify_p99_us == times[593]

    def test_as_json_it_is_all_that_is_printed(self):
        report, printed = run(Oracle(answer for _, answer, _ in rehearsed_150()), as_json=True)
        read = json.loads(printed)
        assert read == report.as_dict() == json.loads(json.dumps(report.as_dict()))
        assert read["goal_reached"] is True
        assert read["verified_calls"] == 166
        assert [fault["fault"] for fault in read["faults"]] == [kind.value for kind in FaultKind]
        assert all(fault["occurrences"] == fault["blocked"] == 2 for fault in read["faults"])
        assert len(read["calls"]) == 16

    def test_the_same_seed_is_the_same_run_but_for_its_times(self, accepted):
        _, before, _ = accepted
        again, _ = run(Always("accept"))
        other, _ = run(Always("accept"), seed=8)

        def timeless(report):
            return [event._replace(execution_ms=0, verify_us=0) for event in report.events]

        assert timeless(again) == timeless(before)
        assert timeless(other) != timeless(before)

    def test_a_run_too_short_for_faults_judges_nothing(self):
        report, shown = run(Always("accept"), calls=5)
        assert (report.warm_up_calls, report.genuine_warm_up.calls, report.goal_reached) == (1, 1, None)
        assert "cannot be judged" in shown


class TestAnEndBeforeTheEnd:
    @pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("the guard broke")], ids=["ctrl-c", "error"])
    def test_prints_what_was_counted_closes_everything_and_passes_it_on(self, error, tmp_path, monkeypatch):
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        console = screen()
        with pytest.raises(type(error)):
            run_demo(console, calls=150, engine=Interrupted(61, error), delay_scale=0)
        shown = unwrapped(console)
        assert "Ended after 60 of 150 calls." in shown
        assert "cannot be judged: the run was ended early" in shown
        assert not any(thread.name == "demo-service" for thread in threading.enumerate())
        assert list(Path(tmp_path).iterdir()) == []

    def test_as_json_too(self):
        console = screen()
        with pytest.raises(KeyboardInterrupt):
            run_demo(console, calls=150, as_json=True, engine=Interrupted(1, KeyboardInterrupt()), delay_scale=0)
        read = json.loads(console.file.getvalue())
        assert (read["complete"], read["verified_calls"], read["goal_reached"]) == (False, 0, None)
        assert read["verify_us"] == {"p50": None, "p99": None}


class TestTheScreen:
    def event(self, **changes):
        fields = {
            "number": 430, "step": 411, "attempt": 0, "tool": "get_weather", "fault": FaultKind.TIMES_TEN,
            "verdict": "block", "posterior": 0.934, "execution_ms": 50.0, "verify_us": 90.0,
            "reasons": ("value_plausibility: rows[].total is far off", "length_anomaly: 9 bytes"),
        }  # fmt: skip
        return Event(**{**fields, **changes})

    def test_one_line_says_which_call_what_was_wrong_and_why(self):
        assert line(self.event()).plain == (
            "#412  get_weather   block 0.93  x10 value                <- "
            "value_plausibility: rows[].total is far off; length_anomaly: 9 bytes"
        )

    def test_a_false_alarm_and_a_retry_are_named(self):
        said = line(self.event(fault=None, attempt=2, verdict="flag", reasons=())).plain
        assert said.startswith("#412 retry 2 get_weather   flag  0.93  GENUINE (false alarm)")
        assert said.endswith("<- no signal raised the odds")

    def test_the_two_strongest_reasons_are_given_the_stronger_first(self, day):
        nats = (("weak", 0.1), ("strong", 2.0), ("calming", -3.0), ("middling", 0.7))

        class Reasoned(Always):
            def verify(self, tool, **given):
                return verdict_of(tool, given["call_id"], "flag", 0.3, nats)

        with Toolbox(7, over_http=False) as toolbox:
            (event,) = run_agent(day.plan[:1], {}, toolbox, Reasoned("flag"), seed=7)
        assert event.reasons == ("strong: what [strong] found", "middling: what [middling] found")

    def test_the_progress_bar_leaves_nothing_behind(self):
        terminal = screen(force_terminal=True, color_system=None)
        run_demo(terminal, calls=20, engine=Always("accept"), delay_scale=0)
        shown = terminal.file.getvalue()
        assert "20/20" in shown
        assert shown.rindex("\x1b[2K") < shown.index("Faults injected")  # its line is erased before the tables


@pytest.mark.parametrize("options", [{"calls": 0}, {"calls": -5}, {"delay_scale": -1.0}])
def test_impossible_wishes_are_refused(options):
    with pytest.raises(ConfigurationError, match="must be at least"):
        run_demo(screen(), engine=Always("accept"), **options)


def test_the_real_engine_refuses_the_plain_damage_and_little_else():
    console = screen()
    report = run_demo(console, calls=240, seed=7)
    assert isinstance(report, DemoReport)
    counted = {fault.kind: fault for fault in report.faults}
    assert all(fault.occurrences == 4 for fault in report.faults)
    for kind in (FaultKind.TRUNCATED, FaultKind.PROSE, FaultKind.OTHER_TOOL):
        assert counted[kind].mostly_caught, kind
    assert report.genuine.block_rate <= 0.02
    assert report.goal_reached == (report.kinds_mostly_caught >= 7 and report.genuine.block_rate <= 0.01)
