"""One planned and rehearsed day, shared: it follows from its seed and nothing changes it."""

from types import SimpleNamespace

import pytest

from agentguard.demo._agent import place_faults
from agentguard.demo._plan import plan_calls, rehearse


@pytest.fixture(scope="session")
def day():
    plan = plan_calls(600, seed=7)
    rehearsed = rehearse(plan, seed=7)
    return SimpleNamespace(plan=plan, rehearsed=rehearsed, warm_up=120, faults=place_faults(rehearsed, 120, seed=7))
