"""Every ```python block of the documents runs as it is printed, in an empty folder; data blocks are read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from .blocks import DOCUMENTS, OTHERS, ROOT, Block, blocks, blocks_in, included

PYTHON = blocks_in("python")
RUN_HERE = [block for block in PYTHON if not block.title]
EXAMPLES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.py", "typescript/*.ts")
    for path in (ROOT / "examples").glob(pattern)
)


@pytest.mark.parametrize("block", RUN_HERE, ids=str)
def test_block_runs(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # Blank lines before the code make a traceback name the document's own line.
    code = compile("\n" * block.line + block.code, str(block.path), "exec")

    exec(code, {"__name__": "__main__"})


def test_included_programs_are_the_examples_which_run_as_tests_of_their_own() -> None:
    assert sorted(included()) == EXAMPLES


def test_only_the_quick_start_has_programs_that_are_run_as_files() -> None:
    assert {block.path.name for block in PYTHON if block.title} == {"quick-start.md"}


def test_yaml_is_yaml() -> None:
    assert [str(block) for block in blocks_in("yaml") if yaml.safe_load(block.code) is None] == []


def test_json_is_json() -> None:
    for block in blocks_in("json"):
        json.loads(block.code)


def test_the_readme_has_an_example_of_ten_lines_or_about() -> None:
    first = blocks(OTHERS[0])[0]

    assert first.language == "python"
    assert len(first.code.splitlines()) <= 12


def test_every_block_says_its_language() -> None:
    assert [str(block) for path in DOCUMENTS for block in blocks(path) if not block.language] == []


def test_blocks_are_found_by_language_and_line(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    text = '# Page\n\n```console\n$ ls\n```\n\n- item\n\n  ```python title="a.py"\n  x = 1\n  ```\n'
    document.write_text(text, encoding="utf-8")

    assert blocks(document) == [
        Block(document, 3, "$ ls\n", "console"),
        Block(document, 9, "x = 1\n", "python", "a.py"),
    ]
