"""What the integrations that rest on LangChain share for the promises of integrations: forms of answers, a tool."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Any, ClassVar

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import StructuredTool, ToolException
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt

from agentguard.testing import IntegrationConformance

from ..answers import Note, lookup_of
from .scripted import ASK, THREAD, calls, graph_of

PIXEL = {"type": "image", "base64": "AAAA", "mime_type": "image/png"}


def answered(text: str, **fields: Any) -> ToolMessage:
    return ToolMessage(text, tool_call_id="c1", name="lookup", **fields)


def commanded(*messages: AnyMessage) -> Command[Any]:
    return Command(update={"messages": list(messages)})


class LangChainConformance(IntegrationConformance):
    """Answers of LangChain's tools; the tool's calls are c1, c2, ..."""

    controls: ClassVar[Any] = {**IntegrationConformance.controls, "interrupt": lambda: interrupt("Which one?")}

    def forms(self) -> Any:
        return {
            **super().forms(), "model": lambda text: Note(note=text),
            "block": lambda text: [{"type": "text", "text": text}],
            "block beside an image": lambda text: [PIXEL, {"type": "text", "text": text}],
            "message": answered, "error message": lambda text: answered(text, status="error"),
            "tool exception": ToolException, "command": lambda text: commanded(answered(text)),
            "second message": lambda text: commanded(answered("found"), HumanMessage(text)),
            "command beside a message": lambda text: [answered("found"), commanded(HumanMessage(text))],
        }  # fmt: skip

    def lookup(self, tools: Sequence[Any]) -> StructuredTool:
        functions = [lookup_of(tools, kind) for kind in ("sync", "async")]
        return StructuredTool.from_function(*functions, handle_tool_error=True)

    def asks(self, tools: Sequence[Any]) -> AIMessage:
        return calls(*[("lookup", {"number": number}) for number in range(len(tools))])

    async def left_by(self, graph: Any, kind: str, given: Any = ASK) -> Any:
        """Run a graph, and give its messages and all that it emits, without ids that are new each time."""
        modes: Any = {"stream_mode": ["values", "custom"]}
        if kind == "sync":
            chunks = await asyncio.to_thread(lambda: list(graph.stream(given, THREAD, **modes)))
        else:
            chunks = [chunk async for chunk in graph.astream(given, THREAD, **modes)]
        messages = [chunk for mode, chunk in chunks if mode == "values"][-1]["messages"]
        left = [re.sub("lc_[0-9a-f-]+", "", message.model_dump_json(exclude={"id"})) for message in messages]
        return left, [chunk for mode, chunk in chunks if mode == "custom"]

    async def shown(self, graph: Any, kind: str, given: Any = ASK, **config: Any) -> list[str]:
        """Run a graph, and give the messages behind the model's turn, and what a person is asked."""
        config = {**THREAD, **config}
        out = await (asyncio.to_thread(graph.invoke, given, config) if kind == "sync" else graph.ainvoke(given, config))
        turn = next(n for n, message in enumerate(out["messages"]) if isinstance(message, AIMessage))
        texts = [str(each.content) for each in out["messages"][turn + 1 :] if not isinstance(each, AIMessage)]
        return texts + [str(each.value) for each in out.get("__interrupt__", ())]


class NodeConformance(LangChainConformance):
    """A graph of one tool node, which handles what tools raise."""

    def forms(self) -> Any:
        return {**super().forms(), "exception": RuntimeError}

    async def shown_by(self, node: ToolNode, tools: Sequence[Any], kind: str, **config: Any) -> list[str]:
        made = graph_of(node, saver=True)
        return await self.shown(made, kind, {"messages": [self.asks(tools)]}, **config)
