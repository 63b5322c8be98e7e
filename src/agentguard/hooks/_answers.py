"""Answers to a hook, in the words of the agent that asks and in the shape of the tool that it asks about.

An agent takes a replacement only where it has the shape of the tool's own results, and shows the original otherwise.
``shapes.json`` says of each built-in tool where its text lies; the results of other tools are replaced by their kind.

This module imports the standard library alone, and nothing of agentguard: the client of the hooks loads it where the
helper cannot be reached and the policy is closed.
"""

from __future__ import annotations

import json
import os
from copy import deepcopy
from functools import cache
from typing import Any, Final, NamedTuple

#: The tools of MCP servers have names that begin with this, in Claude Code and in Codex.
MCP: Final = "mcp__"
#: The events that bring a result.
RESULTS: Final = ("PostToolUse", "PostToolUseFailure")
#: What the model is told where the guard failed and the policy is closed.
UNVERIFIED: Final = (
    "agentguard could not verify the result of this call, and withholds it. Do not guess the result; say that it is "
    "missing."
)

PROCEED, BLOCK = 0, 2  # exit codes: 2 hands standard error to the model as a fault of the call


class Reply(NamedTuple):
    """The answer to one event: the exit code, and the bytes for standard output (0) or standard error (2)."""

    code: int = PROCEED
    output: bytes = b""


NOTHING: Final = Reply()


def said(answer: dict[str, Any]) -> Reply:
    """The reply with a JSON object; ASCII alone, so that half a surrogate pair passes."""
    return Reply(PROCEED, json.dumps(answer).encode())


def told(message: str) -> Reply:
    """The reply with a message for the user, which no model reads."""
    return said({"systemMessage": message})


def sent_back(reason: str, message: str = "") -> Reply:
    """The reply that lets the agent go on instead of stopping, with the reason, and with a message for the user."""
    return said({"decision": "block", "reason": reason} | ({"systemMessage": message} if message else {}))


def noted(event: dict[str, Any], line: str) -> Reply:
    """The reply that leaves a result as it is and says something beside it."""
    return said({"hookSpecificOutput": {"hookEventName": event["hook_event_name"], "additionalContext": line}})


def shown(event: dict[str, Any], response: Any, line: str = "") -> Reply:
    """The reply that shows a result in another form, which has the tool's own shape; for Claude Code."""
    output = {"hookEventName": event["hook_event_name"], "updatedToolOutput": response}
    return said({"hookSpecificOutput": output | ({"additionalContext": line} if line else {})})


def withheld(agent: str, event: dict[str, Any], notice: str) -> Reply:
    """The reply that puts a notice in a result's place.

    Claude Code gets it twice: in place of the result, and as a reason, which reaches the model even where the
    replacement is refused. Codex puts the reason in the result's place itself, and refuses every other field. Of a
    failed call neither replaces anything: there the notice stands beside the error.
    """
    if event["hook_event_name"] != "PostToolUse":
        return noted(event, notice)
    answer: dict[str, Any] = {"decision": "block", "reason": notice}
    if agent == "claude":
        replacement = replaced(event["tool_name"], event.get("tool_input"), event.get("tool_response"), notice)
        if replacement is not None:
            output = {"hookEventName": event["hook_event_name"], "updatedToolOutput": replacement}
            answer["hookSpecificOutput"] = output
    return said(answer)


def unverified(agent: str, payload: bytes) -> Reply:
    """The reply to an event that could not be judged, where the policy is closed; never raises.

    An event that cannot be read is answered with exit code 2. ``Stop`` and events that nobody asks for are let pass: to
    block a stop would make the agent go on for ever.
    """
    try:
        event = json.loads(payload)
        if event["hook_event_name"] in RESULTS:
            return withheld(agent, event, UNVERIFIED)
        if isinstance(event["hook_event_name"], str):
            return NOTHING
    except (ValueError, TypeError, LookupError, RecursionError):
        pass
    return Reply(BLOCK, UNVERIFIED.encode())


# --- Replacements ---


@cache
def shapes() -> dict[str, list[dict[str, Any]]]:
    """The forms of each built-in tool's results, by the tool's name.

    The first form whose ``if`` holds is taken. ``notice`` is the path of what the notice replaces, ``as`` a ``text``
    (unsaid), a list of ``names``, or content ``blocks``. ``set`` has values for other places that a result has, and
    ``drop`` the fields that it need not have. ``whole`` is a result to be taken instead, with ``$notice`` and
    ``$input.NAME`` for the notice and an argument, for a result in no form that is known, a plain text for instance.
    Tools without a form give no text, or none that can be replaced.
    """
    with open(os.path.join(os.path.dirname(__file__), "shapes.json"), encoding="utf-8") as file:
        table: dict[str, list[dict[str, Any]]] = json.load(file)
    return table


