"""Measures grounding on recorded calls: arguments traced and swapped, and answers made from results, true and false.

    python benchmarks/content/grounding.py [--data FOLDER] [--most 400]

No labelled answers are at hand: they are made here, each from one recorded result, once true and once false in one
place. Rows whose number leaves 2 when divided by 3 are held out from design.
"""

from __future__ import annotations

import ast
import gzip
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
import yaml
from rich.console import Console
from rich.table import Table

from agentguard.content import grounding

__all__ = ["answers", "arguments", "main", "messages"]

DATA = Path(__file__).resolve().parents[2] / "../shared/data"
TRACES = {
    "agentdojo": "agentdojo_traces/benign_runs.jsonl.gz",
    "tau-bench": "taubench_traces/calls.jsonl.gz",
    "bfcl": "bfcl_multiturn/calls.jsonl.gz",
    "toolbench": "toolbench_traces/calls.jsonl.gz",
}
PARTS = ("design", "held out")
WRITTEN = {"body", "content", "thought", "summary", "message"}  # arguments in which a model writes to people
# What these say is false even where their number stands elsewhere in the result.
FALSE_ANYWAY = {"another element's", "average", "count", "difference", "sum"}
LONGEST = 20_000  # characters of a result that answers are made from


class Claim(NamedTuple):
    """One sentence with one value in it, which the result does or does not say."""

    kind: str
    answer: str
    start: int
    end: int


