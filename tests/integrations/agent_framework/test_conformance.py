"""The middleware of the Microsoft Agent Framework, held to the promises of integrations."""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from agent_framework import Content, FunctionMiddleware, MiddlewareFailure, MiddlewareTermination, tool
from agent_framework.exceptions import UserInputRequiredException

from agentguard.integrations.agent_framework import GuardMiddleware
from agentguard.testing import IntegrationConformance

from ..answers import Note, lookup_of
from .scripted import results_of


def _raise(error: Exception) -> Any:
    raise error


class _Outside(FunctionMiddleware):
    """Notes the metadata of calls; without any middleware the framework takes a termination for a failure."""

    def __init__(self) -> None:
        self.noted: list[Any] = []

    async def process(self, context: Any, call_next: Any) -> None:
        await call_next()
        self.noted.append(sorted(context.metadata))


class TestGuardMiddleware(IntegrationConformance):
    """Microsoft Agent Framework, `GuardMiddleware`."""

    controls: ClassVar[Any] = {
        **IntegrationConformance.controls,
        "termination": lambda: _raise(MiddlewareTermination("Enough.")),
        "failure": lambda: _raise(MiddlewareFailure("Not here.")),
        "input": lambda: _raise(UserInputRequiredException([Content.from_text("Which one?")])),
    }

    def forms(self) -> Any:
        return {
            **super().forms(), "model": lambda text: Note(note=text), "content": Content.from_text,
            "contents": lambda text: [Content.from_text("found"), Content.from_text(text)], "exception": RuntimeError,
        }  # fmt: skip

    async def reads(self, guard: Any, tools: Sequence[Any], kind: str) -> list[str]:
        texts: list[str] = (await self.leaves(guard, tools, kind))[0]
        return texts

    async def leaves(self, guard: Any, tools: Sequence[Any], kind: str) -> Any:
        guard, outside = [] if guard is None else [GuardMiddleware(guard)], _Outside()
        calls = [("lookup", {"number": n}) for n in range(len(tools))]
        results = await results_of([tool(lookup_of(tools, kind))], outside, *guard, calls=calls)
        # Of a termination the framework shows the coroutine that it was raised in, with its address.
        return [re.sub("0x[0-9a-f]+", "", str(each.to_dict(exclude={"id"}))) for each in results], outside.noted
