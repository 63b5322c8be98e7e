"""Plain functions under ``@guarded``, held to the promises of integrations."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from agentguard.integrations.functions import guarded
from agentguard.testing import IntegrationConformance

from ..answers import Note, lookup_of


class TestFunctions(IntegrationConformance):
    """`@guarded` with `on_block="replace"`."""

    cannot: ClassVar[Any] = {
        "redacted: model, bytes": "a value that is no text, dict or list is withheld as a whole",
        "shadow: generator": "to read a generator would change it",
    }

    def forms(self) -> Any:
        return {
            **super().forms(), "key": lambda text: {text: 7}, "tuple": lambda text: (1, [(text,)]),
            "model": lambda text: Note(note=text), "bytes": str.encode,
            "generator": lambda text: (each for each in (1, text)),
        }  # fmt: skip

    async def reads(self, guard: Any, tools: Sequence[Any], kind: str) -> list[str]:
        tool = lookup_of(tools, kind)
        if guard is not None:
            tool = guarded(replace(guard, on_block="replace"))(tool)
        numbers = range(len(tools))
        runs = [asyncio.to_thread(tool, number) if kind == "sync" else tool(number) for number in numbers]
        return [_said(value) for value in await asyncio.gather(*runs)]


def _said(value: Any) -> str:
    """The value as a framework says it to a model."""
    if isinstance(value, bytes):
        return value.decode()
    return str(list(value) if hasattr(value, "__next__") else value)
