"""Weights of the signals and of a change's clues, learned by ``make weights``; not edited by hand."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

__all__ = ["CHANGE_CONSTANT", "CHANGE_SOURCES", "CHANGE_WEIGHTS", "KNOT", "SOURCES", "WEIGHTS"]

KNOT: Final = 2.5  # nats

#: By signal the weight of silence, of what speaks against the call up to the knot, and of the rest.
WEIGHTS: Mapping[str, tuple[float, float, float]] = MappingProxyType(
    {
        "duplicate_result": (1.29, 1.21, 0.19),
        "format_mismatch": (0.37, 1.5, 0.53),
        "historical_inconsistency": (1.5, 1.5, 1.5),
        "latency_anomaly": (0.51, 1.5, 1.5),
        "length_anomaly": (1.5, 0.46, 0.05),
        "moved_value": (0.0, 1.17, 0.62),
        "novel_value": (0.0, 1.3, 0.0),
        "relation_mismatch": (0.0, 0.8, 0.54),
        "session_inconsistency": (0.0, 1.5, 0.05),
        "stale_result": (0.0, 1.5, 1.5),
        "structure_mismatch": (0.47, 1.5, 0.63),
        "truncated_result": (0.0, 0.98, 0.76),
        "value_plausibility": (0.0, 1.5, 1.5),
        "spc_anomaly": (1.0, 1.0, 1.0),
    }
)

#: Calls judged of each source, and the mean recall over its faults at .2 to 2% false positives,
#: by weights that were learned from all the others.
SOURCES: Mapping[str, tuple[int, float | None]] = MappingProxyType(
    {
        "generated families": (8141, 0.65),
        "generated families, a tenth of the history bad": (7659, 0.463),
        "taubench_traces": (4911, 0.715),
        "bfcl_multiturn": (3824, 0.607),
        "toolbench_traces": (795, 0.31),
        "apibank": (903, 0.751),
        "agentdojo_traces": (7586, 0.599),
        "mcp_recorded": (8598, 0.507),
        "latency_traces": (4554, 0.378),
    }
)

#: Nats that a change is a fault before its first call.
CHANGE_CONSTANT: Final = -0.6

#: What each clue of a change adds to that, see ``_causes``.
CHANGE_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "lost": 0.08,
        "renamed": -2.28,
        "added": -1.07,
        "carried": -1.61,
        "nulls": 2.62,
        "empty": 1.19,
        "cut": 1.24,
        "prose": 1.25,
        "error": 0.0,
        "canned": 3.39,
        "relation": 0.1,
        "echoes": -0.13,
        "unasked": 2.29,
        "level": 1.42,
        "factor": 2.12,
        "format": -1.23,
        "value": 1.13,
        "copied": 1.19,
        "again": -1.66,
        "same": 1.98,
        "answer": 0.12,
        "short": 1.48,
        "text": 1.46,
        "volatile": -0.54,
        "nats": 1.77,
    }
)

#: By source the area under the curve, faults against genuine changes 1, 3, 5, 10, 20 calls
#: old. The weights were chosen on these, each left out in turn, and on no other source:
#: taubench_traces, bfcl_multiturn, toolbench_traces, everyday.
CHANGE_SOURCES: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "agentdojo_traces": (0.873, 0.943, 0.927, 1.0, 1.0),
        "apibank": (1.0, 1.0, 1.0, 1.0, 1.0),
        "bfcl_multiturn": (0.955, 0.986, 1.0, 1.0, 1.0),
        "everyday": (0.951, 0.966, 0.97, 0.973, 0.972),
        "everyday, reported": (0.941, 0.956, 0.932, 0.957, 0.977),
        "latency_traces": (0.659, 0.658, 0.696, 0.714, 0.714),
        "mcp_recorded": (0.896, 0.909, 0.931, 0.954, 0.957),
        "taubench_traces": (0.941, 0.98, 0.982, 0.985, 0.988),
        "toolbench_traces": (1.0, 1.0, 1.0, 1.0, 1.0),
    }
)
