"""The protocol of run records, their encoding as JSON, and runs that died without a word."""

from __future__ import annotations

import json
import math
import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, Literal, Protocol, get_args

from agentguard.errors import DataError, StoreError
from agentguard.gate._types import Decision

RunStatus = Literal["running", "finished", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class Event:
    """One step of a run's audit trail.

    Attributes:
        kind: ``started``, ``stage`` (a stage has written), ``resumed``, ``finished``, ``failed`` or ``interrupted``.
        at: Seconds since the epoch.
        body: A JSON object: of a stage its ``name`` and what it ``wrote``, by key.
    """

    kind: str
    at: float
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One line of the gate's history.

    Attributes:
        run_id: Names the run; sorts by the time of its beginning.
        status: ``running`` until it ends; ``interrupted`` where it was found to have died.
        started, ended: Seconds since the epoch; ``ended`` is None until it ends.
        use_case: The configuration's.
        config_digest, prompts_digest, evidence_digest: Hexadecimal; equal digests, equal things. The latter two are
            empty until the run has got so far.
        prompt_sets: Given prompt sets with their versions: ``returns 3, shipping``; empty where prompts were written.
        target, judge: Names of the model under test and of what judges it.
        process: ``host:pid`` of who runs it.
        decision, risk: None until it is finished. Likewise the counts of claims.
        error: Why it failed; empty if it did not.
    """

    run_id: str
    status: RunStatus
    started: float
    use_case: str
    config_digest: str
    target: str
    judge: str
    process: str
    ended: float | None = None
    prompts_digest: str = ""
    evidence_digest: str = ""
    decision: Decision | None = None
    risk: float | None = None
    total_claims: int | None = None
    supported: int | None = None
    weakly_supported: int | None = None
    unsupported: int | None = None
    error: str = ""
    prompt_sets: str = ""


class RunRecords(Protocol):
    """The audit trail and the history of runs. What a method has written is on disk, or acknowledged, when it returns.

    Every method raises ``StoreError`` where the records cannot be written or read.
    """

    def append(self, run_id: str, event: Event) -> None:
        """Add an event to a run's trail."""

    def events(self, run_id: str) -> list[Event]:
        """A run's trail in the order of writing; empty for a run that nobody knows."""

    def save(self, summary: RunSummary) -> None:
        """Write a run's summary, in place of the one before."""

    def summary(self, run_id: str) -> RunSummary | None:
        """A run's summary; None for a run that nobody knows."""

    def runs(self, limit: int = 100, *, use_case: str | None = None) -> list[RunSummary]:
        """Summaries, the newest run first; of one use case only, where it is given."""

    def close(self) -> None:
        """Close files and connections; may be called twice."""


# --- Encoding as JSON ---

DEEPEST: Final = 200

_FIELDS: Final = {field.name for field in fields(RunSummary)}
_NEEDED: Final = {field.name for field in fields(RunSummary) if field.default is MISSING}
_NUMBERS: Final = ("started", "ended", "risk")


def encode_body(event: Event) -> str:
    r"""The body of an event as JSON in plain ASCII, so that half of a surrogate pair survives in it too.

    Both halves, one behind the other, come back as the character that they are, as from any JSON.

    Raises:
        DataError: If it is no JSON object, or the event's time or kind are none.

    >>> encode_body(Event("failed", 1.0, {"error": "half: \ud83d"}))
    '{"error":"half: \\ud83d"}'
    """
    if not isinstance(event.kind, str) or not _is_finite(event.at):
        raise DataError("an event has a kind, which is text, and a time, which is a finite number of seconds")
    what = f"the body of the event {event.kind!r}"
    if not isinstance(event.body, Mapping):
        raise DataError(f"{what} must be a JSON object (a dict), not {type(event.body).__name__}")
    body = dict(event.body)
    _check_keys_and_depth(what, body)
    try:
        return json.dumps(body, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"{what} cannot be kept as JSON: {error}") from None


def decode_body(text: str) -> dict[str, Any]:
    """The body that ``encode_body`` gave.

    Raises:
        StoreError: If it did not.
    """
    value = _read("an event", text)
    if not isinstance(value, dict):
        raise StoreError("the records are damaged: the body of an event is no JSON object")
    return value


def encode_summary(summary: RunSummary) -> str:
    """A summary as a JSON object in plain ASCII.

    Raises:
        DataError: If one of its numbers is not finite, or a field is no JSON.
    """
    try:
        return json.dumps(asdict(summary), allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise DataError(f"the summary of run {summary.run_id!r} cannot be kept as JSON: {error}") from None


def decode_summary(text: str) -> RunSummary:
    """The summary that ``encode_summary`` gave; fields that only a later version knows are left out.

    Raises:
        StoreError: If it did not.
    """
    value = _read("a summary", text)
    if (
        not isinstance(value, dict)
        or not value.keys() >= _NEEDED
        or value["status"] not in get_args(RunStatus)
        or not all(value.get(name) is None or _is_finite(value[name]) for name in _NUMBERS)
    ):
        raise StoreError("the records are damaged: what should be the summary of a run is none")
    return RunSummary(**{name: found for name, found in value.items() if name in _FIELDS})


def _read(what: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"the records are damaged: {what} is no JSON ({error})") from None


def _check_keys_and_depth(what: str, value: object) -> None:
    level: list[object] = [value]
    for _ in range(DEEPEST):
        containers = [item for item in level if isinstance(item, dict | list | tuple)]
        if not containers:
            return
        if not all(isinstance(key, str) for item in containers if isinstance(item, dict) for key in item):
            raise DataError(f"{what} cannot be kept as JSON: a key is no text")
        level = [child for item in containers for child in (item.values() if isinstance(item, dict) else item)]
    raise DataError(f"{what} cannot be kept as JSON: it is nested more than {DEEPEST} deep, or within itself")


def _is_finite(number: object) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)


# --- Processes ---


def this_process() -> str:
    """``host:pid:started``, by which this process is told from every other; without ``started`` where nobody knows.

    ``started`` is the start of the process in ticks since the machine's, as Linux has it in ``/proc``: a number of a
    process is given again, but not at the same time.
    """
    state = _state(os.getpid())
    return f"{socket.gethostname()}:{os.getpid()}" + ("" if state is None else f":{state[1]}")


def has_ended(process: str) -> bool:
    """Whether a process of this machine is no longer there.

    Args:
        process: ``host:pid`` or ``host:pid:started``.

    Returns:
        False for one of another machine, and wherever it cannot be told.

    >>> has_ended(this_process()), has_ended("elsewhere:1")
    (False, False)
    """
    host, *numbers = process.split(":")
    if host != socket.gethostname() or not 1 <= len(numbers) <= 2 or not all(map(_is_number, numbers)):
        return False
    pid = int(numbers[0])
    if os.name != "posix" or not 0 < pid < 1 << 31:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # another user's
        pass
    state = _state(pid)
    if state is None:
        return False
    code, started = state
    return code in ("Z", "X") or (len(numbers) == 2 and started != numbers[1])


def _state(pid: int) -> tuple[str, str] | None:
    """The one-letter state of a process, and when it started."""
    try:
        line = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The second field is the program's name, which may hold anything, in parentheses; the third is the state.
    rest = line.rpartition(")")[2].split()
    return (rest[0], rest[19]) if len(rest) > 19 else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


# --- Interrupted runs ---


def mark_interrupted(
    records: RunRecords,
    *,
    limit: int = 1000,
    ended: Callable[[str], bool] = has_ended,
    clock: Callable[[], float] = time.time,
) -> list[RunSummary]:
    """Mark runs as interrupted that are recorded as running and whose process has ended.

    Args:
        records: Of all runs.
        limit: How many of the newest runs are looked at.
        ended: Tells of a process whether it has ended; that of another machine has not, as far as is known here.
        clock: Seconds since the epoch.

    Returns:
        the summaries of these runs, as they are now; each can be resumed.

    Raises:
        StoreError: If the records cannot be read or written.
    """
    marked = []
    for listed in records.runs(limit):
        if listed.status != "running" or not ended(listed.process):
            continue
        # It may have finished, or been resumed by another, between the reading and the look at its process.
        summary = records.summary(listed.run_id)
        if summary is None or summary.status != "running" or summary.process != listed.process:
            continue
        now = clock()
        error = f"its process {summary.process} ended before the run did"
        records.append(summary.run_id, Event("interrupted", now, {"error": error}))
        interrupted = replace(summary, status="interrupted", ended=now, error=error)
        records.save(interrupted)
        marked.append(interrupted)
    return marked
