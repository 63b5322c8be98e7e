"""Credentials in the texts of tools: of what is redacted, no six characters can be read."""

from __future__ import annotations

import random

import pytest
from fuzz.carriers import CARRIERS, Carrier, left, shown
from hypothesis import given, settings
from hypothesis import strategies as st

from agentguard.content._results import redacted


def test_there_are_forty_places() -> None:
    assert len({carrier.name for carrier in CARRIERS}) == len(CARRIERS) >= 40


@pytest.mark.parametrize("carrier", CARRIERS, ids=lambda carrier: carrier.name)
def test_of_a_credential_nothing_is_left_in_its_place(carrier: Carrier) -> None:
    for seed in range(8):
        made = shown(random.Random(seed), carrier)
        assert left(redacted(made.text, ("secrets",)), made.secret) == [], made.text


@settings(max_examples=300)
@given(st.integers(0, 2**64 - 1))
def test_of_any_credential_nothing_is_left(seed: int) -> None:
    made = shown(random.Random(seed))
    assert left(redacted(made.text, ("secrets",)), made.secret) == []


@pytest.mark.slow
def test_of_ten_thousand_credentials_nothing_is_left() -> None:
    draw, whole = random.Random(20_260), []
    for _ in range(10_000):
        made = shown(draw)
        whole += left(redacted(made.text, ("secrets",)), made.secret)
    assert whole == []


def test_what_is_left_is_told() -> None:
    assert left("x abcdef y", "0abcdefg") == ["abcdef"]
    assert left("x abcde y", "0abcdefg") == []
    assert left("%2Fabcd%2F", "/abcd/") == ["%2Fabcd%2F"]
    assert left("one\ntwo", "one\ntwo") == []
