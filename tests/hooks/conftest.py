"""An installation of the hooks in a folder of its own, whose command is run as an agent runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from agentguard.hooks import HookSettings, Place, install, place_of
from agentguard.hooks._installation import commands_in
from agentguard.hooks._running import end_helper


class Installed(NamedTuple):
    """Installed hooks."""

    place: Place
    commands: dict[str, str]

    def begin(self, event: str = "PostToolUse") -> subprocess.Popen[bytes]:
        """Start the command of an event, through a shell as an agent does."""
        command = ["/bin/sh", "-c", self.commands[event]]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, payload: bytes | dict[str, Any], event: str | None = None) -> subprocess.CompletedProcess[bytes]:
        """Hand an event to its command."""
        if isinstance(payload, dict):
            event, payload = event or payload["hook_event_name"], json.dumps(payload).encode()
        with self.begin(event or "PostToolUse") as process:
            out, err = process.communicate(payload, timeout=60)
        return subprocess.CompletedProcess(self.commands, process.returncode, out, err)

    def file(self, name: str) -> Path:
        """A file in the installation's folder."""
        return self.place.folder / name


Installing = Callable[..., Installed]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installing]:
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
