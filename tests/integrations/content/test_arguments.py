"""Arguments of calls traced to the conversation: what nobody said is flagged, or the call is not made."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agentguard.integrations.content import ContentGuardMiddleware
from agentguard.integrations.langchain import ToolGuardMiddleware
from agentguard.integrations.receipts import ReceiptStatus, receipt_signer, verify_transcript

from ..langchain.scripted import THREAD, Run, ScriptedEngine, ScriptedModel, answers, calls

INVENTED, REAL = "bob@example.org", "ada@example.org"


class Office:
    """Tools that keep what they were called with."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def tools(self) -> list[Any]:
        @tool
        def send(to: str) -> str:
            """Send the file."""
            self.sent.append(to)
            return "sent"

        @tool
        def contact(name: str) -> dict[str, str]:
            """Find an address."""
            return {"email": REAL}

        return [send, contact]


def say(text: str) -> Any:
    return {"messages": [HumanMessage(text)]}


def agent_of(office: Office, *script: AIMessage, before: Any = (), **options: Any) -> Any:
    model = ScriptedModel(script=list(script))
    options = {"arguments": "block", **options}
    checkpointer = options.pop("checkpointer", None)
    prompt = options.pop("system_prompt", None)
    guard = ContentGuardMiddleware({}, answers=None, **options)
    made: Any = create_agent(
        model, office.tools(), middleware=[*before, guard], checkpointer=checkpointer, system_prompt=prompt
    )
    made.model = model
    return made


async def test_a_call_with_an_invented_argument_is_not_made_and_the_model_is_told(run: Run) -> None:
    office = Office()
    graph = agent_of(office, calls(("send", {"to": INVENTED})), AIMessage("done"))
    out = await run(graph, say("Send it to Ada."))

    (message,) = answers(out)
    assert office.sent == []
    assert (message.status, message.name, message.tool_call_id) == ("error", "send", "c1")
    assert message.content.startswith(f"The call of 'send' was not made: to: nobody said '{INVENTED}'")
    record = message.response_metadata["agentguard_content"]
    assert record == {"action": "block", "tool": "send", "call_id": "c1", "invented": ["to"]}
    assert graph.model.seen[1][-1] == message


async def test_it_is_made_once_the_model_has_looked_the_value_up(run: Run) -> None:
    office = Office()
    first, second = calls(("send", {"to": INVENTED})), calls(("contact", {"name": "Ada"}))
    third = calls(("send", {"to": REAL}))
    script = [
        turn.model_copy(update={"tool_calls": [{**turn.tool_calls[0], "id": f"t{place}"}]})
        for place, turn in enumerate([first, second, third])
    ]
    await run(agent_of(office, *script, AIMessage("done")), say("Send it to Ada."))
    assert office.sent == [REAL]


async def test_the_other_calls_of_the_turn_are_made(run: Run) -> None:
    office = Office()
    turn = calls(("send", {"to": INVENTED}), ("contact", {"name": "Ada"}), ("send", {"to": "eve@example.org"}))
    out = await run(agent_of(office, turn, AIMessage("done")), say("Send it to Ada, and to eve@example.org."))

    assert office.sent == ["eve@example.org"]
    assert {message.tool_call_id: message.status for message in answers(out)} == {
        "c1": "error", "c2": "success", "c3": "success",
    }  # fmt: skip


async def test_a_flagged_call_is_made_and_recorded_on_the_models_message(run: Run) -> None:
    office = Office()
    graph = agent_of(office, calls(("send", {"to": INVENTED})), AIMessage("done"), arguments="flag")
    out = await run(graph, say("Send it to Ada."))

    assert office.sent == [INVENTED]
    doubt = {"action": "flag", "tool": "send", "call_id": "c1", "invented": ["to"]}
    assert out["messages"][1].response_metadata["agentguard_content"] == {"action": "flag", "arguments": [doubt]}


@pytest.mark.parametrize(
    ("said", "options"),
    [
        (f"Send it to {REAL}.", {}),
        ("Send it to Ada.", {"known": [REAL]}),
        ("Send it to Ada.", {"system_prompt": f"Ada is {REAL}."}),
        ("Send it to Ada.", {"tools": ["contact"]}),
        ("Send it to Ada.", {"arguments": None}),
        ("Send it to Ada.", {"shadow": True}),
    ],
    ids=["user", "application", "system", "other tool", "not asked", "shadow"],
)
async def test_what_was_said_is_known(run: Run, said: str, options: Any) -> None:
    office = Office()
    await run(agent_of(office, calls(("send", {"to": REAL})), AIMessage("done"), **options), say(said))
    assert office.sent == [REAL]


async def test_what_the_model_said_is_known_once_the_user_has_gone_on(run: Run) -> None:
    office, turn = Office(), calls(("send", {"to": INVENTED}))
    said = [HumanMessage("Send it."), AIMessage(f"To {INVENTED}?")]
    await run(agent_of(office, turn, AIMessage("done")), {"messages": [*said, HumanMessage("Yes.")]})
    assert office.sent == [INVENTED]

    muttering = turn.model_copy(update={"content": f"I send it to {INVENTED}."})
    await run(agent_of(office, muttering, AIMessage("done")), say("Send it."))
    assert office.sent == [INVENTED]


