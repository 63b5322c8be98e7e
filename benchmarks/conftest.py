"""Prints, after the timings, how each race ended and whether its goal was reached."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from race import Standing

# The modules of this folder import one another by bare name, as scripts do, in pytest's every import mode.
sys.path.insert(0, str(Path(__file__).parent))

STANDINGS = pytest.StashKey["list[Standing]"]()


@pytest.fixture(scope="session")
def standings(request: pytest.FixtureRequest) -> list[Standing]:
    """Where a benchmark leaves the end of its race for the summary."""
    return request.config.stash.setdefault(STANDINGS, [])


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """One line a race; a missed goal is said here and fails nothing."""
    standings = config.stash.get(STANDINGS, [])
    if not standings:
        return
    from speed_tables import speed_lines

    terminalreporter.section("verify beside awesome-agentguard 0.2.0 and the floor (p50 of one run)")
    for line in speed_lines(standings):
        terminalreporter.write_line(line)
