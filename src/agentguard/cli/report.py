"""``agentguard report``: a log judged anew, or what a store holds, as one page of HTML."""

from __future__ import annotations

import re
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from agentguard.calibration import Label, labels_in_store
from agentguard.errors import ConfigurationError, DataError
from agentguard.report import ReportBuilder, ReportData, ReviewedCall, html_of, report_of_store
from agentguard.report._stored import kept_of
from agentguard.stores import MemoryStore
from agentguard.stores._disk import DATABASE
from agentguard.traces import BrokenLine, Tally
from agentguard.traces import replay as replay_rows
from agentguard.traces._partitions import first_calls
from agentguard.traces._read import STDIN as TRACES_FROM_STDIN
from agentguard.traces._read import parse, read_lines
from agentguard.verification.calibration import load_calibration
from agentguard.verification.types import Settings

from .exits import Exit
from .options import STORE_VARIABLE, CalibrationOption, JsonOption, Mode, ModeOption, ProfilesOption, build_engine
from .output import console, printable, show, write_json
from .progress import reading_bar
from .state_files import STDIO, write_lines
from .state_place import default_store, opened, shown

__all__ = ["report"]

_ADDRESS = re.compile(r"(rediss?|unix)://|(disk|memory):", re.IGNORECASE)
MAX_TOOLS = 200
MAX_WORST = 100


class Plan(NamedTuple):
    """What was asked for."""

    source: str
    title: str
    worst: int
    tools: int
    content: bool
    limit: int | None
    hidden: bool


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
    limit: Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="Stop after N calls.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write what was judged, learned and drifted as one file of HTML, to be opened anywhere: it asks for nothing else.

    A log is judged from nothing, in recorded order; a store is only read.
    """
    if as_json and output == STDIO:
        raise ConfigurationError("--json and the page cannot both go to standard output")
    place = source or default_store()
    plan = Plan(place, title or "", worst, tools, content, limit, hidden=as_json)
    interrupted = False
    if is_store(place) or source is None:
        if content or profiles is not None or limit is not None:
            raise ConfigurationError("a store holds no calls to be judged: leave out --profiles, --content, --limit")
        found = _of_store(plan, calibration)
    else:
        found, interrupted = _of_traces(plan, profiles, mode, calibration)
    write_lines(output, [html_of(found).encode()])
    counts = found.counts
    if as_json:
        verdicts = {"calls": counts.calls, **counts._asdict()}
        write_json({"written": output, "from": found.kind, **verdicts, "interrupted": interrupted})
    else:
        said = f"{counts.calls:,} calls: {counts.accept:,} accepted, {counts.flag:,} flagged, {counts.block:,} blocked"
        out = console(stderr=output == STDIO)
        out.print(show(f"{said}; written to {printable(output)}", limit=2_000), soft_wrap=True)
    raise typer.Exit(Exit.INTERRUPTED if interrupted else Exit.ACCEPT)


def is_store(place: str) -> bool:
    """It is a server's address, or a folder in which a store lies."""
    if _ADDRESS.match(place):
        return True
    try:
        return (Path(place).expanduser() / DATABASE).exists()
    except (OSError, ValueError, RuntimeError):
        return False  # what reads it as a log says what is wrong with it


def _of_store(plan: Plan, calibration: str | None) -> ReportData:
    accept_below, block_at = _thresholds(calibration)
    with opened(plan.source) as store:
        reviewed = tuple(_reviewed(label) for label in labels_in_store(store).labels)
        return report_of_store(
            store, reviewed, title=plan.title or "What the guard knows", source=shown(plan.source), made=_now(),
            version=_version(), accept_below=accept_below, block_at=block_at, worst=plan.worst, most_tools=plan.tools,
        )  # fmt: skip


def _reviewed(label: Label) -> ReviewedCall:
    return ReviewedCall(label.tool, label.posterior, label.fabricated, label.weight, label.call_id or "", label.verdict)


def _of_traces(plan: Plan, profiles: str | None, mode: Mode, calibration: str | None) -> tuple[ReportData, bool]:
    accept_below, block_at = _thresholds(calibration)
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
    source = "standard input" if plan.source == TRACES_FROM_STDIN else printable(plan.source)
    data = builder.data(
        title=plan.title or "What the guard made of these calls", source=source, mode=mode.value, made=_now(),
        version=_version(), accept_below=accept_below, block_at=block_at, most_tools=plan.tools,
        learned=lambda tool: kept_of(store, tool).learned,
        notes=tuple(_notes(broken.broken, broken.first_broken, interrupted=interrupted)),
    )  # fmt: skip
    return data, interrupted


def _notes(broken: int, first: tuple[BrokenLine, ...], *, interrupted: bool) -> list[str]:
    said = (
        [f"Lines that hold no call were left out: {broken:,}, the first {printable(str(first[0]))}."] if first else []
    )
    return [*said, "Interrupted: later calls are not in it."] if interrupted else said


def _thresholds(calibration: str | None) -> tuple[float, float]:
    """Those for all tools; a file of calibration may set others for single ones."""
    said = {} if calibration is None else load_calibration(calibration).everywhere
    settings = Settings()
    return said.get("accept_below", settings.accept_below), said.get("block_at", settings.block_at)


def _now() -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())


def _version() -> str:
    try:
        return version("agentguard")
    except PackageNotFoundError:
        return ""