def replaced(tool: str, arguments: Any, response: Any, notice: str) -> Any:
    """The result of a tool with a notice in the place of its text and nothing else of it; None where none is known.

    >>> replaced("Bash", {}, {"stdout": "a", "stderr": "b", "interrupted": False}, "Withheld.")
    {'stdout': 'Withheld.', 'stderr': '', 'interrupted': False}
    >>> replaced("mcp__crm__lookup", {}, [{"type": "text", "text": "a"}, {"type": "image", "data": "…"}], "Withheld.")
    [{'type': 'text', 'text': 'Withheld.'}]
    """
    form = _form_of(tool, response)
    if form is None:
        return _of_its_kind(response, notice) if tool not in shapes() else None
    if "whole" in form:
        return _filled(form["whole"], {"$notice": notice}, arguments if isinstance(arguments, dict) else {})
    result = deepcopy({name: value for name, value in response.items() if name not in form.get("drop", ())})
    for path, value in form.get("set", {}).items():
        holder, name = _holder(result, path)
        if holder.get(name) is not None:  # what a result need not have is not given to it
            holder[name] = deepcopy(value)
    holder, name = _holder(result, form["notice"])
    holder[name] = {"text": notice, "names": [notice], "blocks": _as_blocks(notice)}[form.get("as", "text")]
    return result


def judged(tool: str, response: Any) -> Any:
    """A result as it is judged: without pictures and files; a single text of an MCP server stands for itself.

    >>> judged("mcp__crm__lookup", [{"type": "text", "text": '{"id": 7}'}])
    '{"id": 7}'
    """
    if tool.startswith(MCP):
        blocks = _blocks_of(response)
        if blocks is not None and len(blocks) == 1 and isinstance(blocks[0].get("text"), str):
            return blocks[0]["text"]
    return _textual(response)


def restored(shown: Any, response: Any) -> Any:
    """Put back the pictures and files of a result into what is shown of it."""
    if isinstance(shown, dict) and isinstance(response, dict) and shown.keys() == response.keys():
        return {
            name: response[name] if _is_file(response, name) else restored(value, response[name])
            for name, value in shown.items()
        }
    if isinstance(shown, list) and isinstance(response, list) and len(shown) == len(response):
        return [restored(value, other) for value, other in zip(shown, response)]  # noqa: B905 -- of equal lengths
    return shown


def _textual(value: Any) -> Any:
    """A value without the pictures and files in it; the very value where there are none."""
    if isinstance(value, list):
        items = [_textual(item) for item in value]
        return value if all(map(_same, items, value)) else items
    if isinstance(value, dict):
        fields = {name: _textual(item) for name, item in value.items() if not _is_file(value, name)}
        return value if len(fields) == len(value) and all(map(_same, fields.values(), value.values())) else fields
    return value


def _same(one: Any, other: Any) -> bool:
    return one is other


def _is_file(holder: dict[str, Any], name: str) -> bool:
    """A field holds a picture, a sound or a file in base64: of ``Read``, of a content block, of a resource in one."""
    if name == "base64":
        return "originalSize" in holder or "mediaType" in holder
    if name == "blob":
        return "uri" in holder
    return name in ("data", "source") and holder.get("type") in ("image", "audio", "document")


def _form_of(tool: str, response: Any) -> dict[str, Any] | None:
    """The form that a result of a built-in tool has; None where it has none that is known."""
    for form in shapes().get(tool, ()):
        conditions = form.get("if", {}).items()
        if "whole" in form or (
            isinstance(response, dict)
            and all(response.get(name) == value for name, value in conditions)
            and _fits(response, form)
        ):
            return form
    return None


def _fits(response: dict[str, Any], form: dict[str, Any]) -> bool:
    """A result has the place that a form has for the notice, with something of its kind in it."""
    try:
        holder, name = _holder(response, form["notice"])
        value = holder[name]
    except (KeyError, TypeError):
        return False
    return value is None or isinstance(value, str) if form.get("as", "text") == "text" else isinstance(value, list)


def _holder(result: dict[str, Any], path: str) -> tuple[Any, str]:
    """The object that holds the end of a path, and the name that it has there."""
    holder: Any = result
    *steps, name = path.split(".")
    for step in steps:
        holder = holder[step]
    return holder, name


def _filled(template: Any, words: dict[str, str], arguments: dict[str, Any]) -> Any:
    if isinstance(template, dict):
        return {name: _filled(value, words, arguments) for name, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, words, arguments) for value in template]
    if isinstance(template, str) and template.startswith("$input."):
        value = arguments.get(template[len("$input.") :])
        return value if isinstance(value, str) else ""
    return words.get(template, template) if isinstance(template, str) else template


def _of_its_kind(response: Any, notice: str) -> Any:
    """The replacement for a result of a tool that is not built in: a text, content blocks, or an object with such."""
    if isinstance(response, str):
        return notice
    if _blocks_of(response) is None:
        return None
    return _as_blocks(notice) if isinstance(response, list) else {"content": _as_blocks(notice)}


def _as_blocks(notice: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": notice}]


def _blocks_of(response: Any) -> list[dict[str, Any]] | None:
    """The content blocks of an MCP server's result; None where it has none."""
    blocks = response.get("content") if isinstance(response, dict) else response
    if not isinstance(blocks, list):
        return None
    if not all(isinstance(block, dict) and isinstance(block.get("type"), str) for block in blocks):
        return None
    return blocks
