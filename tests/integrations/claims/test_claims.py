"""Final answers of an agent held against the calls that it made, by real runs of ``create_agent``."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agentguard.content import actions
from agentguard.errors import AgentGuardError, AnswerUnsupported, ConfigurationError
from agentguard.integrations import claims
from agentguard.integrations.claims import ClaimGuardMiddleware
from agentguard.integrations.content import ContentGuardMiddleware
from agentguard.verification import ToolProfile

from ..langchain.scripted import ASK, THREAD, Run, ScriptedModel, calls

TESTS = calls(("run_tests", {"path": "tests"}))
LIE = "All tests pass, and I sent Ada an email."
TRUTH = "3 tests failed."
FOUND = [{"verdict": "contradicted", "start": 0, "end": 14}, {"verdict": "never called", "start": 20, "end": 39}]


def run_tests(path: str) -> str:
    """Run the tests in a folder."""
    return "3 failed, 45 passed"


def send_email(to: str) -> str:
    """Send an e-mail."""
    return "sent"


def agent_of(*script: AIMessage, before: Any = (), options: Any = None, **arguments: Any) -> Any:
    model = ScriptedModel(script=list(script))
    guards = [*before, ClaimGuardMiddleware(**arguments)]
    made: Any = create_agent(model, [run_tests, send_email], middleware=guards, **(options or {}))
    made.model = model
    return made


def record_in(message: AIMessage) -> Any:
    return message.response_metadata["agentguard_content"]


async def test_an_unsupported_answer_is_annotated(run: Run) -> None:
    out = await run(agent_of(TESTS, AIMessage(LIE)), ASK)
    answer = out["messages"][-1]
    line = "no call supports “All tests pass” (contradicted); “I sent Ada an email” (never called)"
    assert answer.content == f"{LIE}\n\n[agentguard: {line}]"
    assert record_in(answer) == {"claims": {"action": "annotate", "unsupported": FOUND}}


async def test_what_calls_support_is_left_alone(run: Run) -> None:
    out = await run(agent_of(TESTS, AIMessage(TRUTH)), ASK)
    assert out["messages"][-1].content == TRUTH
    assert out["messages"][-1].response_metadata == {}


async def test_text_beside_calls_is_no_answer(run: Run) -> None:
    early = TESTS.model_copy(update={"content": "I have emailed Ada."})
    out = await run(agent_of(early, AIMessage("Hello.")), ASK)
    assert [message.content for message in out["messages"]][1] == "I have emailed Ada."


async def test_the_model_corrects_itself_once(run: Run) -> None:
    told: list[Any] = []
    graph = agent_of(TESTS, AIMessage(LIE), AIMessage(TRUTH), on_unsupported="correct", on_finding=told.append)
    out = await run(graph, ASK)
    assert [message.type for message in out["messages"]] == ["human", "ai", "tool", "ai"]
    assert out["messages"][-1].content == TRUTH
    assert record_in(out["messages"][-1]) == {"asked_again": True}
    draft, correction = graph.model.seen[2][-2:]
    assert draft.content == LIE
    assert isinstance(correction, HumanMessage)
    assert "“I sent Ada an email”" in correction.text
    assert told == [{"where": "claims", "action": "ask again", "unsupported": FOUND}]


async def test_what_is_unsupported_still_is_annotated_and_not_asked_about_again(run: Run) -> None:
    graph = agent_of(TESTS, AIMessage(LIE), AIMessage(LIE), on_unsupported="correct")
    out = await run(graph, ASK)
    assert len(graph.model.seen) == 3
    assert out["messages"][-1].content.startswith(f"{LIE}\n\n[agentguard: ")
    assert record_in(out["messages"][-1])["claims"]["action"] == "annotate"


async def test_a_correction_may_make_the_missing_call(run: Run) -> None:
    send = calls(("send_email", {"to": "Ada"}))
    send.tool_calls[0]["id"] = "c9"
    done = "I sent Ada an email."
    graph = agent_of(TESTS, AIMessage(done), send, AIMessage(done), on_unsupported="correct")
    out = await run(graph, ASK)
    assert [message.type for message in out["messages"]] == ["human", "ai", "tool", "ai", "tool", "ai"]
    assert out["messages"][-1].content == done
    assert out["messages"][-1].response_metadata == {}


@pytest.mark.parametrize("guards_first", [True, False])
async def test_two_guards_ask_once_more_at_most_and_both_records_stay(run: Run, guards_first: bool) -> None:
    said = AIMessage("All tests pass. It took 650 seconds.")
    model = ScriptedModel(script=[TESTS, said, said, AIMessage("never asked for")])
    guards: list[Any] = [ContentGuardMiddleware(answers=None, grounding="block"), ClaimGuardMiddleware("correct")]
    graph: Any = create_agent(model, [run_tests], middleware=guards if guards_first else guards[::-1])
    out = await run(graph, ASK)
    assert len(model.seen) == 3
    record = record_in(out["messages"][-1])
    assert record["asked_again"] is True
    assert record["claims"]["action"] == "annotate"
    assert [each["kind"] for each in record["unsupported"]] == ["unsupported number"]


async def test_it_is_raised_out_of_the_run(run: Run) -> None:
    with pytest.raises(AnswerUnsupported, match="2 claims that no call supports") as raised:
        await run(agent_of(TESTS, AIMessage(LIE), on_unsupported="raise"), ASK)
    assert isinstance(raised.value, AgentGuardError)
    assert [text for text, _ in raised.value.claims] == ["All tests pass", "I sent Ada an email"]
    assert "Ada" not in str(raised.value)


@pytest.mark.parametrize(
    ("decision", "shown", "action"),
    [
        ({"type": "approve"}, LIE, "pass"),
        ({"type": "reject", "message": "not so"}, "A reviewer rejected this answer: not so", "block"),
        ({"type": "respond", "message": "3 tests fail."}, "3 tests fail.", "pass"),
    ],
)
async def test_a_person_decides(run: Run, decision: Any, shown: str, action: str) -> None:
    options = {"checkpointer": InMemorySaver()}
    graph = agent_of(TESTS, AIMessage(LIE), on_unsupported="review", options=options)
    asked = (await run(graph, ASK, THREAD))["__interrupt__"][0].value
    assert "“All tests pass” (contradicted)" in asked["action_requests"][0]["description"]
    out = await run(graph, Command(resume={"decisions": [decision]}), THREAD)
    assert len(graph.model.seen) == 2  # the model is not asked again for it
    assert len(out["messages"]) == 4
    assert out["messages"][-1].content == shown
    claims_record = record_in(out["messages"][-1])["claims"]
    assert (claims_record["action"], claims_record["review"]) == (action, decision["type"])


async def test_a_review_without_a_checkpointer_is_refused(run: Run) -> None:
    with pytest.raises(ConfigurationError, match="checkpointer"):
        await run(agent_of(TESTS, AIMessage(LIE), on_unsupported="review"), ASK)


async def test_a_call_that_failed_contradicts_and_one_whose_result_was_withheld_does_not(run: Run) -> None:
    def send_report(to: str) -> str:
        """Send the report by e-mail."""
        return "The key is AKIAY3KQ7DPLX2M5VWQN."

    model = ScriptedModel(script=[calls(("send_report", {"to": "Ada"})), AIMessage("I sent the report to Ada.")])
    guards: list[Any] = [ContentGuardMiddleware({"secrets": "block"}), ClaimGuardMiddleware()]
    out = await run(create_agent(model, [send_report], middleware=guards), ASK)
    assert "withheld" in out["messages"][2].content
    assert out["messages"][-1].content == "I sent the report to Ada."


async def test_calls_of_the_provider_count(run: Run) -> None:
    said = AIMessage(
        [
            {"type": "server_tool_call", "name": "send_email", "args": {"to": "Ada"}, "id": "s1"},
            {"type": "server_tool_result", "tool_call_id": "s1", "output": "sent", "status": "success"},
            {"type": "text", "text": "I emailed Ada."},
        ]
    )
    out = await run(agent_of(said), ASK)
    assert out["messages"][-1].content == said.content


async def test_a_profile_says_what_a_tool_does(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    known: list[Any] = []

    def check(answer: str, calls: Any, tools: Any, **options: Any) -> Any:
        known.extend(tools)
        return actions.check(answer, calls, (), **options)

    monkeypatch.setattr("agentguard.integrations.content.check_actions", check)
    await run(agent_of(AIMessage("Done."), profiles=[ToolProfile(name="run_*", does=("test code",))]), ASK)
    assert known == [
        actions.Tool("run_tests", "Run the tests in a folder.", ("path",), ("test code",)),
        actions.Tool("send_email", "Send an e-mail.", ("to",)),
    ]


async def test_shadow_tells_and_changes_nothing(run: Run) -> None:
    for action in claims.ACTIONS:
        told: list[Any] = []
        graph = agent_of(TESTS, AIMessage(LIE), on_unsupported=action, shadow=True, on_finding=told.append)
        out = await run(graph, ASK)
        assert out["messages"][-1].content == LIE
        assert out["messages"][-1].response_metadata == {}
        assert [each["unsupported"] for each in told] == [FOUND]


@pytest.mark.parametrize(("policy", "shown"), [("open", LIE), ("closed", claims.WITHHELD)])
async def test_a_guard_that_fails_follows_its_policy_and_says_so_without_content(
    run: Run, policy: Any, shown: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*args: Any, **options: Any) -> Any:
        raise ValueError("the report to Ada")

    monkeypatch.setattr("agentguard.integrations.content.check_actions", fail)
    out = await run(agent_of(TESTS, AIMessage(LIE), on_guard_error=policy), ASK)
    assert out["messages"][-1].content == shown
    assert "ValueError" in caplog.text
    assert "Ada" not in caplog.text


@pytest.mark.parametrize("arguments", [{"on_unsupported": "note"}, {"on_guard_error": "shut"}, {"known": "a text"}])
def test_what_is_no_policy_is_refused(arguments: Any) -> None:
    with pytest.raises(ConfigurationError):
        ClaimGuardMiddleware(**arguments)
