"""What lies in a store, tool by tool: an overview, what was learned in figures, and how a tool is forgotten.

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
from math import ceil, exp, expm1
from typing import Any, Final, NamedTuple

from agentguard.errors import DataError, StoreError
from agentguard.stores import Counts, Document, Store
from agentguard.stores.base import Record
from agentguard.stores.encoding import encode

from .audit import AUDIT, MOST_NATS
from .baseline import ToolMemory
from .census import MAX_COUNT, field
from .changes import CHANGES, read_change_event
from .incidents import Incidents
from .persistence import FEEDBACK, VERSION, document_name, label_of, learned_in, sayable
from .pool import Pool
from .reference import Baseline
from .registry import Registry, Remembered, ToolState
from .snapshot import check_record, restore, restore_incidents
from .statistics import Ring
from .types import Settings

__all__ = [
    "DAMAGED", "MODES", "AuditTally", "Calls", "FieldShare", "Kind", "LabelTally", "Learned", "Overview", "Place",
    "Portrait", "RelationShare", "Reset", "Signal", "ToolOverview", "audit_of", "batches", "calls_of", "check_document",
    "check_event", "counts_of", "documents_of", "experience_of", "feedback_of", "labels_of", "met_tools", "overview",
    "place_of", "portrait", "require", "reset", "restored", "sayable",
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


# --- Whether documents and events from a file are what an engine can go on from, down to their types ---


_VERDICTS: Final = ("accept", "flag", "block")


def restored(place: Place, document: Document) -> Any:
    """The record in a document, anew.

    Raises:
        DataError: where the document is not of that place, is damaged, or another version's.
    """
    learned = learned_in(document)
    record: Any
    if place.mode == "reference":
        if place.tool is None:
            raise DataError("reference mode learns nothing of all tools together")
        record = Baseline()
    else:
        record = Pool() if place.tool is None else ToolMemory(place.tool, Pool())
    restore(record, learned, check_record)
    return record


def check_document(name: str, document: Any) -> None:
    """A document as an engine restores it.

    Raises:
        DataError: saying what is wrong with it.
    """
    place = place_of(name)
    if place is None or not isinstance(document, Mapping):
        raise DataError(f"{name[:100]!r} is no document of an engine")
    version = document.get("version")
    if type(version) is int and version > VERSION:
        raise DataError(f"{name!r} has version {version}, this agentguard knows versions up to {VERSION}: upgrade it")
    tool = document.get("tool")
    if place.tool is not None and (not isinstance(tool, str) or document_name(place.mode, tool) != name):
        raise DataError(f"{name!r} is not named by the tool that it is of")
    try:
        restored(place, document)
        if document.get("incidents") is not None:
            restore_incidents(Incidents(), document["incidents"])
    except DataError as error:
        raise DataError(f"{name!r} cannot be used: {error}") from None
    _check_storable(f"the document {name!r}", document)


def check_event(kind: str, event: Any) -> None:
    """A label, an audit record or an event of a change, as the engine reads it on.

    Raises:
        DataError: naming the field that is wrong.
    """
    if not isinstance(event, Mapping):
        raise DataError("the content of an event must be an object")
    if kind == CHANGES:
        if read_change_event(Record(0, 0.0, event)) is None:
            raise DataError(f"the content of an event of kind {kind} cannot be used")
        if event.get("reviews", 0) > MAX_COUNT:
            raise DataError(f"the field 'reviews' of an event of kind {kind} cannot be used")
        _check_storable("an event", event)
        return
    fired, said, nats = event.get("fired", ()), event.get("said"), event.get("nats")
    traits, shares = event.get("traits"), ("posterior", "confidence_score", "false_block_p", "prior", "propensity")
    usable = {
        "tool": isinstance(event.get("tool"), str),
        **{
            name: event.get(name) is None or isinstance(event[name], str)
            for name in ("call_id", "session_id", "change")
        },
        "fired": isinstance(fired, list | tuple) and all(isinstance(name, str) for name in fired),
        "nats": nats is None or (isinstance(nats, Mapping) and all(map(_is_evidence, nats.values()))),
        "said": said is None or (isinstance(said, Mapping) and all(isinstance(word, str) for word in said.values())),
        "traits": traits is None or (isinstance(traits, list | tuple) and all(isinstance(one, str) for one in traits)),
        **{name: event.get(name) is None or _is_share(event[name]) for name in shares},
    }
    if kind == FEEDBACK:
        usable["was_hallucination"] = isinstance(event.get("was_hallucination"), bool)
    else:
        for name in ("propensity", "fired", "prior", "nats"):
            usable[name] = usable[name] and event.get(name) is not None
        usable["verdict"] = event.get("verdict") in _VERDICTS
    for name, is_usable in usable.items():
        if not is_usable:
            raise DataError(f"the field {name!r} of an event of kind {kind} cannot be used")
    _check_storable("an event", event)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _is_share(value: Any) -> bool:
    return _is_number(value) and bool(0.0 <= value <= 1.0)


def _is_evidence(value: Any) -> bool:
    return _is_number(value) and bool(-MOST_NATS <= value <= MOST_NATS)


def _check_storable(what: str, value: Any) -> None:
    try:
        encode(what, value)
    except StoreError as error:
        raise DataError(str(error)) from None


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


# --- What was learned of a tool, in figures a person can use ---
#
# Paths, types, shares and times; no argument and no result. Words of text results are content, and are told by their
# number only.

QUANTILES: Final = (0.05, 0.5, 0.95, 0.99)
SURPRISE: Final = 3.0  # nats: p = .05
_TYPES: Final = {float: "number", str: "string", bool: "boolean", type(None): "null"}


class FieldShare(NamedTuple):
    """A path in results of a kind, the type of its values, and the share of the results that have it so."""

    path: str
    type: str
    share: float


class Kind(NamedTuple):
    """Results of one kind.

    Attributes:
        kind: as ``Document`` tells it: object, prose, ….
        results: how many were seen of it.
        sizes: quantiles of their length in bytes, by share; empty where none is known.
        fields: those of objects and lists, most frequent first.
        words: how many distinct words are known of texts.
    """

    kind: str
    results: int
    sizes: Mapping[float, float]
    fields: tuple[FieldShare, ...]
    words: int


class RelationShare(NamedTuple):
    """A relation between arguments and results, or within results: what a call that breaks it would be told.

    Attributes:
        broken: what is said of a call that breaks it.
        held: calls that it held for.
        tried: of so many.
        nats: by how much a call that breaks it is the more suspect; 0 while it says nothing.
    """

    broken: str
    held: int
    tried: int
    nats: float


class Signal(NamedTuple):
    """The past calls by which a signal's p-values are recalibrated: their weight, and that of the surprising ones.

    A call is surprising where the signal's raw p-value was about 0.05 or less.
    """

    name: str
    calls: float
    surprises: float


class Portrait(NamedTuple):
    """What one mode has learned of a tool.

    Attributes:
        mode: the mode.
        results: learned in full.
        errors: the share of them that report an error, lately; None where the mode does not learn it.
        latency_ms: quantiles of the time of calls in milliseconds, by share; empty where none is known.
        argument_sets: distinct sets of arguments that are remembered.
        kinds: of results, the most frequent first.
        relations: that hold in nearly all results, those that say most first.
        signals: by name.
    """

    mode: str
    results: int
    errors: float | None
    latency_ms: Mapping[float, float]
    argument_sets: int
    kinds: tuple[Kind, ...]
    relations: tuple[RelationShare, ...] = ()
    signals: tuple[Signal, ...] = ()


def portrait(mode: str, document: Document) -> Portrait:
    """What a tool's document says.

    Args:
        mode: whose document it is.
        document: as it lies in the store.

    Raises:
        DataError: where it cannot be read: it is damaged, or another version's.
    """
    found = restored(Place(mode, str(document.get("tool"))), document)
    try:
        return _calibrated(found) if isinstance(found, ToolMemory) else _reference(found)
    except (AttributeError, KeyError, TypeError, ValueError, ArithmeticError, IndexError) as error:
        raise DataError(f"learned state is damaged: {type(error).__name__}") from None


def _calibrated(memory: ToolMemory) -> Portrait:
    kinds = []
    for name, shape in memory.shapes.items():
        shape.absorb(0, {}, ())  # what is still counted by layout is added up
        count = max(shape.count, 1)
        fields = [FieldShare(*_told(fact), seen / count) for fact, seen in shape.facts.items() if type(fact) is tuple]
        words = sum(type(fact) is str for fact in shape.facts)
        sizes = _sizes(memory.lengths.get(name))
        kinds.append(Kind(name, shape.count, sizes, _sorted(fields), words))
    relations = [
        RelationShare(relation.said(), relation.held, relation.tried, relation.strength)
        for relation in memory.relations.known.values()
        if relation.tried
    ]
    return Portrait(
        "calibrated",
        memory.count,
        memory.errors.hits / memory.errors.total if memory.errors.total else None,
        {share: exp(value) for share, value in _quantiles(memory.latency.ordered).items()},
        len(memory.keys.by_key),
        tuple(sorted(kinds, key=lambda kind: -kind.results)),
        tuple(sorted(relations, key=lambda relation: (-relation.nats, -relation.tried, relation.broken))),
        tuple(Signal(name, past.total, past.tail(SURPRISE)) for name, past in sorted(memory.surprises.items())),
    )


def _reference(baseline: Baseline) -> Portrait:
    count = max(baseline.calls, 1)
    fields = [FieldShare(path, "number", stats.n / count) for path, stats in baseline.fields.items()]
    sizes = _quantiles(sorted(baseline.size.recent()))
    kind = Kind("any", baseline.calls, sizes, _sorted(fields), 0)
    return Portrait(
        "reference",
        baseline.calls,
        None,
        _quantiles(sorted(baseline.latency.recent())),
        len(baseline._histories),
        (kind,) if baseline.calls else (),
    )


def _told(fact: tuple[str, type]) -> tuple[str, str]:
    path, kind = fact
    return path, _TYPES.get(kind, kind.__name__)


def _sorted(fields: Iterable[FieldShare]) -> tuple[FieldShare, ...]:
    return tuple(sorted(fields, key=lambda field: (-field.share, field.path, field.type)))


def _sizes(ring: Ring | None) -> dict[float, float]:
    return {} if ring is None else {share: expm1(value) for share, value in _quantiles(ring.ordered).items()}


def _quantiles(ordered: Sequence[float]) -> dict[float, float]:
    """By share, the least value that at least this share of the values does not exceed; {} where there is none."""
    count = len(ordered)
    return {share: ordered[ceil(share * count) - 1] for share in QUANTILES} if count else {}


class _Nothing:
    """A warden of an engine that has no memory: labels are all that is asked of it."""

    def remembered(self, tool: str) -> Remembered:
        return Remembered(None, Incidents(), 0)

    def followed(self, tool: str, remembered: Remembered) -> Incidents:
        return remembered.incidents

    def evicted(self, tool: str, state: ToolState) -> None:
        pass

    def reclaimed(self, tool: str) -> ToolState | None:
        return None


def feedback_of(store: Store, tool: str) -> tuple[float, dict[str, float]]:
    """What labels have made of the prior and of each signal's evidence, where an engine has the default settings.

    Returns:
        The tool's prior, and by how much the evidence of each signal counts more (above 1) or less than documented.
    """
    settings = Settings()
    registry = Registry(_Nothing(), settings, counting=False)
    for record in store.events(FEEDBACK):
        event = record.event
        if "reset" in event:
            registry.drop(str(event["reset"]), labels=bool(event.get("labels")))
        else:
            label_of(registry, event, record.sequence)  # what is no label is counted by the overview
    state = registry.find(tool, keep=False)
    return state.labels.prior(settings.prior, settings.block_at), dict(state.factors)
