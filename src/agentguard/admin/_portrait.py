"""The portrait of a tool: what was learned, in paths, types, shares and times, without any argument or result.

Words of text results are content; only their number is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, exp, expm1
from typing import Any, Final, NamedTuple

from agentguard.errors import DataError
from agentguard.stores import Document, Store
from agentguard.verification._baseline import ToolMemory
from agentguard.verification._incidents import Incidents
from agentguard.verification._persistence import FEEDBACK, label_of, learned_in
from agentguard.verification._pool import Pool
from agentguard.verification._reference import Baseline
from agentguard.verification._registry import Registry, Remembered, ToolState
from agentguard.verification._snapshot import restore
from agentguard.verification._state import Place
from agentguard.verification.types import Settings

QUANTILES: Final = (0.05, 0.5, 0.95, 0.99)
SURPRISE: Final = 3.0  # nats: p = .05
_TYPES: Final = {float: "number", str: "string", bool: "boolean", type(None): "null"}


class FieldShare(NamedTuple):
    """A path in results of a kind, the type of its values, and the share of the results that have it so."""

    path: str
    type: str
    share: float


class Kind(NamedTuple):
    """Results of one kind."""

    kind: str  # of the document: object, prose, …
    results: int  # their number
    sizes: Mapping[float, float]  # quantiles of their length in bytes, by share; empty where no length is known
    fields: tuple[FieldShare, ...]  # those of objects and lists, most frequent first
    words: int  # the number of distinct words known of texts


class RelationShare(NamedTuple):
    """A relation between arguments and results, or within results."""

    broken: str  # the message for a call that breaks it
    held: int  # the number of calls that it held for
    tried: int  # the number of calls that it was tried on
    nats: float  # added to the log-odds of a call that breaks it; 0 while the relation is not trusted


class Signal(NamedTuple):
    """The past calls by which a signal's p-values are recalibrated: their weight, and that of the surprising ones.

    A call is surprising where the signal's raw p-value was about 0.05 or less.
    """

    name: str
    calls: float
    surprises: float


class Portrait(NamedTuple):
    """The figures that one mode has learned of a tool.

    Attributes:
        mode: the mode.
        results: the number of results learned in full.
        errors: the share of them that report an error, lately; None where the mode does not learn it.
        latency_ms: quantiles of the time of calls in milliseconds, by share; empty where none is known.
        argument_sets: the number of distinct sets of arguments that are remembered.
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


def restored(place: Place, document: Document) -> Any:
    """Restore the record in a document.

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
    restore(record, learned)
    return record


def portrait(mode: str, document: Document) -> Portrait:
    """Read the portrait from a tool's document.

    Args:
        mode: whose document it is.
        document: as it is stored.

    Raises:
        DataError: where it cannot be read: it is damaged, or another version's.
    """
    record = restored(Place(mode, str(document.get("tool"))), document)
    try:
        return _calibrated(record) if isinstance(record, ToolMemory) else _reference(record)
    except (AttributeError, KeyError, TypeError, ValueError, ArithmeticError, IndexError) as error:
        raise DataError(f"learned state is damaged: {type(error).__name__}") from None


def _calibrated(memory: ToolMemory) -> Portrait:
    kinds = []
    for name, shape in memory.shapes.items():
        shape.absorb(0, {}, ())  # what is still counted by layout is added up
        count = max(shape.count, 1)
        facts = ((*fact, seen) for fact, seen in shape.facts.items() if type(fact) is tuple)
        fields = [FieldShare(path, _TYPES.get(kind, kind.__name__), seen / count) for path, kind, seen in facts]
        words = sum(type(fact) is str for fact in shape.facts)
        lengths = memory.lengths.get(name)
        sizes = {} if lengths is None else {share: expm1(x) for share, x in _quantiles(lengths.ordered).items()}
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
    fields = [
        FieldShare(path, "number" if path in baseline.fields else "any", results / count)
        for path, results in baseline.frequency.items()
    ]
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


def _sorted(fields: Iterable[FieldShare]) -> tuple[FieldShare, ...]:
    return tuple(sorted(fields, key=lambda field: (-field.share, field.path, field.type)))


def _quantiles(ordered: Sequence[float]) -> dict[float, float]:
    """By share, the least value that at least this share of the values does not exceed; {} where there is none."""
    count = len(ordered)
    return {share: ordered[ceil(share * count) - 1] for share in QUANTILES} if count else {}


class _Nothing:
    """A warden without memory, for a registry that is asked for labels only."""

    def remembered(self, tool: str) -> Remembered:
        return Remembered(None, Incidents(), 0)

    def followed(self, tool: str, remembered: Remembered) -> Incidents:
        return remembered.incidents

    def evicted(self, tool: str, state: ToolState) -> None:
        pass

    def reclaimed(self, tool: str) -> ToolState | None:
        return None


def feedback_of(store: Store, tool: str) -> tuple[float, dict[str, float]]:
    """The prior and the weight of each signal's evidence by labels, for an engine with the default settings.

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
