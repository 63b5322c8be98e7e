"""``agentguard verify``: one call, explained signal by signal."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console

from agentguard._line_files import BYTE_ORDER_MARK
from agentguard.cli._exits import VERDICT_EXITS
from agentguard.cli._options import (
    CalibrationOption,
    JsonOption,
    Mode,
    ModeOption,
    ProfilesOption,
    StoreOption,
    build_engine,
    opened,
    shown,
)
from agentguard.cli._terminal import (
    VERDICT_STYLES,
    console,
    print_reading,
    printable,
    reading_bar,
    show,
    table,
    write_json,
)
from agentguard.errors import DataError
from agentguard.traces import Reading, ReplaySummary, Tally, read_traces, replay
from agentguard.traces._read import FIELDS, MAX_LINE_BYTES, STDIN, parse_call, parse_json, reason_of
from agentguard.verification import SignalResult, ToolCall, VerificationEngine, VerificationResult
from agentguard.verification.statistics import log_odds

_EXAMPLE = 'a call looks like {"tool": "get_weather", "args": {"city": "Oslo"}, "result": {"temperature": 4}}'
_SHOWN_REMAINDER = 5e-4  # nats; less is rounding


def verify(
    call: Annotated[str, typer.Argument(metavar="CALL.json|-", help="One call as a JSON object; '-' reads stdin.")],
    profiles: ProfilesOption = None,
    mode: ModeOption = Mode.calibrated,
    history: Annotated[
        str | None,
        typer.Option("--history", metavar="TRACES", help="Replay this log first and judge by what was learned."),
    ] = None,
    store: StoreOption = None,
    calibration: CalibrationOption = None,
    as_json: JsonOption = False,
) -> None:
    """Judge one tool call and explain the verdict. Exit code: 0 accept, 1 flag, 2 block, 3 error.

    With --store the call is judged by what the store knows, and learned into it, as is the log of --history.
    """
    if call == STDIN and history == STDIN:
        raise typer.BadParameter("the call and --history cannot both be read from standard input")
    judged = _read_call(call)
    if not store:
        engine = build_engine(profiles, mode, None, calibration)
        result, learned = _judge(judged, engine, history, learn=False, hidden=as_json)
    else:
        with opened(store, create=True) as kept, build_engine(profiles, mode, kept, calibration) as engine:
            result, learned = _judge(judged, engine, history, learn=True, hidden=as_json)
    if as_json:
        write_json(_as_dict(result, learned))
    else:
        out = console()
        _explain(out, result, learned)
        if store:
            out.print(show(f"learned into {shown(store)}"), soft_wrap=True)
    raise typer.Exit(VERDICT_EXITS[result.verdict])


def _judge(
    call: ToolCall, engine: VerificationEngine, history: str | None, *, learn: bool, hidden: bool
) -> tuple[VerificationResult, History | None]:
    learned = None
    if history is not None:
        tally, reading = Tally(), Reading()
        with reading_bar(history, lambda: tally.calls, hidden=hidden) as advance:
            rows = read_traces(history, on_read=advance, reading=reading)
            learned = History(replay(rows, engine, tally=tally), reading)
    return engine.verify(**call._asdict(), learn=learn), learned


def _read_call(source: str) -> ToolCall:
    try:
        if source == STDIN:
            raw = sys.stdin.buffer.read(MAX_LINE_BYTES + 1)
        else:
            with Path(source).open("rb") as stream:
                raw = stream.read(MAX_LINE_BYTES + 1)
    except FileNotFoundError:
        raise DataError(f"no such file: {source}") from None
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {source}: {reason_of(error)}") from None
    name = "the call on standard input" if source == STDIN else source
    if len(raw) > MAX_LINE_BYTES:
        raise DataError(f"{name} is longer than {MAX_LINE_BYTES:,} bytes, too long for a call")
    try:
        data = parse_json(raw.removeprefix(BYTE_ORDER_MARK))
        call, _ = parse_call(data)
        unknown = sorted(set(data) - FIELDS)
    except DataError as error:
        raise DataError(f"{name}: {error}; {_EXAMPLE}") from None
    if unknown:
        known = ", ".join(sorted(FIELDS))
        raise DataError(f"{name}: unknown field {printable(unknown[0])[:60]!r}; known are {known}")
    return call


class History(NamedTuple):
    """A log that was learned from, and what of it holds no call."""

    summary: ReplaySummary
    reading: Reading


class Entry(NamedTuple):
    """A signal's contribution to the log-odds, in nats, and the sum so far."""

    name: str
    signal: SignalResult | None
    nats: float
    running: float


