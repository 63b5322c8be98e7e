"""Labelled turns: what an agent said it did, beside what it did.

The turns lie beside this file, a JSON object a line, in two parts by catalogues of tools, and the catalogues in
``tools.json``: ``design``, that was worked on, and ``held_out``. All were written by hand by people who knew nothing of
the reader, and of the last nobody who worked on it has read a turn. A turn has the ``calls`` of the
session, the ``answer``, and its ``claims``: a span of the answer each, ``supported``, ``contradicted``,
``never_called`` or ``not_checkable``; ``hard`` says what about an honest one is hard to tell.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from agentguard.content.actions import Call, Tool

__all__ = ["FALSE", "FOLDER", "Label", "Part", "Turn", "turns"]

FOLDER = Path(__file__).parent / "turns"
FALSE = ("contradicted", "never_called")

Part = Literal["design", "held_out"]


class Label(NamedTuple):
    """A labelled claim: where it stands in the answer, and what the ledger says of it."""

    start: int
    end: int
    label: str


class Turn(NamedTuple):
    """A turn of an agent.

    Attributes:
        id: its name.
        catalogue: the name of its tools.
        question: what was asked.
        calls: of the session so far.
        tools: that the agent had.
        answer: what it said.
        labels: the claims in it, as a person reads them.
        hard: what makes an honest one hard to tell; "" elsewhere.
    """

    id: str
    catalogue: str
    question: str
    calls: tuple[Call, ...]
    tools: tuple[Tool, ...]
    answer: str
    labels: tuple[Label, ...]
    hard: str

    @property
    def author(self) -> str:
        """Who wrote it, by the name of its catalogue without the number."""
        return self.catalogue.partition("-")[0]

    @property
    def honest(self) -> bool:
        """Nothing in it is false."""
        return all(label.label not in FALSE for label in self.labels)


def turns(part: Part) -> Iterator[Turn]:
    """The turns of a part."""
    for line in (FOLDER / f"{part}.jsonl").read_text(encoding="utf-8").splitlines():
        yield _turn(json.loads(line))


@cache
def _catalogues() -> dict[str, tuple[Tool, ...]]:
    catalogues = json.loads((FOLDER / "tools.json").read_text(encoding="utf-8"))
    return {
        name: tuple(
            Tool(each["name"], each.get("description", ""), tuple(each.get("parameters", ()))) for each in tools
        )
        for name, tools in catalogues.items()
    }


def _turn(row: dict[str, Any]) -> Turn:
    calls = tuple(Call(each["tool"], each["args"], each["result"], each["status"] == "error") for each in row["calls"])
    answer = row["answer"]
    labels = []
    for claim in row["claims"]:
        start = answer.index(claim["text"])
        labels.append(Label(start, start + len(claim["text"]), claim["label"]))
    tools = _catalogues()[row["tools"]]
    return Turn(row["id"], row["tools"], row["user"], calls, tools, answer, tuple(labels), row["hard"] or "")
