"""The set of slow tests names files that are there."""

from ..conftest import ROOT, SLOW


def test_slow_files_exist() -> None:
    assert [name for name in sorted(SLOW) if not (ROOT / name).is_file()] == []
