"""State of tools in a store: documents, counts and events; and how it is forgotten.

========== =============================================================== ===========================
what       named                                                           written by
========== =============================================================== ===========================
documents  ``MODE:TOOL``; ``MODE`` for what all tools have in common;      ``_persistence``
           ``damaged:…`` for what could not be read
counts     the tool                                                        ``_census``
events     ``feedback`` (labels, and resets of tools) and ``audit``        ``_persistence``, ``_audit``
========== =============================================================== ===========================

Everything is read a few tools at a time: a store of any size is looked through in constant memory per tool.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from agentguard.errors import DataError
from agentguard.stores import Counts, Document, Store
from agentguard.verification._audit import AUDIT
from agentguard.verification._census import field
from agentguard.verification._persistence import FEEDBACK, document_name, sayable

MODES: Final = ("calibrated", "reference")
DAMAGED: Final = "damaged:"
AT_ONCE: Final = 20  # tools, of which documents or counts are held at one time
NEAREST: Final = 3  # names that are proposed for one that is unknown
_CALLS, _ERRORS = field("calls"), field("errors")


class Place(NamedTuple):
    """The mode and the tool of a document, the tool's name as written in the store; no tool: of all together."""

    mode: str
    tool: str | None


def place_of(name: str) -> Place | None:
    """The mode and the tool that a document's name stands for; None where it is none of a tool's or of all tools.

    >>> place_of("calibrated:search:web"), place_of("reference"), place_of("damaged:calibrated")
    (Place(mode='calibrated', tool='search:web'), Place(mode='reference', tool=None), None)
    """
    mode, colon, tool = name.partition(":")
    if mode not in MODES:
        return None
    return Place(mode, tool if colon else None)


def batches(names: Iterable[str]) -> Iterator[list[str]]:
    """The names, twenty at a time."""
    batch: list[str] = []
    for name in names:
        batch.append(name)
        if len(batch) == AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


class Calls(NamedTuple):
    """The calls counted of a tool and those with an error, in all and by hour since the epoch."""

    calls: int = 0
    errors: int = 0
    hours: Mapping[int, tuple[int, int]] = {}


class LabelTally(NamedTuple):
    """Labels of a tool since they were last reset, as reviewers gave them (not weighed)."""

    fabricated: int = 0
    genuine: int = 0


def documents_of(store: Store, tool: str) -> dict[str, Document]:
    """A tool's documents by mode."""
    named = {document_name(mode, tool): mode for mode in MODES}
    return {named[name]: document for name, document in store.load(list(named)).items()}


def counts_of(store: Store, tools: Iterable[str]) -> Iterator[tuple[str, dict[int, Mapping[str, int]]]]:
    """The counts of each tool by hour: of these tools, then of all others met lately.

    A tool that nothing else is known of is met where it was counted in the latest hour of all.
    """
    latest, asked = 0, {sayable(tool) for tool in tools}
    for batch in batches(sorted(asked)):
        counts = _by_tool(store.counts(batch))
        for tool in batch:
            if tool in counts:
                latest = max(latest, *counts[tool])
                yield tool, counts[tool]
    others = {tool for hour in store.counts(since=latest).values() for tool in hour} - asked
    for batch in batches(sorted(others)):
        yield from _by_tool(store.counts(batch)).items()


def _by_tool(hours: Mapping[int, Counts]) -> dict[str, dict[int, Mapping[str, int]]]:
    """Counts by tool, then hour, of those by hour and tool."""
    by_tool: dict[str, dict[int, Mapping[str, int]]] = {}
    for hour, counts in hours.items():
        for tool, fields in counts.items():
            by_tool.setdefault(tool, {})[hour] = fields
    return by_tool


def calls_in(hours: Mapping[int, Mapping[str, int]]) -> Calls:
    """The calls in a tool's counts by hour."""
    by_hour = {hour: (fields.get(_CALLS, 0), fields.get(_ERRORS, 0)) for hour, fields in sorted(hours.items())}
    return Calls(sum(calls for calls, _ in by_hour.values()), sum(errors for _, errors in by_hour.values()), by_hour)


