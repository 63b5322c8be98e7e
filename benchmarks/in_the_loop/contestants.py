"""The contestants: nothing, a schema, and this project's guard in three settings. One more stands in ``rival.py``.

Each module of a contestant imports what it needs when it is made, so that all can be read by an interpreter that has the
standard library alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .agent import Call, Told
from .runs import Contestant, Tools
from .tools import TOOLS, Tool
from .traffic import Made, as_text

__all__ = ["BLOCKED", "DOUBTED", "enforce", "nothing", "observe", "profile_of", "schema", "undeclared"]

#: What the agent reads where a contestant has no words of its own.
BLOCKED = "The result of {tool!r} was blocked: {why}. Do not guess the result; call the tool again or say it is missing."
DOUBTED = "[This result of {tool!r} may be wrong: {why}. Check it before you rely on it.]"
SLOWEST_MS = 30_000.0


class Nothing:
    """No guard."""

    def learn(self, traffic: Sequence[Made]) -> None:
        """Nothing to learn."""

    def begin(self, tools: Tools, session: str) -> Call:
        """Hand on."""
        return lambda tool, args: Told(as_text(tools(tool, args).value))


class Schema:
    """Each result is held against the JSON Schema of its tool, by the library jsonschema; what breaks it is withheld."""

    def __init__(self) -> None:
        from jsonschema import Draft202012Validator

        self._validators = {name: Draft202012Validator(tool.output_schema) for name, tool in TOOLS.items()}

    def learn(self, traffic: Sequence[Made]) -> None:
        """Nothing to learn."""

    def begin(self, tools: Tools, session: str) -> Call:
        """Validate, and hand on what is valid."""

        def call(tool: str, args: Mapping[str, Any]) -> Told:
            answer = tools(tool, args)
            text = as_text(answer.value)
            if answer.is_error or self._validators[tool].is_valid(answer.value):
                return Told(text)
            return Told(BLOCKED.format(tool=tool, why="it breaks its schema"), "withheld", verdict="block")

        return call


class Ours:
    """agentguard with its default engine.

    Args:
        declared: each tool has a profile: its schema, which arguments it repeats, how fast it may be.
        enforce: act on verdicts as the framework integrations do by default; else judge and record alone.
    """

    def __init__(self, *, declared: bool = True, enforce: bool = True) -> None:
        from agentguard import VerificationEngine
        from agentguard.guard import Policy, ToolGuard

        self._engine = VerificationEngine()
        if declared:
            for tool in TOOLS.values():
                self._engine.register_tool_profile(tool.name, **profile_of(tool))
        self._guard = ToolGuard(self._engine, Policy(shadow=not enforce))

    def learn(self, traffic: Sequence[Made]) -> None:
        """Judge it, as in production."""
        for one in traffic:
            self._engine.verify(
                one.tool, args=one.args, result=one.answer.value, execution_time_ms=one.answer.ms,
                session_id=one.session, is_error=one.answer.is_error,
            )  # fmt: skip

    def begin(self, tools: Tools, session: str) -> Call:
        """Judge, and act as the policy says."""
        from agentguard.guard import Outcome

        def call(tool: str, args: Mapping[str, Any]) -> Told:
            answer = tools(tool, args)
            outcome = Outcome(tool, args, answer.value, answer.ms, session, None, answer.is_error)
            return told_by(self._guard.judge(outcome), as_text(answer.value))

        return call


def told_by(judgement: Any, text: str) -> Told:
    """A judgement as it reaches an agent, in the words of the guard."""
    verdict = judgement.verdict
    if judgement.action == "replace":
        return Told(judgement.notice, "withheld", "do not call it again" not in judgement.notice, verdict=verdict)
    if judgement.action == "annotate":
        return Told(f"{text}\n\n{judgement.line}", "doubted", verdict=verdict)
    return Told(text, verdict=verdict)


def profile_of(tool: Tool) -> dict[str, Any]:
    """A tool's profile, as its user would declare it."""
    return {
        "output_schema": dict(tool.output_schema),
        "echoes": dict(tool.echoes),
        "expected_latency_ms": (1.0 if tool.remote else 0.0, SLOWEST_MS),
        "has_network_io": tool.remote,
        "stateful": True,
        "allow_errors": True,
    }


def nothing() -> Contestant:
    """No guard."""
    return Nothing()


def schema() -> Contestant:
    """Schema validation alone."""
    return Schema()


def observe() -> Contestant:
    """agentguard, which judges and records."""
    return Ours(enforce=False)


def enforce() -> Contestant:
    """agentguard, which withholds what it blocks and marks what it flags."""
    return Ours()


def undeclared() -> Contestant:
    """The same without profiles."""
    return Ours(declared=False)