class Ledger(NamedTuple):
    """The sum behind a verdict, in nats: prior + contributions = total, P(fabricated) = 1 / (1 + exp(-total))."""

    prior: float  # log-odds before any signal
    entries: tuple[Entry, ...]  # one a signal
    remainder: float  # 0 but for rounding, unless the engine limited the posterior
    total: float  # the log-odds of the posterior


def ledger(result: VerificationResult) -> Ledger:
    """Lay out a verdict as a sum, in the order of its signals."""
    prior = running = log_odds(result.prior)
    entries = []
    names = [*result.signals, *(name for name in result.contributions if name not in result.signals)]
    for name in names:
        nats = result.contributions.get(name, 0.0)
        running += nats
        entries.append(Entry(name, result.signals.get(name), nats, running))
    total = log_odds(result.posterior)
    return Ledger(prior, tuple(entries), total - running if math.isfinite(total) else 0.0, total)


def _as_dict(result: VerificationResult, learned: History | None) -> dict[str, Any]:
    signals = [
        {**signal._asdict(), "tier": signal.tier.value, "contribution": result.contributions.get(name, 0.0)}
        for name, signal in result.signals.items()
    ]
    sheet = ledger(result)
    history = {}
    if learned is not None:
        counts = {"calls": learned.summary.counts.calls, "broken": learned.summary.broken}
        history = {"history": {**counts, "read": learned.reading.as_dict()}}
    return {
        **{name: getattr(result, name) for name in ("tool", "call_id", "verdict", "posterior", "prior")},
        "false_block_p": result.false_block_p,
        "tier_reached": result.tier_reached.value,
        "explanation": result.explanation,
        "note": result.note,
        "log_odds": {
            "prior": sheet.prior,
            "contributions": {entry.name: entry.nats for entry in sheet.entries},
            "remainder": sheet.remainder,
            "total": sheet.total,
        },
        "signals": signals,
        **history,
    }


def _explain(out: Console, result: VerificationResult, learned: History | None) -> None:
    if learned is not None:
        broken = f", {learned.summary.broken:,} broken lines left out" if learned.summary.broken else ""
        out.print(f"learned from {learned.summary.counts.calls:,} calls{broken}")
        print_reading(out, learned.reading)
    sheet = ledger(result)
    _print_sum(out, result, sheet)
    if math.isfinite(sheet.total):
        out.print(f"P(fabricated) = 1 / (1 + e^({-sheet.total:.4f})) = {result.posterior:.4f}")
    if result.false_block_p is not None:
        out.print(f"share of genuine calls that look at least this bad: {result.false_block_p:.4g}")
    out.print()
    details = table("signal", "what it says")
    for name, signal in result.signals.items():
        details.add(name, signal.detail)
    out.print(details, "")
    if result.note:
        out.print(show(f"note: {result.note}"))
    out.print(show(f"verdict on {result.tool}:"), show(result.verdict, VERDICT_STYLES[result.verdict]))


def _print_sum(out: Console, result: VerificationResult, sheet: Ledger) -> None:
    rows = table("signal", "tier", "applies", "#score", "#p", "#ratio", "#nats", "#sum")
    rows.add("prior", "", "", "", f"{result.prior:.4f}", "", f"{sheet.prior:+.4f}", f"{sheet.prior:+.4f}")
    for entry in sheet.entries:
        signal = entry.signal
        added = (f"{entry.nats:+.4f}", f"{entry.running:+.4f}")
        if signal is None:
            rows.add(entry.name, "", "", "", "", "", *added)
            continue
        rows.add(
            show(entry.name, "bold" if signal.fired else ""),
            str(signal.tier.value),
            "no" if not signal.applicable else "fired" if signal.fired else "yes",
            f"{signal.score:.3f}",
            "" if signal.p_value is None else f"{signal.p_value:.4g}",
            f"{signal.likelihood_ratio:.4g}",
            *added,
            style="" if signal.applicable else "dim",
        )
    if abs(sheet.remainder) >= _SHOWN_REMAINDER:
        rows.add("limit of the sum", "", "", "", "", "", f"{sheet.remainder:+.4f}", f"{sheet.total:+.4f}")
    rows.add("total", "", "", "", f"{result.posterior:.4f}", "", "", f"{sheet.total:+.4f}", style="bold")
    out.print(rows)
