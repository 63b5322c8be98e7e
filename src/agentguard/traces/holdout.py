"""Which declarations the calls break that they were not learned from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from agentguard.verification.arguments import Arguments
from agentguard.verification.document import Document, read
from agentguard.verification.profile import schema_validator
from agentguard.verification.sides import normal
from agentguard.verification.types import ToolCall

from .draft import Declaration, Draft, fields_of
from .inference import LATENCY_MARGIN
from .tool_state import repeats

__all__ = ["Trial"]

MOST_FAULTS: Final = 1_000  # of one answer
MOST_DIGESTS: Final = 10_000

_Name = tuple[str, tuple[str, ...]]  # of a declaration: its field and path


class Trial:
    """A draft, and the held-out calls that are held against it; by the same rules as the engine's checks.

    An error report answers for nothing but its time. What was too thin to declare is tried as well: where the held-out
    answers bear it out and are as many, and others, as were wanting, it is declared after all.

    Args:
        draft: what to try.
        known: digests of answers that the draft was learned from.
    """

    def __init__(self, draft: Draft, known: Iterable[int] = ()) -> None:
        self.calls = 0
        self._draft = draft
        self._tried = (*draft.declarations, *draft.thin)
        self._known = set(known)
        self._broken: Counter[_Name] = Counter()
        self._fresh: Counter[_Name] = Counter()  # answers that were not met before, by the echo that they could have
        self._fresh_answers = 0
        self._extremes: tuple[float, float] | None = None
        schema = fields_of(self._tried).get("output_schema")
        self._validator = None if schema is None else schema_validator(schema)
        self._in_schema = {one.path: one for one in self._tried if one.field == "output_schema"}
        self._others = [one for one in self._tried if one.field not in ("output_schema", "echoes")]
        self._echoes = [(one, _parsed(one.value)) for one in self._tried if one.field == "echoes"]

    def push(self, call: ToolCall) -> None:
        """Hold one call against every declaration."""
        self.calls += 1
        document = read(call.result)
        is_answer = not (document.is_error or call.is_error)
        is_fresh = is_answer and document.digest not in self._known
        if is_fresh:
            self._fresh_answers += 1
            if len(self._known) < MOST_DIGESTS:
                self._known.add(document.digest)
        milliseconds = call.milliseconds
        if milliseconds is not None:
            low, high = self._extremes or (milliseconds, milliseconds)
            self._extremes = (min(low, milliseconds), max(high, milliseconds))
        self._broken.update(
            (one.field, one.path) for one in self._others if self._breaks(one, call, document, is_answer=is_answer)
        )
        if is_answer:
            self._push_echoes(document, dict(Arguments(call.args).values), is_fresh=is_fresh)
        if self._validator is not None and is_answer and document.kind != "large":
            self._push_value(document.value)

    def _push_echoes(self, document: Document, arguments: dict[str, str], *, is_fresh: bool) -> None:
        for one, (path, rows) in self._echoes:
            text = arguments.get(one.path[0])
            others = [normal(value) for value in document.leaves.get(path, ())]
            if not text or not others:
                continue
            name = one.field, one.path
            self._fresh[name] += is_fresh
            if rows == "every":
                held = all(repeats(text, other) for other in others)
            else:
                held = any(text in other or other in text for other in others)
            self._broken[name] += not held

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

    def _breaks(self, one: Declaration, call: ToolCall, document: Document, *, is_answer: bool) -> bool:
        if one.field == "expected_latency_ms":
            milliseconds = call.milliseconds
            return milliseconds is not None and not one.value[0] <= milliseconds <= one.value[1]
        if not is_answer:
            return False
        if one.field == "min_response_length":
            return document.size < int(one.value)
        if one.field == "max_response_length":
            return document.size > int(one.value)
        if one.field == "required_fields":
            value = document.value
            return document.kind != "large" and not (isinstance(value, dict) and one.value in value)
        return False

    def verdict(self) -> Draft:
        """The draft, each declaration with how many of how many calls broke it; what held and was wanting is in it."""
        tried = [one.against(self._broken[one.field, one.path], self.calls, self._instead(one)) for one in self._tried]
        borne_out = [one for one in tried if one.missing == 0 or self._bears_out(one)]
        thin = tuple(one for one in tried if one not in borne_out and not one.broken)
        return replace(self._draft, declarations=tuple(replace(one, missing=0) for one in borne_out), thin=thin)

    def _bears_out(self, one: Declaration) -> bool:
        if one.missing is None or one.broken:
            return False
        fresh = self._fresh[one.field, one.path] if one.field == "echoes" else self._fresh_answers
        return fresh >= one.missing

    def _instead(self, one: Declaration) -> Declaration | None:
        """A bound on the time that held-out calls were beyond is opened on that side."""
        if one.field != "expected_latency_ms" or self._extremes is None:
            return None
        (low, high), (least, most) = one.value, self._extremes
        if low <= least and most <= high:
            return None
        opened = [low if low <= least else 0.0, high if most <= high else float(math.ceil(most * LATENCY_MARGIN))]
        return replace(one, value=opened, why=f"{one.why}; opened, as held-out calls took {least:.3g} to {most:.3g} ms")


def _parsed(value: Any) -> tuple[str, str | None]:
    """Path and rows of an echo as it is declared."""
    return (value, None) if isinstance(value, str) else (value["path"], value.get("rows"))
