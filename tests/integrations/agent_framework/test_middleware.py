"""Guarded tools in real runs of the Agent Framework: what the model reads, what is learned, what ends the run."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from agent_framework import AgentSession, Content, FunctionMiddleware, MiddlewareFailure, tool
from agent_framework._tools import SKIP_PARSING
from pydantic import BaseModel

from agentguard import ConfigurationError, ResultBlocked, VerificationEngine
from agentguard.guard import Guard, Outcome
from agentguard.integrations import _latency
from agentguard.integrations.agent_framework import GuardMiddleware

from ..engines import INJECTION, RULES, SECRET, ScriptedEngine
from .scripted import results_of

GOOD, MADE_UP = {"id": 7}, {"note": "I believe so"}


class Seen(list[Outcome]):
    def __call__(self, outcome: Outcome, _: object) -> None:
        self.append(outcome)


class Around(FunctionMiddleware):
    """Another middleware: does something before the call, something after it."""

    def __init__(self, before: Any = None, after: Any = None) -> None:
        self.before, self.after = before, after

    async def process(self, context: Any, call_next: Any) -> None:
        if self.before:
            self.before(context)
        await call_next()
        if self.after:
            self.after(context)


@pytest.fixture
def engine() -> VerificationEngine:
    engine = VerificationEngine()
    engine.register_tool_profile("lookup", required_fields=["id"], has_network_io=False)
    return engine


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> str:
    """A tool that is a plain function, or a coroutine; runs are asynchronous always."""
    return str(request.param)


def lookup_of(make: Any, kind: str, **options: Any) -> Any:
    """A tool that returns what ``make()`` does."""
    if kind == "sync":

        def plain(key: int) -> Any:
            """Look up."""
            return make()

        return tool(plain, name="lookup", **options)

    async def coroutine(key: int) -> Any:
        """Look up."""
        return make()

    return tool(coroutine, name="lookup", **options)


async def shown(make: Any, kind: str, *middleware: Any, **options: Any) -> list[Any]:
    """Run an agent with the tool, and give what the model was shown."""
    return [plain(content) for content in await results_of([lookup_of(make, kind)], *middleware, **options)]


def plain(content: Content) -> Any:
    """As JSON, without the id that is another one in each run."""
    return content.to_dict(exclude={"id"})


def raiser(error: Exception) -> Any:
    def fail() -> Any:
        raise error

    return fail


class Model(BaseModel):
    id: int = 7


IMAGE = Content.from_data(b"png", "image/png")


@pytest.mark.parametrize("given", [GOOD, [GOOD], "id: 7", None, 7, Model(), [Content.from_text("as of today"), IMAGE]])
async def test_an_accepted_result_is_the_one_that_the_framework_made(kind: str, given: Any) -> None:
    bare = await shown(lambda: given, kind)
    assert await shown(lambda: given, kind, GuardMiddleware(VerificationEngine())) == bare


async def test_the_engine_is_told_what_the_framework_knows(kind: str, engine: VerificationEngine) -> None:
    seen = Seen()
    await shown(
        lambda: GOOD, kind, GuardMiddleware(Guard(engine, on_judgement=seen)), session=AgentSession(session_id="s-5")
    )
    (outcome,) = seen
    told = outcome._replace(execution_time_ms=None)
    assert told == Outcome("lookup", {"key": 3}, json.dumps(GOOD), None, "s-5", "call-0")
    assert outcome.execution_time_ms is not None
    seen.clear()
    await shown(lambda: GOOD, kind, GuardMiddleware(Guard(engine, on_judgement=seen), session=lambda context: "mine"))
    assert [outcome.session_id for outcome in seen] == ["mine"]


async def test_contents_are_judged_by_what_they_hold() -> None:
    for given, result in (
        ([Content.from_text("as of"), Content.from_text("today")], ["as of", "today"]),
        ([Content.from_text("as of today"), IMAGE], ["as of today", IMAGE.to_dict()]),
    ):
        seen = Seen()
        await shown(lambda given=given: given, "async", GuardMiddleware(Guard(VerificationEngine(), on_judgement=seen)))
        assert [outcome.result for outcome in seen] == [result]


async def test_a_flagged_result_has_a_line_after_it(kind: str) -> None:
    engine = ScriptedEngine(lookup="flag")
    for given in (GOOD, [Content.from_text("as of today"), IMAGE]):
        (bare,) = await shown(lambda given=given: given, kind)
        (result,) = await shown(lambda given=given: given, kind, GuardMiddleware(Guard(engine, flag_text="<{tool}>")))
        assert result["items"][:-1] == bare["items"]
        assert result["items"][-1]["text"] == "<lookup>"
        for options in ({"on_flag": "observe"}, {"shadow": True}, {"tools": ["other"]}):
            guard = GuardMiddleware(Guard(engine, **options))  # type: ignore[arg-type]
            assert await shown(lambda given=given: given, kind, guard) == [bare]


async def test_a_value_that_the_framework_leaves_as_it_is(kind: str) -> None:
    seen = Seen()
    raw = lookup_of(lambda: GOOD, kind, result_parser=SKIP_PARSING)
    (bare,) = await results_of([raw])
    (result,) = await results_of([raw], GuardMiddleware(Guard(VerificationEngine(), on_judgement=seen)))
    assert (plain(result), seen[0].result) == (plain(bare), GOOD)
    (result,) = await results_of([raw], GuardMiddleware(Guard(ScriptedEngine(lookup="flag"), flag_text="<{tool}>")))
    assert result.result == f"{GOOD}\n\n<lookup>"


async def test_a_made_up_result_is_replaced(kind: str, engine: VerificationEngine) -> None:
    (result,) = await shown(lambda: MADE_UP, kind, GuardMiddleware(engine))
    assert result["call_id"] == "call-0"
    assert result["result"].startswith("The result of 'lookup' was blocked")
    assert "I believe so" not in str(result)
    flagging = ScriptedEngine(lookup="flag")
    (flagged,) = await shown(lambda: GOOD, kind, GuardMiddleware(Guard(flagging, on_flag="block")))
    assert flagged["result"].startswith("The result of 'lookup' was blocked")


async def test_listed_last_it_sees_the_tools_own_result(kind: str, engine: VerificationEngine) -> None:
    def change(context: Any) -> None:
        seen.append(context.metadata["agentguard"]["verdict"])
        context.result = f"({context.result})"

    seen: list[Any] = []
    (result,) = await shown(lambda: MADE_UP, kind, Around(after=change), GuardMiddleware(engine))
    assert result["result"].startswith("(The result of 'lookup' was blocked")
    assert seen == ["block"]


async def test_a_block_that_is_raised_ends_the_run(kind: str, engine: VerificationEngine) -> None:
    with pytest.raises(MiddlewareFailure) as caught:
        await shown(lambda: MADE_UP, kind, GuardMiddleware(Guard(engine, on_block="raise")))
    blocked = caught.value.__cause__
    assert isinstance(blocked, ResultBlocked)
    assert (blocked.tool, blocked.call_id) == ("lookup", "call-0")


async def test_a_tool_that_raises_is_not_learned_from(kind: str, engine: VerificationEngine) -> None:
    engine.trust("lookup", 2)
    bare = await shown(raiser(KeyError("no such row")), kind)
    assert await shown(raiser(KeyError("no such row")), kind, GuardMiddleware(engine)) == bare
    assert engine.verify("lookup", result=GOOD).note == "trusted warm-up, 1 calls left"


async def test_the_text_of_an_exception_is_judged_by_the_content_rules_alone(kind: str) -> None:
    engine = ScriptedEngine(lookup="block")
    engine.register_tool_profile("lookup", content=RULES)
    seen = Seen()

    async def shown_of(text: str) -> str:
        guard = GuardMiddleware(Guard(engine, on_judgement=seen))
        return str(await shown(raiser(RuntimeError(text)), kind, guard))

    assert "was blocked" in await shown_of(INJECTION)
    assert "tea4two" not in await shown_of(SECRET)
    assert await shown_of("no such row") == str(await shown(raiser(RuntimeError("no such row")), kind))
    assert [outcome.content_alone for outcome in seen] == [True] * 3
    assert engine.asked == []


async def test_what_the_framework_makes_up_itself_is_no_result(kind: str, engine: VerificationEngine) -> None:
    seen = Seen()
    calls = [("nowhere", {}), ("lookup", {"key": "by no means a number"})]
    assert len(await shown(lambda: GOOD, kind, GuardMiddleware(Guard(engine, on_judgement=seen)), calls=calls)) == 2
    assert not seen


async def test_what_is_to_be_redacted_is_not_shown(kind: str) -> None:
    engine = ScriptedEngine()
    engine.redact = ("pii",)
    (result,) = await shown(lambda: {"by": "ada@example.org", "id": 7}, kind, GuardMiddleware(engine))
    assert json.loads(result["result"])["id"] == 7
    assert "ada@example.org" not in str(result)
    link = Content.from_uri("https://example.org/?by=ada@example.org", media_type="text/plain")
    (result,) = await shown(lambda: [IMAGE, link, Content.from_text("18 degrees")], kind, GuardMiddleware(engine))
    assert [item["type"] for item in result["items"]] == ["data", "text", "text"]
    assert "ada@example.org" not in str(result)


@pytest.mark.parametrize(("idempotent", "made"), [(True, 3), (False, 1)])
async def test_only_an_idempotent_tool_is_called_again(kind: str, idempotent: bool, made: int) -> None:
    engine = VerificationEngine()
    engine.register_tool_profile("lookup", required_fields=["id"], has_network_io=False, idempotent=idempotent)
    answers = [MADE_UP, {"note": "I suppose"}, GOOD]
    (result,) = await shown(lambda: answers.pop(0), kind, GuardMiddleware(Guard(engine, max_retries=2)))
    assert (result["result"] == json.dumps(GOOD), 3 - len(answers)) == (idempotent, made)


async def test_sixteen_calls_at_once_lose_no_update(kind: str, engine: VerificationEngine) -> None:
    engine.trust("lookup", 17)
    calls = [("lookup", {"key": n}) for n in range(16)]
    assert len(await shown(lambda: GOOD, kind, GuardMiddleware(engine), calls=calls)) == 16
    assert engine.verify("lookup", result=GOOD).note == "trusted warm-up, 0 calls left"


async def test_waiting_for_a_thread_is_not_the_tools_time(
    monkeypatch: pytest.MonkeyPatch, engine: VerificationEngine
) -> None:
    now, times = [0.0], []
    monkeypatch.setattr(_latency, "perf_counter", lambda: now[0])

    def make() -> Any:
        now[0] += 0.1
        return GOOD

    guard = GuardMiddleware(Guard(engine, on_judgement=lambda outcome, _: times.append(outcome.execution_time_ms)))
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    await shown(make, "sync", guard, calls=[("lookup", {"key": n}) for n in range(8)])
    # The last one moves the clock by 0.1 s when all others are done; with its wait it would have 800 ms.
    assert times[-1] == pytest.approx(100.0)


async def test_two_sessions_at_once_are_kept_apart(engine: VerificationEngine) -> None:
    seen = Seen()
    guard = GuardMiddleware(Guard(engine, on_judgement=seen))
    sessions = [AgentSession(session_id=name) for name in "abcd"]
    await asyncio.gather(*(shown(lambda: GOOD, "async", guard, session=session) for session in sessions))
    assert sorted(str(outcome.session_id) for outcome in seen) == list("abcd")


@pytest.mark.parametrize("options", [{"on_flag": "review"}, {"on_block": "end"}])
def test_what_it_cannot_do_is_refused_at_once(options: dict[str, Any], engine: VerificationEngine) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        GuardMiddleware(Guard(engine, **options))
