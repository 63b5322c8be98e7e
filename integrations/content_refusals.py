"""Calls that are not made because of what was found in their arguments when the model asked for them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from agentguard.content._findings import Finding
from agentguard.integrations.content_conversation import Conversation
from agentguard.integrations.content_records import record_of, recorded
from agentguard.integrations.extras import needs
from agentguard.integrations.messages import messages_of
from agentguard.integrations.receipts import as_text
from agentguard.verification.canonical import args_key

try:
    from langchain_core.messages import ToolMessage
    from langgraph.prebuilt.tool_node import ToolCallRequest
except ImportError as error:
    raise needs("langchain", error) from error

__all__ = ["digest_of", "path_of", "refusal_of"]

#: So many of the arguments are explained to the model.
MOST_EXPLAINED: Final = 10

_log = logging.getLogger("agentguard")


def refusal_of(request: ToolCallRequest, known: Sequence[str]) -> ToolMessage | None:
    """The message that answers a call in the tool's place; None where it may be made.

    The call must still be the one that was doubted: a person may have edited it since.
    """
    call_id, args = as_text(request.tool_call["id"]), request.tool_call["args"]
    messages = messages_of(request.state, "messages")
    doubt = next((each for each in _doubts(messages) if each.get("call_id") == call_id), None)
    if doubt is None or doubt.get("digest") != digest_of(args):
        return None
    tool = as_text(request.tool_call["name"])
    why = _reason(tool, args, doubt.get("invented"), Conversation(messages, known))
    notice = (
        f"The call of {tool!r} was not made: {why}. Take such values from the user or from tool results: look them up, "
        "or ask."
    )
    answer = ToolMessage(notice, tool_call_id=request.tool_call["id"], name=tool, status="error")
    return recorded(answer, {key: value for key, value in doubt.items() if key != "digest"})


def digest_of(args: Any) -> str:
    """128 bits that tell arguments apart."""
    return args_key(args).hex()


def path_of(finding: Finding) -> str:
    """The argument that a finding is about."""
    return finding.detail.partition(": ")[0]


def _doubts(messages: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    """The records of calls that are not to be made, the latest first."""
    for message in reversed(messages):
        found = record_of(message).get("arguments")
        for doubt in found if isinstance(found, list) else ():
            if isinstance(doubt, Mapping) and doubt.get("action") == "block":
                yield doubt


def _reason(tool: str, args: Any, paths: Any, conversation: Conversation) -> str:
    if not isinstance(paths, list):
        return "its arguments could not be traced"
    try:
        # Traced again for the words only, which records do not hold.
        details = [each.detail for each in conversation.invented(tool, args, None) if path_of(each) in paths]
    except Exception as error:
        _log.error("tracing the arguments of a call of %r failed: %s", tool, type(error).__name__)
        details = []
    return "; ".join(details[:MOST_EXPLAINED]) or f"nobody said what it names in {', '.join(map(str, paths))}"
