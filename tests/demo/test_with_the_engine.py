"""What `make demo` shows everybody first: the engine as it ships, on real tools and real times."""

import io

from rich.console import Console

from agentguard.demo import run_demo


def test_the_demo_reaches_its_goal() -> None:
    shown = Console(file=io.StringIO(), width=120)

    report = run_demo(shown)

    counted = {fault.kind: (fault.blocked, fault.flagged, fault.missed) for fault in report.faults}
    assert report.kinds_mostly_caught >= 7, counted
    assert report.genuine.blocked * 100 <= report.genuine.calls
    assert report.goal_reached
