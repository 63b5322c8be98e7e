"""The demo's own time: one planned call is one minute of a working day, so that every run sees the same day."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

__all__ = ["stamp"]

_START = datetime(2025, 3, 3, 8, 0, tzinfo=timezone.utc)


def stamp(minute: int) -> str:
    """The time at a minute of the day (negative: before it began), as ISO 8601 in UTC.

    >>> stamp(90), stamp(-1)
    ('2025-03-03T09:30:00Z', '2025-03-03T07:59:00Z')
    """
    return (_START + timedelta(minutes=minute)).strftime("%Y-%m-%dT%H:%M:%SZ")
