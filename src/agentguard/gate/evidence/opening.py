"""The index that a configuration names."""

from __future__ import annotations

from agentguard.gate.config import GateConfig

from .base import EvidenceIndex

__all__ = ["open_evidence"]


def open_evidence(config: GateConfig, embedder: str) -> EvidenceIndex:
    """The cluster where one is declared; otherwise ``evidence.sqlite`` in the embedded folder.

    Args:
        config: the gate's configuration.
        embedder: names whose vectors are written and searched.

    Raises:
        ConfigurationError: where a library that it needs is not installed.
        StoreError: where it cannot be opened.
    """
    if config.elasticsearch is not None:
        from .elasticsearch import ElasticsearchEvidence

        return ElasticsearchEvidence(config.elasticsearch, embedder=embedder)
    from .sqlite import SqliteEvidence

    return SqliteEvidence(config.resolve(config.embedded.path), embedder)
