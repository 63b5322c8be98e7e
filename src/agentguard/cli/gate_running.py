"""A run of the gate from the command line: documents where they are needed, the run, its reports, its exit code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from agentguard.calibration import write_file
from agentguard.errors import DataError, GateError
from agentguard.gate._config import GateConfig, load_config
from agentguard.gate._run import GateRun, Services, evaluate, open_services
from agentguard.gate._types import Decision
from agentguard.gate.records._base import mark_interrupted
from agentguard.gate.reports import evaluation, junit_xml, markdown_summary

from .exits import Exit
from .gate_github import annotate
from .gate_ingest import ingest_documents, report_ingest
from .gate_options import LATEST
from .gate_progress import stage_bar
from .gate_report import report_run
from .gate_runs import last_unfinished
from .output import console, show, write_json

__all__ = ["DECISION_EXITS", "Reports", "run_gate"]

DECISION_EXITS: Mapping[Decision, Exit] = {"deploy": Exit.ACCEPT, "warn": Exit.ACCEPT, "block": Exit.FLAG}


class Reports(NamedTuple):
    """The files to write; None where one is not wanted.

    Attributes:
        output: of JSON.
        junit: of JUnit XML.
        markdown: of Markdown.
    """

    output: str | None = None
    junit: str | None = None
    markdown: str | None = None

    def write(self, run: GateRun) -> None:
        """Write them.

        Raises:
            DataError: where one cannot be written.
        """
        if self.output is not None:
            write_file(self.output, json.dumps(evaluation(run), indent=2) + "\n")
        if self.junit is not None:
            write_file(self.junit, junit_xml(run))
        if self.markdown is not None:
            write_file(self.markdown, markdown_summary(run))


def run_gate(
    config: str,
    ingest_first: bool | None,
    root: list[str] | None,
    resume: str | None,
    reports: Reports,
    *,
    as_json: bool,
) -> Exit:
    """Run the gate once, tell of it, and say how the command ends."""
    configured = load_config(config)
    with open_services(configured) as services:
        mark_interrupted(services.records)
        if resume == LATEST:
            resume = _unfinished(services, configured)
        _prepare(configured, services, ingest_first, root, hidden=as_json)
        done = _evaluate(configured, services, resume, as_json=as_json)
    reports.write(done)
    annotate(done.score)
    if as_json:
        write_json(evaluation(done))
    else:
        report_run(console(), done)
    return DECISION_EXITS[done.decision]


def _prepare(
    config: GateConfig, services: Services, wished: bool | None, root: list[str] | None, *, hidden: bool
) -> None:
    """Read the documents where that is asked for, or where there are none; say so."""
    err = console(stderr=True)
    if wished or (wished is None and not services.evidence.documents()):
        if wished is None:
            err.print("no documents are indexed yet: they are read first", soft_wrap=True)
        report_ingest(err, ingest_documents(config, services, root, hidden=hidden))
    if not services.evidence.documents():
        raise DataError(
            "no documents are indexed, so nothing could be confirmed: 'agentguard gate ingest' reads those of "
            "doc_sources"
        )


def _unfinished(services: Services, config: GateConfig) -> str:
    run = last_unfinished(services.records, config.use_case)
    if run is None:
        raise DataError("the latest run of this use case needs no resuming: it ended, or still goes on")
    return run.run_id


def _evaluate(config: GateConfig, services: Services, resume: str | None, *, as_json: bool) -> GateRun:
    """Run, and say of a run that does not end how it is taken up again."""
    try:
        with stage_bar(hidden=as_json) as begun:
            return evaluate(config, services, resume=resume, on_stage=begun)
    except (KeyboardInterrupt, GateError) as error:
        run = last_unfinished(services.records, config.use_case)
        if run is not None and (isinstance(error, KeyboardInterrupt) or error.stage):
            how = f"'agentguard gate run --resume {LATEST}' goes on with it"
            said = show(f"run {run.run_id} is on record as {run.status}: {how}")
            console(stderr=True).print(said, soft_wrap=True)
        raise
