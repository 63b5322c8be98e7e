"""An evidence index in an Elasticsearch cluster: BM25 and nearest vectors, one entry a document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from string import punctuation
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agentguard.content._text import STOPWORDS
from agentguard.errors import ConfigurationError, DataError
from agentguard.gate._config import ElasticsearchConfig
from agentguard.gate._types import Chunk, Document, Passage
from agentguard.gate.backends._elasticsearch import ElasticConnection, Template, document_id
from agentguard.gate.evidence._index import Vector, check_document, evidence_digest
from agentguard.gate.evidence._vectors import unit_vectors

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch


MOST: Final = 10_000  # passages that one search gives, as documents.json has it
MOST_WORDS: Final = 200
MOST_CHARACTERS: Final = 2_000  # of a query; scripts without spaces make a word of nearly each
FIELDS: Final = ("chunks.text", "chunks.heading^2", "chunks.title^2")
PARTS: Final = ("id", "title", "heading", "text", "start", "end")


def vector_field(embedder: str, dimensions: int) -> str:
    """Below ``chunks.vectors``: vectors of each embedder and length have a field of their own."""
    return f"v{document_id(embedder, dimensions)}"


def vector_mapping(field: str, dimensions: int) -> dict[str, Any]:
    """Mapping of such a field."""
    vector = {
        "type": "dense_vector",
        "dims": dimensions,
        "index": True,
        "similarity": "cosine",
        "index_options": {"type": "flat"},
    }
    vectors = {"type": "object", "properties": {field: vector}}
    return {"chunks": {"type": "nested", "properties": {"vectors": vectors}}}


def entry(
    document: Document, chunks: Sequence[Chunk], units: Sequence[Any], embedder: str, dimensions: int
) -> dict[str, Any]:
    """A document as it is indexed; ``units`` are vectors of length 1, or 0."""
    field = vector_field(embedder, dimensions)
    return {
        "uri": document.uri,
        "title": document.title,
        "digest": document.digest,
        "embedder": embedder,
        "dimensions": dimensions,
        "chunks": [
            {part: getattr(chunk, part) for part in PARTS} | ({"vectors": {field: unit}} if unit.any() else {})
            for chunk, unit in zip(chunks, units, strict=True)
        ],
    }


def other_vectors(embedder: str, dimensions: int) -> dict[str, Any]:
    """A search whose hits are documents of another embedder or length, and whose ``same`` counts those of this one."""
    lengths = {"terms": {"dimensions": [0, dimensions]}} if dimensions else {"match_all": {}}
    like = {"bool": {"filter": [{"term": {"embedder": embedder}}, lengths]}}
    some = {"range": {"dimensions": {"gt": 0}}}
    return {
        "size": 1,
        "query": {"match_all": {}},
        "post_filter": {"bool": {"must_not": like}},
        "aggs": {"same": {"filter": {"bool": {"filter": [like, some]}}}},
        "source": ["embedder", "dimensions"],
    }


def telling_words(query: str) -> str:
    """The query's different words, without those that say nothing by themselves where there are others.

    >>> telling_words('What does the "warranty" NOT cover?')
    '"warranty" cover?'
    >>> telling_words("To be, or not to be")
    'To be, or not'
    """
    words: dict[str, str] = {}
    for word in query.encode(errors="replace").decode().split():
        words.setdefault(word.strip(punctuation).lower(), word)
    telling = [word for bare, word in words.items() if bare not in STOPWORDS] or list(words.values())
    return " ".join(telling[:MOST_WORDS])[:MOST_CHARACTERS]


def by_words(words: str, limit: int) -> dict[str, Any]:
    """A search for chunks that share words, all fields of a chunk taken together."""
    return _search(_nested({"combined_fields": {"query": words, "fields": FIELDS}}, limit), limit)


def by_id(chunk_id: str) -> dict[str, Any]:
    """A search for one chunk."""
    return _search(_nested({"term": {"chunks.id": chunk_id}}, 1), 1)


def by_vector(field: str, direction: Sequence[float], limit: int) -> dict[str, Any]:
    """A search for the chunks whose vectors are nearest."""
    knn = {
        "field": f"chunks.vectors.{field}",
        "query_vector": direction,
        "k": limit,
        "num_candidates": limit,
        "inner_hits": _inner_hits(limit),
    }
    return _search({}, limit) | {"knn": knn}


def passages(answer: Mapping[str, Any], limit: int) -> list[Passage]:
    """Passages of an answer: the best chunks of all are among the best ones of the best documents."""
    results = [
        Passage(Chunk(document=hit["fields"]["uri"][0], **piece["_source"]), piece["sort"][0])
        for hit in answer["hits"]["hits"]
        for piece in hit["inner_hits"]["chunks"]["hits"]["hits"]
    ]
    return sorted(results, key=lambda passage: (-passage.score, passage.chunk.id, passage.chunk.document))[:limit]


def _search(query: Mapping[str, Any], limit: int) -> dict[str, Any]:
    search = {
        "size": limit,
        "sort": [{"_score": "desc"}, {"uri": "asc"}],
        "source": False,
        "docvalue_fields": ["uri"],
        "track_total_hits": False,
    }
    return search | ({"query": query} if query else {})


def _nested(query: Mapping[str, Any], limit: int) -> dict[str, Any]:
    return {"nested": {"path": "chunks", "score_mode": "max", "query": query, "inner_hits": _inner_hits(limit)}}


def _inner_hits(limit: int) -> dict[str, Any]:
    return {"size": limit, "sort": [{"_score": "desc"}, {"chunks.id": "asc"}]}


def has_documents_alone(client: Elasticsearch, index: str) -> bool:
    """Whether the entries of an index are no documents with chunks, but the published document's: a text, a vector."""
    return not client.field_caps(index=index, fields=["chunks.text"]).body["fields"]


