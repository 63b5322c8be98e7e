"""Risk and decision, with the values of the gate's architecture document (sections 5.3.6, 7.3 and 13.1)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.gate._config import RiskTolerance
from agentguard.gate._run import score_verdicts
from agentguard.gate._types import ClaimVerdict, Reason

DOCUMENTED = RiskTolerance(deploy_threshold=0.10, warn_threshold=0.25)
SHORT = {"s": "supported", "w": "weakly_supported", "u": "unsupported"}


def verdicts(labels: str) -> list[ClaimVerdict]:
    return [
        ClaimVerdict(f"p1.c{number}", _label(label), (Reason("overlap", "because"),), None, "", "rules")
        for number, label in enumerate(labels, 1)
    ]


def _label(short: str) -> Any:
    return SHORT.get(short, short)


@pytest.mark.parametrize(
    ("labels", "risk", "decision"),
    [
        ("sss", 0.0, "deploy"),
        ("uus", 2 / 3, "block"),
        ("w", 0.5, "block"),
        ("s" * 9 + "u", 0.1, "deploy"),  # at the threshold: still deployed
        ("s" * 3 + "u", 0.25, "warn"),  # at the threshold: still a warning
        ("s" * 7 + "ww" + "u", 0.2, "warn"),  # (1 + 2/2) / 10
        ("ssx", 1 / 3, "block"),  # a label that nobody knows is no support
    ],
)
def test_documented_arithmetic(labels: str, risk: float, decision: str) -> None:
    score = score_verdicts(verdicts(labels), DOCUMENTED)

    assert score.risk == pytest.approx(risk, abs=1e-15)
    assert score.decision == decision


def test_counts() -> None:
    score = score_verdicts(verdicts("sswux"), DOCUMENTED)

    assert (score.total_claims, score.supported, score.weakly_supported, score.unsupported) == (5, 2, 1, 2)


def test_without_claims_nothing_is_deployed() -> None:
    score = score_verdicts([], DOCUMENTED)

    assert (score.decision, score.total_claims) == ("warn", 0)
    assert "no claim was found" in score.reason


def test_the_decision_is_taken_on_the_unrounded_risk() -> None:
    # 1 of 9,999 rounds to 0.0001, which is the threshold; it lies above it.
    tolerance = RiskTolerance(deploy_threshold=0.0001, warn_threshold=0.5)

    assert score_verdicts(verdicts("s" * 9_998 + "u"), tolerance).decision == "warn"


@given(st.text("swu", min_size=1, max_size=30), st.data())
def test_less_support_never_lowers_the_risk(labels: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(labels) - 1))
    worse = labels[:place] + {"s": "w", "w": "u", "u": "u"}[labels[place]] + labels[place + 1 :]
    order = ["deploy", "warn", "block"]
    before, after = (score_verdicts(verdicts(given), DOCUMENTED) for given in (labels, worse))

    assert after.risk >= before.risk
    assert order.index(after.decision) >= order.index(before.decision)
    assert 0.0 <= after.risk <= 1.0
