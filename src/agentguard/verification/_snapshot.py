"""Learned state as JSON and back: every number, every order, so that who goes on from it judges as before.

A record is an object with one key, ``"~"`` and its name, over its fields; what JSON has no form for (tuples, sets,
bytes, keys that are no text, infinities) is written likewise. Nothing is ever executed or looked up by a name that
stands in the text: a name that is not in the tables here is an error.

>>> from agentguard.verification.statistics import Rate
>>> rate = Rate()
>>> rate.push(True)
>>> encode({"errors": rate})
{'errors': {'~Rate': {'hits': 1.0, 'total': 1.0}}}
>>> decode(encode({"errors": rate}))["errors"].hits
1.0
"""

from __future__ import annotations

import json
import logging
import math
import sys
import zlib
from array import array
from base64 import b64decode, b64encode
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from hashlib import blake2b
from typing import Any, Final

from agentguard.errors import DataError
from agentguard.verification._baseline import ToolMemory
from agentguard.verification._causes import CLUES
from agentguard.verification._changes import STATES, Change
from agentguard.verification._incidents import (
    MAX_INCIDENTS,
    MAX_SAME,
    MAX_TRAITS,
    Incident,
    Incidents,
    _Same,
)
from agentguard.verification._keys import KeyHistory, Keys
from agentguard.verification._pool import Owner, Pool, SessionLog
from agentguard.verification._reference import Baseline, History
from agentguard.verification._relations import (
    FAMILIES,
    Constants,
    Relations,
)
from agentguard.verification._shape import Shape
from agentguard.verification._sides import Side
from agentguard.verification._walk import Layout, layout_of
from agentguard.verification.drift import Clocks, Drift, NumberChart, Stream, Stuck
from agentguard.verification.statistics import Categories, Level, Rate, Ring, RunningStats, Surprises
from agentguard.verification.types import VERDICTS, Trait, Verdict

_log = logging.getLogger("agentguard")
MARK: Final = "~"
SEAL: Final = "seal"  # a field of documents
MAX_DEPTH: Final = 60  # levels of what is read; learned state has some twenty

#: The classes that learned state is made of, and what is written of each. A field that comes in here later is not in
#: what was written earlier: it stands as ``__init__`` leaves it then.
RECORDS: dict[type, tuple[str, ...]] = {
    Baseline: ("_histories", "_sessions", "calls", "fields", "frequency", "latency", "size"),
    Categories: ("counts", "singles", "total"),
    Clocks: ("by_key", "overall", "standing"),
    Constants: ("places",),
    Drift: ("streams",),
    History: ("calls", "fields"),
    KeyHistory: ("changes", "clocks", "count", "marks", "means", "paths", "results", "size", "words"),
    Keys: ("by_key", "heard", "owners", "word_counts"),
    Level: ("count", "falls", "last", "least", "mean", "rises", "squares", "variance"),
    NumberChart: (
        "beyond", "evidence", "high", "keys", "lag", "last", "level", "low", "power", "slope", "spread", "stuck",
    ),
    Owner: ("results", "tool", "votes"),
    Pool: (
        "after_other", "after_shared", "broken", "calls", "changes", "errors", "foreign", "foreign_form",
        "foreign_sister", "foreign_tool", "forms", "met", "owners", "results", "scores", "sessions", "surprises",
    ),
    Rate: ("hits", "total"),
    Ring: ("_arrived", "_oldest", "ordered", "size"),
    RunningStats: ("_kept", "_m2", "_next", "keep", "mean", "n"),
    Shape: (
        "_added_up", "_as_usual", "_names_left", "_novel", "_rigid", "_to_count", "_usual", "_usual_at", "count",
        "facts", "formats", "keys",
    ),
    Stream: ("ewma", "lag", "last", "level", "power", "residuals"),
    Stuck: ("again", "evidence", "key", "rate", "result", "run", "runs"),
    Surprises: ("bins", "floor", "prior", "total"),
    Relations: ("calls", "constant_arguments", "constants", "known", "looks", "recent"),
    **dict.fromkeys(FAMILIES, ("foreign_held", "foreign_tried", "held", "left", "right", "third", "tried")),
    SessionLog: ("calls",),
    Side: ("_marks", "_numbers", "_starts", "paths"),
    ToolMemory: (
        "across", "after", "broken", "canned", "charts", "clocks", "contracts", "count", "cut_objects", "cut_off",
        "drift", "echoed_rows", "empties", "endings", "error_forms", "errors", "foreign", "foreign_known",
        "foreign_sister", "foreign_tool", "forms", "keys", "kinds", "latency", "lengths", "levels", "measured",
        "quiet", "relations", "repeats", "reverts", "scores", "session_changes", "shapes", "stuck", "surprises",
        "suspects", "thinned", "unclosed", "within",
    ),
}  # fmt: skip

