"""Content of a store as Prometheus metrics, for which no library is needed.

``agentguard.telemetry`` tells more of engines at work. These are what a fleet has put on record, and what people have
said of it.

======================================= ============= ==========================================================
gauge                                   labels        what
======================================= ============= ==========================================================
agentguard_recorded_verdicts            tool, verdict verdicts on record; of accepted calls a sample
agentguard_counted_calls                tool          calls, in the hours that the store keeps
agentguard_labels                       tool, label   ``fabricated`` or ``genuine``
agentguard_recorded_changes             tool, state   lasting changes, by their present state
agentguard_reviews_waiting              tool          changes that nobody has reviewed, and calls of none among the
                                                      newest 5,000 on record without a label
agentguard_tools_left_out                             tools beyond the hundred with most to look at
agentguard_newest_record_time_seconds                 when the newest verdict was put on record, since the epoch
agentguard_store_reachable                            1 if the latest look at the store succeeded, else 0
======================================= ============= ==========================================================
"""

from __future__ import annotations

from typing import Final

from agentguard.live._board import Board

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
MAX_CHANGES: Final = 500  # samples of them
_HELP: Final = {
    "recorded_verdicts": "Verdicts on record; of accepted calls a sample.",
    "counted_calls": "Calls, in the hours that the store keeps.",
    "labels": "What reviewers found.",
    "recorded_changes": "Lasting changes by their present state.",
    "reviews_waiting": "Changes that nobody has reviewed, and recent calls of none without a label.",
    "tools_left_out": "Tools beyond the hundred with most to look at.",
    "newest_record_time_seconds": "When the newest verdict was put on record, since the epoch.",
    "store_reachable": "Whether the latest look at the store went well.",
}
_ESCAPED: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})

Sample = tuple[dict[str, str], float]


def store_metrics(board: Board, *, reaches_store: bool) -> str:
    """Write the metrics of a store in Prometheus' text format."""
    tools = board.tools()

    def by_tool(label: str, *fields: str) -> list[Sample]:
        return [({"tool": row.tool, label: name}, float(getattr(row, name))) for row in tools.rows for name in fields]

    changes = sorted(board.changes_by_state().items())[:MAX_CHANGES]
    samples: dict[str, list[Sample]] = {
        "recorded_verdicts": by_tool("verdict", "accept", "flag", "block"),
        "counted_calls": [({"tool": row.tool}, float(row.calls)) for row in tools.rows if row.calls is not None],
        "labels": by_tool("label", "fabricated", "genuine"),
        "recorded_changes": [({"tool": tool, "state": state}, float(count)) for (tool, state), count in changes],
        "reviews_waiting": [({"tool": row.tool}, float(row.waiting)) for row in tools.rows],
        "tools_left_out": [({}, float(tools.more))],
        "newest_record_time_seconds": [({}, verdict.at) for verdict in board.newest(1)],
        "store_reachable": [({}, float(reaches_store))],
    }
    return "".join(_family(f"agentguard_{name}", text, samples[name]) for name, text in _HELP.items())


def _family(name: str, text: str, samples: list[Sample]) -> str:
    lines = [f"# HELP {name} {text}", f"# TYPE {name} gauge"]
    for labels, value in samples:
        inner = ",".join(f'{label}="{text.translate(_ESCAPED)}"' for label, text in labels.items())
        lines.append(f"{name}{{{inner}}} {value!r}" if inner else f"{name} {value!r}")
    return "\n".join(lines) + "\n"
