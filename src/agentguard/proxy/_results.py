"""A tool's result as MCP sends it: the parts that are judged, and the same with what was found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import orjson

from agentguard.content._bytes import text_in_base64, with_text_in_base64
from agentguard.guard import Judgement
from agentguard.guard._wording import appended

#: Under this key of ``_meta`` a result has its verdict.
KEY: Final = "agentguard"
#: What the protocol itself keeps in ``_meta``; it stays in a blocked result too.
_OWN: Final = "io.modelcontextprotocol/"
#: Fields that differ from call to call, or say how to show a block: nothing is learned of them.
_LEFT_OUT: Final = ("_meta", "annotations", "id", "icons")
_KNOWN: Final = ("content", "structuredContent", "isError", "resultType", "_meta")
INTERNAL_ERROR: Final = -32603


class ToolResult(NamedTuple):
    """A tool's result as the guard judges it.

    Attributes:
        value: its structured form where it has one, else its contents.
        is_error: the tool says that it failed.
    """

    value: Any
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

    Of an image or a sound its type and its size stand for it. Ids and annotations are left out.

    >>> read_result({"content": [{"type": "text", "text": "18 degrees"}]})
    ToolResult(value='18 degrees', is_error=False)
    >>> read_result({"content": [{"type": "text", "text": '{"n": 1}'}], "structuredContent": {"n": 1}})
    ToolResult(value={'n': 1}, is_error=False)
    """
    structured = result.get("structuredContent")
    value = _contents(_blocks(result)) if structured is None else structured
    return ToolResult(value, result.get("isError") is True)


def beside_value(result: Mapping[str, Any]) -> Any:
    """Gather what a client may show the model of a tool's result beside the value that ``read_result`` reads.

    That is: contents that say something else than the structured form, text that is sent as bytes, and fields of the
    result and of its contents that are not in the value. ``_meta`` is for the application, which shows it to no model.

    Returns:
        None where there is nothing.

    >>> beside_value({"content": [{"type": "text", "text": "Two left."}], "structuredContent": {"n": 2}})
    'Two left.'
    >>> beside_value({"content": [{"type": "text", "text": "Two left.", "note": "or so"}]})
    {'note': 'or so'}
    """
    blocks = _blocks(result)
    beside = [rest for block in blocks if (rest := _rest(block))]
    structured = result.get("structuredContent")
    if structured is not None and blocks:
        contents = _contents(blocks)
        if len(blocks) > 1 or _as_json(contents) != structured:
            beside.insert(0, contents)
    others = {name: said(value) for name, value in result.items() if name not in _KNOWN}
    if not isinstance(result.get("content", []), list):
        others["content"] = said(result["content"])
    beside += [others] if others else []
    return beside[0] if len(beside) == 1 else beside or None


def _blocks(result: Mapping[str, Any]) -> list[Any]:
    blocks = result.get("content")
    return blocks if isinstance(blocks, list) else []


def _contents(blocks: list[Any]) -> Any:
    items = [_plain(block) for block in blocks]
    return items[0] if len(items) == 1 else [_as_json(item) for item in items]


def _plain(block: Any) -> Any:
    """Return what a block says."""
    if not isinstance(block, dict):
        return block
    if _is_text(block):
        return block["text"]
    plain = _sized(block)
    if isinstance(plain.get("resource"), dict):
        plain["resource"] = _sized(plain["resource"])
    return plain


def _is_text(block: dict[str, Any]) -> bool:
    return block.get("type") == "text" and isinstance(block.get("text"), str)


