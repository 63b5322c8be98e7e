"""Calls with a known truth, and the labels that reviewers would give of them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest

from agentguard.calibration import Label, Outcome, calibrate


class Truth(NamedTuple):
    """How calls come about.

    A signal fires in ``fabricated`` of the fabricated and ``genuine`` of the genuine calls; the guard takes the true
    log-likelihood ratio of that to be 1/``weight`` of what it is.
    """

    tools: Mapping[str, float] = {"search": 0.01, "weather": 0.04, "orders": 0.15}  # P(fabricated)
    signals: Mapping[str, tuple[float, float, float]] = {
        "echo_mismatch": (0.6, 0.02, 0.7),
        "structure_mismatch": (0.5, 0.03, 0.9),
        "latency_anomaly": (0.4, 0.08, 1.3),
    }
    configured: float = 0.15

    def call(self, rng: random.Random, tool: str) -> Label:
        """One call as the guard judges it, with the truth, reviewed for certain."""
        fabricated = rng.random() < self.tools[tool]
        nats = {}
        for name, (fires, false_alarm, weight) in self.signals.items():
            fired = rng.random() < (fires if fabricated else false_alarm)
            ratio = fires / false_alarm if fired else (1.0 - fires) / (1.0 - false_alarm)
            nats[name] = math.log(ratio) / weight
        odds = self.configured / (1.0 - self.configured) * math.exp(sum(nats.values()))
        posterior = odds / (1.0 + odds)
        verdict = "block" if posterior >= 0.5 else "flag" if posterior >= 0.2 else "accept"
        return Label(tool, posterior, fabricated, 1.0, nats, self.configured, verdict)

    def calls(self, number: int, seed: int) -> list[Label]:
        """So many calls, every tool alike."""
        rng, tools = random.Random(seed), list(self.tools)
        return [self.call(rng, tools[k % len(tools)]) for k in range(number)]


def audited(calls: list[Label], rate: float, seed: int) -> list[Label]:
    """All flagged and blocked calls, and accepted ones at this rate."""
    rng = random.Random(seed)
    return [
        call if call.verdict != "accept" else call._replace(propensity=rate)
        for call in calls
        if call.verdict != "accept" or rng.random() < rate
    ]


@pytest.fixture(scope="session")
def truth() -> Truth:
    return Truth()


@pytest.fixture(scope="session")
def audit() -> Callable[[list[Label], float, int], list[Label]]:
    return audited


@pytest.fixture(scope="session")
def labels_of_a_month(truth: Truth) -> list[Label]:
    """Of 30,000 calls those that are reviewed where accepted ones are sampled at 2%."""
    return audited(truth.calls(30_000, 1), 0.02, 2)


@pytest.fixture(scope="session")
def outcome(labels_of_a_month: list[Label]) -> Outcome:
    return calibrate(labels_of_a_month)


@pytest.fixture
def line() -> Callable[..., dict[str, Any]]:
    """A label as plain data, changed as asked."""

    def made(**changes: Any) -> dict[str, Any]:
        return {"tool": "search", "confidence_score": 0.1, "was_hallucination": False, **changes}

    return made
