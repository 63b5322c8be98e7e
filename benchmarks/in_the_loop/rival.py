"""awesome-agentguard 0.2.0 as a contestant, in an environment of its own: what it blocks is withheld, as with ours.

It is declared what it can be declared: required fields, the range of times, and whether a network is crossed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from .agent import Call, Told
from .contestants import BLOCKED, DOUBTED, SLOWEST_MS
from .runs import Contestant, Tools
from .tools import TOOLS
from .traffic import Made, as_text

__all__ = ["make"]


class Rival:
    """Its engine with default settings; it always learns."""

    learns = True

    def __init__(self) -> None:
        self._engine: Any = import_module("agentguard.verification").VerificationEngine()
        for tool in TOOLS.values():
            self._engine.register_tool_profile(
                tool.name,
                expected_latency_ms=(1.0 if tool.remote else 0.0, SLOWEST_MS),
                required_fields=list(tool.required),
                has_network_io=tool.remote,
            )

    def learn(self, traffic: Sequence[Made]) -> None:
        """Judge it."""
        for one in traffic:
            self._engine.verify(one.tool, one.answer.value, one.answer.ms, args=one.args, session_id=one.session)

    def begin(self, tools: Tools, session: str) -> Call:
        """Judge, withhold what is blocked, mark what is flagged."""

        def call(tool: str, args: Mapping[str, Any]) -> Told:
            answer = tools(tool, args)
            found = self._engine.verify(tool, answer.value, answer.ms, args=args, session_id=session)
            text, why = as_text(answer.value), "it is probably not what the tool really returned"
            if found.verdict == "block":
                return Told(BLOCKED.format(tool=tool, why=why), "withheld", verdict="block")
            if found.verdict == "flag":
                return Told(f"{text}\n\n{DOUBTED.format(tool=tool, why=why)}", "doubted", verdict="flag")
            return Told(text)

        return call


def make() -> Contestant:
    """A fresh one."""
    return Rival()
