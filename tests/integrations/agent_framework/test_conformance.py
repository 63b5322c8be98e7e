"""The middleware of the Microsoft Agent Framework, held to the promises of integrations."""

from collections.abc import Sequence
from typing import Any

from agent_framework import Content, tool

from agentguard.integrations.agent_framework import GuardMiddleware
from agentguard.testing import IntegrationConformance

from ..answers import Note, lookup_of
from .scripted import results_of


class TestGuardMiddleware(IntegrationConformance):
    """Microsoft Agent Framework, `GuardMiddleware`."""

    def forms(self) -> Any:
        return {
            **super().forms(), "model": lambda text: Note(note=text), "content": Content.from_text,
            "contents": lambda text: [Content.from_text("found"), Content.from_text(text)], "exception": RuntimeError,
        }  # fmt: skip

    async def reads(self, guard: Any, tools: Sequence[Any], kind: str) -> list[str]:
        guard = [] if guard is None else [GuardMiddleware(guard)]
        calls = [("lookup", {"number": n}) for n in range(len(tools))]
        return [
            str(each.to_dict(exclude={"id"}))
            for each in await results_of([tool(lookup_of(tools, kind))], *guard, calls=calls)
        ]
