"""``agentguard report``: a log judged anew, or the contents of a store, as one page of HTML."""

from __future__ import annotations

import re
import time
from typing import Annotated, Any

import typer

from agentguard._version import installed_version
from agentguard.calibration import labels_in_store
from agentguard.cli._exits import Exit
from agentguard.cli._files import STDIO, write_lines
from agentguard.cli._options import (
    CalibrationOption,
    JsonOption,
    LimitOption,
    Mode,
    ModeOption,
    ProfilesOption,
    StoreOption,
    build_engine,
    default_store,
    holds_store,
    opened,
    shown,
)
from agentguard.cli._terminal import (
    Interruption,
    console,
    print_line,
    printable,
    reading_bar,
    verdicts_of,
    write_json,
)
from agentguard.errors import ConfigurationError, DataError
from agentguard.report import ReportBuilder, ReportData, ReviewedCall, html_of, report_of_store
from agentguard.report._stored import kept_of
from agentguard.stores import MemoryStore
from agentguard.traces import ReplaySummary, Tally, TraceRow, read_traces
from agentguard.traces import replay as replay_rows
from agentguard.verification import VerificationResult
from agentguard.verification._calibration import load_calibration
from agentguard.verification.types import Settings

_ADDRESS = re.compile(r"(rediss?|unix)://|(disk|memory):", re.IGNORECASE)
MAX_TOOLS = 200
MAX_WORST = 100


def report(
    context: typer.Context,
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[STORE|TRACES|-]",
            help="A store (a folder or a server), or a log of calls: a .jsonl, .jsonl.gz or .parquet file, a folder of "
            "them, or '-' for stdin. Without it the store of --store, or the command line's own.",
        ),
    ] = None,
    store: StoreOption = None,
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
    given = context.get_parameter_source("store")  # what is typed stands over the environment, a log too
    if source is not None and given is not None and given.name == "COMMANDLINE":
        raise ConfigurationError("give a log or a store, or --store, and not both")
    address = source or store or default_store()
    accept_below, block_at = _thresholds(calibration)
    page: dict[str, Any] = {
        "made": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "version": installed_version(),
        "accept_below": accept_below,
        "block_at": block_at,
        "most_tools": tools,
        **({"title": title} if title else {}),
    }
    interruption = Interruption()
    if _is_store(address) or source is None:
        if content or profiles is not None or limit is not None:
            raise ConfigurationError("a store holds no calls to be judged: leave out --profiles, --content, --limit")
        data = _of_store(address, worst, page)
    else:
        # What is learned is written here in the end, and looked at; of records of verdicts nobody has any use.
        learned = MemoryStore(max_events=1, max_names=2_000)
        engine, builder = build_engine(profiles, mode, learned, calibration), ReportBuilder(worst, content=content)
        tally = Tally(worst=0, broken=1)

        def add(row: TraceRow, result: VerificationResult) -> None:
            builder.add(row.call, result, label=row.label, place=f"{printable(row.source)}:{row.line:,}")

        with reading_bar(address, lambda: builder.calls, hidden=as_json) as advance, interruption:
            replay_rows(read_traces(address, on_read=advance), engine, add, limit=limit, tally=tally)
        summary = tally.summary()
        _refuse_empty(address, summary)
        engine.flush()
        data = builder.data(
            source="standard input" if address == STDIO else printable(address),
            mode=mode.value,
            learned=lambda tool: kept_of(learned, tool).learned,
            notes=tuple(_notes(summary, interrupted=interruption.happened)),
            **{"title": "What the guard made of these calls", **page},
        )
    interrupted = interruption.happened
    write_lines(output, [html_of(data).encode()])
    counts = data.counts
    if as_json:
        verdicts = {"calls": counts.calls, **counts._asdict()}
        write_json({"written": output, "from": data.kind, **verdicts, "interrupted": interrupted})
    else:
        print_line(console(stderr=output == STDIO), f"{verdicts_of(counts)}; written to {printable(output)}")
    raise typer.Exit(Exit.INTERRUPTED if interrupted else Exit.ACCEPT)


def _is_store(address: str) -> bool:
    """Whether an address is a server's, or a folder that holds a store."""
    try:
        return _ADDRESS.match(address) is not None or holds_store(address)
    except (OSError, ValueError, RuntimeError):
        return False  # what reads it as a log says what is wrong with it


def _of_store(address: str, worst: int, page: dict[str, Any]) -> ReportData:
    with opened(address) as store:
        reviewed = tuple(
            ReviewedCall(
                label.tool, label.posterior, label.fabricated, label.weight, label.call_id or "", label.verdict
            )
            for label in labels_in_store(store).labels
        )
        page = {"title": "What the guard knows", **page}
        return report_of_store(store, reviewed, source=shown(address), worst=worst, **page)


def _refuse_empty(address: str, summary: ReplaySummary) -> None:
    """Raise ``DataError`` where no line of a log held a call."""
    if not summary.counts.calls:
        first = f" (the first line: {printable(str(summary.first_broken[0]))})" if summary.broken else ""
        raise DataError(f"no line of {printable(address)} holds a call{first}")


def _notes(summary: ReplaySummary, *, interrupted: bool) -> list[str]:
    """Write the page's notes: on lines that were left out, and on an interruption."""
    notes = []
    if summary.broken:
        first = printable(str(summary.first_broken[0]))
        notes.append(f"Lines that hold no call were left out: {summary.broken:,}, the first {first}.")
    if interrupted:
        notes.append("Interrupted: later calls are not in it.")
    return notes


def _thresholds(calibration: str | None) -> tuple[float, float]:
    """Those for all tools; a file of calibration may set others for single ones."""
    everywhere = {} if calibration is None else load_calibration(calibration).everywhere
    settings = Settings()
    return everywhere.get("accept_below", settings.accept_below), everywhere.get("block_at", settings.block_at)
