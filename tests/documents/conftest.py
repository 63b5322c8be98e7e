"""A bench that walks a method's tiers as the document draws them, and nothing else."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from agentguard.verification._arguments import Arguments
from agentguard.verification._case import Case
from agentguard.verification._contract import Contract
from agentguard.verification._document import read
from agentguard.verification._method import Decision
from agentguard.verification._reference import Reference
from agentguard.verification.profile import ToolProfile
from agentguard.verification.types import Settings, SignalResult, ToolCall, VerificationTier


class Judged(NamedTuple):
    signals: dict[str, SignalResult]
    decision: Decision
    tier: VerificationTier


class Bench:
    """One tool under reference mode; ``profile`` fields declare it, without any it is unregistered."""

    def __init__(self, settings: Settings | None = None, **profile: Any) -> None:
        self.method = Reference()
        self.settings = settings or Settings()
        self.contract = Contract(ToolProfile(name="tool", **profile)) if profile else Contract.unregistered("tool")
        self.memory = self.method.new_memory("tool")

    def judge(
        self, result: Any, args: Any = None, ms: Any = None, session: str | None = None, learn: bool = True
    ) -> Judged:
        call = ToolCall("tool", args, result, ms, session)
        case = Case(call, read(result), self.contract, self.memory, self.settings, Arguments(args))
        signals: dict[str, SignalResult] = {}
        for tier, checks in self.method.tiers:  # noqa: B007 - the tier reached is what the loop leaves behind
            signals.update((check.name, check(case)) for check in checks)
            decision = self.method.decide(case, self.settings.prior, signals)
            if decision.verdict == "block":
                break
        if learn:
            self.method.learn(case, signals, decision)
        return Judged(signals, decision, tier)


@pytest.fixture(name="bench")
def _bench() -> type[Bench]:
    return Bench
