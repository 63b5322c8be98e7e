"""Answers and arguments traced to results: numbers, dates, names, units and arithmetic of any form."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from agentguard.content.grounding import check, check_arguments
from fuzz import grammar, tokens
from fuzz.harness import Harness
from fuzz.source import Source
from fuzz.targets.scanners import spans_hold
from fuzz.trial import Trial, require

__all__ = ["HARNESSES"]

CLAIMS = (
    tokens.NUMBERS,
    tokens.DATES,
    tokens.UNITS,
    tokens.ENTITIES,
    tokens.WORDS,
    tokens.NUMBERS,
    tokens.DATES,
    tokens.UNICODE,
)
LABELS = ("grounded", "partly grounded", "ungrounded", "nothing to trace")
NOWS = (None, datetime(2025, 3, 3), datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59))


def _results(source: Source) -> list[Any]:
    return [
        grammar.text(source, CLAIMS, 12) if source.integer(0, 1) else grammar.value(source)
        for _ in range(source.integer(0, 3))
    ]


def _trace_holds(found: Any, length: int) -> None:
    require(0.0 <= found.score <= 1.0, f"score {found.score}")
    spans_hold(found.findings, length)
    for trace in found.supported:
        require(0 <= trace.start <= trace.end <= length, f"a trace at {trace.start}-{trace.end} of {length}")
        require(trace.first <= trace.last, "a source that ends before it begins")


def _check(trial: Trial) -> None:
    source = trial.source
    answer = grammar.text(source, CLAIMS if source.integer(0, 3) else grammar.PROSE)
    results = _results(source)
    question = grammar.text(source, CLAIMS, 4) if source.chance(2) else None
    found = trial.call(check, answer, results, question=question, small=source.choice((12, 0, 10**9)))
    require(found.label in LABELS, found.label)
    _trace_holds(found, len(answer))


def _arguments(trial: Trial) -> None:
    source = trial.source
    args = {grammar.key(source): grammar.value(source, 2) for _ in range(source.integer(0, 4))}
    if source.integer(0, 1) or not args:
        args["date"] = grammar.text(source, CLAIMS, 4)
    messages = [grammar.text(source, CLAIMS, 8) for _ in range(source.integer(0, 2))]
    found = trial.call(check_arguments, args, messages, _results(source), now=source.choice(NOWS))
    require(0.0 <= found.score <= 1.0, f"score {found.score}")
    require(found.label in ("known", "invented", "partly invented", "nothing to trace"), found.label)
    spans_hold(found.findings, 10**6)


HARNESSES = (
    Harness("grounding", "grounding.check", _check),
    Harness("arguments", "grounding.check_arguments", _arguments),
)
