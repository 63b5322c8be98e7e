"""A stage by itself: a state with the keys that it reads, one call, the key that it writes.

The two examples of the gate's architecture document, section 13.1, to its digits.
"""

from typing import Any
from unittest.mock import MagicMock

import pytest

from agentguard.errors import GateError
from agentguard.gate._config import parse_config
from agentguard.gate._run import STAGES, GateState, score_risk
from agentguard.gate._types import ClaimVerdict, Label, Reason

NOBODY: Any = None  # the score asks no service


@pytest.fixture
def state() -> GateState:
    thresholds = {"deploy_threshold": 0.10, "warn_threshold": 0.25}
    sources = [{"type": "local", "path": "docs"}]
    return GateState(parse_config({"use_case": "help desk", "risk_tolerance": thresholds, "doc_sources": sources}))


def verdicts(*labels: Label) -> tuple[ClaimVerdict, ...]:
    why = (Reason("judge", "as the test has it"),)
    return tuple(ClaimVerdict(f"p1.c{n}", label, why, None, "", "rules") for n, label in enumerate(labels, 1))


def test_score_risk_all_supported(state: GateState) -> None:
    state.verdicts = verdicts("supported", "supported", "supported")

    score_risk(state, NOBODY)

    assert state.score.risk == 0.0
    assert state.score.decision == "deploy"


def test_score_risk_high_hallucination(state: GateState) -> None:
    state.verdicts = verdicts("unsupported", "unsupported", "supported")

    score_risk(state, NOBODY)

    assert state.score.risk > 0.25
    assert state.score.decision == "block"


@pytest.mark.parametrize("stage", STAGES[1:], ids=[stage.__name__ for stage in STAGES[1:]])
def test_no_stage_reads_what_none_before_it_has_written(state: GateState, stage: Any) -> None:
    services: Any = MagicMock()
    with pytest.raises(GateError, match="is read before a stage has written it; the state has nothing yet"):
        stage(state, services)
