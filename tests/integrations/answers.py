"""Answers with a text in one place, for the promises of integrations; they need no framework."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

PIXEL = {"type": "image", "data": "AAAA", "mimeType": "image/png"}


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
