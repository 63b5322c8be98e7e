"""Messages that the page on troubleshooting explains are messages that the program has."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from .blocks import DOCS, ROOT

SOURCES = [*(ROOT / "src").rglob("*.py"), *(ROOT / "integrations").rglob("*.py"), ROOT / "setup.py"]
HEADING = re.compile(r"^### `(.+)`$", re.MULTILINE)
MESSAGES = HEADING.findall((DOCS / "troubleshooting.md").read_text(encoding="utf-8"))


def texts(path: Path) -> set[str]:
    """The texts of a module; those of an f-string with … where its values stand."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            found.add("".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(re.sub(r"%[rsd]", "…", node.value))
    return found


def test_the_program_has_the_messages() -> None:
    said = "\n".join(sorted(set().union(*map(texts, SOURCES))))
    parts = {message: map(re.escape, message.strip("…").strip().split("…")) for message in MESSAGES}

    assert [message for message, each in parts.items() if not re.search(".*".join(each), said)] == []


def test_messages_were_found() -> None:
    assert len(MESSAGES) > 15
