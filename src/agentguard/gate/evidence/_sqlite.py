"""An evidence index in one SQLite file: BM25 by FTS5, vectors in a matrix."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentguard.content._text import STOPWORDS
from agentguard.errors import ConfigurationError
from agentguard.gate._types import Chunk, Document, Passage
from agentguard.gate.backends import schema
from agentguard.gate.backends._sqlite import Database, Format
from agentguard.gate.evidence._index import Vector, check_document, evidence_digest, is_unicode
from agentguard.gate.evidence._vectors import matrix_of, nearest, unit_vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MOST_WORDS: Final = 200
LONGEST_WORD: Final = 100
_WORDS: Final = re.compile(r"[^\W_]+")
_FIRST: Final = 100_000  # characters of a text that are read


def match_expression(text: str) -> str:
    """Make an FTS5 expression of any of the text's words, each quoted, so that none is an operator.

    Words that say nothing by themselves are left out where there are others.

    Args:
        text: Anything; of a long one the first 200 different words count.

    Returns:
        empty if the text has no word.

    >>> match_expression('What does the "warranty" NOT cover?')
    '"warranty" OR "cover"'
    >>> match_expression("To be, or not to be")
    '"to" OR "be" OR "or" OR "not"'
    >>> match_expression("?!")
    ''
    """
    words = dict.fromkeys(word.casefold() for word in _WORDS.findall(text[:_FIRST]))
    telling = [word for word in words if word not in STOPWORDS] or list(words)
    # FTS5's own idea of a word may differ: what it cuts in two is then a phrase, and what it ignores finds nothing.
    return " OR ".join(f'"{word}"' for word in telling[:MOST_WORDS] if len(word) <= LONGEST_WORD)


# --- The index ---

FILE: Final = "evidence.sqlite"

FORMAT: Final = Format(
    noun="evidence index",
    application=0x61674576,
    version=1,
    survives="process",  # what a failure of power takes is found missing by its digest, and ingested again
    schema=schema("evidence.sql"),
)
TITLE, HEADING, TEXT = 1.0, 1.0, 1.0  # what a word found there weighs

_CHUNK: Final = "c.id, d.uri, c.title, c.heading, c.text, c.first, c.beyond"
_BY_WORDS: Final = f"""
    SELECT -bm25(words, {TITLE}, {HEADING}, {TEXT}) AS score, {_CHUNK}
    FROM words JOIN chunks c ON c.number = words.rowid JOIN documents d ON d.number = c.document
    WHERE words MATCH ? ORDER BY score DESC, c.id, d.uri LIMIT ?
"""  # noqa: S608  # constants of this file
_BY_NUMBER: Final = f"SELECT {_CHUNK} FROM chunks c JOIN documents d ON d.number = c.document WHERE c.number = ?"  # noqa: S608
_BY_ID: Final = f"""
    SELECT {_CHUNK} FROM chunks c JOIN documents d ON d.number = c.document WHERE c.id = ? ORDER BY d.uri LIMIT 1
"""  # noqa: S608
_VECTORS: Final = """
    SELECT c.number, c.vector FROM chunks c JOIN documents d ON d.number = c.document
    WHERE c.vector IS NOT NULL ORDER BY c.id, d.uri
"""
_WORDS_COME: Final = """
    INSERT INTO words (rowid, title, heading, text)
    SELECT number, title, heading, text FROM chunks WHERE document = ?
"""
_WORDS_GO: Final = """
    INSERT INTO words (words, rowid, title, heading, text)
    SELECT 'delete', number, title, heading, text FROM chunks WHERE document = ?
