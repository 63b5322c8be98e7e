"""``agentguard demo --agent``: the guard live in a LangGraph agent, on a terminal.

The agent, its middleware, the tools and the guard are real; the model is a script, so that the demo needs no key and
no network, and so is the person who reviews. What is said at the end is counted from what happened.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

from rich.console import Console

from agentguard.errors import ConfigurationError
from agentguard.integrations.demo_report import AgentDemoReport, Judged, Screen
from agentguard.integrations.demo_stage import DECLARED, MORNING, PLAN, QUESTION, Answer, ScriptedModel, Stage
from agentguard.integrations.extras import needs
from agentguard.integrations.langchain import ToolGuardMiddleware
from agentguard.verification import VerificationEngine

try:
    from langchain.agents import create_agent
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command
except ImportError as error:
    raise needs("langchain", error) from error

__all__ = ["run_agent_demo"]


def run_agent_demo(
    console: Console, *, seed: int = 7, as_json: bool = False, delay_scale: float = 1.0
) -> AgentDemoReport:
    """Let an agent work with real tools, two of whose answers are wrong, and show every step of its graph.

    Args:
        console: where to print.
        seed: of all that the tools report; times are measured.
        as_json: print the report as JSON and nothing else.
        delay_scale: factor on the HTTP service's delays, >= 0.

    Raises:
        ConfigurationError: for a negative ``delay_scale``.
    """
    if delay_scale < 0:
        raise ConfigurationError(f"delay_scale must be at least 0, not {delay_scale}")
    engine = VerificationEngine()
    for name, fields in DECLARED.items():
        engine.register_tool_profile(name, **fields)
    engine.calibrate("get_quote", block_at=0.7)  # where a price is in doubt, a person is asked rather than none shown
    screen = Screen(console, hidden=as_json)
    with Stage(seed, delay_scale) as stage:
        screen.opening(MORNING * len(PLAN))
        watched = _watch(engine, stage)
        screen.question(QUESTION)
        calls, answer = _perform(engine, stage, screen)
    report = AgentDemoReport(seed, watched, tuple(calls), answer)
    if as_json:
        console.print(json.dumps(report.as_dict(), indent=2), soft_wrap=True, markup=False, highlight=False)
    screen.closing(report)
    return report


def _watch(engine: VerificationEngine, stage: Stage) -> int:
    """Let the guard see the morning's calls of other agents to the same tools, all of them genuine."""
    calls = 0
    for minute in range(MORNING):
        stage.advance(minute)
        for tool, args in PLAN:
            start = perf_counter()
            answer = stage.ask(tool, args)
            elapsed_ms = 1e3 * (perf_counter() - start)
            engine.verify(tool, args=args, result=answer, execution_time_ms=elapsed_ms, session_id=f"morning-{minute}")
            calls += 1
    stage.advance(MORNING)
    return calls


def _perform(engine: VerificationEngine, stage: Stage, screen: Screen) -> tuple[list[Judged], str]:
    """Run the agent to its answer; whatever is flagged is decided by a reviewer who knows the truth."""
    model = ScriptedModel()
    guard = ToolGuardMiddleware(engine, on_flag="review")
    agent: Any = create_agent(model, stage.tools(), middleware=[guard], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "demo"}}
    judged: dict[str, Judged] = {}
    answer = ""
    given: Any = {"messages": [HumanMessage(QUESTION)]}
    while given is not None:
        steps, given = agent.stream(given, config, stream_mode="updates"), None
        for node, message in _messages(steps):
            if isinstance(message, ToolMessage):
                stamp = message.response_metadata["agentguard"]
                if message.tool_call_id in judged:
                    continue  # as the review left it; what was decided is known
                call = _judged(stamp, stage.given[len(judged)])
                judged[call.call_id] = call
                screen.verdict(node, call, str(message.content))
            elif isinstance(message, AIMessage):
                answer = str(message.content)
                screen.model(node, message)
            else:
                flagged = [call for call in judged.values() if call.action == "review" and call.review is None]
                decided = [replace(call, review="reject" if call.wrong else "approve") for call in flagged]
                judged.update((call.call_id, call) for call in decided)
                screen.review(node, decided)
                given = Command(resume={"decisions": [{"type": call.review} for call in decided]})
    shown = set(model.shown)
    seen = zip(judged.values(), stage.given, strict=True)
    return [replace(call, shown=result.text in shown) for call, result in seen], answer


def _messages(steps: Iterator[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Every message that a step of the graph brought, with the node's name; an interrupt as it is."""
    for step in steps:
        for node, update in step.items():
            if node == "__interrupt__":
                yield "review", update
            else:
                for message in (update or {}).get("messages", ()):
                    yield node, message


def _judged(stamp: Mapping[str, Any], result: Answer) -> Judged:
    return Judged(
        result.tool,
        str(stamp["call_id"]),
        str(stamp["verdict"]),
        float(stamp["posterior"]),
        tuple(stamp["fired"]),
        str(stamp["action"]),
        result.wrong,
    )
