"""``agentguard report``: a log judged anew, or the contents of a store, as one page of HTML."""

from __future__ import annotations

import re
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from agentguard.calibration import labels_in_store
from agentguard.cli._exits import Exit
from agentguard.cli._files import STDIO, write_lines
from agentguard.cli._options import (
    STORE_VARIABLE,
    CalibrationOption,
    JsonOption,
    LimitOption,
    Mode,
    ModeOption,
    ProfilesOption,
    build_engine,
    default_store,
    opened,
    shown,
)
from agentguard.cli._terminal import console, printable, reading_bar, show, write_json
from agentguard.errors import ConfigurationError, DataError
from agentguard.report import ReportBuilder, ReportData, ReviewedCall, html_of, report_of_store
from agentguard.report._stored import kept_of
from agentguard.stores import MemoryStore
from agentguard.stores._disk import DATABASE
from agentguard.traces import BrokenLine, Tally
from agentguard.traces import replay as replay_rows
from agentguard.traces._partitions import first_calls
from agentguard.traces._read import parse, read_lines
from agentguard.verification._calibration import load_calibration
from agentguard.verification.types import Settings

_ADDRESS = re.compile(r"(rediss?|unix)://|(disk|memory):", re.IGNORECASE)
MAX_TOOLS = 200
MAX_WORST = 100


class Plan(NamedTuple):
    """The options of both kinds of report, and what every page says."""

    source: str
    worst: int
    content: bool
    limit: int | None
    hidden: bool
    page: dict[str, Any]


def report(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[STORE|TRACES|-]",
            envvar=STORE_VARIABLE,
            help="A store (a folder or a server), or a log of calls: a .jsonl, .jsonl.gz or .parquet file, a folder of "
            "them, or '-' for stdin. Without it the command line's own store.",
        ),
    ] = None,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE|-", help="Where to write the page.")
    ] = "report.html",
    profiles: ProfilesOption = None,
    mode: ModeOption = Mode.calibrated,
    calibration: CalibrationOption = None,
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="The page's title.")] = None,
    tools: Annotated[
        int, typer.Option("--tools", min=1, max=MAX_TOOLS, metavar="N", help="Show the N tools with most suspects.")
    ] = 30,
    worst: Annotated[
        int, typer.Option("--worst", min=0, max=MAX_WORST, metavar="N", help="Open up the N worst calls.")
    ] = 10,
    content: Annotated[
        bool, typer.Option("--content", help="Show arguments and results of the worst calls, cut. Logs only.")
    ] = False,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write what was judged, learned and drifted as one file of HTML, to be opened anywhere: it asks for nothing else.

    A log is judged from nothing, in recorded order; a store is only read.
    """
    if as_json and output == STDIO:
        raise ConfigurationError("--json and the page cannot both go to standard output")
    address = source or default_store()
    accept_below, block_at = _thresholds(calibration)
    page = {
        "made": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "version": _version(),
        "accept_below": accept_below,
        "block_at": block_at,
        "most_tools": tools,
        **({"title": title} if title else {}),
    }
    plan = Plan(address, worst, content, limit, as_json, page)
    interrupted = False
    if _is_store(address) or source is None:
        if content or profiles is not None or limit is not None:
            raise ConfigurationError("a store holds no calls to be judged: leave out --profiles, --content, --limit")
        data = _of_store(plan)
    else:
        data, interrupted = _of_traces(plan, profiles, mode, calibration)
    write_lines(output, [html_of(data).encode()])
    counts = data.counts
    if as_json:
        verdicts = {"calls": counts.calls, **counts._asdict()}
        write_json({"written": output, "from": data.kind, **verdicts, "interrupted": interrupted})
    else:
        figures = (
            f"{counts.calls:,} calls: {counts.accept:,} accepted, {counts.flag:,} flagged, {counts.block:,} blocked"
        )
        out = console(stderr=output == STDIO)
        out.print(show(f"{figures}; written to {printable(output)}", limit=2_000), soft_wrap=True)
    raise typer.Exit(Exit.INTERRUPTED if interrupted else Exit.ACCEPT)


def _is_store(address: str) -> bool:
    """Whether an address is a server's, or a folder that holds a store."""
    if _ADDRESS.match(address):
        return True
    try:
        return (Path(address).expanduser() / DATABASE).exists()
    except (OSError, ValueError, RuntimeError):
        return False  # what reads it as a log says what is wrong with it


def _of_store(plan: Plan) -> ReportData:
    with opened(plan.source) as store:
        reviewed = tuple(
            ReviewedCall(
                label.tool, label.posterior, label.fabricated, label.weight, label.call_id or "", label.verdict
            )
            for label in labels_in_store(store).labels
        )
        page = {"title": "What the guard knows", **plan.page}
        return report_of_store(store, reviewed, source=shown(plan.source), worst=plan.worst, **page)


def _of_traces(plan: Plan, profiles: str | None, mode: Mode, calibration: str | None) -> tuple[ReportData, bool]:
    # What is learned is written here in the end, and looked at; of records of verdicts nobody has any use.
    store = MemoryStore(max_events=1, max_names=2_000)
    engine = build_engine(profiles, mode, store, calibration)
    builder, tally, interrupted = ReportBuilder(plan.worst, content=plan.content), Tally(worst=0, broken=1), False
    with reading_bar(plan.source, lambda: builder.calls, hidden=plan.hidden) as advance:
        lines = read_lines(plan.source, on_read=advance)
        rows = parse(lines if plan.limit is None else first_calls(lines, plan.limit))
        try:
            replay_rows(
                rows,
                engine,
                lambda row, verdict: builder.add(
                    row.call, verdict, label=row.label, place=f"{printable(row.source)}:{row.line:,}"
                ),
                tally=tally,
            )
        except KeyboardInterrupt:
            interrupted = True
    broken = tally.summary()
    if not builder.calls:
        first = f" (the first line: {printable(str(broken.first_broken[0]))})" if broken.first_broken else ""
        raise DataError(f"no line of {printable(plan.source)} holds a call{first}")
    engine.flush()
    data = builder.data(
        source="standard input" if plan.source == STDIO else printable(plan.source),
        mode=mode.value,
        learned=lambda tool: kept_of(store, tool).learned,
        notes=_notes(broken.broken, broken.first_broken, interrupted=interrupted),
        **{"title": "What the guard made of these calls", **plan.page},
    )
    return data, interrupted


def _notes(broken: int, first: tuple[BrokenLine, ...], *, interrupted: bool) -> tuple[str, ...]:
    notes = ["Interrupted: later calls are not in it."] if interrupted else []
    if first:
        notes.insert(0, f"Lines that hold no call were left out: {broken:,}, the first {printable(str(first[0]))}.")
    return tuple(notes)


def _thresholds(calibration: str | None) -> tuple[float, float]:
    """Those for all tools; a file of calibration may set others for single ones."""
    everywhere = {} if calibration is None else load_calibration(calibration).everywhere
    settings = Settings()
    return everywhere.get("accept_below", settings.accept_below), everywhere.get("block_at", settings.block_at)


def _version() -> str:
    try:
        return version("agentguard")
    except PackageNotFoundError:
        return ""
