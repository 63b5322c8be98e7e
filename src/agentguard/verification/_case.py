"""The case that checks look at."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final

from agentguard.verification._arguments import Arguments
from agentguard.verification._contract import Contract
from agentguard.verification._document import Document
from agentguard.verification._keys import numbers_of
from agentguard.verification._pool import Between
from agentguard.verification._read_back import Reading
from agentguard.verification.types import Settings, ToolCall

POLLED: Final = 8  # calls with the same arguments, from which on they are polled
_NONE: Final[Mapping[str, float]] = {}
_NOWHERE: Final[frozenset[str]] = frozenset()


class Case:
    """Everything that a check may look at: one call, its result as read, its contract, the tool's memory.

    Attributes:
        factors: by how much each signal's evidence counts more or less than documented, by labels.
        found: the content found in the result, by kind, or what a detector has raised (see ``_checks._content``).
        measured: the numbers that signals of the user's own gave, by name; None where there are none.
        plain_call: the call as signals of the user's own see it; None until one asks.
        between: what was called in the session since this call was last made there; None without a session.
        milliseconds: the call's execution time; None where it is unknown.
        readings: what other calls say of this one, where they were made.
    """

    __slots__ = (
        "_vouched",
        "arguments",
        "between",
        "call",
        "contract",
        "document",
        "factors",
        "found",
        "measured",
        "memory",
        "milliseconds",
        "plain_call",
        "readings",
        "settings",
    )

    def __init__(
        self,
        call: ToolCall,
        document: Document,
        contract: Contract,
        memory: Any,
        settings: Settings,
        arguments: Arguments,
        factors: Mapping[str, float] = _NONE,
        readings: tuple[Reading, ...] = (),
    ) -> None:
        self.call = call
        self.document = document
        self.contract = contract
        self.memory = memory
        self.settings = settings
        self.arguments = arguments
        self.factors = factors
        self.found: Any = None
        self.measured: dict[str, float] | None = None
        self.plain_call: ToolCall | None = None
        self.between: Between | None = None
        self.milliseconds = call.milliseconds
        self.readings = readings
        self._vouched: frozenset[str] | None = None if readings or contract.echoes else _NOWHERE

    @property
    def key(self) -> tuple[bytes, int]:
        """The same for the same arguments with the same result, of which other calls say the same."""
        key = self.arguments.key
        if self.readings:
            states = "".join([f"\0{reading.kind} {reading.state}" for reading in self.readings])
            key = blake2b(key + states.encode(), digest_size=16).digest()
        return key, self.document.digest

    @property
    def is_polled(self) -> bool:
        """These arguments are asked all the time: the same call again is no retry."""
        keys = getattr(self.memory, "keys", None)
        history = None if keys is None else keys.by_key.get(self.arguments.key)
        return history is not None and history.count >= POLLED

    @property
    def vouched(self) -> frozenset[str]:
        """The places of the result whose values are not the tool's word alone; how unusual they are is no evidence.

        Those that other calls have confirmed, and numbers that repeat an argument as declared.
        """
        if self._vouched is None:
            places = [place for reading in self.readings for place in reading.confirmed]
            numbers = numbers_of(self.document)
            for rule in self.contract.echoes:
                if rule.result_place in numbers:
                    rows = rule.rows_of(self.arguments, self.call.args, self.document)
                    if rows is not None and rows.alike == rows.total:
                        places.append(rule.result_place)
            self._vouched = frozenset(places) if places else _NOWHERE
        return self._vouched
