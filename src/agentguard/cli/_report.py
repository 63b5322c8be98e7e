"""``agentguard report``: a log judged anew, or the contents of a store, as one page of HTML."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Annotated, Any

import typer

from agentguard._version import installed_version
from agentguard.calibration import labels_in_store
from agentguard.cli._exits import Exit
from agentguard.cli._files import STDIO, write_lines
from agentguard.cli._options import (
    LOG_HELP,
    CalibrationOption,
    FormatOption,
    JsonOption,
    LimitOption,
    Mode,
    ModeOption,
    ProfilesOption,
    StoreOption,
    build_engine,
    declared,
    default_store,
    holds_store,
    opened,
    shown,
)
from agentguard.cli._terminal import (
    Interruption,
    console,
    print_line,
    print_reading,
    printable,
    reading_bar,
    verdicts_of,
    write_json,
)
from agentguard.errors import ConfigurationError, DataError
from agentguard.report import (
    Claims,
    ReportBuilder,
    ReportData,
    ReviewedCall,
    UnsupportedClaim,
    html_of,
    report_of_store,
)
from agentguard.report._builder import add_read
from agentguard.report._stored import kept_of
from agentguard.stores import MemoryStore
from agentguard.traces import BrokenLine, Reading, ReplaySummary, Tally, TraceRow
from agentguard.traces._audit import VERDICTS, Audit
from agentguard.traces._formats import Call, Found
from agentguard.traces._processes import seldom_collected
from agentguard.traces._read import AUTO, check_format, read_found, row_of
from agentguard.verification._calibration import load_calibration
from agentguard.verification._engine import read_call, verify_read
from agentguard.verification.types import Settings

_ADDRESS = re.compile(r"(rediss?|unix)://|(disk|memory):", re.IGNORECASE)
MAX_TOOLS = 200
MAX_WORST = 100
MAX_CLAIMS = 100


def report(
    context: typer.Context,
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[STORE|TRACES|-]",
            help=f"A store (a folder or a server), or a log of calls: {LOG_HELP}. Without it the store of --store, or "
            "the command line's own.",
        ),
    ] = None,
    store: StoreOption = None,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE|-", help="Where to write the page.")
    ] = "report.html",
    format: FormatOption = AUTO,
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
        bool,
        typer.Option(
            "--content", help="Show arguments and results of the worst calls, cut, and the words of claims. Logs only."
        ),
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
    interruption, reading = Interruption(), Reading()
    read: dict[str, Any] = {}
    if _is_store(address) or source is None:
        if content or profiles is not None or limit is not None or check_format(format) != AUTO:
            raise ConfigurationError(
                "a store holds no calls to be judged: leave out --profiles, --content, --limit, --format"
            )
        data = _of_store(address, worst, page)
    else:
        # What is learned is written here in the end, and looked at; of records of verdicts nobody has any use.
        learned = MemoryStore(max_events=1, max_names=2_000)
        engine, builder = build_engine(profiles, mode, learned, calibration), ReportBuilder(worst, content=content)
        tally, audit = Tally(worst=0, broken=1), Audit(declared(profiles))
        shown_as = lru_cache(maxsize=64)(printable)  # of a file's name, which is the same line after line
        bar = reading_bar(address, lambda: builder.calls, hidden=as_json)
        with bar as advance, seldom_collected(), interruption:
            found = read_found(address, format=format, on_read=advance, reading=reading)
            for row in tally.calls_of(_rows(found, audit), limit):
                one = read_call(engine, row.call)
                place = f"{shown_as(row.source)}:{row.line:,}"
                add_read(builder, one, verify_read(engine, one), label=row.label, place=place)
        with Interruption():
            for _ in audit.end():
                pass
        summary = tally.summary()
        _refuse_empty(address, builder.calls, summary, reading)
        engine.flush()
        read = {"broken": summary.broken, "read": reading.as_dict()}
        data = builder.data(
            source="standard input" if address == STDIO else printable(address),
            mode=mode.value,
            learned=lambda tool: kept_of(learned, tool).learned,
            notes=tuple(_notes(summary, reading, interrupted=interruption.happened)),
            claims=_claims(audit, content=content) if audit.answers else None,
            **{"title": "What the guard made of these calls", **page},
        )
    interrupted = interruption.happened
    write_lines(output, [html_of(data).encode()])
    counts = data.counts
    if as_json:
        verdicts = {"calls": counts.calls, **counts._asdict()}
        write_json({"written": output, "from": data.kind, **verdicts, **read, "interrupted": interrupted})
    else:
        print_reading(console(stderr=output == STDIO), reading)
        print_line(console(stderr=output == STDIO), f"{verdicts_of(counts)}; written to {printable(output)}")
    raise typer.Exit(Exit.INTERRUPTED if interrupted else Exit.ACCEPT)


def _rows(found: Iterable[Found | BrokenLine], audit: Audit) -> Iterator[TraceRow | BrokenLine]:
    """The calls in what was found in a log; all that is found is told to an audit."""
    for one in found:
        if isinstance(one, BrokenLine):
            yield one
            continue
        audit.push(one)
        if isinstance(one, Call):
            yield row_of(one)


def _claims(audit: Audit, *, content: bool) -> Claims:
    shown = tuple(
        UnsupportedClaim(
            printable(answer.turn.session),
            f"{printable(answer.turn.source)}:{answer.turn.line:,}",
            claim.verdict,
            "" if (made := answer.made(claim)) is None else printable(made.tool),
            printable(claim.text) if content else None,
            printable(claim.reason) if content else None,
        )
        for answer in audit.kept
        for claim in answer.result.unsupported
    )[:MAX_CLAIMS]
    verdicts = tuple((verdict, audit.claims[verdict]) for verdict in VERDICTS)
    return Claims(audit.answers, verdicts, audit.values, audit.traced, shown, audit.unsupported - len(shown))


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


def _refuse_empty(address: str, calls: int, summary: ReplaySummary, reading: Reading) -> None:
    """Raise ``DataError`` where no line of a log held a call."""
    if not calls:
        first = f" (the first line: {printable(str(summary.first_broken[0]))})" if summary.broken else ""
        skipped = f"; it has {reading.words()}" if reading.skipped else ""
        raise DataError(f"no line of {printable(address)} holds a call{first}{skipped}")


def _notes(summary: ReplaySummary, reading: Reading, *, interrupted: bool) -> list[str]:
    """Write the page's notes: on a foreign format, on what was left out, and on an interruption."""
    notes = reading.remarks()
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