_NAMES: Final = {MARK + cls.__name__: cls for cls in RECORDS}
_EMPTY: dict[type, Callable[[], Any]] = {
    KeyHistory: lambda: KeyHistory(frozenset()),
    Owner: lambda: Owner(0),
    Ring: lambda: Ring(1),
    Side: lambda: Side({}),
    **{family: partial(family, "", "") for family in FAMILIES},
    Surprises: lambda: Surprises(0.0),
}
_TYPES: Final = {cls.__name__: cls for cls in (str, float, bool, type(None), dict, list)}
_CONTAINERS: Final = {
    "~tuple": tuple, "~set": set, "~frozenset": frozenset, "~Counter": Counter, "~OrderedDict": OrderedDict,
}  # fmt: skip


def encode(value: Any) -> Any:
    """The value as JSON's own objects, arrays, texts and numbers.

    Raises:
        TypeError: for a value of a class that learned state is not made of.
    """
    cls = type(value)
    if cls is float:
        return value if math.isfinite(value) else {"~float": repr(value)}
    if cls is int or cls is str or cls is bool or value is None:
        return value
    fields = RECORDS.get(cls)
    if fields is not None:
        return {MARK + cls.__name__: {name: encode(getattr(value, name)) for name in fields}}
    if cls is dict:
        return _encode_dict(value)
    if cls is list:
        return [encode(item) for item in value]
    if cls is tuple:
        return {"~tuple": [encode(item) for item in value]}
    if cls is frozenset or cls is set:  # in an order that is the same in every process
        return {MARK + cls.__name__: sorted([encode(item) for item in value], key=repr)}
    if cls is Counter or cls is OrderedDict:
        return {MARK + cls.__name__: [[encode(key), encode(item)] for key, item in value.items()]}
    if cls is bytes:
        return {"~bytes": b64encode(value).decode()}
    if cls is array:
        return {"~array": [value.typecode, _base64(value)]}
    if cls is deque:
        return {"~deque": [value.maxlen, [encode(item) for item in value]]}
    if cls is Layout:
        return {"~Layout": [encode(part) for part in value.described]}
    if isinstance(value, type) and value.__name__ in _TYPES:
        return {"~type": value.__name__}
    raise TypeError(f"learned state holds a {cls.__name__}, which has no written form")


def _encode_dict(value: dict[Any, Any]) -> dict[str, Any]:
    for key in value:
        if type(key) is not str or key[:1] == MARK:
            break
    else:
        return {key: encode(item) for key, item in value.items()}
    digests = _packed(value)
    if digests is not None:
        return {"~digests": digests}
    return {"~dict": [[encode(key), encode(item)] for key, item in value.items()]}


def _packed(value: dict[Any, Any]) -> list[str] | None:
    """The keys and values of a dict from digests to digests: there are tens of thousands of them."""
    try:
        parts = array("Q", list(value)), array("Q", list(value.values()))
    except (TypeError, OverflowError):
        return None
    return [_base64(part) for part in parts]


def _base64(numbers: array[Any]) -> str:
    """The bytes of an array in Base64, the lowest byte of each number first on every machine."""
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    return b64encode(numbers).decode()


