"""Run the demo on a terminal: a line for each call that the guard objected to, and tables at the end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from time import perf_counter

from rich.console import Console, Group
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from agentguard.demo._agent import MAX_RETRIES, Event, Guard, place_faults, run_agent
from agentguard.demo._plan import plan_calls, rehearse
from agentguard.demo._report import DemoReport, GenuineCount, count
from agentguard.demo._tools import DELAYS_MS, PROFILES, Toolbox
from agentguard.errors import ConfigurationError
from agentguard.verification import VerificationEngine

WARM_UP_SHARE = 0.2  # of the planned calls
_STYLES = {"block": "bold red", "flag": "yellow", "accept": "green"}


def show_opening(console: Console, calls: int, warm_up: int, faults: int) -> None:
    """Print what the run will do, and which of it is arranged."""
    medians = " and ".join(f"{median:g} ms" for median, _ in DELAYS_MS.values())
    rate = f"{faults / (calls - warm_up):.0%}" if calls > warm_up else "none"
    console.print(
        f"{calls} calls to six real tools: a SQLite shop, an HTTP service on 127.0.0.1 and a calculator. "
        f"{warm_up} calls without faults come first, as when a guard is installed on a working system; then {faults} "
        f"faults of eight kinds among the other {calls - warm_up} ({rate}). The service's delays are log-normal with "
        f"medians of {medians}, chosen short to keep the run short.\n",
        markup=False,
        highlight=False,
    )


def line(event: Event) -> Text:
    """A call that the guard objected to, with its strongest reasons and its real fault."""
    what = event.fault.value if event.fault else "GENUINE (false alarm)"
    number = f"#{event.step + 1}" + (f" retry {event.attempt}" if event.attempt else "")
    return Text.assemble(
        (f"{number:<5} ", "dim"),
        f"{event.tool:<13} ",
        (f"{event.verdict:<5}", _STYLES[event.verdict]),
        f" {event.posterior:.2f}  ",
        (f"{what:<24}", "cyan" if event.fault else "magenta"),
        " <- ",
        ("; ".join(event.reasons) or "no signal raised the odds", "dim"),
    )


def closing(report: DemoReport) -> Group:
    """The tables and the sentences under them."""
    made = len({event.step for event in report.events})
    parts: list[Table | Text] = (
        [] if report.complete else [Text(f"Ended after {made} of {report.planned_calls} calls.")]
    )
    parts += [Text(), _faults(report), Text(), _genuine(report), Text()]
    if report.verify_p50_us is not None:
        parts.append(
            Text(
                f"{len(report.events)} answers verified in a run of {report.elapsed_s:.0f} s; one takes "
                f"{report.verify_p50_us:.0f} microseconds (p50; p99 {report.verify_p99_us:.0f})."
            )
        )
    parts.append(Text(_agent(report)))
    parts.append(Text(report.sentence, style="bold"))
    return Group(*parts)


def _faults(report: DemoReport) -> Table:
    table = Table(title="Faults injected", title_justify="left")
    table.add_column("fault")
    for column in ("occurrences", "blocked", "flagged", "missed"):
        table.add_column(column, justify="right")
    for fault in report.faults:
        table.add_row(
            fault.kind.value, *map(str, (fault.occurrences, fault.blocked, fault.flagged, fault.missed)),
            style="" if fault.mostly_caught or not fault.occurrences else "red",
        )  # fmt: skip
    return table


def _genuine(report: DemoReport) -> Table:
    table = Table(title="Genuine calls", title_justify="left")
    table.add_column("")
    for column in ("calls", "blocked", "flagged"):
        table.add_column(column, justify="right")
    rows = (("warm-up", report.genuine_warm_up), ("afterwards", report.genuine_later), ("all", report.genuine))
    for name, counted in rows:
        table.add_row(name, str(counted.calls), *_shares(counted))
    return table


def _shares(counted: GenuineCount) -> tuple[str, str]:
    return f"{counted.blocked} ({counted.block_rate:.1%})", f"{counted.flagged} ({counted.flag_rate:.1%})"


def _agent(report: DemoReport) -> str:
    faulty, blocked, flagged, missed = (
        sum(getattr(fault, name) for fault in report.faults) for name in ("occurrences", "blocked", "flagged", "missed")
    )
    words = (
        f"Of {faulty} faulty answers the agent refused {blocked} and asked again, used {flagged} with a warning and "
        f"believed {missed}."
    )
    if report.abandoned_steps:
        words += f" {report.abandoned_steps} calls were given up after {MAX_RETRIES} retries."
    return words


def run_demo(
    console: Console,
    *,
    calls: int = 600,
    seed: int = 7,
    as_json: bool = False,
    engine: Guard | None = None,
    delay_scale: float = 1.0,
) -> DemoReport:
    """Let a scripted agent work with real tools, damage some of the answers, and count the guard's verdicts on them.

    Calls, answers and faults follow from the seed; times are measured. However the run ends, the service and the
    database are closed and the counts so far are printed.

    Args:
        console: to print on.
        calls: number of planned calls, 1 or more; the first fifth of them is without faults.
        seed: of everything but times.
        as_json: print the report as JSON and nothing else.
        engine: the guard; None: a new ``VerificationEngine`` with default settings.
        delay_scale: factor on the HTTP service's delays, >= 0.

    Raises:
        ConfigurationError: if ``calls`` is below 1 or ``delay_scale`` negative.
    """
    if calls < 1:
        raise ConfigurationError(f"calls must be at least 1, not {calls}")
    if delay_scale < 0:
        raise ConfigurationError(f"delay_scale must be at least 0, not {delay_scale}")
    guard: Guard = VerificationEngine() if engine is None else engine
    for name, fields in PROFILES.items():
        guard.register_tool_profile(name, **fields)
    plan = plan_calls(calls, seed)
    warm_up = int(WARM_UP_SHARE * calls)
    faults = place_faults(rehearse(plan, seed), warm_up, seed)
    if not as_json:
        show_opening(console, calls, warm_up, len(faults))

    events: list[Event] = []
    complete = False
    start = perf_counter()
    try:
        with Toolbox(seed, delay_scale=delay_scale) as toolbox, _progress(console, hidden=as_json) as progress:
            bar = progress.add_task("calls", total=calls)
            for event in run_agent(plan, faults, toolbox, guard, seed):
                events.append(event)
                progress.update(bar, completed=event.step + 1)
                if event.caught and not as_json:
                    console.print(line(event), soft_wrap=True)
        complete = True
    finally:
        report = count(
            events,
            seed=seed,
            planned_calls=calls,
            warm_up_calls=warm_up,
            complete=complete,
            elapsed_s=perf_counter() - start,
        )
        if as_json:
            console.print(json.dumps(report.as_dict(), indent=2), soft_wrap=True, markup=False, highlight=False)
        else:
            console.print(closing(report))
    return report


@contextmanager
def _progress(console: Console, *, hidden: bool) -> Iterator[Progress]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, transient=True, disable=hidden)
    with nullcontext() if hidden else bar:  # rich before 14 ends a hidden bar with an empty line
        yield bar
