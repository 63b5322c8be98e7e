"""What was found in a message, as plain JSON that holds no content: on the message, in the stream, for who asks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from agentguard.integrations.extras import needs

try:
    from langchain_core.messages import AIMessage, ToolMessage
except ImportError as error:
    raise needs("langchain", error) from error

__all__ = ["EVENT", "STAMP", "OnFinding", "Records", "record_of", "recorded"]

#: Where a message keeps its record: ``response_metadata["agentguard_content"]``, which no model is sent.
STAMP: Final = "agentguard_content"
#: The ``type`` of the custom stream event that each record is.
EVENT: Final = "agentguard.content"

OnFinding = Callable[[dict[str, Any]], object]
Message = TypeVar("Message", AIMessage, ToolMessage)

_log = logging.getLogger("agentguard")


class Records:
    """Tells of findings.

    Args:
        on_finding: is given each record; what it raises is logged.
    """

    def __init__(self, on_finding: OnFinding | None) -> None:
        self._on_finding = on_finding

    def tell(self, runtime: Any, record: Mapping[str, Any]) -> None:
        """Emit a record into the custom stream, where there is one, and hand it to who asked for it."""
        writer = getattr(runtime, "stream_writer", None)
        if writer is not None:
            writer({"type": EVENT, **record})
        if self._on_finding is None:
            return
        try:
            self._on_finding(dict(record))
        except Exception as error:
            _log.error("on_finding failed: %s", type(error).__name__)


def recorded(message: Message, record: Mapping[str, Any] | None) -> Message:
    """The message with this record, and without any other: what a tool claims about itself is none."""
    if record is None and STAMP not in message.response_metadata:
        return message
    metadata = {key: value for key, value in message.response_metadata.items() if key != STAMP}
    if record is not None:
        metadata[STAMP] = dict(record)
    return message.model_copy(update={"response_metadata": metadata})


def record_of(message: Any) -> Mapping[str, Any]:
    """The record that a message carries; empty where it has none."""
    found = getattr(message, "response_metadata", {}).get(STAMP)
    return found if isinstance(found, Mapping) else {}
