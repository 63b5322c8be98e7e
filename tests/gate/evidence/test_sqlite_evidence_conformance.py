"""The embedded index keeps to the protocol."""

from pathlib import Path

from agentguard.gate.conformance import EvidenceConformance
from agentguard.gate.evidence._sqlite import SqliteEvidence


class TestSqliteEvidence(EvidenceConformance):
    def open(self, place: Path, embedder: str) -> SqliteEvidence:
        return SqliteEvidence(place, embedder)
