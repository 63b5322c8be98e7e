"""Fields of a profile whose values have more than one form, or bounds of their own."""

import json
from typing import Any

import pytest

from agentguard.errors import ProfileError
from agentguard.verification import ToolProfile
from agentguard.verification.profile import DeclaredEcho, parse_profile

from ..rows import over


def faults(**fields: Any) -> dict[str, str]:
    """The message of each problem, by field."""
    with pytest.raises(ProfileError) as caught:
        parse_profile({"name": "t", **fields})
    return {problem.field: problem.message for problem in caught.value.problems}


def test_what_a_lasting_change_does_is_the_profiles_choice() -> None:
    default = ToolProfile(name="t")
    assert (default.max_blocks, default.max_flags, default.on_change) == (3, 30, "follow")
    chosen = parse_profile({"name": "t", "max_blocks": 0, "max_flags": 1, "on_change": "hold"})
    assert (chosen.max_blocks, chosen.max_flags, chosen.on_change) == (0, 1, "hold")


@over(
    ("field", "value"),
    [
        ("max_blocks", -1),
        ("max_blocks", True),
        ("max_blocks", "3"),
        ("max_flags", 0),
        ("max_flags", 2.5),
        ("on_change", "adopt"),
    ],
)
def test_numbers_of_calls_out_of_range_are_refused(field: str, value: Any) -> None:
    assert list(faults(**{field: value})) == [field]


def test_an_echo_is_a_path_or_says_how_many_rows_repeat_the_argument() -> None:
    profile = parse_profile(
        {"name": "t", "echoes": {"order_id": "id", "customer_id": {"path": "[].customer_id", "rows": "every"}}}
    )
    assert profile.echoes == {
        "order_id": DeclaredEcho(path="id", rows=None),
        "customer_id": DeclaredEcho(path="[].customer_id", rows="every"),
    }
    plain = profile.model_dump(mode="json")
    assert plain["echoes"] == {"order_id": "id", "customer_id": {"path": "[].customer_id", "rows": "every"}}
    assert parse_profile(json.loads(json.dumps(plain))) == profile


def test_a_mapping_with_a_path_alone_is_the_path() -> None:
    assert ToolProfile(name="t", echoes={"a": {"path": "b"}}) == ToolProfile(name="t", echoes={"a": "b"})


@over(
    ("echo", "field"),
    [
        ({"path": "[].id", "rows": "all"}, "echoes.a.rows"),
        ({"rows": "any"}, "echoes.a.path"),
        ({"path": "id", "row": "any"}, "echoes.a.row"),
        ("", "echoes.a.path"),
        (5, "echoes.a"),
    ],
)
def test_a_faulty_echo_is_told_with_its_field(echo: Any, field: str) -> None:
    assert list(faults(echoes={"a": echo})) == [field]


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        (
            {"required_fields": "price \udc80"},
            r'required_fields: is one text, and must be a list: write ["price \udc80"]',
        ),
        ({"echoes": ["\udc80"]}, r'echoes: must map arguments to places in the result: write {"\udc80": "\udc80"}'),
    ],
)
def test_a_text_that_cannot_be_written_is_told_in_signs_that_can(fields: dict[str, Any], fault: str) -> None:
    with pytest.raises(ProfileError) as caught:
        parse_profile({"name": "t", **fields})

    assert [f"{problem.field}: {problem.message}" for problem in caught.value.problems] == [fault]


def test_a_read_back_reads_as_it_is_written() -> None:
    confirm = {"tool": "get", "args": {"id": "$.result.id", "of": [{"x": "$.args.x"}, 5]}, "expect": {"a.b": "open"}}
    against = {"tool": "list", "args": {}, "fields": ["price"], "tolerance": 0.01}
    profile = parse_profile({"name": "t", "confirm": confirm, "against": against})

    assert profile.against is not None
    assert profile.against.fields == {"price": "price"}
    assert parse_profile(profile.model_dump(include=profile.model_fields_set)) == profile
    assert parse_profile(json.loads(json.dumps(profile.model_dump(mode="json")))) == profile


ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)


@over(
    ("value", "field", "why"),
    [
        ({"tool": "get", "args": {"id": "$.arg.id"}}, "confirm.args.id", "did you mean '$.args.id'?"),
        ({"tool": "get", "args": {"id": "result.id"}}, "confirm.args.id", "did you mean '$.result.id'?"),
        ({"tool": "get", "args": {"id": "$.output.id"}}, "confirm.args.id", "did you mean '$.result.id'?"),
        ({"tool": "get", "args": {"id": "$.nowhere"}}, "confirm.args.id", "write it like '$.args.order_id'"),
        ({"tool": "get", "args": {"id": "$.result[0].id"}}, "confirm.args.id", "stands for every element of a list"),
        ({"tool": "get", "args": {"id": ENDLESS}}, "confirm.args.id", "more than 64 levels deep"),
        ({"tool": "get", "args": {}, "expect": {"a..b": 1}}, "confirm.expect.a..b", "write 'a.b'"),
        ({"tool": "get", "args": {}, "expect": {}}, "confirm.expect", "at least 1 item"),
        ({"tool": "get", "args": {}, "timeout": 0}, "confirm.timeout", "greater than 0"),
        ({"tool": "get", "args": {}, "tolerance": "1%"}, "confirm.tolerance", "a valid number"),
        ({"tool": "t", "args": {}}, "confirm", "must be another one"),
        ({"args": {}}, "confirm.tool", "required"),
    ],
)
def test_a_read_back_that_cannot_be_is_refused_with_what_is_meant(value: Any, field: str, why: str) -> None:
    found = faults(confirm=value)

    assert list(found) == [field]
    assert why in found[field]