def rows(data: Path, source: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The recorded calls of a source, numbered; none where it is not there."""
    path = data / TRACES[source]
    if path.is_file():
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                yield number, json.loads(line)


def part_of(number: int) -> str:
    """``design`` or ``held out``, by a row's number."""
    return PARTS[number % 3 == 2]


# --- Arguments -------------------------------------------------------------------------------------------------------


def arguments(data: Path = DATA, most: int = 400, seed: int = 5) -> list[dict[str, Any]]:
    """For each source and part: arguments traced to earlier results, and swapped ones that are reported.

    The traces hold no user's message, so an argument that no earlier result says may be the user's own: the share that
    is traced is what results alone explain. A traced argument is swapped for another session's at the same place; where
    this session's results say that one too, tracing cannot tell them apart, and it is counted apart.
    """
    figures = []
    for source in ("agentdojo", "tau-bench"):
        sessions: dict[str, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
        pool: dict[tuple[str, str], list[Any]] = defaultdict(list)
        for number, row in rows(data, source):
            sessions[row["session_id"]].append((number, row))
            for key, value in row["args"].items():
                pool[row["tool"], key].append(value)
        for part in PARTS:
            rng = random.Random(seed)
            counted: Counter[str] = Counter()
            picked = sorted(sessions)
            rng.shuffle(picked)
            for session in picked:
                if counted["calls"] >= most:
                    break
                _session(sessions[session], part, pool, rng, counted)
            if counted["calls"]:
                figures.append({"source": source, "part": part, **counted})
    return figures


def _session(
    calls: list[tuple[int, dict[str, Any]]],
    part: str,
    pool: dict[tuple[str, str], list[Any]],
    rng: random.Random,
    counted: Counter[str],
) -> None:
    results: list[str] = []
    for number, row in calls:
        if results and part_of(number) == part:
            counted["calls"] += 1
            for key, value in row["args"].items():
                found = grounding.check_arguments({key: value}, (), results)
                checked = len(found.findings) + len(found.supported)
                counted["naming"] += checked
                counted["traced"] += len(found.supported)
                others = [other for other in pool[row["tool"], key] if other != value]
                if not checked or found.findings or not others:
                    continue
                other = rng.choice(others)
                if grounding.check_arguments({key: other}, (), results).label == "nothing to trace":
                    continue
                if any(text and text in "\n".join(results).casefold() for text in _texts(other)):
                    counted["swapped for one that is known too"] += 1
                    continue
                counted["swapped"] += 1
                counted["reported"] += bool(grounding.check_arguments({key: other}, (), results).findings)
        results.append(row["result"])


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    else:
        yield re.sub(r"^(https?://)?(www\.)?|^#|/$", "", str(value).casefold())


# --- Answers made from results ---------------------------------------------------------------------------------------


def answers(data: Path = DATA, most: int = 400, seed: int = 6) -> list[dict[str, Any]]:
    """For each part and kind of claim: true ones supported, false ones reported, and the precision of a report."""
    figures = []
    for part in PARTS:
        rng = random.Random(seed)
        counted: dict[str, Counter[str]] = defaultdict(Counter)
        for source in TRACES:
            texts = list(
                dict.fromkeys(
                    r["result"] for n, r in rows(data, source) if part_of(n) == part and len(r["result"]) <= LONGEST
                )
            )
            rng.shuffle(texts)
            strangers = [value for text in texts[:200] for _, value in _leaves(_value(text)) if _is_name(value)]
            for text in texts[:most]:
                _measure(text, _claims(_value(text), rng, strangers), text, counted)
        for number in range(most):
            if part_of(number) == part:
                result, claims = _converted(rng)
                _measure(result, claims, json.dumps(result), counted)
        for kind, count in sorted(counted.items()):
            reports = count["missed"] + count["reported"]
            figures.append(
                {
                    "part": part,
                    "kind": kind,
                    "claims": count["true"],
                    "true supported": 1 - count["missed"] / count["true"],
                    "false reported": count["reported"] / max(1, count["false"]),
                    "precision": count["reported"] / max(1, reports),
                }
            )
    return figures


def _measure(result: Any, claims: Iterator[tuple[Claim, Claim]], text: str, counted: dict[str, Counter[str]]) -> None:
    for true, false in claims:
        count = counted[true.kind]
        count["true"] += 1
        count["missed"] += _reported(true, result)
        if false.kind in FALSE_ANYWAY or false.answer[false.start : false.end].casefold() not in text.casefold():
            count["false"] += 1
            count["reported"] += _reported(false, result)


def _reported(claim: Claim, result: Any) -> bool:
    found = grounding.check(claim.answer, [result]).findings
    return any(finding.start < claim.end and claim.start < finding.end for finding in found)


def _value(text: str) -> Any:
    for parse in (json.loads, ast.literal_eval, lambda text: yaml.load(text, Loader=yaml.CSafeLoader)):
        try:
            return parse(text)
        except (ValueError, SyntaxError, yaml.YAMLError, RecursionError, MemoryError):
            continue
    return text


def _leaves(value: Any, key: str = "value") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, str(name))
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, key)
    else:
        yield key, value


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[A-Z][a-z]+(?: [A-Z][a-z]+){1,2}", value) is not None


def _claims(value: Any, rng: random.Random, strangers: list[str]) -> Iterator[tuple[Claim, Claim]]:
    """At most two claims of a kind, each true and false."""
    made: Counter[str] = Counter()
    leaves = list(_leaves(value))
    rng.shuffle(leaves)
    candidates = [pair for key, leaf in leaves for pair in _of_leaf(key, leaf, rng, strangers)]
    candidates += _of_lists(value, rng)
    for true, false in candidates:
        made[true.kind] += 1
        if made[true.kind] <= 2:
            yield true, false


def _claim(kind: str, before: str, value: str, after: str = ".") -> Claim:
    return Claim(kind, before + value + after, len(before), len(before) + len(value))


def _both(kind: str, before: str, true: str, false: str, after: str = ".") -> tuple[Claim, Claim]:
    return _claim(kind, before, true, after), _claim(kind, before, false, after)


