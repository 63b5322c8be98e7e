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
        "duplicate_result": (1.02, 1.17, 0.99),
        "format_mismatch": (0.66, 1.26, 0.67),
        "historical_inconsistency": (1.5, 1.5, 1.5),
        "latency_anomaly": (0.0, 1.5, 1.5),
        "length_anomaly": (1.5, 0.18, 0.02),
        "moved_value": (0.0, 1.0, 1.47),
        "novel_value": (0.0, 1.44, 0.0),
        "relation_mismatch": (0.0, 0.87, 0.53),
        "session_inconsistency": (0.0, 1.5, 0.02),
        "stale_result": (0.0, 1.5, 1.5),
        "structure_mismatch": (0.0, 1.5, 0.93),
        "truncated_result": (0.0, 1.03, 0.56),
        "value_plausibility": (0.15, 1.5, 1.5),
        "spc_anomaly": (1.0, 1.0, 1.0),
    }
)

#: Calls judged of each source, and the mean recall over its faults at .2 to 2% false positives,
#: by weights that were learned from all the others.
SOURCES: Mapping[str, tuple[int, float | None]] = MappingProxyType(
    {
        "generated families": (8141, 0.618),
        "generated families, a tenth of the history bad": (7659, 0.467),
        "taubench_traces": (4911, 0.716),
        "bfcl_multiturn": (3824, 0.671),
        "toolbench_traces": (795, 0.37),
        "apibank": (903, 0.706),
        "agentdojo_traces": (7586, 0.614),
        "mcp_recorded": (8598, 0.543),
        "latency_traces": (4554, 0.399),
    }
)

#: Nats that a change is a fault before its first call.
CHANGE_CONSTANT: Final = -0.52

#: What each clue of a change adds to that, see ``_causes``.
CHANGE_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "renamed": -2.29,
        "added": -0.94,
        "carried": -1.69,
        "nulls": 2.57,
        "empty": 1.18,
        "cut": 1.21,
        "prose": 1.28,
        "canned": 3.22,
        "echoes": -0.06,
        "unasked": 2.31,
        "level": 1.08,
        "factor": 2.13,
        "format": -1.26,
        "value": 1.17,
        "copied": 1.11,
        "again": -1.77,
        "same": 2.25,
        "short": 1.34,
        "text": 1.3,
        "volatile": -0.42,
        "nats": 1.9,
    }
)

#: By source the area under the curve, faults against genuine changes 1, 3, 5, 10, 20 calls
#: old. The weights were chosen on these, each left out in turn, and on no other source:
#: taubench_traces, bfcl_multiturn, toolbench_traces, everyday.
CHANGE_SOURCES: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "agentdojo_traces": (0.79, 0.885, 0.891, 0.977, 1.0),
        "apibank": (1.0, 1.0, 1.0, 1.0, 1.0),
        "bfcl_multiturn": (0.955, 0.986, 1.0, 1.0, 1.0),
        "everyday": (0.947, 0.966, 0.969, 0.973, 0.975),
        "everyday, reported": (0.936, 0.955, 0.937, 0.961, 0.974),
        "latency_traces": (0.753, 0.692, 0.714, 0.732, 0.732),
        "mcp_recorded": (0.881, 0.881, 0.939, 0.956, 0.961),
        "taubench_traces": (0.92, 0.974, 0.976, 0.976, 0.976),
        "toolbench_traces": (1.0, 1.0, 1.0, 1.0, 1.0),
    }
)