def decode(value: Any) -> Any:
    """Decode what ``encode`` gave.

    Raises:
        DataError: for anything that ``encode`` does not write.
    """
    try:
        return _Decoder().value(value, 0)
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"learned state is damaged: {type(error).__name__}") from None


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document with a checksum of all that stands in it, by which ``check_seal`` knows it again.

    >>> check_seal(sealed({"version": 1, "learned": {"hits": 2.0}}))
    """
    content = {name: value for name, value in document.items() if name != SEAL}
    return {**content, SEAL: _checksum(content)}


def check_seal(document: Mapping[str, Any]) -> None:
    """Check that a document is as an engine wrote it: one with other numbers would be judged by from then on.

    Raises:
        DataError: where it has no seal, or was changed since.
    """
    content = {name: value for name, value in document.items() if name != SEAL}
    try:
        is_whole = document.get(SEAL) == _checksum(content)
    except (RecursionError, TypeError, ValueError):
        is_whole = False
    if not is_whole:
        raise DataError("learned state is damaged: it was changed after an engine wrote it")


def _checksum(content: Mapping[str, Any]) -> str:
    written = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return blake2b(written.encode(), digest_size=16).hexdigest()


def restore(record: Any, written: Any) -> None:
    """Put the encoded state of a record into a record of the same class, in place.

    Raises:
        DataError: where it is that of another class, or damaged; the record stays as it was then.
    """
    cls = type(record)
    if cls in (ToolMemory, Pool):  # which are not made anew: one has a pool, the other a lock
        body = written.get(MARK + cls.__name__) if isinstance(written, dict) else None
        if not isinstance(body, dict):
            raise DataError(f"learned state of a {cls.__name__} was expected, and there is none")
        fields = decode({name: body[name] for name in RECORDS[cls] if name in body})
    else:
        made = decode(written)
        if not isinstance(made, cls):
            raise DataError(f"learned state of a {cls.__name__} was expected, and is that of a {type(made).__name__}")
        fields = {name: getattr(made, name) for name in RECORDS[cls]}
    for name, value in fields.items():
        setattr(record, name, value)


class _Decoder:
    """One reading. Equal paths and numbers that stand in it many times are kept once."""

    def __init__(self) -> None:
        self._seen: dict[Any, Any] = {}

    def value(self, written: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise DataError("learned state is nested too deeply")
        cls = type(written)
        if cls is dict:
            if len(written) == 1:
                name, body = next(iter(written.items()))
                if name[:1] == MARK:
                    return self._marked(name, body, depth + 1)
            return {self._one(key): self.value(item, depth + 1) for key, item in written.items()}
        if cls is list:
            return [self.value(item, depth + 1) for item in written]
        if cls is str or (cls is int and written > 256):
            return self._one(written)
        return written

    def _one(self, value: Any) -> Any:
        return self._seen.setdefault(value, value)

    def _marked(self, name: str, body: Any, depth: int) -> Any:
        cls: Any = _NAMES.get(name)
        if cls is not None:
            made = _EMPTY.get(cls, cls)()
            for field in RECORDS[cls]:
                if field in body:
                    setattr(made, field, self.value(body[field], depth))
            return made
        if name in ("~tuple", "~set", "~frozenset"):
            made = _CONTAINERS[name]([self.value(item, depth) for item in body])
            paths = name == "~tuple" and all(type(item) is str for item in made)
            return self._one(made) if paths else made
        if name in ("~dict", "~Counter", "~OrderedDict"):
            pairs = {self.value(key, depth): self.value(item, depth) for key, item in body}
            return _CONTAINERS.get(name, dict)(pairs)
        if name == "~digests":
            keys, values = (_array("Q", part) for part in body)
            return {key: self._one(item) for key, item in zip(keys, values, strict=True)}
        if name == "~float":
            return float(body)
        if name == "~bytes":
            return b64decode(body, validate=True)
        if name == "~array":
            return _array(*body)
        if name == "~deque":
            return deque([self.value(item, depth) for item in body[1]], maxlen=body[0])
        if name == "~Layout":
            forms, typed = (self.value(part, depth) for part in body)
            return layout_of(forms, typed)
        if name == "~type":
            return _TYPES[body]
        raise DataError(f"learned state holds a {name[1:40]!r}, which this version does not know")


def _array(typecode: str, text: str) -> array[Any]:
    if typecode not in ("H", "I", "Q", "d", "f"):
        raise DataError(f"learned state holds an array of {typecode!r}, which this version does not know")
    made = array(typecode)
    made.frombytes(b64decode(text, validate=True))
    if sys.byteorder == "big":
        made.byteswap()
    return made


# --- Incidents, so that a process that is killed loses none of them ---
#
# What was seen of each, and the verdicts by which the same call is known again; by digests, as everywhere. The calls
# that are held back are left out: they have arguments and results, which no store is given.

#: What is kept of a change: all but the calls that are held back.
FIELDS: Final = (
    "id", "traits", "what", "verdict", "state", "reviewed", "why", "calls", "blocked", "judged", "clues", "runs", "run",
    "misses", "last", "told", "ends", "p_latest", "before", "answers",
)  # fmt: skip
MAX_BEFORE: Final = 1 << 24  # bytes of a memory that following can be undone to


def packed(memory: Any) -> bytes:
    """Pack a tool's memory as it is now, for ``undo``."""
    return zlib.compress(json.dumps(encode(memory), separators=(",", ":")).encode(), 1)


