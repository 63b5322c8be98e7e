"""What the tests of the LangChain and LangGraph integrations share: a model that reads from a script."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import PrivateAttr

from ..engines import POSTERIORS, BrokenEngine, ScriptedEngine

__all__ = ["POSTERIORS", "BrokenEngine", "ScriptedEngine"]  # handed on

THREAD: Any = {"configurable": {"thread_id": "thread-1"}}
Run = Callable[..., Awaitable[Any]]


class ScriptedModel(BaseChatModel):
    """Says the next line of its script, and keeps what it was shown."""

    script: list[AIMessage]
    _seen: list[list[BaseMessage]] = PrivateAttr(default_factory=list)

    @property
    def seen(self) -> list[list[BaseMessage]]:
        """The messages of each call."""
        return self._seen

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self._seen.append(list(messages))
        line = self.script[len(self._seen) - 1]
        return ChatResult(generations=[ChatGeneration(message=line.model_copy())])


def calls(*wanted: tuple[str, dict[str, Any]]) -> AIMessage:
    """A model's turn that calls tools; the ids are c1, c2, ..."""
    return AIMessage(
        "",
        tool_calls=[
            {"name": name, "args": args, "id": f"c{place}", "type": "tool_call"}
            for place, (name, args) in enumerate(wanted, 1)
        ],
    )


def agent(tools: Iterable[Any], *turns: AIMessage, middleware: Iterable[Any], **options: Any) -> Any:
    """``create_agent`` with a scripted model, which says "done" at the end."""
    model = ScriptedModel(script=[*turns, AIMessage("done")])
    made: Any = create_agent(model, list(tools), middleware=list(middleware), **options)
    made.model = model
    return made


def graph_of(*nodes: Any, saver: bool = False) -> Any:
    """A graph of nodes, one after the other."""
    graph = StateGraph(MessagesState)
    before = START
    for place, node in enumerate(nodes):
        graph.add_node(f"n{place}", node)
        graph.add_edge(before, f"n{place}")
        before = f"n{place}"
    return graph.compile(checkpointer=InMemorySaver() if saver else None)


ASK: dict[str, Any] = {"messages": [HumanMessage("go")]}


def answers(out: Any) -> list[ToolMessage]:
    """The tool messages of a run."""
    return [message for message in out["messages"] if isinstance(message, ToolMessage)]