def _of_leaf(key: str, value: Any, rng: random.Random, strangers: list[str]) -> Iterator[tuple[Claim, Claim]]:
    name = re.sub(r"[_\W]+", " ", key).strip().lower() or "value"
    before = f"The {name} is "
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 12 < abs(value) < 10**12:
        shown = f"{value:,}" if abs(value) >= 1000 else f"{value}"
        yield _both("number quoted", before, shown, _digit_off(shown, rng))
        if isinstance(value, float) and round(value, 1) != value:
            shown = f"{value:,.1f}"
            yield _both("number rounded", before, shown, _digit_off(shown, rng))
    elif isinstance(value, int) and not isinstance(value, bool) and 2 <= value <= 12:
        yield _both("small integer", before, str(value), str(rng.choice([n for n in range(2, 13) if n != value])))
    elif isinstance(value, (date, datetime)) or (
        isinstance(value, str) and re.fullmatch(r"20\d\d-[01]\d-[0-3]\d", value)
    ):
        try:
            day = date.fromisoformat(str(value)[:10])
        except ValueError:
            return
        other = day.replace(day=day.day % 28 + 1 + rng.randrange(3) % (28 - day.day % 28))
        shown, false = (f"{moment:%B} {moment.day}, {moment.year}" for moment in (day, other))
        if other != day:
            yield _both("date", before, shown, false)
    elif _is_name(value) and strangers:
        stranger = rng.choice(strangers)
        if stranger != value:
            yield _both("name", f"It is about the {name} ", value, stranger)
        yield _both(
            "name, one word changed", f"It is about the {name} ", value, f"{value.split()[0]} {stranger.split()[-1]}"
        )
    elif isinstance(value, str) and re.fullmatch(r"(?=\S*\d)(?=\S*[A-Za-z])#?[\w-]{5,40}", value):
        yield _both("identifier", before, value, _digit_off(value, rng))


