"""How documents lie in an Elasticsearch index, and the queries that find their chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import punctuation
from typing import Any, Final

from agentguard.content._text import STOPWORDS
from agentguard.gate.elastic import Template, document_id
from agentguard.gate.types import Chunk, Document, Passage

__all__ = [
    "MOST", "by_id", "by_vector", "by_words", "entry", "index_template", "other_vectors", "passages", "telling_words",
    "vector_field", "vector_mapping",
]  # fmt: skip

MOST: Final = 10_000  # passages that one search gives
MOST_CHUNKS: Final = 50_000  # of one document
MOST_WORDS: Final = 200
MOST_CHARACTERS: Final = 2_000  # of a query; scripts without spaces make a word of nearly each
FIELDS: Final = ("chunks.text", "chunks.heading^2", "chunks.title^2")
PARTS: Final = ("id", "title", "heading", "text", "start", "end")


def index_template(index: str) -> Template:
    """One entry a document, its chunks nested in it, all fields known but those of vectors."""
    keyword, text, number = {"type": "keyword"}, {"type": "text"}, {"type": "integer", "index": False}
    chunk = {"id": keyword, "title": text, "heading": text, "text": text, "start": number, "end": number}
    mappings = {
        "dynamic": "strict",
        "_source": {"excludes": ["chunks.vectors"]},  # each hit would read those of its whole document
        "properties": {
            "uri": keyword,
            "title": text,
            "digest": keyword,
            "embedder": keyword,
            "dimensions": {"type": "integer"},
            "chunks": {"type": "nested", "properties": chunk | {"vectors": {"type": "object"}}},
        },
    }
    settings = {
        "number_of_shards": 1,
        "auto_expand_replicas": "0-1",
        "mapping.nested_objects.limit": MOST_CHUNKS,
        "max_inner_result_window": MOST,
    }
    return Template(index, mappings, settings)


def vector_field(embedder: str, dimensions: int) -> str:
    """Below ``chunks.vectors``: vectors of each embedder and length have a field of their own."""
    return f"v{document_id(embedder, dimensions)}"


def vector_mapping(field: str, dimensions: int) -> dict[str, Any]:
    """What such a field adds to the index."""
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
    """What a search has found: the best chunks of all are among the best ones of the best documents."""
    found = [
        Passage(Chunk(document=hit["fields"]["uri"][0], **piece["_source"]), piece["sort"][0])
        for hit in answer["hits"]["hits"]
        for piece in hit["inner_hits"]["chunks"]["hits"]["hits"]
    ]
    return sorted(found, key=lambda passage: (-passage.score, passage.chunk.id, passage.chunk.document))[:limit]


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
