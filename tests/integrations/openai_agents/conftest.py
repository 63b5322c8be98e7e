"""Runs of the real ``Runner`` on scripted models; nothing leaves the machine and nothing is traced."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, RunResult
from agents.testing import ScriptedModel, assistant_message, function_call

from agentguard import VerificationEngine

Run = Callable[..., Awaitable[RunResult]]


@pytest.fixture
def engine() -> VerificationEngine:
    engine = VerificationEngine()
    engine.register_tool_profile("lookup", required_fields=["id"], has_network_io=False)
    return engine


@pytest.fixture
def run() -> Run:
    """Run an agent whose model makes these calls in one turn (name, arguments), and then says that it is done."""

    async def run(agent: Agent[Any], *calls: tuple[str, Any], **config: Any) -> RunResult:
        made = [function_call(name, args, call_id=f"call-{n}") for n, (name, args) in enumerate(calls)]
        scripted = agent.clone(model=ScriptedModel([made, [assistant_message("done")]]))
        return await Runner.run(scripted, "go", run_config=RunConfig(tracing_disabled=True, **config))

    return run