def undo(incident: Incident, memory: Any) -> None:
    """Go back, in place, to a tool's memory from before a change was taken for genuine; a failure is logged."""
    try:
        written = json.loads(zlib.decompressobj().decompress(incident.before, MAX_BEFORE))
        restore(memory, written)
    except (DataError, RecursionError, ValueError, zlib.error) as error:
        _log.error("what following change %s has taught stays learned: %s", incident.id, type(error).__name__)
    incident.before = b""


def encode_incidents(incidents: Incidents) -> Any:
    """Encode changes for ``restore_incidents``; None where there is nothing to keep.

    >>> encode_incidents(Incidents())
    """
    kept = [{name: getattr(incident, name) for name in FIELDS} for incident in incidents]
    if not kept and not incidents._same:
        return None
    for fields in kept:
        fields["traits"] = [list(trait) for trait in fields["traits"]]
    same = [
        (*key, None if one.incident is None else one.incident.id, one.verdict, one.session, one.number, one.asked)
        for key, one in incidents._same.items()
        if one.incident is None or incidents.find(one.incident.id) is one.incident
    ]
    return encode({"incidents": kept, "same": same, "number": incidents._number})


def restore_incidents(incidents: Incidents, data: Any) -> None:
    """Take in what ``encode_incidents`` gave; what is known here already stays as it is.

    Raises:
        DataError: where it is nothing of the kind; nothing is taken in then.
    """
    try:
        kept = decode(data)
        restored = [_incident(fields) for fields in kept["incidents"][-MAX_INCIDENTS:]]
        by_id = {incident.id: incident for incident in restored}
        same = [_same(*fields, by_id=by_id) for fields in kept["same"][-MAX_SAME:]]
        number = int(kept.get("number", 0))
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"its incidents cannot be read: {type(error).__name__}") from None
    incidents._number = max(incidents._number, number)
    for incident in restored:
        if incidents.find(incident.id) is None:
            incidents.remember(incident)
    for key, one in same:
        if one.incident is None or incidents.find(one.incident.id) is one.incident:
            incidents._same[key] = one


def follow_changes(incidents: Incidents, changes: Iterable[Change], memory: Any) -> None:
    """Go along with what the log of changes says beyond what was restored; what a rejected one taught is unlearned."""
    for change in changes:
        incident = incidents.find(change.id)
        if incident is None:
            incidents.remember(incident_of(change))
            continue
        incident.told = True
        incident.reviewed = change.reviewed
        if incident.state != change.state:
            if change.state == "fault" and incident.before:
                undo(incident, memory)
            incidents.decide(incident, change.state, reviewed=change.reviewed)
            incident.run = int(change.state == "open")


def incident_of(change: Change) -> Incident:
    """The change on record, to be gone on with."""
    incident = Incident(change.id, change.traits, change.what, "flag")
    incident.state, incident.reviewed, incident.told = change.state, change.reviewed, True
    incident.run = incident.runs = int(change.state == "open")
    return incident


def _incident(fields: Any) -> Incident:
    id_, what, verdict = fields["id"], fields["what"], fields["verdict"]
    traits = tuple([Trait.read(trait) for trait in fields["traits"]])
    texts = isinstance(id_, str) and isinstance(what, str)
    if not texts or not 0 < len(traits) <= MAX_TRAITS or verdict not in VERDICTS or fields["state"] not in STATES:
        raise ValueError("a change is damaged")
    incident = Incident(id_, traits, what, verdict)
    for name in FIELDS:
        if name in fields and name != "traits":  # what a later version has besides stands as it is at first
            setattr(incident, name, fields[name])
    if len(incident.clues) != len(CLUES):  # of a version with other clues: what it is, is judged anew
        incident.clues, incident.judged = [0.0] * len(CLUES), 0
    return incident


def _same(
    key: bytes, digest: int, id_: str | None, verdict: Verdict, session: str | None, number: int, asked: int,
    *, by_id: Mapping[str, Incident],
) -> tuple[tuple[bytes, int], _Same]:  # fmt: skip
    incident = None if id_ is None else by_id[id_]
    return (key, digest), _Same(verdict, incident, session, number, asked)
