"""A stage by itself, before those that it needs."""

from typing import Any
from unittest.mock import MagicMock

import pytest

from agentguard.errors import GateError
from agentguard.gate._config import parse_config
from agentguard.gate._run import STAGES, GateState


@pytest.fixture
def state() -> GateState:
    thresholds = {"deploy_threshold": 0.10, "warn_threshold": 0.25}
    sources = [{"type": "local", "path": "docs"}]
    return GateState(parse_config({"use_case": "help desk", "risk_tolerance": thresholds, "doc_sources": sources}))


@pytest.mark.parametrize("stage", STAGES[1:], ids=[stage.__name__ for stage in STAGES[1:]])
def test_no_stage_reads_what_none_before_it_has_written(state: GateState, stage: Any) -> None:
    services: Any = MagicMock()
    with pytest.raises(GateError, match="is read before a stage has written it; the state has nothing yet"):
        stage(state, services)
