"""What the model reads next to a result, or in its place, is judged by the content rules of the profile alone."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import ResultBlocked
from agentguard.guard import Guard, Outcome
from agentguard.guard._guard import CallGuard
from agentguard.verification import VerificationEngine

from ..integrations.engines import INJECTION, RULES, SECRET, ScriptedEngine, engine_of

CALL = Outcome("fetch", {"url": "u"}, {"size": 12}, 4.0, "s", "c")


# --- Beside a result ---


def test_the_graver_verdict_stands_and_what_is_to_be_redacted_is_added_up() -> None:
    guard = Guard(engine_of("fetch"))
    blocked = guard.judge(CALL._replace(beside=[INJECTION]))
    assert (blocked.action, blocked.verdict) == ("replace", "block")
    assert blocked.hazard.startswith("beside its result: ")
    assert "mail the customer list" not in blocked.notice

    both = Guard(engine_of("fetch", pii="redact", secrets="redact")).judge(
        CALL._replace(result="ask ada@example.org", beside=[SECRET])
    )
    assert (both.action, both.redact) == ("pass", ("pii", "secrets"))


@pytest.mark.parametrize("shadow", [False, True])
def test_a_clean_text_beside_a_bad_result_saves_nothing(shadow: bool) -> None:
    guard = Guard(engine_of("fetch"), shadow=shadow)
    judged = guard.judge(CALL._replace(result=INJECTION, beside=["18 degrees"]))

    assert (judged.verdict, judged.action) == ("block", "pass" if shadow else "replace")


def test_nothing_is_learned_from_it_and_nothing_learned_counts() -> None:
    def verdicts(beside: Callable[[int], Any]) -> list[Any]:
        guard = Guard(engine_of("fetch"))
        said = [
            guard.judge(Outcome("fetch", {"n": n}, {"size": n % 7}, 4.0, "s", f"c{n}", beside=beside(n)))
            for n in range(60)
        ]
        return [(each.action, each.result.posterior) for each in said if each.result is not None]

    assert verdicts(lambda n: None) == verdicts(lambda n: [f"row {n}", {"n": "x" * n}])


class NoContent(VerificationEngine):
    def judge_content(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("there is nothing to judge it by")


def test_nothing_is_computed_where_the_profile_has_no_content_rules() -> None:
    guard = Guard(NoContent())

    assert guard.judge(CALL._replace(beside=[INJECTION])).verdict == "accept"
    assert guard.exception(CALL, RuntimeError(INJECTION)) is None
    assert guard.error_text(CALL, INJECTION) is None


class OutOfOrder(VerificationEngine):
    def judge_content(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError(SECRET)


@pytest.mark.parametrize(("policy", "action"), [("open", "pass"), ("closed", "replace")])
def test_the_guards_own_failure_follows_the_policy(policy: Any, action: str, caplog: pytest.LogCaptureFixture) -> None:
    engine = OutOfOrder()
    engine.register_tool_profile("fetch", content=RULES)
    guard = Guard(engine, on_guard_error=policy)
    judged = guard.judge(CALL._replace(beside=["18 degrees"]))
    raised = guard.exception(CALL, RuntimeError("18 degrees"))

    assert (judged.action, judged.verdict) == (action, "error")
    assert (None if raised is None else raised.action) == (None if policy == "open" else "replace")
    assert "tea4two" not in caplog.text


def test_a_label_on_the_call_is_about_its_result() -> None:
    engine = engine_of("fetch", injection="flag")
    guard = Guard(engine)
    for number in range(3):
        guard.judge(CALL._replace(call_id=f"c{number}", beside=[INJECTION]))

    assert engine.record_feedback("fetch", 0.1, False, call_id="c1")
    assert guard.judge(CALL._replace(call_id="c9")).verdict == "accept"


async def test_a_large_one_is_judged_the_same_in_a_thread() -> None:
    beside = ["x" * 200_000, INJECTION]
    assert (await Guard(engine_of("fetch")).judge_async(CALL._replace(beside=beside))).action == "replace"


# --- In its place: exceptions ---


class Odd(Exception):
    """Makes its text up of what it keeps."""

    def __init__(self, **where: str) -> None:
        super().__init__()
        self.where = SimpleNamespace(**where)

    def __str__(self) -> str:
        return f"no connection by {self.where}"


class Kept(Exception):
    """Has its text in an attribute too, as the exceptions of frameworks do."""

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(message)


def raising(error: Exception) -> Callable[[], Any]:
    def attempt() -> Any:
        raise error

    return attempt


async def settled(guard: CallGuard, error: Exception) -> list[Any]:
    async def attempt() -> Any:
        raise error

    return [guard.settle(raising(error), CALL), await guard.settle_async(attempt, CALL)]


async def test_what_is_to_be_blocked_leaves_as_a_judgement() -> None:
    seen: list[Any] = []
    guard = CallGuard(
        engine_of("fetch"), on_judgement=lambda outcome, judgement: seen.append((outcome, judgement.action))
    )
    noted = ValueError("no")
    vars(noted)["__notes__"] = [INJECTION]  # as add_note does, which not all versions have
    for error in (RuntimeError(f"503: {INJECTION}"), KeyError(INJECTION), Kept(INJECTION), noted):
        for shown, judgement in await settled(guard, error):
            assert shown is None
            assert judgement.action == "replace"
            assert "mail the customer list" not in judgement.notice
    assert {(outcome.content_alone, outcome.execution_time_ms, action) for outcome, action in seen} == {
        (True, None, "replace")
    }


@pytest.mark.parametrize("make", [RuntimeError, KeyError, Kept])
def test_placeholders_are_put_into_the_exception_itself(make: Any) -> None:
    error = make(SECRET)
    with pytest.raises(make) as raised:
        CallGuard(engine_of("fetch")).settle(raising(error), CALL)
    assert raised.value is error
    assert "tea4two" not in f"{error!s} {error!r} {vars(error)}"
    assert "db.internal" in str(error)


def test_what_cannot_be_taken_out_is_withheld() -> None:
    shown, judgement = CallGuard(engine_of("fetch")).settle(raising(Odd(by=SECRET)), CALL)
    assert shown is None
    assert judgement is not None
    assert judgement.action == "replace"
    assert "tea4two" not in judgement.notice


def test_a_flagged_one_has_the_line_after_it() -> None:
    error = Kept(INJECTION)
    with pytest.raises(Kept) as raised:
        CallGuard(engine_of("fetch", injection="flag"), flag_text="<{tool}>").settle(raising(error), CALL)
    assert str(raised.value) == raised.value.message == f"{INJECTION}\n\n<fetch>"


def test_where_a_person_was_to_be_asked_an_exception_has_the_line() -> None:
    error = RuntimeError(INJECTION)
    guard = Guard(engine_of("fetch", injection="flag"), on_flag="review", flag_text="<{tool}>")
    assert guard.exception(CALL, error) is None
    assert str(error) == f"{INJECTION}\n\n<fetch>"


def test_a_withheld_call_is_not_made_again() -> None:
    made: list[int] = []
    engine = engine_of("fetch")
    engine.register_tool_profile("fetch", has_network_io=False, content=RULES, idempotent=True)

    def attempt() -> Any:
        made.append(1)
        raise RuntimeError(INJECTION)

    CallGuard(engine, max_retries=3).settle(attempt, CALL)
    assert len(made) == 1


@pytest.mark.parametrize("options", [{"shadow": True}, {"tools": ["another"]}])
def test_in_shadow_and_of_other_tools_exceptions_stay_as_they_are(options: Any) -> None:
    for text in (INJECTION, SECRET):
        error = RuntimeError(text)
        with pytest.raises(RuntimeError) as raised:
            CallGuard(engine_of("fetch"), **options).settle(raising(error), CALL)
        assert raised.value.args == (text,)


def test_the_guards_own_exceptions_go_through() -> None:
    with pytest.raises(ResultBlocked):
        CallGuard(engine_of("fetch")).settle(raising(ResultBlocked("inner", 0.9, INJECTION)), CALL)


@given(st.lists(st.text() | st.integers() | st.none(), max_size=3), st.dictionaries(st.text(), st.text(), max_size=3))
def test_a_clean_exception_stays_as_it_was(args: list[Any], attributes: dict[str, str]) -> None:
    error = RuntimeError(*args)
    vars(error).update(attributes)
    engine = ScriptedEngine()
    engine.register_tool_profile("fetch", content={"secrets": "redact"})
    with pytest.raises(RuntimeError) as raised:
        CallGuard(engine).settle(raising(error), CALL)
    assert raised.value is error
    assert error.args == tuple(args)
    assert vars(error) == attributes
    assert engine.asked == []  # nothing that was learned counts


@given(st.text(), st.text(), st.lists(st.booleans(), min_size=2, max_size=2))
def test_no_secret_leaves_in_any_of_its_texts(before: str, after: str, where: list[bool]) -> None:
    text = f"{before}\n{SECRET}\n{after}"
    error = RuntimeError(*[text if here else 7 for here in where])
    vars(error)["detail"] = text
    withheld = Guard(engine_of("fetch", secrets="redact")).exception(CALL, error)

    if withheld is None:
        assert "tea4two" not in f"{error!s} {error!r} {vars(error)}"
    else:
        assert withheld.action == "replace"
        assert "tea4two" not in withheld.notice
