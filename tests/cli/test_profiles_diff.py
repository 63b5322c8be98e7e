"""`agentguard profiles diff`: what one set of profiles declares otherwise than another, and which way it leans."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from agentguard.cli import app
from agentguard.traces._profile_review import diff_profiles
from agentguard.verification import ToolProfile
from agentguard.verification.profile import schema_validator

from ..rows import over

runner = CliRunner()


def changes(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, str, Any, Any, str]]:
    found = diff_profiles([ToolProfile(name="t", **old)], [ToolProfile(name="t", **new)])
    return [(one.place, one.kind, one.old, one.new, one.effect) for one in found.changed.get("t", ())]


@over(("old", "new", "expected"), [
        ({"required_fields": ["a", "b"]}, {"required_fields": ["b", "a"]}, []),
        ({"required_fields": ["a"]}, {"required_fields": ["b"]},
         [("required_fields", "removed", "a", None, "looser"), ("required_fields", "added", None, "b", "stricter")]),
        ({"response_patterns": ["a"]}, {"response_patterns": ["a", "b"]},
         [("response_patterns", "added", None, "b", "looser")]),
        ({}, {"response_patterns": ["a"]}, [("response_patterns", "added", None, "a", "stricter")]),
        ({"min_response_length": 10}, {"min_response_length": 20},
         [("min_response_length", "changed", 10, 20, "stricter")]),
        ({"max_response_length": 10}, {"max_response_length": 20},
         [("max_response_length", "changed", 10, 20, "looser")]),
        ({"max_response_length": 10}, {}, [("max_response_length", "removed", 10, None, "looser")]),
        ({"expected_latency_ms": [10.0, 90.0]}, {"expected_latency_ms": [20.0, 80.0]},
         [("expected_latency_ms", "changed", [10.0, 90.0], [20.0, 80.0], "stricter")]),
        ({"expected_latency_ms": [10.0, 90.0]}, {"expected_latency_ms": [20.0, 99.0]},
         [("expected_latency_ms", "changed", [10.0, 90.0], [20.0, 99.0], "")]),
        ({}, {"expected_latency_ms": [50.0, 30000.0]},
         [("expected_latency_ms", "added", [50.0, 30000.0], [50.0, 30000.0], "stricter")]),
        ({"cacheable": False}, {"cacheable": True}, [("cacheable", "changed", False, True, "looser")]),
        ({"has_network_io": False}, {}, [("has_network_io", "changed", False, True, "stricter")]),
        ({"on_error": "closed"}, {"on_error": "open"}, [("on_error", "changed", "closed", "open", "looser")]),
        ({"echoes": {"id": "id"}}, {"echoes": {"id": "user.id", "city": "city"}},
         [("echoes.id", "changed", "id", "user.id", ""), ("echoes.city", "added", None, "city", "stricter")]),
        ({"content": {"pii": "flag"}}, {"content": {"pii": "block"}},
         [("content.pii", "changed", "flag", "block", "stricter")]),
        ({"echoes": {"id": {"path": "[].id", "rows": "any"}}}, {"echoes": {"id": {"path": "[].id", "rows": "every"}}},
         [("echoes.id", "changed", {"path": "[].id", "rows": "any"}, {"path": "[].id", "rows": "every"}, "stricter")]),
        ({"echoes": {"id": {"path": "[].id", "rows": "every"}}}, {"echoes": {"id": "[].id"}},
         [("echoes.id", "changed", {"path": "[].id", "rows": "every"}, "[].id", "")]),
        ({}, {"allow_errors": True}, [("allow_errors", "changed", False, True, "looser")]),
        ({}, {"max_blocks": 9}, [("max_blocks", "changed", 3, 9, "stricter")]),
        ({}, {"max_flags": 9}, [("max_flags", "changed", 30, 9, "looser")]),
        ({}, {"on_change": "hold"}, [("on_change", "changed", "follow", "hold", "stricter")]),
        ({"on_change": "hold"}, {}, [("on_change", "changed", "hold", "follow", "looser")]),
        ({"description": "a"}, {"description": "b"}, [("description", "changed", "a", "b", "")]),
    ])  # fmt: skip
def test_fields(old: dict[str, Any], new: dict[str, Any], expected: list[Any]) -> None:
    assert changes(old, new) == expected


@over(("old", "new", "expected"), [
        (None, {"type": "object"}, [("", "added", "stricter")]),
        ({"type": "object"}, None, [("", "removed", "looser")]),
        ({"type": "integer"}, {"type": "number"}, [(".type", "changed", "looser")]),
        ({"type": ["string", "null"]}, {"type": "string"}, [(".type", "changed", "stricter")]),
        ({"type": "string"}, {"type": "number"}, [(".type", "changed", "")]),
        ({"enum": [1, 2]}, {"enum": [True, 2]}, [(".enum", "changed", "")]),
        ({"required": ["a"]}, {"required": ["a", "b"]}, [(".required", "added", "stricter")]),
        ({}, {"required": ["a", "b"]}, [(".required", "added", "stricter"), (".required", "added", "stricter")]),
        ({"properties": {"a": {"minimum": 0}}}, {"properties": {"a": {"minimum": 5}, "b": {"type": "string"}}},
         [(".properties.a.minimum", "changed", "stricter"), (".properties.b", "added", "stricter")]),
        ({"properties": {"a": {}}, "additionalProperties": False}, {"properties": {}, "additionalProperties": False},
         [(".properties.a", "removed", "")]),
        ({"not": {"type": "string"}}, {"not": {"type": ["string", "null"]}}, [(".not.type", "changed", "")]),
        ({"items": {"maxLength": 5}}, {"items": {"maxLength": 9, "title": "x"}},
         [(".items.maxLength", "changed", "looser"), (".items.title", "added", "")]),
        ({"pattern": "a"}, {"pattern": "b"}, [(".pattern", "changed", "")]),
        ({"$defs": {"a": {"type": "string"}}}, {"$defs": {"a": {}}}, [(".$defs.a.type", "removed", "")]),
        ({"anyOf": [{"type": "string"}]}, {"anyOf": [{"type": "null"}]}, [(".anyOf", "changed", "")]),
        ({"additionalProperties": {"type": "string"}}, {"additionalProperties": False},
         [(".additionalProperties", "changed", "stricter")]),
        ({"description": "a"}, {"description": "b"}, [(".description", "changed", "")]),
    ])  # fmt: skip
def test_a_schema_is_compared_by_path(old: Any, new: Any, expected: list[Any]) -> None:
    found = changes({"output_schema": old}, {"output_schema": new})

    assert [(place, kind, effect) for place, kind, _, _, effect in found] == [
        ("output_schema" + place, kind, effect) for place, kind, effect in expected
    ]


keywords = {
    "type": st.sampled_from(["object", "string", "number", ["integer", "null"], ["object", "array"], "integer"]),
    "required": st.lists(st.sampled_from("ab"), max_size=2, unique=True),
    "minimum": st.integers(-1, 3),
    "maxLength": st.integers(0, 3),
    "enum": st.lists(st.sampled_from([None, 1, True, "a", {}]), min_size=1, max_size=3),
    "title": st.just("x"),
}
schemas: st.SearchStrategy[Any] = st.recursive(
    st.fixed_dictionaries({}, optional=keywords) | st.booleans(),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
            "items": inner,
            "additionalProperties": inner,
            "not": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "type": keywords["type"],
        },
    ),
    max_leaves=6,
)
instances = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 4) | st.sampled_from(["", "a", "abcd", 1.5]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


@given(schemas, schemas, st.lists(instances, min_size=1, max_size=8))
def test_what_is_called_stricter_frees_nothing(old: Any, new: Any, values: list[Any]) -> None:
    found = diff_profiles([ToolProfile(name="t", output_schema=old)], [ToolProfile(name="t", output_schema=new)])
    effects = {one.effect for changes in found.changed.values() for one in changes}

    was, now = ([schema_validator(schema).is_valid(value) for value in values] for schema in (old, new))
    if effects <= {"stricter"}:
        assert not any(after and not before for before, after in zip(was, now, strict=True))
    if effects <= {"looser"}:
        assert not any(before and not after for before, after in zip(was, now, strict=True))


@given(schemas)
def test_a_profile_does_not_differ_from_itself(schema: Any) -> None:
    profile = ToolProfile(name="t", output_schema=schema)

    assert diff_profiles([profile], [profile]).is_same


@pytest.fixture
def folders(tmp_path: Path) -> tuple[str, str]:
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        folder.mkdir()
        (folder / "same.yaml").write_text("required_fields: [id]\n")
    (old / "gone.yaml").write_text("has_network_io: false\n")
    (new / "come.yaml").write_text("has_network_io: false\n")
    (old / "orders.yaml").write_text("required_fields: [id, status]\nmax_response_length: 900\n")
    (new / "orders.yaml").write_text("required_fields: [id]\nmax_response_length: 800\n")
    return str(old), str(new)


def diff(*arguments: str) -> Any:
    return runner.invoke(app, ["profiles", "diff", *arguments])


def test_the_report_names_tools_and_fields(folders: tuple[str, str]) -> None:
    run = diff(*folders)

    lines = [line.split() for line in run.stdout.splitlines()]
    assert (run.exit_code, run.stderr) == (1, "")
    assert ["only", "in", "A:", "gone"] in lines
    assert ["only", "in", "B:", "come"] in lines
    assert ["-", "required_fields", '"status"', "looser"] in lines
    assert ["~", "max_response_length", "900", "800", "stricter"] in lines
    assert "1 tools changed, 1 added, 1 removed; of 2 changes 1 stricter, 1 looser" in run.stdout
    assert "same.yaml" not in run.stdout


def test_json_has_it_all(folders: tuple[str, str]) -> None:
    data = json.loads(diff(*folders, "--json").stdout)

    assert (data["same"], data["added"], data["removed"]) == (False, ["come"], ["gone"])
    (orders,) = data["changed"]
    assert orders["tool"] == "orders"
    assert orders["changes"][0] == {
        "field": "required_fields", "path": [], "kind": "removed", "old": "status", "new": None, "effect": "looser",
    }  # fmt: skip


def test_exit_codes_tell_same_different_and_error(folders: tuple[str, str]) -> None:
    old, new = folders

    assert [diff(old, old).exit_code, diff("shipped", "shipped", "--json").exit_code] == [0, 0]
    assert diff(f"{old}/same.yaml", f"{new}/same.yaml").stdout == "the same\n"
    assert [diff(old, new).exit_code, diff(old, new, "--json").exit_code] == [1, 1]
    missing = diff(old, "absent", "--json")
    assert (missing.exit_code, list(json.loads(missing.stdout))) == (3, ["error"])
    assert diff(old).exit_code == 3
