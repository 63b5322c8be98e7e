"""A tool's result as MCP sends it: what is judged of it, and the same with what was found."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import orjson

from agentguard.guard import Judgement
from agentguard.guard._wording import appended

#: Under this key of ``_meta`` a result has its verdict.
KEY: Final = "agentguard"
#: What the protocol itself keeps in ``_meta``; it stays in a blocked result too.
_OWN: Final = "io.modelcontextprotocol/"
_BYTES: Final = ("data", "blob")
_LEFT_OUT: Final = ("_meta", "annotations", "id", "icons")
_KNOWN: Final = ("content", "structuredContent", "isError", "resultType", "_meta")
INTERNAL_ERROR: Final = -32603


class ToolResult(NamedTuple):
    """What is judged of a result.

    Attributes:
        value: its structured form where it has one, else its contents.
        beside: what else a client may show: its contents, where they say something else than its structured form, text
            that is sent as bytes, fields that the protocol does not have; None where there is none.
        is_error: the tool says that it failed.
    """

    value: Any
    beside: Any
    is_error: bool


def is_tool_result(result: Any) -> bool:
    """Tell a tool's result from what else may answer ``tools/call``: a task that was begun, a question to the user.

    What has content is one whatever else it has: clients show the content.

    >>> is_tool_result({"content": []}), is_tool_result({"task": {"taskId": "7"}})
    (True, False)
    >>> is_tool_result({"resultType": "input_required", "inputRequests": {}})
    False
    """
    return isinstance(result, Mapping) and any(name in result for name in ("content", "structuredContent", "isError"))


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
    beside: list[Any] = (
        [text for block in blocks for text in _texts_in_bytes(block)] if isinstance(blocks, list) else []
    )
    if blocks is not None and not isinstance(blocks, list):
        beside.append(said(blocks))
    others = {name: said(value) for name, value in result.items() if name not in _KNOWN}
    beside += [others] if others else []
    same = structured is None or not items or (len(items) == 1 and _as_json(contents) == structured)
    beside = beside if same else [contents, *beside]
    rest: Any = beside[0] if len(beside) == 1 else beside or None
    return ToolResult(contents if structured is None else structured, rest, is_error)


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


def said(value: Any) -> Any:
    """A value of any kind as it is looked through: text that is sent as bytes is read, other bytes are their size.

    >>> said({"contents": [{"uri": "a", "blob": "aGVsbG8="}, {"uri": "b", "blob": "/9j/"}]})
    {'contents': [{'uri': 'a', 'blob': 'hello'}, {'uri': 'b', 'blob': {'bytes': 3}}]}
    """
    try:
        return _said(value)
    except RecursionError:  # nested more deeply than anybody reads: looked through as it stands
        return value


def _said(value: Any) -> Any:
    if isinstance(value, list):
        return [_said(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: _read(item) if _is_bytes(value, name) else _said(item) for name, item in value.items()}


def _is_bytes(owner: dict[str, Any], name: str) -> bool:
    """A field holds bytes, in base64."""
    if not isinstance(owner[name], str):
        return False
    return name == "blob" or (name == "data" and owner.get("type") in ("image", "audio"))


def _read(text: str) -> Any:
    """The text that base64 stands for; the size of other bytes."""
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return {"bytes": len(text) * 3 // 4}


def _texts_in_bytes(block: Any) -> list[str]:
    inner = block.get("resource") if isinstance(block, dict) else None
    blob = _read(inner["blob"]) if isinstance(inner, dict) and isinstance(inner.get("blob"), str) else None
    return [blob] if isinstance(blob, str) and blob else []


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
        changed |= {name: _shown(value, both) for name, value in result.items() if name not in _KNOWN}
        if "content" in result:
            changed["content"] = content if isinstance(result["content"], list) else _shown(result["content"], both)
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
        return _shown(block, judgement)
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        return {**block, "text": judgement.shown(block["text"])}
    if block.get("type") in ("image", "audio"):
        return block
    shown = _shown(block, judgement)
    if not isinstance(shown, dict) or shown.get("type") != block.get("type"):
        return _text(shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False))
    return shown


def _shown(value: Any, judgement: Judgement) -> Any:
    """A value of any kind with placeholders in what it says, and the bytes in it as they were."""
    before = said(value)
    after = judgement.shown(before)
    return value if after == before else _restored(after, before, value)


def _restored(after: Any, before: Any, value: Any) -> Any:
    """What is shown, with bytes in the places where the value has them."""
    if isinstance(value, list) and isinstance(after, list) and len(after) == len(value):
        return [_restored(*parts) for parts in zip(after, before, value, strict=True)]
    if not (isinstance(value, dict) and isinstance(after, dict) and len(after) == len(value)):
        return after
    made = {}
    for (name, shown), (own, item) in zip(after.items(), value.items(), strict=True):
        if not _is_bytes(value, own):
            made[name] = _restored(shown, before[own], item)
        elif shown == before[own] or not isinstance(shown, str):
            made[name] = item
        else:
            made[name] = base64.b64encode(shown.encode("utf-8", "surrogatepass")).decode("ascii")
    return made


# --- Answers that are no tool's result ---


def mark(answer: dict[str, Any], part: str, method: str, judgement: Judgement) -> None:
    """Put what was found into an answer.

    Args:
        answer: the message, which is changed.
        part: ``result`` or ``error``, whichever was judged.
        method: what was asked for.
        judgement: on that part.
    """
    value = answer[part]
    if part == "result" and method == "tools/call" and (is_tool_result(value) or judgement.action == "replace"):
        answer[part] = marked(value if isinstance(value, dict) else {}, judgement)
        return
    notice = judgement.notice
    if judgement.action != "replace":
        shown = _shown(value, judgement) if judgement.redact else value
        if isinstance(shown, type(value)):
            answer[part] = _lined(shown, part, method, judgement)
            return
        notice = str(shown)  # a sentence that it is withheld
    code = value.get("code") if part == "error" and isinstance(value, dict) else None
    del answer[part]
    answer["error"] = error_of(notice, code if type(code) is int else INTERNAL_ERROR, {KEY: judgement.as_dict()})


def error_of(message: str, code: int = INTERNAL_ERROR, data: Any = None) -> dict[str, Any]:
    """An error of the protocol."""
    return {"code": code, "message": message, **({} if data is None else {"data": data})}


def _lined(value: Any, part: str, method: str, judgement: Judgement) -> Any:
    """A part of an answer with its verdict, and with the line for the model where its form has a place for one."""
    if not isinstance(value, dict):
        return value
    line = judgement.line
    if part == "error":
        message = value.get("message")
        return {**value, "message": appended(message if isinstance(message, str) else "", line)} if line else value
    meta = value.get("_meta")
    made = {**value, "_meta": {**(meta if isinstance(meta, dict) else {}), KEY: judgement.as_dict()}}
    if line and method == "resources/read" and isinstance(value.get("contents"), list):
        uri = next((each["uri"] for each in value["contents"] if isinstance(each, dict) and "uri" in each), "")
        made["contents"] = [*value["contents"], {"uri": uri, "mimeType": "text/plain", "text": line}]
    if line and method == "prompts/get" and isinstance(value.get("messages"), list):
        made["messages"] = [*value["messages"], {"role": "user", "content": _text(line)}]
    return made
