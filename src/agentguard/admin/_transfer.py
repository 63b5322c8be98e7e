r"""Export of a store as lines of JSON, and import: to move it, keep a copy of it, or inspect it.

::

    {"agentguard_state": 1, "at": 1767225600.0, "tools": null}
    {"document": "calibrated:search", "content": {"version": 1, "tool": "search", "learned": {…}}}
    {"counts": "search", "fields": {"[\"calls\"]": 1200, …}}
    {"event": "feedback", "sequence": 7, "at": 1767225000.5, "content": {"tool": "search", …}}
    {"end": {"documents": 1, "counts": 1, "events": 1}}

Counts are the sum over all hours: a store counts in the hour in which it is told. Labels that a reset took back are
left out, and so is the reset itself: in another store it would take back others' labels. Records that no engine could
read are left out as well, and named.

A file is checked as a whole before anything of it is written. The counts and events of one content, whichever file it
is in, are taken in once: by a worker's name and by claims that are made of its digest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from agentguard.admin._portrait import restored
from agentguard.errors import DataError, StoreError
from agentguard.stores import Delta, Store
from agentguard.stores._base import Record, encode
from agentguard.verification._audit import AUDIT, MOST_NATS, is_share
from agentguard.verification._census import MAX_COUNT, added, check_counts, is_count
from agentguard.verification._changes import CHANGES, read_change_event, read_traits
from agentguard.verification._incidents import Incidents
from agentguard.verification._persistence import FEEDBACK, VERSION, document_name, sayable
from agentguard.verification._snapshot import restore_incidents
from agentguard.verification._state import batches, counts_of, met_tools, place_of, require
from agentguard.verification.types import VERDICTS

FORMAT: Final = 1
MAX_LINE_BYTES: Final = (1 << 26) + 4096  # a document has at most 64 MiB
MAX_DOCUMENTS: Final = 1_000_000
IMPORT, IMPORTED_EVENT = "import", "import-event"
KINDS: Final = (FEEDBACK, AUDIT, CHANGES)
SHOWN: Final = 3


class Export:
    """The lines of a store, each with its line feed; made while they are iterated, a few tools at a time.

    Records that engines write meanwhile may be in it or not.

    Args:
        store: to export.
        tools: only these; None: everything, also the documents of all tools together.
        at: the time, in seconds since the epoch, for the first line.

    Attributes:
        documents, counts, events: the number written so far.
        left_out: the names of records that could not be read.

    Raises:
        DataError: for a tool of which the store holds nothing.

    >>> from agentguard.stores import MemoryStore
    >>> [line[:24] for line in Export(MemoryStore())]
    [b'{"agentguard_state":1,"a', b'{"end":{"documents":0,"c']
    """

    def __init__(self, store: Store, tools: Sequence[str] | None = None, *, at: float | None = None) -> None:
        self._store, self._at = store, at
        self._tools = None if tools is None else frozenset(map(sayable, tools))
        self.documents = self.counts = self.events = 0
        self.left_out: list[str] = []
        require(store, tools or ())

    def __iter__(self) -> Iterator[bytes]:
        self.documents = self.counts = self.events = 0
        self.left_out = []
        yield _line({"agentguard_state": FORMAT, "at": self._at, "tools": self._tools and sorted(self._tools)})
        for line in self._documents():
            self.documents += 1
            yield line
        for line in self._counts():
            self.counts += 1
            yield line
        for kind in KINDS:
            for line in self._events(kind):
                self.events += 1
                yield line
        yield _line({"end": {"documents": self.documents, "counts": self.counts, "events": self.events}})

    def _is_wanted(self, tool: str | None) -> bool:
        return self._tools is None or (tool is not None and tool in self._tools)

    def _documents(self) -> Iterator[bytes]:
        wanted = []
        for name in self._store.names():
            place = place_of(name)
            if place is None:
                if self._tools is None:
                    self.left_out.append(name)
            elif self._is_wanted(place.tool):
                wanted.append(name)
        for batch in batches(sorted(wanted)):
            for name, document in sorted(self._store.load(batch).items()):
                try:
                    check_document(name, document)
                except DataError:
                    self.left_out.append(name)
                else:
                    yield _line({"document": name, "content": document})

    def _counts(self) -> Iterator[bytes]:
        for tool, hours in counts_of(self._store, met_tools(self._store) if self._tools is None else self._tools):
            total: dict[str, int] = {}
            for fields in hours.values() if self._is_wanted(tool) else ():
                total = added(total, fields)
            usable = {name: count for name, count in sorted(total.items()) if is_count(name, count)}
            if usable:
                yield _line({"counts": tool, "fields": usable})

    def _events(self, kind: str) -> Iterator[bytes]:
        taken_back: dict[str, int] = {}
        for record in self._store.events(kind):
            if isinstance(record.event.get("reset"), str) and record.event.get("labels"):
                taken_back[sayable(record.event["reset"])] = record.sequence
        for record in self._store.events(kind):
            event = record.event
            if kind == FEEDBACK and "reset" in event:
                continue
            try:
                check_event(kind, event)
            except DataError:
                self.left_out.append(f"{kind} {record.sequence}")
                continue
            tool = sayable(event["tool"])
            if self._is_wanted(tool) and record.sequence > taken_back.get(tool, 0):
                # The number of the label that decided a change is one of this store's log, and of no other's.
                event = {name: value for name, value in event.items() if kind != CHANGES or name != "label"}
                yield _line({"event": kind, "sequence": record.sequence, "at": record.at, "content": event})


class Contents(NamedTuple):
    """The contents of a file that was read to its end."""

    digest: str  # of everything but the first line, so that the same state has it whenever it was exported
    documents: frozenset[str]  # their names
    counts: int  # how many tools' counts
    events: int  # how many


class Imported(NamedTuple):
    """The number of documents and of tools' counts in the file, and of events that had not been taken in before."""

    documents: int
    counts: int
    events: int


