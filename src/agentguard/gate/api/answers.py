"""Runs as the API answers them: the JSON of the reports, held to what OpenAPI promises."""

from __future__ import annotations

from collections.abc import Sequence

from agentguard.gate.api.models import EvaluateResponse, Run, RunDetails
from agentguard.gate.records.base import RunSummary
from agentguard.gate.reports.as_json import evaluation, summary_as_dict
from agentguard.gate.runs import GateRun

__all__ = ["evaluate_response", "line", "run_details"]


def evaluate_response(run: GateRun) -> EvaluateResponse:
    """The outcome of a run that has finished."""
    return EvaluateResponse.model_validate(evaluation(run))


def line(summary: RunSummary) -> Run:
    """A line of the history. Which process ran it stays with the server."""
    fields = summary_as_dict(summary)
    del fields["process"]
    return Run.model_validate(fields)


def run_details(run: GateRun, trail: Sequence[str]) -> RunDetails:
    """A run, finished or not; without details where it has not come to a score."""
    details = evaluation(run)["details"] if "score" in run.state.written else []
    return RunDetails.model_validate({"run": line(run.summary), "trail": list(trail), "details": details})