def _sized(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of which something is learned, with the size in the place of bytes."""
    return {
        name: _size(value) if _is_bytes(fields, name) else value
        for name, value in fields.items()
        if name not in _LEFT_OUT
    }


def _size(encoded: str) -> dict[str, int]:
    return {"bytes": len(encoded) * 3 // 4}


def _rest(block: Any) -> dict[str, Any]:
    """Return the fields of a block of which the value does not say all."""
    if not isinstance(block, dict):
        return {}
    value = {"type": "text", "text": block["text"]} if _is_text(block) else _plain(block)
    return {name: each for name, each in said(block).items() if name != "_meta" and value.get(name) != each}


def said(value: Any) -> Any:
    """Return a value of any kind with the texts in place of the base64 that they are sent as, and sizes of other bytes.

    >>> said({"contents": [{"uri": "a", "blob": "aGVsbG8="}, {"uri": "b", "blob": "/9j/4AAQ"}]})
    {'contents': [{'uri': 'a', 'blob': 'hello'}, {'uri': 'b', 'blob': {'bytes': 6}}]}
    """
    top = [value]
    pending: list[Any] = [top]  # copies whose items are to be read; by a list, for JSON may be 1,000 levels deep
    while pending:
        owner = pending.pop()
        for name, item in list(owner.items() if isinstance(owner, dict) else enumerate(owner)):
            if isinstance(owner, dict) and _is_bytes(owner, name):
                owner[name] = _read(item)
            elif isinstance(item, (dict, list)):
                owner[name] = item.copy()
                pending.append(owner[name])
    return top[0]


def _is_bytes(owner: dict[str, Any], name: str) -> bool:
    """A field holds bytes, in base64."""
    if name != "blob" and not (name == "data" and owner.get("type") in ("image", "audio")):
        return False
    return isinstance(owner[name], str)


def _read(encoded: str) -> Any:
    text = text_in_base64(encoded)
    return _size(encoded) if text is None else text


def _as_json(text: Any) -> Any:
    """Return what a text says to every reader of JSON; the text where a name stands twice in it."""
    if not isinstance(text, str) or text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    # Of two fields with one name the first is lost, and its quotation marks with it.
    quotes = text.count('"') + text.count("\\u0022")
    return text if quotes > orjson.dumps(value).count(b'"') else value


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
    if judgement.redact:
        content = [_without_redacted(block, judgement) for block in content]
        changed |= {name: _shown(value, judgement) for name, value in result.items() if name not in _KNOWN}
        if "content" in result:
            is_list = isinstance(result["content"], list)
            changed["content"] = content if is_list else _shown(result["content"], judgement)
        if "structuredContent" in result:
            structured = judgement.shown(result["structuredContent"])
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
    """Return a block with placeholders in whatever it says; one that is no block any more with them, as text."""
    if isinstance(block, dict) and _is_text(block):
        rest = _shown({name: value for name, value in block.items() if name not in ("type", "text")}, judgement)
        return {**_text(judgement.shown(block["text"])), **(rest if isinstance(rest, dict) else {})}
    shown = _shown(block, judgement)
    if isinstance(block, dict) and not (isinstance(shown, dict) and shown.get("type") == block.get("type")):
        return _text(shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False))
    return shown


def _shown(value: Any, judgement: Judgement) -> Any:
    """Return a value of any kind with placeholders in what it says, and the bytes in it as they were."""
    before = said(value)
    after = judgement.shown(before)
    return value if after == before else _restored(after, before, value)


def _restored(after: Any, before: Any, value: Any) -> Any:
    """Return what is shown, with bytes in the places where the value has them."""
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
            made[name] = _encoded(shown, item)
    return made


def _encoded(text: str, instead: str) -> str:
    """Return a text in the encoding of the base64 whose place it takes."""
    return with_text_in_base64(instead, lambda _: text)


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
        is_whole = isinstance(shown, type(value))
        if is_whole and (isinstance(value, dict) or not judgement.line):
            answer[part] = _lined(shown, part, method, judgement) if isinstance(value, dict) else shown
            return
        # Neither a sentence that it is withheld nor a line for the model has a place in it.
        notice = judgement.line if is_whole else str(shown)
    code = value.get("code") if part == "error" and isinstance(value, dict) else None
    del answer[part]
    answer["error"] = error_of(notice, code if type(code) is int else INTERNAL_ERROR, {KEY: judgement.as_dict()})


def error_of(message: str, code: int = INTERNAL_ERROR, data: Any = None) -> dict[str, Any]:
    """An error of the protocol."""
    return {"code": code, "message": message, **({} if data is None else {"data": data})}


def _lined(value: Any, part: str, method: str, judgement: Judgement) -> Any:
    """Return a part of an answer with its verdict, and with the line for the model where its form has a place for one.

    A task or a question to the user has none: there the verdict stands in ``_meta`` alone.
    """
    line = judgement.line
    if part == "error":
        said = value.get("message", "")
        message = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        return {**value, "message": appended(message, line)} if line else value
    meta = value.get("_meta")
    made = {**value, "_meta": {**(meta if isinstance(meta, dict) else {}), KEY: judgement.as_dict()}}
    if line and method == "resources/read" and isinstance(value.get("contents"), list):
        uri = next((each["uri"] for each in value["contents"] if isinstance(each, dict) and "uri" in each), "")
        made["contents"] = [*value["contents"], {"uri": uri, "mimeType": "text/plain", "text": line}]
    if line and method == "prompts/get" and isinstance(value.get("messages"), list):
        made["messages"] = [*value["messages"], {"role": "user", "content": _text(line)}]
    return made
