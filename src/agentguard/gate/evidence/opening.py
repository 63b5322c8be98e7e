"""The index that a configuration names."""

from __future__ import annotations

from agentguard.gate.config import GateConfig

from .base import EvidenceIndex

__all__ = ["LEXICAL", "open_evidence"]

LEXICAL = "lexical"
"""Names the vectors of ``LexicalEmbeddings``, which are searched where no embeddings are configured."""


def open_evidence(config: GateConfig, embedder: str | None = None) -> EvidenceIndex:
    """The cluster where one is declared; otherwise ``evidence.sqlite`` in the embedded folder.

    Args:
        config: the gate's configuration.
        embedder: names whose vectors are written and searched; None: the configured embeddings, or lexical vectors.

    Raises:
        ConfigurationError: where a library that it needs is not installed.
        StoreError: where it cannot be opened.
    """
    if embedder is None:
        embedder = LEXICAL if config.embeddings is None else config.embeddings.name
    if config.elasticsearch is not None:
        from .elasticsearch import ElasticsearchEvidence

        return ElasticsearchEvidence(config.elasticsearch, embedder=embedder)
    from .sqlite import SqliteEvidence

    return SqliteEvidence(config.resolve(config.embedded.path), embedder)
