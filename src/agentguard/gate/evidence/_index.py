"""The protocol of an evidence index, and what all indices share: its digest, names of embeddings, fusion by rank."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from agentguard.errors import ConfigurationError, DataError
from agentguard.gate._types import Chunk, Document, Passage

Vector = Sequence[float]


class Embeddings(Protocol):
    """Texts into vectors: any ``langchain_core.embeddings.Embeddings`` is one."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector for each text, all of one length."""

    def embed_query(self, text: str) -> list[float]:
        """The vector of what is searched for, comparable with those of documents."""


class Indexed(NamedTuple):
    """A document as an index takes it: with its chunks, and a vector for each."""

    document: Document
    chunks: Sequence[Chunk]
    vectors: Sequence[Vector]


class EvidenceIndex(Protocol):
    """Trusted documents, in chunks that can be searched.

    Every method raises ``StoreError`` where the index cannot do what was asked. A reader never sees half a document:
    ``replace`` and ``remove`` take effect as a whole, or not at all.

    An index may also have ``replace_all(documents: Sequence[Indexed])``, which replaces several at once: an ingest of
    many small documents is faster by it.
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
        """The chunk with this id; None if there is none, or no longer."""

    def digest(self) -> str:
        """One hexadecimal digest of all that is indexed: runs with equal digests had the same evidence."""

    def close(self) -> None:
        """Close files and connections; may be called twice."""


# --- What can be indexed ---


def check_document(document: Document, chunks: Sequence[Chunk], vectors: Sequence[Vector]) -> None:
    """Refuse what no index takes.

    Raises:
        DataError: If vectors are not one a chunk, a chunk is another document's, or a text is no Unicode.
    """
    if len(chunks) != len(vectors):
        raise DataError(f"{document.uri}: {len(chunks)} chunks and {len(vectors)} vectors; give one for each chunk")
    texts = [document.uri, document.digest, *(text for c in chunks for text in (c.id, c.title, c.heading, c.text))]
    if not all(map(is_unicode, texts)):
        raise DataError(f"{document.uri!r} holds lone surrogates, which are no text; decode it with errors='replace'")
    if any(chunk.document != document.uri for chunk in chunks):
        raise DataError(f"{document.uri}: a chunk is of another document; give a document with its own chunks")


def is_unicode(text: str) -> bool:
    """Whether UTF-8 can say a text: it has no lone surrogates, as Python's strings may."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# --- Digest of an index ---


def evidence_digest(embedder: str, documents: Mapping[str, str]) -> str:
    """The digest of an index, whatever keeps it: of the embedder's name, and of each document's uri and digest.

    Args:
        embedder: Whose vectors the chunks have.
        documents: Digests by uri, in any order.

    Returns:
        128 bits, in hexadecimal.

    >>> one, other = {"a.md": "1f", "b.md": "2e"}, {"b.md": "2e", "a.md": "1f"}
    >>> evidence_digest("lexical", one) == evidence_digest("lexical", other)
    True
    """
    hashed = hashlib.blake2b(digest_size=16)
    for part in (embedder, *(part for item in sorted(documents.items()) for part in item)):
        data = part.encode("utf-8", "surrogatepass")
        hashed.update(len(data).to_bytes(8, "big"))  # so that no two lists of parts run together into the same bytes
        hashed.update(data)
    return hashed.hexdigest()


# --- Name of the embeddings ---


def embedder_name(embeddings: Embeddings) -> str:
    """Its ``name``; where it has none, its class, with what the embeddings of LangChain tell their models apart by.

    >>> from agentguard.gate.evidence._vectors import LexicalEmbeddings
    >>> embedder_name(LexicalEmbeddings())
    'lexical'
    """
    name = getattr(embeddings, "name", None)
    if isinstance(name, str):
        return name
    kind = type(embeddings)
    said = (getattr(embeddings, name, None) for name in ("model", "model_id", "model_name", "dimensions"))
    return ":".join((kind.__module__, kind.__qualname__, *(str(each) for each in said if isinstance(each, (str, int)))))


# --- Fusing rankings ---


def reciprocal_rank(rankings: Sequence[Sequence[Passage]], k: float = 60.0) -> list[Passage]:
    """Fuse rankings whose scores cannot be compared, by the ranks alone.

    A chunk's score is the sum of 1 / (k + rank) over the rankings that have it, where the best has rank 1. Of equal
    scores the chunk comes first that an earlier ranking has further up.

    Source: Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning
    methods", SIGIR 2009, which settles on k = 60.

    Args:
        rankings: Each with the best first; of a chunk that one has twice, the first counts.
        k: How little the first ranks stand out; 0 or more.

    Raises:
        ConfigurationError: If k is something else.

    >>> from agentguard.gate._types import Chunk
    >>> a, b, c = (Passage(Chunk(name, "doc.md", "", "", name, 0, 1), 1.0) for name in "abc")
    >>> [(passage.chunk.id, round(passage.score, 5)) for passage in reciprocal_rank([[a, b], [b, c]])]
    [('b', 0.03252), ('a', 0.01639), ('c', 0.01613)]
    """
    if not 0 <= k < math.inf:
        raise ConfigurationError(f"k must be a finite number, 0 or more, not {k!r}")
    chunks: dict[str, Chunk] = {}
    ranks: dict[str, list[float]] = {}
    for number, ranking in enumerate(rankings):
        distinct = dict.fromkeys(passage.chunk.id for passage in ranking)
        for rank, chunk_id in enumerate(distinct, 1):
            ranks.setdefault(chunk_id, [math.inf] * len(rankings))[number] = rank
        for passage in ranking:
            chunks.setdefault(passage.chunk.id, passage.chunk)
    scores = {chunk_id: math.fsum(1 / (k + rank) for rank in positions) for chunk_id, positions in ranks.items()}
    order = sorted(chunks, key=lambda chunk_id: (-scores[chunk_id], ranks[chunk_id], chunk_id))
    return [Passage(chunks[chunk_id], scores[chunk_id]) for chunk_id in order]
