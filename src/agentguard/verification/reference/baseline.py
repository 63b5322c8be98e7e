"""What reference mode remembers of one tool. Every part is bounded; the least recently used entry goes first."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from itertools import islice
from typing import TypeVar

from ..canonical import args_key
from ..document import Document
from ..running import RunningStats
from ..types import ToolCall
from .fields import finite, numeric_fields

__all__ = ["MIN_CALLS", "SIGMAS", "Baseline", "History", "latency_ms"]

MIN_CALLS = 8  # below it, mean and standard deviation are not held against anything
SIGMAS = 3.0

MAX_FIELDS = 200
MAX_SESSIONS = 256
SESSION_RESULTS = 10
MAX_ARGUMENTS = 1_000
MAX_FIELDS_EACH = 64

Key = TypeVar("Key")
Entry = TypeVar("Entry")


class History:
    """The results that one set of arguments has had: their number, and the mean of each numeric field."""

    __slots__ = ("calls", "fields")

    def __init__(self) -> None:
        self.calls = 0
        self.fields: OrderedDict[str, RunningStats] = OrderedDict()

    def push(self, fields: dict[str, float]) -> None:
        """Take in one result's numbers, at most 64 of them."""
        self.calls += 1
        for path, number in islice(fields.items(), MAX_FIELDS_EACH):
            _use(self.fields, path, MAX_FIELDS_EACH, _means_only).push(number)


class Baseline:
    """One tool's past: how long its calls took, how large its results were, and what numbers stood in them.

    Attributes:
        calls: results learned.
        latency: execution times in milliseconds, of the calls whose time is known.
        size: lengths of the results in bytes of compact JSON.
        fields: the numbers at each path, for at most 200 paths.
    """

    __slots__ = ("_histories", "_sessions", "calls", "fields", "latency", "size")

    def __init__(self) -> None:
        self.calls = 0
        self.latency = RunningStats()
        self.size = RunningStats()
        self.fields: OrderedDict[str, RunningStats] = OrderedDict()
        self._sessions: OrderedDict[bytes, deque[dict[str, float]]] = OrderedDict()
        self._histories: OrderedDict[bytes, History] = OrderedDict()

    def push(self, call: ToolCall, document: Document, arguments: bytes) -> None:
        """Learn one result; ``arguments`` is the key of the call's arguments (``Arguments.key``)."""
        self.calls += 1
        elapsed = latency_ms(call)
        if elapsed is not None:
            self.latency.push(elapsed)
        self.size.push(float(document.size))
        numbers = numeric_fields(document)
        for path, number in numbers.items():
            _use(self.fields, path, MAX_FIELDS, RunningStats).push(number)
        if call.session_id is not None:
            results = _use(self._sessions, args_key(call.session_id), MAX_SESSIONS, _last_results)
            results.append(dict(islice(numbers.items(), MAX_FIELDS_EACH)))
        if call.args is not None:
            _use(self._histories, arguments, MAX_ARGUMENTS, History).push(numbers)

    def session(self, session_id: str) -> tuple[dict[str, float], ...]:
        """The numbers of this tool's last 10 results in a session, oldest first, at most 64 of each result."""
        return tuple(self._sessions.get(args_key(session_id), ()))

    def history(self, arguments: bytes) -> History | None:
        """What the arguments with this key gave before; None where they are new."""
        return self._histories.get(arguments)

    def frequency(self, path: str) -> float:
        """The share of results, in [0, 1], that had a number at this path."""
        stats = self.fields.get(path)
        return stats.n / self.calls if stats is not None else 0.0


def latency_ms(call: ToolCall) -> float | None:
    """The call's execution time, or None where it is unknown or cannot be a time (negative, not a number)."""
    return finite(call.milliseconds)


def _use(entries: OrderedDict[Key, Entry], key: Key, limit: int, new: Callable[[], Entry]) -> Entry:
    """The entry of a key, now the most recently used of at most ``limit``; made where there is none."""
    if key in entries:
        entries.move_to_end(key)
    else:
        if len(entries) >= limit:
            entries.popitem(last=False)
        entries[key] = new()
    return entries[key]


def _means_only() -> RunningStats:
    return RunningStats(keep=0)


def _last_results() -> deque[dict[str, float]]:
    return deque(maxlen=SESSION_RESULTS)
