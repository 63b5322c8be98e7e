"""An output schema holds of a result, or does not, or cannot be told within bounds."""

from typing import Literal

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter

from agentguard import ProfileError, VerificationEngine
from agentguard.verification import _output_schema
from agentguard.verification._contract import Contract
from agentguard.verification._document import Document
from agentguard.verification._output_schema import OutputSchema, takes_too_many_routes
from agentguard.verification.profile import ToolProfile, parse_profile
from agentguard.verification.types import NotLookedAt


class Leaf(BaseModel):
    kind: Literal["leaf"]
    value: int


class And(BaseModel):
    kind: Literal["and"]
    left: "Leaf | And | Or"
    right: "Leaf | And | Or"


class Or(BaseModel):
    kind: Literal["or"]
    left: "Leaf | And | Or"
    right: "Leaf | And | Or"


EXPRESSION = TypeAdapter(Leaf | And | Or).json_schema()


def nested(depth, leaf):
    """An expression whose left operands are expressions, so many levels deep."""
    value = leaf
    for level in range(depth):
        value = {"kind": ("and", "or")[level % 2], "left": value, "right": {"kind": "leaf", "value": 1}}
    return value


GOOD, BAD = {"kind": "leaf", "value": 1}, {"kind": "leaf", "value": "x"}


def departure(schema, value, engine="re2"):
    made = OutputSchema(schema, engine)
    return "" if made.is_valid(value) else made.departure(value, 100)


class TestExpressions:
    """The reason why one of them is broken took 2.2 times as long with each level, and thirty seconds at fifteen."""

    @pytest.mark.parametrize("depth", [0, 1, 15, 40])
    def test_a_deep_one_is_told_from_a_broken_one(self, depth):
        assert departure(EXPRESSION, nested(depth, GOOD)) == ""
        assert departure(EXPRESSION, nested(depth, BAD)) == "the result breaks output_schema at anyOf"

    @pytest.mark.parametrize("mode", ["calibrated", "reference"])
    def test_the_engine_blocks_a_broken_one(self, mode):
        engine = VerificationEngine(mode=mode)
        engine.register_tool_profile("parse", output_schema=EXPRESSION, has_network_io=False)
        assert engine.verify("parse", result=nested(15, GOOD)).verdict == "accept"
        assert engine.verify("parse", result=nested(15, BAD)).verdict == "block"

    def test_operands_that_are_one_object_are_looked_at_once(self):
        shared = GOOD
        for _ in range(60):
            shared = {"kind": "and", "left": shared, "right": shared}
        assert departure(EXPRESSION, shared) == ""

    @pytest.mark.parametrize("depth", [5_000, 50_000])
    def test_what_is_nested_too_deeply_is_not_looked_at(self, depth):
        with pytest.raises(NotLookedAt, match="nested too deeply"):
            departure(EXPRESSION, nested(depth, GOOD))

    def test_what_takes_too_many_steps_is_not_looked_at(self, monkeypatch):
        monkeypatch.setattr(_output_schema, "MOST_STEPS", 20_000)
        many = {"type": "array", "items": {"anyOf": EXPRESSION["anyOf"]}, "$defs": EXPRESSION["$defs"]}
        assert departure(many, [nested(2, GOOD)] * 1_000) == ""  # one object, many times
        with pytest.raises(NotLookedAt, match="more than 20,000 steps"):
            departure(many, [nested(2, GOOD) for _ in range(1_000)])

    def test_branches_that_double_forty_times(self):
        doubling = {f"A{n}": {"anyOf": [{"$ref": f"#/$defs/A{n + 1}"}] * 2} for n in range(40)}
        schema = {"$defs": {**doubling, "A40": {"type": "string"}}, "$ref": "#/$defs/A0"}
        assert departure(schema, "text") == ""
        assert departure(schema, 1)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.text("abn", max_size=3),
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "next", "n1"]), below, max_size=3)
    ),
    max_leaves=10,
)
WALKED = {
    "next or null, twice": {
        "anyOf": [{"properties": {"next": {"$ref": "#"}}, "required": ["a"]}, {"properties": {"next": {"$ref": "#"}}}]
    },
    "patterns and others": {
        "type": "object",
        "properties": {"next": {"$ref": "#"}},
        "patternProperties": {"^n": {"anyOf": [{"$ref": "#"}, {"type": "integer"}]}},
        "additionalProperties": {"type": ["string", "null"], "pattern": "^a"},
    },
    "no others": {
        "properties": {"a": True, "next": {"$ref": "#"}},
        "patternProperties": {"n": {"$ref": "#"}},
        "additionalProperties": False,
    },
    "lists": {"type": ["array", "number"], "items": {"$ref": "#"}, "contains": {"$ref": "#"}, "uniqueItems": True},
    "conditions": {
        "if": {"required": ["a"]},
        "then": {"properties": {"next": {"$ref": "#"}}},
        "else": {"not": {"properties": {"next": {"$ref": "#"}}, "required": ["b"]}},
        "allOf": [{"properties": {"next": {"$ref": "#"}}}],
    },
    "names": {"propertyNames": {"maxLength": 1}, "oneOf": [{"additionalProperties": {"$ref": "#"}}] * 1, "allOf": [
        {"additionalProperties": {"$ref": "#"}}]},
    "an older draft": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"day": {"type": "string", "format": "date"}},
        "properties": {"a": {"$ref": "#/definitions/day"}, "next": {"$ref": "#"}},
        "allOf": [{"properties": {"next": {"$ref": "#"}}}],
    },
    "a part with a name": {"$defs": {"n": {"$anchor": "n", "items": {"$ref": "#n"}, "maxItems": 2}}, "$ref": "#n"},
    "a reference that moves": {"$dynamicAnchor": "n", "items": {"$dynamicRef": "#n"}, "type": ["array", "integer"]},
    "what is left over": {"allOf": [{"properties": {"a": {"$ref": "#"}}}], "anyOf": [{"properties": {"a": {"$ref":
        "#"}}}], "unevaluatedProperties": {"type": "null"}},
}  # fmt: skip


