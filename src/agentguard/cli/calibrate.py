"""``agentguard calibrate``: what reviewed calls say of the guard, and the settings that follow."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Annotated

import typer
from rich.console import Console

from agentguard.calibration import (
    Estimate,
    InForce,
    Labels,
    Outcome,
    Reliability,
    Share,
    Threshold,
    Wish,
    labels_in_file,
    labels_in_store,
    proposal,
    reliability_svg,
    write_file,
    yaml_of,
)
from agentguard.calibration import calibrate as calibrate_from
from agentguard.errors import ConfigurationError, DataError
from agentguard.verification.calibration import Calibration, load_calibration

from .options import JsonOption
from .output import console, printable, show, table, write_json

__all__ = ["calibrate"]

_TOOLS_SHOWN = 50
_WISH = Wish()


def calibrate(
    labels: Annotated[
        str | None,
        typer.Option("--labels", metavar="FILE|-", help="Labels, one JSON object a line, plain or gzipped."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="DIR|URL", help="The store in which an engine kept its feedback."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write the calibration (YAML)."),
    ] = None,
    picture: Annotated[
        str | None,
        typer.Option("--picture", metavar="FILE", help="Where to draw the reliability diagram (SVG)."),
    ] = None,
    in_force: Annotated[
        str | None,
        typer.Option(
            "--in-force",
            metavar="FILE",
            help="The calibration that was in force when the labels were made; without it, the defaults were.",
        ),
    ] = None,
    max_false_block_rate: Annotated[
        float, typer.Option("--max-false-block-rate", help="Share of genuine calls that may be blocked.")
    ] = _WISH.false_block_rate,
    max_false_flag_rate: Annotated[
        float | None,
        typer.Option(
            "--max-false-flag-rate",
            help=f"Share of genuine calls that may be flagged or blocked; {_WISH.false_flag_rate:g} unless given, or "
            "the share that may be blocked where that is larger.",
        ),
    ] = None,
    least_block_at: Annotated[
        float,
        typer.Option(
            "--least-block-at", help="Lowest block_at to propose; at 0.5 nothing more likely genuine is blocked."
        ),
    ] = _WISH.least_block_at,
    confidence: Annotated[
        float, typer.Option("--confidence", help="Of every interval, and that the shares above are kept to.")
    ] = _WISH.confidence,
    as_json: JsonOption = False,
) -> None:
    """Measure P(fabricated) against reviewed calls, fit it to them, and find thresholds that keep to a wish.

    Exit code: 0, also where the labels are too few for any change (then no calibration is written); 3 error.
    """
    flags = max(_WISH.false_flag_rate, max_false_block_rate) if max_false_flag_rate is None else max_false_flag_rate
    wish = Wish(max_false_block_rate, flags, confidence, least_block_at).checked()
    before = None if in_force is None else load_calibration(in_force)
    read = _read(labels, store)
    err = console(stderr=True)
    with err.status("fitting and cross-validating") if err.is_terminal and not as_json else nullcontext():
        outcome = calibrate_from(read.labels, wish, InForce.of(before))
    proposed = proposal(outcome, before)
    if picture is not None:
        write_file(picture, reliability_svg(outcome))
    if output is not None and proposed is not None:
        write_file(output, yaml_of(outcome, proposed, read.until))
    if as_json:
        write_json(_as_dict(outcome, read, proposed, output))
    else:
        _report(console(), outcome, read, proposed, output)


def _read(labels: str | None, store: str | None) -> Labels:
    """The labels asked for, of which there is at least one."""
    if (labels is None) == (store is None):
        raise ConfigurationError("give either --labels FILE or --store DIR_OR_URL")
    if labels is not None:
        read, source = labels_in_file(labels), printable(labels)
    else:
        read, source = _stored(str(store)), "the store's feedback"
    if not read.labels:
        broken = f": {read.broken:,} broken lines, first {read.first_broken[0]}" if read.broken else ""
        raise DataError(f"there is no label in {source}{broken}")
    return read


def _stored(where: str) -> Labels:
    from agentguard.stores import open_store  # with the store's library, which files of labels do not need

    folder = where.removeprefix("disk:")
    if "://" not in where and where != "memory:" and not os.path.isdir(folder):
        raise DataError(f"there is no store at {printable(folder)}")  # opening it would make an empty one
    opened = open_store(where)
    try:
        return labels_in_store(opened)
    finally:
        opened.close()


def _as_dict(outcome: Outcome, read: Labels, proposed: Calibration | None, output: str | None) -> dict[str, object]:
    settings = None
    if proposed is not None:
        settings = {"all": proposed.everywhere, "tools": proposed.tools}
    return {
        **outcome.as_dict(),
        "corrected": read.corrected,
        "left_out": read.left_out,
        "broken": read.broken,
        "first_broken": [str(line) for line in read.first_broken],
        "calibration": settings,
        "written": output if proposed is not None else None,
    }


def _report(out: Console, outcome: Outcome, read: Labels, proposed: Calibration | None, output: str | None) -> None:
    out.print(
        f"{outcome.labels:,} labels, {outcome.fabricated_labels:,} of fabricated calls, {outcome.accepted_labels:,} of "
        f"accepted ones; they stand for {outcome.calls:,.0f} calls and say as much as {outcome.effective:,.0f} labels "
        f"that weigh alike"
    )
    out.print(f"fabricated: {_share(outcome.fabricated)} of all calls\n")
    _print_reliability(out, "reliability, as judged", outcome.before)
    if outcome.after is not None:
        _print_reliability(out, "reliability after the fit, on labels that it has not seen", outcome.after)
    out.print(_figures(outcome))
    out.print()
    out.print(_thresholds(outcome))
    out.print()
    if outcome.fit is not None:
        out.print(_fitted(outcome))
        out.print()
    out.print(_tools(outcome))
    out.print()
    for remark in outcome.remarks:
        out.print(show(remark, "yellow", limit=1_000))
    if read.corrected:
        out.print(f"{read.corrected:,} labels were corrected by later ones of the same call")
    if read.left_out:
        out.print(f"{read.left_out:,} of the oldest labels were left out")
    if read.broken:
        out.print(f"broken lines left out: {read.broken:,}", style="bold")
        for line in read.first_broken:
            out.print("    ", show(str(line)), soft_wrap=True)
    if proposed is None:
        out.print("nothing is to be changed" + ("" if output is None else f": {printable(output)} was not written"))
    elif output is not None:
        out.print(f"written to {printable(output)}", soft_wrap=True)


def _print_reliability(out: Console, title: str, figures: Reliability) -> None:
    made = table(
        "posterior",
        *("labels", "calls", "mean posterior", "fabricated", "interval"),
        right=("labels", "calls", "mean posterior", "fabricated", "interval"),
        title=title,
    )
    for bin in figures.bins:
        made.add_row(
            f"{bin.low:.1f} to {bin.high:.1f}",
            f"{bin.labels:,}",
            f"{bin.weight:,.0f}",
            f"{bin.predicted:.3f}",
            f"{bin.observed.value:.3f}",
            f"{bin.observed.low:.3f} to {bin.observed.high:.3f}",
        )
    out.print(made)
    out.print()


def _figures(outcome: Outcome) -> object:
    made = table("", "as judged", "after the fit", right=("as judged", "after the fit"))
    after = outcome.after

    def row(name: str, before: float | None, then: float | None) -> None:
        made.add_row(name, *("-" if value is None else f"{value:.4f}" for value in (before, then)))

    before = outcome.before
    row("expected calibration error", before.error, after and after.error)
    row("  of it about this much by chance", before.by_chance, after and after.by_chance)
    row("Brier score", before.brier, after and after.brier)
    row("log loss, nats", before.log_loss, after and after.log_loss)
    row("AUROC", before.auroc, after and after.auroc)
    return made


def _thresholds(outcome: Outcome) -> object:
    bound = f"at most ({outcome.wish.confidence:.0%})"
    columns = ("in force", "genuine calls it catches", "wished", "found", bound)
    made = table("threshold", *columns, right=columns)

    def row(name: str, value: float, caught: Share | None, threshold: Threshold) -> None:
        made.add_row(
            name,
            f"{value:g}",
            "-" if caught is None else _share(caught),
            f"{threshold.wished:.2%}",
            "-" if threshold.value is None else f"{threshold.value:g}",
            "-" if threshold.value is None or threshold.bound is None else f"{threshold.bound:.2%}",
        )

    row("block_at", outcome.in_force.block_at, outcome.false_blocks, outcome.blocks)
    row("accept_below", outcome.in_force.accept_below, outcome.false_flags, outcome.flags)
    return made


def _fitted(outcome: Outcome) -> object:
    columns = ("in force", "fitted", "interval", "labels")
    made = table("prior and likelihood ratios, all tools", *columns, right=columns)

    def row(name: str, before: float, found: Estimate) -> None:
        interval = f"{found.low:.3g} to {found.high:.3g}"
        made.add_row(name, f"{before:.3g}", f"{found.value:.3g}", interval, f"{found.labels:,}")

    if outcome.fit is not None:
        row("prior", outcome.in_force.prior, outcome.fit.everywhere.prior)
        for name, found in outcome.fit.everywhere.ratios.items():
            row(name, outcome.in_force.ratio(None, name), found)
    return made


def _tools(outcome: Outcome) -> object:
    columns = ("labels", "fabricated", "genuine calls blocked", "prior fitted", "own ratios")
    made = table("tool", *columns, right=columns)
    for tool in outcome.tools[:_TOOLS_SHOWN]:
        own = outcome.fit.tools.get(tool.tool) if outcome.fit is not None else None
        made.add_row(
            show(tool.tool, limit=60),
            f"{tool.labels:,}",
            _share(tool.fabricated),
            "-" if tool.false_blocks is None else _share(tool.false_blocks),
            "-" if own is None else f"{own.prior.value:.3g}",
            "-" if own is None or not own.ratios else f"{len(own.ratios)}",
        )
    if len(outcome.tools) > _TOOLS_SHOWN:
        made.add_row(f"and {len(outcome.tools) - _TOOLS_SHOWN:,} more tools")
    return made


def _share(share: Share) -> str:
    return f"{share.value:.2%} ({share.low:.2%} to {share.high:.2%})"
