"""A profile's declarations held against results."""

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.verification._contract import Contract
from agentguard.verification._document import read
from agentguard.verification.profile import ToolProfile


def contract(**fields):
    return Contract(ToolProfile(name="tool", **fields))


def violations(result, **fields):
    return contract(**fields).field_violations(read(result))


class TestFields:
    @pytest.mark.parametrize(
        ("name", "result", "there"),
        [
            ("id", {"id": 1}, True),
            ("id", {"id": None}, True),
            ("id", {"ID": 1}, False),
            ("id", {}, False),
            ("quote.price", {"quote": {"price": 1}}, True),
            ("quote.price", {"quote": {"cost": 1}}, False),
            ("quote.price", {"quote": 5}, False),
            ("quote.price", {"quote.price": 1}, True),  # a key of that very name
            ("quote.price", {"price": 1}, False),
            ("rows[].id", {"rows": [{"id": 1}, {"id": 2}]}, True),
            ("rows[].id", {"rows": [{"id": 1}, {"name": "x"}]}, False),
            ("rows[].id", {"rows": {"id": 1}}, False),
            ("rows[].id", {}, False),
            ("rows[].tags[].name", {"rows": [{"tags": [{"name": 1}]}, {"tags": []}]}, True),
            ("rows[].tags[].name", {"rows": [{"tags": [{"name": 1}, {}]}]}, False),
            ("[].id", [{"id": 1}, {"id": 2}], True),
            ("[].id", [{"id": 1}, 2], False),
            ("[].id", {"id": 1}, False),
            ("[]", [], True),
            ("[]", [1, 2], True),
            ("[]", {"a": [1]}, False),
            ("[]", "text", False),
            ("rows[]", {"rows": [1]}, True),
            ("rows[]", {"rows": 1}, False),
            ("[][].id", [[{"id": 1}], []], True),
            ("id", [{"id": 1}], False),
            ("id", '{"id": 1}', True),
            ("id", "{'id': 1}", True),
            ("id", "id: 1", False),
            ("id", 5, False),
            ("id", None, False),
        ],
        ids=repr,
    )  # fmt: skip
    def test_a_required_field_is_there_or_missing(self, name, result, there):
        said = violations(result, required_fields=[name])
        assert said == ([] if there else [f"required field {name!r} is missing"])

    @pytest.mark.parametrize(
        ("name", "result", "there"),
        [
            ("mock", {"mock": None}, True),
            ("mock", {"meta": {"mock": 1}}, False),
            ("meta.mock", {"meta": {"mock": 1}}, True),
            ("rows[].mock", {"rows": [{"id": 1}, {"mock": 1}]}, True),  # in any row
            ("rows[].mock", {"rows": [{"id": 1}]}, False),
            ("rows[].mock", {"rows": []}, False),
            ("[].mock", [{"mock": 1}, {}], True),
            ("mock", "mock", False),
            ("mock", None, False),
            ("[]", [], False),
            ("[]", [{}], True),
        ],
        ids=repr,
    )  # fmt: skip
    def test_a_forbidden_field_is_there_or_not(self, name, result, there):
        said = violations(result, forbidden_fields=[name])
        assert said == ([f"forbidden field {name!r} is present"] if there else [])

    def test_every_violation_is_named(self):
        said = violations({"b": 1, "x": 1}, required_fields=["a", "b", "c"], forbidden_fields=["x", "y"])
        assert said == [
            "required field 'a' is missing",
            "required field 'c' is missing",
            "forbidden field 'x' is present",
        ]

    def test_nothing_declared_is_nothing_violated(self):
        assert violations({"x": 1}) == []
        assert not contract().has_fields
        assert contract(forbidden_fields=["x"]).has_fields


SCHEMA = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "integer"}, "rows": {"type": "array", "items": {"type": "object"}}},
}


