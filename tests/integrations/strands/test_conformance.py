"""The hooks of Strands agents, held to the promises of integrations."""

import asyncio
from collections.abc import Sequence
from typing import Any

from strands import tool

from agentguard.integrations.strands import GuardHooks
from agentguard.testing import IntegrationConformance

from ..answers import Note, lookup_of
from .scripted import agent_of, results_in


def result(*content: Any, status: str = "success") -> Any:
    return {"status": status, "content": list(content)}


class TestGuardHooks(IntegrationConformance):
    """Strands Agents, `GuardHooks`."""

    def forms(self) -> Any:
        return {
            **super().forms(), "model": lambda text: Note(note=text), "content": lambda text: result({"text": text}),
            "second block": lambda text: result({"text": "found"}, {"text": text}),
            "json": lambda text: result({"json": {"notes": [text]}}),
            "error": lambda text: result({"text": text}, status="error"), "exception": RuntimeError,
        }  # fmt: skip

    async def reads(self, guard: Any, tools: Sequence[Any], kind: str) -> list[str]:
        return [str(each["content"]) for each in await self.leaves(guard, tools, kind)]

    async def leaves(self, guard: Any, tools: Sequence[Any], kind: str) -> Any:
        guard = [] if guard is None else [GuardHooks(guard)]
        agent = agent_of(
            [tool(lookup_of(tools, kind))], *guard, calls=[("lookup", {"number": n}) for n in range(len(tools))]
        )
        await (asyncio.to_thread(agent, "go") if kind == "sync" else agent.invoke_async("go"))
        return results_in(agent)
