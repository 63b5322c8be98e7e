"""``agentguard gate ingest``: trusted documents into the index, those that are new or have changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from agentguard.gate._config import GateConfig, load_config
from agentguard.gate._run import open_library
from agentguard.gate.documents._ingest import IngestReport, IngestServices, ingest

from .gate_progress import ingest_bar
from .output import console, show, write_json

__all__ = ["ingest_documents", "ingest_gate", "report_ingest"]

SHOWN = 20


def ingest_gate(config: str, root: list[str] | None, *, as_json: bool) -> None:
    """Ingest, and tell what became of the documents."""
    configured = load_config(config)
    with open_library(configured) as library:
        report = ingest_documents(configured, library, root, hidden=as_json)
    if as_json:
        write_json(_as_dict(report))
    else:
        report_ingest(console(), report)


def ingest_documents(
    config: GateConfig, services: IngestServices, root: list[str] | None, *, hidden: bool
) -> IngestReport:
    """Ingest, with a progress bar.

    Raises:
        ConfigurationError, GateError, StoreError: as ``agentguard.gate.documents._ingest.ingest``.
    """
    with ingest_bar(hidden=hidden) as done:
        return ingest(config, services, progress=done, roots=[Path(folder) for folder in root or ()])


def report_ingest(out: Console, report: IngestReport) -> None:
    """Write how many documents became what, and what somebody should look at."""
    counts = f"{report.added} added, {report.changed} changed, {report.unchanged} unchanged, {report.removed} removed"
    out.print(show(f"documents: {counts}; {report.chunks} passages written"), soft_wrap=True)
    for uri, problem in report.problems[:SHOWN]:
        out.print(show(f"  {uri}: {problem}", "yellow"), soft_wrap=True)
    if len(report.problems) > SHOWN:
        out.print(f"  and {len(report.problems) - SHOWN:,} more; 'agentguard gate ingest --json' lists all")


def _as_dict(report: IngestReport) -> Mapping[str, Any]:
    def told(pairs: tuple[tuple[str, str], ...]) -> list[dict[str, str]]:
        return [{"document": uri, "reason": reason} for uri, reason in pairs]

    return {
        "added": report.added,
        "changed": report.changed,
        "unchanged": report.unchanged,
        "removed": report.removed,
        "chunks": report.chunks,
        "problems": told(report.problems),
        "skipped": told(report.skipped),
    }
