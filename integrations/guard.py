"""The one translation that all integrations share: from an executed call to what is to be done with its result.

An integration gathers what its framework knows of a call (``Outcome``), asks ``ToolGuard.judge`` and acts on the
``Judgement``. No framework is imported here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

from agentguard.content.results import Kind, redacted
from agentguard.errors import ConfigurationError, ResultBlocked
from agentguard.verification import VerificationEngine, VerificationResult
from agentguard.verification.types import Verdict

__all__ = ["Action", "Judgement", "Outcome", "Policy", "ToolGuard"]

_log = logging.getLogger("agentguard")

#: What to do with a result: hand it on, hand it on with its verdict, ask a person, or put a notice in its place.
Action = Literal["pass", "annotate", "review", "replace"]


@dataclass(frozen=True, slots=True)
class Policy:
    """How verdicts become actions.

    Attributes:
        on_flag: ``annotate`` hands a flagged result on with its verdict; ``review`` asks a person first (where the
            framework can); ``block`` treats it as blocked.
        on_block: ``replace`` puts a notice in the result's place, ``raise`` raises ``ResultBlocked``, ``end`` also ends
            the agent's run (where the framework can).
        on_guard_error: when the guard itself fails: ``open`` hands the result on, ``closed`` treats it as blocked.
        shadow: judge and record, change nothing.
        max_retries: how often a blocked call is made again, for tools whose profile says ``idempotent: true``.

    Raises:
        ConfigurationError: for a value that is not one of these.
    """

    on_flag: Literal["annotate", "review", "block"] = "annotate"
    on_block: Literal["replace", "raise", "end"] = "replace"
    on_guard_error: Literal["open", "closed"] = "open"
    shadow: bool = False
    max_retries: int = 0

    def __post_init__(self) -> None:
        for name, allowed in (
            ("on_flag", ("annotate", "review", "block")),
            ("on_block", ("replace", "raise", "end")),
            ("on_guard_error", ("open", "closed")),
        ):
            if getattr(self, name) not in allowed:
                raise ConfigurationError(f"{name} must be one of {', '.join(map(repr, allowed))}")
        if not isinstance(self.max_retries, int) or isinstance(self.max_retries, bool) or self.max_retries < 0:
            raise ConfigurationError(f"max_retries must be a non-negative integer, not {self.max_retries!r}")


class Outcome(NamedTuple):
    """One executed call as an integration saw it. ``execution_time_ms`` is None where the time is unknown."""

    tool: str
    args: Any
    result: Any
    execution_time_ms: float | None = None
    session_id: str | None = None
    call_id: str | None = None


class Judgement(NamedTuple):
    """What is to be done with a result.

    Attributes:
        action: see ``Action``; always ``pass`` in shadow mode.
        verdict: the engine's result; None where the guard failed, or does not cover the tool (then without a notice).
        notice: what to show in the result's place (action ``replace``); never empty, quotes no result.
        redact: the kinds of content that the result must be shown without; none in shadow mode.
    """

    action: Action
    verdict: VerificationResult | None
    notice: str
    redact: tuple[str, ...] = ()

    def shown(self, value: Any, without: Callable[[Any, Collection[Kind]], Any] = redacted) -> Any:
        """The result, or a part of it, as it may be shown: with placeholders for what is to be redacted.

        Never raises: what cannot be redacted is withheld.

        Args:
            value: the result, or the part.
            without: puts the placeholders; another one for what is no plain value.
        """
        if not self.redact:
            return value
        try:
            return without(value, cast("tuple[Kind, ...]", self.redact))
        except Exception as error:
            tool = "the tool" if self.verdict is None else repr(self.verdict.tool)
            _log.error("redacting a result of %s failed, it is withheld: %s", tool, type(error).__name__)
            return f"The result of {tool} is withheld: it holds {' and '.join(self.redact)} that could not be removed."

    def as_dict(self) -> dict[str, Any]:
        """The verdict as plain JSON, for metadata that must survive a checkpoint."""
        if self.verdict is None:
            kind = "error" if self.notice else "unguarded"
            return {"verdict": kind, "action": self.action, "reason": self.notice}
        found = self.verdict
        fired = sorted(name for name, signal in found.signals.items() if signal.fired)
        return {
            "verdict": found.verdict,
            "posterior": round(found.posterior, 6),
            "action": self.action,
            "fired": fired,
            "reason": found.explanation,
            "tool": found.tool,
            "call_id": found.call_id,
            **({"redacted": list(self.redact)} if self.redact else {}),
        }


class ToolGuard:
    """An engine with a policy, for some tools or all.

    Args:
        engine: judges the calls.
        policy: turns verdicts into actions.
        tools: names of the tools to guard; None: all.

    >>> guard = ToolGuard(VerificationEngine(), Policy())
    >>> guard.judge(Outcome("add", {"a": 1, "b": 2}, 3)).action
    'pass'
    """

    def __init__(
        self, engine: VerificationEngine, policy: Policy | None = None, tools: Collection[str] | None = None
    ) -> None:
        self.engine = engine
        self.policy: Policy = Policy() if policy is None else policy
        if isinstance(tools, str):
            raise ConfigurationError(f"tools must be a collection of names, not the text {tools!r}")
        self._tools = None if tools is None else frozenset(tools)

    def covers(self, tool: str) -> bool:
        """The tool is guarded."""
        return self._tools is None or tool in self._tools

    def judge(self, outcome: Outcome) -> Judgement:
        """Judge a result and say what to do with it. Never raises; the guard's own failure follows the policy."""
        if not self.covers(outcome.tool):
            return Judgement("pass", None, "")
        try:
            found = self.engine.verify(
                outcome.tool,
                args=outcome.args,
                result=outcome.result,
                execution_time_ms=outcome.execution_time_ms,
                session_id=outcome.session_id,
                call_id=outcome.call_id,
            )
        except Exception as error:
            _log.error("judging a result of %r failed: %s", outcome.tool, type(error).__name__)
            closed = self.policy.on_guard_error == "closed" and not self.policy.shadow
            return Judgement("replace" if closed else "pass", None, _unverified(outcome.tool, withheld=closed))
        redact = () if self.policy.shadow else found.redact
        return Judgement(self.action_on(found.verdict), found, notice_of(found), redact)

    def may_retry(self, tool: str, attempts: int) -> bool:
        """A blocked call may be made again: the policy allows one more, and the tool's profile calls it idempotent."""
        return attempts <= self.policy.max_retries and self.engine.profile_of(tool).idempotent

    def error(self, judgement: Judgement, tool: str) -> ResultBlocked:
        """The exception for a blocked result, where the policy is to raise."""
        found = judgement.verdict
        if found is None:
            return ResultBlocked(tool, 1.0, judgement.notice)
        return ResultBlocked(tool, found.posterior, found.explanation, found.call_id)

    def action_on(self, verdict: Verdict) -> Action:
        """What the policy makes of a verdict, also of one that another guard gave."""
        if self.policy.shadow or verdict == "accept":
            return "pass"
        if verdict == "block" or self.policy.on_flag == "block":
            return "replace"
        return "review" if self.policy.on_flag == "review" else "annotate"


def notice_of(found: VerificationResult) -> str:
    """What the model is told in place of a blocked result: that it is none, why, and what it may do."""
    reasons = [signal.detail for signal in found.signals.values() if signal.fired]
    why = "; ".join(reasons[:3]) or "its evidence taken together"
    return (
        f"The result of {found.tool!r} was blocked: it is probably not what the tool really returned "
        f"(P = {found.posterior:.2f}). Why: {why}. Do not guess the result; call the tool again or say it is missing."
    )


def _unverified(tool: str, *, withheld: bool) -> str:
    if not withheld:
        return f"The result of {tool!r} could not be verified."
    return f"The result of {tool!r} could not be verified and was withheld. Call the tool again or say it is missing."