@pytest.mark.parametrize("schema", WALKED.values(), ids=WALKED)
class TestWalked:
    def test_it_is(self, schema):
        assert takes_too_many_routes(schema)

    @given(value=JSON)
    def test_it_says_what_the_validator_of_ordinary_schemas_says(self, schema, value):
        assert (departure(schema, value) == "") is jsonschema_rs.validator_for(schema).is_valid(value)


def test_numbers_that_are_none_are_no_numbers():
    schema = {**WALKED["next or null, twice"], "properties": {"a": {"type": "number"}}}
    assert departure(schema, {"a": 1.5}) == ""
    for value in (float("nan"), float("inf")):
        assert departure(schema, {"a": value}) == "a breaks output_schema at properties/a/type"


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({**WALKED["patterns and others"], "unevaluatedProperties": False}, "unevaluated"),
        ({**WALKED["lists"], "$defs": {"a": {"$schema": "http://json-schema.org/draft-07/schema#"}}}, "schema of its"),
        ({"anyOf": [{"$ref": "http://example.org/schema"}] * 2}, "another document"),
    ],
)
def test_what_cannot_be_held_to_a_bound_is_refused_when_it_is_declared(schema, said):
    with pytest.raises(ProfileError, match=said):
        parse_profile({"name": "t", "output_schema": schema})


class TestReasons:
    ROWS: dict = {"items": {"properties": {"id": {"type": "integer"}}}}  # noqa: RUF012 - of one test

    def test_the_first_of_many_is_told_without_looking_for_the_others(self):
        rows = [{"id": f"secret {n}"} for n in range(50_000)]
        assert departure(self.ROWS, rows) == "0.id breaks output_schema at items/properties/id/type"

    def test_of_a_large_result_not_all_branches_are_gone_through(self):
        made = OutputSchema({"anyOf": [self.ROWS, {"type": "null"}]}, "re2")
        rows = [{"id": "x"}]
        assert made.departure(rows, 1_000) == "the result breaks output_schema at anyOf"
        assert made.departure(rows, 1_000_000) == "does not match output_schema"


class TestBacktracking:
    """``regex_engine: re``: of a pattern that looks around, the search is stopped."""

    def test_it_is_searched(self):
        assert departure({"properties": {"x": {"pattern": "^(?=.*b)a"}}}, {"x": "ab"}, "re") == ""
        assert departure({"properties": {"x": {"pattern": "^(?=.*b)a"}}}, {"x": "aa"}, "re").startswith("x breaks")
        assert departure({"patternProperties": {"^(?!a)": {"type": "null"}}}, {"a": 1, "b": None}, "re") == ""
        assert departure({"patternProperties": {"^(?!a)": {"type": "null"}}}, {"b": 1}, "re")
        assert departure({"pattern": r"^(a|b)\1$"}, "bb", "re") == ""  # JavaScript's, as JSON Schema has it

    def test_not_to_the_end_of_time(self):
        with pytest.raises(NotLookedAt, match="20,000 steps"):
            departure({"properties": {"x": {"pattern": r"^(?:(a+)+(?=a|b))+$"}}}, {"x": "a" * 60 + "!"}, "re")

    def test_nor_in_a_long_text_nor_in_many(self):
        ahead = {"items": {"pattern": "^(?=.*b)a"}}
        assert departure(ahead, ["ab" * 9_999, *["ab"] * 1_000], "re") == ""
        with pytest.raises(NotLookedAt, match="more than 20,000 characters"):
            departure(ahead, ["ab" * 10_001], "re")
        with pytest.raises(NotLookedAt, match="200,000 steps"):
            departure(ahead, ["ab" * 9_999] * 10, "re")

    def test_a_pattern_that_looks_nowhere_takes_linear_time_in_this_mode_too(self):
        assert departure({"properties": {"x": {"pattern": "(a+)+$"}}}, {"x": "a" * 100_000 + "!"}, "re")


class TestWhatTheValidatorCannotTake:
    def test_is_not_looked_at(self):
        document = Document({"a": "\ud800"}, b'{"a":"?"}', "object")  # reading takes lone surrogates out
        contract = Contract(ToolProfile(name="t", output_schema={"properties": {"a": {"pattern": "a"}}}))
        with pytest.raises(NotLookedAt, match="could not be held against it"):
            contract.schema_violation(document)