class TestSchema:
    @pytest.mark.parametrize(
        "result", [{"id": 1}, {"id": 1, "rows": [{}]}, '{"id": 1}', {"id": 1.0}, {"id": 1, "rows": ()}], ids=repr
    )
    def test_kept(self, result):
        assert contract(output_schema=SCHEMA).schema_violation(read(result)) is None

    @pytest.mark.parametrize(
        ("result", "where", "rule"),
        [
            ({"id": "secret"}, "id", "properties/id/type"),
            ({}, "the result", "required"),
            ({"id": 1, "rows": [{}, "secret"]}, "rows.1", "items/type"),
            ("just text", "the result", "type"),
            (None, "the result", "type"),
        ],
        ids=repr,
    )
    def test_broken_says_where_and_why_without_quoting_the_result(self, result, where, rule):
        said = contract(output_schema=SCHEMA).schema_violation(read(result))
        assert said.startswith(where)
        assert rule in said
        assert "secret" not in said
        assert "just text" not in said

    def test_without_a_schema_nothing_is_broken(self):
        assert contract().schema_violation(read({"x": 1})) is None
        assert not contract().has_schema
        assert contract(output_schema={}).has_schema

    def test_a_schema_of_false_allows_nothing_and_true_all(self):
        assert contract(output_schema=False).schema_violation(read({}))
        assert contract(output_schema=True).schema_violation(read({})) is None

    def test_patterns_in_a_schema_run_in_linear_time(self):
        # With a backtracking engine this pattern takes 2^60 steps on this text.
        evil = contract(output_schema={"properties": {"x": {"pattern": "^(a+)+$"}}})
        assert evil.schema_violation(read({"x": "a" * 60 + "!"}))

    def test_patterns_in_a_schema_may_look_around_where_the_profile_says_re(self):
        ahead = contract(output_schema={"properties": {"x": {"pattern": "^(?=.*b)a"}}}, regex_engine="re")
        assert ahead.schema_violation(read({"x": "ab"})) is None
        assert ahead.schema_violation(read({"x": "aa"}))

    @given(data=st.data())
    def test_any_result_can_be_held_against_it(self, values, data):
        said = contract(output_schema=SCHEMA).schema_violation(read(data.draw(values.objects)))
        assert said is None or said

    def test_awkward_results_too(self, each_awkward):
        for each, awkward in each_awkward:
            with each:
                whole = contract(output_schema=SCHEMA, required_fields=["id"], forbidden_fields=["a[].b"])
                for result in (awkward(), {"id": awkward()}, [awkward()]):
                    document = read(result)
                    whole.schema_violation(document)
                    assert len(whole.field_violations(document)) <= 2


@pytest.mark.parametrize("engine", ["re2", "re"])
class TestPatterns:
    @pytest.mark.parametrize(
        ("patterns", "result", "found"),
        [
            (["temperature"], {"temperature": 20}, True),
            (["humidity", "temperature"], {"temperature": 20}, True),
            (["humidity"], {"temperature": 20}, False),
            ([r'"t":\d+'], {"t": 20}, True),  # as compact JSON
            ([r'"t": \d+'], {"t": 20}, True),  # and with JSON's usual spaces
            ([r'^\{"t"'], '{\n  "t": 20\n}', True),
            (["^Order [A-Z]{2}"], "Order AB is on its way", True),
            (["^Order [A-Z]{2}$"], "Order AB is on its way", False),
            (["(?i)ORDER"], "your order", True),
            (["é+!"], "hé éé!", True),
            (["[éà]x"], "\u00c3x", False),  # a letter, not one of its bytes
            ([r"\d+ °C"], {"t": "20 °C"}, True),
            (["^$"], "text", False),
            (["x"], None, False),
            (["null"], None, True),
        ],
    )
    def test_at_least_one_is_found_in_the_result(self, engine, patterns, result, found):
        declared = contract(response_patterns=patterns, regex_engine=engine)
        assert declared.has_patterns
        assert declared.matches_a_pattern(read(result)) is found

    def test_no_patterns_are_declared(self, engine):
        assert not contract(regex_engine=engine).has_patterns

    def test_any_result_can_be_searched(self, engine, each_awkward):
        for each, awkward in each_awkward:
            with each:
                anything = contract(response_patterns=["."], regex_engine=engine)
                nothing = contract(response_patterns=["no such text"], regex_engine=engine)
                for result in ({"of": awkward()}, [awkward()], [*range(20), awkward(), *range(20)]):
                    document = read(result)
                    assert anything.matches_a_pattern(document) is True
                    assert nothing.matches_a_pattern(document) is False

    def test_a_match_far_into_a_long_text(self, engine):
        text = "x" * 5_000_000 + "needle"
        # re2 reads everything; `re`, which can backtrack, the first 20,000 bytes.
        assert contract(response_patterns=["needle"], regex_engine=engine).matches_a_pattern(read(text)) is (
            engine == "re2"
        )
        assert contract(response_patterns=["^xxx"], regex_engine=engine).matches_a_pattern(read(text))


