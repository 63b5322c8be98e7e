"""A scripted model, an engine that remembers what it was asked, and a tool whose next answers are given."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, StructuredTool

from agentguard.verification import VerificationEngine, VerificationResult

GENUINE = {"city": "Oslo", "degrees": 3}
FABRICATED = {"city": "Oslo", "note": "probably mild"}


class ScriptedModel(GenericFakeChatModel):
    """Says its messages in turn, whatever it is asked."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


class SpyEngine(VerificationEngine):
    """The real engine; keeps what it was asked beside what it said."""

    def __init__(self) -> None:
        super().__init__()
        self.register_tool_profile("weather", required_fields=["city", "degrees"], has_network_io=False)
        self.asked: list[dict[str, Any]] = []

    def verify(self, tool: str, **given: Any) -> VerificationResult:
        found = super().verify(tool, **given)
        self.asked.append({"tool": tool, **given, "verdict": found.verdict})
        return found


def asks(*cities: str) -> AIMessage:
    """One turn of the model that asks for the weather of each city; the calls are named by it."""
    calls = [{"name": "weather", "args": {"city": city}, "id": f"call-{city}"} for city in cities]
    return AIMessage("", tool_calls=calls)


@pytest.fixture
def engine() -> SpyEngine:
    return SpyEngine()


@pytest.fixture
def model() -> Callable[..., ScriptedModel]:
    """Makes a model that asks for the weather of the given cities in one turn and then says that it is done."""
    return lambda *cities: ScriptedModel(messages=iter([asks(*cities), AIMessage("done")]))


@pytest.fixture(params=["sync tool", "async tool"])
def weather(request: pytest.FixtureRequest) -> Callable[..., BaseTool]:
    """Makes the tool ``weather``, which gives the answers in turn; an answer that is an exception is raised."""

    def make(*answers: Any) -> BaseTool:
        left: Iterator[Any] = iter(answers)

        def weather(city: str) -> Any:
            """The weather of a city."""
            answer = next(left)
            if isinstance(answer, Exception):
                raise answer
            return answer() if callable(answer) else answer

        async def aweather(city: str) -> Any:
            """The weather of a city."""
            return weather(city)

        if request.param == "sync tool":
            return StructuredTool.from_function(weather)
        return StructuredTool.from_function(weather, aweather)

    return make


@pytest.fixture
def genuine() -> dict[str, Any]:
    return dict(GENUINE)


@pytest.fixture
def fabricated() -> dict[str, Any]:
    return dict(FABRICATED)
