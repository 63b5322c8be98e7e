"""Stores: what they keep, rows that somebody planted, learned state and exports that somebody changed."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from functools import lru_cache
from typing import Any

from agentguard.admin._transfer import Export, import_state
from agentguard.errors import DataError, StoreError
from agentguard.stores import Delta, DiskStore, MemoryStore
from agentguard.stores._base import decode, encode
from agentguard.verification import VerificationEngine
from agentguard.verification._changes import CHANGES, changes_in, decide
from agentguard.verification._snapshot import decode as decode_state
from agentguard.verification._snapshot import encode as encode_state
from fuzz import grammar, objects
from fuzz.copied import Copied
from fuzz.harness import Harness, folder, quiet
from fuzz.source import Source
from fuzz.trial import Trial, require

__all__ = ["HARNESSES"]

MARKS = (
    "~dict",
    "~tuple",
    "~set",
    "~Counter",
    "~bytes",
    "~array",
    "~deque",
    "~float",
    "~digests",
    "~type",
    "~Layout",
    "~Ring",
)
EVENT = ("change", "tool", "state", "by", "what", "traits", "reviews", "label", "why")
STATES = ("open", "fault", "adopted", "recovered", "mode", "followed")


def _encoding(trial: Trial) -> None:
    source = trial.source
    value = objects.anything(source, shared=False) if source.chance(3) else grammar.value(source)
    kept = trial.call(encode, "a value", value, allowed=StoreError)
    if isinstance(kept, bytes):
        read = decode(kept)
        require(decode(encode("it again", read)) == read, "a value read back is another")
    given = source.verbatim()
    planted = grammar.bytes_of(source, grammar.json_text(source)) if given is None else given
    if source.chance(2):
        planted = b"x\x01" + planted
    if isinstance(kept, bytes) and source.chance(2):
        at = source.integer(0, len(kept) - 1)
        planted = kept[:at] + source.raw(2) + kept[at + source.integer(0, 4) :]
    trial.call(decode, planted, allowed=ValueError)


@lru_cache(maxsize=1)
def _whole() -> bytes:
    """A store's file that holds two of everything."""
    place = folder() / "whole"
    with DiskStore(place) as store:
        for name in ("first", "second"):
            store.append("audit", {"name": name})
            store.claim("receipt", name)
            store.merge(Delta(name, 1, {name: {"calls": 1}}))
            store.save({name: {"n": 1}})
    with closing(sqlite3.connect(place / "cache.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return (place / "cache.db").read_bytes()


def _uses(store: DiskStore) -> tuple[Callable[[], Any], ...]:
    return (
        lambda: list(store.events("audit")), store.counts, lambda: store.counts(["first"]), store.load, store.names,
        lambda: store.append("audit", {"name": "third"}), lambda: store.claim("receipt", "first"),
        lambda: store.merge(Delta("first", 2, {"first": {"calls": 1}})), lambda: store.save({"first": {"n": 2}}),
        lambda: store.forget(["second"]), lambda: store.prune(0.0),
    )  # fmt: skip


def _planted(trial: Trial) -> None:
    """Rows changed behind the store's back, or bytes of its file: an answer or a StoreError, and nothing is run."""
    source = trial.source
    whole, place = _whole(), folder() / "planted-store"
    place.mkdir(mode=0o700, exist_ok=True)
    for old in place.iterdir():
        old.unlink()
    data, kind = whole, source.integer(0, 3)
    if kind == 3:
        at = source.integer(0, len(whole) - 1)
        piece = source.raw(source.integer(0, 8))
        data = whole[:at] + piece + whole[at + len(piece) :]
    path = place / "cache.db"
    path.write_bytes(data)
    path.chmod(0o600)
    if kind < 3:
        row = source.choice((b"e", b"c", b"i", b"l", b"n", b"w", b"d"))
        made: Any = grammar.bytes_of(source, grammar.json_text(source))[:4_000]
        made = (
            made
            if source.integer(0, 3)
            else source.choice((b"x\x9c\xff", b"\x80\x04.", "text", 7, -(2**63), 0.5, None, b""))
        )
        with closing(sqlite3.connect(path)) as connection, connection:
            column = source.choice(
                ("value", "value", "mode", "key", "raw", "filename", "store_time", "expire_time", "size")
            )
            with suppress(sqlite3.IntegrityError):  # two rows of one key, which the table refuses
                connection.execute(f"UPDATE Cache SET {column} = ? WHERE substr(key, 1, 1) = ?", (made, row))  # noqa: S608  # a column of the list above
    logging.disable(logging.CRITICAL)  # what is left out is reported, which is right
    try:
        store = trial.call(DiskStore, place, allowed=StoreError, again=False, of=data)
        if isinstance(store, DiskStore):
            with store:
                for use in _uses(store):
                    trial.call(use, allowed=StoreError, again=False)
    finally:
        logging.disable(logging.NOTSET)


def _state(source: Source, depth: int = 4) -> Any:
    kind = source.integer(0, 5)
    if depth and source.left and kind < 3:
        return (
            {source.choice(MARKS): _state(source, depth - 1)}
            if kind
            else [_state(source, depth - 1) for _ in range(source.integer(0, 3))]
        )
    return grammar.value(source, 2)


@lru_cache(maxsize=1)
def _learned() -> tuple[MemoryStore, dict[str, Any], tuple[bytes, ...]]:
    """A store after some calls, a label and a lasting change; its documents; its export."""
    store = MemoryStore()
    with VerificationEngine(store=store, audit_rate=1.0) as engine:
        for n in range(30):
            engine.verify("t", args={"id": n % 3}, result={"id": n % 3, "rows": [{"x": n}]}, execution_time_ms=50.0 + n)
        for n in range(6):
            engine.verify("t", args={"id": n}, result={"ids": [n], "lines": n * "x"}, execution_time_ms=50.0)
        engine.record_feedback("t", 0.4, True)
    return store, {name: dict(document) for name, document in store.load().items()}, tuple(Export(store, at=1.0))


def _changed(source: Source, value: Any, depth: int = 12) -> Any:
    """The same value with one part of it exchanged."""
    if depth and isinstance(value, dict) and value and source.integer(0, 15):
        name = source.choice(tuple(value))
        return {**value, name: _changed(source, value[name], depth - 1)}
    if depth and isinstance(value, list) and value and source.integer(0, 15):
        at = source.integer(0, len(value) - 1)
        return [*value[:at], _changed(source, value[at], depth - 1), *value[at + 1 :]]
    return _state(source, 2)


def _snapshot(trial: Trial) -> None:
    source = trial.source
    state = _state(source)
    read = trial.call(decode_state, state, allowed=DataError, again=False)
    if not isinstance(read, DataError):
        encode_state(read)
    kept, documents, _ = _learned()
    name = source.choice(tuple(documents))
    store = Copied(kept)
    changed = _changed(source, documents[name]) if source.integer(0, 3) else documents[name]
    with suppress(StoreError):  # what no store keeps
        store.save({name: changed})
    logging.disable(logging.CRITICAL)  # damaged state is reported, which is right
    try:
        engine = VerificationEngine(store=store)
        for id_ in (1, 2):
            args = {"id": id_}
            found = trial.call(engine.verify, "t", args=args, result={"id": 1, "rows": [{"x": 3}]}, again=False)
            require(0.0 <= found.posterior <= 1.0, f"posterior {found.posterior} from damaged state")
        if trial.thorough:
            engine.close()
    finally:
        logging.disable(logging.NOTSET)


def _export(trial: Trial) -> None:
    source = trial.source
    lines = list(_learned()[2])
    for _ in range(source.integer(1, 2)):
        at = source.integer(0, len(lines) - 1)
        kind = source.integer(0, 4)
        if kind == 0:
            del lines[at]
        elif kind == 1:
            lines.insert(at, lines[at])
        elif kind == 2:
            lines[at] = grammar.bytes_of(source, grammar.json_text(source))
        elif kind == 3:
            line = lines[at]
            place = source.integer(0, len(line) - 1)
            lines[at] = line[:place] + source.raw(2) + line[place + source.integer(0, 3) :]
        else:
            with suppress(RecursionError, ValueError):  # what cannot be written is in no file
                lines[at] = json.dumps(_changed(source, json.loads(lines[at])), default=str).encode()
        if not lines:
            break
    store = MemoryStore()
    found = trial.call(import_state, store, lambda: iter(lines), allowed=(DataError, StoreError), again=False, of=lines)
    if isinstance(found, DataError):
        require(not store.load() and not store.counts(), "part of a refused file is in the store")


def _event(source: Source) -> dict[str, Any]:
    event = {"change": source.choice(("c1", "c2", "")), "tool": "t", "state": source.choice(STATES), "by": "engine"}
    for _ in range(source.integer(0, 3)):
        value = grammar.value(source, 2) if source.integer(0, 2) else source.choice((0, 1, -1, True, "review", ["a"]))
        event[source.choice(EVENT)] = value
    return event


def _change_log(trial: Trial) -> None:
    """Events of changes that somebody planted: read or passed over, and an engine goes on."""
    source = trial.source
    store = MemoryStore()
    for _ in range(source.integer(1, 5)):
        with suppress(StoreError):  # what no store keeps
            store.append(CHANGES, _event(source))
    found = trial.call(changes_in, store)
    require(len({change.id for change in found}) == len(found), "two changes of one id")
    require(all(change.state in STATES and change.tool and change.what for change in found), "a change of no state")
    id_ = source.choice(("c1", "c", "", grammar.name(source)))
    decided = trial.call(
        decide, store, id_, source.choice(("fault", "adopted", "open")), again=False, allowed=DataError
    )
    if not isinstance(decided, DataError):
        (after,) = (change for change in changes_in(store) if change.id == decided.id)
        require(after.state == decided.state and after.reviewed, "what was decided is not on record")
    with quiet():
        engine = VerificationEngine(store=store)
        verdict = trial.call(engine.verify, "t", args={"id": 1}, result={"id": 1}, again=False)
        require(0.0 <= verdict.posterior <= 1.0, f"posterior {verdict.posterior}")
        if trial.thorough:
            engine.close()


HARNESSES = (
    Harness("store_encoding", "stores.encoding: encode, decode", _encoding),
    Harness("planted_rows", "DiskStore on planted rows and damaged files", _planted),
    Harness("learned_state", "snapshot.decode, and an engine on damaged state", _snapshot),
    Harness("state_files", "import_state on changed exports", _export),
    Harness("change_log", "changes_in, decide, and an engine on planted events", _change_log),
)
