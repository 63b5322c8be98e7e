"""Guarded tools in real runs: what the model reads, what the run records, what is learned."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event, current_thread, main_thread
from typing import Any

import pytest
from agents import (
    Agent,
    FunctionTool,
    ToolOutputGuardrailTripwireTriggered,
    ToolOutputImage,
    ToolOutputText,
    UserError,
    function_tool,
)
from agents.run import RunResult
from pydantic import BaseModel

from agentguard import ConfigurationError, VerificationEngine
from agentguard.guard import Guard, Outcome
from agentguard.integrations import _latency
from agentguard.integrations.openai_agents import guard_agent, guard_tool

from ..langchain.scripted import ScriptedEngine

GOOD, MADE_UP = {"id": 7}, {"note": "I believe so"}


class Seen(list[Outcome]):
    def __call__(self, outcome: Outcome, _: object) -> None:
        self.append(outcome)


class Model(BaseModel):
    id: int = 7


@dataclass
class Record:
    id: int = 7


def tools_of(make: Callable[[], Any], **options: Any) -> list[FunctionTool]:
    """A plain and an async function tool, both called ``lookup``, that return what ``make()`` does."""

    @function_tool(name_override="lookup", **options)
    def plain(key: int) -> Any:
        return make()

    @function_tool(name_override="lookup", **options)
    async def coroutine(key: int) -> Any:
        return make()

    return [plain, coroutine]


def fail() -> Any:
    raise KeyError("no such row")


def outputs(result: RunResult) -> list[Any]:
    return [item["output"] for item in result.to_input_list() if item.get("type") == "function_call_output"]


def records(result: RunResult) -> list[Any]:
    return [found.output.output_info for found in result.tool_output_guardrail_results]


def verdicts(result: RunResult) -> list[Any]:
    return [None if info is None else info["verdict"] for info in records(result)]


@pytest.mark.parametrize("which", [0, 1], ids=["sync", "async"])
class TestEitherKind:
    async def test_the_model_reads_a_genuine_result_and_the_run_has_no_more_of_it(
        self, which: int, engine: VerificationEngine, run: Any
    ) -> None:
        tool, seen = tools_of(lambda: GOOD)[which], Seen()
        bare = await run(Agent("a", tools=[tool]), ("lookup", {"key": 1}))
        guarded = guard_agent(Agent("a", tools=[tool]), Guard(engine, on_judgement=seen))
        result = await run(guarded, ("lookup", {"key": 1}), group_id="talk-5")
        assert outputs(result) == outputs(bare)
        assert records(result) == [None]
        (outcome,) = seen
        assert outcome._replace(execution_time_ms=None) == Outcome("lookup", {"key": 1}, GOOD, None, "talk-5", "call-0")
        assert outcome.execution_time_ms is not None

    async def test_a_made_up_result_is_rejected(self, which: int, engine: VerificationEngine, run: Any) -> None:
        tool = guard_tool(tools_of(lambda: MADE_UP)[which], engine)
        result = await run(Agent("a", tools=[tool]), ("lookup", {"key": 1}))
        assert outputs(result)[0].startswith("The result of 'lookup' was blocked")
        assert "I believe so" not in str(result.to_input_list())
        (found,) = result.tool_output_guardrail_results
        assert (found.output.behavior["type"], found.output.output_info["verdict"]) == ("reject_content", "block")
        assert result.final_output == "done"

    async def test_raise_ends_the_run(self, which: int, engine: VerificationEngine, run: Any) -> None:
        tool = guard_tool(tools_of(lambda: MADE_UP)[which], Guard(engine, on_block="raise"))
        with pytest.raises(ToolOutputGuardrailTripwireTriggered) as caught:
            await run(Agent("a", tools=[tool]), ("lookup", {"key": 1}))
        assert caught.value.output.output_info["tool"] == "lookup"

    async def test_an_exception_that_becomes_text_is_no_result(
        self, which: int, engine: VerificationEngine, run: Any
    ) -> None:
        engine.trust("lookup", 2)
        tool, seen = tools_of(fail)[which], Seen()
        bare = await run(Agent("a", tools=[tool]), ("lookup", {"key": 1}))
        guarded = guard_tool(tool, Guard(engine, on_judgement=seen))
        result = await run(Agent("a", tools=[guarded]), ("lookup", {"key": 1}))
        assert outputs(result) == outputs(bare)
        assert not seen
        assert records(result) == [None]
        assert engine.verify("lookup", result=GOOD).note == "trusted warm-up, 1 calls left"

    async def test_an_exception_without_a_failure_function_ends_the_run_as_ever(
        self, which: int, engine: VerificationEngine, run: Any
    ) -> None:
        tool, seen = tools_of(fail, failure_error_function=None)[which], Seen()
        guarded = guard_tool(tool, Guard(engine, on_judgement=seen))
        with pytest.raises(UserError, match="no such row"):
            await run(Agent("a", tools=[guarded]), ("lookup", {"key": 1}))
        assert not seen

    async def test_arguments_of_the_wrong_type_are_no_result(
        self, which: int, engine: VerificationEngine, run: Any
    ) -> None:
        seen = Seen()
        tool = guard_tool(tools_of(lambda: GOOD)[which], Guard(engine, on_judgement=seen))
        result = await run(Agent("a", tools=[tool]), ("lookup", {"key": "by no means a number"}), ("lookup", "{"))
        assert all("error" in text for text in outputs(result))
        assert not seen

    async def test_shadow_mode_judges_and_changes_nothing(
        self, which: int, engine: VerificationEngine, run: Any
    ) -> None:
        tool = tools_of(lambda: MADE_UP)[which]
        bare = await run(Agent("a", tools=[tool]), ("lookup", {"key": 1}))
        result = await run(guard_agent(Agent("a", tools=[tool]), Guard(engine, shadow=True)), ("lookup", {"key": 1}))
        assert outputs(result) == outputs(bare)
        assert [(record["verdict"], record["action"]) for record in records(result)] == [("block", "pass")]

    async def test_only_an_idempotent_tool_is_called_again(self, which: int, run: Any) -> None:
        for idempotent, verdict in ((True, None), (False, "block")):
            engine = VerificationEngine()
            engine.register_tool_profile("lookup", required_fields=["id"], has_network_io=False, idempotent=idempotent)
            answers = iter([MADE_UP, GOOD])
            tool = guard_tool(tools_of(lambda answers=answers: next(answers))[which], Guard(engine, max_retries=1))
            result = await run(Agent("a", tools=[tool]), ("lookup", {"key": 1}))
            assert verdicts(result) == [verdict]

    async def test_what_the_profile_asks_for_is_read_back(self, which: int, run: Any) -> None:
        for stored, verdict in (({"id": 7, "key": 1}, None), ({"id": 7, "key": 2}, "block"), (None, "block")):
            engine = VerificationEngine()
            engine.register_tool_profile("lookup", confirm={"tool": "get", "args": {"id": "$.result.id"}})
            readers = {"get": lambda id, stored=stored: stored}
            tool = guard_tool(tools_of(lambda: GOOD)[which], Guard(engine, readers=readers))
            result = await run(Agent("a", tools=[tool]), ("lookup", {"key": 1}))
            assert verdicts(result) == [verdict]

    async def test_every_type_of_result_reaches_the_engine_raw(self, which: int, run: Any) -> None:
        text = ToolOutputText(text="t")
        for given in (GOOD, [GOOD], "id: 7", None, (1, 2), Model(), Record(), b"\x00\xff", 7, text):
            seen = Seen()
            tool = tools_of(lambda given=given: given)[which]
            bare = await run(Agent("a", tools=[tool]), ("lookup", {"key": 1}))
            guarded = guard_tool(tool, Guard(VerificationEngine(), on_judgement=seen))
            result = await run(Agent("a", tools=[guarded]), ("lookup", {"key": 1}))
            assert seen[0].result is given
            assert outputs(result) == outputs(bare)

    async def test_sixteen_calls_at_once_lose_no_update(self, which: int, engine: VerificationEngine, run: Any) -> None:
        engine.trust("lookup", 17)
        agent = guard_agent(Agent("a", tools=[tools_of(lambda: GOOD)[which]]), engine)
        await run(agent, *[("lookup", {"key": n}) for n in range(16)])
        assert engine.verify("lookup", result=GOOD).note == "trusted warm-up, 0 calls left"


def flagging() -> ScriptedEngine:
    engine = ScriptedEngine(lookup="flag")
    engine.hazard = "the id is missing"
    return engine


LINE = "[agentguard: this result of 'lookup' may be wrong: the id is missing. Check it before you rely on it.]"
ITEM = {"type": "input_text", "text": LINE}
TEXT, IMAGE = ToolOutputText(text="t"), ToolOutputImage(image_url="https://example.org/dot.png")
FORMS = [
    pytest.param("12", id="text"),
    pytest.param(GOOD, id="dict"),
    pytest.param([1, 2], id="list"),
    pytest.param([], id="empty list"),
    pytest.param(None, id="None"),
    pytest.param(Model(), id="model"),
    pytest.param(TEXT, id="output text"),
    pytest.param([TEXT, IMAGE], id="several outputs"),
    pytest.param((IMAGE,), id="tuple of outputs"),
    pytest.param({"type": "text", "text": "t"}, id="output as a dict"),
    pytest.param([{"type": "text", "text": "t"}, 7], id="outputs and others"),
]


@pytest.mark.parametrize("which", [0, 1], ids=["sync", "async"])
@pytest.mark.parametrize("given", FORMS)
async def test_the_model_reads_a_line_after_a_flagged_result(which: int, given: Any, run: Any) -> None:
    tool = tools_of(lambda: given)[which]
    (bare,) = outputs(await run(Agent("a", tools=[tool]), ("lookup", {"key": 1})))
    result = await run(Agent("a", tools=[guard_tool(tool, flagging())]), ("lookup", {"key": 1}))
    (shown,) = outputs(result)
    assert shown == (f"{bare}\n\n{LINE}" if isinstance(bare, str) else [*bare, ITEM])
    assert [(record["verdict"], record["action"]) for record in records(result)] == [("flag", "annotate")]


@pytest.mark.parametrize("given", FORMS)
@pytest.mark.parametrize("options", [{"on_flag": "observe"}, {"shadow": True}], ids=["observe", "shadow"])
async def test_observed_a_flagged_result_is_as_it_was(given: Any, options: Any, run: Any) -> None:
    tool = tools_of(lambda: given)[0]
    bare = await run(Agent("a", tools=[tool]), ("lookup", {"key": 1}))
    result = await run(guard_agent(Agent("a", tools=[tool]), Guard(flagging(), **options)), ("lookup", {"key": 1}))
    assert outputs(result) == outputs(bare)
    assert verdicts(result) == ["flag"]


async def test_the_line_can_be_said_otherwise(run: Any) -> None:
    tool = tools_of(lambda: "12")[0]
    for guarded in (
        Agent("a", tools=[guard_tool(tool, Guard(flagging(), flag_text="<{hazard}>"))]),
        guard_agent(Agent("a", tools=[tool]), Guard(flagging(), flag_text="<{hazard}>")),
    ):
        assert outputs(await run(guarded, ("lookup", {"key": 1}))) == ["12\n\n<the id is missing>"]
    with pytest.raises(ConfigurationError, match="flag_text"):
        guard_tool(tool, Guard(flagging(), flag_text="{what}"))


async def test_waiting_for_a_thread_is_not_the_tools_time(
    monkeypatch: pytest.MonkeyPatch, engine: VerificationEngine, run: Any
) -> None:
    now, starts, times = [0.0], [], []
    both_started, first_judged = Event(), Event()

    def clock() -> float:
        if current_thread() is main_thread():
            starts.append(now[0])
            if len(starts) == 2:
                both_started.set()
        return now[0]

    def make() -> Any:
        # The first call moves the clock when the second has started too, the second when the first has been judged.
        assert (first_judged if now[0] else both_started).wait(30)
        now[0] += 0.1
        return GOOD

    monkeypatch.setattr(_latency, "perf_counter", clock)

    def judged(outcome: Outcome, _: object) -> None:
        times.append(outcome.execution_time_ms)
        first_judged.set()

    with ThreadPoolExecutor(1) as pool:  # both calls are made at once and share one thread
        asyncio.get_running_loop().set_default_executor(pool)
        agent = guard_agent(Agent("a", tools=[tools_of(make)[0]]), Guard(engine, on_judgement=judged))
        await run(agent, ("lookup", {"key": 1}), ("lookup", {"key": 2}))
    assert times == pytest.approx([100.0, 100.0])  # each moves the clock by 0.1 s; with the wait the second has 200


def test_in_a_synchronous_run(engine: VerificationEngine, run: Any) -> None:
    tool = guard_tool(tools_of(lambda: MADE_UP)[0], engine)
    result = asyncio.run(run(Agent("a", tools=[tool]), ("lookup", {"key": 1})))
    assert outputs(result)[0].startswith("The result of 'lookup' was blocked")
