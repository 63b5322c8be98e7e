"""The index that a configuration names."""

from pathlib import Path

import pytest

from agentguard.errors import ConfigurationError
from agentguard.gate._config import GateConfig, LocalSource
from agentguard.gate._types import Chunk, Document
from agentguard.gate.evidence import open_evidence
from agentguard.gate.evidence._index import embedder_name
from agentguard.gate.evidence._sqlite import SqliteEvidence
from agentguard.gate.evidence._vectors import LexicalEmbeddings

DOCUMENT = Document("a.md", "", "warranty", "1f")
CHUNK = Chunk("a.md#0", "a.md", "", "", "warranty", 0, 8)


@pytest.fixture
def config(tmp_path: Path) -> GateConfig:
    return GateConfig(use_case="help", doc_sources=(LocalSource(type="local", path="docs"),), folder=tmp_path)


def test_the_embedded_index_lies_beside_the_configuration(config: GateConfig, tmp_path: Path) -> None:
    index = open_evidence(config, "lexical")
    index.close()

    assert isinstance(index, SqliteEvidence)
    assert (tmp_path / ".llm-reliability" / "evidence.sqlite").is_file()


def test_vectors_of_two_embedders_are_not_compared(config: GateConfig) -> None:
    index = open_evidence(config, "lexical")
    index.replace(DOCUMENT, [CHUNK], [(1.0, 0.0)])
    index.close()
    other = open_evidence(config, "ollama:nomic-embed-text")
    with pytest.raises(ConfigurationError, match=r"'lexical', not of 'ollama:nomic-embed-text'"):
        other.vector((1.0, 0.0), 5)
    other.close()
    named = open_evidence(config, "lexical")

    assert len(named.vector((1.0, 0.0), 5)) == 1
    named.close()


def test_models_of_one_class_are_told_apart() -> None:
    class Model:
        def __init__(self, model: str) -> None:
            self.model = model

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[1.0] for _ in texts]

        def embed_query(self, text: str) -> list[float]:
            return [1.0]

    assert embedder_name(Model("one")) == embedder_name(Model("one")) != embedder_name(Model("other"))
    assert embedder_name(LexicalEmbeddings()) != embedder_name(LexicalEmbeddings(512))
