"""The records that a configuration names."""

from __future__ import annotations

from agentguard.gate.config import GateConfig

from .base import RunRecords

__all__ = ["open_records"]

FILE = "records.sqlite"


def open_records(config: GateConfig) -> RunRecords:
    """The cluster where one is declared; otherwise ``records.sqlite`` in the embedded folder.

    Raises:
        ConfigurationError: where a library that it needs is not installed.
        StoreError: where they cannot be opened.
    """
    if config.elasticsearch is not None:
        from .elasticsearch import ElasticsearchRecords

        return ElasticsearchRecords(config.elasticsearch)
    from .sqlite import SqliteRecords

    return SqliteRecords(config.resolve(config.embedded.path) / FILE)
