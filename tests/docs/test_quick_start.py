"""The quick start, walked as a reader would: its files saved, its commands run, what it shows held to what happens."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentguard.cli import app

from .blocks import DOCS, blocks
from .commands import Shown, shown_in, words_of

PAGE = DOCS / "quick-start.md"
SETTING_UP = ("python -m venv", "pip ", "cd ")  # the tests have an environment
EXITS = {"agentguard verify call.json --history calls.jsonl": 2}  # a blocked call


def run(shown: Shown) -> str:
    """Run a command in this folder; those of agentguard in this process, which saves their start."""
    program, *words = words_of(shown.text)
    environment = {"COLUMNS": "120", "TERM": "dumb", "NO_COLOR": "1"}
    if program == "agentguard":
        invoked = CliRunner().invoke(app, words, env=environment)
        code, printed, said = invoked.exit_code, invoked.stdout, invoked.stderr
    else:
        done = subprocess.run(
            [{"python": sys.executable}[program], *words],
            env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        code, printed, said = done.returncode, done.stdout, done.stderr
    assert code == EXITS.get(shown.text, 0), f"{shown.text}\n{printed}{said}"
    return printed


def as_shown(text: str) -> str:
    """A line without what differs from run to run: numbers, and how wide a column is."""
    return " ".join(re.sub(r"[+-]?\d[\d.,]*", "#", text).split())


def test_each_step_does_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    walked = []
    for block in blocks(PAGE):
        if block.title:
            (tmp_path / block.title).write_text(block.code, encoding="utf-8")
        for shown in shown_in(block) if block.language == "console" else []:
            if shown.text.startswith(SETTING_UP):
                continue
            printed = [as_shown(line) for line in run(shown).splitlines()]
            walked.append(shown.text.split(" --")[0])
            for line in shown.output:
                begins = as_shown(line.partition("…")[0])
                assert any(one.startswith(begins) for one in printed), (
                    f"{shown.text} does not print {line!r}: {printed}"
                )
    assert walked[:3] == ["python shop.py", "agentguard state inspect get_order", "agentguard verify call.json"]
    assert (tmp_path / "profiles" / "get_order.yaml").is_file()


def test_numbers_and_widths_do_not_matter() -> None:
    assert as_shown("prior    0.1500   -1.7346") == as_shown("prior  0.25  +1,000.5") == "prior # #"


@pytest.mark.parametrize("title", ["shop.py", "call.json"])
def test_files_are_named(title: str) -> None:
    assert title in [block.title for block in blocks(PAGE)]
