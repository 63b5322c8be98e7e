"""Vectors by the real clients, and what is made of vectors that are none."""

import threading
from typing import Any

import pytest

from agentguard.errors import GateError
from agentguard.gate._config import EmbeddingsConfig
from agentguard.gate.models._opening import ModelEmbeddings, open_embeddings

from ...rows import over


class Vectors:
    def __init__(self, vectors: Any) -> None:
        self.vectors = vectors

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        made: list[list[float]] = self.vectors(texts) if callable(self.vectors) else self.vectors
        return made

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def test_vectors_of_every_provider(embeddings_config: EmbeddingsConfig, model_server: Any, provider: str) -> None:
    """The server puts a word at the sum of its letters: of ``a`` (97) and ``b`` (98), modulo 16, at 1 and 2."""
    embeddings = open_embeddings(embeddings_config)
    vectors = embeddings.embed_documents(["a b", "b b"])

    assert [vector[1:3] for vector in vectors] == [[1.0, 1.0], [0.0, 2.0]]
    assert embeddings.embed_query("a")[1:3] == [1.0, 0.0]
    assert {asked.protocol for asked in model_server.requests} == {f"{provider}-embeddings"}
    assert {asked.model for asked in model_server.requests} == {embeddings_config.model_id}


def test_many_texts_keep_their_order(embeddings_config: EmbeddingsConfig, model_server: Any) -> None:
    texts = ["a " * number for number in range(1, 101)]

    assert [vector[1] for vector in open_embeddings(embeddings_config).embed_documents(texts)] == list(range(1, 101))


def test_no_texts_are_no_request(embeddings_config: EmbeddingsConfig, model_server: Any) -> None:
    assert open_embeddings(embeddings_config).embed_documents([]) == []
    assert model_server.requests == []


def test_a_server_that_is_gone(embeddings_config: EmbeddingsConfig, model_server: Any) -> None:
    embeddings = open_embeddings(embeddings_config)
    model_server.close()

    with pytest.raises(GateError, match=r"did not embed 2 texts: .*Connection refused"):
        embeddings.embed_documents(["a secret", "b"])
    with pytest.raises(GateError, match=r"did not embed 1 text: .*Connection refused"):
        embeddings.embed_query("a secret")


@pytest.mark.parametrize("status", [429, 500])
def test_a_refused_request_is_sent_once(embeddings_config: EmbeddingsConfig, model_server: Any, status: int) -> None:
    model_server.refuse_embeddings = model_server.fault(status)

    with pytest.raises(GateError, match=rf"did not embed 1 text: \w+ \(status {status}"):
        open_embeddings(embeddings_config).embed_documents(["a"])
    assert len(model_server.requests) == 1


def test_portions_are_asked_for_at_once() -> None:
    three = threading.Barrier(3)

    def vectors(texts: list[str]) -> list[list[float]]:
        three.wait(timeout=20)
        return [[float(text)] for text in texts]

    texts = [str(number) for number in range(96)]
    assert ModelEmbeddings(Vectors(vectors), "m", 3).embed_documents(texts) == [[float(text)] for text in texts]


@over(
    ("vectors", "fault"),
    [
        ([[1.0]], "m gave 1 vectors for 2 texts"),
        ([[1.0], [1.0, 2.0]], r"differing or no length: \[1, 2\]"),
        ([[], []], r"differing or no length: \[0\]"),
        ([[1.0], [float("nan")]], "no finite numbers"),
        ([[1.0], [float("inf")]], "no finite numbers"),
        ([[1.0], ["1.0"]], "no finite numbers"),
        ([[1.0], [None]], "no finite numbers"),
    ],
)
def test_what_is_no_vector_is_refused(vectors: Any, fault: str) -> None:
    with pytest.raises(GateError, match=fault):
        ModelEmbeddings(Vectors(vectors), "m").embed_documents(["a", "b"])


def test_a_vector_for_a_query_is_looked_at_too() -> None:
    with pytest.raises(GateError, match="no finite numbers"):
        ModelEmbeddings(Vectors([[float("nan")]]), "m").embed_query("a")
