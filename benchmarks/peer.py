"""The peer, awesome-agentguard 0.2.0, in an environment and a process of its own.

Both projects own the import name ``agentguard``, so they cannot share an environment. The peer's is made once, under
``.benchmarks/``, which git ignores.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from workload import PROFILE, TOOL, Call

__all__ = ["Peer", "PeerMissingError", "peer_python"]

REQUIREMENT = "awesome-agentguard==0.2.0"
HOME = Path(__file__).resolve().parents[1] / ".benchmarks" / "peer-0.2.0"
WORKER = Path(__file__).with_name("peer_worker.py")
INSTALL_SECONDS = 600


class PeerMissingError(Exception):
    """The peer could not be installed or started; says why."""


class Peer:
    """A running peer engine with the workload's profile; a context manager.

    Raises:
        PeerMissingError: where its environment cannot be made or its process ends.
    """

    def __init__(self) -> None:
        # -I: neither PYTHONPATH nor the working folder may put our own `agentguard` before the peer's.
        self._process = subprocess.Popen(
            [str(peer_python()), "-I", str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.verdicts: Counter[str] = Counter()
        self.version: str = self._ask({"tool": TOOL, "profile": PROFILE})["version"]

    def judge(self, calls: Sequence[Call]) -> list[float]:
        """Judge the calls in order; the seconds that each took inside the peer."""
        answer = self._ask({"calls": calls})
        self.verdicts.update(answer["verdicts"])
        return [nanoseconds / 1e9 for nanoseconds in answer["ns"]]

    def _ask(self, order: dict[str, Any]) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(json.dumps(order) + "\n")
            stdin.flush()
            answer: dict[str, Any] = json.loads(stdout.readline())
        except (OSError, ValueError) as error:
            self.close()
            raise PeerMissingError(f"the peer's process ended with code {self._process.returncode}") from error
        return answer

    def close(self) -> None:
        """End the process: it returns at the end of its standard input, and is waited for."""
        self._process.communicate()

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def peer_python() -> Path:
    """The Python of the peer's environment, which is made if it is not there."""
    python = HOME / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    # Written last: an installation that was interrupted is made anew.
    complete = HOME / "complete"
    if complete.is_file() and python.exists():
        return python
    print(f"installing {REQUIREMENT} into {HOME.parent.name}/{HOME.name}", file=sys.stderr)
    try:
        venv.create(HOME, clear=True, with_pip=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", REQUIREMENT]
        subprocess.run(command, check=True, timeout=INSTALL_SECONDS, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    except (OSError, subprocess.SubprocessError) as error:
        raise PeerMissingError(f"{REQUIREMENT} could not be installed: {type(error).__name__}") from error
    complete.write_text(REQUIREMENT + "\n")
    return python
