"""False alarms on long genuine streams, counted in two ways: calls not accepted, and changes that were told of.

A change that is told of once and holds for thirty calls is one interruption of whoever reads it, and thirty flags.
"""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from detection.calls import Call
from detection.families import FAMILIES
from detection.stream import WARM, agents, seeded

from .forks import AT_ONCE, can_fork, forked

__all__ = ["MARKED", "RECORDED", "Stream", "generated", "listened", "pooled", "recorded", "stream_files"]

CALLS = 1_000  # of each family in one generated stream
MOST = 6_000  # rows of a recorded stream

#: Recorded sources with genuine calls in the order in which they were made.
RECORDED = (
    "taubench_traces", "tau2_traces", "bfcl_multiturn", "toolbench_traces", "livemcpbench", "apibank",
    "agentdojo_traces", "latency_traces", "mcp_recorded",
)  # fmt: skip
TIMED = ("latency_traces", "mcp_recorded")  # whose latencies are those of real tools
MARKED = "mcp_recorded"  # where servers marked the errors themselves
ANOTHER_GUARD = "<Data omitted because"  # a notice in place of the tool's answer


class Heard(NamedTuple):
    """One call of a stream, with what its framework says of it."""

    source: str
    call: Call
    latency: float | None
    is_error: bool = False


class Stream(NamedTuple):
    """What was said of one source's genuine calls.

    Attributes:
        source: the family, or the recorded file.
        calls: how many there were.
        known: those after their tool's first twenty; ``flagged`` (or blocked) and ``blocked`` are counts of these.
        changes: changes that were told of, over all calls; None where the engine keeps none.
        told: what was said of them, for each its tool, state and words.
        errors: calls that were marked as errors, and ``errors_flagged`` of them (or blocked).
    """

    source: str
    calls: int
    known: int
    flagged: int
    blocked: int
    changes: int | None
    told: Sequence[str]
    errors: int
    errors_flagged: int

    @property
    def flagged_share(self) -> float | None:
        """Share of the known calls that were flagged or blocked."""
        return self.flagged / self.known if self.known else None

    @property
    def blocked_share(self) -> float | None:
        """Share of the known calls that were blocked."""
        return self.blocked / self.known if self.known else None

    @property
    def per_thousand(self) -> float | None:
        """Changes told of in a thousand genuine calls."""
        return None if self.changes is None or not self.calls else 1_000 * self.changes / self.calls

    @property
    def errors_share(self) -> float | None:
        """Share of the marked errors that were flagged or blocked."""
        return self.errors_flagged / self.errors if self.errors else None


def pooled(streams: Iterable[Stream], source: str = "all") -> Stream:
    """All calls of several streams as one."""
    some = list(streams)
    kept = [one.changes for one in some if one.changes is not None]
    return Stream(
        source, sum(one.calls for one in some), sum(one.known for one in some), sum(one.flagged for one in some),
        sum(one.blocked for one in some), sum(kept) if kept or not some else None,
        [words for one in some for words in one.told], sum(one.errors for one in some),
        sum(one.errors_flagged for one in some),
    )  # fmt: skip


