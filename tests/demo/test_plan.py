from collections import Counter

import pytest

from agentguard.demo._plan import facts, plan_calls, rehearse
from agentguard.demo._tools import PROFILES, Toolbox
from agentguard.verification import ToolProfile


def key(call):
    return call.tool, repr(call.args)


def test_the_same_seed_is_the_same_plan():
    assert plan_calls(200, seed=7) == plan_calls(200, seed=7)
    assert plan_calls(200, seed=7) != plan_calls(200, seed=8)


@pytest.mark.parametrize("calls", [1, 2, 150, 601])
def test_it_has_as_many_calls_as_asked_for(calls):
    plan = plan_calls(calls, seed=1)
    assert [call.step for call in plan] == list(range(calls))
    assert {call.tool for call in plan} <= PROFILES.keys()


def test_a_longer_day_begins_like_a_shorter_one():
    assert plan_calls(300, seed=7)[:100] == plan_calls(100, seed=7)


def test_every_tool_is_used_and_arguments_repeat_unequally(day):
    assert Counter(call.tool for call in day.plan).keys() == PROFILES.keys()
    popularity = [count for _, count in Counter(map(key, day.plan)).most_common()]
    assert popularity[0] > 15  # some questions are asked all the time
    assert popularity.count(1) > 20  # and many only once
    assert sum(popularity[: len(popularity) // 10]) > 0.3 * len(day.plan)


def test_sessions_are_contiguous(day):
    starts = [
        call.session for before, call in zip(day.plan, day.plan[1:], strict=False) if before.session != call.session
    ]
    assert len(starts) == len(set(starts))


def test_the_rehearsal_knows_what_the_real_tools_say(day):
    with Toolbox(7, delay_scale=0) as toolbox:
        for call, answer, _ in day.rehearsed[:150]:
            toolbox.advance(call.step)
            assert toolbox.call(call.tool, call.args) == answer


def test_another_entity_is_of_the_same_form_and_has_another_answer(day):
    others = [(call, args, answer) for call, answer, args in day.rehearsed if args is not None]
    assert len(others) > 500
    with Toolbox(7, over_http=False) as toolbox:
        for call, args, answer in others:
            toolbox.advance(call.step)
            assert args.get("sql") == call.args.get("sql")
            assert args != call.args
            assert facts(toolbox.call(call.tool, args)) != facts(answer)


def test_the_same_question_sometimes_has_a_new_answer(day):
    said: dict = {}
    for call, answer, _ in day.rehearsed:
        said.setdefault(key(call), []).append(facts(answer))
    for tool in ("get_order", "get_quote", "get_weather", "find_customer", "query_shop"):
        assert any(k[0] == tool and any(a != answers[0] for a in answers) for k, answers in said.items()), tool
    assert all(a == answers[0] for k, answers in said.items() if k[0] == "calculate" for a in answers)


def test_the_declared_profiles_are_valid_and_hold_of_every_true_answer(day):
    for name, fields in PROFILES.items():
        ToolProfile(name=name, **fields)
    for call, answer, _ in day.rehearsed:
        value = facts(answer)
        assert set(PROFILES[call.tool]["required_fields"]) <= value.keys()
        for argument, field in PROFILES[call.tool].get("echoes", {}).items():
            assert value[field] == call.args[argument]


def test_an_unknown_tool_is_named_with_those_there_are():
    with (
        Toolbox(7, over_http=False) as toolbox,
        pytest.raises(LookupError, match="no tool 'get_wether'; there are get_w"),
    ):
        toolbox.call("get_wether", {})


def test_rehearsing_is_repeatable(day):
    assert rehearse(day.plan[:80], seed=7) == rehearse(day.plan[:80], seed=7)
