"""Vectors of a model: asked for in portions, several at once, and looked at before anybody searches by them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from math import isfinite

from agentguard.content._text import encodable
from agentguard.errors import GateError
from agentguard.gate.evidence.base import Embeddings
from agentguard.gate.models.asking import check_concurrency
from agentguard.gate.models.failures import describe_failure

__all__ = ["ModelEmbeddings"]

PORTION = 32


class ModelEmbeddings:
    """Embeddings of LangChain's, whose failures are named and whose vectors are checked.

    Args:
        model: any ``langchain_core.embeddings.Embeddings``.
        name: what messages call it.
        max_concurrency: how many portions of texts are under way at once.
    """

    def __init__(self, model: Embeddings, name: str, max_concurrency: int = 8) -> None:
        self._model = model
        self._name = name
        self._max_concurrency = check_concurrency(max_concurrency)

    @property
    def name(self) -> str:
        """What messages call the model."""
        return self._name

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector for each text, in their order, all of one length.

        Raises:
            GateError: where one of them could not be had, or is no vector.
        """
        portions = [texts[start : start + PORTION] for start in range(0, len(texts), PORTION)]
        if len(portions) < 2:
            return self._checked([vector for portion in portions for vector in self._embed(portion)])
        with ThreadPoolExecutor(min(self._max_concurrency, len(portions))) as pool:
            return self._checked([vector for vectors in pool.map(self._embed, portions) for vector in vectors])

    def embed_query(self, text: str) -> list[float]:
        """The vector of what is searched for.

        Raises:
            GateError: where it could not be had, or is no vector.
        """
        try:
            vector = self._model.embed_query(encodable(text))
        except Exception as error:  # each provider's client fails in its own way
            raise self._failed(error, [text]) from None
        return self._checked([vector])[0]

    def _embed(self, texts: list[str]) -> list[list[float]]:
        try:
            vectors = self._model.embed_documents([encodable(text) for text in texts])
        except Exception as error:  # each provider's client fails in its own way
            raise self._failed(error, texts) from None
        if len(vectors) != len(texts):
            raise GateError(f"{self._name} gave {len(vectors)} vectors for {len(texts)} texts")
        return vectors

    def _checked(self, vectors: list[list[float]]) -> list[list[float]]:
        lengths = {len(vector) for vector in vectors}
        if len(lengths) > 1 or 0 in lengths:
            raise GateError(f"{self._name} gave vectors of differing or no length: {sorted(lengths)}")
        if not all(isinstance(value, (int, float)) and isfinite(value) for vector in vectors for value in vector):
            raise GateError(f"{self._name} gave a vector with values that are no finite numbers")
        return vectors

    def _failed(self, error: Exception, texts: Sequence[str]) -> GateError:
        number = f"{len(texts)} text{'s' if len(texts) != 1 else ''}"
        return GateError(f"{self._name} did not embed {number}: {describe_failure(error, texts)}")
