"""Read an answer of an MCP server, and show it without what is to be redacted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from agentguard.content._bytes import text_in_base64, with_text_in_base64
from agentguard.content._results import unambiguous
from agentguard.guard import Judgement
from agentguard.guard._guard import apart
from agentguard.integrations._extras import needs

try:
    from mcp.types import AudioContent, EmbeddedResource, ImageContent, TextContent
except ImportError as error:
    raise needs("mcp", error) from error


async def read(
    blocks: Sequence[Any], structured: Any, result: Any = None, *, wholly: bool
) -> tuple[Any, list[Any] | None]:
    """Read an answer, a large one in a thread: the tool's result, and ``beside``, None where not ``wholly``."""
    about = structured, result, [getattr(block, "resource", block) for block in blocks]
    return await apart(_read, blocks, structured, result, wholly, about=about)


def _read(blocks: Sequence[Any], structured: Any, result: Any, wholly: bool) -> tuple[Any, list[Any] | None]:
    value = result_of(blocks, structured)
    return value, beside(blocks, structured, value, result) if wholly else None


def result_of(blocks: Sequence[Any], structured: Any) -> Any:
    """The tool's result: its structured form where the server gives one."""
    plain = [_plain_block(block) for block in blocks]
    content = plain[0] if len(plain) == 1 else plain
    if structured is None:
        return content
    if set(structured) == {"result"} and not _is_json_of(content, structured):
        return structured["result"]  # servers wrap what is no object, and then say it unwrapped in the text
    return structured


def beside(blocks: Sequence[Any], structured: Any, value: Any, result: Any = None) -> list[Any] | None:
    """What else of an answer a client may show its model; None where the result says all.

    Args:
        blocks: the answer's content.
        structured: its structured form. The blocks are beside that, but for a text that is merely its JSON.
        value: the tool's result in it.
        result: its ``toolResult``, as servers of the protocol's first edition answer.
    """
    said: list[Any] = [] if structured is None else [_plain_block(block) for block in blocks]
    parts = [] if said == value else [part for part in said if part != value and not _is_json_of(part, value)]
    blobs = [getattr(getattr(block, "resource", None), "blob", None) for block in blocks]
    parts += [text for blob in blobs if isinstance(blob, str) and (text := text_in_base64(blob)) is not None]
    if result is not None:
        parts.append(result)
    return parts or None


def without_redacted(block: Any, judgement: Judgement) -> Any:
    """A block with placeholders in whatever it says; one that is none any more with them, as text."""
    if isinstance(block, TextContent):
        return block.model_copy(update={"text": judgement.shown(block.text)})
    if isinstance(block, (AudioContent, ImageContent)):
        return block
    fields = block.model_dump(mode="json", by_alias=True, exclude_none=True)
    bytes_ = fields["resource"].pop("blob", None) if isinstance(block, EmbeddedResource) else None
    shown = judgement.shown(fields)
    shown_bytes = None if bytes_ is None else with_text_in_base64(bytes_, judgement.shown)
    if shown == fields and shown_bytes == bytes_:
        return block
    if bytes_ is not None and isinstance(shown, dict):
        shown["resource"]["blob"] = shown_bytes
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
    """A text says a value, and nothing else."""
    try:
        return bool(unambiguous(text) == value)
    except (ValueError, TypeError, RecursionError):
        return False
