"""Runs beside each other, for a terminal: their history, and two of them prompt by prompt."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

from rich.console import Console
from rich.text import Text

from agentguard.gate._history import Comparison, Regression, Trend
from agentguard.gate.records._base import RunSummary

from .gate_report import DECISION_STYLES, LABEL_STYLES
from .output import show, table

__all__ = ["report_comparison", "report_history"]

SHOWN = 50
_LONG = 5_000


def report_history(out: Console, runs: Sequence[RunSummary], found: Trend, beside: Regression | None) -> None:
    """Write a line a run, the newest first, and what they say together."""
    if not runs:
        out.print("no run of this use case is on record yet")
        return
    made = table("run", "when (UTC)", "model", "judge", "claims", "unsupported", "risk", "", right=("claims", "risk"))
    for run in runs:
        when = datetime.fromtimestamp(run.started, tz=timezone.utc).strftime("%Y-%m-%d %H:%M")
        ended = show(run.status) if run.decision is None else Text(run.decision, DECISION_STYLES[run.decision])
        counts = (_number(run.total_claims), _number(run.unsupported), "–" if run.risk is None else f"{run.risk:.3f}")
        made.add_row(show(run.run_id), when, show(run.target, limit=40), show(run.judge, limit=40), *counts, ended)
    out.print(made)
    out.print()
    out.print(show(found.explanation, limit=_LONG), soft_wrap=True)
    if beside is not None:
        out.print(show(beside.explanation, "bold red" * beside.is_regression, _LONG), soft_wrap=True)


def report_comparison(out: Console, found: Comparison) -> None:
    """Write what two runs differ in: each prompt with its two risks, and claims that were judged differently."""
    out.print(show(found.explanation, limit=_LONG), soft_wrap=True)
    out.print()
    made = table("prompt", "", f"a: {found.run_a.target}"[:40], f"b: {found.run_b.target}"[:40])
    for prompt in found.prompts[:SHOWN]:
        risks = (_risk(prompt.risk_a), _risk(prompt.risk_b))
        made.add_row(show(prompt.prompt_id), show(prompt.prompt, limit=60), *risks)
    if found.prompts:
        out.print(made)
    if len(found.prompts) > SHOWN:
        out.print(f"and {len(found.prompts) - SHOWN:,} more; --json lists all")
    if found.changes:
        out.print()
        out.print("claims that both make and that were judged differently, a and b:")
    for change in found.changes[:SHOWN]:
        labels = [Text(label.replace("_", " "), LABEL_STYLES[label]) for label in (change.label_a, change.label_b)]
        out.print(" ", show(change.prompt_id, "bold"), labels[0], "→", labels[1], show(change.claim), soft_wrap=True)
    if len(found.changes) > SHOWN:
        out.print(f"  and {len(found.changes) - SHOWN:,} more; --json lists all")


def _number(count: int | None) -> str:
    return "–" if count is None else f"{count:,}"


def _risk(risk: float | None) -> str:
    return "no claims" if risk is None else f"{risk:.3f}"
