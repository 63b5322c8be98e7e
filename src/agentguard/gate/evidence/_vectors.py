"""Vectors of length 1 in single precision, and embeddings that need no model."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from agentguard.content._text import STOPWORDS
from agentguard.errors import ConfigurationError, DataError, StoreError
from agentguard.gate.evidence._index import Vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def unit_vectors(vectors: Sequence[Vector]) -> NDArray[np.float32]:
    """Normalise vectors of one length, as the rows of a matrix; one without direction stays zero.

    Raises:
        DataError: If they differ in length, are empty, or hold something else than finite numbers.
        ConfigurationError: If numpy is not installed.

    >>> unit_vectors([(3.0, 4.0), (0.0, 0.0)]).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    numpy = load_numpy()
    if len({len(vector) for vector in vectors}) > 1:
        raise DataError("the vectors differ in length; embed all chunks with one model")
    try:
        matrix = numpy.asarray(vectors, dtype=numpy.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"a vector holds something else than numbers: {error}") from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise DataError("a vector is a list of numbers, at least one; see to what embeds the documents")
    if not numpy.isfinite(matrix).all():
        raise DataError("a vector holds a number that is not finite; see to what embeds the documents")
    largest = numpy.abs(matrix).max(axis=1, keepdims=True)
    matrix = numpy.divide(
        matrix, largest, out=numpy.zeros_like(matrix), where=largest > 0
    )  # no square leaves the range
    norms = numpy.linalg.norm(matrix, axis=1, keepdims=True)
    unit: NDArray[np.float32] = numpy.divide(matrix, norms, out=matrix, where=norms > 0).astype(numpy.float32)
    return unit


def matrix_of(blobs: Sequence[bytes], dimensions: int) -> NDArray[np.float32] | None:
    """Vectors as they are kept, four bytes a component, as the rows of a matrix; None if there are none.

    Raises:
        StoreError: If one has another length.
    """
    if not blobs:
        return None
    if any(len(blob) != 4 * dimensions for blob in blobs):
        raise StoreError("the evidence index is damaged: a vector has another length; ingest the documents again")
    matrix: NDArray[np.float32] = load_numpy().frombuffer(b"".join(blobs), dtype="<f4").reshape(-1, dimensions)
    return matrix


def nearest(matrix: NDArray[np.float32], query: NDArray[np.float32], limit: int) -> list[tuple[int, float]]:
    """The rows that point where the query does, with their cosines, the best first, of equal ones the upper first.

    Args:
        matrix: Rows of norm 1.
        query: Of norm 1.
        limit: The most rows that are given.
    """
    numpy = load_numpy()
    if limit <= 0 or not len(matrix):
        return []
    # The last digits depend on where in the matrix a row lies.
    scores = numpy.round((matrix @ query).astype(numpy.float64), 6)
    if limit < len(scores):
        worst = -numpy.partition(-scores, limit - 1)[limit - 1]
        rows = numpy.flatnonzero(scores >= worst)
    else:
        rows = numpy.arange(len(scores))
    rows = rows[numpy.argsort(-scores[rows], kind="stable")][:limit]
    return [(int(row), float(scores[row])) for row in rows]


SIFTED_FROM: Final = 16_000_000  # components of a matrix, which take 5 ms to compare: a smaller one is not sifted
SIFTED_TO: Final = 128  # components of a projection: it tells cosines to about 1 / √128 = 0.09
KEPT: Final = 60  # rows a row asked for that pass the sieve


class Vectors:
    """Vectors of norm 1 in memory, searched by cosine similarity.

    A large matrix is sifted first by a random projection of it to fewer components, which nearly keeps angles (Johnson
    and Lindenstrauss, "Extensions of Lipschitz mappings into a Hilbert space", 1984); what passes is compared exactly.

    Args:
        matrix: Rows of norm 1.
        sifted_from: From so many components on, the matrix is sifted.
    """

    def __init__(self, matrix: NDArray[np.float32], sifted_from: int = SIFTED_FROM) -> None:
        self._matrix = matrix
        self._projection: NDArray[np.float32] | None = None
        if matrix.size >= sifted_from and matrix.shape[1] > 2 * SIFTED_TO:
            numpy = load_numpy()
            draws = numpy.random.default_rng(0).standard_normal((matrix.shape[1], SIFTED_TO))
            # The same in every process; orthogonal columns keep angles better than independent ones.
            self._projection = numpy.linalg.qr(draws)[0].astype(numpy.float32)
            self._sieve: NDArray[np.float32] = matrix @ self._projection

    def nearest(self, query: NDArray[np.float32], limit: int) -> list[tuple[int, float]]:
        """The rows nearest to a query of norm 1, as ``nearest`` gives them."""
        if self._projection is None or limit <= 0 or KEPT * limit >= len(self._matrix):
            return nearest(self._matrix, query, limit)
        numpy = load_numpy()
        scores = self._sieve @ (query @ self._projection)
        passed = numpy.sort(numpy.argpartition(-scores, KEPT * limit)[: KEPT * limit])
        return [(int(passed[row]), score) for row, score in nearest(self._matrix[passed], query, limit)]


