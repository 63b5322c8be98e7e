"""What callers of a guarded function get: its result, a block, or its own exception."""

import inspect
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from agentguard import ConfigurationError, Guard, ResultBlocked, VerificationEngine
from agentguard.integrations import functions
from agentguard.integrations.functions import guarded

from ..engines import INJECTION, RULES, SECRET

GOOD, MADE_UP = {"id": 7}, {"note": "I believe so"}


class Broken(VerificationEngine):
    """An engine that fails: the guard's own failure."""

    def verify(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("out of order")


class Model(BaseModel):
    id: int = 7


@dataclass
class Record:
    id: int = 7


def new_engine(kind: type[VerificationEngine] = VerificationEngine, **fields: Any) -> VerificationEngine:
    engine = kind()
    engine.register_tool_profile("lookup", required_fields=["id"], has_network_io=False, **fields)
    return engine


def both(engine: VerificationEngine, make: Any, **options: Any) -> tuple[Any, Any]:
    """A plain function and a coroutine function that return what ``make()`` does, both guarded."""

    @guarded(Guard(engine, **options), "lookup")
    def plain(key: int = 1) -> Any:
        return make()

    @guarded(Guard(engine, **options), "lookup")
    async def coroutine(key: int = 1) -> Any:
        return make()

    return plain, coroutine


def fail() -> Any:
    raise KeyError("no such row")


async def test_a_genuine_result_comes_back_as_it_is() -> None:
    plain, coroutine = both(new_engine(), lambda: GOOD)
    assert plain() is GOOD
    assert await coroutine() is GOOD


async def test_a_blocked_result_raises() -> None:
    plain, coroutine = both(new_engine(), lambda: MADE_UP)
    with pytest.raises(ResultBlocked, match="required field 'id' is missing") as caught:
        plain()
    assert caught.value.tool == "lookup"
    assert caught.value.posterior > 0.5
    with pytest.raises(ResultBlocked):
        await coroutine()


def test_a_block_can_be_answered_by_feedback() -> None:
    engine = new_engine()
    plain, _ = both(engine, lambda: MADE_UP)
    with pytest.raises(ResultBlocked) as caught:
        plain()
    engine.record_feedback("lookup", caught.value.posterior, was_hallucination=False, call_id=caught.value.call_id)


async def test_replace_returns_a_notice_that_quotes_no_result() -> None:
    plain, coroutine = both(new_engine(), lambda: MADE_UP, on_block="replace")
    for notice in (plain(), await coroutine()):
        assert notice.startswith("The result of 'lookup' was blocked")
        assert "I believe so" not in notice


@pytest.mark.parametrize(
    "result",
    [GOOD, [GOOD], "id: 7", None, (1, 2), Model(), Record(), b"\x00\xff", 7, 1.5, True, {1, 2}, object(), iter([1])],
    ids=lambda value: type(value).__name__,
)
async def test_every_type_of_result_is_judged_and_comes_back_itself(result: Any) -> None:
    seen: list[Any] = []
    plain, coroutine = both(VerificationEngine(), lambda: result, on_judgement=lambda outcome, _: seen.append(outcome))
    assert plain() is result
    assert await coroutine() is result
    assert [outcome.result for outcome in seen] == [result, result]


async def test_exceptions_pass_untouched_and_are_not_learned_from() -> None:
    engine = new_engine()
    engine.trust("lookup", 2)
    plain, coroutine = both(engine, fail)
    with pytest.raises(KeyError, match="no such row"):
        plain()
    with pytest.raises(KeyError, match="no such row"):
        await coroutine()
    assert engine.verify("lookup", result=GOOD).note == "trusted warm-up, 1 calls left"


async def test_the_text_of_an_exception_is_judged_by_the_content_rules() -> None:
    async def raised_by(text: str, **options: Any) -> list[Any]:
        def make() -> Any:
            raise ConnectionError(text)

        engine = new_engine(content=RULES)
        plain, coroutine = both(engine, make, **options)
        found: list[Any] = []
        for call in (lambda: plain(), coroutine):
            try:
                said = call()
                found.append(await said if inspect.isawaitable(said) else said)
            except Exception as error:
                found.append(error)
        return found

    assert [type(error) for error in await raised_by(INJECTION)] == [ResultBlocked] * 2
    for notice in await raised_by(INJECTION, on_block="replace"):
        assert notice.startswith("The result of 'lookup' was blocked")
        assert "customer list" not in notice
    for error in await raised_by(SECRET):
        assert type(error) is ConnectionError
        assert str(error) == "dsn postgres://app:<DATABASE_PASSWORD_1>@db.internal/shop"
    for error in await raised_by("no such host"):
        assert (type(error), error.args) == (ConnectionError, ("no such host",))


def test_bad_arguments_are_the_functions_own_error() -> None:
    engine = new_engine()
    engine.trust("lookup", 2)
    plain, _ = both(engine, lambda: GOOD)
    with pytest.raises(TypeError, match="unexpected keyword"):
        plain(nonsense=1)
    assert engine.verify("lookup", result=GOOD).note == "trusted warm-up, 1 calls left"


async def test_shadow_mode_judges_and_changes_nothing() -> None:
    verdicts: list[str] = []
    plain, coroutine = both(
        new_engine(), lambda: MADE_UP, shadow=True, on_judgement=lambda _, found: verdicts.append(found.verdict)
    )
    assert plain() is MADE_UP
    assert await coroutine() is MADE_UP
    assert verdicts == ["block", "block"]


async def test_the_guards_own_failure_open_closed_and_in_shadow() -> None:
    engine = new_engine(Broken, idempotent=True)
    for options in ({}, {"on_guard_error": "closed", "shadow": True}):
        plain, coroutine = both(engine, lambda: GOOD, **options)
        assert plain() is GOOD
        assert await coroutine() is GOOD
    made: list[int] = []
    plain, coroutine = both(engine, lambda: made.append(1), on_guard_error="closed", max_retries=3)
    with pytest.raises(ResultBlocked, match="could not be verified"):
        plain()
    with pytest.raises(ResultBlocked, match="could not be verified"):
        await coroutine()
    assert len(made) == 2  # another call would not mend the guard


def test_a_failing_observer_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def observer(*_: Any) -> None:
        raise ValueError("secret")

    plain, _ = both(new_engine(), lambda: GOOD, on_judgement=observer)
    assert plain() is GOOD
    assert "ValueError" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize(("idempotent", "calls"), [(True, 3), (False, 1)])
async def test_only_an_idempotent_tool_is_called_again(idempotent: bool, calls: int) -> None:
    made: list[int] = []

    def make() -> Any:
        made.append(1)
        return GOOD if len(made) == 3 else MADE_UP

    for which in (0, 1):
        made.clear()
        guards = both(new_engine(idempotent=idempotent), make, max_retries=2, on_block="replace")
        answer = guards[which]()
        answer = await answer if inspect.isawaitable(answer) else answer
        assert len(made) == calls
        assert (answer is GOOD) == idempotent


async def test_the_time_is_the_functions_own(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [5.0]
    monkeypatch.setattr(functions, "perf_counter", lambda: now[0])
    times: list[float | None] = []

    def make() -> Any:
        now[0] += 0.125
        return GOOD

    plain, coroutine = both(new_engine(), make, on_judgement=lambda outcome, _: times.append(outcome.execution_time_ms))
    plain()
    await coroutine()
    assert times == [125.0, 125.0]  # 0.125 s on the clock that only the function moves


def test_eight_threads_lose_no_update() -> None:
    engine = new_engine()
    plain, _ = both(engine, lambda: GOOD)
    engine.trust("lookup", 801)
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda _: plain() is GOOD, range(800)))
    assert engine.verify("lookup", result=GOOD).note == "trusted warm-up, 0 calls left"


@pytest.mark.parametrize("rules", [{"on_flag": "review"}, {"on_block": "end"}, {"max_retries": -1}])
def test_what_a_function_cannot_do_is_refused_at_once(rules: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(rules))):
        guarded(Guard(new_engine(), **rules))


def test_another_way_with_generators_is_refused() -> None:
    wrong: Any = "stream"
    with pytest.raises(ConfigurationError, match="generators"):
        guarded(new_engine(), generators=wrong)


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="below @classmethod"):
        guarded(new_engine())(classmethod(lambda cls: None))  # type: ignore[type-var]  # it is the mistake tested