def _of_lists(value: Any, rng: random.Random, key: str = "results") -> Iterator[tuple[Claim, Claim]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _of_lists(inner, rng, str(name))
    elif isinstance(value, list):
        name = re.sub(r"[_\W]+", " ", key).strip().lower()
        if 2 <= len(value) <= 99:
            yield _both("count", "There are ", f"{len(value)}", f"{len(value) + rng.choice((-1, 1, 2))}", f" {name}.")
        fields: dict[str, list[float]] = defaultdict(list)
        for item in value:
            for field, number in item.items() if isinstance(item, dict) else ():
                if isinstance(number, (int, float)) and not isinstance(number, bool) and abs(number) < 10**9:
                    fields[field].append(number)
        yield from _of_others(value, fields, rng)
        for field, numbers in fields.items():
            if len(numbers) >= 2 and sum(numbers) > 12 and len(set(numbers)) > 1:
                word = re.sub(r"[_\W]+", " ", str(field)).lower()
                for kind, before, figure in (
                    ("sum", f"The total {word} is ", sum(numbers)),
                    ("average", f"The average {word} is ", sum(numbers) / len(numbers)),
                    (
                        "difference",
                        f"The highest {word} exceeds the lowest by a difference of ",
                        max(numbers) - min(numbers),
                    ),
                ):
                    shown = f"{figure:,.2f}".removesuffix(".00")
                    yield _both(kind, before, shown, _digit_off(shown, rng))
        for item in value:
            yield from _of_lists(item, rng, key)


def _of_others(items: list[Any], fields: dict[str, list[float]], rng: random.Random) -> Iterator[tuple[Claim, Claim]]:
    """A number of one element, said of it and said of another one."""
    for field in fields:
        word = re.sub(r"[_\W]+", " ", str(field)).lower()
        told = [
            (
                next((leaf for _, leaf in _leaves(item) if isinstance(leaf, str) and 4 < len(leaf) < 40), None),
                item.get(field),
            )
            for item in items
            if isinstance(item, dict) and isinstance(item.get(field), (int, float)) and abs(item[field]) > 12
        ]
        names = Counter(name for name, _ in told)
        alone = [(name, number) for name, number in told if name and names[name] == 1 and not name.islower()]
        if len(alone) >= 2:
            (name, number), (_, other) = rng.sample(alone, 2)
            is_theirs = [number == theirs for called, theirs in told if called != name]
            if not any(is_theirs) and sum(other == theirs for _, theirs in told) == 1:
                yield _both("another element's", f"The {word} of {name} is ", f"{number}", f"{other}")


def _converted(rng: random.Random) -> tuple[dict[str, Any], Iterator[tuple[Claim, Claim]]]:
    """A record with units in its fields' names, and claims in other units."""
    record = {
        "distance_km": round(rng.uniform(5, 900), 1),
        "temperature_c": round(rng.uniform(-10, 38), 1),
        "weight_kg": round(rng.uniform(2, 90), 1),
        "duration_min": rng.randrange(20, 600),
        "file_size_kb": rng.randrange(1500, 90_000),
    }
    shown = {
        "distance_km": f"{record['distance_km'] / 1.609344:.1f} miles",
        "temperature_c": f"{record['temperature_c'] * 1.8 + 32:.1f} °F",
        "weight_kg": f"{record['weight_kg'] * 2.20462262:.1f} lb",
        "duration_min": f"{record['duration_min'] / 60:.2f} hours",
        "file_size_kb": f"{record['file_size_kb'] / 1000:.2f} MB",
    }
    return record, (
        _both("converted", f"The {key.rpartition('_')[0].replace('_', ' ')} is ", text, _digit_off(text, rng))
        for key, text in shown.items()
    )


def _digit_off(text: str, rng: random.Random) -> str:
    """The text with one digit changed; the first stays a digit other than zero."""
    places = [place for place, character in enumerate(text) if character.isdigit()]
    place = rng.choice(places)
    taken = {text[place], "0" if place == places[0] else text[place]}
    return text[:place] + rng.choice([digit for digit in "0123456789" if digit not in taken]) + text[place + 1 :]


# --- What models wrote -----------------------------------------------------------------------------------------------


def messages(data: Path = DATA, most: int = 300) -> list[dict[str, Any]]:
    """Texts that models wrote to people after calls: how much of them results support.

    The user's message is missing, so what is not supported is partly the user's own; no figure here is an error rate.
    """
    figures = []
    for source in ("agentdojo", "tau-bench"):
        for part in PARTS:
            counted: Counter[str] = Counter()
            results: dict[str, list[str]] = defaultdict(list)
            for number, row in rows(data, source):
                known = results[row["session_id"]]
                for key, value in row["args"].items():
                    if (
                        key in WRITTEN
                        and isinstance(value, str)
                        and len(value) > 60
                        and known
                        and part_of(number) == part
                        and counted["texts"] < most
                    ):
                        found = grounding.check(value, known)
                        counted["texts"] += 1
                        counted.update(trace.kind for trace in found.supported)
                        counted.update(finding.kind for finding in found.findings)
                known.append(row["result"])
            if counted["texts"]:
                figures.append({"source": source, "part": part, **counted})
    return figures


def main(
    data: Annotated[Path, typer.Option(help="Folder of recorded calls.")] = DATA,
    most: Annotated[int, typer.Option(min=1, help="Calls and results of each source and part.")] = 400,
) -> None:
    """Measure, and print the figures."""
    console = Console()
    if not data.is_dir():
        console.print(f"not measured: there is no folder {data}")
        raise typer.Exit(1)
    for title, figures in (
        ("Arguments of recorded calls", arguments(data, most)),
        ("Answers made from results", answers(data, most)),
        ("Texts that models wrote", messages(data, most)),
    ):
        columns = list(dict.fromkeys(name for figure in figures for name in figure))
        table = Table(*columns, title=title)
        for figure in figures:
            cells = (figure.get(name, 0) for name in columns)
            table.add_row(*(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in cells))
        console.print(table)


if __name__ == "__main__":
    typer.run(main)
