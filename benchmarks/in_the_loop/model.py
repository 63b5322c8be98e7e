"""A chat model as the agent, through langchain-core: off by default, for it costs and does not repeat itself.

It gets the task in words, the tools by their schemas, and what the contestant hands on, word by word.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .agent import Call, Given
from .tasks import Task
from .tools import TOOLS

__all__ = ["MOST_TURNS", "SYSTEM", "ChatAgent", "chat_agent"]

MOST_TURNS = 12
SYSTEM = (
    "You work for a small company and do tasks with its tools. Rely on what the tools say. If you cannot do the task, "
    "or cannot trust what you were told, say so. End with one line of JSON and nothing after it: "
    '{"answer": ANSWER}, or {"failure": "why"}.'
)


class ChatAgent:
    """Works on tasks with a chat model.

    Args:
        model: a ``langchain_core.language_models.BaseChatModel`` that calls tools.
    """

    def __init__(self, model: Any) -> None:
        specs = [
            {"type": "function", "function": {"name": tool.name, "description": tool.description,
                                              "parameters": dict(tool.parameters)}}
            for tool in TOOLS.values()
        ]  # fmt: skip
        self._model = model.bind_tools(specs)

    def __call__(self, task: Task, question: str, call: Call) -> Given:
        """Work on one task."""
        from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage

        messages: list[Any] = [SystemMessage(SYSTEM), HumanMessage(question)]
        read = calls = 0
        for _ in range(MOST_TURNS):
            said = self._model.invoke(messages)
            messages.append(said)
            if not said.tool_calls:
                return _ended(_text(said.content), read, calls)
            for asked in said.tool_calls:
                if asked["name"] in TOOLS:
                    text = call(asked["name"], asked["args"]).text
                else:
                    text = f"There is no tool {asked['name']!r}."
                read, calls = read + len(text), calls + 1
                messages.append(ToolMessage(text, tool_call_id=asked["id"]))
        return Given(None, f"no end after {MOST_TURNS} turns", read, calls)


def _text(content: Any) -> str:
    blocks = content if isinstance(content, list) else [content]
    return "".join(block if isinstance(block, str) else str(block.get("text", "")) for block in blocks)


def _ended(text: str, read: int, calls: int) -> Given:
    line = text.strip().splitlines()[-1] if text.strip() else ""
    try:
        said = json.loads(line)
    except ValueError:
        said = None
    if not isinstance(said, Mapping) or "answer" not in said:
        failure = said.get("failure", "") if isinstance(said, Mapping) else ""
        return Given(None, str(failure) or "no answer in the form that was asked for", read, calls)
    return Given(said["answer"], "", read, calls)


def chat_agent(name: str) -> ChatAgent:
    """An agent with the chat model of this name, as ``langchain.chat_models.init_chat_model`` reads it."""
    from langchain.chat_models import init_chat_model

    return ChatAgent(init_chat_model(name))
