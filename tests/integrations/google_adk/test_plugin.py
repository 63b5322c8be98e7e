"""Guarded tools in real runs of ADK: what the model reads, what is learned, who else answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.reflect_retry_tool_plugin import ReflectAndRetryToolPlugin
from google.adk.tools import FunctionTool, LongRunningFunctionTool
from pydantic import BaseModel

from agentguard import ConfigurationError, ResultBlocked, VerificationEngine
from agentguard.guard import Guard, Outcome
from agentguard.integrations import google_adk as integration
from agentguard.integrations.google_adk import GuardPlugin

from ..engines import INJECTION, RULES, SECRET, ScriptedEngine
from .scripted import responses_of, runner_of

GOOD, MADE_UP = {"id": 7}, {"note": "I believe so"}


class Seen(list[Outcome]):
    def __call__(self, outcome: Outcome, _: object) -> None:
        self.append(outcome)


@pytest.fixture
def engine() -> VerificationEngine:
    engine = VerificationEngine()
    engine.register_tool_profile("lookup", required_fields=["id"], has_network_io=False)
    return engine


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> str:
    """A plain function in ``runner.run(...)``, and a coroutine in ``runner.run_async(...)``."""
    return str(request.param)


def lookup_of(make: Any, kind: str) -> Any:
    """A tool that returns what ``make()`` does."""

    def plain(key: int) -> Any:
        """Look up."""
        return make()

    async def coroutine(key: int) -> Any:
        """Look up."""
        return make()

    function: Any = plain if kind == "sync" else coroutine
    function.__name__ = "lookup"
    return function


async def shown(make: Any, kind: str, *plugins: Any, **options: Any) -> list[Any]:
    """Run an agent with the tool, and give what the model was shown."""
    return await responses_of(runner_of([lookup_of(make, kind)], *plugins, **options), kind)


def raiser(error: Exception) -> Any:
    def fail() -> Any:
        raise error

    return fail


class Model(BaseModel):
    id: int = 7


@pytest.mark.parametrize("given", [GOOD, [GOOD], "id: 7", None, 7, Model()])
async def test_an_accepted_result_is_the_one_that_adk_made(kind: str, given: Any) -> None:
    bare = await shown(lambda: given, kind)
    assert await shown(lambda: given, kind, GuardPlugin(VerificationEngine())) == bare


async def test_the_engine_is_told_what_adk_knows(kind: str, engine: VerificationEngine) -> None:
    seen = Seen()
    await shown(lambda: GOOD, kind, GuardPlugin(Guard(engine, on_judgement=seen)))
    (outcome,) = seen
    assert outcome._replace(execution_time_ms=None) == Outcome("lookup", {"key": 3}, GOOD, None, "talk-5", "call-0")
    assert outcome.execution_time_ms is not None
    seen.clear()
    guard = GuardPlugin(Guard(engine, on_judgement=seen), session=lambda context: context.agent_name)
    await shown(lambda: GOOD, kind, guard)
    assert [outcome.session_id for outcome in seen] == ["clerk"]


@pytest.mark.parametrize(
    ("given", "lined"),
    [
        (GOOD, {**GOOD, "agentguard": "<lookup>"}),
        ("18 degrees", {"result": "18 degrees\n\n<lookup>"}),
        ([GOOD], {"result": [GOOD], "agentguard": "<lookup>"}),
    ],
)
async def test_a_flagged_result_has_a_line_with_it(kind: str, given: Any, lined: Any) -> None:
    engine = ScriptedEngine(lookup="flag")
    bare = await shown(lambda: given, kind)
    assert await shown(lambda: given, kind, GuardPlugin(Guard(engine, flag_text="<{tool}>"))) == [lined]
    for options in ({"on_flag": "observe"}, {"shadow": True}, {"tools": ["other"]}):
        assert await shown(lambda: given, kind, GuardPlugin(Guard(engine, **options))) == bare  # type: ignore[arg-type]


async def test_a_made_up_result_is_replaced(kind: str, engine: VerificationEngine) -> None:
    (response,) = await shown(lambda: MADE_UP, kind, GuardPlugin(engine))
    assert list(response) == ["error"]
    assert response["error"].startswith("The result of 'lookup' was blocked")
    (flagged,) = await shown(lambda: GOOD, kind, GuardPlugin(Guard(ScriptedEngine(lookup="flag"), on_flag="block")))
    assert list(flagged) == ["error"]


class Answering(BasePlugin):
    """Answers for or after each tool, and notes what it was shown."""

    def __init__(self, before: Any = None, after: Any = None) -> None:
        super().__init__("answering")
        self.before, self.after, self.seen = before, after, []

    async def before_tool_callback(self, **call: Any) -> Any:
        return self.before

    async def after_tool_callback(self, *, result: Any, **call: Any) -> Any:
        self.seen.append(result)
        return self.after


async def test_listed_first_it_is_not_overruled(kind: str, engine: VerificationEngine) -> None:
    other = Answering(after={"id": 8})
    after: list[Any] = []
    options: Any = {"after_tool_callback": lambda tool, args, tool_context, tool_response: after.append(tool_response)}
    (response,) = await shown(lambda: MADE_UP, kind, GuardPlugin(engine), other, **options)
    assert (list(response), other.seen, after) == (["error"], [], [])
    (response,) = await shown(lambda: MADE_UP, kind, other, GuardPlugin(engine))  # the trap
    assert response == {"id": 8}


async def test_an_answer_in_the_tools_place_is_judged_without_a_latency(kind: str, engine: VerificationEngine) -> None:
    for plugins, options in (
        ([Answering(before=GOOD)], {}),
        ([], {"before_tool_callback": lambda tool, args, tool_context: GOOD}),
    ):
        seen = Seen()
        await shown(lambda: None, kind, GuardPlugin(Guard(engine, on_judgement=seen)), *plugins, **options)
        assert [(outcome.result, outcome.execution_time_ms) for outcome in seen] == [(GOOD, None)]


async def test_a_block_that_is_raised_ends_the_run(kind: str, engine: VerificationEngine) -> None:
    with pytest.raises(RuntimeError) as caught:
        await shown(lambda: MADE_UP, kind, GuardPlugin(Guard(engine, on_block="raise")))
    blocked = caught.value.__cause__
    assert isinstance(blocked, ResultBlocked)
    assert (blocked.tool, blocked.call_id) == ("lookup", "call-0")


async def test_a_tool_that_raises_is_not_learned_from(kind: str, engine: VerificationEngine) -> None:
    engine.trust("lookup", 2)
    with pytest.raises(KeyError, match="no such row"):
        await shown(raiser(KeyError("no such row")), kind, GuardPlugin(engine))
    seen = Seen()
    plugins = (GuardPlugin(Guard(engine, on_judgement=seen)), ReflectAndRetryToolPlugin())
    (response,) = await shown(raiser(KeyError("no such row")), kind, *plugins)
    assert response["error_type"] == "KeyError"
    assert not seen
    assert engine.verify("lookup", result=GOOD).note == "trusted warm-up, 1 calls left"


async def test_the_text_of_an_exception_is_judged_by_the_content_rules_alone(kind: str) -> None:
    engine = ScriptedEngine(lookup="block")
    engine.register_tool_profile("lookup", content=RULES)

    async def shown_of(error: Exception, *others: Any, **options: Any) -> str:
        return str(await shown(raiser(error), kind, GuardPlugin(Guard(engine, **options)), *others))

    assert "was blocked" in await shown_of(RuntimeError(INJECTION))
    with pytest.raises(RuntimeError, match="<DATABASE_PASSWORD_1>"):
        await shown_of(RuntimeError(SECRET))
    with pytest.raises(RuntimeError) as caught:
        await shown_of(RuntimeError(INJECTION), on_block="raise")
    assert "customer list" not in str(caught.value)
    handled = await shown_of(RuntimeError(SECRET), ReflectAndRetryToolPlugin())
    assert "<DATABASE_PASSWORD_1>@db.internal" in handled
    assert "tea4two" not in handled
    assert engine.asked == []


@pytest.mark.parametrize("failure", [{"error": "out of stock"}, {"isError": True, "content": []}])
async def test_a_failure_that_the_tool_reports_is_judged_as_one(kind: str, failure: Any) -> None:
    seen = Seen()
    bare = await shown(lambda: dict(failure), kind)
    assert await shown(lambda: dict(failure), kind, GuardPlugin(Guard(VerificationEngine(), on_judgement=seen))) == bare
    assert [outcome.is_error for outcome in seen] == [True]


async def test_what_adk_makes_up_itself_is_no_result(kind: str, engine: VerificationEngine) -> None:
    seen = Seen()
    (response,) = await shown(lambda: GOOD, kind, GuardPlugin(Guard(engine, on_judgement=seen)), calls=[("lookup", {})])
    assert "mandatory input parameters" in response["error"]
    assert [outcome.is_error for outcome in seen] == [True]  # ADK returns it as the tool's own report of a failure
    seen.clear()
    tool = FunctionTool(lookup_of(lambda: GOOD, kind), require_confirmation=True)
    await responses_of(runner_of([tool], GuardPlugin(Guard(engine, on_judgement=seen))), kind)
    tool = LongRunningFunctionTool(lookup_of(lambda: None, kind))
    await responses_of(runner_of([tool], GuardPlugin(Guard(engine, on_judgement=seen))), kind)
    assert not seen


async def test_what_is_to_be_redacted_is_not_shown(kind: str) -> None:
    engine = ScriptedEngine()
    engine.redact = ("pii",)
    (response,) = await shown(lambda: {"by": "ada@example.org", "id": 7}, kind, GuardPlugin(engine))
    assert (list(response), response["id"]) == (["by", "id"], 7)
    assert "ada@example.org" not in str(response)
    for given in ("by ada@example.org", ["by ada@example.org"]):
        (response,) = await shown(lambda given=given: given, kind, GuardPlugin(engine))
        assert (list(response), type(response["result"])) == (["result"], type(given))
        assert "by " in str(response)
        assert "ada@example.org" not in str(response)


@pytest.mark.parametrize(("idempotent", "made"), [(True, 3), (False, 1)])
async def test_only_an_idempotent_tool_is_called_again(kind: str, idempotent: bool, made: int) -> None:
    engine = VerificationEngine()
    engine.register_tool_profile("lookup", required_fields=["id"], has_network_io=False, idempotent=idempotent)
    answers = [MADE_UP, {"note": "I suppose"}, GOOD]
    (response,) = await shown(lambda: answers.pop(0), kind, GuardPlugin(Guard(engine, max_retries=2)))
    assert (response == GOOD, 3 - len(answers)) == (idempotent, made)


async def test_what_the_profile_asks_for_is_read_back(kind: str) -> None:
    engine = VerificationEngine()
    engine.register_tool_profile("lookup", confirm={"tool": "get", "args": {"id": "$.result.id"}})
    for stored, passes in ((GOOD, True), (None, False)):
        guard = GuardPlugin(Guard(engine, readers={"get": lambda id, stored=stored: stored}))
        (response,) = await shown(lambda: GOOD, kind, guard)
        assert (response == GOOD) == passes


async def test_a_retry_that_raises_leaves_the_block(kind: str) -> None:
    engine = ScriptedEngine(lookup="block")
    engine.register_tool_profile("lookup", idempotent=True)
    answers = iter([MADE_UP])
    (response,) = await shown(lambda: next(answers), kind, GuardPlugin(Guard(engine, max_retries=2)))
    assert response["error"].startswith("The result of 'lookup' was blocked")


async def test_sixteen_calls_at_once_lose_no_update(kind: str, engine: VerificationEngine) -> None:
    engine.trust("lookup", 17)
    calls = [("lookup", {"key": n}) for n in range(16)]
    assert len(await shown(lambda: GOOD, kind, GuardPlugin(engine), calls=calls)) == 16
    assert engine.verify("lookup", result=GOOD).note == "trusted warm-up, 0 calls left"


async def test_the_time_is_that_of_each_call(monkeypatch: pytest.MonkeyPatch, engine: VerificationEngine) -> None:
    now, times = [0.0], []
    monkeypatch.setattr(integration, "perf_counter", lambda: now[0])

    def make() -> Any:
        now[0] += 0.1
        return GOOD

    now[0] = 5.0
    guard = GuardPlugin(Guard(engine, on_judgement=lambda outcome, _: times.append(outcome.execution_time_ms)))
    await shown(make, "async", guard, calls=[("lookup", {"key": n}) for n in range(8)])
    # Each moves the clock by 0.1 s while no other one runs; with the wait for others, the last would have 800 ms.
    assert times == pytest.approx([100.0] * 8)


async def test_two_sessions_at_once_are_kept_apart(engine: VerificationEngine) -> None:
    seen = Seen()
    guard = GuardPlugin(Guard(engine, on_judgement=seen))
    runners = {name: runner_of([lookup_of(lambda: GOOD, "async")], guard) for name in "abcd"}
    await asyncio.gather(*(responses_of(runner, "async", name) for name, runner in runners.items()))
    assert sorted(str(outcome.session_id) for outcome in seen) == list("abcd")


@pytest.mark.parametrize("options", [{"on_flag": "review"}, {"on_block": "end"}])
def test_what_it_cannot_do_is_refused_at_once(options: dict[str, Any], engine: VerificationEngine) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        GuardPlugin(Guard(engine, **options))
