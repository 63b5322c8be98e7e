"""``agentguard calibrate``: the reliability of the guard by reviewed calls, and the settings that follow."""

from __future__ import annotations

import os
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from agentguard.calibration import (
    Estimate,
    Labels,
    LabelSettings,
    Outcome,
    Reliability,
    Share,
    Threshold,
    Tool,
    Wish,
    labels_in_file,
    labels_in_store,
    proposal,
    reliability_svg,
    yaml_of,
)
from agentguard.calibration import calibrate as calibrate_from
from agentguard.cli._files import write_file
from agentguard.cli._options import JsonOption
from agentguard.cli._terminal import console, print_broken, printable, show, table, write_json
from agentguard.errors import ConfigurationError, DataError
from agentguard.traces import find_traces
from agentguard.traces._formats import FORMATS
from agentguard.traces._read import OWN, STDIN, format_of
from agentguard.verification._calibration import Calibration, load_calibration

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
        outcome = calibrate_from(read.labels, wish, LabelSettings.of(before))
    proposed = proposal(outcome, before)
    if picture is not None:
        write_file(picture, reliability_svg(outcome))
    written = output if proposed is not None else None
    if written is not None and proposed is not None:
        write_file(written, yaml_of(outcome, proposed, read.until))
    if not as_json:
        _report(console(), outcome, read, proposed, output)
        return
    settings = None if proposed is None else {"all": proposed.everywhere, "tools": proposed.tools}
    write_json(
        {
            **outcome.as_dict(),
            "corrected": read.corrected,
            "left_out": read.left_out,
            "broken": read.broken,
            "first_broken": [str(line) for line in read.first_broken],
            "calibration": settings,
            "written": written,
        }
    )


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
        raise DataError(f"there is no label in {source}{broken}{_if_calls(labels)}")
    return read


def _if_calls(labels: str | None) -> str:
    """Say how labels are had where the file given for them is a log of calls."""
    if labels in (None, STDIN) or find_traces(labels) != (Path(labels),):
        return ""
    format = format_of(Path(labels))
    if format == OWN:
        return ""
    return (
        f"; it is a log of calls ({FORMATS[format].title}), in which nobody says whether a result was made up: "
        "'agentguard replay' judges it, and labels come from reviewers"
    )


def _stored(where: str) -> Labels:
    from agentguard.stores import open_store

    folder = where.removeprefix("disk:")
    if "://" not in where and where != "memory:" and not os.path.isdir(folder):
        raise DataError(f"there is no store at {printable(folder)}")  # opening it would make an empty one
    with closing(open_store(where)) as store:
        return labels_in_store(store)


def _report(out: Console, outcome: Outcome, read: Labels, proposed: Calibration | None, output: str | None) -> None:
    out.print(
        f"{outcome.labels:,} labels, {outcome.fabricated_labels:,} of fabricated calls, {outcome.accepted_labels:,} of "
        f"accepted ones; they stand for {outcome.calls:,.0f} calls and say as much as {outcome.effective:,.0f} labels "
        f"that weigh alike"
    )
    out.print(f"fabricated: {_share(outcome.fabricated)} of all calls\n")
    parts = [_reliability("reliability, as judged", outcome.before)]
    if outcome.after is not None:
        parts.append(_reliability("reliability after the fit, on labels that it has not seen", outcome.after))
    parts += [_figures(outcome), _thresholds(outcome), *([_fitted(outcome)] if outcome.fit else []), _tools(outcome)]
    for part in parts:
        out.print(part, "")
    for remark in outcome.remarks:
        out.print(show(remark, "yellow", limit=1_000))
    if read.corrected:
        out.print(f"{read.corrected:,} labels were corrected by later ones of the same call")
    if read.left_out:
        out.print(f"{read.left_out:,} of the oldest labels were left out")
    if read.broken:
        print_broken(out, f"broken lines left out: {read.broken:,}", read.broken, read.first_broken)
    if proposed is None:
        out.print("nothing is to be changed" + ("" if output is None else f": {printable(output)} was not written"))
    elif output is not None:
        out.print(f"written to {printable(output)}", soft_wrap=True)


def _reliability(title: str, figures: Reliability) -> object:
    rows = table(
        "posterior", "#labels", "#calls", "#mean posterior", "#fabricated", "#interval", title=title
    )  # fmt: skip
    for bin in figures.bins:
        observed = bin.observed
        rows.add(
            f"{bin.low:.1f} to {bin.high:.1f}", bin.labels, f"{bin.weight:,.0f}", f"{bin.predicted:.3f}",
            f"{observed.value:.3f}", f"{observed.low:.3f} to {observed.high:.3f}",
        )  # fmt: skip
    return rows


def _figures(outcome: Outcome) -> object:
    rows = table("", "#as judged", "#after the fit")
    for name, field in (
        ("expected calibration error", "error"),
        ("  of it about this much by chance", "by_chance"),
        ("Brier score", "brier"),
        ("log loss, nats", "log_loss"),
        ("AUROC", "auroc"),
    ):
        values = [getattr(figures, field, None) for figures in (outcome.before, outcome.after)]
        rows.add(name, *(None if value is None else f"{value:.4f}" for value in values))
    return rows


def _thresholds(outcome: Outcome) -> object:
    bound = f"#at most ({outcome.wish.confidence:.0%})"
    rows = table("threshold", "#in force", "#genuine calls it catches", "#wished", "#found", bound)

    def row(name: str, value: float, caught: Share | None, threshold: Threshold) -> None:
        supported = threshold.value is not None
        rows.add(
            name,
            f"{value:g}",
            caught and _share(caught),
            f"{threshold.wished:.2%}",
            f"{threshold.value:g}" if supported else None,
            f"{threshold.bound:.2%}" if supported and threshold.bound is not None else None,
        )

    row("block_at", outcome.in_force.block_at, outcome.false_blocks, outcome.blocks)
    row("accept_below", outcome.in_force.accept_below, outcome.false_flags, outcome.flags)
    return rows


def _fitted(outcome: Outcome) -> object:
    rows = table("prior and likelihood ratios, all tools", "#in force", "#fitted", "#interval", "#labels")

    def row(name: str, before: float, fitted: Estimate) -> None:
        interval = f"{fitted.low:.3g} to {fitted.high:.3g}"
        rows.add(name, f"{before:.3g}", f"{fitted.value:.3g}", interval, fitted.labels)

    if outcome.fit is not None:
        row("prior", outcome.in_force.prior, outcome.fit.everywhere.prior)
        for name, fitted in outcome.fit.everywhere.ratios.items():
            row(name, outcome.in_force.ratio(None, name), fitted)
    return rows


def _tools(outcome: Outcome) -> object:
    rows = table("tool", "#labels", "#fabricated", "#genuine calls blocked", "#prior fitted", "#own ratios")

    def cells(tool: Tool) -> tuple[Any, ...]:
        own = outcome.fit.tools.get(tool.tool) if outcome.fit is not None else None
        return (
            show(tool.tool, limit=60),
            tool.labels,
            _share(tool.fabricated),
            tool.false_blocks and _share(tool.false_blocks),
            own and f"{own.prior.value:.3g}",
            len(own.ratios) if own and own.ratios else None,
        )

    rows.fill(outcome.tools, cells)
    return rows


def _share(share: Share) -> str:
    return f"{share.value:.2%} ({share.low:.2%} to {share.high:.2%})"
