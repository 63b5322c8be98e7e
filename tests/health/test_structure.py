"""The structure engine: JSON, lists and blocks of code; a score only where something is out of order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.health._judging import check_structure, structure_of
from agentguard.health._types import Structured

from ..rows import over


@over(
    "text",
    ['{"a": 1}', " [1, 2]\n", "{}", "[]", '```json\n{"a": 1}\n```', '```\n[{"a": "x"}]\n```\n', '{"a": "``` // }"}'],
)
def test_json_is_seen(text: str) -> None:
    found = structure_of(text)

    assert (found.is_json, found.broken_json) == (True, False)


@over(
    "text",
    [
        '{"a": 1',
        '{"a": 1,}',
        "{\"a\": 'x'}",
        '[{"a": 1}, {"b": ]',
        '["a", "b"',
        '{"a": NaN}',
        'Here it is:\n```json\n{"a": \n```\nThat is all.',
        '```json\n{"a": 1',
        '{"a": 1} and more',
    ],
)
def test_broken_json_is_seen(text: str) -> None:
    found = structure_of(text)

    assert (found.is_json, found.broken_json) == (False, True)


@over(
    "text",
    [
        "It is mild.",
        "[1] A source.",
        "{name} is a placeholder.",
        "[see the documentation]",
        "7",
        '"text"',
        "null",
        'As JSON:\n```json\n{"a": 1}\n```',
        "```python\nx = {'a': 1}\n```",
    ],
)
def test_what_is_no_json_is_not_broken_either(text: str) -> None:
    found = structure_of(text)

    assert (found.is_json, found.broken_json) == (False, False)


def test_list_items_and_code_blocks_are_counted() -> None:
    found = structure_of(
        "- one\n* two\n\u2022 three\n-not one\n1. first\n2) second\n3.no\n\n```python\nx = 1\n```\n\n```\nopen"
    )

    assert (found.bullets, found.numbered, found.list_items, found.code_blocks) == (3, 2, 5, 2)


def test_inline_code_is_no_block() -> None:
    assert structure_of("Use ```x``` here, and `y`.").code_blocks == 0


@over(
    ("text", "expects"),
    [('{"a": 1}', "json"), ("- a\n- b", "list"), ("1. a\n2. b", "list"), ("```\nx\n```", "code"), ("Mild.", None)],
)
def test_what_is_in_order_has_no_weight(text: str, expects: Structured | None) -> None:
    found = check_structure(structure_of(text), expects)

    assert (found.applicable, found.value, found.status) == (False, 0.0, "ok")


@pytest.mark.parametrize(
    ("text", "expects", "how"),
    [
        ("Mild.", "json", "absent"),
        ('{"a": ', "json", "broken"),
        ("- one", "list", "absent"),
        ("x = 1", "code", "absent"),
    ],
)
def test_an_expected_form_that_is_absent_is_in_error(text: str, expects: Structured, how: str) -> None:
    found = check_structure(structure_of(text), expects)

    assert (found.applicable, found.value, found.status) == (True, 1.0, "error")
    assert (found.details["expected"], found.details["found"]) == (expects, how)


def test_broken_json_that_nobody_asked_for_warns() -> None:
    found = check_structure(structure_of('{"a": '))
    assert (found.value, found.status, found.applicable) == (0.5, "warn", True)
    assert check_structure(structure_of('{"a": '), broken=0.25).value == 0.25


def test_without_a_text_nothing_is_judged() -> None:
    assert not check_structure(None, "json").applicable


@given(st.text(st.characters(codec=None)) | st.text('{}[]"`-*1.) \n:,a', max_size=60))
def test_any_text_has_a_structure(text: str) -> None:
    found = structure_of(text)

    assert not (found.is_json and found.broken_json)
    assert found.list_items <= text.count("\n") + 1


@over(
    "text",
    [
        "[" * 300_000,
        '{"a":' * 100_000,
        "```" + "a" * 300_000 + "`",
        "```json\n" * 50_000,
        " " * 300_000 + "-",
        "\ud800{",
    ],
)
def test_hostile_texts_end(text: str) -> None:
    assert not structure_of(text).is_json
