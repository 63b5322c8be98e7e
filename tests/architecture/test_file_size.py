"""A file is one concept; one that outgrows 350 lines is two."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for folder in ("src", "integrations") for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_file_is_at_most_350_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 350


def test_sources_were_found() -> None:
    assert ROOT / "src" / "agentguard" / "errors.py" in SOURCES
