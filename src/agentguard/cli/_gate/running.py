"""``agentguard gate init | ingest | run``: a configuration, the index of documents, a run and its reports."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, TimeElapsedColumn
from rich.text import Text

from agentguard.cli._exits import Exit
from agentguard.cli._files import reason_of, write_file
from agentguard.cli._gate.records import (
    DECISION_STYLES,
    LABEL_STYLES,
    LATEST,
    ConfigOption,
    compared_with_last,
    last_finished,
    last_unfinished,
    passage_title,
)
from agentguard.cli._options import JsonOption
from agentguard.cli._terminal import SHOWN, console, json_text, print_more, printable, progress, show, table, write_json
from agentguard.errors import ConfigurationError, DataError
from agentguard.gate._config import CONFIG_NAME, GateConfig, load_config
from agentguard.gate._history import Comparison
from agentguard.gate._run import STAGES, GateRun, Services, evaluate, open_library, open_services, resuming
from agentguard.gate._types import Decision, Label, Score
from agentguard.gate.documents._ingest import IngestReport, IngestServices, IngestStep
from agentguard.gate.documents._ingest import ingest as ingest_documents
from agentguard.gate.records._base import mark_interrupted
from agentguard.gate.reports import (
    COUNTS,
    Finding,
    evaluation,
    findings,
    html_page,
    junit_xml,
    markdown_summary,
    quarantined,
)

GITHUB_COMMANDS: Mapping[Decision, str] = {"warn": "warning", "block": "error"}
PROBLEMS_SHOWN = 20
REASONS_SHOWN = 2
NAME_SHOWN = 60  # characters of a document's name beside the progress bar

RootOption = Annotated[
    list[str] | None,
    typer.Option(
        "--root",
        metavar="DIR",
        help="A further folder that documents may lie in, beside the configuration's; may be given again.",
    ),
]


class FailOn(str, Enum):
    """The least grave decision that makes a run fail."""

    warn = "warn"
    block = "block"


def init(
    config: Annotated[str, typer.Argument(metavar="[FILE]", help="The file to write.")] = CONFIG_NAME,
    use_case: Annotated[
        str, typer.Option("--use-case", metavar="TEXT", help="What the model is for.")
    ] = "customer support assistant",
    documents: Annotated[
        str, typer.Option("--docs", metavar="PATH", help="The folder or file of trusted documents.")
    ] = "docs/",
    as_json: JsonOption = False,
) -> None:
    """Write a configuration to begin with. A file that is there already stays as it is."""
    template = files(__package__).joinpath("template.yaml").read_text(encoding="utf-8")
    # A string of JSON is one of YAML.
    text = Template(template).substitute(use_case=json.dumps(use_case), documents=json.dumps(documents))
    try:
        with Path(config).open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigurationError(f"{printable(config)} is there already, and stays as it is") from None
    except (OSError, ValueError) as error:
        raise DataError(f"cannot write {printable(config)}: {reason_of(error)}") from None
    if as_json:
        write_json({"written": config})
    else:
        done = f"{printable(config)} is written; name your model in it, then 'agentguard gate run'"
        console().print(show(done, limit=2_000), soft_wrap=True)


def ingest(config: ConfigOption = CONFIG_NAME, root: RootOption = None, as_json: JsonOption = False) -> None:
    """Read the documents of doc_sources into the index: what is new or changed; what is gone is removed.

    What cannot be read is told, and what was indexed of it stays.
    """
    configured = load_config(config)
    _report_notes(configured)
    with open_library(configured) as library:
        report = _ingest(configured, library, root, hidden=as_json)
    if not as_json:
        _report_ingest(console(), report)
        return
    documents = {
        name: [{"document": uri, "reason": reason} for uri, reason in pairs]
        for name, pairs in (
            ("problems", report.problems),
            ("skipped", report.skipped),
            ("quarantined", report.quarantined),
        )
    }
    counts = {name: getattr(report, name) for name in ("added", "changed", "unchanged", "removed", "chunks")}
    write_json({**counts, **documents})


def run(
    config: ConfigOption = CONFIG_NAME,
    ingest_first: Annotated[
        bool | None,
        typer.Option(
            "--ingest/--no-ingest",
            help="Read the documents before, or do not. Unless told: where none are indexed yet.",
            show_default=False,
        ),
    ] = None,
    root: RootOption = None,
    resume: Annotated[
        str | None,
        typer.Option(
            "--resume",
            metavar=f"RUN|{LATEST}",
            help=f"Go on with a run that did not end: by its id, or the '{LATEST}' one. Stages that are done are kept.",
        ),
    ] = None,
    incremental: Annotated[
        bool,
        typer.Option("--incremental", help="Take over answers of the last run wherever the same is asked again."),
    ] = False,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the run to a file, as --json tells it.")
    ] = None,
    junit: Annotated[
        str | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML, one test case a claim.")
    ] = None,
    markdown: Annotated[
        str | None,
        typer.Option("--markdown", metavar="FILE", help="Write a summary in Markdown, for a job or a pull request."),
    ] = None,
    html: Annotated[str | None, typer.Option("--html", metavar="FILE", help="Write a page of the run.")] = None,
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="'warn': what must not be deployed unread fails, too.")
    ] = FailOn.block,
    as_json: JsonOption = False,
) -> None:
    """Ask the model, or take recorded answers; hold every claim against the documents; decide.

    Exit code: 0 deploy, or warn (which is told); 1 block, or warn with --fail-on warn; 3 error; 130 interrupted.
    """
    configured = load_config(config)
    with open_services(configured) as services:
        console(stderr=True).print(show(services.first_line, limit=2_000), soft_wrap=True)
        _report_notes(configured)
        mark_interrupted(services.records)
        if resume == LATEST:
            unfinished = last_unfinished(services.records, configured.use_case)
            if unfinished is None:
                raise DataError("the latest run of this use case needs no resuming: it ended, or still goes on")
            resume = unfinished.run_id
        _prepare(configured, services, ingest_first, root, hidden=as_json)
        last = last_finished(services.records, configured.use_case) if incremental else None
        done = _evaluate(configured, services, resume, last, hidden=as_json)
        since = compared_with_last(services.records, done)
    changes, before = (None, "") if since is None else (since.changes, since.run_a.run_id)
    if output is not None:
        write_file(output, json_text(evaluation(done)) + "\n")
    if junit is not None:
        write_file(junit, junit_xml(done))
    if markdown is not None:
        write_file(markdown, markdown_summary(done, changes, before))
    if html is not None:
        write_file(html, html_page(done, changes, before))
    _annotate(done.score)
    if as_json:
        write_json(evaluation(done))
    else:
        _report_run(console(), done, since)
    fails = done.decision == "block" or (done.decision == "warn" and fail_on is FailOn.warn)
    raise typer.Exit(Exit.FLAG if fails else Exit.ACCEPT)


def _report_notes(config: GateConfig) -> None:
    """Print a line for each field of the configuration that stands elsewhere than it is read."""
    for note in config.notes:
        console(stderr=True).print(show(f"configuration: {note}", limit=2_000), soft_wrap=True)


def _ingest(config: GateConfig, services: IngestServices, root: list[str] | None, *, hidden: bool) -> IngestReport:
    with progress("ingest", MofNCompleteColumn(), TimeElapsedColumn(), hidden=hidden) as (bar, task):

        def done(step: IngestStep) -> None:
            name = printable(step.uri)[-NAME_SHOWN:] or "ingest"
            bar.update(task, completed=step.done, total=step.total, description=name)

        return ingest_documents(config, services, progress=done, roots=[Path(folder) for folder in root or ()])


def _report_ingest(out: Console, report: IngestReport) -> None:
    """Print how many documents became what, and what somebody should look at."""
    counts = f"{report.added} added, {report.changed} changed, {report.unchanged} unchanged, {report.removed} removed"
    out.print(show(f"documents: {counts}; {report.chunks} passages written"), soft_wrap=True)
    for uri, problem in report.problems[:PROBLEMS_SHOWN]:
        out.print(show(f"  {uri}: {problem}", "yellow"), soft_wrap=True)
    print_more(out, report.problems, PROBLEMS_SHOWN, "  and {:,} more; 'agentguard gate ingest --json' lists all")
    if report.quarantined:
        text = f"{len(report.quarantined)} in quarantine, no evidence: they hold instructions to a model"
        out.print(show(text, "bold yellow"), soft_wrap=True)
    for uri, detail in report.quarantined[:PROBLEMS_SHOWN]:
        out.print(show(f"  {uri}: {detail}", "yellow"), soft_wrap=True)


def _prepare(
    config: GateConfig, services: Services, wished: bool | None, root: list[str] | None, *, hidden: bool
) -> None:
    """Ingest the documents where that is asked for, or where there are none, and report it."""
    err = console(stderr=True)
    if wished or (wished is None and not services.evidence.documents()):
        if wished is None:
            err.print("no documents are indexed yet: they are read first", soft_wrap=True)
        _report_ingest(err, _ingest(config, services, root, hidden=hidden))
    if not services.evidence.documents():
        raise DataError(
            "no documents are indexed, so nothing could be confirmed: 'agentguard gate ingest' reads those of "
            "doc_sources"
        )


def _evaluate(
    config: GateConfig, services: Services, resume: str | None, reuse: str | None, *, hidden: bool
) -> GateRun:
    """Run the stages; of a run that does not end, tell how it is resumed."""
    names = [stage.__name__ for stage in STAGES]
    try:
        with progress("gate", MofNCompleteColumn(), TimeElapsedColumn(), hidden=hidden, total=len(names)) as (
            bar,
            task,
        ):

            def begun(name: str, run: GateRun) -> None:
                done = names.index(name) if name in names else None
                # A stage may hold the interpreter for long: what is shown must not wait for the next turn of the clock.
                bar.update(task, completed=done, description=printable(name).replace("_", " "), refresh=True)

            return evaluate(config, services, resume=resume, reuse=reuse, on_stage=begun)
    except KeyboardInterrupt:
        unfinished = last_unfinished(services.records, config.use_case)
        if unfinished is not None:
            recorded = f"run {unfinished.run_id} is on record as {unfinished.status}"
            message = show(f"{recorded}: {resuming(unfinished.run_id)}")
            console(stderr=True).print(message, soft_wrap=True)
        raise


def _annotate(score: Score) -> None:
    """Annotate a GitHub workflow with a warning or a block, where the command runs in one."""
    command = GITHUB_COMMANDS.get(score.decision)
    if command is None or os.environ.get("GITHUB_ACTIONS") != "true":
        return
    # On standard error, which the runner reads too: standard output may have to be one JSON object.
    message = printable(f"{score.decision}: {score.reason}").replace("%", "%25")
    print(f"::{command} title=Reliability gate::{message}", file=sys.stderr)


def _report_run(out: Console, run: GateRun, since: Comparison | None) -> None:
    """Print the decision, how many claims there are of each kind, and those that are not supported."""
    score = run.state.score
    out.print(Text(score.decision, DECISION_STYLES[score.decision]), show(f": {score.reason}"), sep="", soft_wrap=True)
    out.print(show(f"{run.summary.use_case}: {run.summary.target}, judged by {run.summary.judge}"), soft_wrap=True)
    out.print()
    counts = table("#claims", "#supported", "#weakly supported", "#unsupported")
    counts.add_row(*map(str, (score.total_claims, score.supported, score.weakly_supported, score.unsupported)))
    out.print(counts)
    told = [f"{getattr(score, name)} {meaning}" for name, meaning in COUNTS.items() if getattr(score, name)]
    if told:
        out.print(show(", ".join(told), limit=2_000), soft_wrap=True)
    for held in quarantined(run)[:PROBLEMS_SHOWN]:
        out.print(show(f"  no evidence: {held.document}: {held.detail}", "yellow"), soft_wrap=True)
    listed = findings(run.state)
    labels: tuple[Label, ...] = ("unsupported", "weakly_supported")
    for label in labels:
        _report_claims(out, label, [finding for finding in listed if finding.verdict.label == label])
    if since is not None and since.worse:
        out.print()
        out.print(show(f"worse than in run {since.run_a.run_id}", "bold"), soft_wrap=True)
        for change in since.worse[:SHOWN]:
            out.print(show(f"  {change}", limit=2_000), soft_wrap=True)
        print_more(out, since.worse, SHOWN, "  and {:,} more; 'agentguard gate compare' lists all")
    out.print()
    more = "; 'agentguard gate explain CLAIM' tells more of a claim" if listed else ""
    out.print(show(f"run {run.run_id}{more}", "dim"), soft_wrap=True)


def _report_claims(out: Console, label: Label, listed: Sequence[Finding]) -> None:
    if not listed:
        return
    out.print()
    out.print(Text(label.replace("_", " "), LABEL_STYLES[label]))
    for finding in listed[:SHOWN]:
        out.print(show(f"  {finding.claim.id}", "bold"), show(finding.claim.text), soft_wrap=True)
        out.print("     ", show(f"kind: {finding.kind}"), soft_wrap=True)
        for reason in finding.verdict.reasons[:REASONS_SHOWN]:
            out.print("     ", show(f"{reason.kind}: {reason.detail}"), soft_wrap=True)
        if finding.passage is not None:
            quote = f': "{finding.verdict.quote}"' if finding.verdict.quote else ""
            title = passage_title(finding.passage.chunk.document, finding.heading)
            out.print("     ", show(f"{title}{quote}", "dim"), soft_wrap=True)
    print_more(out, listed, SHOWN, "  and {:,} more; --json lists all")
