"""Runs of real agents on scripted models; nothing leaves the machine."""

from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import Any

import pytest

from agentguard import VerificationEngine

if find_spec("pydantic_ai") is None:
    collect_ignore_glob = ["test_*.py"]  # pydantic-ai does not run on Python 3.10, so that it is not installed there


@pytest.fixture
def engine() -> VerificationEngine:
    engine = VerificationEngine()
    engine.register_tool_profile("lookup", required_fields=["id"], has_network_io=False)
    return engine


@pytest.fixture
def read() -> Callable[..., Awaitable[list[Any]]]:
    """Run an agent whose model makes these calls in one turn (name, arguments); all that it reads then."""
    from pydantic_ai import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.messages import ModelRequest
    from pydantic_ai.models.function import FunctionModel

    async def read(agent: Any, *calls: tuple[str, Any], **options: Any) -> list[Any]:
        def model(messages: Any, info: Any) -> ModelResponse:
            if len(messages) > 1:
                return ModelResponse([TextPart("done")])
            made = [ToolCallPart(name, args, tool_call_id=f"call-{n}") for n, (name, args) in enumerate(calls)]
            return ModelResponse(made)

        result = await agent.run("go", model=FunctionModel(model), **options)
        _, *answered = [message for message in result.all_messages() if isinstance(message, ModelRequest)]
        return [part for request in answered for part in request.parts]

    return read


@pytest.fixture
def run(read: Callable[..., Awaitable[list[Any]]]) -> Callable[..., Awaitable[list[Any]]]:
    """Run an agent whose model makes these calls in one turn (name, arguments); the tool returns that it reads."""
    from pydantic_ai.messages import ToolReturnPart

    async def run(agent: Any, *calls: tuple[str, Any], **options: Any) -> list[ToolReturnPart]:
        return [part for part in await read(agent, *calls, **options) if isinstance(part, ToolReturnPart)]

    return run
