"""What the gate asks of an index of trusted documents: put in, take out, search by words and by meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from agentguard.gate.types import Chunk, Document, Passage

__all__ = ["Embeddings", "EvidenceIndex", "Vector"]

Vector = Sequence[float]


class Embeddings(Protocol):
    """Texts into vectors: any ``langchain_core.embeddings.Embeddings`` is one."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector for each text, all of one length."""

    def embed_query(self, text: str) -> list[float]:
        """The vector of what is searched for, comparable with those of documents."""


class EvidenceIndex(Protocol):
    """Trusted documents, in chunks that can be searched.

    Every method raises ``StoreError`` where the index cannot do what was asked. A reader never sees half a document:
    ``replace`` and ``remove`` take effect as a whole, or not at all.
    """

    def documents(self) -> Mapping[str, str]:
        """The digest of every document that is indexed, by its uri."""

    def replace(self, document: Document, chunks: Sequence[Chunk], vectors: Sequence[Vector]) -> None:
        """Index a document, in place of what was indexed under its uri; ``vectors`` holds one for each chunk."""

    def remove(self, uris: Iterable[str]) -> None:
        """Forget documents; one that is not there is no error."""

    def keyword(self, query: str, limit: int) -> list[Passage]:
        """The chunks that share words with the query, by BM25, the best first. Any text is a query."""

    def vector(self, query: Vector, limit: int) -> list[Passage]:
        """The chunks whose vectors point where the query's does, by cosine similarity, the best first."""

    def chunk(self, chunk_id: str) -> Chunk | None:
        """The chunk with this id; None where there is none, or no longer."""

    def digest(self) -> str:
        """One hexadecimal digest of all that is indexed: runs with equal digests had the same evidence."""

    def close(self) -> None:
        """Let go of files and connections; may be called twice."""
