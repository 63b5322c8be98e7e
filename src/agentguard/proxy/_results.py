"""A tool's result as MCP sends it: what is judged of it, and the same with what was found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import orjson

from agentguard.guard import Judgement

#: Under this key of ``_meta`` a result has its verdict.
KEY: Final = "agentguard"
#: What the protocol itself keeps in ``_meta``; it stays in a blocked result too.
_OWN: Final = "io.modelcontextprotocol/"
_BYTES: Final = ("data", "blob")
_LEFT_OUT: Final = ("_meta", "annotations", "id", "icons")


class ToolResult(NamedTuple):
    """What is judged of a result.

    Attributes:
        value: its structured form where it has one, else its contents.
        beside: its contents, where they say something else than its structured form; None else.
        is_error: the tool says that it failed.
    """

    value: Any
    beside: Any
    is_error: bool


def is_tool_result(result: Any) -> bool:
    """Tell a tool's result from what else may answer ``tools/call``: a task that was begun, a question to the user.

    >>> is_tool_result({"content": []}), is_tool_result({"task": {"taskId": "7"}})
    (True, False)
    >>> is_tool_result({"resultType": "input_required", "inputRequests": {}})
    False
    """
    if not isinstance(result, Mapping) or result.get("resultType", "complete") != "complete":
        return False
    return "content" in result or "structuredContent" in result or "isError" in result


def read_result(result: Mapping[str, Any]) -> ToolResult:
    """Read a tool's result: ``structuredContent`` where it is there, else what the contents say, as one value.

    Of an image or a sound its type and its size stand for it. Ids and ``_meta``, which say nothing, are left out.

    >>> read_result({"content": [{"type": "text", "text": "18 degrees"}]})
    ToolResult(value='18 degrees', beside=None, is_error=False)
    >>> read_result({"content": [{"type": "text", "text": '{"n": 1}'}], "structuredContent": {"n": 1}})
    ToolResult(value={'n': 1}, beside=None, is_error=False)
    """
    blocks = result.get("content")
    items = [_plain(block) for block in blocks] if isinstance(blocks, list) else []
    contents: Any = items[0] if len(items) == 1 else [_as_json(item) for item in items]
    is_error = result.get("isError") is True
    structured = result.get("structuredContent")
    if structured is None:
        return ToolResult(contents, None, is_error)
    same = not items or (len(items) == 1 and _as_json(contents) == structured)
    return ToolResult(structured, None if same else contents, is_error)


def _plain(block: Any) -> Any:
    """What a block says."""
    if not isinstance(block, Mapping):
        return block
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        return block["text"]
    said = {name: value for name, value in block.items() if name not in _LEFT_OUT}
    inner = said.get("resource")
    if isinstance(inner, Mapping):
        said["resource"] = _sized({name: value for name, value in inner.items() if name not in _LEFT_OUT})
    return _sized(said)


def _sized(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields with the size in the place of bytes, in bytes."""
    for name in _BYTES:
        if isinstance(fields.get(name), str):
            fields[name] = {"bytes": len(fields[name]) * 3 // 4}  # of base64
    return fields


def _as_json(text: Any) -> Any:
    if not isinstance(text, str) or text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def marked(result: dict[str, Any], judgement: Judgement) -> dict[str, Any]:
    """The result with its verdict; a blocked one with a notice in place of all that it said."""
    meta = result.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    verdict = judgement.as_dict()
    if judgement.action == "replace":
        # An error result need not have the structured form that the tool's schema asks for.
        kept = {"resultType": result["resultType"]} if "resultType" in result else {}
        own = own_meta(meta)
        return {**kept, "content": [_text(judgement.notice)], "isError": True, "_meta": {**own, KEY: verdict}}
    changed = {**result, "_meta": {**meta, KEY: verdict}}
    content = result.get("content")
    content = content if isinstance(content, list) else []
    if judgement.redact or judgement.redact_artifact:
        # What the contents repeat of the structured form is looked through for what either was found to hold.
        kinds = tuple(dict.fromkeys((*judgement.redact, *judgement.redact_artifact)))
        both = judgement._replace(redact=kinds)
        content = [_without_redacted(block, both) for block in content]
        changed["content"] = content
        if "structuredContent" in result:
            structured = both.shown(result["structuredContent"])
            if type(structured) is type(result["structuredContent"]):
                changed["structuredContent"] = structured
            else:  # a sentence that it is withheld, which is no object of the tool's schema
                del changed["structuredContent"]
                changed |= {"content": [_text(str(structured))], "isError": True}
                content = changed["content"]
    if judgement.line:
        line = _text(judgement.line)
        changed["content"] = content if content[-1:] == [line] else [*content, line]
    return changed


def own_meta(meta: Any) -> dict[str, Any]:
    """What the protocol itself keeps in a ``_meta``, its version for instance."""
    return {name: value for name, value in meta.items() if name.startswith(_OWN)} if isinstance(meta, dict) else {}


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _without_redacted(block: Any, judgement: Judgement) -> Any:
    """A block with placeholders in whatever it says; one that is none any more with them, as text."""
    if not isinstance(block, dict):
        return judgement.shown(block)
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        return {**block, "text": judgement.shown(block["text"])}
    if block.get("type") in ("image", "audio"):
        return block
    inner = block.get("resource")
    blob = inner.get("blob") if isinstance(inner, dict) else None
    said = block
    if isinstance(inner, dict):
        said = {**block, "resource": {name: value for name, value in inner.items() if name != "blob"}}
    shown = judgement.shown(said)
    if shown == said:
        return block
    if not isinstance(shown, dict) or shown.get("type") != block.get("type"):
        return _text(shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False))
    if blob is not None:
        shown["resource"]["blob"] = blob
    return shown
