"""The record: how many results of an installation got which verdict, and the last ones that were not accepted.

It holds no content: of a call its tool, its ids, its verdict and what speaks against it.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from agentguard.hooks._settings import write_whole

RECORD: Final = "record.json"
LAST: Final = 50  # calls that are listed
OUTCOMES: Final = ("accept", "flag", "block", "unjudged")


class Suspect(NamedTuple):
    """A call whose result was flagged or blocked."""

    at: float
    session: str
    tool: str
    call_id: str | None
    verdict: str
    posterior: float
    hazard: str


class Recorded(NamedTuple):
    """A record as it stands on disk.

    Attributes:
        counts: results by outcome; ``unjudged`` are those on which the guard failed.
        last: the last suspects, the oldest first.
        trouble: what keeps the helper from judging; "" where nothing does.
    """

    counts: dict[str, int]
    last: Sequence[Suspect] = ()
    trouble: str = ""


class Record:
    """Counts and suspects of one installation, taken up from its folder and written back there."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / RECORD
        known = read_record(folder)
        self._counts = dict(known.counts)
        self._last: deque[Suspect] = deque(known.last, maxlen=LAST)
        self._trouble = ""
        self._saved = True

    def count(self, outcome: str) -> None:
        """Count a result."""
        self._counts[outcome] += 1
        self._saved = False

    def suspect(self, suspect: Suspect) -> None:
        """List a suspect."""
        self._last.append(suspect)
        self._saved = False

    def trouble(self, message: str) -> None:
        """Note what keeps the helper from judging."""
        self._trouble = message
        self._saved = False

    def save(self) -> None:
        """Write what was noted since it was last written.

        Raises:
            OSError: where it cannot be written.
        """
        if self._saved:
            return
        fields = {"counts": self._counts, "last": [each._asdict() for each in self._last], "trouble": self._trouble}
        write_whole(self._path, json.dumps(fields).encode(), 0o600)
        self._saved = True


def read_record(folder: Path) -> Recorded:
    """Read the record of an installation; an empty one where there is none that can be read."""
    empty = dict.fromkeys(OUTCOMES, 0)
    try:
        fields: dict[str, Any] = json.loads((folder / RECORD).read_bytes())
        counts = {name: int(fields["counts"].get(name, 0)) for name in OUTCOMES}
        last = tuple(Suspect(**each) for each in fields["last"])
        return Recorded(counts, last, str(fields["trouble"]))
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        return Recorded(empty)
