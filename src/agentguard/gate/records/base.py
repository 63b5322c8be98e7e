"""What is kept of every run: each event as it happens, and a summary a run from which history is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from agentguard.gate.types import Decision

__all__ = ["Event", "RunRecords", "RunStatus", "RunSummary"]

RunStatus = Literal["running", "finished", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class Event:
    """One step of a run's audit trail.

    Attributes:
        kind: ``started``, ``stage`` (a stage has written), ``resumed``, ``finished``, ``failed`` or ``interrupted``.
        at: seconds since the epoch.
        body: a JSON object: of a stage its ``name`` and what it ``wrote``, by key.
    """

    kind: str
    at: float
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One line of the gate's history.

    Attributes:
        run_id: names the run; sorts by the time of its beginning.
        status: ``running`` until it ends; ``interrupted`` where it was found to have died.
        started, ended: seconds since the epoch; ``ended`` is None until it ends.
        use_case: the configuration's.
        config_digest, prompts_digest, evidence_digest: hexadecimal; equal digests, equal things. The latter two are
            empty until the run has got so far.
        target, judge: names of the model under test and of what judges it.
        process: ``host:pid`` of who runs it.
        decision, risk: None until it is finished. Likewise the counts of claims.
        error: why it failed; empty where it did not.
    """

    run_id: str
    status: RunStatus
    started: float
    use_case: str
    config_digest: str
    target: str
    judge: str
    process: str
    ended: float | None = None
    prompts_digest: str = ""
    evidence_digest: str = ""
    decision: Decision | None = None
    risk: float | None = None
    total_claims: int | None = None
    supported: int | None = None
    weakly_supported: int | None = None
    unsupported: int | None = None
    error: str = ""


class RunRecords(Protocol):
    """The audit trail and the history of runs. What a method has written is on disk, or acknowledged, when it returns.

    Every method raises ``StoreError`` where the records cannot be written or read.
    """

    def append(self, run_id: str, event: Event) -> None:
        """Add an event to a run's trail."""

    def events(self, run_id: str) -> list[Event]:
        """A run's trail in the order of writing; empty for a run that nobody knows."""

    def save(self, summary: RunSummary) -> None:
        """Write a run's summary, in place of the one before."""

    def summary(self, run_id: str) -> RunSummary | None:
        """A run's summary; None for a run that nobody knows."""

    def runs(self, limit: int = 100, *, use_case: str | None = None) -> list[RunSummary]:
        """Summaries, the newest run first; of one use case only, where it is given."""

    def close(self) -> None:
        """Let go of files and connections; may be called twice."""
