"""Learn P(fault | change): what the clues of a change say of genuine changes, and of faults that last.

Each trial lets one tool of a source answer as it did, then changes all its answers in one way, and notes the clues of
the changes that the engine meets when they are 1, 3, 5, 10 and 20 calls old. Changes that it meets in genuine calls, as
recorded, are genuine changes too.
"""

from __future__ import annotations

import importlib.util
import json
import math
import random
import re
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from detection.calls import Call
from scipy.optimize import minimize

from agentguard.verification import VerificationEngine
from agentguard.verification import _causes as causes
from agentguard.verification._causes import CLUES

from .evidence import RECORDED, TIMED, _calls, _is_error

__all__ = ["CHOSEN", "ChangeRow", "areas", "change_rows", "learned_changes", "streams"]

#: Sources that the weights are learned from; the others, and every third everyday tool, are reported alone.
CHOSEN = ("taubench_traces", "bfcl_multiturn", "toolbench_traces", "everyday")
BEFORE, AFTER = 60, 24  # calls before a change and with it
AGES = (1, 3, 5, 10, 20)  # calls of a change, after which its clues are noted
TOOLS = 8  # of one recorded source
MOST = 6_000  # calls of one recorded file
GENUINE = 250  # calls of an everyday tool
RIDGE = 0.002
#: Clues of a genuine change, whose weight is not above 0.
GENUINE_CLUES = frozenset({"renamed", "added", "carried", "echoes", "again", "volatile"})
#: Clues that may speak for either; the weight of all others is not below 0.
OPEN_CLUES = frozenset({"format", "value", "text"})
AS_RECORDED = "as recorded"
RECORDED_WEIGHT = 4.0  # of the changes in genuine calls as they are, beside one kind of those that were made
Make = Callable[[Call, dict[str, Any], random.Random], Any]


class ChangeRow(NamedTuple):
    """A change at a certain age: the shares of its calls with each clue, and whether it is a fault."""

    source: str
    tool: str
    kind: str
    fault: bool
    age: int
    clues: tuple[float, ...]


# --- Genuine changes and faults; None where an answer has no place for one ---


