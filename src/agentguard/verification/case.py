"""What a check is given to look at."""

from __future__ import annotations

from typing import Any

from .arguments import Arguments
from .contract import Contract
from .document import Document
from .settings import Settings
from .types import ToolCall

__all__ = ["Case"]


class Case:
    """Everything that a check may look at: one call, its result as read, its contract, the tool's memory.

    Attributes:
        milliseconds: the call's execution time, worked out once for all checks; None where it is unknown.
    """

    __slots__ = ("arguments", "call", "contract", "document", "memory", "milliseconds", "settings")

    def __init__(
        self,
        call: ToolCall,
        document: Document,
        contract: Contract,
        memory: Any,
        settings: Settings,
        arguments: Arguments,
    ) -> None:
        self.call = call
        self.document = document
        self.contract = contract
        self.memory = memory
        self.settings = settings
        self.arguments = arguments
        self.milliseconds = call.milliseconds
