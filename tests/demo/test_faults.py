import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.demo._agent import Fault, FaultKind, fabricated, place_faults, tampered
from agentguard.demo._plan import PlannedCall, facts, plan_calls, rehearse
from agentguard.demo._tools import stamp

NETWORK = {"get_weather", "get_quote"}
CALL = PlannedCall(3, "session-1", "get_order", {"order_id": 1001})


def leaves(value, path=()):
    """Every scalar, empty list and empty object by path: written apart from the code under test."""
    if isinstance(value, dict) and value:
        return {p: v for key, item in value.items() for p, v in leaves(item, (*path, key)).items()}
    if isinstance(value, list) and value:
        return {p: v for index, item in enumerate(value) for p, v in leaves(item, (*path, index)).items()}
    return {path: value}


def of_kind(day, kind):
    return [(fault, *day.rehearsed[fault.step][:2]) for fault in day.faults.values() if fault.kind is kind]


def is_json(text):
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


class TestPlacing:
    def test_each_kind_occurs_eight_times_in_600_calls_and_never_in_the_warm_up(self, day):
        assert Counter(fault.kind for fault in day.faults.values()) == dict.fromkeys(FaultKind, 8)
        assert all(step == fault.step >= day.warm_up for step, fault in day.faults.items())

    @pytest.mark.parametrize("seed", [8, 9, 10])
    def test_other_seeds_place_as_many_elsewhere(self, day, seed):
        rehearsed = rehearse(plan_calls(600, seed), seed)
        faults = place_faults(rehearsed, 120, seed)
        assert Counter(fault.kind for fault in faults.values()) == dict.fromkeys(FaultKind, 8)
        assert faults.keys() != day.faults.keys()
        assert faults == place_faults(rehearsed, 120, seed)

    def test_what_a_fault_draws_on_came_earlier_and_was_genuine(self, day):
        sources = [fault.source for fault in day.faults.values() if fault.source is not None]
        assert len(sources) == 24  # stale, fabricated, another tool's
        assert not set(sources) & day.faults.keys()
        assert all(fault.source < fault.step for fault in day.faults.values() if fault.source is not None)

    def test_a_run_that_is_all_warm_up_has_none(self, day):
        assert place_faults(day.rehearsed[:10], 10, seed=7) == {}


class TestStale:
    def test_is_an_earlier_answer_to_the_same_question_that_has_changed(self, day):
        for fault, call, truth in of_kind(day, FaultKind.STALE):
            earlier = day.rehearsed[fault.source]
            assert (earlier.call.tool, earlier.call.args) == (call.tool, call.args)
            assert facts(earlier.answer) != facts(truth)

    def test_the_answer_that_replaced_it_has_been_seen(self, day):
        for fault, call, _ in of_kind(day, FaultKind.STALE):
            newer = day.rehearsed[fault.newer]
            assert fault.source < fault.newer < fault.step
            assert fault.newer not in day.faults
            assert (newer.call.tool, newer.call.args) == (call.tool, call.args)
            assert facts(newer.answer) != facts(day.rehearsed[fault.source].answer)


class TestOtherTool:
    def test_is_a_recent_answer_of_another_tool(self, day):
        for fault, call, _ in of_kind(day, FaultKind.OTHER_TOOL):
            assert day.rehearsed[fault.source].call.tool != call.tool
            assert fault.step - 20 <= fault.source < fault.step


class TestWrongEntity:
    def test_asks_the_same_thing_of_another_entity(self, day):
        for fault, call, _ in of_kind(day, FaultKind.WRONG_ENTITY):
            assert fault.args == day.rehearsed[fault.step].other_args
            assert fault.args.keys() == call.args.keys()
            assert fault.args != call.args


class TestInstant:
    def test_is_told_from_the_truth_by_its_numbers_alone(self, day):
        for fault, call, truth in of_kind(day, FaultKind.INSTANT):
            model = day.rehearsed[fault.source]
            assert call.tool in NETWORK
            assert (model.call.tool, model.call.args) == (call.tool, call.args)
            made_up, true = json.loads(fabricated(fault, model.answer, seed=7)), json.loads(truth)
            assert made_up.keys() == true.keys()
            assert facts(json.dumps(made_up)) != facts(truth)
            (argument,) = call.args.values()
            assert argument in (made_up.get("city"), made_up.get("ticker"))
            assert stamp(fault.step) in (made_up.get("observed_at"), made_up.get("as_of"))

    def test_moves_numbers_by_two_to_ten_percent_and_keeps_how_they_are_written(self):
        model = json.dumps({"ticker": "ALDR", "price": 200.25, "volume": 100_000, "as_of": stamp(1)})
        for step in range(50):
            made_up = json.loads(fabricated(Fault(FaultKind.INSTANT, step, source=0), model, seed=7))
            assert list(made_up) == ["ticker", "price", "volume", "as_of"]
            assert made_up["ticker"] == "ALDR"
            assert made_up["as_of"] == stamp(step)
            assert 0.0199 < abs(made_up["price"] / 200.25 - 1) < 0.1001
            assert len(str(made_up["price"]).partition(".")[2]) <= 2
            assert type(made_up["volume"]) is int
            assert 0.0199 < abs(made_up["volume"] / 100_000 - 1) < 0.1001


