"""A log of calls in the trace format: what ``agentguard learn``, ``replay`` and ``report`` read."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any, cast

from agentguard import _forks as forks
from agentguard.content.findings import Kind
from agentguard.content.results import redacted
from agentguard import forks
from agentguard.content._findings import Kind
from agentguard.content._results import redacted
from agentguard.verification.canonical import serialise

from .observation import Observation, Observer

__all__ = ["CallLog"]


class CallLog(Observer):
    """Appends each call, with arguments and result, to a file: a line of JSON each.

    The file is made with mode 0600, since it holds what tools said; credentials are replaced by placeholders, and so is
    what a profile has redacted. Several processes may write to one file.

    Args:
        path: the file; it is made where there is none.

    >>> import tempfile
    >>> from agentguard.telemetry import observe
    >>> from agentguard.verification import VerificationEngine
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     engine = observe(VerificationEngine(), CallLog(f"{folder}/calls.jsonl"))
    ...     _ = engine.verify("add", args={"a": 1, "b": 2}, result=3, execution_time_ms=0.5)
    ...     print(Path(folder, "calls.jsonl").read_text(), end="")
    {"tool": "add", "args": {"a": 1, "b": 2}, "result": 3, "latency_ms": 0.5}
    """

    content = True

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._lock = forks.lock(forks.Rank.LEAF)

    def __call__(self, observation: Observation, /) -> None:
        """Append a call."""
        call, hidden = observation.call, observation.result.redact
        line: dict[str, Any] = {"tool": call.tool, "args": _plain(call.args, ()), "result": _plain(call.result, hidden)}
        line["latency_ms"] = call.milliseconds
        if call.session_id is not None:
            line["session_id"] = call.session_id
        if call.call_id is not None:
            line["call_id"] = call.call_id
        if call.is_error:
            line["is_error"] = True
        raw = json.dumps(line).encode() + b"\n"
        with self._lock:
            file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(file, raw)  # in one piece, so that lines of several processes do not mix
            finally:
                os.close(file)


def _plain(value: Any, also: Collection[str]) -> Any:
    """A value as JSON has it, without credentials."""
    plain = value if isinstance(value, str) else json.loads(serialise(value)[0])
    return redacted(plain, cast("tuple[Kind, ...]", tuple(sorted({"secrets", *also}))))
