"""Rows, settings and files that somebody planted in the folder are never run, followed or removed."""

import logging
import pickle
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from diskcache import Cache

from agentguard.errors import StoreError
from agentguard.stores import Delta, DiskStore, _base
from agentguard.stores._disk import Rows, named

MODE_TEXT, MODE_PICKLE = 3, 4  # as they stand in diskcache's table


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.touch, (self.path,)


@pytest.fixture
def exploded(tmp_path: Path) -> Path:
    return tmp_path / "exploded"


@pytest.fixture
def bomb(exploded: Path) -> bytes:
    data = pickle.dumps(Bomb(exploded))
    pickle.loads(data)  # noqa: S301  # what it would do
    assert exploded.exists(), "it is a bomb"
    exploded.unlink()
    return data


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A closed store that holds two of everything."""
    folder = tmp_path / "store"
    with DiskStore(folder) as store:
        for name in ("first", "second"):
            store.append("audit", {"name": name})
            store.claim("receipt", name)
            store.merge(Delta(name, 1, {name: {"calls": 1}}))
            store.save({name: {"n": 1}})
    return folder


def change(folder: Path, sql: str, *values: Any) -> int:
    with closing(sqlite3.connect(folder / "cache.db")) as connection, connection:
        return connection.execute(sql, values).rowcount


def use(store: DiskStore) -> Iterator[Any]:
    """Everything that reads, and everything that writes."""
    for call in (
        lambda: list(store.events("audit")),
        store.counts,
        lambda: store.counts(["first"]),
        store.load,
        lambda: store.load(["first"]),
        store.names,
        lambda: store.append("audit", {"name": "third"}),
        lambda: store.claim("receipt", "first"),
        lambda: store.merge(Delta("first", 2, {"first": {"calls": 1}})),
        lambda: store.save({"first": {"n": 2}}),
        lambda: store.forget(["second"]),
        lambda: store.prune(0.0),
    ):
        try:
            yield call()
        except StoreError as error:
            yield error


@pytest.mark.parametrize("kind_of_row", [b"e", b"c", b"i", b"l", b"n", b"w", b"d"])
def test_no_planted_pickle_is_unpickled(folder: Path, bomb: bytes, exploded: Path, kind_of_row: bytes) -> None:
    """Whichever kind of row it takes the place of."""
    update = "UPDATE Cache SET mode = ?, value = ? WHERE substr(key, 1, 1) = ?"
    assert change(folder, update, MODE_PICKLE, bomb, kind_of_row) >= 1
    with DiskStore(folder) as store:
        assert len(list(use(store))) == 12

    assert not exploded.exists()


def test_a_pickle_is_left_out_and_reported(
    folder: Path, bomb: bytes, exploded: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for kind_of_row in (b"e", b"d"):
        update = (
            "UPDATE Cache SET mode = ?, value = ?"
            " WHERE rowid = (SELECT MIN(rowid) FROM Cache WHERE substr(key, 1, 1) = ?)"
        )
        assert change(folder, update, MODE_PICKLE, bomb, kind_of_row) == 1

    with DiskStore(folder) as store, caplog.at_level(logging.ERROR):
        assert [record.event["name"] for record in store.events("audit")] == ["second"]
        assert list(store.load()) == ["second"]
        assert store.load(["first"]) == {}
        assert len(caplog.records) == 2, "once for each row"
        assert all("is left out: its value is a pickle" in record.message for record in caplog.records)
        store.save({"first": {"n": 3}})
        assert store.load(["first"]) == {"first": {"n": 3}}
    assert not exploded.exists()


def test_a_pickled_key_is_never_unpickled(folder: Path, bomb: bytes, exploded: Path) -> None:
    insert = "INSERT INTO Cache (key, raw, store_time, mode, value) VALUES (?, 0, 1.0, 1, x'7b7d')"
    change(folder, insert, bomb)
    change(folder, "UPDATE Cache SET raw = 0 WHERE substr(key, 1, 1) = ?", b"d")
    with DiskStore(folder) as store:
        assert store.load() == {}
        list(use(store))

    assert not exploded.exists()


@pytest.mark.parametrize("mode", [MODE_TEXT, MODE_PICKLE])
def test_no_file_that_a_row_names_is_read_or_removed(
    folder: Path, bomb: bytes, exploded: Path, tmp_path: Path, mode: int
) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(bomb)
    change(folder, "UPDATE Cache SET mode = ?, filename = '../victim', value = NULL", mode)
    with DiskStore(folder) as store:
        list(use(store))

    assert victim.read_bytes() == bomb
    assert not exploded.exists()


@pytest.mark.parametrize(
    "value",
    [b"", b"{", b"[]", b"null", b"\x80\x04N.", b'{"a": "\xff"}', b"x\x9c", b"{" * 100_000, "{}", "text", 1.5, 7, None],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_no_value_of_a_store_is_left_out(folder: Path, value: Any) -> None:
    change(folder, "UPDATE Cache SET value = ? WHERE substr(key, 1, 1) IN (x'65', x'6e', x'77', x'64')", value)
    with DiskStore(folder) as store:
        assert list(store.events("audit")) == []
        assert store.counts() == {}
        assert store.load() == {}
        hour = store.merge(Delta("first", 1, {"first": {"calls": 1}}))
        assert store.append("audit", {"n": 1}) == 3
        store.save({"first": {"n": 1}})
        assert store.counts() == {hour: {"first": {"calls": 1}}}
        assert store.load() == {"first": {"n": 1}}


def test_counts_that_are_no_integers_are_left_out(folder: Path) -> None:
    change(folder, "UPDATE Cache SET value = ? WHERE substr(key, 1, 1) = x'6e'", b'{"calls": "many"}')
    with DiskStore(folder) as store:
        assert store.counts() == {}


def test_a_stream_that_expands_without_end_is_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_base, "LONGEST", 1 << 16)
    bomb = zlib.compress(b" " * (1 << 18) + b"{}")
    change(folder, "UPDATE Cache SET value = ? WHERE substr(key, 1, 1) = x'64'", bomb)
    with DiskStore(folder) as store:
        assert store.load() == {}


@pytest.mark.parametrize("number", [-1, 1 << 62, "text", 1.5, None, b"x"])
def test_a_damaged_sequence_number_is_one_clear_error(folder: Path, number: Any) -> None:
    change(folder, "UPDATE Cache SET value = ? WHERE substr(key, 1, 2) = x'6c65'", number)
    with DiskStore(folder) as store, pytest.raises(StoreError, match="damaged"):
        store.append("audit", {"n": 1})


@pytest.mark.parametrize("key", [b"n", b"n\x30", b"n" + b"\x30" * 8, b"n\xff", b"e", b"eaudit\0\x20", b"d", b"dx"])
def test_planted_keys_end_no_loop_and_hide_nothing(folder: Path, key: bytes) -> None:
    insert = "INSERT INTO Cache (key, raw, store_time, mode, value) VALUES (?, 1, 1.0, 1, x'7b7d')"
    change(folder, insert, key)
    with DiskStore(folder) as store:
        assert [record.event["name"] for record in store.events("audit")] == ["first", "second"]
        ((_, counts),) = store.counts().items()
        assert counts == {"first": {"calls": 1}, "second": {"calls": 1}}
        assert {"first", "second"} <= store.load().keys()
        store.forget(["first", "second"])
        assert store.counts() == {}


def test_a_key_that_is_no_text_is_one_clear_error(folder: Path) -> None:
    insert = "INSERT INTO Cache (key, raw, store_time, mode, value) VALUES (x'64ff00', 1, 1.0, 1, x'7b7d')"
    change(folder, insert.replace("ff00", "c300"))
    with DiskStore(folder) as store, pytest.raises(StoreError, match="damaged"):
        store.names()


@pytest.mark.parametrize(
    ("name", "value"),
    [("sqlite_writable_schema", 1), ("get", 1), ("_disk", "x"), ("disk_directory", "/"), ("size_limit", b"x")],
)
def test_planted_settings_are_refused(folder: Path, name: str, value: Any) -> None:
    change(folder, "INSERT OR REPLACE INTO Settings VALUES (?, ?)", name, value)
    with pytest.raises(StoreError, match="settings that no store writes"):
        DiskStore(folder)


def test_planted_settings_of_known_names_do_not_hold(folder: Path) -> None:
    change(folder, "UPDATE Settings SET value = 'least-recently-stored' WHERE key = 'eviction_policy'")
    change(folder, "UPDATE Settings SET value = 10 WHERE key IN ('cull_limit', 'size_limit', 'disk_min_file_size')")
    change(folder, "UPDATE Settings SET value = 0 WHERE key = 'sqlite_synchronous'")
    with DiskStore(folder, survives="power") as store:
        for n in range(50):
            store.append("audit", {"n": n, "text": "x" * 5000})
        assert len(list(store.events("audit"))) == 52
        assert store._access._rows.connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert [path.name for path in folder.iterdir()] == ["cache.db"]


@pytest.mark.parametrize(
    "value",
    [("a", 1), {"a": 1}, None, object(), 1.5, "text", True, bytearray(b"x")],
    ids=lambda value: type(value).__name__,
)
def test_nothing_is_pickled(value: Any, tmp_path: Path) -> None:
    """Not even by a slip of the store's own."""
    rows = Rows(tmp_path / "store", 1.0, "process")
    for key, other in ((value, b"{}"), (b"d", value)):
        with pytest.raises(StoreError, match="bytes or an integer under bytes"), rows.transaction():
            rows.put(key, other, 1.0)
    with rows.transaction():
        rows.put(b"d", b"x" * 100_000, 1.0)
    assert change(tmp_path / "store", "UPDATE Cache SET mode = mode WHERE raw = 1 AND mode = 1") == 1
    rows.close()

    assert [path.name for path in (tmp_path / "store").iterdir()] == ["cache.db"]


def test_diskcache_reads_what_a_store_wrote(folder: Path) -> None:
    """By its public interface alone, and without a pickle or a file."""
    with Cache(str(folder)) as cache:
        assert cache[named(b"d", "first")] == b'{"n":1}'
        assert len(cache) == len(list(cache)) == change(folder, "UPDATE Cache SET mode = 1 WHERE raw = 1 AND mode = 1")
    with DiskStore(folder) as store:
        assert store.load() == {"first": {"n": 1}, "second": {"n": 1}}


def test_a_cache_of_diskcache_is_not_a_store(tmp_path: Path) -> None:
    with Cache(str(tmp_path / "cache")) as cache:
        cache["a"] = ("b",)
    with pytest.raises(StoreError, match="something else"):
        DiskStore(tmp_path / "cache")
    with Cache(str(tmp_path / "cache")) as cache:
        assert cache["a"] == ("b",)
