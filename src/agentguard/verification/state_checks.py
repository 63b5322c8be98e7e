"""Whether documents, counts and events from a file are what an engine can go on from, down to their types."""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from agentguard.errors import DataError, StoreError
from agentguard.stores import Document
from agentguard.stores.base import Record
from agentguard.stores.encoding import encode

from .baseline import ToolMemory
from .census import parts
from .changes import CHANGES, read_change_event
from .clocks import Clocks
from .constants import Constants
from .drift import Drift, NumberChart, Stream
from .echoes import Echoes, EchoPool
from .keys import KeyHistory, Keys
from .persistence import FEEDBACK, VERSION, document_name, learned_in
from .pool import Owner, Pool
from .reference.baseline import Baseline, History
from .running import RunningStats
from .shape import Shape
from .snapshot import RECORDS, decode, restore
from .state import Place, place_of
from .statistics import Categories, Level, Rate, Ring, Surprises

__all__ = ["check_document", "check_event", "is_count", "restored"]

MAX_COUNT: Final = 1 << 53
_VERDICTS: Final = ("accept", "flag", "block")
_BUCKETS: Final = range(-1_000, 14_000)  # 1.05 to this power is a float
_FIELDS: Final[Mapping[str, tuple[Any, ...]]] = {
    "calls": (), "errors": (), "untimed": (), "left out": (), "latency": (int,), "kind": (str,), "size": (str, int),
    "fact": (str, str, str), "keys": (str, str, list), "word": (str, str), "ending": (str, str),
    "echo": (str, str, str, int),
}  # fmt: skip

_GIVEN_UP = type(None)

#: What stands in the dicts of a record.
_ITEMS: Final[Mapping[tuple[type, str], tuple[type, ...]]] = {
    (Baseline, "_histories"): (History,),
    (Baseline, "_sessions"): (deque,),
    (Baseline, "fields"): (RunningStats,),
    (Categories, "counts"): (int,),
    (Clocks, "by_key"): (Rate, _GIVEN_UP),
    (Clocks, "overall"): (Rate, _GIVEN_UP),
    (Clocks, "standing"): (float, int, str),
    (Constants, "usual"): (tuple,),
    (Constants, "varied"): (dict, _GIVEN_UP),
    (Drift, "streams"): (Stream,),
    (EchoPool, "by_name"): (Rate,),
    (Echoes, "rates"): (Rate,),
    (History, "fields"): (RunningStats,),
    (KeyHistory, "clocks"): (float, int, str),
    (Keys, "by_key"): (KeyHistory,),
    (Keys, "owners"): (bytes,),
    (Keys, "word_counts"): (int,),
    (Pool, "forms"): (Owner,),
    (Pool, "owners"): (int,),
    (Pool, "sessions"): (int,),
    (Shape, "_to_count"): (int,),
    (Shape, "facts"): (int,),
    (Shape, "formats"): (Categories, _GIVEN_UP),
    (Shape, "keys"): (Categories,),
    (ToolMemory, "charts"): (NumberChart,),
    (ToolMemory, "contracts"): (Rate,),
    (ToolMemory, "endings"): (Categories,),
    (ToolMemory, "lengths"): (Ring,),
    (ToolMemory, "levels"): (Level,),
    (ToolMemory, "shapes"): (Shape,),
    (ToolMemory, "surprises"): (Surprises,),
    (ToolMemory, "unclosed"): (Rate,),
    (ToolMemory, "within"): (Level,),
}


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
    try:
        restore(record, learned)
        _check(record)
    except DataError:
        raise
    except Exception as error:  # of whatever stands there in the place of a record
        raise DataError(f"learned state is damaged: {type(error).__name__}") from None
    return record


