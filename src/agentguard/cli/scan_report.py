"""What ``agentguard scan`` found, counted while it reads, as a table or as JSON."""

from __future__ import annotations

from collections import Counter
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from agentguard.traces import BrokenLine
from agentguard.verification.types import Verdict

from .output import VERDICT_STYLES, printable, show, table

if TYPE_CHECKING:
    from .scan_looking import Looked, Sighting

__all__ = ["Findings", "findings_as_dict", "report_findings"]

KEPT = 10_000
BROKEN_NAMED = 20
SHOWN = 100


class Findings:
    """What was found so far. The first ``KEPT`` findings are kept, all are counted.

    Attributes:
        kept: the findings, in the order of the files.
        counts: how many there are of each kind, name and verdict.
        files, texts: how many files, and texts in them, were looked through.
        broken: how many lines were none, or not what they were meant to be.
        unread: how many of these were not looked through.
    """

    def __init__(self) -> None:
        self.kept: list[Sighting] = []
        self.counts: Counter[tuple[str, str, Verdict]] = Counter()
        self.files = 0
        self.texts = 0
        self.broken = 0
        self.unread = 0
        self._problems: list[tuple[int, BrokenLine]] = []
        self._unread: list[tuple[int, BrokenLine]] = []

    def push(self, looked: Looked, source: str, line: int) -> None:
        """Count what was found in a piece."""
        self.texts += looked.texts
        for sighting in looked.sightings:
            self.counts[sighting.kind, sighting.name, sighting.verdict] += 1
        self.kept += looked.sightings[: KEPT - len(self.kept)]
        if looked.problem is not None:
            self._name(self._problems, BrokenLine(source, line, looked.problem))

    def push_unread(self, line: BrokenLine) -> None:
        """Count what could not be looked through."""
        self.unread += 1
        self._name(self._unread, line)

    def _name(self, named: list[tuple[int, BrokenLine]], line: BrokenLine) -> None:
        self.broken += 1
        if len(named) < BROKEN_NAMED:
            named.append((self.broken, line))

    @property
    def first_broken(self) -> list[BrokenLine]:
        """The first broken lines; those that were not looked through are named before others."""
        others = self._problems[: BROKEN_NAMED - len(self._unread)]
        return [line for _, line in sorted([*self._unread, *others], key=itemgetter(0))]

    @property
    def total(self) -> int:
        """How many findings there are."""
        return sum(self.counts.values())

    @property
    def worst(self) -> Verdict:
        """The gravest of all: ``"accept"`` where nothing was found."""
        verdicts = {verdict for _, _, verdict in self.counts}
        return "block" if "block" in verdicts else "flag" if verdicts else "accept"


def findings_as_dict(found: Findings, *, interrupted: bool) -> dict[str, Any]:
    """All that is told, as JSON has it."""
    return {
        "verdict": found.worst,
        "files": found.files,
        "texts": found.texts,
        "total": found.total,
        "counts": [
            {"kind": kind, "name": name, "verdict": verdict, "findings": number}
            for (kind, name, verdict), number in sorted(found.counts.items())
        ],
        "findings": [sighting._asdict() for sighting in found.kept],
        "findings_left_out": found.total - len(found.kept),
        "broken": found.broken,
        "not_looked_through": found.unread,
        "first_broken": [line._asdict() for line in found.first_broken],
        "interrupted": interrupted,
    }


def report_findings(out: Console, found: Findings, *, interrupted: bool) -> None:
    """Write the findings a line or two each, and how many there are of what."""
    if interrupted:
        out.print("interrupted; found so far:")
    for sighting in found.kept[:SHOWN]:
        _report(out, sighting)
    if found.total > SHOWN:
        out.print(f"and {found.total - SHOWN:,} more; --format json lists {'the first ' if found.total > KEPT else ''}"
                  f"{min(found.total, KEPT):,}")  # fmt: skip
    if found.counts:
        out.print()
        made = table("kind", "name", "verdict", "findings", right=("findings",))
        for (kind, name, verdict), number in sorted(found.counts.items()):
            made.add_row(kind, show(name), Text(verdict, VERDICT_STYLES[verdict]), f"{number:,}")
        out.print(made)
        out.print()
    if found.broken:
        out.print(f"broken lines: {found.broken:,}, of which {found.unread:,} not looked through", style="bold")
        for line in found.first_broken:
            out.print("    ", show(str(line)), soft_wrap=True)
        if found.broken > len(found.first_broken):
            out.print(f"     and {found.broken - len(found.first_broken):,} more")
        out.print()
    files = (
        f"{found.files:,} file{'' if found.files == 1 else 's'}, {found.texts:,} text{'' if found.texts == 1 else 's'}"
    )
    out.print(f"{files}: {found.total:,} finding{'' if found.total == 1 else 's'}")


def _report(out: Console, sighting: Sighting) -> None:
    place = f"{printable(sighting.source)}:{sighting.line}:{sighting.column}:"
    out.print(place, Text(sighting.verdict, VERDICT_STYLES[sighting.verdict]), end=" ", soft_wrap=True)
    said = f"{sighting.kind}: {sighting.name}: {sighting.detail}"
    said += f" (decoded: {sighting.decoded})" if sighting.decoded else ""
    out.print(show(said), end=" ", soft_wrap=True)
    out.print(show(sighting.path, "dim"), soft_wrap=True)
