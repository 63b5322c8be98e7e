"""Runs of real crews on a model that reads from a script; nothing leaves the machine."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from crewai import Agent, BaseLLM, Crew, Task
from pydantic import PrivateAttr


class ScriptedModel(BaseLLM):
    """Makes these calls in its first turn (name, arguments), and then says "done"; keeps what it was shown.

    ``native`` calls tools as models of today do; without it, by the text that CrewAI's own protocol asks for.
    """

    _calls: Any = PrivateAttr(default=())
    _native: bool = PrivateAttr(default=True)
    _shown: list[Any] = PrivateAttr(default_factory=list)

    def supports_function_calling(self) -> bool:
        return self._native

    def call(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        self._shown.append([dict(message) for message in messages])
        if len(self._shown) > 1:
            return "done" if self._native else "Thought: I know.\nFinal Answer: done"
        if self._native:
            return [
                {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
                for n, (name, args) in enumerate(self._calls)
            ]
        ((name, args_),) = self._calls
        return f"Thought: I look.\nAction: {name}\nAction Input: {json.dumps(args_)}"


def crew_of(tools: list[Any], kind: str, *, calls: Any = (("lookup", {"key": 3}),)) -> Crew:
    """A crew of one agent, which calls once, and is done; it keeps what its tools returned."""
    model = ScriptedModel(model="scripted")
    model._calls, model._native = calls, kind != "text"
    agent = Agent(role="clerk", goal="Answer.", backstory="Careful.", llm=model, tools=tools)
    task = Task(description="Look up.", expected_output="It.", agent=agent)
    return Crew(agents=[agent], tasks=[task], cache=True)


def results_in(crew: Crew) -> list[str]:
    """What the model was shown of its calls."""
    model: Any = crew.agents[0].llm
    last = model._shown[-1]
    if model._native:
        return [message["content"] for message in last if message["role"] == "tool"]
    said = [message["content"] for message in last if message["role"] == "assistant"]
    return [said[-1].partition("Observation: ")[2]]


async def run(crew: Crew, kind: str) -> list[str]:
    """Run a crew to its end, and give what its model was shown."""
    if kind == "async":
        await crew.akickoff()
    else:
        await asyncio.to_thread(crew.kickoff)  # which refuses to run in a thread that has a loop
    return results_in(crew)