def labels_in(store: Store) -> tuple[dict[str, LabelTally], int]:
    """The labels of each tool since they were last reset, and how many events are neither a label nor a reset."""
    tallies: dict[str, LabelTally] = {}
    unreadable = 0
    for record in store.events(FEEDBACK):
        event = record.event
        tool, label = event.get("tool"), event.get("was_hallucination")
        if isinstance(event.get("reset"), str):
            if event.get("labels"):
                tallies.pop(sayable(event["reset"]), None)
        elif isinstance(tool, str) and isinstance(label, bool):
            before = tallies.get(sayable(tool), LabelTally())
            tallies[sayable(tool)] = LabelTally(before.fabricated + label, before.genuine + (not label))
        else:
            unreadable += 1
    return tallies, unreadable


def labels_of(store: Store, tool: str) -> LabelTally:
    """A tool's labels since they were last reset."""
    return labels_in(store)[0].get(sayable(tool), LabelTally())


def calls_of(store: Store, tool: str) -> Calls:
    """The calls counted of a tool."""
    name = sayable(tool)
    return calls_in({hour: counts[name] for hour, counts in store.counts([name]).items()})


def met_tools(store: Store) -> set[str]:
    """The names of all tools of which a store holds anything besides counts."""
    documents = map(place_of, store.names())
    learned = {document.tool for document in documents if document is not None and document.tool is not None}
    tools = (record.event.get("tool") for record in store.events(AUDIT))
    audited = {sayable(tool) for tool in tools if isinstance(tool, str)}
    return learned | labels_in(store)[0].keys() | audited


def require(store: Store, tools: Sequence[str]) -> None:
    """Check that the store holds something of each of these tools.

    Raises:
        DataError: for a tool of which there is nothing, with the names that are nearest to its.
    """
    known: set[str] | None = None
    for tool in tools:
        if documents_of(store, tool) or store.counts([sayable(tool)]):
            continue
        if known is None:
            met = met_tools(store)
            known = met | {name for name, _ in counts_of(store, met)}
        if sayable(tool) not in known:
            near = difflib.get_close_matches(sayable(tool), sorted(known), n=NEAREST)
            hint = f"near it: {', '.join(map(repr, near))}" if near else f"it knows {len(known):,} tools"
            raise DataError(f"the store holds nothing of a tool named {tool!r}; {hint}")


class Reset(NamedTuple):
    """The documents, the calls in counts and the labels that were forgotten of a tool (0 where they were kept)."""

    tool: str
    documents: int
    calls: int
    labels: int


def reset(store: Store, tool: str, *, labels: bool = False) -> Reset:
    """Forget what was learned of a tool, in every mode. Engines on the store drop it at their next flush.

    Audit records stay: they are what happened. So do labels, unless they are to be forgotten too.

    Raises:
        DataError: where the store holds nothing of the tool.
        StoreError: where it cannot be written.
    """
    require(store, [tool])
    documents = documents_of(store, tool)
    written = [str(document["tool"]) for document in documents.values() if isinstance(document.get("tool"), str)]
    tool = written[0] if written else tool  # as the engine knows it, where the name had to be written otherwise
    calls = calls_of(store, tool).calls
    forgotten = labels_of(store, tool) if labels else ()
    _forget(store, tool)
    store.append(FEEDBACK, {"reset": tool, "labels": labels})
    _forget(store, tool)  # an engine that had not yet read of the reset may have saved the tool again
    return Reset(tool, len(documents), calls, sum(forgotten))


def _forget(store: Store, tool: str) -> None:
    own = [damaged + document_name(mode, tool) for mode in MODES for damaged in ("", DAMAGED)]
    counted = sayable(tool)
    # Counts are forgotten by the tool's name, and with them a document of that name: of a tool named "calibrated"
    # that would be what all tools have in common.
    namesakes = {} if counted in own else store.load([counted])
    store.forget([*own, counted])
    if namesakes:
        store.save(namesakes)
