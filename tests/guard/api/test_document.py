"""docs/how-to/http.md: its curl lines, typed against a server begun as it says, give the answers that it shows."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "docs" / "how-to" / "http.md").read_text()
KEY = "test-key-0123456789"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)


def rounded(value: Any) -> Any:
    """The document shows four digits."""
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return {name: rounded(each) for name, each in value.items()} if isinstance(value, dict) else value


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_each_line_is_answered_as_it_is_shown(serve: Callable[..., Any]) -> None:
    server = serve("--profiles", ROOT / "examples" / "typescript" / "weather.yaml")
    lines = [block.removeprefix("$ ") for block in blocks("console") if block.startswith("$ curl ")]
    shown = [json.loads(block) for block in blocks("json")]

    answers = []
    for line in lines:
        typed = line.replace("http://127.0.0.1:8321", server.url)
        done = subprocess.run(
            ["bash", "-c", typed],  # noqa: S607 - whichever is on the path
            env={**os.environ, "AGENTGUARD_API_KEY": KEY}, capture_output=True, check=True, timeout=60,
        )  # fmt: skip
        answers.append(rounded(json.loads(done.stdout)))

    assert len(answers) == 6
    assert answers == shown
