"""Searching evidence by words: no question is an operator of the index, and none is an error."""

from __future__ import annotations

from functools import lru_cache

from agentguard.errors import DataError
from agentguard.gate._types import Document
from agentguard.gate.documents._chunking import chunk_document
from agentguard.gate.evidence._sqlite import SqliteEvidence, match_expression, query_words
from agentguard.gate.evidence._vectors import LexicalEmbeddings
from fuzz import grammar, tokens
from fuzz.harness import Harness, folder
from fuzz.trial import Trial, require

__all__ = ["HARNESSES"]

OPERATORS = (
    *(
        '"',
        '""',
        "*",
        "^",
        "NEAR(",
        "NEAR/9",
        "AND",
        "OR",
        "NOT",
        "title:",
        "{title text}:",
        "(",
        ")",
        "+",
        "-",
        ";",
        "'",
    ),
    *("--", "/*", "warranty", "returns", "free", "shipping", "ﬁ", "İ", "ẞ", "ŉ", "\0", "%", "_", "\\"),
)
TEXT = "# Returns\n\nReturns are free within 30 days. Shipping is free.\n\n# Warranty\n\nThe warranty covers 2 years."


@lru_cache(maxsize=1)
def _index() -> SqliteEvidence:
    embeddings = LexicalEmbeddings()
    index = SqliteEvidence(folder() / "evidence", "lexical")
    document = Document("terms.md", "Terms", TEXT, "0")
    chunks = chunk_document(document)
    index.replace(document, chunks, embeddings.embed_documents([chunk.text for chunk in chunks]))
    return index


def _keyword(trial: Trial) -> None:
    source = trial.source
    query = grammar.text(source, (OPERATORS, OPERATORS, tokens.WORDS, tokens.UNICODE, tokens.NUMBERS), 24)
    index, limit = _index(), source.choice((5, 1, 0, -1, 10**6))
    found = trial.call(index.keyword, query, limit, of=query)
    require(len(found) <= max(limit, 0), "more than was asked for")
    require(index.keyword("warranty", 1) != [], "the index is gone")
    expression = match_expression(query_words(query))
    require(
        expression.count('"') % 2 == 0
        and ("warranty" not in query.split() or '"warranty"' in expression or len(query) > 400),
        "words are lost",
    )
    trial.call(index.chunk, query)


def _vectors(trial: Trial) -> None:
    """The embedded vectors: of any text, finite, and equal for equal texts."""
    text = grammar.text(trial.source)
    vector = trial.call(LexicalEmbeddings().embed_query, text)
    require(all(-1.001 <= each <= 1.001 for each in vector), "a vector that is not of length 1")
    trial.call(_index().vector, vector, 3, of=())


def _planting(trial: Trial) -> None:
    """A document of any text: kept as it stands, or refused."""
    text = grammar.text(trial.source)
    document = Document(grammar.name(trial.source) or "d", "T", text, "1")
    chunks = chunk_document(document)
    index = SqliteEvidence(folder() / "planted", "lexical")
    done = trial.call(
        index.replace, document, chunks, [[1.0, 0.0]] * len(chunks), allowed=DataError, again=False, of=text
    )
    if done is None:
        require(index.documents() == {document.uri: "1"}, "the document is not there")
        for chunk in chunks[:3]:
            require(index.chunk(chunk.id) == chunk, "a chunk came back as another")
        index.remove([document.uri])
    require(index.documents() == {}, "something was left behind")
    index.close()


HARNESSES = (
    Harness("keyword_search", "SqliteEvidence.keyword, query_words, match_expression", _keyword),
    Harness("vector_search", "LexicalEmbeddings, SqliteEvidence.vector", _vectors),
    Harness("evidence_rows", "SqliteEvidence.replace, chunk, remove", _planting),
)
