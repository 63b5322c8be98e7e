"""The guard in the demo's agent: what the graph does, what is shown, and that the last line counts what happened."""

import io
import json
import threading
from typing import Any, NamedTuple

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from rich.console import Console

from agentguard.demo._tools import Toolbox
from agentguard.errors import ConfigurationError
from agentguard.integrations import _demo as demo_agent
from agentguard.integrations._demo import MORNING, PLAN, AgentDemoReport, ScriptedModel, Stage, run_agent_demo
from agentguard.verification import VerificationEngine, VerificationResult
from agentguard.verification.types import Verdict

SEED = 7


class Run(NamedTuple):
    report: AgentDemoReport
    lines: list[str]


def run(**options: Any) -> Run:
    printed = io.StringIO()
    report = run_agent_demo(Console(file=printed, width=400), seed=SEED, **options)
    return Run(report, printed.getvalue().splitlines())


@pytest.fixture(scope="module")
def usual() -> Run:
    return run()


@pytest.fixture(scope="module")
def truth() -> list[dict[str, Any]]:
    """What the tools really say when the agent asks, found without the agent, the service and the guard."""
    with Toolbox(SEED, over_http=False) as toolbox:
        toolbox.advance(MORNING)
        return [json.loads(toolbox.call(tool, args)) for tool, args in PLAN]


def test_every_wrong_result_is_refused_and_asked_for_again(usual: Run) -> None:
    calls = [(call.tool, call.verdict, call.review, call.wrong is None, call.shown) for call in usual.report.calls]

    assert calls == [
        ("get_order", "accept", None, True, True),
        ("get_weather", "block", None, False, False),
        ("get_weather", "accept", None, True, True),
        ("get_quote", "flag", "reject", False, False),
        ("get_quote", "accept", None, True, True),
    ]
    assert [call.call_id for call in usual.report.calls] == [f"call-{number}" for number in range(1, 6)]


def test_the_answer_is_made_of_what_is_true(usual: Run, truth: list[dict[str, Any]]) -> None:
    order, weather, quote = truth

    assert usual.report.answer == (
        f"Order 1080 is {order['status']}; Lisbon has {weather['temperature_c']} °C, {weather['condition']}; "
        f"ALDR stands at {quote['price']}."
    )


def test_the_steps_of_the_graph_are_shown_in_order(usual: Run) -> None:
    steps = [
        line.split()[0] for line in usual.lines if line[:1].strip() and not line.startswith(("A ", "First ", "Of "))
    ]

    assert steps == ["user", *["model", "tools"] * 2, "model", "model", "tools", "model", "tools", "review", "review",
                     "model", "model", "tools", "model"]  # fmt: skip


def test_the_notice_in_the_results_place_is_shown(usual: Run) -> None:
    (told,) = [line for line in usual.lines if "the model is told" in line]

    assert "The result of 'get_weather' was blocked" in told
    assert "required field 'condition' is missing" in told


def test_the_last_line_counts_what_happened(usual: Run) -> None:
    assert usual.report.watched == 60
    assert usual.report.sentence == (
        "Of 2 wrong results the guard blocked 1 and the reviewer rejected 1 that it flagged; 0 reached the model. "
        "Of 3 genuine results 3 reached it, 0 of them after a review."
    )
    assert usual.lines[-1] == usual.report.sentence


def engine_that_says(monkeypatch: pytest.MonkeyPatch, verdict: Verdict) -> None:
    """Let the demo use an engine that says the same of every call."""

    class Stubborn(VerificationEngine):
        def verify(self, tool: str, **call: Any) -> VerificationResult:
            return super().verify(tool, **call)._replace(verdict=verdict)

    monkeypatch.setattr(demo_agent, "VerificationEngine", Stubborn)


def test_a_guard_that_sees_nothing_is_not_praised(monkeypatch: pytest.MonkeyPatch) -> None:
    engine_that_says(monkeypatch, "accept")

    report = run(delay_scale=0.0).report

    assert [call.verdict for call in report.calls] == ["accept"] * 3
    assert report.sentence == (
        "Of 2 wrong results the guard blocked 0 and the reviewer rejected 0 that it flagged; 2 reached the model. "
        "Of 1 genuine results 1 reached it, 0 of them after a review."
    )


def test_a_genuine_result_that_is_flagged_is_approved_and_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    engine_that_says(monkeypatch, "flag")

    report = run(delay_scale=0.0).report

    assert [(call.verdict, call.review) for call in report.calls] == [
        ("flag", "approve"), ("flag", "reject"), ("flag", "approve"), ("flag", "reject"), ("flag", "approve"),
    ]  # fmt: skip
    assert report.sentence == (
        "Of 2 wrong results the guard blocked 0 and the reviewer rejected 2 that it flagged; 0 reached the model. "
        "Of 3 genuine results 3 reached it, 3 of them after a review."
    )


def test_a_guard_that_blocks_everything_ends_with_nothing_found(monkeypatch: pytest.MonkeyPatch) -> None:
    engine_that_says(monkeypatch, "block")

    report = run(delay_scale=0.0).report

    assert [call.verdict for call in report.calls] == ["block"] * 9
    assert report.answer == ("Order 1080 is unknown; Lisbon has unknown °C, sky unknown; ALDR stands at unknown.")
    assert report.sentence.endswith("Of 7 genuine results 0 reached it, 0 of them after a review.")


def test_json_is_all_that_is_printed(usual: Run) -> None:
    printed = io.StringIO()

    report = run_agent_demo(Console(file=printed), seed=SEED, as_json=True, delay_scale=0.0)

    assert json.loads(printed.getvalue()) == json.loads(json.dumps(report.as_dict()))


def test_everything_is_closed_when_the_agent_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: ScriptedModel, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("the model is away")

    monkeypatch.setattr(ScriptedModel, "_generate", broken)

    with pytest.raises(RuntimeError, match="the model is away"):
        run(delay_scale=0.0)

    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("demo-")]


def test_a_negative_delay_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="delay_scale must be at least 0"):
        run(delay_scale=-1.0)


def test_each_tool_is_spoilt_once() -> None:
    with Stage(SEED, delay_scale=0.0) as stage:
        stage.ask("get_quote", {"ticker": "ALDR"})
        tools = {tool.name: tool for tool in stage.tools()}
        for tool, args in (*PLAN, *PLAN):
            tools[tool].invoke(args)

    assert [(given.tool, given.wrong is None) for given in stage.given] == [
        ("get_order", True), ("get_weather", False), ("get_quote", False),
        ("get_order", True), ("get_weather", True), ("get_quote", True),
    ]  # fmt: skip


def test_what_the_model_says_follows_from_the_messages() -> None:
    """Asked twice about the same messages it says the same, and after three refusals it goes on without."""
    model = ScriptedModel()
    messages: list[Any] = [HumanMessage("?")]
    asked = []
    for number in range(1, 6):
        reply = model.invoke(messages)
        assert isinstance(reply, AIMessage)
        assert model.invoke(messages).tool_calls == reply.tool_calls
        (call,) = reply.tool_calls
        asked.append(call["name"])
        refused = number <= 3
        answer = ToolMessage("no" if refused else '{"status": "paid"}', tool_call_id=call["id"],
                             status="error" if refused else "success")  # fmt: skip
        messages += [reply, answer]

    assert asked == ["get_order"] * 3 + ["get_weather", "get_quote"]
    assert model.invoke(messages).content.startswith("Order 1080 is unknown;")
