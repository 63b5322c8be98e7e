"""What is kept of a model: figures, read back exactly or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import DataError
from agentguard.health import LLMCall
from agentguard.health._baseline import Levels, decode, encode, name_of
from agentguard.health._judging import Settings, judge
from agentguard.stores import MemoryStore

from ..rows import over

CALLS = st.builds(
    LLMCall,
    model=st.just("m"),
    text=st.none() | st.text(max_size=40),
    latency_ms=st.none() | st.floats(0, 1e9),
    first_token_ms=st.none() | st.floats(0, 1e9),
    tokens=st.none() | st.integers(0, 10**6),
    error=st.none() | st.just("ValueError"),
)


def learned(calls: list[LLMCall]) -> Levels:
    levels = Levels()
    for call in calls:
        _, levels = judge(call, levels, Settings())
    return levels


@given(st.lists(CALLS, max_size=30))
def test_a_store_gives_back_what_was_learned(calls: list[LLMCall]) -> None:
    levels = learned(calls)
    store = MemoryStore()
    store.save({name_of("m"): encode("m", levels)})

    assert decode(store.load()[name_of("m")]) == levels


def test_no_text_is_kept() -> None:
    assert "Oslo" not in str(encode("m", learned([LLMCall("m", "It is mild in Oslo.", 100.0)] * 30)))


def test_any_name_is_a_name() -> None:
    store = MemoryStore()
    store.save({name_of("\ud800:x"): encode("\ud800:x", Levels())})

    assert list(store.names()) == ["health:\\ud800:x"]


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    document = encode("m", learned([LLMCall("m", "Mild.", 100.0)] * 3))
    change(document)
    return document


@over(
    ("change", "message"),
    [
        (lambda it: it.update(version=2), "version 2"),
        (lambda it: it.pop("version"), "version None"),
        (lambda it: it.pop("learned"), "what was learned is missing"),
        (lambda it: it.update(learned=[]), "what was learned is missing"),
        (lambda it: it["learned"].update(calls=-1), "calls is not a number"),
        (lambda it: it["learned"].update(errors=True), "errors is not a number"),
        (lambda it: it["learned"].pop("latency_ms"), "latency_ms is missing"),
        (lambda it: it["learned"]["latency_ms"].update(samples="3"), "latency_ms.samples is not a number"),
        (lambda it: it["learned"]["latency_ms"].update(usual=[]), "latency_ms.usual should have 1 figures"),
        (lambda it: it["learned"]["latency_ms"].update(usual=["fast"]), "latency_ms.usual has a figure"),
        (lambda it: it["learned"]["latency_ms"].update(usual=[-1.0]), "latency_ms.usual has a figure"),
        (lambda it: it["learned"]["latency_ms"].update(usual=[10**400]), "latency_ms.usual has a figure"),
        (lambda it: it["learned"]["fingerprint"].update(usual=[1.0]), "fingerprint.usual should have 7 figures"),
        (lambda it: it["learned"]["fingerprint"].update(since=1), "fingerprint.recent should have 7 figures"),
    ],
)
def test_what_was_not_written_here_is_refused(change: Callable[[dict[str, Any]], object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        decode(changed(change))
