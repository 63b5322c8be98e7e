"""Records of runs, an audit trail and a history: their protocol, and the two stores that come with the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentguard.gate.records._base import Event, RunRecords, RunSummary, mark_interrupted

if TYPE_CHECKING:
    from agentguard.gate._config import GateConfig

__all__ = ["Event", "RunRecords", "RunSummary", "mark_interrupted", "open_records"]

FILE = "records.sqlite"


def open_records(config: GateConfig) -> RunRecords:
    """Open the declared cluster's records, or else ``records.sqlite`` in the embedded folder.

    Raises:
        ConfigurationError: A library that the records need is not installed.
        StoreError: The records cannot be opened.
    """
    if config.elasticsearch is not None:
        from agentguard.gate.records._elasticsearch import ElasticsearchRecords

        return ElasticsearchRecords(config.elasticsearch)
    from agentguard.gate.records._sqlite import SqliteRecords

    return SqliteRecords(config.resolve(config.embedded.path) / FILE)
