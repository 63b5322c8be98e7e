"""The guard among other capabilities and toolsets: who answered, who raised, what time it took."""

from dataclasses import dataclass
from typing import Any

import pytest
from pydantic_ai import Agent, FunctionToolset, ModelResponse
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ApprovalRequired, SkipToolExecution, ToolFailed
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.tools import DeferredToolRequests

from agentguard import VerificationEngine
from agentguard.guard import Guard, Outcome
from agentguard.integrations.pydantic_ai import GuardCapability

from ..langchain.scripted import ScriptedEngine

GOOD, MADE_UP = {"id": 7}, {"note": "I believe so"}


class Seen(list[Outcome]):
    def __call__(self, outcome: Outcome, _: object) -> None:
        self.append(outcome)


@dataclass
class Skips(AbstractCapability[Any]):
    """Answers from a cache, before the tool."""

    answer: Any = None

    async def before_tool_execute(self, ctx: Any, **call: Any) -> Any:
        raise SkipToolExecution(self.answer)


@dataclass
class Answers(AbstractCapability[Any]):
    """Answers in the tool's place."""

    answer: Any = None

    async def wrap_tool_execute(self, ctx: Any, **call: Any) -> Any:
        return self.answer


@dataclass
class Recovers(AbstractCapability[Any]):
    """Makes an answer of what the tool raised."""

    async def on_tool_execute_error(self, ctx: Any, *, error: Exception, **call: Any) -> Any:
        return f"sorry: {error}"


@dataclass
class Retries(AbstractCapability[Any]):
    """Calls the tool once more where it raised."""

    async def wrap_tool_execute(self, ctx: Any, *, args: Any, handler: Any, **call: Any) -> Any:
        try:
            return await handler(args)
        except ConnectionError:
            return await handler(args)


@dataclass
class Redacts(AbstractCapability[Any]):
    """Changes what the tool returned."""

    async def after_tool_execute(self, ctx: Any, *, result: Any, **call: Any) -> Any:
        return "redacted"


def agent_of(make: Any, *capabilities: Any) -> Agent[None, str]:
    agent: Agent[None, str] = Agent(capabilities=capabilities)

    @agent.tool_plain
    def lookup() -> Any:
        return make()

    return agent


@pytest.mark.parametrize("other", [Skips, Answers])
async def test_an_answer_in_the_tools_place_is_judged_without_a_latency(
    other: Any, engine: VerificationEngine, run: Any
) -> None:
    seen = Seen()
    guard = GuardCapability(Guard(engine, on_judgement=seen))
    (part,) = await run(agent_of(lambda: None, other(answer=GOOD), guard), ("lookup", {}))
    assert (part.content, part.outcome) == (GOOD, "success")
    assert [(outcome.result, outcome.execution_time_ms) for outcome in seen] == [(GOOD, None)]
    (part,) = await run(agent_of(lambda: None, other(answer=MADE_UP), guard), ("lookup", {}))
    assert part.outcome == "failed"


@pytest.mark.parametrize("other", [Skips, Answers])
async def test_a_flagged_answer_in_the_tools_place_has_its_line_and_verdict(other: Any, read: Any) -> None:
    flagging = ScriptedEngine(lookup="flag")
    guard = GuardCapability(Guard(flagging, flag_text="<{tool}>"))
    part, prompt = await read(agent_of(lambda: None, other(answer=GOOD), guard), ("lookup", {}))
    assert part.content == GOOD
    assert part.metadata["agentguard"]["verdict"] == "flag"
    assert "<lookup>" in prompt.content


async def test_a_failure_that_another_capability_reports_is_not_judged(engine: VerificationEngine, run: Any) -> None:
    @dataclass
    class Refuses(AbstractCapability[Any]):
        async def after_tool_execute(self, ctx: Any, *, result: Any, **call: Any) -> Any:
            raise ToolFailed("not for you")

    seen = Seen()
    agent = agent_of(lambda: GOOD, GuardCapability(Guard(engine, on_judgement=seen)), Refuses())
    (part,) = await run(agent, ("lookup", {}))
    assert (part.content, part.outcome) == ("not for you", "failed")
    assert not seen


async def test_an_answer_made_of_an_exception_is_no_result(engine: VerificationEngine, run: Any) -> None:
    seen = Seen()

    def fail() -> Any:
        raise KeyError("no such row")

    agent = agent_of(fail, GuardCapability(Guard(engine, on_judgement=seen)), Recovers())
    (part,) = await run(agent, ("lookup", {}))
    assert part.content == "sorry: 'no such row'"
    assert not seen


async def test_of_several_attempts_the_last_one_counts(engine: VerificationEngine, run: Any) -> None:
    seen, attempts = Seen(), iter([ConnectionError("gone"), GOOD])

    def make() -> Any:
        made = next(attempts)
        if isinstance(made, Exception):
            raise made
        return made

    (part,) = await run(agent_of(make, GuardCapability(Guard(engine, on_judgement=seen)), Retries()), ("lookup", {}))
    assert part.content == GOOD
    assert [outcome.result for outcome in seen] == [GOOD]


async def test_the_tools_own_result_is_judged_and_the_changed_one_is_handed_on(
    engine: VerificationEngine, run: Any
) -> None:
    (part,) = await run(agent_of(lambda: GOOD, Redacts(), GuardCapability(engine)), ("lookup", {}))
    assert (part.content, part.outcome) == ("redacted", "success")
    (part,) = await run(agent_of(lambda: MADE_UP, Redacts(), GuardCapability(engine)), ("lookup", {}))
    assert part.outcome == "failed"


async def test_toolsets_are_guarded_as_well(engine: VerificationEngine, run: Any) -> None:
    seen, toolset = Seen(), FunctionToolset[None](id="rows")

    @toolset.tool_plain
    def find() -> Any:
        return GOOD

    agent: Agent[None, str] = Agent(
        toolsets=[toolset.prefixed("db")], capabilities=[GuardCapability(Guard(engine, on_judgement=seen))]
    )
    (part,) = await run(agent, ("db_find", {}))
    assert part.content == GOOD
    (outcome,) = seen
    assert outcome.tool == "db_find"
    assert outcome.execution_time_ms is not None


async def test_a_request_for_approval_passes(engine: VerificationEngine) -> None:
    seen = Seen()
    agent: Agent[None, Any] = Agent(
        output_type=[str, DeferredToolRequests], capabilities=[GuardCapability(Guard(engine, on_judgement=seen))]
    )

    @agent.tool_plain
    def lookup() -> Any:
        raise ApprovalRequired

    model = FunctionModel(lambda messages, info: ModelResponse([ToolCallPart("lookup", {}, tool_call_id="c")]))
    result = await agent.run("go", model=model)
    assert [call.tool_call_id for call in result.output.approvals] == ["c"]
    assert not seen