def _rows(result: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """A record, or each record of a list, changed; None where there is none."""
    if isinstance(result, dict) and result:
        return change(result)
    if isinstance(result, list) and any(isinstance(row, dict) for row in result):
        return [change(row) if isinstance(row, dict) else row for row in result]
    return None


def _field(result: Any, memory: dict[str, Any], wanted: Callable[[Any], bool], rng: random.Random) -> str | None:
    """The field that a trial changes, drawn from those that are wanted in the first answer."""
    if "field" not in memory:
        rows = [result] if isinstance(result, dict) else result if isinstance(result, list) else []
        names = sorted({name for row in rows if isinstance(row, dict) for name, value in row.items() if wanted(value)})
        if not names:
            return None
        memory["field"] = rng.choice(names)
    return str(memory["field"])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value != 0


def _each(make: Callable[[Any], Any], wanted: Callable[[Any], bool]) -> Make:
    """Change the values of one field in all records."""

    def change(call: Call, memory: dict[str, Any], rng: random.Random) -> Any:
        name = _field(call.result, memory, wanted, rng)
        if name is None:
            return None
        found = _rows(call.result, lambda row: {k: make(v) if k == name and wanted(v) else v for k, v in row.items()})
        return None if repr(found) == repr(call.result) else found

    return change


def _seed(call: Call) -> int:
    """A number that is the same whenever the same is asked."""
    return zlib.crc32(json.dumps(call.args, sort_keys=True, default=str).encode())


def _pages(cut: float) -> Make:
    """Lists as long as before times ``cut``: their beginning, or their beginning once more at the end."""

    def change(call: Call, memory: dict[str, Any], rng: random.Random) -> Any:
        def paged(value: Any) -> Any:
            return value[: max(int(cut * len(value)), 1)] if cut < 1 else (value * 2)[: int(cut * len(value))]

        if isinstance(call.result, list) and len(call.result) > 2:
            return paged(call.result)
        if isinstance(call.result, dict):
            found = {k: paged(v) if isinstance(v, list) and len(v) > 2 else v for k, v in call.result.items()}
            return None if repr(found) == repr(call.result) else found
        return None

    return change


def _walk(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """An answer with every value in it changed, at any depth."""
    if isinstance(value, dict):
        return {name: _walk(one, leaf) for name, one in value.items()}
    return [_walk(one, leaf) for one in value] if isinstance(value, list) else leaf(value)


DATED = re.compile(r"(\d{4})-(\d\d)-(\d\d)(.*)", re.DOTALL)


def _dates(call: Call, memory: dict[str, Any], rng: random.Random) -> Any:
    def written(value: Any) -> Any:
        found = DATED.fullmatch(value) if isinstance(value, str) else None
        return value if found is None else f"{found[3]}/{found[2]}/{found[1]}{found[4]}"

    result = _walk(call.result, written)
    return None if result == call.result else result


def _renamed(call: Call, memory: dict[str, Any], rng: random.Random) -> Any:
    name = _field(call.result, memory, lambda value: isinstance(value, str | int | float), rng)
    new = memory.setdefault("new", rng.choice([f"{name}_v2", f"{name}Value", "amount_" + str(name), f"the_{name}"]))
    found = (
        None if name is None else _rows(call.result, lambda row: {new if k == name else k: v for k, v in row.items()})
    )
    return None if repr(found) == repr(call.result) else found


def _dropped(call: Call, memory: dict[str, Any], rng: random.Random) -> Any:
    name = _field(call.result, memory, lambda value: True, rng)
    found = None if name is None else _rows(call.result, lambda row: {k: v for k, v in row.items() if k != name})
    return None if repr(found) == repr(call.result) else found


def _text(call: Call) -> str:
    return call.result if isinstance(call.result, str) else json.dumps(call.result)


def _stuck(call: Call, memory: dict[str, Any], rng: random.Random) -> Any:
    return memory["past"][-1].result


def _tenant(call: Call, memory: dict[str, Any], rng: random.Random) -> Any:
    others = [past for past in memory["past"] if past.args != call.args]
    return rng.choice(others).result if others else None


def _strange(call: Call, memory: dict[str, Any], rng: random.Random) -> Any:
    """The answer to other arguments, which never came before."""
    known = {repr(past.result) for past in memory["past"]}
    others = [past for past in memory["later"] if past.args != call.args and repr(past.result) not in known]
    return rng.choice(others).result if others else None


def _canned(call: Call, memory: dict[str, Any], rng: random.Random) -> Any:
    filler = {str: rng.choice(["string", "example", "value", "lorem ipsum"]), int: 0, float: 0.0, bool: True}
    shape = memory["past"][-1].result
    return memory.setdefault("canned", _walk(shape, lambda value: filler.get(type(value))))


def _filler(call: Call, memory: dict[str, Any], rng: random.Random) -> Any:
    word = memory.setdefault("word", rng.choice(["test", "n/a", "placeholder", "foo"]))
    if isinstance(call.result, str):
        return None
    return _walk(call.result, lambda value: word if isinstance(value, str) else 0 if _is_number(value) else value)


def _marked(call: Call, memory: dict[str, Any], rng: random.Random) -> Any:
    mark = memory.setdefault("mark", rng.choice([{"mock": True}, {"source": "fixture"}, {"note": "simulated data"}]))
    return _rows(call.result, lambda row: {**row, **mark})


def _nulls(call: Call, memory: dict[str, Any], rng: random.Random) -> Any:
    def emptied(row: dict[str, Any]) -> dict[str, Any]:
        return {name: value if k == 0 else None for k, (name, value) in enumerate(row.items())}

    return _rows(call.result, emptied)


def _emptied(call: Call, memory: dict[str, Any], rng: random.Random) -> Any:
    return type(call.result)() if isinstance(call.result, dict | list | str) and call.result else None


def _prose(call: Call, memory: dict[str, Any], rng: random.Random) -> Any:
    if isinstance(call.result, str):
        return None
    said = ", ".join(map(str, list(call.args.values())[:2]))
    return rng.choice([f"Here is what I found for {said}.", f"I looked up {said} and all seems to be in order."])


def _page(call: Call, memory: dict[str, Any], rng: random.Random) -> Any:
    return "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"


def _cut(call: Call, memory: dict[str, Any], rng: random.Random) -> Any:
    text = _text(call)
    return text[: int(rng.uniform(0.3, 0.9) * len(text))] if len(text) > 40 else None


def _held(call: Call, memory: dict[str, Any], rng: random.Random) -> Any:
    """One field is what it was in the last answer before, whatever was asked."""
    name = _field(call.result, memory, lambda value: isinstance(value, str | int | float), rng)
    last = memory["past"][-1].result
    row = next(iter(_records(last)), {})
    if name is None or name not in row:
        return None
    found = _rows(call.result, lambda one: {k: row[name] if k == name else v for k, v in one.items()})
    return None if repr(found) == repr(call.result) else found


def _recoded(call: Call, memory: dict[str, Any], rng: random.Random) -> Any:
    """A word that was the same in all answers, another one: another currency, another unit."""
    if "field" not in memory:
        rows = [row for past in memory["past"] for row in _records(past.result)]
        words = {
            name: {row.get(name) for row in rows if isinstance(row.get(name), str)} for row in rows[:1] for name in row
        }
        constant = sorted(name for name, seen in words.items() if len(seen) == 1)
        if not constant:
            return None
        memory["field"] = rng.choice(constant)
    name = memory["field"]
    found = _rows(call.result, lambda row: {k: "other" if k == name else v for k, v in row.items()})
    return None if repr(found) == repr(call.result) else found


def _records(result: Any) -> list[dict[str, Any]]:
    """An answer's records: itself, or those in its list."""
    rows = result if isinstance(result, list) else [result]
    return [row for row in rows if isinstance(row, dict)]


_deferred = _each(
    lambda value: "deferred", lambda value: isinstance(value, str) and value.isalpha() and len(value) < 16
)


def _new_state(call: Call, memory: dict[str, Any], rng: random.Random) -> Any:
    """One field of words has a word that it never had, in three answers of ten."""
    return _deferred(call, memory, rng) if _seed(call) % 10 <= 2 else call.result


def _wrapped(call: Call, memory: dict[str, Any], rng: random.Random) -> Any:
    return {"data": call.result, "meta": {"version": 2}} if isinstance(call.result, dict | list) else None


def _framed(before: str = "", after: str = "") -> Make:
    """A text between other words, where it is long enough to be an answer by itself."""

    def change(call: Call, memory: dict[str, Any], rng: random.Random) -> Any:
        return f"{before}{call.result}{after}" if isinstance(call.result, str) and len(call.result) > 20 else None

    return change


def _with(fields: Callable[[Call], dict[str, Any]]) -> Make:
    """New fields in each record."""
    return lambda call, memory, rng: _rows(call.result, lambda row: {**row, **fields(call)})


def _unchanged(call: Call, memory: dict[str, Any], rng: random.Random) -> Any:
    return call.result


GENUINE_CHANGES: Mapping[str, Make] = {
    "added": _with(lambda call: {"api_version": "2.1"}),
    "added, varying": _with(lambda call: {"trace": f"{_seed(call):08x}"}),
    "added within": _with(lambda call: {"meta": {"page": 1, "of": _seed(call) % 9}}),
    "renamed": _renamed,
    "moved": _each(lambda value: round(value * 1.2, 2), _is_number),
    "a new state": _new_state,
    "dates": _dates,
    "numbers as text": _each(str, _is_number),
    "numbers as fractions": _each(float, lambda value: type(value) is int),
    "wrapped": _wrapped,
    "shorter pages": _pages(0.5),
    "longer pages": _pages(1.8),
    "prefaced": _framed(before="Result (service v2):\n"),
    "signed": _framed(after="\n\n(served by v2)"),
    "slower": _unchanged,
    "faster": _unchanged,
}

FAULTS: Mapping[str, Make] = {
    "stuck": _stuck,
    "tenant": _tenant,
    "another world": _strange,
    "canned": _canned,
    "filler": _filler,
    "marked": _marked,
    "one null": _each(lambda value: None, lambda value: value is not None),
    "nulls": _nulls,
    "emptied": _emptied,
    "prose": _prose,
    "error page": _page,
    "cut": _cut,
    "dropped": _dropped,
    "a field is stuck": _held,
    "recoded": _recoded,
    "times 100": _each(lambda value: value * 100, _is_number),
    "by 100": _each(lambda value: value / 100, _is_number),
    "Fahrenheit": _each(lambda value: round(value * 1.8 + 32, 1), _is_number),
}
TIMES = {"slower": 3.0, "faster": 0.5}


# --- Trials ---


def streams(data: Path) -> dict[tuple[str, str], list[Call]]:
    """The genuine calls of the tools of all sources, by source and tool."""
    found: dict[tuple[str, str], list[Call]] = {}
    for folder in (data / name for name in RECORDED):
        calls = [
            call._replace(ms=call.ms if folder.name in TIMED else 0.0)
            for path in sorted(folder.glob("*.jsonl.gz"))
            if "attacked" not in path.name
            for call in islice(_calls(path), MOST)
        ]
        by_tool: defaultdict[str, list[Call]] = defaultdict(list)
        for call in calls:
            if not _is_error(call.result):
                by_tool[call.tool].append(call)
        largest = sorted(by_tool, key=lambda tool: -len(by_tool[tool]))[:TOOLS]
        found |= {(folder.name, tool): by_tool[tool] for tool in largest if len(by_tool[tool]) >= BEFORE + AFTER}
    return found | _everyday(data.parent / "eval" / "everyday.py")


def _everyday(program: Path) -> dict[tuple[str, str], list[Call]]:
    """The calls of the everyday tools, two of three to choose on, where the program that makes them is at hand."""
    if not program.exists():
        return {}
    sys.path.insert(0, str(program.parent))
    spec = importlib.util.spec_from_file_location("everyday", program)
    assert spec is not None
    assert spec.loader is not None
    everyday = sys.modules["everyday"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(everyday)
    found = {}
    for place, (name, scenario) in enumerate(everyday.scenarios("given").items()):
        source = "everyday, reported" if place % 3 == 2 else "everyday"
        made = islice(everyday.calls_of(name, scenario), GENUINE)
        found[source, name] = [
            Call(one.tool, one.args, one.result, one.latency_ms, one.session_id) for one in made if not one.is_error
        ]
    return found


def change_rows(source: str, tool: str, calls: Sequence[Call]) -> Iterator[ChangeRow]:
    """The changes that the engine meets in one tool's calls: as they are, and with each change that is made in them.

    The engine has no weights, so that those which ship decide nothing about the trials that the next are learned from.
    """
    with mock.patch.multiple(causes, CHANGE_CONSTANT=0.0, CHANGE_WEIGHTS={}):
        yield from _noted(source, tool, AS_RECORDED, False, calls, len(calls), _unchanged)
        for fault, makers in ((False, GENUINE_CHANGES), (True, FAULTS)):
            for kind, make in makers.items():
                yield from _noted(source, tool, kind, fault, calls, BEFORE, make)


def _noted(
    source: str, tool: str, kind: str, fault: bool, calls: Sequence[Call], before: int, make: Make
) -> Iterator[ChangeRow]:
    """One trial: ``before`` calls as they are and ``AFTER`` changed ones, judged by an engine that follows nothing."""
    rng = random.Random(f"changes {source} {tool} {kind}")
    engine = VerificationEngine()
    engine.register_tool_profile(calls[0].tool, on_change="hold")
    memory: dict[str, Any] = {"past": calls[:BEFORE], "later": calls[BEFORE + AFTER :]}
    met, changed, told = Counter[str](), 0, kind == AS_RECORDED
    for index, call in enumerate(calls):
        if index >= before:
            result = make(call, memory, rng)
            if result is None or (repr(result) == repr(call.result) and kind not in (*TIMES, "a new state")):
                continue
            call = call._replace(result=result, ms=call.ms * TIMES.get(kind, 1.0))
            changed += 1
        verdict = engine.verify(
            call.tool, args=call.args, result=call.result, execution_time_ms=call.ms or None, session_id=call.session
        )
        if verdict.change is not None and (told or index >= before):
            incident = engine._tools.find(call.tool, keep=False).incidents.find(verdict.change)
            if incident is not None and incident.judged in AGES and met[incident.id] < incident.judged:
                met[incident.id] = incident.judged
                share = 1.0 / (incident.judged + 1.0)
                yield ChangeRow(
                    source, tool, kind, fault, incident.judged, tuple(share * one for one in incident.clues)
                )
        if changed == AFTER:
            return


# --- The weights ---


def learned_changes(rows: Sequence[ChangeRow]) -> tuple[float, dict[str, float]]:
    """The constant and the weights of a logistic regression.

    Every source, kind and age counts alike, and all faults count as much as all genuine changes.
    """
    x = np.array([row.clues for row in rows])
    y = np.array([row.fault for row in rows], float)
    size = Counter((row.source, row.kind, row.age) for row in rows)
    w = np.array(
        [(RECORDED_WEIGHT if row.kind == AS_RECORDED else 1.0) / size[row.source, row.kind, row.age] for row in rows]
    )
    for label in (0.0, 1.0):
        w[y == label] /= w[y == label].sum()

    def loss(c: Any) -> tuple[float, Any]:
        odds = c[0] + x @ c[1:]
        p = 1.0 / (1.0 + np.exp(-odds))
        value = float((w * np.logaddexp(0.0, np.where(y > 0, -odds, odds))).sum() + RIDGE * (c[1:] ** 2).sum())
        slope = np.concatenate([[(w * (p - y)).sum()], x.T @ (w * (p - y)) + 2.0 * RIDGE * c[1:]])
        return value, slope

    bounds = [(None, None)] + [
        (None if name in GENUINE_CLUES | OPEN_CLUES else 0.0, 0.0 if name in GENUINE_CLUES else None) for name in CLUES
    ]
    best = minimize(
        loss, np.zeros(len(CLUES) + 1), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 1000}
    )
    return round(float(best.x[0]), 2), {name: round(float(one), 2) for name, one in zip(CLUES, best.x[1:], strict=True)}


def scores(rows: Sequence[ChangeRow], constant: float, weights: Mapping[str, float]) -> Any:
    """Of each row the log-odds of a fault."""
    return constant + np.array([row.clues for row in rows]) @ np.array([weights[name] for name in CLUES])


def areas(rows: Sequence[ChangeRow], found: Any) -> dict[int, float]:
    """By age the area under the curve, faults against genuine changes; every kind of fault counts alike."""
    result = {}
    for age in AGES:
        own = [(row, one) for row, one in zip(rows, found, strict=True) if row.age == age]
        genuine = [one for row, one in own if not row.fault]
        by_kind: defaultdict[str, list[float]] = defaultdict(list)
        for row, one in own:
            if row.fault:
                by_kind[row.kind].append(
                    float(np.mean([(one > other) + 0.5 * (one == other) for other in genuine])) if genuine else math.nan
                )
        result[age] = round(float(np.mean([np.mean(one) for one in by_kind.values()])), 3) if by_kind else math.nan
    return result
