"""Vectors without a model: they tell which letters two texts share, not what they mean."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from agentguard.content._text import STOPWORDS
from agentguard.errors import ConfigurationError

from .vectors import load_numpy, unit_vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["LexicalEmbeddings"]

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
        dimensions: the length of the vectors, 16 to 65,536.

    Raises:
        ConfigurationError: for another length.

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
        numbers, places = numpy.unique(numpy.concatenate(pieces), return_inverse=True)
        weights = (1 + numpy.log(numpy.bincount(places, weights=often))) * numpy.where(numbers & 1, 1.0, -1.0)
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
