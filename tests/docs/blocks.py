"""What stands between fences in the project's documents, and where."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
OTHERS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
DOCUMENTS = [*OTHERS, *PAGES]

_TITLE = re.compile(r'title="([^"]+)"')
_EXAMPLE = re.compile(r"^<!-- example: (\S+) -->$", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block; ``line`` is the line of its opening fence, from 1. ``title`` is a file's name, or empty."""

    path: Path
    line: int
    code: str
    language: str = "python"
    title: str = ""

    def __str__(self) -> str:
        return f"{self.path.name}:{self.line}"


def blocks(path: Path) -> list[Block]:
    """All blocks of a document, in their order."""
    found = []
    for token in MarkdownIt().parse(path.read_text(encoding="utf-8")):
        if token.type == "fence" and token.map:
            language, _, options = token.info.strip().partition(" ")
            title = _TITLE.search(options)
            found.append(Block(path, token.map[0] + 1, token.content, language, title[1] if title else ""))
    return found


def blocks_in(language: str) -> list[Block]:
    """Those of one language, of all documents."""
    return [block for path in DOCUMENTS for block in blocks(path) if block.language == language]


def included() -> list[str]:
    """The programs of the project that the pages show."""
    return [name for path in PAGES for name in _EXAMPLE.findall(path.read_text(encoding="utf-8"))]
