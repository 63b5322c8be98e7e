"""Cases for reference mode, built by hand: no engine between the test and the checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentguard.verification._arguments import Arguments
from agentguard.verification._canonical import as_name
from agentguard.verification._case import Case
from agentguard.verification._contract import Contract
from agentguard.verification._document import read
from agentguard.verification._method import Decision
from agentguard.verification._reference import Reference
from agentguard.verification.profile import ToolProfile
from agentguard.verification.types import Settings, SignalResult, ToolCall


class Tool:
    """One tool's method, contract and memory."""

    def __init__(self, method: Reference | None = None, **profile: Any) -> None:
        self.method = method or Reference()
        self.contract = Contract(ToolProfile(name="tool", **profile))
        self.memory = self.method.new_memory("tool")

    def case(self, result: Any, args: Any = None, ms: Any = None, session: Any = None) -> Case:
        call = ToolCall("tool", args, result, ms, None if session is None else as_name(session))  # as the engine does
        return Case(call, read(result), self.contract, self.memory, Settings(), Arguments(args))

    def signals(self, case: Case) -> dict[str, SignalResult]:
        return {check.name: check(case) for _, checks in self.method.tiers for check in checks}

    def signal(self, name: str, result: Any, **call: Any) -> SignalResult:
        return self.signals(self.case(result, **call))[name]

    def learn(self, result: Any, **call: Any) -> None:
        self.method.learn(self.case(result, **call), {}, Decision("accept", 0.1, {}, None))


@pytest.fixture(scope="session")
def tool() -> Callable[..., Tool]:
    return Tool
