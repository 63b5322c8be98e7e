"""Which declarations the calls break that they were not learned from."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from agentguard.verification.arguments import Arguments, normal
from agentguard.verification.contract import INSTANT_MS
from agentguard.verification.document import Document, read
from agentguard.verification.profile import schema_validator
from agentguard.verification.types import ToolCall

from .draft import Declaration, Draft, fields_of

__all__ = ["Trial"]

MOST_FAULTS: Final = 1_000  # of one answer

_Name = tuple[str, tuple[str, ...]]  # of a declaration: its field and path


class Trial:
    """A draft, and the held-out calls that are held against it; by the same rules as the engine's checks.

    An error report answers for nothing but its time.
    """

    def __init__(self, draft: Draft) -> None:
        self.calls = 0
        self._draft = draft
        self._broken: Counter[_Name] = Counter()
        fields = fields_of(draft.declarations)
        schema = fields.get("output_schema")
        self._validator = None if schema is None else schema_validator(schema)
        self._in_schema = {one.path: one for one in draft.declarations if one.field == "output_schema"}
        self._others = [one for one in draft.declarations if one.field != "output_schema"]
        self._may_be_instant = bool(fields.get("cacheable")) or not fields.get("has_network_io", True)

    def push(self, call: ToolCall) -> None:
        """Hold one call against every declaration."""
        self.calls += 1
        document, arguments = read(call.result), dict(Arguments(call.args).values)
        self._broken.update(
            (one.field, one.path) for one in self._others if self._breaks(one, call, document, arguments)
        )
        if self._validator is not None and not document.is_error and document.kind != "large":
            self._push_value(document.value)

    def _push_value(self, value: Any) -> None:
        if self._validator is None or self._validator.is_valid(value):
            return
        broken: set[_Name] = set()
        for error in islice(self._validator.iter_errors(value), MOST_FAULTS):
            path = tuple(map(str, error.schema_path))
            missing = getattr(error.kind, "property", None)  # of a required field
            one = self._in_schema.get(path if missing is None else (*path, missing))
            if one is not None:
                broken.add((one.field, one.path))
        self._broken.update(broken)

    def _breaks(self, one: Declaration, call: ToolCall, document: Document, arguments: dict[str, str]) -> bool:
        if one.field == "expected_latency_ms":
            milliseconds = call.milliseconds
            least = max(one.value[0], INSTANT_MS)
            return milliseconds is not None and not self._may_be_instant and milliseconds < least
        if document.is_error:
            return False
        if one.field == "min_response_length":
            return document.size < int(one.value)
        if one.field == "max_response_length":
            return document.size > int(one.value)
        if one.field == "required_fields":
            value = document.value
            return document.kind != "large" and not (isinstance(value, dict) and one.value in value)
        if one.field == "echoes":
            text = arguments.get(one.path[0])
            others = [normal(value) for value in document.leaves.get(one.value, ())]
            return bool(text and others) and not any(text in other or other in text for other in others if text)
        return False

    def verdict(self) -> Draft:
        """The draft, each declaration with how many of how many calls broke it."""
        tried = tuple(one.against(self._broken[one.field, one.path], self.calls) for one in self._draft.declarations)
        return replace(self._draft, declarations=tried)
