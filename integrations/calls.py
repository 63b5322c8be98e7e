"""What the integrations share that guard one call at a time, with no graph to pause: the policy and the attempts."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection
from typing import Literal, TypeVar, get_args

from agentguard.errors import ConfigurationError
from agentguard.integrations.guard import Judgement, OnFlagUnasked, Outcome, Policy, ToolGuard
from agentguard.integrations.wording import FLAG_TEXT
from agentguard.verification import VerificationEngine

__all__ = ["Attempt", "CallGuard", "OnJudgement"]

_log = logging.getLogger("agentguard")

Shown = TypeVar("Shown")
#: What an attempt gives the caller, with what the engine is to judge of it; None: there is nothing to judge.
Attempt = tuple[Shown, Outcome | None]
#: Is told of every judgement, in shadow mode too.
OnJudgement = Callable[[Outcome, Judgement], None]


class CallGuard(ToolGuard):
    """A guard that makes the calls itself, so that it can make a blocked one again.

    Args:
        engine: judges the calls.
        tools: names of the tools to guard; None: all.
        on_flag: ``annotate`` hands a flagged result on, with a line after it for the model; ``observe`` hands it on as
            it is; ``block`` treats it as blocked.
        on_block: ``replace`` puts a notice in the result's place; ``raise`` ends the run by an exception.
        on_guard_error: when the guard itself fails: ``open`` hands the result on, ``closed`` treats it as blocked.
        shadow: judge and record, change nothing.
        max_retries: how often a blocked call is made again, for tools whose profile says ``idempotent: true``.
        on_judgement: is told of every judgement; what it raises is logged and changes nothing.
        flag_text: the line of ``annotate``, as in ``Policy``.

    Raises:
        ConfigurationError: for a policy that needs a graph to pause (``review``, ``end``) or does not exist.
    """

    def __init__(
        self,
        engine: VerificationEngine,
        *,
        tools: Collection[str] | None = None,
        on_flag: OnFlagUnasked = "annotate",
        on_block: Literal["replace", "raise"] = "replace",
        on_guard_error: Literal["open", "closed"] = "open",
        shadow: bool = False,
        max_retries: int = 0,
        on_judgement: OnJudgement | None = None,
        flag_text: str = FLAG_TEXT,
    ) -> None:
        for name, value, allowed in (
            ("on_flag", on_flag, get_args(OnFlagUnasked)),
            ("on_block", on_block, ("replace", "raise")),
        ):
            if value not in allowed:
                raise ConfigurationError(f"{name} must be {' or '.join(map(repr, allowed))} here, not {value!r}")
        policy = Policy(on_flag, on_block, on_guard_error, shadow, max_retries, flag_text)
        super().__init__(engine, policy, tools)
        self._on_judgement = on_judgement

    def judge(self, outcome: Outcome) -> Judgement:
        """Judge a result, say what to do with it, and tell whoever asked to be told. Never raises."""
        judgement = super().judge(outcome)
        self._tell(outcome, judgement)
        return judgement

    async def judge_async(self, outcome: Outcome) -> Judgement:
        """``judge``, of a large result in a thread; whoever asked to be told is told where he asked."""
        judgement = await super().judge_async(outcome)
        self._tell(outcome, judgement)
        return judgement

    def _tell(self, outcome: Outcome, judgement: Judgement) -> None:
        if self._on_judgement is not None and self.covers(outcome.tool):
            try:
                self._on_judgement(outcome, judgement)
            except Exception as error:
                _log.error("on_judgement failed on a result of %r: %s", outcome.tool, type(error).__name__)

    def settle(self, attempt: Callable[[], Attempt[Shown]]) -> tuple[Shown, Judgement | None]:
        """Make a call, again where the policy allows it, and judge each result; the last one counts."""
        attempts = 0
        while True:
            shown, outcome = attempt()
            attempts += 1
            judgement = None if outcome is None else self.judge(outcome)
            if not self._again(outcome, judgement, attempts):
                return shown, judgement

    async def settle_async(self, attempt: Callable[[], Awaitable[Attempt[Shown]]]) -> tuple[Shown, Judgement | None]:
        """As ``settle``, for calls that are awaited."""
        attempts = 0
        while True:
            shown, outcome = await attempt()
            attempts += 1
            judgement = None if outcome is None else await self.judge_async(outcome)
            if not self._again(outcome, judgement, attempts):
                return shown, judgement

    def _again(self, outcome: Outcome | None, judgement: Judgement | None, attempts: int) -> bool:
        if outcome is None or judgement is None or judgement.action != "replace":
            return False
        # Without a verdict it was the guard that failed: another call would not mend that.
        return judgement.verdict is not None and self.may_retry(outcome.tool, attempts, judgement.asked)
