"""A run: what its stages wrote, and its line in the history; as it goes, or as the records have it."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from agentguard.errors import GateError
from agentguard.gate.config import GateConfig
from agentguard.gate.records.base import RunRecords, RunSummary
from agentguard.gate.state import GateState
from agentguard.gate.types import Decision, Score

__all__ = ["GateRun", "read_run"]


@dataclass(frozen=True, slots=True)
class GateRun:
    """A run that has been finished, or what the records have of one.

    Attributes:
        run_id: names it in records and reports.
        state: all that its stages wrote.
        summary: its line in the history.
    """

    run_id: str
    state: GateState
    summary: RunSummary

    @property
    def score(self) -> Score:
        """The outcome.

        Raises:
            GateError: where the run did not get so far.
        """
        return self.state.score

    @property
    def decision(self) -> Decision:
        """``deploy``, ``warn`` or ``block``.

        Raises:
            GateError: where the run did not get so far.
        """
        return self.state.score.decision


def read_run(run_id: str, records: RunRecords) -> GateRun:
    """A run as the records have it, finished or not.

    Raises:
        GateError: where there is no such run, or its record cannot be read back.
    """
    summary = records.summary(run_id)
    if summary is None:
        raise GateError(f"there is no run {run_id!r} in the records")
    events = records.events(run_id)
    try:
        state = GateState(GateConfig.model_validate(events[0].body["config"] if events else {}))
    except (ValidationError, KeyError) as error:
        raise GateError(f"the record of run {run_id!r} does not tell its configuration") from error
    for event in events:
        if event.kind == "stage":
            state.restore(event.body["wrote"])
    return GateRun(run_id, state, summary)
