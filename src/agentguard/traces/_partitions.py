"""A log's calls divided by tool, so that every part can be judged on its own, and the verdicts merged again.

What a guard learns depends on the order of a tool's calls, so all calls of a tool go to one part, in recorded order. A
tool's part is a checksum of its name: the same on every machine and for any number of workers.

What tools have in common would hang on the division, and so it is not left to the parts (see ``_division.py``): the
opening of a log, its first calls, is judged by everybody as a whole, until what an engine learns of all tools together
is settled; and the calls of a session are told to all parts that have a tool of the session. So the verdicts are those
of one engine, and do not hang on the number of workers. What a part is not told of is which results, and which forms of
results, tools of other parts had after the opening.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns
from typing import Final, Literal, NamedTuple
from zlib import crc32

from pydantic import TypeAdapter

from agentguard.errors import ConfigurationError, DataError
from agentguard.traces._read import MAX_LINE_BYTES, BrokenLine, Line, TraceRow, parse, parse_json
from agentguard.traces._replay import (
    GENUINE,
    MAX_LABELS,
    MAX_TOOLS,
    NO_LABEL,
    OTHER_LABELS,
    OTHER_TOOLS,
    ReplaySummary,
    Tally,
    ToolSummary,
    ranked_tools,
)
from agentguard.verification import ToolProfile, VerificationEngine, VerificationResult
from agentguard.verification._division import Division, Made, made
from agentguard.verification._engine import read_call
from agentguard.verification._judging import CallRead
from agentguard.verification._pool import SETTLED
from agentguard.verification.types import SEVERITY, VerdictCounts

BATCH_LINES = 512
BATCH_BYTES = 2**20
PARTITIONS = 16
OPENING: Final = SETTLED
"""Calls of a log that are judged as a whole."""
OPENING_BYTES: Final = 2**26  # at most: everybody who judges is sent them


def first_calls(lines: Iterable[Line], limit: int) -> Iterator[Line]:
    """The lines as far as the one with call number ``limit``; nothing is read beyond."""
    left = limit
    for line in lines:
        yield line
        left -= isinstance(next(parse((line,))), TraceRow)
        if not left:
            return


def batches(lines: Iterable[Line], most: int = BATCH_LINES, most_bytes: int = BATCH_BYTES) -> Iterator[list[Line]]:
    """The lines, by so many or so many bytes at a time."""
    batch: list[Line] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line[2])
        if len(batch) >= most or size >= most_bytes:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """The settings from which every worker builds its engines."""

    mode: Literal["calibrated", "reference"] = "calibrated"
    profiles: tuple[ToolProfile, ...] = ()

    def build(self) -> VerificationEngine:
        """A fresh engine."""
        return VerificationEngine(mode=self.mode, profiles=self.profiles)


def partition_of(tool: str, partitions: int = PARTITIONS) -> int:
    """The part to which a tool belongs, by the CRC-32 of its name.

    >>> partition_of("search"), partition_of("search", partitions=1)
    (7, 0)
    """
    return crc32(tool.encode("utf-8", "surrogatepass")) % partitions


def check_partitions(partitions: int) -> None:
    """Refuse to divide a log into no parts."""
    if partitions < 1:
        raise ConfigurationError(f"partitions must be at least 1, not {partitions}")


def tool_of(line: Line) -> str:
    """The tool that a line names, read as ``parse_line`` reads it; empty where it names none."""
    if isinstance(line, BrokenLine):
        return ""
    try:
        data = parse_json(line[2])
    except DataError:
        return ""
    tool = data.get("tool") if isinstance(data, dict) else None
    return tool if isinstance(tool, str) else ""


class Part(NamedTuple):
    """The summary of one partition.

    ``plain`` counts the calls labelled ``genuine`` and those without a label, which a summary leaves out where no other
    label is in it.
    """

    number: int
    summary: ReplaySummary
    plain: Mapping[str, VerdictCounts]


PART_JSON: TypeAdapter[Part] = TypeAdapter(Part)
"""Writes a part as JSON and reads it again, for the way from one machine to another."""


class Opening:
    """The first lines of a log, as far as they are judged as a whole: so many calls of it, or so many bytes.

    >>> opening = Opening(most=2)
    >>> [opening.take(("calls.jsonl", number, b'{"tool": "t", "result": 1}')) for number in (1, 2, 3)], opening.is_full
    ([True, True, False], True)
    """

    def __init__(self, most: int = OPENING, most_bytes: int = OPENING_BYTES) -> None:
        self.lines: list[Line] = []
        self.is_full = most < 1
        self._most, self._left = most, most_bytes

    def take(self, line: Line) -> bool:
        """Take the next line if it belongs to the opening."""
        if self.is_full:
            return False
        self._left -= MAX_LINE_BYTES + 1 if isinstance(line, BrokenLine) else len(line[2])
        if self._left < 0:
            self.is_full = True
            return False
        self.lines.append(line)
        self._most -= isinstance(next(parse((line,))), TraceRow)
        self.is_full = self._most < 1
        return True


class Partition:
    """One part of a log: the verdicts on its calls."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._tally = Tally()
        self._plain = {GENUINE: [0, 0, 0], NO_LABEL: [0, 0, 0]}

    def push(self, row: TraceRow, result: VerificationResult, nanoseconds: int) -> None:
        """Count one judged call."""
        self._tally.push(row, result, nanoseconds)
        counts = self._plain.get(NO_LABEL if row.label is None else row.label)
        if counts is not None:
            counts[SEVERITY[result.verdict]] += 1

    def push_broken(self, line: BrokenLine) -> None:
        """Count one line that held no call."""
        self._tally.push_broken(line)

    def part(self) -> Part:
        """The summary so far."""
        plain = {label: VerdictCounts(*counts) for label, counts in self._plain.items()}
        return Part(self.number, self._tally.summary(), plain)


