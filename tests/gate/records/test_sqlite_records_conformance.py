"""The embedded records keep to the protocol."""

from pathlib import Path

from agentguard.gate.conformance import RecordsConformance
from agentguard.gate.records._sqlite import SqliteRecords


class TestSqliteRecords(RecordsConformance):
    def open(self, place: Path) -> SqliteRecords:
        return SqliteRecords(place)
