"""The hooks of CrewAI, held to the promises of integrations."""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from crewai.tools import tool

from agentguard.integrations.crewai import guard_crew
from agentguard.testing import IntegrationConformance

from ..answers import Note, lookup_of
from .scripted import crew_of, run


class TestGuardCrew(IntegrationConformance):
    """CrewAI, `guard_crew`."""

    def forms(self) -> Any:
        return {**super().forms(), "model": lambda text: Note(note=text), "exception": RuntimeError}

    async def reads(self, guard: Any, tools: Sequence[Any], kind: str) -> list[str]:
        crew = crew_of(
            [tool("lookup")(lookup_of(tools, kind))], kind, calls=[("lookup", {"number": n}) for n in range(len(tools))]
        )
        with nullcontext() if guard is None else guard_crew(guard, crew):
            return await run(crew, kind)
