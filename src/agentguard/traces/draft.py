"""A profile in the making: one declaration at a time, each with the counts that it rests on."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from agentguard.verification.profile import ToolProfile, parse_profile

__all__ = ["Declaration", "Draft", "at_least", "fields_of", "is_required", "share"]

LEVEL: Final = 0.95
MOST_EXCEPTIONS: Final = 50

#: The fields that are learned, as they are written.
FIELDS: Final = (
    "expected_latency_ms", "has_network_io", "cacheable", "stateful", "min_response_length", "max_response_length",
    "allow_errors", "required_fields", "echoes", "output_schema",
)  # fmt: skip


def at_least(hits: int, total: int) -> float:
    """The share that is exceeded with 95% confidence after ``hits`` of ``total`` (Clopper & Pearson 1934, one-sided).

    The share p at which as many hits have a chance of 5%: ``.05 ** (1 / n)`` for n of n. 0 for more than 50 misses,
    which nothing is declared from.

    >>> round(at_least(59, 59), 4), round(at_least(98, 100), 4), at_least(0, 0)
    (0.9505, 0.9384, 0.0)
    """
    misses = total - hits
    if hits <= 0 or misses > MOST_EXCEPTIONS:
        return 0.0
    if not misses:
        return math.pow(1.0 - LEVEL, 1.0 / total)
    low, high = 0.0, hits / total
    for _ in range(60):
        p = (low + high) / 2.0
        few = sum(
            math.exp(_log_choices(total, k) + k * math.log1p(-p) + (total - k) * math.log(p)) for k in range(misses + 1)
        )
        low, high = (p, high) if few < 1.0 - LEVEL else (low, p)
    return low


def _log_choices(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def share(value: float) -> str:
    """A share in per cent, rounded down: what holds in 99.96% is not said to hold in 100%."""
    return f"{math.floor(value * 1000) / 10:g}%"


@dataclass(frozen=True, slots=True)
class Declaration:
    """One thing that a profile says.

    Attributes:
        field: the profile's field.
        path: where in the field: the name of a required field, the argument of an echo, the path in the schema. That
            of a field that a schema requires ends in ``"required"`` and the field's name, which is the value as well.
        value: what stands there.
        why: what was counted.
        missing: distinct answers that are wanting before it can be declared, 0 where none are; None where no number
            of them would do. What is wanting may be told to a reviewer.
        broken: held-out calls that break it, of ``held_out`` that it was held against.
        instead: what to declare in its place where held-out calls break it.
    """

    field: str
    path: tuple[str, ...]
    value: Any
    why: str
    missing: int | None = 0
    broken: int = 0
    held_out: int = 0
    instead: Declaration | None = None

    @property
    def name(self) -> str:
        """What it is called in a report."""
        return ": ".join((self.field, ".".join(self.path))) if self.path else self.field

    def against(self, broken: int, held_out: int, instead: Declaration | None = None) -> Declaration:
        """The same with what came of it."""
        return replace(self, broken=broken, held_out=held_out, instead=instead)


@dataclass(frozen=True, slots=True)
class Draft:
    """What is to be declared of one tool.

    Attributes:
        tool: its name.
        calls: calls that were learned from.
        answers: those of them whose result was no error report.
        distinct: distinct answers; of more than 512 an estimate.
        declarations: what the counts bear.
        left_out: what held-out calls broke, and is not declared therefore.
        thin: what held in all answers, and too few of them to declare it.
        notes: what else a reviewer should know.
    """

    tool: str
    calls: int
    answers: int
    distinct: int
    declarations: tuple[Declaration, ...]
    left_out: tuple[Declaration, ...] = ()
    thin: tuple[Declaration, ...] = ()
    notes: tuple[str, ...] = ()

    def profile(self) -> ToolProfile:
        """The profile that says so.

        Raises:
            ProfileError: where that is no profile.
        """
        return parse_profile({"name": self.tool, **fields_of(self.declarations)}, f"profile {self.tool!r}")

    def without_broken(self) -> Draft:
        """The same without what held-out calls broke, or with what is declared in its place."""
        held = (one.instead if one.broken else one for one in self.declarations)
        kept = tuple(one for one in held if one is not None)
        broken = tuple(one for one in self.declarations if one.broken)
        return replace(self, declarations=kept, left_out=(*self.left_out, *broken))


def fields_of(declarations: Iterable[Declaration]) -> dict[str, Any]:
    """The declarations as a profile's fields.

    >>> fields_of([Declaration("output_schema", ("properties", "id", "type"), "string", "")])
    {'output_schema': {'properties': {'id': {'type': 'string'}}}}
    """
    fields: dict[str, Any] = {}
    for one in declarations:
        if one.field == "required_fields":
            fields.setdefault(one.field, []).append(one.value)
        elif one.field == "echoes":
            fields.setdefault(one.field, {})[one.path[0]] = one.value
        elif one.field == "output_schema":
            _put(fields.setdefault(one.field, {}), one.path, one.value)
        else:
            fields[one.field] = one.value
    return {name: fields[name] for name in FIELDS if name in fields}


def _put(schema: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    *above, last = path
    required = is_required(path)
    for step in above[:-1] if required else above:
        schema = schema.setdefault(step, {})
    if required:
        schema.setdefault("required", []).append(value)
    else:
        schema[last] = value


def is_required(path: tuple[str, ...]) -> bool:
    """The path in a schema ends in the keyword ``required`` and a field's name, and not in a keyword of its own.

    >>> is_required(("properties", "id", "required", "const")), is_required(("properties", "required", "const"))
    (True, False)
    """
    steps = iter(path)
    for step in steps:
        if step == "properties":
            next(steps, None)  # a field's name, whatever it is
        elif step == "required":
            return True
    return False
