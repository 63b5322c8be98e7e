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
        "duplicate_result": (1.31, 1.29, 0.21),
        "format_mismatch": (0.75, 1.48, 0.51),
        "historical_inconsistency": (1.5, 1.5, 1.5),
        "latency_anomaly": (0.0, 1.5, 1.5),
        "length_anomaly": (1.5, 1.18, 0.03),
        "moved_value": (0.0, 1.2, 1.08),
        "novel_value": (0.0, 1.31, 0.0),
        "relation_mismatch": (0.0, 0.83, 0.53),
        "session_inconsistency": (0.0, 1.5, 0.03),
        "stale_result": (0.0, 1.5, 1.5),
        "structure_mismatch": (0.01, 1.5, 0.95),
        "truncated_result": (0.0, 1.35, 0.39),
        "value_plausibility": (0.66, 1.5, 1.5),
        "spc_anomaly": (1.0, 1.0, 1.0),
    }
)

#: Calls judged of each source, and the mean recall over its faults at .2 to 2% false positives,
#: by weights that were learned from all the others.
SOURCES: Mapping[str, tuple[int, float | None]] = MappingProxyType(
    {
        "generated families": (8141, 0.614),
        "generated families, a tenth of the history bad": (7659, 0.468),
        "taubench_traces": (4911, 0.703),
        "bfcl_multiturn": (3824, 0.661),
        "toolbench_traces": (795, 0.295),
        "apibank": (903, 0.706),
        "agentdojo_traces": (7586, 0.371),
        "mcp_recorded": (8598, 0.549),
        "latency_traces": (4554, 0.398),
    }
)

#: Nats that a change is a fault before its first call.
CHANGE_CONSTANT: Final = -0.45

#: What each clue of a change adds to that, see ``_causes``.
CHANGE_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "renamed": -2.26,
        "added": -0.93,
        "carried": -1.7,
        "nulls": 2.57,
        "empty": 1.1,
        "cut": 1.19,
        "prose": 1.28,
        "canned": 3.31,
        "echoes": -0.32,
        "unasked": 2.25,
        "level": 1.42,
        "factor": 2.18,
        "format": -1.25,
        "value": 1.23,
        "copied": 1.17,
        "again": -1.69,
        "same": 1.96,
        "short": 1.42,
        "text": 1.29,
        "volatile": -0.44,
        "nats": 2.02,
    }
)

#: By source the area under the curve, faults against genuine changes 1, 3, 5, 10, 20 calls
#: old. The weights were chosen on these, each left out in turn, and on no other source:
#: taubench_traces, bfcl_multiturn, toolbench_traces, everyday.
CHANGE_SOURCES: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "agentdojo_traces": (0.88, 0.969, 0.954, 1.0, 1.0),
        "apibank": (1.0, 1.0, 1.0, 1.0, 1.0),
        "bfcl_multiturn": (0.955, 0.986, 1.0, 1.0, 1.0),
        "everyday": (0.952, 0.969, 0.97, 0.971, 0.972),
        "everyday, reported": (0.937, 0.953, 0.934, 0.96, 0.978),
        "latency_traces": (0.69, 0.642, 0.696, 0.714, 0.714),
        "mcp_recorded": (0.899, 0.915, 0.938, 0.957, 0.958),
        "taubench_traces": (0.949, 0.981, 0.983, 0.988, 0.987),
        "toolbench_traces": (1.0, 1.0, 1.0, 1.0, 1.0),
    }
)
