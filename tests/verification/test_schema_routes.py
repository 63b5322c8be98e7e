"""Schemas that a validator may walk without end are told from those that it may not."""

import pytest

from agentguard.verification import _output_schema
from agentguard.verification._output_schema import _Automaton, _Untold, takes_too_many_routes

STRING = {"type": "string"}


def recursive(**parts):
    return {"$defs": parts, "$ref": f"#/$defs/{next(iter(parts))}"}


def ref(name):
    return {"$ref": f"#/$defs/{name}"}


def chain(length, step):
    """Parts of which each is made of the next."""
    return {
        "$defs": {**{f"A{n}": step(ref(f"A{n + 1}")) for n in range(length)}, f"A{length}": STRING},
        "$ref": "#/$defs/A0",
    }


USUAL = {
    "a tree": {"type": "object", "properties": {"id": {"type": "integer"}, "tags": {"items": STRING}}},
    "nothing": {},
    "a part that is used twice": recursive(Order={"properties": {"from": ref("City"), "to": ref("City")}}, City=STRING),
    "a node with children": recursive(Node={"properties": {"children": {"type": "array", "items": ref("Node")}}}),
    "a binary tree that may end": recursive(
        Node={"properties": {side: {"anyOf": [ref("Node"), {"type": "null"}]} for side in ("left", "right")}}
    ),
    "any JSON": recursive(
        Json={"anyOf": [STRING, {"items": ref("Json")}, {"additionalProperties": ref("Json"), "type": "object"}]}
    ),
    "a field beside others": recursive(
        Node={"properties": {"next": ref("Node")}, "additionalProperties": ref("Node"), "required": ["next"]}
    ),
    "a pair and a list": recursive(Node={"anyOf": [{"prefixItems": [ref("Node"), STRING], "items": ref("Node")}]}),
    "two sorts that share a tree": {
        "$defs": {"Tree": {"items": ref("Tree")}},
        "anyOf": [{"properties": {"kind": {"const": kind}, "tree": ref("Tree")}} for kind in "ab"],
    },
    "a few branches alike": chain(5, lambda below: {"anyOf": [below, below]}),
    "sorts that differ in their fields": recursive(
        Node={"anyOf": [{"properties": {"left": ref("Node")}}, {"properties": {"right": ref("Node")}}]}
    ),
    "itself and nothing else": {"$ref": "#"},
    "true": True,
    "a field that is called like a reference": {"properties": {"$ref": STRING}},
}
WITHOUT_END = {
    "expressions": recursive(
        Expression={"anyOf": [ref("And"), ref("Or")]},
        And={"properties": {"left": ref("Expression"), "right": ref("Expression"), "kind": {"const": "and"}}},
        Or={"properties": {"left": ref("Expression"), "right": ref("Expression"), "kind": {"const": "or"}}},
    ),
    "the same twice": recursive(Node={"allOf": [{"items": ref("Node")}, {"items": ref("Node")}]}),
    "a condition": recursive(
        Node={"if": {"properties": {"next": ref("Node")}}, "then": {"properties": {"next": ref("Node")}}}
    ),
    "a key and a pattern that it has": recursive(
        Node={"properties": {"next": ref("Node")}, "patternProperties": {"^n": ref("Node")}}
    ),
    "an element and what is contained": recursive(Node={"items": ref("Node"), "contains": ref("Node")}),
    "two cycles, one after the other": recursive(
        A={"properties": {"next": ref("A")}, "allOf": [ref("B")]}, B={"properties": {"next": ref("B")}}
    ),
    "branches that double, of one value": chain(40, lambda below: {"anyOf": [below, below]}),
    "branches that double, level by level": chain(
        40, lambda below: {"anyOf": [{"properties": {"a": below}}, {"properties": {"a": below}}]}
    ),
    "branches that double, negated": chain(40, lambda below: {"not": {"oneOf": [below, below]}}),
    "many parts that are used often": chain(12, lambda below: {"properties": dict.fromkeys("abcde", below)}),
    "a reference that moves": {"$dynamicAnchor": "node", "items": {"$dynamicRef": "#node"}},
    "a part with an address": {"$defs": {"a": {"$id": "a", "items": ref("a")}}, "$ref": "#/$defs/a"},
    "a reference by a name": {"$defs": {"a": {"$anchor": "here", "items": {"$ref": "#here"}}}, "$ref": "#here"},
}


@pytest.mark.parametrize("schema", USUAL.values(), ids=USUAL)
def test_usual_schemas(schema):
    assert not takes_too_many_routes(schema)


@pytest.mark.parametrize("schema", WITHOUT_END.values(), ids=WITHOUT_END)
def test_schemas_without_end(schema):
    assert takes_too_many_routes(schema)


def test_the_steps_of_the_search_are_bounded(monkeypatch):
    monkeypatch.setattr(_output_schema, "MOST_SEARCH_STEPS", 10_000)
    # Each of a hundred branches holds all the others' fields: ten thousand pairs, and as many below each of them.
    branches = [{"properties": {f"p{n}": ref("All") for n in range(100)}} for _ in range(100)]
    for schema in (recursive(All={"anyOf": branches}), chain(12_000, lambda below: {"properties": {"a": below}})):
        assert takes_too_many_routes(schema)
        with pytest.raises(_Untold):
            _Automaton(schema).is_ambiguous()
