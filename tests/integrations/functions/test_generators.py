"""Generators and coroutines: drained, refused, or handed on unread in shadow mode."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from agentguard import ConfigurationError, DataError, ResultBlocked, VerificationEngine
from agentguard.guard import Guard, Outcome
from agentguard.integrations import functions
from agentguard.integrations.functions import guarded

ROWS = [{"id": 1}, {"id": 2}]


class Seen(list[Outcome]):
    def __call__(self, outcome: Outcome, _: object) -> None:
        self.append(outcome)


def new_engine() -> VerificationEngine:
    engine = VerificationEngine()
    engine.register_tool_profile("rows", required_fields=["[].id"], has_network_io=False)
    return engine


def rows() -> Iterator[dict[str, int]]:
    yield from ROWS


async def arows() -> AsyncIterator[dict[str, int]]:
    for row in ROWS:
        yield row


def endless() -> Iterator[int]:
    while True:
        yield 1


async def aendless() -> AsyncIterator[int]:
    while True:
        yield 1


async def test_generators_are_drained_into_the_list_that_is_judged() -> None:
    seen = Seen()
    guard = guarded(Guard(new_engine(), on_judgement=seen), "rows")
    drained: Any = guard(rows)()
    drained_async: Any = await guard(arows)()  # type: ignore[misc]  # a drained generator is awaited, not iterated
    handed_on: Any = guard(lambda: rows())()
    assert drained == drained_async == handed_on == ROWS
    assert [outcome.result for outcome in seen] == [ROWS] * 3


async def test_a_made_up_row_blocks_the_whole() -> None:
    def made_up() -> Iterator[dict[str, object]]:
        yield {"id": 1}
        yield {"note": "and so on"}

    with pytest.raises(ResultBlocked):
        guarded(new_engine(), "rows")(made_up)()


async def test_an_endless_generator_is_stopped_and_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "MOST_ITEMS", 3)
    seen = Seen()
    guard = guarded(Guard(new_engine(), on_judgement=seen), "rows")
    with pytest.raises(DataError, match="more than 3 items"):
        guard(endless)()
    with pytest.raises(DataError, match="more than 3 items"):
        await guard(aendless)()  # type: ignore[misc]  # a drained generator is awaited, not iterated
    assert not seen


def test_exactly_as_many_items_as_allowed_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "MOST_ITEMS", 2)
    drained: Any = guarded(new_engine(), "rows")(rows)()
    assert drained == ROWS


@pytest.mark.parametrize("generator", [rows, arows])
def test_refused_generators_are_refused_when_they_are_decorated(generator: Any) -> None:
    with pytest.raises(ConfigurationError, match="is a generator"):
        guarded(new_engine(), generators="refuse")(generator)


async def test_a_returned_generator_is_refused_and_closed() -> None:
    made = rows()
    guard = guarded(new_engine(), "rows", generators="refuse")
    with pytest.raises(ConfigurationError, match="returned a generator"):
        guard(lambda: made)()
    assert list(made) == []  # closed

    async def coroutine() -> Any:
        return arows()

    with pytest.raises(ConfigurationError, match="returned a generator"):
        await guard(coroutine)()


def test_a_plain_function_cannot_drain_an_asynchronous_generator() -> None:
    with pytest.raises(ConfigurationError, match="make the function an async one"):
        guarded(new_engine(), "rows")(lambda: arows())()


async def test_shadow_mode_hands_generators_on_unread() -> None:
    seen = Seen()
    guard = guarded(Guard(new_engine(), shadow=True, on_judgement=seen), "rows")
    assert list(guard(rows)()) == ROWS
    assert [row async for row in guard(arows)()] == ROWS
    made = rows()
    assert guard(lambda: made)() is made
    assert not seen


async def test_an_exception_halfway_is_the_functions_own() -> None:
    seen = Seen()

    def breaks() -> Iterator[int]:
        yield 1
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        guarded(Guard(new_engine(), on_judgement=seen), "rows")(breaks)()
    assert not seen


async def test_a_plain_function_that_hands_on_a_coroutine_is_judged_when_it_is_awaited() -> None:
    async def fetch() -> list[dict[str, int]]:
        return ROWS

    seen = Seen()
    pending = guarded(Guard(new_engine(), on_judgement=seen), "rows")(lambda: fetch())()
    assert not seen
    assert await pending == ROWS
    assert [outcome.result for outcome in seen] == [ROWS]