def _check(record: Any) -> None:
    """Every record's fields have the types that a new one's have, and numbers with which can be reckoned.

    Raises:
        DataError: where that is not so; what is read may come from anywhere.
    """
    waiting: list[Any] = [record]
    fresh: dict[type, Any] = {}
    while waiting:
        value = waiting.pop()
        cls = type(value)
        if cls in RECORDS:
            if cls not in fresh:
                fresh[cls] = _new(cls)
            for name in RECORDS[cls]:
                found = getattr(value, name)
                _check_field(cls, name, found, getattr(fresh[cls], name))
                waiting.append(found)
        elif isinstance(value, Mapping):
            waiting.extend(value.values())
        elif isinstance(value, list | tuple | deque):
            waiting.extend(value)


def _check_field(cls: type, name: str, found: Any, usual: Any) -> None:
    items = _ITEMS.get((cls, name))
    if not _is_alike(found, usual):
        raise DataError(f"learned state is damaged: {name} of a {cls.__name__} is a {type(found).__name__}")
    if items is not None and not all(type(item) in items for item in found.values()):
        raise DataError(f"learned state is damaged: {name} of a {cls.__name__} holds something else")
    numbers: Any = found if isinstance(found, array) else (found,) if type(found) is float else ()
    usual_ones: Any = (usual,) if type(usual) is float else ()  # a level starts at -inf
    if any(x != x or (abs(x) == math.inf and x not in usual_ones) for x in numbers):
        raise DataError(f"learned state is damaged: {name} of a {cls.__name__} is no finite number")


def _new(cls: type) -> Any:
    if cls is ToolMemory:
        return ToolMemory("", Pool())
    return Pool() if cls is Pool else decode({f"~{cls.__name__}": {}})


def _is_alike(found: Any, usual: Any) -> bool:
    if usual is None or found is None:
        return usual is None
    if type(usual) in (int, float):
        return type(found) in (int, float)
    return type(found) is type(usual)


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
    except DataError as error:
        raise DataError(f"{name!r} cannot be used: {error}") from None
    _check_storable(f"the document {name!r}", document)


def is_count(name: str, count: Any) -> bool:
    """A field of a census and how often it was counted; fields of newer versions are let pass.

    >>> is_count('["latency",95]', 3), is_count('["latency"]', 3), is_count('["calls"]', -1)
    (True, False, False)
    """
    if type(count) is not int or not 0 < count <= MAX_COUNT:
        return False
    what, *rest = parts(name)
    forms = _FIELDS.get(what)
    if forms is None:
        return bool(what)  # of a newer version, and passed over
    if len(rest) != len(forms):
        return False
    for part, form in zip(rest, forms):
        if type(part) is not form or (form is list and not all(type(one) is str for one in part)):
            return False
    return what not in ("latency", "size") or int(rest[-1]) in _BUCKETS


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
        _check_storable("an event", event)
        return
    call_id, fired = event.get("call_id"), event.get("fired", ())
    usable = {
        "tool": isinstance(event.get("tool"), str),
        "call_id": call_id is None or isinstance(call_id, str),
        "fired": isinstance(fired, list | tuple) and all(isinstance(name, str) for name in fired),
        "propensity": event.get("propensity") is None or _is_share(event["propensity"]),
    }
    if kind == FEEDBACK:
        usable["was_hallucination"] = isinstance(event.get("was_hallucination"), bool)
    else:
        nats = event.get("nats")
        usable["propensity"] = _is_share(event.get("propensity"))
        usable["fired"] = usable["fired"] and "fired" in event
        usable["prior"] = _is_share(event.get("prior"))
        usable["verdict"] = event.get("verdict") in _VERDICTS
        usable["nats"] = isinstance(nats, Mapping) and all(_is_number(value) for value in nats.values())
    for name, is_usable in usable.items():
        if not is_usable:
            raise DataError(f"the field {name!r} of an event of kind {kind} cannot be used")
    _check_storable("an event", event)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _is_share(value: Any) -> bool:
    return _is_number(value) and bool(0.0 <= value <= 1.0)


def _check_storable(what: str, value: Any) -> None:
    try:
        encode(what, value)
    except StoreError as error:
        raise DataError(str(error)) from None
