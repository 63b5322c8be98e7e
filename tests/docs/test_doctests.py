"""Every example in a docstring does what it says."""

from __future__ import annotations

import doctest
import importlib
import sys
from pathlib import Path

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


def test_examples() -> None:
    names = _modules()
    if sys.version_info < (3, 11):  # pydantic-ai has no release for it
        names.remove("agentguard.integrations.pydantic_ai")
    results = {
        name: doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS, verbose=False)
        for name in names
    }
    assert len(results) > 100
    # pytest shows what doctest printed
    assert {name: result for name, result in results.items() if result.failed or not result.attempted} == {}
