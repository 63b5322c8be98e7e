"""An evidence index in one SQLite file: BM25 by FTS5, vectors in a matrix."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from agentguard.content._text import STOPWORDS
from agentguard.errors import ConfigurationError
from agentguard.gate._types import Chunk, Document, Passage
from agentguard.gate.backends import schema
from agentguard.gate.backends._sqlite import Database, Format
from agentguard.gate.evidence._index import Indexed, Vector, check_document, evidence_digest, is_unicode
from agentguard.gate.evidence._vectors import Vectors, matrix_of, unit_vectors

MOST_WORDS: Final = 200
LONGEST_WORD: Final = 100
_WORDS: Final = re.compile(r"[^\W_]+")
_FIRST: Final = 100_000  # characters of a text that are read


def query_words(text: str) -> list[str]:
    """The different words of a text, without those that say nothing by themselves where there are others.

    Args:
        text: Anything; of a long one the first 200 words count.

    >>> query_words('What does the "warranty" NOT cover?')
    ['warranty', 'cover']
    >>> query_words("To be, or not to be")
    ['to', 'be', 'or', 'not']
    """
    words = dict.fromkeys(word.casefold() for word in _WORDS.findall(text[:_FIRST]))
    telling = [word for word in words if word not in STOPWORDS] or list(words)
    return [word for word in telling[:MOST_WORDS] if len(word) <= LONGEST_WORD]


def match_expression(words: Iterable[str]) -> str:
    """Make an FTS5 expression of any of the words, each quoted, so that none is an operator.

    >>> match_expression(["warranty", "not"])
    '"warranty" OR "not"'
    """
    # FTS5's own idea of a word may differ: what it cuts in two is then a phrase, and what it ignores finds nothing.
    return " OR ".join(f'"{word}"' for word in words)


def rarest(counts: Mapping[str, int], most: int) -> list[str]:
    """The words that are searched for: the rarest, as long as together they stand in so many chunks; one at least.

    What stands everywhere tells chunks apart least, and takes the longest to look up.

    Args:
        counts: In how many chunks each word stands.
        most: In how many the words together may stand.

    >>> rarest({"kettle": 40, "warranty": 900, "cover": 20_000, "zzz": 0}, 1_000)
    ['kettle', 'warranty']
    >>> rarest({"cover": 20_000, "all": 30_000}, 1_000)
    ['cover']
    """
    chosen: list[str] = []
    total = 0
    for word, count in sorted(counts.items(), key=lambda item: item[1]):
        if chosen and total + count > most:
            break
        if count:
            chosen.append(word)
            total += count
    return [word for word in counts if word in chosen]


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
MOST_MATCHES: Final = 2_000  # chunks that are weighed for one query: FTS5 takes two to four microseconds for each
MOST_COUNTED: Final = 50_000  # words whose number of chunks is remembered

_CHUNK: Final = "c.id, d.uri, c.title, c.heading, c.text, c.first, c.beyond"
# Only the best are read from `chunks`, and those as good as the last of them. (What is used twice is worked out once.)
_BY_WORDS: Final = f"""
    WITH weighed AS (
        SELECT rowid AS number, -bm25(words, {TITLE}, {HEADING}, {TEXT}) AS score FROM words WHERE words MATCH ?1
    )
    SELECT w.score, {_CHUNK}
    FROM weighed w JOIN chunks c ON c.number = w.number JOIN documents d ON d.number = c.document
    WHERE w.score >= (SELECT min(score) FROM (SELECT score FROM weighed ORDER BY score DESC LIMIT ?2))
    ORDER BY w.score DESC, c.id, d.uri LIMIT ?2
