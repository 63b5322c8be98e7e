"""The one translation that all integrations share: from an executed call to what is to be done with its result.

An integration gathers what its framework knows of a call (``Outcome``), asks ``ToolGuard.judge`` and acts on the
``Judgement``. No framework is imported here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, cast, get_args

from agentguard.content._findings import Kind
from agentguard.content._results import redacted
from agentguard.errors import ConfigurationError, ResultBlocked
from agentguard.integrations.apart import apart
from agentguard.integrations.wording import (
    FLAG_TEXT,
    blocked,
    check_flag_text,
    flag_line,
    hazard_of,
    may_ask,
    notice_of,
)
from agentguard.verification import VerificationEngine, VerificationResult
from agentguard.verification.types import Verdict

__all__ = [
    "Action",
    "Artifacts",
    "Judgement",
    "OnFlag",
    "OnFlagUnasked",
    "Outcome",
    "Policy",
    "ToolGuard",
    "artifact_of",
]

_log = logging.getLogger("agentguard")

#: What to do with a result: hand it on; hand it on with its verdict beside it, where no model reads it; with a line for
#: the model too; ask a person; or put a notice in its place. The later ones are the graver.
Action = Literal["pass", "observe", "annotate", "review", "replace"]
ACTIONS: Final = get_args(Action)
VERDICTS: Final = (None, *get_args(Verdict))
#: What to do with a flagged result, where the framework has somebody who could be asked, and where it has not.
OnFlag = Literal["annotate", "observe", "review", "block"]
OnFlagUnasked = Literal["annotate", "observe", "block"]
#: Whether a result's artifact, which the application gets and no model reads, is judged beside the result.
Artifacts = Literal["ignore", "judge"]


@dataclass(frozen=True, slots=True)
class Policy:
    """How verdicts become actions.

    Attributes:
        on_flag: ``annotate`` hands a flagged result on with its verdict, and with a line after it for the model;
            ``observe`` hands it on as it is, with its verdict beside it; ``review`` asks a person first (where the
            framework can); ``block`` treats it as blocked.
        on_block: ``replace`` puts a notice in the result's place, ``raise`` raises ``ResultBlocked``, ``end`` also ends
            the agent's run (where the framework can).
        on_guard_error: when the guard itself fails: ``open`` hands the result on, ``closed`` treats it as blocked.
        shadow: judge and record, change nothing.
        max_retries: how often a blocked call is made again, for tools whose profile says ``idempotent: true``; one that
            gave the same answer three times is not.
        flag_text: the line of ``annotate``, a format string with the fields ``{tool}``, ``{hazard}`` (what speaks
            against the result) and ``{posterior}`` (P that it is fabricated or corrupted).
        artifacts: ``judge`` judges a result's artifact too, where the framework has such, as the result of a tool named
            ``<tool>#artifact``; the worse of the two verdicts stands. ``ignore`` leaves artifacts unjudged, and the
            verdict says so.

    Raises:
        ConfigurationError: for a value that is not one of these.
    """

    on_flag: OnFlag = "annotate"
    on_block: Literal["replace", "raise", "end"] = "replace"
    on_guard_error: Literal["open", "closed"] = "open"
    shadow: bool = False
    max_retries: int = 0
    flag_text: str = FLAG_TEXT
    artifacts: Artifacts = "ignore"

    def __post_init__(self) -> None:
        for name, allowed in (
            ("on_flag", get_args(OnFlag)),
            ("on_block", ("replace", "raise", "end")),
            ("on_guard_error", ("open", "closed")),
            ("artifacts", get_args(Artifacts)),
        ):
            if getattr(self, name) not in allowed:
                raise ConfigurationError(f"{name} must be one of {', '.join(map(repr, allowed))}")
        if not isinstance(self.max_retries, int) or isinstance(self.max_retries, bool) or self.max_retries < 0:
            raise ConfigurationError(f"max_retries must be a non-negative integer, not {self.max_retries!r}")
        check_flag_text(self.flag_text)

    def line(self, tool: str, hazard: str, posterior: float) -> str:
        """The line after a flagged result of a tool."""
        return flag_line(self.flag_text, tool, hazard, posterior)


class Outcome(NamedTuple):
    """One executed call as an integration saw it.

    Attributes:
        tool, args: the call.
        result: what the tool returned, or what it said where it failed.
        execution_time_ms: the tool's own time; None where it is unknown.
        session_id, call_id: the framework's.
        is_error: the framework's own flag that the tool ran and failed. What a framework makes up itself (an unknown
            tool, bad arguments) is no answer of the tool, and no outcome.
    """

    tool: str
    args: Any
    result: Any
    execution_time_ms: float | None = None
    session_id: str | None = None
    call_id: str | None = None
    is_error: bool = False


class Judgement(NamedTuple):
    """What is to be done with a result.

    Attributes:
        action: see ``Action``; always ``pass`` in shadow mode.
        verdict: the engine's result; None where the guard failed, or does not cover the tool (then without a notice).
        notice: what to show in the result's place (action ``replace``), or that it could not be verified; never empty
            there, quotes no result.
        redact: the kinds of content that the result must be shown without; none in shadow mode.
        line: what to show after the result (action ``annotate``); "" for any other action.
        hazard: what speaks against the result, in one line that repeats no phrase of it; "" where it is accepted.
        artifact: whether the result's artifact was judged; None where it has none.
        of_artifact: the verdict is the artifact's, because it is the worse of the two.
        redact_artifact: the kinds of content that the artifact must be shown without.
    """

    action: Action
    verdict: VerificationResult | None
    notice: str
    redact: tuple[str, ...] = ()
    line: str = ""
    hazard: str = ""
    artifact: Literal["judged", "not judged"] | None = None
    of_artifact: bool = False
    redact_artifact: tuple[str, ...] = ()

    @property
    def asked(self) -> int:
        """How often this very call had this very result before, where that was not accepted."""
        return 0 if self.verdict is None else self.verdict.asked

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

    async def shown_async(self, value: Any) -> Any:
        """``shown``, of a large value in a thread."""
        return await apart(self.shown, value, about=value) if self.redact else value

    def shown_artifact(self, artifact: Any) -> Any:
        """The artifact as it may be handed on."""
        return self._replace(redact=self.redact_artifact).shown(artifact)

    def as_dict(self) -> dict[str, Any]:
        """The verdict as plain JSON, for metadata that must survive a checkpoint."""
        about: dict[str, Any] = {} if self.artifact is None else {"artifact": self.artifact}
        if self.of_artifact:
            about["of"] = "artifact"
        if self.verdict is None:
            kind = "error" if self.notice else "unguarded"
            return {"verdict": kind, "action": self.action, "reason": self.notice, **about}
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
            **({"hazard": self.hazard} if self.hazard else {}),
            **({"line": self.line} if self.line else {}),
            **({"asked": found.asked} if found.asked else {}),
            **({"change": found.change} if found.change else {}),
            **({"redacted": list(self.redact)} if self.redact else {}),
            **({"redacted_artifact": list(self.redact_artifact)} if self.redact_artifact else {}),
            **about,
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
        return self._judged(outcome)

    async def judge_async(self, outcome: Outcome) -> Judgement:
        """``judge``, of a large result in a thread: the event loop goes on meanwhile."""
        return await apart(ToolGuard.judge, self, outcome, about=(outcome.args, outcome.result))

    def judge_with_artifact(self, outcome: Outcome, artifact: Any) -> Judgement:
        """Judge a result and, where the policy says so, its artifact; the worse of the two stands. Never raises."""
        judgement = self.judge(outcome)
        if artifact is None or not self.covers(outcome.tool):
            return judgement
        if self.policy.artifacts == "ignore":
            return judgement._replace(artifact="not judged")
        # A call of its own: what a tool hands to the application says nothing of what it tells the model, and a
        # profile that declares the result must not be held against the artifact. Its time is the result's.
        own = self._judged(outcome._replace(result=artifact, execution_time_ms=None), of_artifact=True)
        judgement = judgement._replace(artifact="judged", redact_artifact=own.redact)
        if _gravity(own) <= _gravity(judgement):
            return judgement
        return judgement._replace(
            action=own.action, verdict=own.verdict, notice=own.notice, line=own.line, hazard=own.hazard,
            of_artifact=True,
        )  # fmt: skip

    def _judged(self, outcome: Outcome, *, of_artifact: bool = False) -> Judgement:
        tool = outcome.tool
        try:
            found = self.engine.verify(
                artifact_of(tool) if of_artifact else tool,
                args=outcome.args,
                result=outcome.result,
                execution_time_ms=outcome.execution_time_ms,
                session_id=outcome.session_id,
                call_id=outcome.call_id,
                is_error=outcome.is_error,
            )
        except Exception as error:
            _log.error("judging a result of %r failed: %s", tool, type(error).__name__)
            closed = self.policy.on_guard_error == "closed" and not self.policy.shadow
            return Judgement("replace" if closed else "pass", None, _unverified(tool, withheld=closed))
        action = self.action_on(found.verdict)
        redact = () if self.policy.shadow else found.redact
        if found.verdict == "accept":
            return Judgement(action, found, "", redact)
        hazard = f"{'in its artifact: ' if of_artifact else ''}{hazard_of(found, outcome.result)}"
        notice = self.notice(tool, hazard, found.posterior, found.asked) if action == "replace" else ""
        line = self.policy.line(tool, hazard, found.posterior) if action == "annotate" else ""
        return Judgement(action, found, notice, redact, line, hazard)

    @staticmethod
    def notice(tool: str, hazard: str, posterior: float, asked: int = 0) -> str:
        """What the model is told in place of a blocked result: that it is none, why, and what it may do."""
        return notice_of(blocked(tool, hazard, posterior), asked)

    def may_retry(self, tool: str, attempts: int, asked: int = 0) -> bool:
        """A blocked call may be made again: the policy allows one more, and the tool's profile calls it idempotent.

        Not where it gave the same answer again and again (``asked``, as in ``VerificationResult``).
        """
        return attempts <= self.policy.max_retries and may_ask(asked) and self.engine.profile_of(tool).idempotent

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
        return self.policy.on_flag


def _gravity(judgement: Judgement) -> tuple[int, int]:
    """How grave a judgement is: by what is to be done, then, as in shadow mode nothing is, by its verdict."""
    verdict = None if judgement.verdict is None else judgement.verdict.verdict
    return ACTIONS.index(judgement.action), VERDICTS.index(verdict)


def artifact_of(tool: str) -> str:
    """The name under which artifacts of a tool are judged."""
    return f"{tool}#artifact"


def _unverified(tool: str, *, withheld: bool) -> str:
    if not withheld:
        return f"The result of {tool!r} could not be verified."
    return notice_of(f"The result of {tool!r} could not be verified and was withheld.")
