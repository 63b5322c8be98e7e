"""Claims of all runs: what was said of a subject in some days, and how much of it was unsupported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agentguard.gate.records.base import RunRecords, RunSummary
from agentguard.gate.runs import read_run

from .findings import Finding, findings

__all__ = ["Said", "claims_said"]

MOST_RUNS = 10_000


@dataclass(frozen=True, slots=True)
class Said:
    """A claim of a run that is on record.

    Attributes:
        run: the run that found it.
        finding: the claim, with its prompt, its response and its verdict.
    """

    run: RunSummary
    finding: Finding


def claims_said(
    records: RunRecords,
    use_case: str,
    *,
    words: Sequence[str] = (),
    since: float | None = None,
    until: float | None = None,
) -> Iterator[Said]:
    """The claims of a use case's runs that have been judged, those of the newest run first.

    Args:
        records: of all runs; the newest 10,000 are looked at, one after the other.
        use_case: whose runs.
        words: all of them stand in the claim or its prompt, in whatever case, or parts of words of it.
        since: runs that began then or later, in seconds since the epoch.
        until: runs that began before.

    Raises:
        GateError, StoreError: where a record cannot be read.
    """
    sought = [word.casefold() for word in words]
    for run in records.runs(MOST_RUNS, use_case=use_case):
        if (since is not None and run.started < since) or (until is not None and run.started >= until):
            continue
        state = read_run(run.run_id, records).state
        for finding in findings(state) if "verdicts" in state.written else ():
            text = f"{finding.claim.text} {finding.prompt.text}".casefold()
            if all(word in text for word in sought):
                yield Said(run, finding)
