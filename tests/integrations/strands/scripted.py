"""Runs of real Strands agents on a model that reads from a script; nothing leaves the machine."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from strands import Agent
from strands.models import Model


class ScriptedModel(Model):
    """Makes these calls in its first turn (name, arguments), and then says "done"."""

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        self.calls = calls

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        first = len(messages) == 1
        yield {"messageStart": {"role": "assistant"}}
        for n, (name, args_) in enumerate(self.calls if first else ()):
            yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": f"call-{n}"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(args_)}}}}
            yield {"contentBlockStop": {}}
        if not first:
            yield {"contentBlockDelta": {"delta": {"text": "done"}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if first else "end_turn"}}

    def get_config(self) -> Any:
        return {}

    def update_config(self, **config: Any) -> None:
        pass

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


def agent_of(tools: list[Any], *hooks: Any, calls: Any = (("lookup", {"key": 3}),), **options: Any) -> Agent:
    """An agent that calls once, and is done."""
    return Agent(model=ScriptedModel(*calls), tools=tools, hooks=list(hooks), callback_handler=None, **options)


def results_in(agent: Agent) -> list[Any]:
    """The tool results that the model was shown."""
    return [part["toolResult"] for message in agent.messages for part in message["content"] if "toolResult" in part]
