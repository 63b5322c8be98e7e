"""Guarded tools in real runs of Strands: what the model reads, what is learned, what reaches the caller."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel
from strands import tool
from strands.hooks import AfterToolCallEvent, BeforeToolCallEvent, HookProvider, HookRegistry
from strands.tools.executors import _executor
from strands.types.exceptions import EventLoopException

from agentguard import ConfigurationError, ResultBlocked, VerificationEngine
from agentguard.guard import Guard, Outcome
from agentguard.integrations import _latency
from agentguard.integrations.strands import GuardHooks

from ..engines import INJECTION, RULES, SECRET, ScriptedEngine
from .scripted import agent_of, results_in

GOOD, MADE_UP = {"id": 7}, {"note": "I believe so"}


class Seen(list[Outcome]):
    def __call__(self, outcome: Outcome, _: object) -> None:
        self.append(outcome)


class Hook(HookProvider):
    """Another hook beside the guard."""

    def __init__(self, before: Any = None, after: Any = None) -> None:
        self.before, self.after = before, after

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        if self.before:
            registry.add_callback(BeforeToolCallEvent, self.before)
        if self.after:
            registry.add_callback(AfterToolCallEvent, self.after)


@pytest.fixture
def engine() -> VerificationEngine:
    engine = VerificationEngine()
    engine.register_tool_profile("lookup", required_fields=["id"], has_network_io=False)
    return engine


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> str:
    """A plain function in ``agent(...)``, and a coroutine in ``agent.invoke_async(...)``."""
    return str(request.param)


def lookup_of(make: Any, kind: str) -> Any:
    """A tool that returns what ``make()`` does."""
    if kind == "sync":

        @tool(name="lookup")
        def plain(key: int) -> Any:
            """Look up."""
            return make()

        return plain

    @tool(name="lookup")
    async def coroutine(key: int) -> Any:
        """Look up."""
        return make()

    return coroutine


async def results_of(make: Any, kind: str, *hooks: Any, **options: Any) -> list[Any]:
    """Run an agent with the tool, and give what the model was shown."""
    agent = agent_of([lookup_of(make, kind)], *hooks, **options)
    if kind == "sync":
        agent("go")
    else:
        await agent.invoke_async("go")
    return results_in(agent)


def raiser(error: Exception) -> Any:
    def fail() -> Any:
        raise error

    return fail


class Model(BaseModel):
    id: int = 7


@pytest.mark.parametrize("given", [GOOD, [GOOD], "id: 7", None, 7, Model(), {"status": "success", "content": [
    {"json": GOOD}, {"text": "as of today"}, {"image": {"format": "png", "source": {"bytes": b"png"}}},
]}])  # fmt: skip
async def test_an_accepted_result_is_the_one_that_strands_made(kind: str, given: Any) -> None:
    bare = await results_of(lambda: given, kind)
    assert await results_of(lambda: given, kind, GuardHooks(VerificationEngine())) == bare


async def test_the_engine_is_told_what_strands_knows(kind: str, engine: VerificationEngine) -> None:
    seen = Seen()
    guard = GuardHooks(Guard(engine, on_judgement=seen), session=lambda event: event.agent.agent_id)
    await results_of(lambda: GOOD, kind, guard, agent_id="clerk")
    (outcome,) = seen
    told = outcome._replace(execution_time_ms=None)
    assert told == Outcome("lookup", {"key": 3}, json.dumps(GOOD), None, "clerk", "call-0")
    assert outcome.execution_time_ms is not None


@pytest.mark.parametrize(
    ("content", "result"),
    [([{"json": GOOD}], GOOD), ([{"json": GOOD}, {"text": "as of today"}], [GOOD, "as of today"]), ([], [])],
)
async def test_blocks_of_content_are_judged_by_what_they_hold(content: Any, result: Any) -> None:
    seen = Seen()
    guard = GuardHooks(Guard(VerificationEngine(), on_judgement=seen))
    await results_of(lambda: {"status": "success", "content": content}, "async", guard)
    assert [outcome.result for outcome in seen] == [result]


async def test_a_flagged_result_has_a_line_after_it(kind: str) -> None:
    engine = ScriptedEngine(lookup="flag")
    (bare,) = await results_of(lambda: GOOD, kind)
    (result,) = await results_of(lambda: GOOD, kind, GuardHooks(Guard(engine, flag_text="<{tool}>")))
    assert result == {**bare, "content": [*bare["content"], {"text": "<lookup>"}]}
    for options in ({"on_flag": "observe"}, {"shadow": True}, {"tools": ["other"]}):
        assert await results_of(lambda: GOOD, kind, GuardHooks(Guard(engine, **options))) == [bare]  # type: ignore[arg-type]


async def test_a_made_up_result_is_replaced(kind: str, engine: VerificationEngine) -> None:
    (result,) = await results_of(lambda: MADE_UP, kind, GuardHooks(engine))
    assert (result["toolUseId"], result["status"]) == ("call-0", "error")
    (block,) = result["content"]
    assert block["text"].startswith("The result of 'lookup' was blocked")
    (flagged,) = await results_of(lambda: GOOD, kind, GuardHooks(Guard(ScriptedEngine(lookup="flag"), on_flag="block")))
    assert flagged["status"] == "error"


async def test_no_other_hook_sees_a_blocked_result(kind: str, engine: VerificationEngine) -> None:
    seen: list[Any] = []

    def note(event: AfterToolCallEvent) -> None:
        seen.append(event.result["content"])

    await results_of(lambda: MADE_UP, kind, Hook(after=note), GuardHooks(engine), Hook(after=note))
    assert len(seen) == 2
    assert "I believe so" not in str(seen)


async def test_a_block_that_is_raised_ends_the_run(kind: str, engine: VerificationEngine) -> None:
    with pytest.raises(EventLoopException) as caught:
        await results_of(lambda: MADE_UP, kind, GuardHooks(Guard(engine, on_block="raise")))
    blocked = caught.value.__cause__
    assert isinstance(blocked, ResultBlocked)
    assert (blocked.tool, blocked.call_id) == ("lookup", "call-0")


async def test_a_tool_may_raise_a_block_of_its_own(kind: str, engine: VerificationEngine) -> None:
    error = ResultBlocked("inner", 0.9, "another guard's")
    (bare,) = await results_of(raiser(error), kind)
    assert await results_of(raiser(error), kind, GuardHooks(Guard(engine, on_block="raise"))) == [bare]


async def test_the_text_of_an_exception_is_judged_by_the_content_rules_alone(kind: str) -> None:
    engine = ScriptedEngine(lookup="block")
    engine.register_tool_profile("lookup", content=RULES)

    async def shown(text: str, **options: Any) -> str:
        return str(await results_of(raiser(RuntimeError(text)), kind, GuardHooks(Guard(engine, **options))))

    assert "customer list" not in await shown(INJECTION)
    assert "<DATABASE_PASSWORD_1>@db.internal" in await shown(SECRET)
    assert "no such row" in await shown("no such row")
    with pytest.raises(EventLoopException):
        await shown(INJECTION, on_block="raise")
    assert engine.asked == []


@pytest.mark.parametrize("error", [KeyError("no such row"), ValueError("no such row")])
async def test_a_tool_that_raises_is_not_learned_from(kind: str, error: Exception, engine: VerificationEngine) -> None:
    engine.trust("lookup", 2)
    bare = await results_of(raiser(error), kind)
    assert await results_of(raiser(error), kind, GuardHooks(engine)) == bare
    assert engine.verify("lookup", result=GOOD).note == "trusted warm-up, 1 calls left"


async def test_a_failure_that_the_tool_reports_is_judged_as_one(kind: str) -> None:
    seen = Seen()
    reported = {"status": "error", "content": [{"text": "out of stock"}]}
    await results_of(lambda: dict(reported), kind, GuardHooks(Guard(VerificationEngine(), on_judgement=seen)))
    assert [(outcome.result, outcome.is_error) for outcome in seen] == [("out of stock", True)]


async def test_what_strands_makes_up_itself_is_no_result(kind: str, engine: VerificationEngine) -> None:
    seen = Seen()
    calls = [("nowhere", {}), ("lookup", {"key": "by no means a number"})]
    results = await results_of(lambda: GOOD, kind, GuardHooks(Guard(engine, on_judgement=seen)), calls=calls)
    assert [result["status"] for result in results] == ["error", "error"]

    def cancel(event: BeforeToolCallEvent) -> None:
        event.cancel_tool = "not now"

    (result,) = await results_of(lambda: GOOD, kind, Hook(before=cancel), GuardHooks(Guard(engine, on_judgement=seen)))
    assert result["content"] == [{"text": "not now"}]
    assert not seen


async def test_what_is_to_be_redacted_is_nowhere_in_the_result(kind: str) -> None:
    engine = ScriptedEngine()
    engine.redact = ("pii",)
    image = {"image": {"format": "png", "source": {"bytes": b"png"}}}
    content = [{"json": {"owner": "ada@example.org", "id": 7}}, {"text": "by ada@example.org"}, image]
    given = {"status": "success", "content": content, "structuredContent": {"owner": "ada@example.org"}}
    (result,) = await results_of(lambda: dict(given), kind, GuardHooks(engine))
    assert result["status"] == "success"
    (fields, text, last) = result["content"]
    assert (fields["json"]["id"], text["text"][:3], last) == (7, "by ", image)
    assert set(result["structuredContent"]) == {"owner"}
    assert "ada@example.org" not in str(result)


@pytest.mark.parametrize(("idempotent", "status", "made"), [(True, "success", 3), (False, "error", 1)])
async def test_only_an_idempotent_tool_is_called_again(kind: str, idempotent: bool, status: str, made: int) -> None:
    engine = VerificationEngine()
    engine.register_tool_profile("lookup", required_fields=["id"], has_network_io=False, idempotent=idempotent)
    answers = [MADE_UP, {"note": "I suppose"}, GOOD]
    (result,) = await results_of(lambda: answers.pop(0), kind, GuardHooks(Guard(engine, max_retries=2)))
    assert (result["status"], 3 - len(answers)) == (status, made)


async def test_an_error_is_tried_again_as_the_profile_says(kind: str) -> None:
    engine = VerificationEngine()
    engine.register_tool_profile("lookup", idempotent=True, retry={"attempts": 3})
    answers: list[Any] = ["Error: try later", "Error: try later", GOOD]
    (result,) = await results_of(lambda: answers.pop(0), kind, GuardHooks(engine))
    assert (result, answers) == ((await results_of(lambda: GOOD, kind))[0], [])


async def test_what_the_profile_asks_for_is_read_back(kind: str) -> None:
    engine = VerificationEngine()
    engine.register_tool_profile("lookup", confirm={"tool": "get", "args": {}})
    for stored, status in ((GOOD, "success"), (None, "error")):
        guard = GuardHooks(Guard(engine, readers={"get": lambda stored=stored: stored}))
        (result,) = await results_of(lambda: GOOD, kind, guard)
        assert result["status"] == status


async def test_retries_come_to_an_end(kind: str) -> None:
    engine = ScriptedEngine(lookup="block")
    engine.register_tool_profile("lookup", idempotent=True)
    answers = iter(range(9))
    guard = GuardHooks(Guard(engine, max_retries=2))
    (result,) = await results_of(lambda: next(answers), kind, guard)
    assert (result["status"], next(answers)) == ("error", 3)
    assert not guard._calls  # nothing is kept of calls that are over


async def test_sixteen_calls_at_once_lose_no_update(kind: str, engine: VerificationEngine) -> None:
    engine.trust("lookup", 17)
    calls = [("lookup", {"key": n}) for n in range(16)]
    assert len(await results_of(lambda: GOOD, kind, GuardHooks(engine), calls=calls)) == 16
    assert engine.verify("lookup", result=GOOD).note == "trusted warm-up, 0 calls left"


async def test_waiting_for_a_thread_is_not_the_tools_time(
    monkeypatch: pytest.MonkeyPatch, engine: VerificationEngine
) -> None:
    now, times = [0.0], []
    monkeypatch.setattr(_latency, "perf_counter", lambda: now[0])
    monkeypatch.setattr(_executor, "time", SimpleNamespace(monotonic=lambda: now[0], time=lambda: now[0]))

    def make() -> Any:
        now[0] += 0.1
        return GOOD

    guard = GuardHooks(Guard(engine, on_judgement=lambda outcome, _: times.append(outcome.execution_time_ms)))
    calls = [("lookup", {"key": n}) for n in range(8)]
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    await agent_of([lookup_of(make, "sync")], guard, calls=calls).invoke_async("go")
    # The last one moves the clock by 0.1 s when all others are done; with its wait it would have 800 ms.
    assert times[-1] == pytest.approx(100.0)


async def test_the_sessions_of_agents_are_their_session_managers(tmp_path: Any, engine: VerificationEngine) -> None:
    from strands.session.file_session_manager import FileSessionManager

    seen = Seen()
    guard = GuardHooks(Guard(engine, on_judgement=seen))
    agents = [
        agent_of([lookup_of(lambda: GOOD, "async")], guard, session_manager=FileSessionManager(name, str(tmp_path)))
        for name in "abcd"
    ]
    await asyncio.gather(*(agent.invoke_async("go") for agent in agents))
    assert sorted(str(outcome.session_id) for outcome in seen) == list("abcd")


async def test_structured_output_is_the_models_own() -> None:
    seen = Seen()
    guard = GuardHooks(Guard(ScriptedEngine(Model="block"), on_judgement=seen))
    agent = agent_of([], guard, calls=[("Model", {"id": 5})])
    result = await agent.invoke_async("go", structured_output_model=Model)
    assert (result.structured_output, list(seen)) == (Model(id=5), [])


async def test_a_direct_call_is_guarded_too(engine: VerificationEngine) -> None:
    agent = agent_of([lookup_of(lambda: MADE_UP, "sync")], GuardHooks(engine))
    assert agent.tool.lookup(key=3)["status"] == "error"


@pytest.mark.parametrize("options", [{"on_flag": "review"}, {"on_block": "end"}])
def test_what_it_cannot_do_is_refused_at_once(options: dict[str, Any], engine: VerificationEngine) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        GuardHooks(Guard(engine, **options))