def listened(engine: Any, heard: Iterable[Heard], *, marked: bool = False) -> list[Stream]:
    """Let an engine judge and learn calls in order; one ``Stream`` a source, in order of appearance.

    Args:
        engine: with ``verify`` and, where it tells of changes, ``changes``.
        heard: the calls.
        marked: whether the engine is told which calls were marked as errors.
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    numbers: Counter[str] = Counter()
    owner: dict[str, str] = {}
    for one in heard:
        call, count = one.call, counts[one.source]
        owner[call.tool] = one.source
        numbers[call.tool] += 1
        verdict = engine.verify(
            call.tool, args=call.args, result=call.result, execution_time_ms=one.latency, session_id=call.session,
            **({"is_error": True} if marked and one.is_error else {}),
        ).verdict  # fmt: skip
        odd, known = verdict != "accept", numbers[call.tool] > WARM
        count.update(calls=1, known=known, flagged=known and odd, blocked=known and verdict == "block")
        count.update(errors=one.is_error, errors_flagged=one.is_error and odd)
    told: defaultdict[str, list[str]] = defaultdict(list)
    tells = hasattr(engine, "changes")
    for change in engine.changes() if tells else ():
        if change.calls >= 1:
            told[owner[change.tool]].append(f"{change.tool}: {change.state}, {change.calls} calls, {change.what}")
    return [
        Stream(
            source, count["calls"], count["known"], count["flagged"], count["blocked"],
            len(told[source]) if tells else None, told[source], count["errors"], count["errors_flagged"],
        )
        for source, count in counts.items()
    ]  # fmt: skip


def generated(
    make: Callable[[], Any],
    seeds: Iterable[int],
    families: Iterable[str] = FAMILIES,
    calls: int = CALLS,
    at_once: int = AT_ONCE,
) -> list[Stream]:
    """Genuine calls of generated families, four an agent, each agent with a fresh engine; one ``Stream`` a family."""
    wanted = set(families)
    plans = [(seed, held) for seed in seeds for held in agents(seed) if wanted & set(held)]
    answers = _run([partial(_agent, make, seed, held, calls) for seed, held in plans], at_once)
    found: dict[str, list[Stream]] = {}
    for one in (Stream(*fields) for answer in answers for fields in answer):
        if one.source in wanted:
            found.setdefault(one.source, []).append(one)
    return [pooled(found[family], family) for family in sorted(found)]


def recorded(make: Callable[[], Any], data: Path, *, marked: bool = False, at_once: int = AT_ONCE) -> list[Stream]:
    """Genuine recorded calls, each file with a fresh engine; one ``Stream`` a file.

    Args:
        make: gives a fresh engine.
        data: the folder of recorded calls.
        marked: whether the engine is told which calls were marked as errors.
        at_once: how many files are judged at the same time.
    """
    answers = _run([partial(_file, make, path, marked) for path in stream_files(data)], at_once)
    return [Stream(*fields) for answer in answers for fields in answer]


def stream_files(data: Path) -> list[Path]:
    """The recorded streams in a folder, but those that were made under attack."""
    return [
        path for name in RECORDED for path in sorted((data / name).glob("*.jsonl.gz")) if "attacked" not in path.name
    ]


def _run(jobs: Sequence[Callable[[], Any]], at_once: int) -> list[Any]:
    return forked(jobs, at_once) if can_fork() else [job() for job in jobs]


def _agent(make: Callable[[], Any], seed: int, held: Sequence[str], calls: int) -> list[Stream]:
    streams = {name: FAMILIES[name](seeded(seed, name)) for name in held}
    order = [name for name in held for _ in range(calls)]
    random.Random(f"{seed} {' '.join(held)} in turn").shuffle(order)
    made = ((name, next(streams[name])) for name in order)
    return listened(make(), (Heard(name, call, call.ms) for name, call in made))


def _file(make: Callable[[], Any], path: Path, marked: bool) -> list[Stream]:
    return listened(make(), _rows(path), marked=marked)


def _rows(path: Path) -> Iterator[Heard]:
    source = f"{path.parent.name}/{path.name.split('.')[0]}"
    timed = path.parent.name in TIMED
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = (json.loads(line) for line in lines)
        kept = (row for row in rows if not str(row.get("result")).startswith(ANOTHER_GUARD))
        for row in islice(kept, MOST):
            if row["label"] == "genuine":
                ms = row["latency_ms"] if timed else None
                call = Call(row["tool"], row["args"], _read(row["result"]), ms or 0.0, str(row["session_id"]))
                yield Heard(source, call, ms, bool(row["is_error"]))


def _read(result: Any) -> Any:
    """Text that holds an object or a list is that object or list: as an agent's framework hands it over."""
    if not isinstance(result, str):
        return result
    try:
        value = json.loads(result)
    except ValueError:
        return result
    return value if isinstance(value, (Mapping, list)) else result