class TestRe:
    @pytest.mark.parametrize("pattern", [r"\u00e9", r"\N{DEGREE SIGN}", r"(?<=a)b", r"(?u)\w+"])
    def test_everything_that_python_compiles_is_allowed(self, pattern):
        assert re.compile(pattern)
        declared = contract(response_patterns=[pattern], regex_engine="re")
        assert declared.matches_a_pattern(read("é ° ab")) is True


def test_numbers_that_are_none_can_be_searched_and_checked():
    declared = contract(response_patterns=["NaN|null"], output_schema={"type": "object"})
    document = read({"a": math.nan, "b": (1, 2)})
    assert declared.matches_a_pattern(document)
    assert declared.schema_violation(document) is None


@pytest.mark.parametrize("tool", ["search", "", "*", "a\ud800", "x" * 100_000])
def test_a_tool_without_a_profile_has_a_contract_that_declares_nothing(tool):
    empty = Contract.unregistered(tool)
    assert not empty.declared
    assert [empty.has_fields, empty.has_patterns, empty.has_schema] == [False, False, False]
    assert empty.declared_ms == (0.0, math.inf)
    low, high = empty.latency_ms
    assert 0.0 <= low < high
    assert contract().declared


@pytest.mark.parametrize(
    ("fields", "bounds"),
    [
        ({}, (0.0, math.inf)),
        ({"required_fields": ["id"]}, (0.0, math.inf)),
        ({"has_network_io": False}, (0.0, math.inf)),
        ({"has_network_io": True}, (2.0, math.inf)),
        ({"expected_latency_ms": (50, 30_000)}, (50.0, 30_000.0)),  # declared, though it is the default
        ({"expected_latency_ms": (0.5, 9), "has_network_io": False}, (0.5, 9.0)),
        ({"expected_latency_ms": (0.5, 9), "has_network_io": True}, (2.0, 9.0)),
        ({"expected_latency_ms": (0.5, 9)}, (0.5, 9.0)),
        ({"expected_latency_ms": (50, 900), "cacheable": True}, (0.0, 900.0)),
        ({"has_network_io": True, "cacheable": True}, (0.0, math.inf)),
    ],
    ids=repr,
)
def test_a_time_is_bounded_by_what_is_declared_alone(fields, bounds):
    assert contract(**fields).declared_ms == bounds


@pytest.mark.parametrize(
    ("result", "flagged", "allowed", "excused"),
    [
        ({"error": "no"}, False, False, False),
        ({"error": "no"}, False, True, True),
        ({"error": "no"}, True, False, True),
        ({"rows": []}, False, True, False),
        ({"rows": []}, True, False, True),
    ],
)
def test_an_error_is_excused_by_its_framework_or_by_the_profile(result, flagged, allowed, excused):
    assert contract(allow_errors=allowed).excuses(read(result), flagged=flagged) is excused


@given(data=st.data())
def test_fields_are_found_wherever_json_has_them(values, data):
    """Oracle: what is there, by walking the value itself."""
    value = data.draw(st.dictionaries(st.sampled_from("abc"), values.json, max_size=3))
    for name in "abc":
        assert (violations(value, required_fields=[name]) == []) is (name in value)
        assert (violations(json.dumps(value), forbidden_fields=[name]) != []) is (name in value)
        inner = value.get(name)
        there = isinstance(inner, dict) and "a" in inner
        assert (violations(value, required_fields=[f"{name}.a"]) == []) is there
