"""Answers with a text in one place, for the promises of integrations; they need no framework."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel

PIXEL = {"type": "image", "data": "AAAA", "mimeType": "image/png"}


def lookup_of(tools: Sequence[Callable[[], Any]], kind: str) -> Any:
    """A function that answers its calls as these do, which a framework makes a tool of; ``async``: a coroutine one."""

    def lookup(number: int) -> Any:
        """Look up."""
        return tools[number]()

    async def alookup(number: int) -> Any:
        """Look up."""
        return tools[number]()

    alookup.__name__ = "lookup"
    return alookup if kind == "async" else lookup


def in_a_loop(run: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run what would make an event loop for itself and leave it open, in a thread without one."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        return run(*args, **kwargs)
    finally:
        asyncio.set_event_loop(None)
        loop.close()


class Note(BaseModel):
    """A tool's answer that is an object."""

    note: str


def answer(*blocks: Any, **fields: Any) -> dict[str, Any]:
    """An answer of an MCP server."""
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    return {"content": content, **fields}


#: The forms of what MCP servers answer.
MCP: dict[str, Any] = {
    "text": answer, "json": lambda text: answer(json.dumps({"id": 7, "notes": [text]})),
    "second block": lambda text: answer("found", text), "text beside an image": lambda text: answer(PIXEL, text),
    "resource": lambda text: answer({"type": "resource", "resource": {"uri": "shop://7", "text": text}}),
    "structured": lambda text: answer(json.dumps({"note": text}), structuredContent={"note": text}),
    "beside structured": lambda text: answer(text, structuredContent={"id": 7}),
    "error": lambda text: answer(text, isError=True),
}  # fmt: skip
