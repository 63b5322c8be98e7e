"""The plugin of Google ADK, held to the promises of integrations."""

from collections.abc import Sequence
from typing import Any, ClassVar

from google.adk.plugins.reflect_retry_tool_plugin import ReflectAndRetryToolPlugin

from agentguard.integrations.google_adk import GuardPlugin
from agentguard.testing import IntegrationConformance

from ..answers import Note, lookup_of
from .scripted import responses_of, runner_of


class TestGuardPlugin(IntegrationConformance):
    """Google ADK, `GuardPlugin`."""

    cannot: ClassVar[Any] = {
        "redacted: model": "a value that is no text, dict or list is withheld as a whole",
    }

    def forms(self) -> Any:
        return {
            **super().forms(), "model": lambda text: Note(note=text), "error": lambda text: {"error": text},
            "exception": RuntimeError,
        }  # fmt: skip

    async def reads(self, guard: Any, tools: Sequence[Any], kind: str) -> list[str]:
        plugins: list[Any] = [] if guard is None else [GuardPlugin(guard)]
        plugins.append(ReflectAndRetryToolPlugin())  # without it what a tool raises ends the run
        runner = runner_of(
            [lookup_of(tools, kind)], *plugins, calls=[("lookup", {"number": n}) for n in range(len(tools))]
        )
        return list(map(str, await responses_of(runner, kind)))
