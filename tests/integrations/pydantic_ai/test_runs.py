"""Guarded tools in real runs: what the model reads, what the part records, what is learned."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anyio.to_thread
import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry, ToolReturn
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.models.test import TestModel

from agentguard import ConfigurationError, ResultBlocked, VerificationEngine
from agentguard.guard import Guard, Outcome
from agentguard.integrations import pydantic_ai as integration
from agentguard.integrations.pydantic_ai import GuardCapability

from ..langchain.scripted import ScriptedEngine

GOOD, MADE_UP = {"id": 7}, {"note": "I believe so"}


def flagging() -> ScriptedEngine:
    engine = ScriptedEngine(lookup="flag")
    engine.hazard = "the id is missing"
    return engine


LINE = "[agentguard: this result of 'lookup' may be wrong: the id is missing. Check it before you rely on it.]"


class Seen(list[Outcome]):
    def __call__(self, outcome: Outcome, _: object) -> None:
        self.append(outcome)


class Model(BaseModel):
    id: int = 7


@dataclass
class Record:
    id: int = 7


def agent_of(make: Callable[[], Any], kind: str, *capabilities: Any, **options: Any) -> Agent[None, str]:
    """An agent with one tool ``lookup``, a plain or an async function, that returns what ``make()`` does."""
    agent: Agent[None, str] = Agent(capabilities=capabilities)
    if kind == "sync":

        def plain(key: int = 3) -> Any:
            return make()

        agent.tool_plain(name="lookup", **options)(plain)
    else:

        async def coroutine(key: int = 3) -> Any:
            return make()

        agent.tool_plain(name="lookup", **options)(coroutine)
    return agent


def raiser(error: Exception) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


@pytest.mark.parametrize("kind", ["sync", "async"])
class TestEitherKind:
    async def test_a_genuine_result_passes_as_it_is(self, kind: str, engine: VerificationEngine, run: Any) -> None:
        seen = Seen()
        (bare,) = await run(agent_of(lambda: GOOD, kind), ("lookup", {}))
        agent = agent_of(lambda: GOOD, kind, GuardCapability(Guard(engine, on_judgement=seen)))
        (part,) = await run(agent, ("lookup", {}), conversation_id="talk-5")
        assert (part.content, part.outcome, part.metadata) == (bare.content, bare.outcome, bare.metadata)
        (outcome,) = seen
        assert outcome._replace(execution_time_ms=None) == Outcome("lookup", {"key": 3}, GOOD, None, "talk-5", "call-0")
        assert outcome.execution_time_ms is not None

    async def test_a_made_up_result_is_a_failed_call(self, kind: str, engine: VerificationEngine, run: Any) -> None:
        (part,) = await run(agent_of(lambda: MADE_UP, kind, GuardCapability(engine)), ("lookup", {"key": 1}))
        assert part.outcome == "failed"
        assert part.tool_call_id == "call-0"
        assert part.content.startswith("The result of 'lookup' was blocked")
        assert "I believe so" not in part.content

    async def test_raise_ends_the_run(self, kind: str, engine: VerificationEngine, run: Any) -> None:
        agent = agent_of(lambda: MADE_UP, kind, GuardCapability(Guard(engine, on_block="raise")))
        with pytest.raises(ResultBlocked) as caught:
            await run(agent, ("lookup", {}))
        assert (caught.value.tool, caught.value.call_id) == ("lookup", "call-0")

    async def test_a_flagged_result_has_its_verdict_beside_it(self, kind: str, run: Any) -> None:
        engine = VerificationEngine(block_at=0.999)
        engine.register_tool_profile("lookup", required_fields=["id"], has_network_io=False)
        for given, kept in (
            (MADE_UP, {}), (ToolReturn(MADE_UP, metadata={"mine": 1}), {"mine": 1}), (ToolReturn(MADE_UP), {}),
        ):  # fmt: skip
            (part,) = await run(agent_of(lambda given=given: given, kind, GuardCapability(engine)), ("lookup", {}))
            assert (part.content, part.outcome) == (MADE_UP, "success")
            assert part.metadata.pop("agentguard")["verdict"] == "flag"
            assert part.metadata == kept
        (part,) = await run(
            agent_of(lambda: ToolReturn(MADE_UP, metadata="mine"), kind, GuardCapability(engine)), ("lookup", {})
        )
        assert part.metadata == "mine"
        (part,) = await run(
            agent_of(lambda: MADE_UP, kind, GuardCapability(Guard(engine, on_flag="block"))), ("lookup", {})
        )
        assert part.outcome == "failed"

    async def test_an_exception_passes_and_is_not_learned_from(
        self, kind: str, engine: VerificationEngine, run: Any
    ) -> None:
        engine.trust("lookup", 2)
        seen = Seen()
        guard = GuardCapability(Guard(engine, on_judgement=seen))
        with pytest.raises(KeyError, match="no such row"):
            await run(agent_of(raiser(KeyError("no such row")), kind, guard), ("lookup", {}))
        assert not seen
        assert engine.verify("lookup", result=GOOD).note == "trusted warm-up, 1 calls left"

    @pytest.mark.parametrize("error", [ModelRetry("out of stock"), ToolFailed("out of stock")], ids=["retry", "failed"])
    async def test_a_failure_that_the_tool_reports_is_judged_as_one(
        self, kind: str, error: Exception, run: Any
    ) -> None:
        (bare,) = await run(agent_of(raiser(error), kind), ("lookup", {}))
        seen = Seen()
        guard = GuardCapability(Guard(VerificationEngine(), on_judgement=seen))
        (part,) = await run(agent_of(raiser(error), kind, guard), ("lookup", {}))
        assert (part.content, part.outcome) == (bare.content, bare.outcome)
        (outcome,) = seen
        assert (outcome.result, outcome.is_error, outcome.args) == ("out of stock", True, {"key": 3})
        assert outcome.execution_time_ms is not None

    @pytest.mark.parametrize("error", [ModelRetry("out of stock"), ToolFailed("out of stock")], ids=["retry", "failed"])
    async def test_a_reported_failure_may_be_flagged_and_blocked(self, kind: str, error: Exception, run: Any) -> None:
        (bare,) = await run(agent_of(raiser(error), kind), ("lookup", {}))
        guard = GuardCapability(Guard(flagging(), flag_text="<{hazard}>"))
        (part,) = await run(agent_of(raiser(error), kind, guard), ("lookup", {}))
        assert (part.content, part.outcome) == ("out of stock\n\n<the id is missing>", bare.outcome)
        observed = GuardCapability(Guard(flagging(), on_flag="observe"))
        (part,) = await run(agent_of(raiser(error), kind, observed), ("lookup", {}))
        assert (part.content, part.outcome) == (bare.content, bare.outcome)
        blocking = GuardCapability(Guard(flagging(), on_flag="block"))
        (part,) = await run(agent_of(raiser(error), kind, blocking), ("lookup", {}))
        assert part.outcome == "failed"
        assert part.content.startswith("The result of 'lookup' was blocked")
        with pytest.raises(ResultBlocked):
            await run(
                agent_of(raiser(error), kind, GuardCapability(Guard(flagging(), on_flag="block", on_block="raise"))),
                ("lookup", {}),
            )

    async def test_a_result_is_no_error(self, kind: str, engine: VerificationEngine, run: Any) -> None:
        seen = Seen()
        await run(agent_of(lambda: GOOD, kind, GuardCapability(Guard(engine, on_judgement=seen))), ("lookup", {}))
        assert [outcome.is_error for outcome in seen] == [False]

    @pytest.mark.parametrize(
        ("given", "extra"),
        [
            ("12", []),
            (MADE_UP, []),
            ([1, 2], []),
            (ToolReturn(MADE_UP), []),
            (ToolReturn(MADE_UP, content="see also"), ["see also"]),
            (ToolReturn(MADE_UP, content=["see", "also"]), ["see", "also"]),
        ],
    )
    async def test_the_model_reads_a_line_after_a_flagged_result(
        self, kind: str, given: Any, extra: list[str], run: Any, read: Any
    ) -> None:
        (bare,) = await run(agent_of(lambda: given, kind), ("lookup", {}))
        guard = GuardCapability(flagging())
        part, prompt = await read(agent_of(lambda: given, kind, guard), ("lookup", {}))
        assert (part.content, part.outcome) == (bare.content, "success")
        assert prompt.part_kind == "user-prompt"
        content = [prompt.content] if isinstance(prompt.content, str) else list(prompt.content)
        assert content == [*extra, LINE]
        assert (part.metadata["agentguard"]["verdict"], part.metadata["agentguard"]["action"]) == ("flag", "annotate")

    @pytest.mark.parametrize("options", [{"on_flag": "observe"}, {"shadow": True}], ids=["observe", "shadow"])
    async def test_observed_a_flagged_result_is_as_it_was(self, kind: str, options: Any, read: Any) -> None:
        for given in (MADE_UP, "12", ToolReturn(MADE_UP, content="see also")):
            bare = await read(agent_of(lambda given=given: given, kind), ("lookup", {}))
            parts = await read(
                agent_of(lambda given=given: given, kind, GuardCapability(Guard(flagging(), **options))), ("lookup", {})
            )
            assert [part.content for part in parts] == [part.content for part in bare]
            stamp = (parts[0].metadata or {}).get("agentguard", {})
            assert stamp.get("verdict") == (None if "shadow" in options else "flag")

    async def test_unknown_tools_and_bad_arguments_are_no_results(
        self, kind: str, engine: VerificationEngine, run: Any
    ) -> None:
        seen = Seen()
        agent = agent_of(lambda: GOOD, kind, GuardCapability(Guard(engine, on_judgement=seen)))
        parts = await run(agent, ("nowhere", {}), ("lookup", {"key": "by no means a number"}))
        assert [part.outcome for part in parts] == ["retried", "retried"]
        assert not seen

    async def test_shadow_mode_judges_and_changes_nothing(
        self, kind: str, engine: VerificationEngine, run: Any
    ) -> None:
        verdicts: list[str] = []
        guard = GuardCapability(
            Guard(engine, shadow=True, on_judgement=lambda _, found: verdicts.append(found.verdict))
        )
        (part,) = await run(agent_of(lambda: MADE_UP, kind, guard), ("lookup", {}))
        assert (part.content, part.outcome, part.metadata) == (MADE_UP, "success", None)
        assert verdicts == ["block"]

    async def test_only_an_idempotent_tool_is_called_again(self, kind: str, run: Any) -> None:
        for idempotent, outcome in ((True, "success"), (False, "failed")):
            engine = VerificationEngine()
            engine.register_tool_profile("lookup", required_fields=["id"], has_network_io=False, idempotent=idempotent)
            answers = iter([MADE_UP, GOOD])
            guard = GuardCapability(Guard(engine, max_retries=1))
            (part,) = await run(agent_of(lambda answers=answers: next(answers), kind, guard), ("lookup", {}))
            assert part.outcome == outcome

    async def test_what_the_profile_asks_for_is_read_back(self, kind: str, run: Any) -> None:
        for stored, outcome in (({"id": 7, "key": 1}, "success"), ({"id": 7, "key": 2}, "failed"), (None, "failed")):
            engine = VerificationEngine()
            engine.register_tool_profile("lookup", confirm={"tool": "get", "args": {"id": "$.result.id"}})
            guard = GuardCapability(Guard(engine, readers={"get": lambda id, stored=stored: stored}))
            (part,) = await run(agent_of(lambda: GOOD, kind, guard), ("lookup", {"key": 1}))
            assert part.outcome == outcome

    async def test_every_type_of_result_reaches_the_engine_raw(self, kind: str, run: Any) -> None:
        for given in (GOOD, [GOOD], "id: 7", None, (1, 2), Model(), Record(), b"abc", 7):
            seen = Seen()
            guard = GuardCapability(Guard(VerificationEngine(), on_judgement=seen))
            (bare,) = await run(agent_of(lambda given=given: given, kind), ("lookup", {}))
            (part,) = await run(agent_of(lambda given=given: given, kind, guard), ("lookup", {}))
            assert seen[0].result is given
            assert part.content == bare.content

    async def test_only_the_tools_named_are_guarded(self, kind: str, engine: VerificationEngine, run: Any) -> None:
        agent = agent_of(lambda: MADE_UP, kind, GuardCapability(Guard(engine, tools=["other"])))
        (part,) = await run(agent, ("lookup", {}))
        assert part.outcome == "success"

    async def test_sixteen_calls_at_once_lose_no_update(self, kind: str, engine: VerificationEngine, run: Any) -> None:
        engine.trust("lookup", 17)
        agent = agent_of(lambda: GOOD, kind, GuardCapability(engine))
        assert len(await run(agent, *[("lookup", {"key": n}) for n in range(16)])) == 16
        assert engine.verify("lookup", result=GOOD).note == "trusted warm-up, 0 calls left"

    async def test_a_time_limit_that_ran_out_is_no_answer_of_the_tool(
        self, kind: str, engine: VerificationEngine, run: Any
    ) -> None:
        seen = Seen()
        guard = GuardCapability(Guard(engine, on_judgement=seen))
        agent = agent_of(raiser(TimeoutError()), kind, guard, timeout=60)
        (part,) = await run(agent, ("lookup", {}))
        assert (part.outcome, part.content) == ("retried", "Timed out after 60 seconds.")
        assert not seen

    async def test_a_time_limit_changes_nothing(self, kind: str, engine: VerificationEngine, run: Any) -> None:
        (part,) = await run(agent_of(lambda: MADE_UP, kind, GuardCapability(engine), timeout=60), ("lookup", {}))
        assert part.outcome == "failed"


async def test_waiting_for_a_thread_is_not_the_tools_time(
    monkeypatch: pytest.MonkeyPatch, engine: VerificationEngine, run: Any
) -> None:
    now, times = [0.0], []
    monkeypatch.setattr(integration, "perf_counter", lambda: now[0])

    def make() -> Any:
        now[0] += 0.1
        return GOOD

    guard = GuardCapability(Guard(engine, on_judgement=lambda outcome, _: times.append(outcome.execution_time_ms)))
    monkeypatch.setattr(anyio.to_thread.current_default_thread_limiter(), "total_tokens", 1)
    await run(agent_of(make, "sync", guard), *[("lookup", {"key": n}) for n in range(8)])
    # Each moves the clock by 0.1 s while it alone has the thread; with the wait, the last would have 800 ms.
    assert times == pytest.approx([100.0] * 8)


def test_in_a_synchronous_run_of_a_stock_test_model(engine: VerificationEngine) -> None:
    seen = Seen()
    agent = agent_of(lambda: GOOD, "sync", GuardCapability(Guard(engine, on_judgement=seen)))
    loop = asyncio.new_event_loop()  # run_sync makes one where there is none, and leaves it open
    asyncio.set_event_loop(loop)
    try:
        assert '"id":7' in agent.run_sync("go", model=TestModel()).output
    finally:
        asyncio.set_event_loop(None)
        loop.close()
    assert [outcome.result for outcome in seen] == [GOOD]


async def test_two_runs_at_once_keep_their_sessions_apart(engine: VerificationEngine, run: Any) -> None:
    seen = Seen()
    agent = agent_of(lambda: GOOD, "async", GuardCapability(Guard(engine, on_judgement=seen)))
    await asyncio.gather(*(run(agent, ("lookup", {}), conversation_id=name) for name in "abcdefgh"))
    assert sorted(str(outcome.session_id) for outcome in seen) == list("abcdefgh")


@pytest.mark.parametrize("options", [{"on_flag": "review"}, {"on_block": "end"}])
def test_what_it_cannot_do_is_refused_at_once(options: dict[str, Any], engine: VerificationEngine) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        GuardCapability(Guard(engine, **options))
