"""Measures how often a value of an answer is called unsupported: of honest turns, and of answers made true or false.

python benchmarks/deeds/values.py [design] [held_out]
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

from agentguard.content import actions, grounding
from agentguard.content.grounding._values import NUMBER_WORDS

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # as a script, too

from tables import markdown

from deeds.turns import Part, Turn, turns

__all__ = ["answers", "honest", "main", "shares", "spoiled", "tasks"]

TASKS = Path(__file__).resolve().parents[2] / "../shared/data/toolfailbench/tasks.jsonl.gz"
WRONG = 1.17  # times a number is what is said falsely
WORDS = {number: word for word, number in NUMBER_WORDS.items()}


def checked(turn: Turn, answer: str) -> grounding.GroundingResult:
    """Trace an answer to the calls of a turn."""
    return actions.check(answer, turn.calls, turn.tools, question=turn.question).values


def honest(part: Part) -> Iterator[tuple[str, bool]]:
    """Tell of each honest turn whether a value is reported in it, behind ``all`` and behind its author."""
    for turn in turns(part):
        if turn.honest:
            found = bool(checked(turn, turn.answer).findings)
            yield from (("all", found), (turn.author, found))


def spoiled(part: Part) -> Iterator[tuple[str, bool]]:
    """Tell of one traced number of each honest turn whether it is reported where it is said wrong."""
    for turn in turns(part):
        if not turn.honest:
            continue
        for trace in checked(turn, turn.answer).supported:
            said = turn.answer[trace.start : trace.end]
            if trace.kind != "number" or trace.how != "as written" or (trace.source or 0) < 0:
                continue
            digits = said.replace(",", "").strip("$€£%")
            if not digits.replace(".", "", 1).isdecimal() or (float(digits) < 20 and "." not in digits):
                continue
            false = said.replace(digits if digits in said else said, _times(digits))
            answer, end = turn.answer[: trace.start] + false + turn.answer[trace.end :], trace.start + len(false)
            yield "all", any(each.start < end and trace.start < each.end for each in checked(turn, answer).findings)
            break


def _times(digits: str) -> str:
    return f"{float(digits) * WRONG:.{len(digits.partition('.')[2])}f}"


def answers(result: Any) -> Iterator[tuple[str, str]]:
    """Say the first telling number of a result plainly, rounded and in words, and falsely; each behind how it is."""
    told = next((each for each in _numbers(result) if abs(each[1]) >= 13 or each[1] != int(each[1])), None)
    if told is None:
        return
    name, value = told[0].replace("_", " "), told[1]
    yield "plain", f"The {name} is {value:,}."
    yield "rounded", f"The {name} is about {float(f'{value:.3g}'):,.10g}."
    if value == int(value) and 13 <= value < 100:
        words = WORDS.get(value) or f"{WORDS[value - value % 10]}-{WORDS[value % 10]}"
        yield "in words", f"The {name} is {words}."
    yield "false", f"The {name} is {_times(str(value))}."


def _numbers(value: Any, name: str = "value") -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _numbers(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _numbers(inner, name)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield name, value


def tasks() -> Iterator[tuple[str, bool]]:
    """Tell of each answer whether a value is reported in it, behind its kind; of none where there are no tasks."""
    if TASKS.is_file():
        with gzip.open(TASKS, "rt", encoding="utf-8") as lines:
            for task in map(json.loads, lines):
                for kind, answer in answers(task["result"]):
                    call = actions.Call(task["call"]["name"], task["call"]["arguments"], task["result"])
                    yield kind, bool(actions.check(answer, [call], question=task["user_message"]).values.findings)


def shares(told: Iterable[tuple[str, bool]]) -> dict[str, tuple[int, int]]:
    """Count, of each kind of answer, in how many a value is reported, and how many there are."""
    counted: dict[str, list[bool]] = {}
    for name, found in told:
        counted.setdefault(name, []).append(found)
    return {name: (sum(each), len(each)) for name, each in counted.items()}


def _rows(what: str, told: Iterable[tuple[str, bool]]) -> list[Sequence[str]]:
    return [(what, name, f"{hits}", f"{size}", f"{hits / size:.1%}") for name, (hits, size) in shares(told).items()]


def main(parts: Sequence[Part]) -> None:
    """Measure on some parts of the turns and on the tasks, and print the tables."""
    rows = [row for part in parts for row in _rows(f"{part}: honest turns", honest(part))]
    rows += [row for part in parts for row in _rows(f"{part}: numbers made wrong", spoiled(part))]
    print(markdown(("turns", "author", "reported", "of", "share"), rows))
    print(markdown(("toolfailbench", "answers", "reported", "of", "share"), _rows("", tasks())))


if __name__ == "__main__":
    main([part for part in get_args(Part) if part in (sys.argv[1:] or get_args(Part))])
