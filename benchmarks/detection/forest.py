"""An IsolationForest for each tool (scikit-learn), as someone would build it who has an afternoon.

Features: time, length, number of fields, number of elements, and the first eight number fields by name. It is fitted
on the tool's last 256 learned calls after 20, 40, 80, … of them and blocks what falls below its own 1% line.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from .calls import Call
from .contestants import Score
from .spots import leaves, walk
from .stream import Event

__all__ = ["forest"]

FIRST_FIT, KEPT, NUMBERS = 20, 256, 8
UNKNOWN = 0.5


def forest(events: Iterable[Event]) -> list[Score]:
    """Judge a course; calls before a tool's first fit are accepted."""
    course = list(events)
    scores = [Score(UNKNOWN, "accept")] * len(course)
    by_tool: defaultdict[str, list[int]] = defaultdict(list)
    for place, event in enumerate(course):
        by_tool[event.call.tool].append(place)
    for places in by_tool.values():
        _one_tool(course, places, scores)
    return scores


def _one_tool(course: list[Event], places: list[int], scores: list[Score]) -> None:
    from sklearn.ensemble import IsolationForest  # type: ignore[import-untyped]  # ships no types

    known: list[Call] = []
    waiting: list[int] = []
    model: Any = None
    columns: list[str] = []
    refit_at = FIRST_FIT

    def judge() -> None:
        if model is None or not waiting:
            return
        rows = [_features(course[place].call, columns) for place in waiting]
        for place, score in zip(waiting, model.decision_function(rows), strict=True):
            scores[place] = Score(1.0 / (1.0 + math.exp(20.0 * score)), "block" if score < 0 else "accept")

    for place in places:
        waiting.append(place)
        if course[place].learn:
            known.append(course[place].call)
        if len(known) == refit_at:
            judge()
            waiting, refit_at = [], 2 * refit_at
            columns = sorted({name for call in known for name in _numbers(call)})[:NUMBERS]
            model = IsolationForest(n_estimators=100, contamination=0.01, random_state=0)
            model.fit([_features(call, columns) for call in known[-KEPT:]])
    judge()


def _features(call: Call, columns: list[str]) -> list[float]:
    numbers = _numbers(call)
    nodes = [value for _, value in walk(call.result)]
    return [
        math.log(call.ms + 0.01),
        math.log1p(len(json.dumps(call.result))),
        float(sum(len(value) for value in nodes if isinstance(value, dict))),
        float(sum(len(value) for value in nodes if isinstance(value, list))),
        *(numbers.get(column, -1.0) for column in columns),
    ]


def _numbers(call: Call) -> dict[str, float]:
    """The first number at each field; of a text its numbers in order."""
    found: dict[str, float] = {}
    for place, spot in enumerate(leaves(call.result)):
        if isinstance(spot.value, (int, float)) and not isinstance(spot.value, bool):
            name = str(place) if spot.span else ".".join(map(str, spot.column))
            found.setdefault(name, float(spot.value))
    return found
