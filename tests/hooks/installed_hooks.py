"""Installed hooks, whose commands are run as an agent runs them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from agentguard.hooks import Place


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
