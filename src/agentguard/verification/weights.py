"""Weights of the signals, learned by ``make weights`` (benchmarks/weights); not edited by hand."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

__all__ = ["KNOT", "SOURCES", "WEIGHTS"]

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
        "text_anomaly": (0.0, 0.16, 0.23),
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