class TestMissingField:
    def test_takes_one_field_away_and_nothing_else(self, day):
        for fault, call, truth in of_kind(day, FaultKind.MISSING_FIELD):
            before, after = leaves(json.loads(truth)), leaves(json.loads(tampered(fault, truth, call, seed=7)))
            gone = before.keys() - after.keys()
            assert gone
            names = [tuple(step for step in path if not isinstance(step, int)) for path in gone]
            shared = names[0]
            while not all(name[: len(shared)] == shared for name in names):
                shared = shared[:-1]
            assert shared  # one field, with all that was below it
            assert after == {path: value for path, value in before.items() if path not in gone}

    def test_can_hit_any_field_at_any_depth_and_in_all_rows(self):
        rows = [{"sku": "A", "price": 1}, {"sku": "B", "price": 2}]
        answer = json.dumps({"rows": rows, "row_count": 2})
        outcomes = {tampered(Fault(FaultKind.MISSING_FIELD, step), answer, CALL, seed=7) for step in range(80)}
        assert outcomes == {
            json.dumps({"row_count": 2}),
            json.dumps({"rows": rows}),
            json.dumps({"rows": [{"sku": "A"}, {"sku": "B"}], "row_count": 2}),
            json.dumps({"rows": [{"price": 1}, {"price": 2}], "row_count": 2}),
        }


class TestTimesTen:
    def test_changes_one_number_to_ten_times_itself(self, day):
        for fault, call, truth in of_kind(day, FaultKind.TIMES_TEN):
            before, after = leaves(json.loads(truth)), leaves(json.loads(tampered(fault, truth, call, seed=7)))
            assert before.keys() == after.keys()
            (changed,) = [path for path in before if before[path] != after[path]]
            assert after[changed] == pytest.approx(10 * before[changed])
            assert type(after[changed]) is type(before[changed])
            assert not changed[-1].endswith(("_id", "_count"))

    def test_leaves_identifiers_counts_of_rows_and_numbers_below_one_alone(self):
        answer = json.dumps({"order_id": 1001, "row_count": 5, "change_pct": 0.4, "paid": True, "total": 20.5})
        for step in range(30):
            changed = json.loads(tampered(Fault(FaultKind.TIMES_TEN, step), answer, CALL, seed=7))
            assert changed == {"order_id": 1001, "row_count": 5, "change_pct": 0.4, "paid": True, "total": 205.0}


class TestText:
    def test_truncated_json_is_a_beginning_that_does_not_parse(self, day):
        for fault, call, truth in of_kind(day, FaultKind.TRUNCATED):
            cut = tampered(fault, truth, call, seed=7)
            assert truth.startswith(cut)
            assert 0.3 < len(cut) / len(truth) < 1
            assert not is_json(cut)

    def test_prose_is_a_sentence_about_what_was_asked(self, day):
        for fault, call, truth in of_kind(day, FaultKind.PROSE):
            said = tampered(fault, truth, call, seed=7)
            assert not is_json(said)
            assert str(call.args["params"][0] if "params" in call.args else next(iter(call.args.values()))) in said
            assert "SELECT" not in said


@given(
    st.dictionaries(
        st.text(min_size=1),
        st.recursive(
            st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1), inner, max_size=3),
            max_leaves=8,
        ),
        min_size=1,
        max_size=5,
    ),
    st.integers(0, 1000),
)
def test_damage_is_always_damage_and_repeatable(value, step):
    answer = json.dumps(value)
    for kind in (FaultKind.MISSING_FIELD, FaultKind.TRUNCATED, FaultKind.PROSE):
        damaged = tampered(Fault(kind, step), answer, CALL, seed=7)
        assert damaged != answer
        assert is_json(damaged) == (kind is FaultKind.MISSING_FIELD)
        assert damaged == tampered(Fault(kind, step), answer, CALL, seed=7)
