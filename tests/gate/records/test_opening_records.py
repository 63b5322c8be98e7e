"""The records that a configuration names."""

from pathlib import Path

from agentguard.gate._config import EmbeddedConfig, GateConfig, LocalSource
from agentguard.gate.records import open_records
from agentguard.gate.records._sqlite import SqliteRecords


def test_the_embedded_records_lie_in_the_configured_folder(tmp_path: Path) -> None:
    config = GateConfig(
        use_case="help",
        doc_sources=(LocalSource(type="local", path="docs"),),
        embedded=EmbeddedConfig(path="kept/here"),
        folder=tmp_path,
    )
    records = open_records(config)
    records.close()

    assert isinstance(records, SqliteRecords)
    assert (tmp_path / "kept" / "here" / "records.sqlite").is_file()
