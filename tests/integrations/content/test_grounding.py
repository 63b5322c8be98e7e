"""Final answers traced to tool results: what none supports is flagged, or the model is asked once more."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool

from agentguard.integrations.content import ContentGuardMiddleware

from ..langchain.scripted import ASK, Run, ScriptedModel, calls


@tool
def hotel(city: str) -> dict[str, Any]:
    """Find a hotel."""
    return {"hotel": "Aurora", "price": 65.0}


WRONG, RIGHT = "The Aurora costs 650 a night.", "The Aurora costs 65 a night."
HOTEL = calls(("hotel", {"city": "Oslo"}))


def agent_of(*script: AIMessage, **options: Any) -> Any:
    model = ScriptedModel(script=list(script))
    made: Any = create_agent(model, [hotel], middleware=[ContentGuardMiddleware(answers=None, **options)])
    made.model = model
    return made


async def test_what_no_result_supports_is_flagged_at_its_place(run: Run) -> None:
    out = await run(agent_of(HOTEL, AIMessage(WRONG), grounding="flag"), ASK)
    answer = out["messages"][-1]

    assert answer.content == WRONG
    record = answer.response_metadata["agentguard_content"]
    assert record == {"action": "flag", "unsupported": [{"kind": "unsupported number", "start": 17, "end": 20}]}
    assert WRONG[17:20] == "650"


async def test_a_supported_answer_is_left_alone(run: Run) -> None:
    out = await run(agent_of(HOTEL, AIMessage(RIGHT), grounding="block"), ASK)
    assert out["messages"][-1].content == RIGHT
    assert out["messages"][-1].response_metadata == {}


async def test_the_model_is_asked_once_more_and_only_its_second_answer_stays(run: Run) -> None:
    told: list[Any] = []
    graph = agent_of(HOTEL, AIMessage(WRONG), AIMessage(RIGHT), grounding="block", on_finding=told.append)
    out = await run(graph, ASK)

    assert [message.type for message in out["messages"]] == ["human", "ai", "tool", "ai"]
    assert out["messages"][-1].content == RIGHT
    assert out["messages"][-1].response_metadata["agentguard_content"] == {"action": "pass", "asked_again": True}
    draft, correction = graph.model.seen[2][-2:]
    assert draft.content == WRONG
    assert isinstance(correction, HumanMessage)
    assert "'650'; the nearest that results have is 65 at price" in correction.content
    assert [(record["where"], record["action"]) for record in told] == [("answer", "ask again")]


async def test_what_is_unsupported_still_is_flagged_and_not_asked_about_again(run: Run) -> None:
    graph = agent_of(HOTEL, AIMessage(WRONG), AIMessage(WRONG), grounding="block")
    out = await run(graph, ASK)

    assert len(graph.model.seen) == 3
    record = out["messages"][-1].response_metadata["agentguard_content"]
    assert (record["action"], record["asked_again"], len(record["unsupported"])) == ("flag", True, 1)


async def test_a_second_answer_that_calls_a_tool_ends_the_asking_for_this_turn(run: Run) -> None:
    again = HOTEL.model_copy(update={"tool_calls": [{**HOTEL.tool_calls[0], "id": "c2"}]})
    graph = agent_of(HOTEL, AIMessage(WRONG), again, AIMessage(WRONG), grounding="block")
    out = await run(graph, ASK)

    assert len(graph.model.seen) == 4
    assert out["messages"][-1].response_metadata["agentguard_content"]["action"] == "flag"
    # The user's next message begins another turn.
    graph.model.script += [AIMessage(WRONG), AIMessage(RIGHT)]
    out = await run(graph, {"messages": [*out["messages"], HumanMessage("and now?")]})
    assert out["messages"][-1].content == RIGHT


async def test_values_of_the_user_the_system_and_the_application_are_given(run: Run) -> None:
    model = ScriptedModel(script=[HOTEL, AIMessage("For 4 guests, room 112: 23:15 at most, code 7741, 65 a night.")])
    guard = ContentGuardMiddleware(answers=None, grounding="flag", known=["The code is 7741."])
    graph: Any = create_agent(model, [hotel], system_prompt="Arrival until 23:15.", middleware=[guard])
    out = await run(graph, {"messages": [HumanMessage("Room 112 for 4 guests, please")]})
    assert out["messages"][-1].response_metadata == {}


async def test_without_a_tool_result_nothing_is_traced(run: Run) -> None:
    graph = agent_of(AIMessage(WRONG), grounding="block")
    out = await run(graph, ASK)
    assert len(graph.model.seen) == 1
    assert out["messages"][-1].response_metadata == {}


async def test_a_redacted_answer_is_traced_as_the_model_said_it(run: Run) -> None:
    @tool
    def contact(name: str) -> str:
        """Find an address."""
        return "Ada: ada@example.org"

    script = [calls(("contact", {"name": "Ada"})), AIMessage("Ada is ada@example.org, in room 512.")]
    guard = ContentGuardMiddleware({}, grounding="flag")
    out = await run(create_agent(ScriptedModel(script=script), [contact], middleware=[guard]), ASK)
    answer = out["messages"][-1]

    assert answer.content == "Ada is <EMAIL_1>, in room 512."
    record = answer.response_metadata["agentguard_content"]
    assert record["action"] == "redact"
    assert record["unsupported"] == [{"kind": "unsupported number"}]  # its place is that of a text that is gone


async def test_shadow_mode_asks_nothing(run: Run) -> None:
    told: list[Any] = []
    graph = agent_of(HOTEL, AIMessage(WRONG), grounding="block", shadow=True, on_finding=told.append)
    out = await run(graph, ASK)
    assert len(graph.model.seen) == 2
    assert out["messages"][-1].response_metadata == {}
    assert [record["action"] for record in told] == ["flag"]


async def test_events_hold_kinds_and_places_and_no_words(stream: Run) -> None:
    graph = agent_of(HOTEL, AIMessage(WRONG), grounding="flag")
    (event,) = await stream(graph, ASK, stream_mode="custom")
    assert event == {
        "type": "agentguard.content",
        "where": "answer",
        "action": "flag",
        "unsupported": [{"kind": "unsupported number", "start": 17, "end": 20}],
    }
