"""So many labels and no more, the same one for the same tool, whoever asks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import ConfigurationError
from agentguard.telemetry._disclosing import ToolNames


@given(st.lists(st.text(st.characters()), max_size=30), st.integers(0, 5))
def test_labels_are_bounded_and_stable(tools: list[str], most: int) -> None:
    names = ToolNames(most, ["pay"])

    first = [names.label(tool) for tool in tools]

    assert len(set(first) - {"pay", "other"}) <= most
    assert [names.label(tool) for tool in tools] == first
    assert names.label("pay") == "pay"


def test_made_up_names_do_not_take_the_place_of_known_ones() -> None:
    names = ToolNames(2, ["pay", "refund"])

    assert [names.label(f"made up {number}") for number in range(4)] == ["made up 0", "made up 1", "other", "other"]
    assert [names.label(tool) for tool in ("pay", "refund")] == ["pay", "refund"]


def test_threads_share_the_room() -> None:
    names = ToolNames(10)
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda number: names.label(f"tool {number % 200}"), range(4_000)))

    assert len(found) == 11
    assert "other" in found


@pytest.mark.parametrize("most", [-1, 1.5, True, "9"])
def test_a_bound_that_is_none_is_refused(most: Any) -> None:
    with pytest.raises(ConfigurationError, match="max_tools must be a non-negative integer"):
        ToolNames(most)


def test_a_text_is_no_collection_of_names() -> None:
    with pytest.raises(ConfigurationError, match="not the text 'pay'"):
        ToolNames(5, "pay")
