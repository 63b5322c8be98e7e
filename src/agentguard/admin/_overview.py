"""The overview of a store: what was learned, counted, labelled and audited of each tool, read a few tools at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, NamedTuple

from agentguard.stores import Document, Store
from agentguard.verification._audit import AUDIT
from agentguard.verification._persistence import sayable
from agentguard.verification._state import (
    DAMAGED,
    Calls,
    LabelTally,
    batches,
    calls_in,
    counts_of,
    labels_in,
    place_of,
)

_RECORDS: Final = {"~ToolMemory": "count", "~Baseline": "calls", "~Pool": "results"}


class Learned(NamedTuple):
    """The size of one mode's document, of a tool or of all tools together."""

    mode: str  # the mode
    results: int | None  # the number of results that it rests on; None where that cannot be read
    size: int  # bytes of JSON


class AuditTally(NamedTuple):
    """The number of audit records of a tool, and the time of the latest, in seconds since the epoch."""

    records: int = 0
    latest: float = 0.0


class ToolOverview(NamedTuple):
    """One tool in the overview of a store."""

    tool: str
    learned: tuple[Learned, ...]
    counted: Calls
    labels: LabelTally
    audit: AuditTally


class Overview(NamedTuple):
    """The contents of a store.

    Attributes:
        tools: by name.
        shared: the documents of all tools together, by mode.
        damaged: names of documents that an engine could not read and put aside.
        others: names of documents that are none of an engine's.
        unreadable: events of the log of feedback that are neither a label nor a reset.
    """

    tools: tuple[ToolOverview, ...]
    shared: tuple[Learned, ...]
    damaged: tuple[str, ...]
    others: tuple[str, ...]
    unreadable: int


def overview(store: Store) -> Overview:
    """Read the overview of a store, tool by tool.

    Raises:
        StoreError: where it cannot be read.

    >>> from agentguard.stores import MemoryStore
    >>> store = MemoryStore()
    >>> _ = store.append("feedback", {"tool": "search", "was_hallucination": True})
    >>> [(line.tool, line.labels.fabricated) for line in overview(store).tools]
    [('search', 1)]
    """
    names = store.names()
    places = [(name, place_of(name)) for name in names]
    learned: dict[str, list[Learned]] = {}
    shared: list[Learned] = []
    for batch in batches(name for name, place in places if place is not None):
        for name, document in store.load(batch).items():
            place = place_of(name)
            if place is not None:
                experience = experience_of(place.mode, document)
                (shared if place.tool is None else learned.setdefault(place.tool, [])).append(experience)
    labels, unreadable = labels_in(store)
    audit = _audit(store)
    counted = {tool: calls_in(hours) for tool, hours in counts_of(store, {*learned, *labels, *audit})}
    tools = tuple(
        ToolOverview(
            tool,
            tuple(sorted(learned.get(tool, ()))),
            counted.get(tool, Calls()),
            labels.get(tool, LabelTally()),
            audit.get(tool, AuditTally()),
        )
        for tool in sorted({*learned, *labels, *audit, *counted})
    )
    damaged = tuple(name for name in names if name.startswith(DAMAGED))
    others = tuple(name for name, place in places if place is None and not name.startswith(DAMAGED))
    return Overview(tools, tuple(shared), damaged, others, unreadable)


def experience_of(mode: str, document: Document) -> Learned:
    """The number of results that a document rests on, without restoring it, and its size."""
    learned = document.get("learned")
    results = None
    if isinstance(learned, Mapping):
        for record, counter in _RECORDS.items():
            body = learned.get(record)
            if isinstance(body, Mapping) and isinstance(body.get(counter), int):
                results = body[counter]
    return Learned(mode, results, len(json.dumps(document, separators=(",", ":"))))


def _audit(store: Store) -> dict[str, AuditTally]:
    tallies: dict[str, AuditTally] = {}
    for record in store.events(AUDIT):
        tool = record.event.get("tool")
        if isinstance(tool, str):
            before = tallies.get(sayable(tool), AuditTally())
            tallies[sayable(tool)] = AuditTally(before.records + 1, max(before.latest, record.at))
    return tallies


def audit_of(store: Store, tool: str) -> AuditTally:
    """The audit records of a tool."""
    return _audit(store).get(sayable(tool), AuditTally())