"""  # noqa: S608  # constants of this file
_HOW_MANY: Final = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
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
    something; of many, one of its rarer words. Vectors are compared in memory, read at the first search and again
    when the index has changed: 4 bytes times their length a chunk; in a large index they are sifted by a projection of
    them first (``Vectors``).

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
        self._vectors: Vectors | None = None
        self._counts: dict[str, int] = {}  # see `_counts_of`; as long as nothing changes
        self._counted = -1

    def documents(self) -> Mapping[str, str]:
        with self._database.reading() as rows:
            return _documents(rows)

    def replace(self, document: Document, chunks: Sequence[Chunk], vectors: Sequence[Vector]) -> None:
        self.replace_all([Indexed(document, chunks, vectors)])

    def replace_all(self, documents: Sequence[Indexed]) -> None:
        """Replace several documents in one transaction: all of them, or none."""
        prepared = [(each, *_blobs(*each)) for each in documents]
        with self._database.writing() as rows:
            for (document, chunks, _), blobs, dimensions in prepared:
                self._claim(rows, dimensions)
                _remove(rows, document.uri)
                number = rows.execute(
                    "INSERT INTO documents (uri, digest) VALUES (?, ?)", (document.uri, document.digest)
                ).lastrowid
                rows.executemany(
                    "INSERT INTO chunks (id, document, title, heading, text, first, beyond, vector) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    [
                        (chunk.id, number, chunk.title, chunk.heading, chunk.text, chunk.start, chunk.end, blob)
                        for chunk, blob in zip(chunks, blobs, strict=True)
                    ],
                )
                rows.execute(_WORDS_COME, (number,))
            rows.execute("UPDATE state SET changes = changes + 1")

    def remove(self, uris: Iterable[str]) -> None:
        unwanted = [uri for uri in uris if is_unicode(uri)]
        with self._database.writing() as rows:
            for uri in unwanted:
                _remove(rows, uri)
            rows.execute("UPDATE state SET changes = changes + 1")

    def keyword(self, query: str, limit: int) -> list[Passage]:
        words = query_words(query)
        with self._database.reading() as rows:
            if not words or limit <= 0:
                return []
            chosen = rarest(self._counts_of(rows, words), MOST_MATCHES)
            if not chosen:
                return []
            expression = match_expression(chosen)
            return [Passage(Chunk(*row), score) for score, *row in rows.execute(_BY_WORDS, (expression, limit))]

    def vector(self, query: Vector, limit: int) -> list[Passage]:
        direction = unit_vectors([query])[0]
        with self._database.reading() as rows:
            changes, dimensions = self._check(rows, len(direction))
            if changes != self._changes:
                result = rows.execute(_VECTORS).fetchall()
                self._numbers = [number for number, _ in result]
                matrix = matrix_of([blob for _, blob in result], dimensions)
                self._vectors = None if matrix is None else Vectors(matrix)
                self._changes = changes
            if self._vectors is None or not direction.any():
                return []
            return [
                Passage(Chunk(*rows.execute(_BY_NUMBER, (self._numbers[row],)).fetchone()), score)
                for row, score in self._vectors.nearest(direction, limit)
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
        self._numbers, self._vectors, self._changes = [], None, -1

    def _counts_of(self, rows: sqlite3.Connection, words: Sequence[str]) -> dict[str, int]:
        """In how many chunks each word stands: up to one more than are weighed, exactly only where all do in more."""
        (changes,) = rows.execute("SELECT changes FROM state").fetchone()
        if changes != self._counted or len(self._counts) > MOST_COUNTED:
            self._counts, self._counted = {}, changes
        too_many = MOST_MATCHES + 1
        for word in words:
            if word not in self._counts:
                self._counts[word] = _count(rows, word, too_many)
        present = {word: self._counts[word] for word in words if self._counts[word]}
        if min(present.values(), default=0) == too_many and len(present) > 1:
            self._counts.update({word: _count(rows, word, -1) for word in present})
        return {word: self._counts[word] for word in words}

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


def _count(rows: sqlite3.Connection, word: str, most: int) -> int:
    """In how many chunks a word stands; it counts up to ``most``, and on to the end where that is negative."""
    (count,) = rows.execute(_HOW_MANY, (match_expression([word]), most)).fetchone()
    return int(count)


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