class _Item(NamedTuple):
    """One line: ``what`` is ``document``, ``counts`` or ``event``; its name, and what stands under it."""

    line: int
    what: str
    name: str
    content: Any


def contents_of(lines: Iterable[bytes]) -> Contents:
    """Check every line of a file.

    Raises:
        DataError: for the first line that is not as ``Export`` writes it, or where the end is missing.
    """
    digest = blake2b(digest_size=16)
    names: set[str] = set()
    counts = {"document": 0, "counts": 0, "event": 0}
    for item in _items(lines, digest.update):
        counts[item.what] += 1
        if item.what == "document":
            if item.name in names:
                raise DataError(f"line {item.line}: the document {item.name!r} is there twice")
            if len(names) >= MAX_DOCUMENTS:
                raise DataError(f"line {item.line}: there are more than {MAX_DOCUMENTS:,} documents")
            names.add(item.name)
    return Contents(digest.hexdigest(), frozenset(names), counts["counts"], counts["event"])


def import_state(
    store: Store, read: Callable[[], Iterable[bytes]], *, replace: bool = False, again: bool = False
) -> Imported:
    """Import a file. Nothing is written unless all of it can be read.

    Args:
        store: into which; another one than the file came from, where what it counts would be counted twice.
        read: the lines of the file from its beginning, each time it is called (twice).
        replace: put the file's documents in the place of those of the same name; an engine that is running on the
            store keeps what it has learned itself, and saves that over them.
        again: take in a content that was taken in before: its documents. Counts and events are not counted twice.

    Raises:
        DataError: where the file is none of ``Export``, damaged, or changed while it was read; where its content was
            taken in before; where the store has documents of the same names.
        StoreError: where the store fails. Half of the file may be in it then; the same call with ``again`` and
            ``replace`` takes in the rest.
    """
    contents = contents_of(read())
    if not replace:
        _refuse_known(store, contents.documents)
    if not store.claim(IMPORT, contents.digest) and not again:
        raise DataError("the store has taken in this content before; again (--again) takes its documents once more")
    try:
        return _take_in(store, read(), contents.digest)
    except StoreError as error:
        raise StoreError(f"{error}; part of the file is in the store: --again --replace takes in the rest") from error


def _take_in(store: Store, lines: Iterable[bytes], expected: str) -> Imported:
    digest = blake2b(digest_size=16)
    documents = counts = events = 0
    for item in _items(lines, digest.update):
        if item.what == "document":
            store.save({item.name: item.content})
            documents += 1
        elif item.what == "counts":
            counts += 1
            store.merge(Delta(f"import-{expected}", counts, {item.name: item.content}))
        elif store.claim(IMPORTED_EVENT, f"{expected} {item.line}"):
            store.append(item.name, item.content)
            events += 1
    if digest.hexdigest() != expected:
        raise DataError("the file was changed while it was read; compare what the store holds now")
    return Imported(documents, counts, events)


