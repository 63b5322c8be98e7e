"""The grammar of field paths: what it accepts is put together again as written, anything else is refused in words."""

import re
from ast import literal_eval
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentguard.errors import ProfileError
from agentguard.verification._contract import Contract
from agentguard.verification._document import read
from agentguard.verification.profile import FieldPath, ToolProfile, parse_profile, place_of

from ..rows import over

KEYS = st.text(min_size=1, max_size=8).filter(lambda key: key == key.strip() and not set(key) & set(".[]"))
STEPS = st.lists(KEYS | st.just("[]"), min_size=1, max_size=10).map(tuple)
HOSTILE = st.text(alphabet=[*".[]*'\" 0a\n\t$@", "\ud800", "\u202e", "é"], max_size=30) | st.text(max_size=30)


def parsed(text: str) -> tuple[FieldPath | None, str]:
    """The path, or None and why the text is none."""
    try:
        return FieldPath.parse(text), ""
    except ValueError as error:
        return None, str(error)


@given(STEPS)
def test_steps_survive_being_written(steps: tuple[str, ...]) -> None:
    assert FieldPath.parse(str(FieldPath(steps))).steps == steps


@given(HOSTILE)
def test_any_text_is_read_as_it_is_written_or_refused_in_words(text: str) -> None:
    path, refusal = parsed(text)
    if path is None:
        assert "; write " in refusal
    else:
        assert str(path) == text
        keys = [step for step in path.steps if step != "[]"]
        assert all(key and key == key.strip() and not set(key) & set(".[]") for key in keys)


@given(HOSTILE)
def test_what_is_written_instead_is_a_path(text: str) -> None:
    path, refusal = parsed(text)
    _, _, instead = refusal.rpartition("; write ")
    if path is None and not instead.startswith("it like"):
        FieldPath.parse(literal_eval(instead))


@over(
    ("text", "fault"),
    [
        ("", "'' is empty; write it like 'quote.price' or 'rows[].id'"),
        ("  ", "'  ' is empty; write it like"),
        ("price..amount", "has a dot with no name beside it; write 'price.amount'"),
        (".price.", "has a dot with no name beside it; write 'price'"),
        ("rows[0].id", "has '[0]', where [] stands for every element of a list and a dot for a key; write 'rows[].id'"),
        ("rows[-1]", "has '[-1]', where [] stands for every element of a list and a dot for a key; write 'rows[]'"),
        ("rows[*].id", "write 'rows[].id'"),
        ("quote['price']", "write 'quote.price'"),
        ('["quote"]["price"]', "write 'quote.price'"),
        ("rows.[].id", "has a dot before []; write 'rows[].id'"),
        ("rows[]id", "has a name right after [], without a dot; write 'rows[].id'"),
        ("rows[.id", "has a bracket that is not part of []; write it like"),
        ("quote . price", "has white space around a name; write 'quote.price'"),
        (" price", "has white space around a name; write 'price'"),
    ],
)
def test_a_fault_says_what_to_write_instead(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=re.escape(fault)):
        FieldPath.parse(text)


def test_a_path_is_no_deeper_than_results_are_looked_into() -> None:
    assert len(FieldPath.parse(".".join("a" * 64)).steps) == 64
    with pytest.raises(ValueError, match="has 65 steps"):
        FieldPath.parse(".".join("a" * 65))


@pytest.mark.parametrize("field", ["required_fields", "forbidden_fields", "echoes"])
@given(text=HOSTILE)
@example(text="")
def test_a_profile_with_any_path_parses_or_raises_a_profile_error(field: str, text: str) -> None:
    parses_or_raises(field, text)


@over("field", ["required_fields", "forbidden_fields", "echoes"])
@over("piece", ["a.", "[]", "[", ".", "]", "[0]", "['a']", " ", "[1:"])
def test_a_profile_with_a_very_long_path_raises_a_profile_error(field: str, piece: str) -> None:
    with pytest.raises(ProfileError):
        parse_profile({"name": "t", field: {piece * 20_000: "id"} if field == "echoes" else [piece * 20_000]})
    parses_or_raises(field, piece * 20_000)


def parses_or_raises(field: str, text: str) -> None:
    value: Any = {text: "id"} if field == "echoes" else [text]
    try:
        profile = parse_profile({"name": "t", field: value})
    except ProfileError as error:
        (problem,) = error.problems
        assert problem.field.startswith(field)
        assert len(problem.message) < 1_000
    else:
        assert list(getattr(profile, field)) == [text]


def test_all_faulty_paths_of_a_profile_are_told_at_once() -> None:
    with pytest.raises(ProfileError) as caught:
        parse_profile(
            {"name": "t", "aliases": ["*"], "required_fields": ["a..b", "c", "d[0]"], "echoes": {"x[1]": "y."}}
        )
    assert [problem.field for problem in caught.value.problems] == [
        "aliases.0", "required_fields.0", "required_fields.2", "echoes.x[1]", "echoes.x[1].path",
    ]  # fmt: skip


@given(STEPS.filter(lambda steps: steps != ("[]",)), st.booleans())
def test_a_required_path_is_the_one_that_a_result_is_searched_for(steps: tuple[str, ...], there: bool) -> None:
    value: Any = "a value"
    for position, step in enumerate(reversed(steps)):
        value = [value] if step == "[]" else {step if there or position else f"{step} is not here": value}
    if steps[-1] == "[]":
        there = True  # a list is there, whatever it holds
    contract = Contract(ToolProfile(name="t", required_fields=(str(FieldPath(steps)),)))
    assert contract.field_violations(read(value)) == (
        [] if there else [f"required field {str(FieldPath(steps))!r} is missing"]
    )


@given(st.lists(KEYS, min_size=1, max_size=6))
def test_a_place_is_where_a_walk_finds_the_value(keys: list[str]) -> None:
    value: Any = 1
    for key in reversed(keys):
        value = [{key: value}]
    path = "[]." + "[].".join(keys)
    assert list(read(value).leaves) == [place_of(path)]


def test_places_are_written_as_they_are_learned() -> None:
    assert place_of("line_2[].sku") == place_of("line_#[].sku") == "line_#[].sku"
