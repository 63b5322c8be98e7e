"""The index that a configuration names."""

from pathlib import Path

import pytest

from agentguard.errors import ConfigurationError
from agentguard.gate.config import EmbeddingsConfig, GateConfig, LocalSource
from agentguard.gate.evidence.opening import open_evidence
from agentguard.gate.evidence.sqlite import SqliteEvidence
from agentguard.gate.types import Chunk, Document

DOCUMENT = Document("a.md", "", "warranty", "1f")
CHUNK = Chunk("a.md#0", "a.md", "", "", "warranty", 0, 8)


@pytest.fixture
def config(tmp_path: Path) -> GateConfig:
    return GateConfig(use_case="help", doc_sources=(LocalSource(type="local", path="docs"),), folder=tmp_path)


def test_the_embedded_index_lies_beside_the_configuration(config: GateConfig, tmp_path: Path) -> None:
    index = open_evidence(config)
    index.close()

    assert isinstance(index, SqliteEvidence)
    assert (tmp_path / ".llm-reliability" / "evidence.sqlite").is_file()


def test_the_index_knows_the_configured_embeddings(config: GateConfig) -> None:
    index = open_evidence(config)
    index.replace(DOCUMENT, [CHUNK], [(1.0, 0.0)])
    index.close()
    model = EmbeddingsConfig(provider="ollama", model_id="nomic-embed-text")
    other = open_evidence(config.model_copy(update={"embeddings": model}))
    with pytest.raises(ConfigurationError, match=r"'lexical', not of 'ollama:nomic-embed-text'"):
        other.vector((1.0, 0.0), 5)
    other.close()
    named = open_evidence(config, "lexical")

    assert len(named.vector((1.0, 0.0), 5)) == 1
    named.close()
