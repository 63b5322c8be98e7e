"""Sixteen ways in which an answer can be wrong, each disturbing one thing.

A fault takes a genuine call and its scene and gives the call with the wrong answer, or None where it cannot be made:
there is nothing to cut off, no number to misread, no older answer that differs.
"""

from __future__ import annotations

from collections.abc import Mapping

from .exchanged import (
    emptied,
    instant,
    repeated,
    stale,
    swapped_args,
    swapped_args_seen,
    swapped_tool,
    swapped_tool_seen,
)
from .misread import invented, negated, reformatted, scaled, unit_changed
from .misshapen import dropped, pretended, renamed, truncated, wrong_type
from .scene import Fault, Scene

__all__ = ["FAULTS", "REPLAYED", "Fault", "Scene"]

FAULTS: Mapping[str, Fault] = {
    fault.__name__: fault
    for fault in (
        dropped, emptied, instant, invented, negated, pretended, reformatted, renamed, repeated, scaled, stale,
        swapped_args, swapped_tool, truncated, unit_changed, wrong_type,
    )
}  # fmt: skip

#: Swaps whose answer was given before: what a memory of past answers can catch and ``FAULTS`` leaves out.
REPLAYED: Mapping[str, Fault] = {fault.__name__: fault for fault in (swapped_args_seen, swapped_tool_seen)}
