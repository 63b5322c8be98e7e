"""What each signal says of genuine calls and of faults made from them: the rows that weights are learned from."""

from __future__ import annotations

import gzip
import json
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import engines
from detection.calls import Call
from detection.faults import FAULTS, REPLAYED, Fault, Scene
from detection.split import HELD_OUT_FAMILIES, HELD_OUT_FAULTS
from detection.stream import GENUINE, agents, events

from .within import WITHIN

__all__ = ["GENERATED", "Row", "Source", "rows", "rows_without", "sources"]

GENERATED = "generated families"
SPOILED = "generated families, a tenth of the history bad"
RECORDED = (
    "taubench_traces",
    "bfcl_multiturn",
    "toolbench_traces",
    "apibank",
    "agentdojo_traces",
    "mcp_recorded",
    "latency_traces",
)
TIMED = ("mcp_recorded", "latency_traces")  # sources whose times are those of real tools
SEEDS = {GENERATED: 11, SPOILED: 12}  # of generated courses, and no other section's
CALLS = 300  # genuine calls of each family
MOST = 3_000  # calls of one recorded file
WARM = 5  # usable calls of a tool before its calls count
PROBES = 2  # faults made of one call
BEHIND, AHEAD, ELSEWHERE = 300, 40, 8
KINDS: dict[str, Fault] = {**FAULTS, **REPLAYED, **WITHIN}


class Row(NamedTuple):
    """One judged call: which kind it was, and the log of each applicable signal's likelihood ratio, in nats."""

    kind: str
    nats: dict[str, float]


class Source(NamedTuple):
    """Where calls come from: a file of recorded ones, or the families of one generated agent."""

    name: str
    path: Path | None
    seed: int = 0
    families: Sequence[str] = ()


def sources(data: Path) -> list[Source]:
    """The generated families that are not held out, and what is recorded there."""
    found = [Source(name, None, seed, families) for name, seed in SEEDS.items() for families in agents(seed)]
    for name in RECORDED:
        paths = sorted((data / name).glob("*.jsonl.gz"))
        found += [Source(name, path) for path in paths if "attacked" not in path.name]
    return found


def rows(source: Source) -> list[Row]:
    """Every genuine call of a source, and the faults made of it, as our engine judges them."""
    engine = engines.reviewed()

    def judged(kind: str, call: Call, *, learn: bool, timed: bool) -> Row:
        result = engine.verify(
            call.tool, args=call.args, result=call.result, execution_time_ms=call.ms if timed else None,
            session_id=call.session, learn=learn,
        )  # fmt: skip
        signals = result.signals.items()
        return Row(kind, {name: math.log(one.likelihood_ratio) for name, one in signals if one.p_value is not None})

    found = []
    if source.path is None:
        for event in events(source.seed, source.families, CALLS, 0.1 if source.name == SPOILED else 0.0):
            row = judged(event.kind, event.call, learn=event.learn, timed=True)
            kept = event.family not in HELD_OUT_FAMILIES and event.kind not in HELD_OUT_FAULTS
            if kept and event.kind != "spoiled" and event.number > WARM:
                found.append(row)
        return found
    timed = source.name in TIMED
    for kind, call, learn, counts in _recorded(source.path, timed):
        row = judged(kind, call, learn=learn, timed=timed)
        if counts:
            found.append(row)
    return found


def rows_without(source: Source, family: str) -> list[Row]:
    """``rows``, of an engine that does not know one family of relations."""
    with mock.patch.object(*engines.FAMILIES[family]):
        return rows(source)


def _recorded(path: Path, timed: bool) -> Iterator[tuple[str, Call, bool, bool]]:
    """Kind, call, whether it is learned, and whether it counts."""
    rng = random.Random(f"weights {path.parent.name} {path.name}")
    calls = list(islice(_calls(path), MOST))
    seen: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    made: Counter[str] = Counter()
    latest: dict[str, Call] = {}
    kinds = _in_turn(rng, timed)
    for index, call in enumerate(calls):
        usable = made[call.tool] >= WARM and not _is_error(call.result)
        if usable:
            elsewhere = [other for tool, other in latest.items() if tool != call.tool][-ELSEWHERE:]
            scene = Scene(
                calls[max(index - BEHIND, 0) : index], calls[index + 1 : index + 1 + AHEAD], elsewhere, seen[call.tool]
            )
            for _ in range(PROBES):
                for kind in islice(kinds, len(KINDS)):
                    wrong = KINDS[kind](call, scene, rng)
                    if wrong is not None and not _is_error(wrong.result):
                        yield kind, wrong, False, True
                        break
        yield GENUINE, call, True, usable
        made[call.tool] += 1
        latest[call.tool] = call
        seen[call.tool].add((call.tool, json.dumps(call.result)))


def _calls(path: Path) -> Iterator[Call]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if row["label"] == GENUINE and not str(row["result"]).startswith("<Data omitted because"):
                session, args = str(row["session_id"]), row["args"] if isinstance(row["args"], dict) else {}
                yield Call(row["tool"], args, _parsed(row["result"]), row["latency_ms"] or 0.0, session)


def _parsed(result: Any) -> Any:
    if isinstance(result, str):
        try:
            value = json.loads(result)
        except ValueError:
            return result
        return value if isinstance(value, (dict, list)) else result
    return result


def _is_error(result: Any) -> bool:
    text = json.dumps(result)[:200].lower()
    return "error" in text or "not found" in text or result in (None, "", [], {})


def _in_turn(rng: random.Random, timed: bool) -> Iterator[str]:
    kinds = [kind for kind in KINDS if timed or kind != "instant"]
    while True:
        rng.shuffle(kinds)
        yield from kinds