class RowRead(NamedTuple):
    """A line that is to be judged: its part, the call in it, that call as read, and the time this took."""

    number: int
    row: TraceRow
    one: CallRead
    nanoseconds: int


class Share:
    """Judges the calls of some parts of a log; used by one thread.

    Args:
        spec: what the engine is built from.
        partitions: into how many parts the tools are divided.
        numbers: the parts whose verdicts are counted here.
    """

    def __init__(self, spec: EngineSpec, partitions: int, numbers: Collection[int]) -> None:
        self._engine = spec.build()
        self._of: Callable[[str], int] = lambda tool: partition_of(tool, partitions)
        self._division = Division(self._engine, self._of)
        self._parts = {number: Partition(number) for number in numbers}

    def open(self, lines: Iterable[Line]) -> None:
        """Judge the opening of the log, calls of other parts too; must come first."""
        for line in lines:
            read = self.read(line)
            if read is not None:
                self.judge(read)
        self._division.divide()

    def read(self, line: Line) -> RowRead | None:
        """Read a line; None where it holds no call, which is counted."""
        row = next(parse((line,)))
        if isinstance(row, BrokenLine):
            part = self._parts.get(self._of(tool_of(line)))
            if part is not None:
                part.push_broken(row)
            return None
        begun = perf_counter_ns()
        one = read_call(self._engine, row.call)
        return RowRead(self._of(row.call.tool), row, one, perf_counter_ns() - begun)

    def judge(self, read: RowRead) -> None:
        """Judge a call; the calls of a tool must come in recorded order."""
        begun = perf_counter_ns()
        result = self._division.verify(read.one)
        part = self._parts.get(read.number)
        if part is not None:
            part.push(read.row, result, read.nanoseconds + perf_counter_ns() - begun)

    def hear(self, call: Made) -> None:
        """Take note of a call of a part that is judged elsewhere."""
        self._division.hear(call)

    def parts(self) -> list[Part]:
        """The summaries so far, of the parts that are counted here."""
        return [part.part() for part in self._parts.values()]


class Window:
    """Some lines of a log that follow on one another, as far as one share has them; each with its place among all."""

    def __init__(self, share: Share, lines: Iterable[tuple[int, Line]]) -> None:
        self._share = share
        read = ((place, share.read(line)) for place, line in lines)
        self._rows = [(place, row) for place, row in read if row is not None]

    def made(self) -> list[tuple[int, Made]]:
        """What the calls are to their sessions, for the other shares to hear."""
        calls = ((place, made(row.one)) for place, row in self._rows)
        return [(place, call) for place, call in calls if call is not None]

    def judge(self, heard: Iterable[tuple[int, Made]]) -> None:
        """Judge the calls, and hear those of the other shares in between, in the order of their places."""
        others = iter(heard)
        other = next(others, None)
        for place, row in self._rows:
            while other is not None and other[0] < place:
                self._share.hear(other[1])
                other = next(others, None)
            self._share.judge(row)
        while other is not None:
            self._share.hear(other[1])
            other = next(others, None)


def merged(parts: Iterable[Part], worst: int = 10, broken: int = 20) -> ReplaySummary:
    """The summary of the whole log, the same in whichever order the parts come.

    Of the ``worst`` offenders to keep each part names ten at most; ``broken`` lines are named.
    """
    ordered = sorted(parts, key=lambda part: part.number)
    summaries = [part.summary for part in ordered]
    offenders = [offender for summary in summaries for offender in summary.offenders]
    offenders.sort(key=lambda one: (-SEVERITY[one.verdict], -one.posterior, Path(one.source), one.line))
    lines = [line for summary in summaries for line in summary.first_broken]
    lines.sort(key=lambda line: (Path(line.source), line.line))  # paths sort as the files of a folder are read
    calls = sum(summary.counts.calls for summary in summaries)
    spent = sum((summary.us_per_call or 0.0) * summary.counts.calls for summary in summaries)
    return ReplaySummary(
        counts=_sum(summary.counts for summary in summaries),
        tools=_tools(summaries),
        offenders=tuple(offenders[:worst]),
        broken=sum(summary.broken for summary in summaries),
        first_broken=tuple(lines[:broken]),
        labels=_labels(ordered),
        us_per_call=spent / calls if calls else None,
    )


def _sum(counts: Iterable[VerdictCounts]) -> VerdictCounts:
    return VerdictCounts(*map(sum, zip(*counts, strict=True)))


def _tools(summaries: Iterable[ReplaySummary]) -> tuple[ToolSummary, ...]:
    tools: dict[str, ToolSummary] = {}
    for tool in (tool for summary in summaries for tool in summary.tools):
        name = tool.tool if tool.tool in tools or len(tools) < MAX_TOOLS else OTHER_TOOLS
        before = tools.get(name)
        if before is None:
            tools[name] = tool._replace(tool=name)
            continue
        # A tool is in one partition only: it is the record of all other tools that is put together here.
        calls, more = before.counts.calls, tool.counts.calls
        mean = (before.mean_posterior * calls + tool.mean_posterior * more) / (calls + more)
        highest = max(before.max_posterior, tool.max_posterior)
        tools[name] = ToolSummary(name, _sum((before.counts, tool.counts)), mean, highest)
    return ranked_tools(tools.values())


def _labels(parts: list[Part]) -> dict[str, VerdictCounts]:
    if not any(part.summary.labels for part in parts):
        return {}
    labels: dict[str, VerdictCounts] = {}
    for label, counts in (item for part in parts for item in (part.summary.labels or part.plain).items()):
        if counts.calls:
            name = label if label in labels or len(labels) < MAX_LABELS else OTHER_LABELS
            labels[name] = _sum((labels.get(name, VerdictCounts()), counts))
    return dict(sorted(labels.items()))
