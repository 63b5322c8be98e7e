"""Read an answer of an MCP server, and show it without what is to be redacted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import orjson
from pydantic import ValidationError

from agentguard.guard import Judgement
from agentguard.integrations._extras import needs

try:
    from mcp.types import AudioContent, EmbeddedResource, ImageContent, TextContent
except ImportError as error:
    raise needs("mcp", error) from error


def result_of(blocks: Sequence[Any], structured: Any) -> Any:
    """The tool's result: its structured form where the server gives one."""
    plain = [_plain_block(block) for block in blocks]
    content = plain[0] if len(plain) == 1 else plain
    if structured is None:
        return content
    if set(structured) == {"result"} and not _is_json_of(content, structured):
        return structured["result"]  # servers wrap what is no object, and then say it unwrapped in the text
    return structured


def without_redacted(block: Any, judgement: Judgement) -> Any:
    """A block with placeholders in whatever it says; one that is none any more with them, as text."""
    if isinstance(block, TextContent):
        return block.model_copy(update={"text": judgement.shown(block.text)})
    if isinstance(block, (AudioContent, ImageContent)):
        return block
    fields = block.model_dump(mode="json", by_alias=True, exclude_none=True)
    bytes_ = fields["resource"].pop("blob", None) if isinstance(block, EmbeddedResource) else None
    shown = judgement.shown(fields)
    if shown == fields:
        return block
    if bytes_ is not None and isinstance(shown, dict):
        shown["resource"]["blob"] = bytes_
    try:
        return type(block).model_validate(shown)
    except ValidationError:
        return TextContent(type="text", text=shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False))


def without_random_ids(value: Any) -> Any:
    """Content blocks without the ids that LangChain makes up (``lc_...``): another one at every call."""
    if isinstance(value, list):
        return [without_random_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: without_random_ids(item)
        for key, item in value.items()
        if not (key == "id" and isinstance(item, str) and item.startswith("lc_"))
    }


def _plain_block(block: Any) -> Any:
    if isinstance(block, TextContent):
        return block.text
    return without_random_ids(block.model_dump(mode="json", exclude_none=True, exclude={"meta"}))


def _is_json_of(text: Any, value: Any) -> bool:
    try:
        return bool(orjson.loads(text) == value)
    except (ValueError, TypeError):
        return False
