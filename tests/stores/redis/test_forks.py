"""Forks while threads judge on a server."""

from __future__ import annotations

import os
from typing import Any

import pytest
from tests.engine.test_forks import TIMES, ends_of


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("order", ["stores", "engine"])
def test_children_forked_under_load_judge_and_end(order: str, started: Any) -> None:
    assert ends_of(order, started().url) == f"{{'well': {TIMES}}} parent well"
