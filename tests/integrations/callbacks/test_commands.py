"""Messages in commands are found, and changed, in every form in which LangGraph takes an update of the state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send
from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict

from agentguard.errors import ResultBlocked
from agentguard.integrations._messages import beside, rewritten, tool_message, tool_messages
from agentguard.integrations.callbacks import GuardCallbackHandler

from ..engines import INJECTION, SECRET, engine_of

OWN = ToolMessage("18 degrees", tool_call_id="c1", name="fetch")


class Base(BaseModel):
    messages: list[Any] = []


class Model(Base):
    model_config = ConfigDict(frozen=True)
    city: str = "Oslo"


@dataclass
class Record:
    messages: list[Any]
    city: str = "Oslo"


@dataclass(frozen=True, slots=True)
class Frozen:
    messages: list[Any]
    city: str = "Oslo"


class Plain:
    messages: list[Any]
    city: str

    def __init__(self, messages: list[Any]) -> None:
        self.messages, self.city = messages, "Oslo"


class Fields(dict[str, Any]):
    """A dict with a class of its own."""


UPDATES = {
    "dict": lambda messages: {"messages": messages, "city": "Oslo"},
    "dict of its own": lambda messages: Fields(messages=messages, city="Oslo"),
    "pairs": lambda messages: [("messages", messages), ("city", "Oslo")],
    "model": lambda messages: Model(messages=messages),
    "dataclass": Record,
    "frozen dataclass": Frozen,
    "object": Plain,
    "list of messages": lambda messages: messages,
}  # fmt: skip


class Messages(TypedDict):
    messages: Annotated[list[BaseMessage], add_messages]
    city: str


def arrived(command: Any) -> Any:
    """The messages that LangGraph takes out of a command."""
    graph = StateGraph(Messages).add_node("n", lambda state: command).add_edge(START, "n").compile()
    return [(each.type, each.content) for each in graph.invoke({"messages": [], "city": ""})["messages"]]


def louder(message: Any) -> Any:
    return message.model_copy(update={"content": message.content.upper()})


@pytest.mark.parametrize("form", [form for form in UPDATES if form != "list of messages"])
def test_langgraph_gets_the_changed_messages_of_an_update_in_any_form(form: str) -> None:
    command: Any = Command(update=UPDATES[form]([OWN, HumanMessage("more"), "text"]))
    kept = arrived(command)
    made = rewritten(command, louder, louder)

    assert kept == [("tool", "18 degrees"), ("human", "more"), ("human", "text")]
    assert arrived(made) == [("tool", "18 DEGREES"), ("human", "MORE"), ("human", "TEXT")]
    assert arrived(command) == kept


@pytest.mark.parametrize("form", UPDATES)
def test_messages_are_found_without_langgraphs_own_reading(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command: Any = Command(update=UPDATES[form]([OWN, HumanMessage("more"), "text"]))
    found = [message.content for message in beside(command, tool_message(command, "c1"))]
    if form != "frozen dataclass":
        monkeypatch.delattr(Command, "_update_as_tuples")

    assert tool_messages(command) == [OWN]
    assert found == ["more", "text"] == [message.content for message in beside(command, tool_message(command, "c1"))]


@pytest.mark.parametrize(
    ("result", "texts"),
    [
        (Command(update={"history": [OWN, "a", "b"], "city": "Oslo"}), ["a", "b"]),
        (Command(update={"history": [OWN], "messages": "a", "city": "Oslo"}), ["a"]),
        (Command(update={"messages": ["a"], "city": "Oslo"}), ["a"]),
        (Command(update=[("history", [OWN, "a"]), ("city", "Oslo")]), ["a"]),
        ([Command(update={"history": [OWN]}), Command(update={"history": "a", "city": "Oslo"})], ["a"]),
        # Nothing tells under which key messages are kept, so each text may be one.
        (Command(graph=Command.PARENT, update={"history": "a", "city": "Oslo"}), ["a", "Oslo"]),
        ([OWN, Command(update=[("history", ["a"])])], ["a"]),
        (Command(update="a"), ["a"]),
        (Command(update=[OWN, "a"]), ["a"]),
        (OWN, []),
        ("Oslo", []),
        (["Oslo"], []),
    ],
)
def test_a_bare_text_is_a_message_under_the_keys_of_messages(result: Any, texts: list[str]) -> None:
    assert [message.content for message in beside(result, tool_message(result, "c1"))] == texts


def test_a_bare_text_stays_one() -> None:
    command: Any = Command(graph=Command.PARENT, update={"history": "a", "size": 7})

    assert rewritten(command, louder, louder).update == {"history": "A", "size": 7}


@pytest.mark.parametrize("form", UPDATES)
async def test_the_callback_judges_them(form: str) -> None:
    async def ended(text: str) -> None:
        @tool
        def fetch(url: str) -> Any:
            """Fetch."""
            return Command(update=UPDATES[form]([OWN, AIMessage(text)]))

        call: Any = {"name": "fetch", "args": {"url": "u"}, "id": "c1", "type": "tool_call"}
        handler = GuardCallbackHandler(engine_of("fetch"), raise_on_block=True)
        await fetch.ainvoke(call, {"callbacks": [handler]})

    await ended(SECRET)  # which a callback cannot take out
    with pytest.raises(ResultBlocked):
        await ended(INJECTION)


@pytest.mark.parametrize("several", [False, True])
def test_messages_that_a_command_sends_to_a_node_are_found_and_changed(several: bool) -> None:
    send = Send("researcher", {"messages": [HumanMessage("go on")], "city": "Oslo"})
    command = Command(update={"messages": [OWN]}, goto=[send, "writer"] if several else send)
    found = beside(command, OWN)
    made = rewritten(command, lambda each: each, lambda each: each.model_copy(update={"content": "stop"}))
    sent = made.goto[0] if several else made.goto

    assert [each.content for each in found] == ["go on"]
    assert (sent.node, sent.arg["messages"][0].content, sent.arg["city"]) == ("researcher", "stop", "Oslo")
    assert send.arg["messages"][0].content == "go on"
    assert made.update == {"messages": [OWN]}
