"""One run of the demo from the first call to the report."""

from __future__ import annotations

import json
from time import perf_counter

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from agentguard.errors import ConfigurationError
from agentguard.verification import VerificationEngine

from .agent import Event, Guard, run_agent
from .faults import place_faults
from .plan import plan_calls
from .rehearsal import rehearse
from .report import DemoReport, count
from .screen import closing, line, show_opening
from .toolbox import PROFILES, Toolbox

__all__ = ["run_demo"]

WARM_UP_SHARE = 0.2


def run_demo(
    console: Console,
    *,
    calls: int = 600,
    seed: int = 7,
    as_json: bool = False,
    engine: Guard | None = None,
    delay_scale: float = 1.0,
) -> DemoReport:
    """Let a scripted agent work with real tools, injure some of the answers, and count what the guard makes of them.

    Calls, answers and faults follow from the seed; times are measured. However the run ends, the service and the
    database are closed and what was counted so far is printed.

    Args:
        console: where to print.
        calls: planned calls, at least 1; the first fifth of them is without faults.
        seed: of everything but times.
        as_json: print the report as JSON and nothing else.
        engine: the guard to try; None: a new ``VerificationEngine`` with default settings.
        delay_scale: factor on the HTTP service's delays, >= 0.

    Raises:
        ConfigurationError: for ``calls`` below 1 or a negative ``delay_scale``.
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


def _progress(console: Console, *, hidden: bool) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=hidden)
