"""Every example in a docstring does what it says."""

from __future__ import annotations

import doctest
import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: The folders of modules, and what they are imported as.
FOLDERS = {"src/agentguard": "agentguard", "integrations": "agentguard.integrations"}


def _modules() -> list[str]:
    """The names of all modules that hold an example."""
    names = []
    for folder, package in FOLDERS.items():
        for path in (ROOT / folder).rglob("*.py"):
            if ">>> " in path.read_text(encoding="utf-8"):
                parts = path.relative_to(ROOT / folder).with_suffix("").parts
                names.append(".".join([package, *(part for part in parts if part != "__init__")]))
    return sorted(names)


@pytest.mark.parametrize("name", _modules())
def test_examples(name: str) -> None:
    if name == "agentguard.integrations.pydantic_ai" and sys.version_info < (3, 11):
        pytest.skip("pydantic-ai has no release for Python 3.10")
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0
    assert result.failed == 0  # pytest shows what doctest printed
