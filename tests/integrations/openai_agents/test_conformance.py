"""Function tools of the OpenAI Agents SDK, held to the promises of integrations."""

import asyncio
import json
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from agents import Agent, RunConfig, Runner, ToolOutputText, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call

from agentguard.integrations.openai_agents import guard_agent
from agentguard.testing import IntegrationConformance

from ..answers import Note, in_a_loop, lookup_of


class TestGuardAgent(IntegrationConformance):
    """OpenAI Agents SDK, `guard_agent`."""

    cannot: ClassVar[Any] = {
        "redacted: model, output, outputs": "a value that is no text, dict or list is withheld as a whole",
    }

    def forms(self) -> Any:
        return {
            **super().forms(), "model": lambda text: Note(note=text), "output": lambda text: ToolOutputText(text=text),
            "outputs": lambda text: [ToolOutputText(text="found"), ToolOutputText(text=text)],
            "output as a dict": lambda text: {"type": "text", "text": text}, "exception": RuntimeError,
        }  # fmt: skip

    async def reads(self, guard: Any, tools: Sequence[Any], kind: str) -> list[str]:
        items = (await self._result(guard, tools, kind)).to_input_list()
        return [json.dumps(item["output"]) for item in items if item.get("type") == "function_call_output"]

    async def leaves(self, guard: Any, tools: Sequence[Any], kind: str) -> Any:
        result = await self._result(guard, tools, kind)
        told = [found.output.output_info for found in result.tool_output_guardrail_results]
        return result.to_input_list(), [info for info in told if info is not None]

    async def _result(self, guard: Any, tools: Sequence[Any], kind: str) -> Any:
        lookup = function_tool(
            lookup_of(tools, kind), failure_error_function=lambda context, error: f"It failed: {error}"
        )
        asked = [function_call("lookup", {"number": n}, call_id=f"c{n}") for n in range(len(tools))]
        agent: Agent[Any] = Agent("clerk", model=ScriptedModel([asked, [assistant_message("done")]]), tools=[lookup])
        agent = agent if guard is None else guard_agent(agent, guard)
        run = partial(asyncio.to_thread, in_a_loop, Runner.run_sync) if kind == "sync" else Runner.run
        return await run(agent, "go", run_config=RunConfig(tracing_disabled=True))