def load_numpy() -> Any:
    """The module numpy, loaded when it is first needed.

    Raises:
        ConfigurationError: If it is not installed.
    """
    try:
        import numpy
    except ImportError:
        raise ConfigurationError("vectors need numpy: pip install 'agentguard[gate]'") from None
    return numpy


# --- Vectors without a model ---

DIMENSIONS: Final = 1024
SHORTEST, LONGEST = 3, 5  # characters of a piece of a word
_WORDS: Final = re.compile(r"[^\W_]+")
_LONGEST_WORD: Final = 64


class LexicalEmbeddings:
    """Hashed n-grams of characters, as ``langchain_core.embeddings.Embeddings`` are called.

    A text is the bag of its words and of their pieces of 3 to 5 characters, so that ``warranties`` lies near
    ``warranty``, and a word with a typing error near the word. Synonyms lie nowhere near each other: these vectors find
    by letters what keyword search finds by words, and help beside it where words are misspelt. Each piece adds
    ±(1 + ln(how often)) to one component, both chosen by a checksum (Weinberger et al., "Feature hashing for large
    scale multitask learning", ICML 2009); function words count for nothing. The same text has the same vector in every
    process and on every machine.

    Args:
        dimensions: The length of the vectors, 16 to 65,536.

    Raises:
        ConfigurationError: For another length.

    >>> vectors = LexicalEmbeddings()
    >>> claim, near, far = vectors.embed_documents(["The warranty lasts.", "warranties last", "free shipping"])
    >>> sum(a * b for a, b in zip(claim, near)) > 0.4 > 0.1 > abs(sum(a * b for a, b in zip(claim, far)))
    True
    """

    def __init__(self, dimensions: int = DIMENSIONS) -> None:
        if not 16 <= dimensions <= 65_536:
            raise ConfigurationError(f"dimensions must be from 16 to 65536, not {dimensions!r}")
        self.dimensions = dimensions

    @property
    def name(self) -> str:
        """``lexical``, with the length of the vectors where it is another than usual."""
        return "lexical" if self.dimensions == DIMENSIONS else f"lexical:{self.dimensions}"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector of length 1 for each text; of zeros for a text without words."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The same for a query."""
        numpy = load_numpy()
        counts = Counter(word for word in _WORDS.findall(_plain(text)) if word not in STOPWORDS)
        if not counts:
            return [0.0] * self.dimensions
        pieces = [_pieces(word[:_LONGEST_WORD]) for word in counts]
        often = numpy.repeat(list(counts.values()), [len(numbers) for numbers in pieces])
        numbers, indices = numpy.unique(numpy.concatenate(pieces), return_inverse=True)
        weights = (1 + numpy.log(numpy.bincount(indices, weights=often))) * numpy.where(numbers & 1, 1.0, -1.0)
        vector = numpy.bincount((numbers >> 1) % self.dimensions, weights=weights, minlength=self.dimensions)
        components: list[float] = unit_vectors([vector])[0].tolist()
        return components


def _plain(text: str) -> str:
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


@lru_cache(maxsize=65_536)
def _pieces(word: str) -> NDArray[np.int64]:
    """Numbers of 32 bits for the word itself and its pieces, with marks of where it begins and ends."""
    marked = f"<{word}>"
    pieces = {marked}
    for length in range(SHORTEST, LONGEST + 1):
        pieces.update(marked[start : start + length] for start in range(len(marked) - length + 1))
    checksums = sorted(zlib.crc32(piece.encode("utf-8", "surrogatepass")) for piece in pieces)
    array: NDArray[np.int64] = load_numpy().array(checksums, dtype="int64")
    return array
