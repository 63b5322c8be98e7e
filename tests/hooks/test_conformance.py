"""The hook of coding agents, held to the promises of integrations."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from sessions import post

from agentguard.hooks import HookSettings
from agentguard.hooks._judging import Judge
from agentguard.hooks._record import Record
from agentguard.stores import MemoryStore
from agentguard.testing import IntegrationConformance


class Failure(str):
    """What a call says that failed."""


class HookConformance(IntegrationConformance):
    kinds = ("async",)
    controls: ClassVar[Any] = {}
    cannot: ClassVar[Any] = {
        "judged, redacted, closed: failure": "the answer of a failed call stays; the notice stands beside it",
        "control": "the hook is asked once the call is over",
    }

    async def reads(self, guard: Any, tools: Sequence[Any], kind: str) -> list[str]:
        answers = [make() for make in tools]
        if guard is None:
            return [str(each) for each in answers]
        with TemporaryDirectory() as folder:
            rules = {"enforce": not guard.shadow, "on_guard_error": guard.on_guard_error}
            settings = HookSettings("claude", "memory:", profiles=None, **rules)
            judge = Judge(settings, MemoryStore(), Record(Path(folder)))
            judge.engine, judge._guard = guard.engine, guard
            asked = [json.dumps(self._event(each, number)).encode() for number, each in enumerate(answers)]
            replies = await asyncio.gather(*map(judge.answer, asked))
        return [text for each, reply in zip(answers, replies, strict=True) for text in _shown(each, reply.output)]

    def _event(self, answer: Any, number: int) -> dict[str, Any]:
        if isinstance(answer, Failure):
            return post(self.tool, None, number, hook_event_name="PostToolUseFailure", error=str(answer))
        return post(self.tool, answer, number)


def _shown(answer: Any, output: bytes) -> list[str]:
    """What Claude Code tells the model: the answer or what replaces it, and what is said beside it."""
    said = json.loads(output) if output else {}
    about = said.get("hookSpecificOutput", {})
    beside = [said.get("reason") if said.get("decision") == "block" else None, about.get("additionalContext")]
    return [str(about.get("updatedToolOutput", answer)), *filter(None, beside)]


def _blocks(*texts: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text} for text in texts]


class TestServersTool(HookConformance):
    """Coding agents' hook, tools of MCP servers."""

    tool = "mcp__shop__lookup"

    def forms(self) -> Any:
        return {
            "text": str, "block": _blocks, "second block": lambda text: _blocks("found", text),
            "content": lambda text: {"content": _blocks(text)},
            "beside structured": lambda text: {"content": _blocks(text), "structuredContent": {"id": 7}},
            "failure": Failure,
        }  # fmt: skip


class TestBuiltInTool(HookConformance):
    """Coding agents' hook, built-in tools."""

    tool = "Bash"

    def forms(self) -> Any:
        return {
            "output": lambda text: {"stdout": text, "stderr": "", "interrupted": False},
            "errors": lambda text: {"stdout": "", "stderr": text, "interrupted": False},
            "text": str, "failure": Failure,
        }  # fmt: skip
