"""Every ```python block of the README and of docs/ runs as it is printed, in an empty folder."""

from pathlib import Path
from typing import NamedTuple

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


class Block(NamedTuple):
    """A fenced block of Python; ``line`` is the line of its opening fence, from 1."""

    path: Path
    line: int
    code: str

    def __str__(self) -> str:
        return f"{self.path.name}:{self.line}"


def python_blocks(path: Path) -> list[Block]:
    tokens = MarkdownIt().parse(path.read_text(encoding="utf-8"))
    return [
        Block(path, token.map[0] + 1, token.content)
        for token in tokens
        if token.type == "fence" and token.info.strip() == "python" and token.map
    ]


DOCUMENTS = [path for path in (README, *sorted((ROOT / "docs").glob("*.md"))) if path.exists()]
BLOCKS = [block for path in DOCUMENTS for block in python_blocks(path)]


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_block_runs(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # Blank lines before the code make a traceback name the document's own line.
    code = compile("\n" * block.line + block.code, str(block.path), "exec")

    exec(code, {"__name__": "__main__"})


def test_readme_has_a_python_block() -> None:
    assert python_blocks(README)


def test_blocks_are_found_by_language_and_line(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text("# Page\n\n```console\n$ ls\n```\n\n- item\n\n  ```python\n  x = 1\n  ```\n", encoding="utf-8")

    assert python_blocks(document) == [Block(document, 9, "x = 1\n")]
