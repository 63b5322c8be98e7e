"""The built site, once for all tests that look at it."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from .blocks import ROOT


def build(project: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Build a project's documentation as `make docs` does."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=project,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site."""
    if any(find_spec(name) is None for name in ("material", "mkdocstrings")):
        pytest.skip("needs mkdocs-material and mkdocstrings, which come with the extra dev")
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder
