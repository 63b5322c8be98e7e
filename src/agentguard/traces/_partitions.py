"""A log's calls divided by tool, so that every part can be judged on its own, and the verdicts merged again.

What a guard learns depends on the order of a tool's calls, so all calls of a tool go to one part, in recorded order,
and every part has its own engine. A tool's part is a checksum of its name: the same on every machine and for any number
of workers, so the verdicts do not depend on that number. They do depend on the number of parts: tools of one engine
share what they have in common (which arguments results repeat, whose results are whose, how often genuine results are
odd), and tools of different parts do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple
from zlib import crc32

from pydantic import TypeAdapter

from agentguard.errors import ConfigurationError, DataError
from agentguard.traces._read import BrokenLine, Line, TraceRow, parse, parse_json
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
    replay,
)
from agentguard.verification import ToolProfile, VerificationEngine, VerificationResult
from agentguard.verification.types import SEVERITY, VerdictCounts

BATCH_LINES = 512
BATCH_BYTES = 2**20
PARTITIONS = 16


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


class Partition:
    """One part of a log: its engine, and what that said."""

    def __init__(self, number: int, spec: EngineSpec) -> None:
        self.number = number
        self._engine = spec.build()
        self._tally = Tally()
        self._plain = {GENUINE: [0, 0, 0], NO_LABEL: [0, 0, 0]}

    def push(self, lines: Iterable[Line]) -> None:
        """Judge the calls in lines; the calls of a tool must come in recorded order, over all times of asking."""
        replay(parse(lines), self._engine, self._count, tally=self._tally)

    def _count(self, row: TraceRow, result: VerificationResult) -> None:
        counts = self._plain.get(NO_LABEL if row.label is None else row.label)
        if counts is not None:
            counts[SEVERITY[result.verdict]] += 1

    def part(self) -> Part:
        """The summary so far."""
        plain = {label: VerdictCounts(*counts) for label, counts in self._plain.items()}
        return Part(self.number, self._tally.summary(), plain)


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
