"""Evidence and records in a cluster keep to their protocols."""

from __future__ import annotations

import pytest

from agentguard.gate._config import ElasticsearchConfig
from agentguard.gate.conformance import EvidenceConformance, RecordsConformance
from agentguard.gate.evidence._elasticsearch import ElasticsearchEvidence
from agentguard.gate.records._elasticsearch import ElasticsearchRecords


class InElasticsearch:
    @pytest.fixture
    def place(self, elasticsearch_url: str, index_name: str) -> ElasticsearchConfig:
        return ElasticsearchConfig(host=elasticsearch_url, index=index_name)


class TestElasticsearchEvidence(InElasticsearch, EvidenceConformance):
    def open(self, place: ElasticsearchConfig, embedder: str) -> ElasticsearchEvidence:
        return ElasticsearchEvidence(place, embedder)


class TestElasticsearchRecords(InElasticsearch, RecordsConformance):
    def open(self, place: ElasticsearchConfig) -> ElasticsearchRecords:
        return ElasticsearchRecords(place)