"""


class SqliteEvidence:
    """An ``EvidenceIndex`` in the file ``evidence.sqlite`` of a folder, for any number of threads and processes.

    Words are compared without case, accents and English endings; a passage needs one of the query's words that says
    something. Vectors are compared one by one, from a matrix that is read into memory at the first search, and again
    when the index has changed: 4 bytes times their length a chunk.

    Args:
        folder: Made with mode 0700 where it is not there; the file has mode 0600.
        embedder: Names whose vectors are written and searched. An index that holds those of another can be read and
            searched by words; to write it, ingest all documents anew into an empty one.

    Raises:
        StoreError: From every method, if the file cannot be used; nothing of what was to be written is then.
        ConfigurationError: If the vectors are another embedder's, or of another length; where numpy is missing.
        DataError: For what cannot be indexed: vectors that are not one a chunk or not finite, text that is no Unicode.
    """

    def __init__(self, folder: str | os.PathLike[str], embedder: str) -> None:
        self._embedder = embedder
        self._database = Database(Path(folder) / FILE, FORMAT)
        self._changes = -1
        self._numbers: list[int] = []
        self._matrix: NDArray[np.float32] | None = None

    def documents(self) -> Mapping[str, str]:
        with self._database.reading() as rows:
            return _documents(rows)

    def replace(self, document: Document, chunks: Sequence[Chunk], vectors: Sequence[Vector]) -> None:
        blobs, dimensions = _blobs(document, chunks, vectors)
        with self._database.writing() as rows:
            self._claim(rows, dimensions)
            _remove(rows, document.uri)
            cursor = rows.execute("INSERT INTO documents (uri, digest) VALUES (?, ?)", (document.uri, document.digest))
            rows.executemany(
                "INSERT INTO chunks (id, document, title, heading, text, first, beyond, vector) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (chunk.id, cursor.lastrowid, chunk.title, chunk.heading, chunk.text, chunk.start, chunk.end, blob)
                    for chunk, blob in zip(chunks, blobs, strict=True)
                ],
            )
            rows.execute(_WORDS_COME, (cursor.lastrowid,))
            rows.execute("UPDATE state SET changes = changes + 1")

    def remove(self, uris: Iterable[str]) -> None:
        unwanted = [uri for uri in uris if is_unicode(uri)]
        with self._database.writing() as rows:
            for uri in unwanted:
                _remove(rows, uri)
            rows.execute("UPDATE state SET changes = changes + 1")

    def keyword(self, query: str, limit: int) -> list[Passage]:
        expression = match_expression(query)
        with self._database.reading() as rows:
            if not expression or limit <= 0:
                return []
            return [Passage(Chunk(*row), score) for score, *row in rows.execute(_BY_WORDS, (expression, limit))]

    def vector(self, query: Vector, limit: int) -> list[Passage]:
        direction = unit_vectors([query])[0]
        with self._database.reading() as rows:
            changes, dimensions = self._check(rows, len(direction))
            if changes != self._changes:
                result = rows.execute(_VECTORS).fetchall()
                self._numbers = [number for number, _ in result]
                self._matrix = matrix_of([blob for _, blob in result], dimensions)
                self._changes = changes
            if self._matrix is None or not direction.any():
                return []
            return [
                Passage(Chunk(*rows.execute(_BY_NUMBER, (self._numbers[row],)).fetchone()), score)
                for row, score in nearest(self._matrix, direction, limit)
            ]

    def chunk(self, chunk_id: str) -> Chunk | None:
        with self._database.reading() as rows:
            result = rows.execute(_BY_ID, (chunk_id,)).fetchone() if is_unicode(chunk_id) else None
            return None if result is None else Chunk(*result)

    def digest(self) -> str:
        with self._database.reading() as rows:
            (embedder,) = rows.execute("SELECT embedder FROM state").fetchone()
            documents = _documents(rows)
        return evidence_digest(embedder if documents else self._embedder, documents)

    def close(self) -> None:
        self._database.close()
        self._numbers, self._matrix, self._changes = [], None, -1

    def _claim(self, rows: sqlite3.Connection, dimensions: int) -> None:
        """An index without documents takes any embedder, one whose documents have no chunks any length of vectors."""
        if rows.execute("SELECT 1 FROM documents").fetchone() is None:
            rows.execute("UPDATE state SET embedder = ?, dimensions = ?", (self._embedder, dimensions))
        else:
            self._check(rows, dimensions)
            rows.execute("UPDATE state SET dimensions = max(dimensions, ?)", (dimensions,))

    def _check(self, rows: sqlite3.Connection, dimensions: int) -> tuple[int, int]:
        """The number of changes and the length of the vectors; refuses another embedder and another length."""
        changes, embedder, known = rows.execute("SELECT changes, embedder, dimensions FROM state").fetchone()
        if rows.execute("SELECT 1 FROM documents").fetchone() is None:
            return changes, dimensions
        if embedder != self._embedder:
            raise ConfigurationError(
                f"the vectors of {self._database.path} are those of {embedder!r}, not of {self._embedder!r}: ingest "
                "the documents again, or name the embeddings that made it"
            )
        if known and dimensions and dimensions != known:
            raise ConfigurationError(
                f"the vectors of {self._database.path} have {known} components, and {self._embedder!r} gives "
                f"{dimensions}: remove the file and ingest the documents again, or name the embeddings that made it"
            )
        return changes, known


def _documents(rows: sqlite3.Connection) -> dict[str, str]:
    return dict(rows.execute("SELECT uri, digest FROM documents ORDER BY uri"))


def _remove(rows: sqlite3.Connection, uri: str) -> None:
    result = rows.execute("SELECT number FROM documents WHERE uri = ?", (uri,)).fetchone()
    if result is not None:
        rows.execute(_WORDS_GO, result)
        rows.execute("DELETE FROM chunks WHERE document = ?", result)
        rows.execute("DELETE FROM documents WHERE number = ?", result)


def _blobs(document: Document, chunks: Sequence[Chunk], vectors: Sequence[Vector]) -> tuple[list[bytes | None], int]:
    """The vectors as they are kept, None for those without direction, and their length; checks all that is indexed."""
    check_document(document, chunks, vectors)
    if not chunks:
        return [], 0
    matrix = unit_vectors(vectors)
    return [row.astype("<f4").tobytes() if row.any() else None for row in matrix], matrix.shape[1]
