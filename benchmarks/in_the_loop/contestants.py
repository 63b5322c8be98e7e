"""The contestants: nothing, a schema, and this project's guard in three settings. One more stands in ``rival.py``.

A contestant imports what it needs when it is made, so that all can be read by an interpreter that has the standard
library alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from .agent import Call, Told
from .runs import Contestant, Tools
from .tools import TOOLS, Tool
from .traffic import Made, as_text

__all__ = ["BLOCKED", "DOUBTED", "enforce", "nothing", "observe", "recover", "schema"]

#: What the agent reads where a contestant has no words of its own.
BLOCKED = (
    "The result of {tool!r} was blocked: {why}. Do not guess the result; call the tool again or say it is missing."
)
AGAIN = "call the tool again"  # stands in a notice of ours where it may be
DOUBTED = "[This result of {tool!r} may be wrong: {why}. Check it before you rely on it.]"
SLOWEST_MS = 30_000.0


class Nothing:
    """No guard."""

    learns = False

    def learn(self, traffic: Sequence[Made]) -> None:
        """Nothing to learn."""

    def begin(self, tools: Tools, session: str) -> Call:
        """Hand on."""
        return lambda tool, args: Told(as_text(tools(tool, args).value))


class Schema:
    """Holds each result against the JSON Schema of its tool, by the library jsonschema; withholds what breaks it."""

    learns = False

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
    """agentguard with its default engine; each tool has a profile: its schema, what it repeats, how fast it may be.

    Args:
        enforce: act on verdicts as the framework integrations do by default; else judge and record alone.
    """

    learns = True

    def __init__(self, *, enforce: bool = True) -> None:
        from agentguard import VerificationEngine
        from agentguard.guard import Guard

        self._engine = VerificationEngine()
        for tool in TOOLS.values():
            self._engine.register_tool_profile(tool.name, **profile_of(tool))
        self._guard = Guard(self._engine, shadow=not enforce)

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


class Recovering(Ours):
    """agentguard with everything declared: read-backs, second sources, and calls that it makes again itself."""

    def __init__(self) -> None:
        super().__init__()
        for tool in TOOLS.values():
            self._engine.register_tool_profile(tool.name, **profile_of(tool), **recovery_of(tool))

    def begin(self, tools: Tools, session: str) -> Call:
        """Judge with what other tools say, repeat what may be repeated, and act as the policy says."""
        from agentguard.guard import Outcome
        from agentguard.guard._guard import CallGuard

        verdicts: list[str] = []
        guard = CallGuard(
            self._engine,
            readers={name: partial(_read, tools, name) for name in TOOLS},
            on_judgement=lambda outcome, judgement: verdicts.append(judgement.verdict),
        )

        def call(tool: str, args: Mapping[str, Any]) -> Told:
            verdicts.clear()

            def attempt() -> Any:
                answer = tools(tool, args)
                return as_text(answer.value), Outcome(
                    tool, args, answer.value, answer.ms, session, None, answer.is_error
                )

            text, judgement = guard.settle(attempt, Outcome(tool, args, None, None, session))
            # A call that was made again has been refused before, whatever came of it.
            refused = next((verdict for verdict in verdicts if verdict != "accept"), "accept")
            return told_by(judgement, text)._replace(verdict=refused)

        return call


def _read(tools: Tools, name: str, **args: Any) -> Any:
    return tools(name, args).value


def told_by(judgement: Any, text: str) -> Told:
    """A judgement as it reaches an agent, in the words of the guard."""
    verdict = judgement.verdict
    if judgement.action == "replace":
        return Told(judgement.notice, "withheld", AGAIN in judgement.notice, verdict=verdict)
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


def recovery_of(tool: Tool) -> dict[str, Any]:
    """What more a profile can declare: whether a call may be made twice, and who can tell what it did or says."""
    declared: dict[str, Any] = {"idempotent": tool.repeatable}
    if tool.repeatable:
        declared["retry"] = {"attempts": 3}
    return {**declared, "confirm": tool.confirm, "against": tool.against}


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


def recover() -> Contestant:
    """The same with recovery: read-backs after writes, second sources, calls made again by the guard."""
    return Recovering()
