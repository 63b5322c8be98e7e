"""No credential, no personal data, no broken text and no endless one leaves through a name, an id or content."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.telemetry._disclosing import content_text, safe_label, safe_text

from ..rows import over

DSN = "postgres://app:tea4two@db.internal/shop"


class Broken:
    """Has no text."""

    def __repr__(self) -> str:
        raise RuntimeError(DSN)


@given(st.text(st.characters()))
def test_any_name_makes_a_label_that_can_be_sent(name: str) -> None:
    label = safe_label(name)

    assert 1 <= len(label) <= 80
    assert label.isprintable()
    assert label.encode("utf-8")


@given(st.text(st.characters()), st.text(st.characters()))
def test_a_credential_in_a_name_is_taken_out_whatever_stands_around_it(before: str, after: str) -> None:
    assert "tea4two" not in safe_text(f"{before} {DSN} {after}")


@pytest.mark.parametrize("length", [2_000, 2_001, 60_000])
def test_a_long_text_is_cut(length: int) -> None:
    shown = safe_text("ä" * length)

    assert len(shown) == 2_000
    assert shown.endswith("…") is (length > 2_000)


def test_a_text_that_is_too_long_to_be_looked_through_is_withheld() -> None:
    assert safe_text(f"{DSN} " * 2_000) == "(withheld: 80,000 characters)"


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner)))
def test_any_content_makes_a_text_that_can_be_sent(value: Any) -> None:
    assert len(content_text(value).encode("utf-8")) <= 4 * 8_192


def test_content_is_json_without_credentials() -> None:
    shown = content_text({"dsn": DSN, "mail": "ada@example.org", "n": [1, None]})

    assert json.loads(shown) == {
        "dsn": "postgres://app:<DATABASE_PASSWORD_1>@db.internal/shop", "mail": "ada@example.org", "n": [1, None],
    }  # fmt: skip
    assert json.loads(content_text({"mail": "ada@example.org"}, also=("pii",))) == {"mail": "<EMAIL_1>"}


@over("value", [Broken(), {"a": [Broken()]}, {"\ud800": "\udfff"}, {1, 2}, b"\xff", 10**400, object()])
def test_no_object_makes_it_raise_or_quotes_an_error(value: Any) -> None:
    assert "tea4two" not in content_text(value)


def test_content_that_is_too_long_to_be_looked_through_is_withheld() -> None:
    assert content_text(DSN * 10_000) == "(withheld: 390,000 characters)"
    assert len(content_text("word " * 10_000)) == 8_192
