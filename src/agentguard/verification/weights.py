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
        "duplicate_result": (1.01, 1.21, 0.8),
        "format_mismatch": (0.53, 1.26, 0.62),
        "historical_inconsistency": (1.78, 1.86, 0.32),
        "latency_anomaly": (0.66, 1.63, 3.0),
        "length_anomaly": (1.44, 0.0, 0.04),
        "novel_value": (0.0, 1.28, 0.0),
        "relation_mismatch": (0.02, 0.71, 0.55),
        "session_inconsistency": (0.0, 1.92, 0.04),
        "structure_mismatch": (0.4, 1.37, 0.61),
        "text_anomaly": (0.0, 0.25, 0.17),
        "truncated_result": (0.0, 1.06, 0.75),
        "value_plausibility": (0.0, 1.75, 3.0),
        "spc_anomaly": (1.0, 1.0, 1.0),
    }
)

#: Calls judged of each source, and the mean recall over its faults at .2 to 2% false positives,
#: by weights that were learned from all the others.
SOURCES: Mapping[str, tuple[int, float | None]] = MappingProxyType(
    {
        "generated families": (8141, 0.547),
        "generated families, a tenth of the history bad": (7659, 0.346),
        "taubench_traces": (4911, 0.687),
        "bfcl_multiturn": (3824, 0.525),
        "toolbench_traces": (795, 0.271),
        "apibank": (903, 0.717),
        "agentdojo_traces": (7587, 0.62),
        "mcp_recorded": (8598, 0.54),
        "latency_traces": (4554, 0.407),
    }
)
