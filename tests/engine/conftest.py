"""What the tests of the engine share: a look at what it has learned of a tool."""

from __future__ import annotations

from typing import Any

import pytest

from agentguard.verification import VerificationEngine


def memory_of(engine: VerificationEngine, tool: str) -> Any:
    """The tool's memory; the engine hides it, and these tests count what is in it."""
    return engine._tools.find(tool, keep=True).memory


def learned(engine: VerificationEngine, tool: str) -> int:
    """How many calls of the tool were learned in full."""
    memory = memory_of(engine, tool)
    calls: int = memory.calls if engine.mode == "reference" else memory.count
    return calls


@pytest.fixture(name="memory_of")
def _memory_of() -> Any:
    return memory_of


@pytest.fixture(name="learned")
def _learned() -> Any:
    return learned


@pytest.fixture(params=["calibrated", "reference"])
def mode(request: pytest.FixtureRequest) -> Any:
    return request.param
