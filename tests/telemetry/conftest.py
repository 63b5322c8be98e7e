"""What the tests of telemetry share: observations made to measure, and an engine with a tool that can be blocked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from agentguard.telemetry import Observation
from agentguard.verification import SignalResult, ToolCall, VerificationEngine, VerificationResult, VerificationTier

Nothing: Mapping[str, Any] = {}


def observed(
    verdict: Any = "accept",
    posterior: float = 0.05,
    *,
    at: float = 1_000.0,
    seconds: float = 0.00004,
    result: Mapping[str, Any] = Nothing,
    call: Mapping[str, Any] = Nothing,
) -> Observation:
    """A verdict with one signal that fired and one that did not, and with these fields of result and call."""
    tier = VerificationTier.TIER_0
    signals = {
        name: SignalResult(name, True, fired, 0.9, 5.0, None, tier, "said", "")
        for name, fired in (("schema_mismatch", True), ("length_anomaly", False))
    }
    found = VerificationResult(
        verdict, posterior, 0.15, signals, {"schema_mismatch": 1.61}, VerificationTier.TIER_1, 0.25, "weather", "c1", ""
    )
    made = ToolCall("weather", None, None, 350.0, "s1", "c1")
    return Observation(found._replace(**result), made._replace(**call), seconds, at)


@pytest.fixture(name="observed", scope="session")
def _observed() -> Callable[..., Observation]:
    return observed


@pytest.fixture
def engine() -> VerificationEngine:
    """Blocks what ``weather`` returns without ``degrees``."""
    made = VerificationEngine()
    made.register_tool_profile("weather", required_fields=["degrees"], has_network_io=False)
    return made