async def test_the_echo_of_a_failed_call_is_no_source(run: Run) -> None:
    office, turn = Office(), calls(("send", {"to": INVENTED}))
    again = turn.model_copy(update={"tool_calls": [{**turn.tool_calls[0], "id": "c2"}]})
    out = await run(agent_of(office, turn, again, AIMessage("done")), say("Send it to Ada."))
    assert [message.status for message in answers(out)] == ["error", "error"]
    assert office.sent == []


async def test_a_day_of_which_the_user_spoke_is_known_by_the_clock(run: Run) -> None:
    made: list[str] = []

    @tool
    def book(date: str, room: Literal["north-2", "south-1"] = "north-2") -> str:
        """Book a room."""
        made.append(date)
        return "booked"

    turns = [calls(("book", {"date": day, "room": "south-1"})) for day in ("2025-03-04", "2025-03-09")]
    for turn in turns:
        guard = ContentGuardMiddleware({}, arguments="block", now=lambda: datetime(2025, 3, 3, 12))
        graph: Any = create_agent(ScriptedModel(script=[turn, AIMessage("done")]), [book], middleware=[guard])
        await run(graph, say("Book a room for tomorrow."))
    assert made == ["2025-03-04"]  # and the room is a member of the tool's own enumeration


async def test_each_doubt_is_an_event_without_the_value(stream: Run) -> None:
    graph = agent_of(Office(), calls(("send", {"to": INVENTED})), AIMessage("done"))
    assert await stream(graph, say("Send it to Ada."), stream_mode="custom") == [
        {"type": "agentguard.content", "where": "arguments", "action": "block", "tool": "send", "call_id": "c1",
         "invented": ["to"]}
    ]  # fmt: skip


async def test_under_the_tool_guard_a_call_that_was_not_made_is_no_executed_one(run: Run) -> None:
    engine, office = ScriptedEngine(), Office()
    turn = calls(("send", {"to": INVENTED}), ("contact", {"name": "Ada"}))
    graph = agent_of(office, turn, AIMessage("done"), before=[ToolGuardMiddleware(engine, signer=receipt_signer())])
    out = await run(graph, say("Send it to Ada."))

    assert [asked["tool"] for asked in engine.asked] == ["contact"]
    found = {finding.call_id: finding.status for finding in verify_transcript(out["messages"])}
    assert found == {"c1": ReceiptStatus.MISSING, "c2": ReceiptStatus.EXECUTED}


EDITED = {"name": "send", "args": {"to": "eve@example.org"}}


@pytest.mark.parametrize(
    ("decision", "sent", "said"),
    [
        ({"type": "approve"}, [], "The call of 'send' was not made"),
        ({"type": "edit", "edited_action": EDITED}, ["eve@example.org"], "sent"),
        ({"type": "reject", "message": "Leave it"}, [], "Leave it"),
    ],
    ids=["approve", "edit", "reject"],
)
async def test_a_person_may_mend_a_call_but_not_revive_it(run: Run, decision: Any, sent: list[str], said: str) -> None:
    office = Office()
    graph = agent_of(
        office,
        calls(("send", {"to": INVENTED})),
        AIMessage("done"),
        before=[HumanInTheLoopMiddleware({"send": True})],
        checkpointer=InMemorySaver(),
    )
    await run(graph, say("Send it to Ada."), THREAD)
    out = await run(graph, Command(resume={"decisions": [decision]}), THREAD)

    assert office.sent == sent
    (message,) = answers(out)  # no call is answered twice
    assert said in message.content


@pytest.mark.parametrize(
    "record",
    [None, 7, [], {"arguments": 7}, {"arguments": [7, {"action": "block"}, {"action": "block", "call_id": "c1"}]}],
)
async def test_a_record_that_a_client_wrote_refuses_nothing_and_breaks_nothing(run: Run, record: Any) -> None:
    office = Office()
    old = AIMessage("hi", response_metadata={"agentguard_content": record})
    graph = agent_of(office, calls(("contact", {"name": "Ada"})), AIMessage("done"))
    out = await run(graph, {"messages": [HumanMessage("hi"), old, HumanMessage("Who is Ada?")]})
    assert [message.status for message in answers(out)] == ["success"]


async def test_the_models_message_keeps_what_the_tool_node_acts_on(run: Run) -> None:
    graph = agent_of(Office(), calls(("send", {"to": INVENTED})), AIMessage("done"))
    out = await run(graph, say("Send it to Ada."))
    (doubt,) = out["messages"][1].response_metadata["agentguard_content"]["arguments"]
    assert (doubt["action"], doubt["call_id"], doubt["invented"]) == ("block", "c1", ["to"])
    assert INVENTED not in str(doubt)


def test_a_system_message_in_the_conversation_is_no_obstacle() -> None:
    graph = agent_of(Office(), AIMessage("done"))
    assert graph.invoke({"messages": [SystemMessage("s"), HumanMessage("go")]})["messages"][-1].content == "done"
