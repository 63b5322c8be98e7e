"""A framework that makes a span of each tool call: the verdict is on that one, and there is no second."""

from __future__ import annotations

import sys

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agentguard.telemetry import OpenTelemetryObserver, observe
from agentguard.verification import VerificationEngine

if sys.version_info < (3, 11):
    pytest.skip("pydantic-ai has no release for Python 3.10", allow_module_level=True)

from pydantic_ai import Agent
from pydantic_ai.capabilities.instrumentation import Instrumentation
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.test import TestModel

from agentguard.integrations.pydantic_ai import GuardCapability


@pytest.mark.parametrize("guard_first", [True, False])
async def test_pydantic_ai(guard_first: bool) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    engine = observe(VerificationEngine(), OpenTelemetryObserver(provider))
    engine.register_tool_profile("weather", required_fields=["degrees"], has_network_io=False)
    seen = Instrumentation(InstrumentationSettings(tracer_provider=provider))
    guard = GuardCapability(engine)
    agent = Agent(TestModel(), capabilities=[guard, seen] if guard_first else [seen, guard])

    @agent.tool_plain
    def weather(city: str) -> dict[str, int]:
        return {}

    await agent.run("How warm is it?")

    spans = [span for span in exporter.get_finished_spans() if span.name.startswith("execute_tool")]
    assert [span.name for span in spans] == ["execute_tool weather"]
    assert [event.name for event in spans[0].events if event.name.startswith("gen_ai.evaluation")] == [
        "gen_ai.evaluation.result"
    ]
    assert (spans[0].attributes or {})["agentguard.verdict"] == "block"
    provider.shutdown()
