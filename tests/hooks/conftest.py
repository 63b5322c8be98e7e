"""An installation of the hooks in a folder of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from installed_hooks import Installed, Installing

from agentguard.hooks import HookSettings, install, place_of
from agentguard.hooks._installation import commands_in
from agentguard.hooks._running import end_helper


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[Installing]:
    """Install the hooks, with these settings; their helper ends with the test."""
    places = []

    def installing(agent: Any = "claude", **settings: Any) -> Installed:
        place = place_of(agent, tmp_path / "project", tmp_path / "state", user=False)
        places.append(place)
        install(place, HookSettings(agent=agent, store=str(tmp_path / "store"), **settings))
        return Installed(place, commands_in(place))

    yield installing
    for place in places:
        assert end_helper(place.folder)
