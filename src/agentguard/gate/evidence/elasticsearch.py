"""Trusted documents in an Elasticsearch cluster: BM25 and nearest vectors, one entry a document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agentguard.errors import ConfigurationError, DataError
from agentguard.gate.config import ElasticsearchConfig
from agentguard.gate.elastic import ElasticConnection, document_id
from agentguard.gate.types import Chunk, Document, Passage

from . import elasticsearch_index as queries
from .base import Vector
from .digest import evidence_digest
from .vectors import unit_vectors

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

__all__ = ["ElasticsearchEvidence"]

PAGE: Final = 1_000  # documents that are listed at once
LONGEST_URI: Final = 8_191  # characters; beyond, a cluster may not keep it as one word


class _Row(NamedTuple):
    uri: str
    digest: str
    embedder: str


class ElasticsearchEvidence:
    """An ``EvidenceIndex`` in one index of a cluster.

    A document is one entry, its chunks are nested in it. The cluster replaces or deletes an entry as a whole, which is
    why no reader sees half a document, whoever dies when; and it shows the change to every search that begins after
    the call. What one entry cannot be, 50,000 chunks or 100 MB, is refused.

    Words are compared without case by the ``standard`` analyzer, and documents may be of any language. To have endings
    cut, put a template named ``agentguard-<index>`` into the cluster before the first ingest, with another analyzer for
    text, heading and title alike. A word of a title or heading counts twice. Vectors are compared one by one, so that
    the nearest found are the nearest there are, in every run; each embedder's have a field of their own, so that those
    of two are never compared.

    Args:
        config: cluster and index.
        embedder: names whose vectors are written and searched. An index that holds those of another can be read and
            searched by words; to write it, ingest all documents anew into an empty one.
        dims: the length of its vectors; None: what the first one says.
        environ: where credentials are; None: the process's environment.

    Raises:
        StoreError: from every method, where the cluster cannot be reached or refuses.
        ConfigurationError: where the vectors are another embedder's, or of another length; where numpy is missing.
        DataError: for what cannot be indexed: vectors that are not one a chunk or not finite, text that is no Unicode.
    """

    def __init__(
        self,
        config: ElasticsearchConfig,
        embedder: str,
        dims: int | None = None,
        *,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._connection = ElasticConnection(config, environ)
        self._index, self._embedder, self._dims = config.index, embedder, dims
        self._writable: set[str] = set()  # fields of vectors that the index is known to have
        self._searchable: set[str] = set()  # fields that were found to hold all vectors there are

    def __repr__(self) -> str:
        return f"<ElasticsearchEvidence {self._index!r}, {self._connection.where}>"

    def documents(self) -> Mapping[str, str]:
        return {row.uri: row.digest for row in self._rows()}

    def replace(self, document: Document, chunks: Sequence[Chunk], vectors: Sequence[Vector]) -> None:
        _check_document(document, chunks, vectors)
        units = list(unit_vectors(vectors)) if chunks else []
        dimensions = len(units[0]) if units else 0
        self._check_vectors(dimensions)
        self._make_writable(dimensions)
        body = queries.entry(document, chunks, units, self._embedder, dimensions)
        name = document_id(document.uri)
        self._connection.ask(lambda client: client.index(index=self._index, id=name, document=body, refresh=True))

    def remove(self, uris: Iterable[str]) -> None:
        self._connection.bulk(
            {"_op_type": "delete", "_index": self._index, "_id": document_id(uri)} for uri in dict.fromkeys(uris)
        )

    def keyword(self, query: str, limit: int) -> list[Passage]:
        words, limit = queries.telling_words(query), min(limit, queries.MOST)
        return self._found(queries.by_words(words, limit), limit) if words and limit > 0 else self._nothing()

    def vector(self, query: Vector, limit: int) -> list[Passage]:
        direction, limit = unit_vectors([query])[0], min(limit, queries.MOST)
        field = queries.vector_field(self._embedder, len(direction))
        known = field in self._searchable
        if not known and not self._check_vectors(len(direction)):
            return []
        if limit <= 0 or not direction.any():
            return self._nothing()
        found = self._found(queries.by_vector(field, direction.tolist(), limit), limit)
        if not found and known:  # it may have been emptied, and filled by another embedder
            self._searchable.discard(field)
            return self.vector(query, limit)
        self._searchable.add(field)
        # The cluster scores by (1 + cosine) / 2.
        return [Passage(passage.chunk, round(2.0 * passage.score - 1.0, 6)) for passage in found]

    def chunk(self, chunk_id: str) -> Chunk | None:
        found = self._found(queries.by_id(chunk_id), 1)
        return found[0].chunk if found else None

    def digest(self) -> str:
        rows = self._rows()
        embedder = rows[0].embedder if rows else self._embedder
        return evidence_digest(embedder, {row.uri: row.digest for row in rows})

    def close(self) -> None:
        self._connection.close()

    def _nothing(self) -> list[Passage]:
        self._connection.check_open()
        return []

    def _found(self, search: Mapping[str, Any], limit: int) -> list[Passage]:
        answer = self._search(search)
        return [] if answer is None else queries.passages(answer, limit)

    def _search(self, search: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer; None where there is no index yet."""

        def answer(client: Elasticsearch) -> dict[str, Any] | None:
            found: dict[str, Any] = client.search(index=self._index, allow_partial_search_results=False, **search).body
            return found

        return self._connection.ask(answer, missing=lambda: None)

    def _rows(self) -> list[_Row]:
        """All documents by their uris, as they were at one moment."""
        moment = self._connection.ask(
            lambda client: client.open_point_in_time(index=self._index, keep_alive="1m").body["id"],
            missing=lambda: None,
        )
        rows: list[_Row] = []
        page: dict[str, Any] = {
            "size": PAGE,
            "sort": [{"uri": "asc"}],
            "source": False,
            "docvalue_fields": ["uri", "digest", "embedder"],
            "pit": {"id": moment, "keep_alive": "1m"},
            "allow_partial_search_results": False,
        }
        while moment is not None:
            hits = self._connection.ask(lambda client: client.search(**page).body["hits"]["hits"])
            rows += [_Row(*(hit["fields"][name][0] for name in _Row._fields)) for hit in hits]
            if len(hits) < PAGE:
                self._connection.ask(lambda client: client.close_point_in_time(id=moment))
                break
            page["search_after"] = hits[-1]["sort"]
        return rows

    def _check_vectors(self, dimensions: int) -> bool:
        """Whether the index has vectors of this embedder and length; refuses where it has others."""
        if self._dims and dimensions and dimensions != self._dims:
            raise ConfigurationError(f"vectors of {self._embedder!r} have {self._dims} components, not {dimensions}")
        answer = self._search(queries.other_vectors(self._embedder, dimensions))
        if answer is None:
            self._writable.clear()
            return False
        for hit in answer["hits"]["hits"]:
            embedder, known = hit["_source"]["embedder"], hit["_source"]["dimensions"]
            theirs, ours = (
                (f"{known} components", f"{dimensions}") if embedder == self._embedder else (embedder, self._embedder)
            )
            raise ConfigurationError(
                f"the index {self._index!r} holds vectors of {theirs}, not of {ours}: name another index or the "
                "embeddings that made it, or remove its documents and ingest them again"
            )
        return int(answer["aggregations"]["same"]["doc_count"]) > 0

    def _make_writable(self, dimensions: int) -> None:
        """Make the index, and the field of these vectors in it, where they are not there."""
        field = queries.vector_field(self._embedder, dimensions)
        if field not in self._writable:
            properties = queries.vector_mapping(field, dimensions) if dimensions else {}
            if not self._connection.make_index(queries.index_template(self._index), properties) and properties:
                self._connection.ask(lambda client: _add_field(client, self._index, field, properties))
            self._writable.add(field)


def _add_field(client: Elasticsearch, index: str, field: str, properties: dict[str, Any]) -> None:
    """Only where it is not there: to add one takes a privilege more."""
    known = client.options(ignore_status=404).indices.get_field_mapping(index=index, fields=f"chunks.vectors.{field}")
    if not known.body.get(index, {}).get("mappings"):
        client.indices.put_mapping(index=index, properties=properties)


def _check_document(document: Document, chunks: Sequence[Chunk], vectors: Sequence[Vector]) -> None:
    if len(chunks) != len(vectors):
        raise DataError(f"{document.uri}: {len(chunks)} chunks and {len(vectors)} vectors; give one for each chunk")
    if any(chunk.document != document.uri for chunk in chunks):
        raise DataError(f"{document.uri}: a chunk is of another document; give a document with its own chunks")
    if len(document.uri) > LONGEST_URI:
        raise DataError(f"{document.uri[:80]}…: a uri has {LONGEST_URI} characters at most, not {len(document.uri)}")
    texts = (document.uri, document.digest, *(text for c in chunks for text in (c.id, c.title, c.heading, c.text)))
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise DataError(
            f"{document.uri!r} holds lone surrogates, which are no text; decode it with errors='replace'"
        ) from None