def _refuse_known(store: Store, names: Iterable[str]) -> None:
    known = sorted(set(store.names()).intersection(names))
    if known:
        more = f" and {len(known) - SHOWN:,} more" if len(known) > SHOWN else ""
        shown = ", ".join(map(repr, known[:SHOWN]))
        raise DataError(f"the store has documents of these names: {shown}{more}; replace (--replace) takes the file's")


def _items(lines: Iterable[bytes], taken: Callable[[bytes], Any]) -> Iterator[_Item]:
    """The lines between the first and the last, each checked, and passed to ``taken`` as they are read."""
    number = 0
    counts = {"documents": 0, "counts": 0, "events": 0}
    ended = False
    for number, raw in enumerate(lines, 1):
        try:
            if ended:
                raise DataError("there is more after the end")
            data = _parsed(raw)
            if number == 1:
                _check_header(data)
                continue
            taken(raw.rstrip(b"\r\n") + b"\n")
            if "end" in data:
                ended = True
                if data != {"end": counts}:
                    raise DataError("the end does not count what was before it: lines are missing, or were added")
                continue
            what, name, content = _checked(data)
        except DataError as error:
            raise DataError(f"line {number}: {error}") from None
        counts["counts" if what == "counts" else what + "s"] += 1
        yield _Item(number, what, name, content)
    if not number:
        raise DataError('the file is empty; an export begins with {"agentguard_state": 1, …}')
    if not ended:
        raise DataError(f"line {number}: the file is cut off: its last line is not there")


def _parsed(raw: bytes) -> dict[str, Any]:
    if len(raw) > MAX_LINE_BYTES:
        raise DataError(f"it is longer than {MAX_LINE_BYTES:,} bytes")

    def refuse(constant: str) -> None:
        raise ValueError(constant)  # NaN and Infinity are no JSON

    try:
        data = json.loads(raw.decode("utf-8"), parse_constant=refuse)
    except (ValueError, RecursionError):
        raise DataError("it is no JSON") from None
    if not isinstance(data, dict):
        raise DataError("it is no JSON object")
    return data


def _check_header(data: Mapping[str, Any]) -> None:
    version = data.get("agentguard_state")
    if type(version) is not int or version < 1:
        raise DataError('this is no exported state, which begins with {"agentguard_state": 1, …}')
    if version > FORMAT:
        raise DataError(f"the file has version {version}, this agentguard reads versions up to {FORMAT}: upgrade it")


def _checked(data: Mapping[str, Any]) -> tuple[str, str, Any]:
    keys = set(data)
    if keys == {"document", "content"} and isinstance(data["document"], str):
        check_document(data["document"], data["content"])
        return "document", data["document"], data["content"]
    if keys == {"counts", "fields"} and isinstance(data["counts"], str):
        check_counts(data["fields"])
        return "counts", data["counts"], data["fields"]
    if keys == {"event", "sequence", "at", "content"} and data["event"] in KINDS:
        check_event(data["event"], data["content"])
        if data["event"] == CHANGES and data["content"].get("label"):
            raise DataError("the field 'label' of an event of kind changes is a number of another store's log")
        return "event", data["event"], data["content"]
    raise DataError("it is neither a document, nor counts, nor an event of feedback, audit or changes")


def _line(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"


def check_document(name: str, document: Any) -> None:
    """Check that an engine can restore a document; raises ``DataError`` naming the fault."""
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
    """Check that an engine can read a label, an audit record or an event of a change.

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
        "traits": traits is None or read_traits(traits) is not None,
        **{name: event.get(name) is None or is_share(event[name]) for name in shares},
    }
    if kind == FEEDBACK:
        usable["was_hallucination"] = isinstance(event.get("was_hallucination"), bool)
    else:
        for name in ("propensity", "fired", "prior", "nats"):
            usable[name] = usable[name] and event.get(name) is not None
        usable["verdict"] = event.get("verdict") in VERDICTS
    for name, is_usable in usable.items():
        if not is_usable:
            raise DataError(f"the field {name!r} of an event of kind {kind} cannot be used")
    _check_storable("an event", event)


def _is_evidence(value: Any) -> bool:
    return type(value) in (int, float) and bool(-MOST_NATS <= value <= MOST_NATS)


def _check_storable(what: str, value: Any) -> None:
    try:
        encode(what, value)
    except StoreError as error:
        raise DataError(str(error)) from None
