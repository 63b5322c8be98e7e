"""Shares of texts flagged: of a held-out set, and of texts about tools that are written by templates.

The set was written before the patterns that it measures, by the same author, and none was made to fit a row. The author
has seen rows that are found, when versions were compared, and none that is missed.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

from tests.content.tool_texts import tool_texts

from agentguard.content.injection import scan

HELD_OUT = Path(__file__).parent / "data/injection_held_out.jsonl"


def test_shares_of_the_held_out_set() -> None:
    flagged: dict[str, list[bool]] = defaultdict(list)
    for line in HELD_OUT.read_text("utf-8").splitlines():
        row = json.loads(line)
        flagged[row["group"]].append(scan(row["text"], tools=()).label != "clean")
    shares = {group: sum(each) / len(each) for group, each in flagged.items()}
    assert shares["misspelt"] >= 0.95
    assert shares["languages"] >= 0.9
    assert shares["hidden and dressed"] >= 0.9
    assert shares["tools about tools"] <= 0.01


def test_texts_about_tools_are_hardly_ever_flagged() -> None:
    texts = list(tool_texts(400, seed=11))
    assert len(set(texts)) > 390
    flagged = [text for text in texts if scan(text, tools=()).label != "clean"]
    assert len(flagged) <= 4, flagged
