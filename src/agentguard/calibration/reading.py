"""Labels gathered from a file or from the feedback that a store keeps."""

from __future__ import annotations

import io
import sys
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from agentguard._line_files import DAMAGED_SAID, Damaged, lines_of, unpacked
from agentguard.errors import DataError
from agentguard.stores import Store

from .labels import BrokenLabel, Label, parse_label, read_label

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["MAX_LABELS", "MAX_LINE_BYTES", "STDIN", "Labels", "gather", "labels_in_file", "labels_in_store"]

FEEDBACK = "feedback"
STDIN = "-"
MAX_LINE_BYTES = 2**20
"""A longer line is a broken line."""

MAX_LABELS = 200_000
"""The newest that are kept."""

_NAMED = 20


class Labels(NamedTuple):
    """What was read.

    Attributes:
        labels: one for each reviewed call, oldest first; of a call reviewed more than once the last word.
        corrected: labels that a later one of the same call stands in the place of.
        left_out: the oldest ones, beyond the newest 200,000.
        broken: how many lines held no label.
        first_broken: the first twenty of them.
        until: the number of the last event, where they are from a store; 0 otherwise.
    """

    labels: tuple[Label, ...]
    corrected: int
    left_out: int
    broken: int
    first_broken: tuple[BrokenLabel, ...]
    until: int = 0


def gather(found: Iterable[Label | BrokenLabel]) -> Labels:
    """Sort labels from what is none, and let the last word on a call stand.

    Two labels are of one call where they name the same tool, ``call_id`` and posterior; without a ``call_id`` every
    label is of a call of its own.

    >>> word = Label("search", 0.4, fabricated=True, call_id="c7")
    >>> gathered = gather([word, word._replace(fabricated=False)])
    >>> [label.fabricated for label in gathered.labels], gathered.corrected
    ([False], 1)
    """
    kept: OrderedDict[Any, Label] = OrderedDict()
    number = corrected = left_out = broken = 0
    first: list[BrokenLabel] = []
    for one in found:
        if isinstance(one, BrokenLabel):
            broken += 1
            if len(first) < _NAMED:
                first.append(one)
            continue
        number += 1
        key = number if one.call_id is None else (one.tool, one.call_id, one.posterior)
        corrected += kept.pop(key, None) is not None
        kept[key] = one
        if len(kept) > MAX_LABELS:
            kept.popitem(last=False)
            left_out += 1
    return Labels(tuple(kept.values()), corrected, left_out, broken, tuple(first))


def labels_in_store(store: Store) -> Labels:
    """The labels among the feedback that a store keeps, each broken one named by its sequence number.

    What was taken back by ``agentguard state reset TOOL --labels`` is left out.

    Raises:
        StoreError: where the store cannot be read.
    """
    taken_back = {  # by tool: the number of the reset that took its earlier labels back
        str(record.event["reset"]): record.sequence
        for record in store.events(FEEDBACK)
        if "reset" in record.event and record.event.get("labels")
    }
    until = 0

    def read() -> Iterator[Label | BrokenLabel]:
        nonlocal until
        for record in store.events(FEEDBACK):
            until = record.sequence
            if "reset" in record.event:
                continue
            if record.sequence <= taken_back.get(str(record.event.get("tool")), 0):
                continue
            try:
                yield parse_label(record.event)
            except DataError as error:
                yield BrokenLabel(FEEDBACK, record.sequence, str(error))

    return gather(read())._replace(until=until)


def labels_in_file(source: str | PathLike[str]) -> Labels:
    """The labels of a file of JSON lines, plain or gzipped; ``"-"`` is standard input.

    Raises:
        DataError: where the file cannot be read.
    """
    name = "stdin" if source == STDIN else str(source).encode("utf-8", "replace").decode()
    try:
        with _opened(source) as stream:
            return gather(_lines(stream, name))
    except DataError:
        raise
    except (OSError, ValueError) as error:
        said = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise DataError(f"cannot read the labels in {name}: {said}") from None


@contextmanager
def _opened(source: str | PathLike[str]) -> Iterator[io.BufferedReader]:
    if source != STDIN:
        with open(source, "rb") as file:
            yield file
        return
    reader = io.BufferedReader(cast("Any", sys.stdin.buffer))
    try:
        yield reader
    finally:
        reader.detach()  # which would close standard input with it


def _lines(stream: io.BufferedReader, name: str) -> Iterator[Label | BrokenLabel]:
    try:
        for number, raw in lines_of(unpacked(stream), name, MAX_LINE_BYTES):
            if raw is None:
                yield BrokenLabel(name, number, f"longer than {MAX_LINE_BYTES:,} bytes")
            else:
                yield read_label(raw, name, number)
    except Damaged as damaged:
        yield BrokenLabel(name, damaged.line, DAMAGED_SAID)