# --- The index ---

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
        config: Cluster and index.
        embedder: Names whose vectors are written and searched. An index that holds those of another can be read and
            searched by words; to write it, ingest all documents anew into an empty one.
        dims: The length of its vectors; None: what the first one says.
        environ: Where credentials are; None: the process's environment.

    Raises:
        StoreError: From every method, if the cluster cannot be reached or refuses.
        ConfigurationError: If the vectors are another embedder's, or of another length; where numpy is missing.
        DataError: For what cannot be indexed: vectors that are not one a chunk or not finite, text that is no Unicode.
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
        if self._connection.ask(lambda client: has_documents_alone(client, self._index), missing=lambda: False):
            raise ConfigurationError(
                f"the index {self._index!r} has entries as index_doc of agentguard.gate.workflow writes them: name "
                "another index in elasticsearch.index, and ingest the documents into that"
            )
        return {row.uri: row.digest for row in self._rows()}

    def replace(self, document: Document, chunks: Sequence[Chunk], vectors: Sequence[Vector]) -> None:
        check_document(document, chunks, vectors)
        if len(document.uri) > LONGEST_URI:
            raise DataError(
                f"{document.uri[:80]}…: a uri has at most {LONGEST_URI} characters, not {len(document.uri)}"
            )
        units = list(unit_vectors(vectors)) if chunks else []
        dimensions = len(units[0]) if units else 0
        self._check_vectors(dimensions)
        self._make_writable(dimensions)
        body = entry(document, chunks, units, self._embedder, dimensions)
        name = document_id(document.uri)
        self._connection.ask(lambda client: client.index(index=self._index, id=name, document=body, refresh=True))

    def remove(self, uris: Iterable[str]) -> None:
        self._connection.bulk(
            {"_op_type": "delete", "_index": self._index, "_id": document_id(uri)} for uri in dict.fromkeys(uris)
        )

    def keyword(self, query: str, limit: int) -> list[Passage]:
        words, limit = telling_words(query), min(limit, MOST)
        return self._found(by_words(words, limit), limit) if words and limit > 0 else self._nothing()

    def vector(self, query: Vector, limit: int) -> list[Passage]:
        direction, limit = unit_vectors([query])[0], min(limit, MOST)
        field = vector_field(self._embedder, len(direction))
        known = field in self._searchable
        if not known and not self._check_vectors(len(direction)):
            return []
        if limit <= 0 or not direction.any():
            return self._nothing()
        results = self._found(by_vector(field, direction.tolist(), limit), limit)
        if not results and known:  # it may have been emptied, and filled by another embedder
            self._searchable.discard(field)
            return self.vector(query, limit)
        self._searchable.add(field)
        # The cluster scores by (1 + cosine) / 2.
        return [Passage(passage.chunk, round(2.0 * passage.score - 1.0, 6)) for passage in results]

    def chunk(self, chunk_id: str) -> Chunk | None:
        results = self._found(by_id(chunk_id), 1)
        return results[0].chunk if results else None

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
        return [] if answer is None else passages(answer, limit)

    def _search(self, search: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer; None if there is no index yet."""

        def answer(client: Elasticsearch) -> dict[str, Any] | None:
            results: dict[str, Any] = client.search(
                index=self._index, allow_partial_search_results=False, **search
            ).body
            return results

        return self._connection.ask(answer, missing=lambda: None)

    def _rows(self) -> list[_Row]:
        """Read all documents by their uris, as they were at one moment."""
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
        answer = self._search(other_vectors(self._embedder, dimensions))
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
        field = vector_field(self._embedder, dimensions)
        if field not in self._writable:
            properties = vector_mapping(field, dimensions) if dimensions else {}
            if not self._connection.make_index(Template.named("documents", self._index), properties) and properties:
                self._connection.ask(lambda client: _add_field(client, self._index, field, properties))
            self._writable.add(field)


def _add_field(client: Elasticsearch, index: str, field: str, properties: dict[str, Any]) -> None:
    """Only where it is not there: to add one takes a privilege more."""
    known = client.options(ignore_status=404).indices.get_field_mapping(index=index, fields=f"chunks.vectors.{field}")
    if not known.body.get(index, {}).get("mappings"):
        client.indices.put_mapping(index=index, properties=properties)
