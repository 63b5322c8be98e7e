"""Whether documents, counts and events from a file are what an engine can go on from, down to their types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agentguard.errors import DataError, StoreError
from agentguard.stores import Document
from agentguard.stores.base import Record
from agentguard.stores.encoding import encode

from .audit import MOST_NATS
from .baseline import ToolMemory
from .changes import CHANGES, read_change_event
from .count_checks import MAX_COUNT
from .incident_snapshot import restore_incidents
from .incidents import Incidents
from .persistence import FEEDBACK, VERSION, document_name, learned_in
from .pool import Pool
from .record_checks import check_record
from .reference.baseline import Baseline
from .snapshot import restore
from .state import Place, place_of

__all__ = ["check_document", "check_event", "restored"]

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
