"""Verdicts in a service's log, and calls in a file of traces: a line of JSON each."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final, cast

from agentguard import _forks as forks
from agentguard.content._findings import Kind
from agentguard.content._results import redacted
from agentguard.telemetry._disclosing import safe_text, warm_up
from agentguard.telemetry._engines import CHANGE, UNREVIEWED, ChangeStates, moment
from agentguard.telemetry._observer import Observation, Observer
from agentguard.verification import VerificationEngine
from agentguard.verification._canonical import serialise
from agentguard.verification._changes import Change
from agentguard.verification.types import Verdict

LOGGER: Final = "agentguard.verdicts"
LEVELS: Final[dict[Verdict, int]] = {"accept": logging.INFO, "flag": logging.WARNING, "block": logging.ERROR}


class LogObserver(Observer):
    """Logs accepted calls as INFO, flagged ones as WARNING, blocked ones as ERROR, changes as WARNING or INFO.

    The message is one JSON object in ASCII: no name, whatever is in it, makes a second line. It holds no arguments and
    no result, and placeholders in the place of personal data and credentials.

    Args:
        logger: gets the messages; None: the logger ``agentguard.verdicts``.
    """

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logging.getLogger(LOGGER) if logger is None else logger
        self._changes = ChangeStates()
        warm_up()

    def __call__(self, observation: Observation, /) -> None:
        """Log a verdict, if its level is enabled."""
        level = LEVELS[observation.result.verdict]
        if self._logger.isEnabledFor(level):
            self._logger.log(level, "%s", line_of(observation))

    def changed(self, change: Change, /) -> None:
        """Log a lasting change's new state."""
        if self._changes.take(change):
            level = logging.WARNING if change.state in UNREVIEWED else logging.INFO
            self._logger.log(level, "%s", change_line(change))

    def watch(self, engine: VerificationEngine, /) -> None:
        """Note the changes that this engine knows already: they are not logged."""
        self._changes.watch(engine)


def change_line(change: Change) -> str:
    """Write a change's state as one line of JSON; ``at`` is its beginning, in UTC by ISO 8601."""
    return json.dumps(
        {
            "event": CHANGE,
            "at": moment(change.since),
            "change": safe_text(change.id),
            "tool": safe_text(change.tool),
            "state": change.state,
            "what": safe_text(change.what),
            "reviewed": change.reviewed,
            **({"why": safe_text(change.why)} if change.why else {}),
        }
    )


def line_of(observation: Observation) -> str:
    """Write a verdict as one line of JSON; times are in milliseconds, ``at`` in UTC by ISO 8601."""
    result, call, _, at = observation
    return json.dumps(
        {
            "event": "agentguard.verdict",
            "at": moment(at),
            "tool": safe_text(result.tool),
            "verdict": result.verdict,
            "posterior": round(result.posterior, 6),
            "prior": round(result.prior, 6),
            "false_block_p": result.false_block_p,
            "tier": result.tier_reached.value,
            "fired": observation.fired,
            "call_id": None if call.call_id is None else safe_text(call.call_id),
            "session_id": None if call.session_id is None else safe_text(call.session_id),
            "execution_ms": call.milliseconds,
            "guard_ms": round(observation.guard_seconds * 1_000, 3),
            "explanation": safe_text(result.explanation),
        }
    )


class CallLog(Observer):
    """Appends each call, with arguments and result, to a file in the trace format: a line of JSON each.

    ``agentguard learn``, ``replay`` and ``report`` read it. The file is made with mode 0600, since it holds what tools
    said; credentials and what a profile redacts are replaced by placeholders. Several processes may write to one file.

    Args:
        path: the file; it is made if there is none.

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
    """Convert a value to plain JSON without credentials."""
    plain = value if isinstance(value, str) else json.loads(serialise(value)[0])
    return redacted(plain, cast("tuple[Kind, ...]", tuple(sorted({"secrets", *also}))))
