"""``agentguard gate history | compare | explain``: what the records tell of runs that were."""

from __future__ import annotations

from dataclasses import asdict

from agentguard.gate._config import load_config
from agentguard.gate._history import compare, regression, trend
from agentguard.gate._run import read_run
from agentguard.gate.reports import explain, summary_as_dict

from .gate_history_report import report_comparison, report_history
from .gate_report import report_explanation
from .gate_runs import finished_run, opened_records
from .output import console, write_json

__all__ = ["show_comparison", "show_explanation", "show_history"]

LOOKED_BACK = 1_000  # runs among which the last that was deployed is looked for


def show_history(config: str, limit: int, *, as_json: bool) -> None:
    """Tell of the runs of a use case, the newest first, of their trend, and of the latest beside what was deployed."""
    configured = load_config(config)
    with opened_records(configured) as records:
        before = records.runs(max(limit, LOOKED_BACK), use_case=configured.use_case)
    runs = before[:limit]
    latest = next((run for run in runs if run.status == "finished"), None)
    found = trend(runs)
    beside = None if latest is None else regression(latest, before)
    if not as_json:
        report_history(console(), runs, found, beside)
        return
    write_json(
        {
            "use_case": configured.use_case,
            "runs": [summary_as_dict(run) for run in runs],
            "trend": asdict(found),
            "regression": None if beside is None else asdict(beside),
        }
    )


def show_comparison(config: str, run_a: str, run_b: str, *, different_prompts: bool, as_json: bool) -> None:
    """Tell what two runs differ in."""
    configured = load_config(config)
    with opened_records(configured) as records:
        a, b = (read_run(finished_run(records, run, configured.use_case), records) for run in (run_a, run_b))
    found = compare(a, b, allow_different_prompts=different_prompts)
    if not as_json:
        report_comparison(console(), found)
        return
    write_json({**asdict(found), "run_a": summary_as_dict(found.run_a), "run_b": summary_as_dict(found.run_b)})


def show_explanation(config: str, claim: str, run: str, *, as_json: bool) -> None:
    """Tell how a claim came by its verdict."""
    configured = load_config(config)
    with opened_records(configured) as records:
        told = explain(read_run(finished_run(records, run, configured.use_case), records), claim)
    if as_json:
        write_json(told.as_dict())
    else:
        report_explanation(console(), told)
