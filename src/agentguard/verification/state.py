"""What lies in a store, tool by tool: an overview, and how a tool is forgotten.

========== =============================================================== =========================
what       named                                                           written by
========== =============================================================== =========================
documents  ``MODE:TOOL``; ``MODE`` for what all tools have in common;      ``persistence``
           ``damaged:…`` for what could not be read
counts     the tool                                                        ``census``
events     ``feedback`` (labels, and resets of tools) and ``audit``        ``persistence``, ``audit``
========== =============================================================== =========================

Everything is read a few tools at a time: a store of any size is looked through in constant memory per tool.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from agentguard.errors import DataError
from agentguard.stores import Counts, Document, Store

from .audit import AUDIT
from .census import field
from .persistence import FEEDBACK, document_name, sayable

__all__ = [
    "DAMAGED", "MODES", "AuditTally", "Calls", "LabelTally", "Learned", "Overview", "Place", "Reset", "ToolOverview",
    "audit_of", "batches", "calls_of", "counts_of", "documents_of", "experience_of", "labels_of", "met_tools",
    "overview", "place_of", "require", "reset", "sayable",
]  # fmt: skip

MODES: Final = ("calibrated", "reference")
DAMAGED: Final = "damaged:"
AT_ONCE: Final = 20  # tools, of which documents or counts are held at one time
NEAREST: Final = 3
_RECORDS: Final = {"~ToolMemory": "count", "~Baseline": "calls", "~Pool": "results"}
_CALLS, _ERRORS = field("calls"), field("errors")


class Place(NamedTuple):
    """What a document is of: a mode, and a tool as its name is written in the store; no tool: of all together."""

    mode: str
    tool: str | None


def place_of(name: str) -> Place | None:
    """What the document of this name is of; None where it is none of a tool's or of all tools.

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


class Learned(NamedTuple):
    """One mode's document of a tool, or (without a tool's name) of all tools together.

    Attributes:
        results: results that it rests on; None where that cannot be read.
        size: bytes of JSON.
    """

    mode: str
    results: int | None
    size: int


class Calls(NamedTuple):
    """What was counted of a tool: calls, and those with an error, in the hours since the epoch that the store keeps."""

    calls: int = 0
    errors: int = 0
    hours: Mapping[int, tuple[int, int]] = {}


class LabelTally(NamedTuple):
    """Labels of a tool since they were last reset, as reviewers gave them (not weighed)."""

    fabricated: int = 0
    genuine: int = 0


class AuditTally(NamedTuple):
    """Records of verdicts on a tool, and when the latest was made, in seconds since the epoch."""

    records: int = 0
    latest: float = 0.0


class ToolOverview(NamedTuple):
    """What a store holds of one tool."""

    tool: str
    learned: tuple[Learned, ...]
    counted: Calls
    labels: LabelTally
    audit: AuditTally


class Overview(NamedTuple):
    """What a store holds.

    Attributes:
        tools: by name.
        shared: what all tools of a mode have in common.
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
    """What a store holds, tool by tool.

    Raises:
        StoreError: where it cannot be read.

    >>> from agentguard.stores import MemoryStore
    >>> store = MemoryStore()
    >>> _ = store.append("feedback", {"tool": "search", "was_hallucination": True})
    >>> [(found.tool, found.labels.fabricated) for found in overview(store).tools]
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
                found = experience_of(place.mode, document)
                (shared if place.tool is None else learned.setdefault(place.tool, [])).append(found)
    labels, unreadable = _labels(store)
    audit = _audit(store)
    counted = {tool: _calls(hours) for tool, hours in counts_of(store, {*learned, *labels, *audit})}
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
    """How much a document rests on, without reading all of it."""
    learned = document.get("learned")
    results = None
    if isinstance(learned, Mapping):
        for record, counter in _RECORDS.items():
            body = learned.get(record)
            if isinstance(body, Mapping) and isinstance(body.get(counter), int):
                results = body[counter]
    return Learned(mode, results, len(json.dumps(document, separators=(",", ":"))))


