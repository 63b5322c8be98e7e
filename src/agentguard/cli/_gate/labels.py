"""``agentguard gate label | calibrate``: what people say of verdicts, and the risks that follow from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console

from agentguard.cli._gate.records import LABEL_STYLES, LATEST, ConfigOption, opened_records, run_id_of
from agentguard.cli._options import JsonOption
from agentguard.cli._terminal import console, counted, print_line, printable, show, table, write_json
from agentguard.errors import ConfigurationError
from agentguard.gate._config import CONFIG_NAME, LabelRisks, load_config
from agentguard.gate._labels import (
    VerdictReliability,
    claim_labels,
    label_claims,
    reliability,
    to_be_labelled,
)
from agentguard.gate._run import read_run
from agentguard.gate._types import Claim, ClaimVerdict

ANSWERS = {"true": True, "false": False}
RUNS_READ = 1_000  # whose labels count
FEW = 30  # labels of a verdict, below which its risk is mostly what was assumed


def label(
    claims: Annotated[
        list[str] | None,
        typer.Argument(metavar="CLAIM=true|false", help="What holds, and what does not: p3.c2=false p4.c1=true."),
    ] = None,
    run: Annotated[str, typer.Option("--run", metavar=f"RUN|{LATEST}", help="Of which run.")] = LATEST,
    number: Annotated[
        int, typer.Option("--sample", min=1, max=10_000, metavar="N", help="How many of each verdict to list.")
    ] = 10,
    config: ConfigOption = CONFIG_NAME,
    as_json: JsonOption = False,
) -> None:
    """Say of claims whether they hold; without any, list some to look at, drawn by lot from every verdict."""
    holds = _parsed(claims or [])
    configured = load_config(config)
    with opened_records(configured) as records:
        run_id = run_id_of(records, run, configured.use_case)
        if holds:
            label_claims(run_id, holds, records)
        labelled = claim_labels(run_id, records)
        drawn = [] if holds else to_be_labelled(read_run(run_id, records), number, labelled)
    if as_json:
        listed = [{"claim_id": claim.id, "claim": claim.text, "label": verdict.label} for claim, verdict in drawn]
        write_json({"run_id": run_id, "labelled": len(labelled), "to_label": listed})
    else:
        _report_drawn(console(), run_id, drawn, len(labelled))


def calibrate(config: ConfigOption = CONFIG_NAME, as_json: JsonOption = False) -> None:
    """Measure by the labels of all runs how often each verdict is right, and what a claim should add to the risk."""
    configured = load_config(config)
    with opened_records(configured) as records:
        runs = [run for run in records.runs(RUNS_READ, use_case=configured.use_case) if run.status == "finished"]
        labels = [each for run in runs for each in claim_labels(run.run_id, records)]
    rows = reliability(labels)
    if as_json:
        write_json(
            {"use_case": configured.use_case, "labels": len(labels), "verdicts": [row._asdict() for row in rows]}
        )
    else:
        _report_reliability(console(), rows, configured.risk_tolerance.label_risks)


def _parsed(given: Sequence[str]) -> dict[str, bool]:
    holds: dict[str, bool] = {}
    for each in given:
        claim_id, _, answer = each.rpartition("=")
        if not claim_id or answer.casefold() not in ANSWERS:
            raise ConfigurationError(f"{printable(each)[:80]!r} is no label: write CLAIM=true or CLAIM=false")
        if claim_id in holds:
            raise ConfigurationError(f"the claim {printable(claim_id)[:80]!r} is labelled twice")
        holds[claim_id] = ANSWERS[answer.casefold()]
    return holds


def _report_drawn(out: Console, run_id: str, drawn: Sequence[tuple[Claim, ClaimVerdict]], labelled: int) -> None:
    for claim, verdict in drawn:
        style = LABEL_STYLES[verdict.label]
        out.print(
            show(claim.id, "bold"), show(verdict.label.replace("_", " "), style), show(claim.text), soft_wrap=True
        )
    if drawn:
        out.print()
        first = drawn[0][0].id
        print_line(out, f"agentguard gate explain --run {run_id} {first} shows what a verdict rests on")
        print_line(out, f"agentguard gate label --run {run_id} {first}=true … says what holds")
    out.print(f"{counted(labelled, 'claim')} of this run {'is' if labelled == 1 else 'are'} labelled")


def _report_reliability(out: Console, rows: Sequence[VerdictReliability], current: LabelRisks) -> None:
    shown = table("verdict", "#labelled", "#do not hold", "#share", "#95% interval", "#risk now", "#risk by labels")
    for row in rows:
        share = f"{row.wrong / row.labelled:.1%}" if row.labelled else "–"
        interval = f"{row.low:.0%}–{row.high:.0%}" if row.labelled else "–"
        now = f"{getattr(current, row.verdict):g}"
        shown.add(row.verdict.replace("_", " "), row.labelled, row.wrong, share, interval, now, f"{row.risk:.3f}")
    out.print(shown, "")
    if not any(row.labelled for row in rows):
        out.print("nothing is labelled yet: 'agentguard gate label' lists claims to look at")
        return
    thin = [row.verdict.replace("_", " ") for row in rows if row.labelled < FEW]
    if thin:
        print_line(out, f"fewer than {FEW} labels, so that the risk is mostly the assumed one: {', '.join(thin)}")
    risks = ", ".join(f"{row.verdict}: {row.risk:.3f}" for row in rows)
    print_line(out, "to use these risks, write into the configuration:")
    print_line(out, f"risk_tolerance: {{label_risks: {{{risks}}}}}")
