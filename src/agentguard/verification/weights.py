"""What each signal counts for, learned by ``make weights`` (benchmarks/weights); not edited by hand."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

__all__ = ["KNOT", "SOURCES", "WEIGHTS"]

KNOT: Final = 2.5  # nats

#: By signal the weight of silence, of what speaks against the call up to the knot, and of the rest.
WEIGHTS: Mapping[str, tuple[float, float, float]] = MappingProxyType(
    {
        "duplicate_result": (1.28, 1.19, 0.38),
        "format_mismatch": (0.46, 1.31, 0.63),
        "historical_inconsistency": (1.5, 1.5, 1.5),
        "latency_anomaly": (0.33, 1.5, 1.5),
        "length_anomaly": (1.5, 0.54, 0.04),
        "moved_value": (0.0, 1.03, 1.29),
        "novel_value": (0.0, 1.36, 0.0),
        "relation_mismatch": (0.0, 0.7, 0.53),
        "session_inconsistency": (0.0, 1.5, 0.04),
        "stale_result": (0.0, 1.5, 1.5),
        "structure_mismatch": (0.49, 1.44, 0.68),
        "text_anomaly": (0.0, 0.16, 0.2),
        "truncated_result": (0.0, 0.95, 0.78),
        "value_plausibility": (0.0, 1.5, 1.5),
        "spc_anomaly": (1.0, 1.0, 1.0),
    }
)

#: Calls judged of each source, and the mean recall over its faults at .2 to 2% false positives,
#: by weights that were learned from all the others.
SOURCES: Mapping[str, tuple[int, float | None]] = MappingProxyType(
    {
        "generated families": (8141, 0.624),
        "generated families, a tenth of the history bad": (7659, 0.432),
        "taubench_traces": (4911, 0.705),
        "bfcl_multiturn": (3824, 0.608),
        "toolbench_traces": (795, 0.325),
        "apibank": (903, 0.76),
        "agentdojo_traces": (7586, 0.574),
        "mcp_recorded": (8598, 0.519),
        "latency_traces": (4554, 0.382),
    }
)
