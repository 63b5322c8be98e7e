"""From a verdict to an action, for every integration."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from agentguard.errors import ConfigurationError
from agentguard.guard import Guard, Outcome
from agentguard.verification import VerificationEngine

from ..integrations.langchain.scripted import BrokenEngine, ScriptedEngine

CALL = Outcome("price", {"sku": "K-7"}, {"price": 900}, 120.0, "s1", "c1")


def judged(verdict: str, *, times: int = 1, engine: Any = None, **policy: Any) -> Any:
    engine = ScriptedEngine(price=verdict) if engine is None else engine
    guard = Guard(engine, **policy)
    return [guard.judge(CALL) for _ in range(times)][-1]


@pytest.mark.parametrize(
    ("on_flag", "action"),
    [("annotate", "annotate"), ("observe", "observe"), ("review", "review"), ("block", "replace")],
)
def test_a_flag_becomes_what_the_policy_says(on_flag: Any, action: str) -> None:
    assert judged("flag", on_flag=on_flag).action == action
    assert judged("flag", on_flag=on_flag, shadow=True).action == "pass"
    assert judged("accept", on_flag=on_flag).action == "pass"


@pytest.mark.parametrize("on_flag", ["annotate", "observe", "review", "block"])
def test_the_line_is_for_annotated_results_alone(on_flag: Any) -> None:
    assert bool(judged("flag", on_flag=on_flag).line) == (on_flag == "annotate")
    for verdict in ("accept", "flag", "block"):
        assert judged(verdict, on_flag=on_flag, shadow=True).line == ""
    assert judged("accept", on_flag=on_flag).line == judged("block", on_flag=on_flag).line == ""


def test_the_line_names_what_the_engine_found() -> None:
    engine = ScriptedEngine(price="flag")
    engine.hazard = "the price moved far from its level"

    assert judged("flag", engine=engine, flag_text="{tool} {posterior} {hazard}").line == (
        "price 0.3 the price moved far from its level"
    )


def test_the_notice_names_the_hazard_and_stops_asking_again() -> None:
    engine = ScriptedEngine(price="block")
    engine.hazard = "the currency is missing"
    guard = Guard(engine)
    said = [guard.judge(CALL).notice for _ in range(4)]

    assert all("the currency is missing" in notice and "'price' was blocked" in notice for notice in said)
    assert ["call the tool again" in notice for notice in said] == [True, True, False, False]
    assert "already asked 2 times" in said[2]
    assert "already asked 3 times" in said[3]


def test_the_verdict_is_plain_json_with_what_a_later_reader_needs() -> None:
    engine = ScriptedEngine(price="block")
    engine.hazard = "the currency is missing"
    stamp = judged("block", engine=engine, times=3).as_dict()

    assert json.loads(json.dumps(stamp)) == stamp
    assert (stamp["hazard"], stamp["asked"]) == ("the currency is missing", 2)
    accepted = judged("accept").as_dict()
    assert "hazard" not in accepted
    assert "asked" not in accepted


def test_no_call_is_made_again_that_gave_the_same_answer_often_enough() -> None:
    engine = ScriptedEngine()
    engine.register_tool_profile("price", idempotent=True)
    guard = Guard(engine, max_retries=9)

    assert [guard.may_retry("price", 1, asked) for asked in (0, 1, 2, 3)] == [True, True, False, False]


def test_the_frameworks_own_flag_reaches_the_engine() -> None:
    engine = ScriptedEngine()
    guard = Guard(engine)
    guard.judge(CALL)
    guard.judge(CALL._replace(is_error=True))

    assert [asked["is_error"] for asked in engine.asked] == [False, True]


def test_an_unknown_rule_is_refused() -> None:
    wrong: Any = {"on_flag": "whisper"}
    with pytest.raises(ConfigurationError, match="'annotate' or 'observe' or 'review' or 'block'"):
        Guard(ScriptedEngine(), **wrong)


@pytest.mark.parametrize(
    "engine",
    [None, "engine", VerificationEngine, Guard(VerificationEngine())],
    ids=["none", "text", "class", "guard"],
)
def test_what_cannot_judge_is_no_engine(engine: Any) -> None:
    with pytest.raises(ConfigurationError, match="engine must be a VerificationEngine, or what has its method verify"):
        Guard(engine)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"on_blok": "raise"}, "'on_blok'; did you mean 'on_block'?"),
        ({"shadows": True}, "'shadows'; did you mean 'shadow'?"),
        ({"xyz": 1}, "'xyz'; there are artifacts, flag_text, max_retries, "),
        ({"engine": VerificationEngine()}, "'engine'; there are artifacts, "),
    ],
)
@pytest.mark.parametrize("given", [VerificationEngine(), Guard(VerificationEngine())], ids=["engine", "guard"])
def test_what_is_no_rule_is_refused(given: Any, rules: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(f"a desk: no rule of a guard is named {said}")):
        Guard.of(given, "a desk", rules)


def test_rules_beside_a_guard_stand_over_its_own() -> None:
    given = Guard(ScriptedEngine(), on_flag="block", max_retries=2, tools=["price"])
    made = Guard.of(given, "a desk", {"on_flag": "observe", "max_retries": 0})

    assert (made.on_flag, made.max_retries, made.tools, made.engine) == ("observe", 0, {"price"}, given.engine)
    assert (given.on_flag, given.max_retries) == ("block", 2)


def test_a_judgement_says_its_verdict_in_one_word() -> None:
    """The same that its metadata have, also where there is no result of the engine."""
    failed = Guard(BrokenEngine()).judge(Outcome("weather", {}, 1))
    left_out = Guard(VerificationEngine(), tools=["another"]).judge(Outcome("weather", {}, 1))

    assert (failed.verdict, left_out.verdict, judged("block").verdict) == ("error", "unguarded", "block")
    for judgement in (failed, left_out, judged("block")):
        assert judgement.as_dict()["verdict"] == judgement.verdict
