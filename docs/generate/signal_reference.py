"""The signals of calibrated mode, from the checks themselves."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

from markdown_text import cell, prose, table

from agentguard.verification._checks import TIERS, LearnedCheck
from agentguard.verification._checks._content import CONTENT
from agentguard.verification._checks._read_back import READ_BACK
from agentguard.verification.evidence import DEFAULT_RATIOS
from agentguard.verification.weights import WEIGHTS

__all__ = ["signal_details", "signal_table"]


def signal_table() -> str:
    """A row for each signal: where it runs, whom it counts together with, what it weighs, what it finds."""
    rows = [
        [
            f"[`{check.name}`](#{check.name})",
            str(check.tier.value),
            group,
            f"{DEFAULT_RATIOS[check.name]:g}",
            " · ".join(f"{weight:g}" for weight in WEIGHTS.get(check.name, (1.0, 1.0, 1.0))),
            _finds(check),
        ]
        for check, group in _checks()
    ]
    return table(["signal", "tier", "group", "ratio", "weights", "finds"], rows)


def signal_details() -> str:
    """A section for each signal."""
    return "\n\n".join(part for check, _ in _checks() for part in (f"### {check.name}", *_details(check)))


def _checks() -> Iterator[tuple[Any, str]]:
    yield from ((check, "content") for check in CONTENT)
    yield from ((check, check.group) for check in READ_BACK)
    for _, checks in TIERS:
        for check in checks:
            yield check, getattr(check, "group", "")


def _finds(check: Any) -> str:
    if check in CONTENT:
        return f"what a profile's `content` has looked for: {check.kind}"
    return cell((sys.modules[type(check).__module__].__doc__ or "").partition(": ")[2].rstrip(".")).replace("``", "`")


def _details(check: Any) -> list[str]:
    said = prose(type(check).__doc__ or "")
    if check in CONTENT:
        asked = f"Asked for by `content: {{{check.kind}: …}}` of a profile."
        return [f"{asked} {said.partition('. ')[2] or said.partition(chr(10))[2].strip()}"]
    if isinstance(check, LearnedCheck):
        cap = "" if math.isinf(check.cap) else f" It never weighs more than a ratio of {check.cap:g}."
        return [said, f"Learned: a surprise without precedent counts as p = {check.floor:g}.{cap}"]
    return [said, "Declared: it fires only where a profile says so, and repetition does not soften it."]