def documents_of(store: Store, tool: str) -> dict[str, Document]:
    """A tool's documents by mode."""
    named = {document_name(mode, tool): mode for mode in MODES}
    return {named[name]: document for name, document in store.load(list(named)).items()}


def counts_of(store: Store, tools: Iterable[str]) -> Iterator[tuple[str, dict[int, Mapping[str, int]]]]:
    """What was counted of each tool that has counts, by hour: of these tools, then of all others met lately.

    A tool that nothing else is known of is met where it was counted in the latest hour of all.
    """
    latest, asked = 0, {sayable(tool) for tool in tools}
    for batch in batches(sorted(asked)):
        found = _by_tool(store.counts(batch))
        for tool in batch:
            if tool in found:
                latest = max(latest, *found[tool])
                yield tool, found[tool]
    others = {tool for hour in store.counts(since=latest).values() for tool in hour} - asked
    for batch in batches(sorted(others)):
        yield from _by_tool(store.counts(batch)).items()


def _by_tool(hours: Mapping[int, Counts]) -> dict[str, dict[int, Mapping[str, int]]]:
    found: dict[str, dict[int, Mapping[str, int]]] = {}
    for hour, counts in hours.items():
        for tool, fields in counts.items():
            found.setdefault(tool, {})[hour] = fields
    return found


def _calls(hours: Mapping[int, Mapping[str, int]]) -> Calls:
    by_hour = {hour: (fields.get(_CALLS, 0), fields.get(_ERRORS, 0)) for hour, fields in sorted(hours.items())}
    return Calls(sum(calls for calls, _ in by_hour.values()), sum(errors for _, errors in by_hour.values()), by_hour)


def _labels(store: Store) -> tuple[dict[str, LabelTally], int]:
    found: dict[str, LabelTally] = {}
    unreadable = 0
    for record in store.events(FEEDBACK):
        event = record.event
        tool, said = event.get("tool"), event.get("was_hallucination")
        if isinstance(event.get("reset"), str):
            if event.get("labels"):
                found.pop(sayable(event["reset"]), None)
        elif isinstance(tool, str) and isinstance(said, bool):
            before = found.get(sayable(tool), LabelTally())
            found[sayable(tool)] = LabelTally(before.fabricated + said, before.genuine + (not said))
        else:
            unreadable += 1
    return found, unreadable


def _audit(store: Store) -> dict[str, AuditTally]:
    found: dict[str, AuditTally] = {}
    for record in store.events(AUDIT):
        tool = record.event.get("tool")
        if isinstance(tool, str):
            before = found.get(sayable(tool), AuditTally())
            found[sayable(tool)] = AuditTally(before.records + 1, max(before.latest, record.at))
    return found


def labels_of(store: Store, tool: str) -> LabelTally:
    """A tool's labels since they were last reset."""
    return _labels(store)[0].get(sayable(tool), LabelTally())


def audit_of(store: Store, tool: str) -> AuditTally:
    """The audit records of a tool."""
    return _audit(store).get(sayable(tool), AuditTally())


def calls_of(store: Store, tool: str) -> Calls:
    """What was counted of a tool."""
    name = sayable(tool)
    return _calls({hour: counts[name] for hour, counts in store.counts([name]).items()})


def met_tools(store: Store) -> set[str]:
    """The names of all tools of which a store holds anything besides counts."""
    places = map(place_of, store.names())
    learned = {place.tool for place in places if place is not None and place.tool is not None}
    return learned | _labels(store)[0].keys() | _audit(store).keys()


def require(store: Store, tools: Sequence[str]) -> None:
    """Nothing, where the store holds something of each of these tools.

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


# --- How a tool is forgotten, by every engine on a store ---


class Reset(NamedTuple):
    """What was forgotten of a tool: documents, calls in its counts, and labels (0 where they were kept)."""

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
