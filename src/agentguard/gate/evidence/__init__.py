"""Trusted documents, indexed and searched: the protocol of an index, and the two that come with the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentguard.gate.evidence._index import Embeddings, EvidenceIndex
from agentguard.gate.evidence._vectors import LexicalEmbeddings

if TYPE_CHECKING:
    from agentguard.gate._config import GateConfig

__all__ = ["Embeddings", "EvidenceIndex", "LexicalEmbeddings", "open_evidence"]


def open_evidence(config: GateConfig, embedder: str) -> EvidenceIndex:
    """Open the declared cluster's index, or else ``evidence.sqlite`` in the embedded folder.

    Args:
        config: The gate's configuration.
        embedder: The name of the embeddings whose vectors are written and searched.

    Raises:
        ConfigurationError: A library that the index needs is not installed.
        StoreError: The index cannot be opened.
    """
    if config.elasticsearch is not None:
        from agentguard.gate.evidence._elasticsearch import ElasticsearchEvidence

        return ElasticsearchEvidence(config.elasticsearch, embedder=embedder)
    from agentguard.gate.evidence._sqlite import SqliteEvidence

    return SqliteEvidence(config.resolve(config.embedded.path), embedder)
