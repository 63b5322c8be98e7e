"""Lines by the number: as many as hold so many calls, or as fit into one message to a worker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..read import Line, parse
from ..row import TraceRow

__all__ = ["BATCH_BYTES", "BATCH_LINES", "batches", "first_calls"]

BATCH_LINES = 512
BATCH_BYTES = 2**20


def first_calls(lines: Iterable[Line], limit: int) -> Iterator[Line]:
    """The lines as far as the one with call number ``limit``; nothing is read beyond."""
    left = limit
    for line in lines:
        yield line
        left -= isinstance(next(parse((line,))), TraceRow)
        if not left:
            return


def batches(lines: Iterable[Line], most: int = BATCH_LINES, most_bytes: int = BATCH_BYTES) -> Iterator[list[Line]]:
    """The lines, by so many or so many bytes at a time."""
    batch: list[Line] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line[2])
        if len(batch) >= most or size >= most_bytes:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
