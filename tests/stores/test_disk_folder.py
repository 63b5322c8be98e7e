"""The folder of a DiskStore: private, its own, of a known format; and one clear error where it cannot be used."""

import json
import logging
import os
import shutil
import sqlite3
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agentguard.errors import ConfigurationError, StoreError
from agentguard.stores import Delta, DiskStore, _disk
from agentguard.stores._disk import named

posix = pytest.mark.skipif(os.name != "posix", reason="modes and owners are of POSIX")


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@posix
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_folder_and_files_are_private(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        store = DiskStore(tmp_path / "a" / "store")
        store.append("audit", {"n": 1})
        modes = {path.name: mode(path) for path in (tmp_path / "a" / "store").iterdir()}
        store.close()
    finally:
        os.umask(before)

    assert mode(tmp_path / "a" / "store") == 0o700
    assert modes == {"cache.db": 0o600, "cache.db-wal": 0o600, "cache.db-shm": 0o600}


@posix
def test_a_store_that_others_could_read_is_tightened(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "store"
    DiskStore(folder).close()
    folder.chmod(0o755)
    (folder / "cache.db").chmod(0o644)
    with caplog.at_level(logging.WARNING):
        DiskStore(folder).close()

    assert (mode(folder), mode(folder / "cache.db")) == (0o700, 0o600)
    assert [record.getMessage() for record in caplog.records] == [
        f"{path} was open to other users; it is no more" for path in (folder, folder / "cache.db")
    ]


@posix
def test_a_folder_of_something_else_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    tmp_path.chmod(0o755)
    with pytest.raises(StoreError, match="a folder of its own"):
        DiskStore(tmp_path)

    assert mode(tmp_path) == 0o755
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("")
    with pytest.raises(StoreError, match="store"):
        DiskStore(tmp_path / "store")
    with pytest.raises(StoreError, match="store"):
        DiskStore(tmp_path / "store" / "below")


@posix
@pytest.mark.parametrize("name", ["cache.db", "cache.db-wal", "cache.db-shm"])
@pytest.mark.parametrize("leads_somewhere", [True, False])
def test_links_in_the_folder_are_not_followed(tmp_path: Path, name: str, leads_somewhere: bool) -> None:
    folder, victim = tmp_path / "store", tmp_path / "victim"
    DiskStore(folder).close()
    if leads_somewhere:
        victim.write_bytes(b"")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(victim)
    with pytest.raises(StoreError, match="no plain file"):
        DiskStore(folder)

    assert victim.exists() == leads_somewhere


@posix
@pytest.mark.parametrize("foreign", [".", "cache.db"])
def test_what_belongs_to_another_user_is_refused(tmp_path: Path, foreign: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files to another user")
    folder = tmp_path / "store"
    DiskStore(folder).close()
    os.chown(folder / foreign, 65534, -1)
    with pytest.raises(StoreError, match="belongs to user 65534"):
        DiskStore(folder)


def test_names_of_variables_in_the_folder_are_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELSEWHERE", str(tmp_path / "elsewhere"))
    monkeypatch.chdir(tmp_path)
    with DiskStore("$ELSEWHERE") as store:
        store.append("audit", {"n": 1})

    assert [path.name for path in tmp_path.iterdir()] == ["$ELSEWHERE"]


def test_the_folder_stays_where_it_was_when_the_process_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    with DiskStore("store") as store:
        monkeypatch.chdir(tmp_path / "other")
        store.append("audit", {"n": 1})
        assert store.folder == tmp_path / "store"
    assert list((tmp_path / "other").iterdir()) == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A closed store with one event and one document."""
    with DiskStore(tmp_path / "store") as store:
        store.append("audit", {"n": 1})
        store.save({"add": {"n": 1}})
    return tmp_path / "store"


def run(folder: Path, sql: str) -> list[tuple[int]]:
    with closing(sqlite3.connect(folder / "cache.db")) as connection, connection:
        return connection.execute(sql).fetchall()


def test_a_newer_format_is_refused(folder: Path) -> None:
    run(folder, "PRAGMA user_version = 2")
    with pytest.raises(StoreError, match=r"format 2, written by a newer agentguard; this one knows formats up to 1"):
        DiskStore(folder)

    assert run(folder, "PRAGMA user_version") == [(2,)]


def test_a_store_written_by_0_1_0_is_read_and_written(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    dump = Path(__file__).with_name("format_1.sql").read_text(encoding="utf-8")
    with closing(sqlite3.connect(folder / "cache.db")) as connection:
        connection.executescript(dump)
    with DiskStore(folder, clock=lambda: 1_800_000_100.0) as store:
        assert [(record.sequence, record.event["n"]) for record in store.events("audit")] == [(1, 1), (2, 2)]
        assert store.load() == {"add": {"n": 1}, "sub\0": {"n": 2}}
        assert store.counts() == {500_000: {"add": {"calls": 3}}}
        assert store.standing(["audit"]) == ("bfdeea507b624599979996a784ec3f2b", {"audit": 2})
        assert not store.claim("receipt", "c1")
        assert store.merge(Delta("w", 1, {"add": {"calls": 3}})) == 500_000
        assert store.counts() == {500_000: {"add": {"calls": 3}}}
        assert store.append("audit", {"n": 3}) == 3
        assert store.prune(0.0) == 2 + 1 + 2  # events, the claim, documents


def next_format(monkeypatch: pytest.MonkeyPatch, format_: int) -> None:
    monkeypatch.setattr(_disk, "FORMAT", format_)


def doubled(connection: sqlite3.Connection) -> None:
    connection.execute("""UPDATE Cache SET value = CAST('{"n":2}' AS BLOB) WHERE substr(key, 1, 1) = x'64'""")


def renamed(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE Cache SET key = ? WHERE substr(key, 1, 1) = x'64'", (named(b"d", "sub"),))


def test_an_older_format_is_brought_up_step_by_step(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    next_format(monkeypatch, 3)
    monkeypatch.setattr(_disk, "MIGRATIONS", {1: doubled, 2: renamed})
    with DiskStore(folder) as store:
        assert store.load() == {"sub": {"n": 2}}
        assert [record.event for record in store.events("audit")] == [{"n": 1}]
    with DiskStore(folder) as store:
        assert store.load() == {"sub": {"n": 2}}
    assert run(folder, "PRAGMA user_version") == [(3,)]


def test_a_step_that_fails_leaves_the_store_as_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM Cache")
        connection.execute("SELECT no_such_column FROM Cache")

    with monkeypatch.context() as newer:
        next_format(newer, 3)
        newer.setattr(_disk, "MIGRATIONS", {1: doubled, 2: broken})
        with pytest.raises(StoreError, match="no_such_column"):
            DiskStore(folder)

    with DiskStore(folder) as store:
        assert store.load() == {"add": {"n": 1}}


def test_a_format_that_nothing_leads_from_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    next_format(monkeypatch, 3)
    monkeypatch.setattr(_disk, "MIGRATIONS", {2: renamed})
    with pytest.raises(StoreError, match="format 1, which nothing leads from"):
        DiskStore(folder)


def test_a_store_that_was_brought_to_a_newer_format_meanwhile_refuses(folder: Path) -> None:
    with DiskStore(folder) as store:
        run(folder, "PRAGMA user_version = 2")
        with pytest.raises(StoreError, match="format 2 while it was open"):
            store.append("audit", {"n": 2})
        with pytest.raises(StoreError, match="format 2 while it was open"):
            store.load()
        run(folder, "PRAGMA user_version = 1")
        assert store.append("audit", {"n": 2}) == 2


@pytest.mark.parametrize("left", ["empty file", "new head", "half of the tables"])
def test_a_store_whose_making_was_cut_off_opens(tmp_path: Path, left: str) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    (folder / "cache.db").touch()
    if left != "empty file":
        _disk.recognise(folder / "cache.db", 1.0, {})
    if left == "half of the tables":
        run(folder, "CREATE TABLE Settings (key TEXT NOT NULL UNIQUE, value)")
    with DiskStore(folder) as store:
        assert store.append("audit", {"n": 1}) == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"no database at all, but some other text " * 100,
        lambda data: data[: len(data) // 2],
        lambda data: data[:4096] + bytes(len(data) - 4096),
        lambda data: data[:100] + b"\xff" * (len(data) - 100),
    ],
    ids=["text", "cut off", "zeros after the first page", "noise after the head"],
)
def test_a_damaged_database_is_one_clear_error(folder: Path, damage: Callable[[bytes], bytes]) -> None:
    database = folder / "cache.db"
    database.write_bytes(damage(database.read_bytes()))

    def use() -> None:
        with DiskStore(folder) as store:
            store.append("audit", {"n": 2})
            list(store.events("audit"))
            store.load()

    with pytest.raises(StoreError, match=r"damaged|cannot be read") as raised:
        use()
    assert str(folder) in str(raised.value)


def test_a_writer_that_hangs_is_one_clear_error(folder: Path) -> None:
    with DiskStore(folder, timeout=0.05) as store, closing(sqlite3.connect(folder / "cache.db")) as other:
        other.isolation_level = None
        other.execute("BEGIN IMMEDIATE")
        for call in (
            lambda: store.append("audit", {"n": 2}),
            lambda: store.claim("receipt", "c1"),
            lambda: store.merge(Delta("a", 1, {"add": {"calls": 1}})),
            lambda: store.save({"add": {"n": 2}}),
            lambda: store.prune(0.0),
            lambda: DiskStore(folder, timeout=0.05),
        ):
            with pytest.raises(StoreError, match="another process has been writing"):
                call()
        assert store.load() == {"add": {"n": 1}}, "readers do not wait"
        other.execute("COMMIT")
        assert store.append("audit", {"n": 2}) == 2


def until_full(call: Callable[[int], object]) -> int:
    """Call again and again until the disk is full; how often that went well."""
    for n in range(100_000):
        try:
            call(n)
        except StoreError as error:
            if "the disk is full; nothing of this call was kept" not in str(error):
                raise
            return n
    raise AssertionError("there was room for everything")


def mount(*arguments: str | Path) -> bool:
    program = shutil.which("mount")
    return program is not None and subprocess.run([program, *arguments], capture_output=True).returncode == 0


def unmount(disk: Path) -> None:
    subprocess.run([shutil.which("umount") or "", disk], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if not mount("-t", "tmpfs", "-o", "size=2m", "tmpfs", disk):
        pytest.skip("a small disk needs the right to mount one")
    yield disk
    unmount(disk)


def test_a_full_disk_is_one_clear_error_and_loses_nothing(small_disk: Path) -> None:
    filler = small_disk / "filler"
    filler.write_bytes(bytes(500_000))
    with DiskStore(small_disk / "store", max_names=100_000) as store:
        kept = until_full(lambda n: store.append("audit", {"n": n, "text": os.urandom(2000).hex()}))
        assert kept > 20
        saved = until_full(lambda n: store.save({f"{n}": {"text": os.urandom(5000).hex()}}))
        merged = until_full(lambda n: store.merge(Delta("a", n + 1, {f"{n}/{tool}": {"n": n} for tool in range(99)})))
        claimed = until_full(lambda n: store.claim("receipt", f"{n}"))
        assert len(store.names()) == saved
        assert sum(len(names) for names in store.counts().values()) == merged * 99
        assert [record.event["n"] for record in store.events("audit")] == list(range(kept))
        filler.unlink()
        assert store.append("audit", {"n": kept}) == kept + 1
        assert not any(store.claim("receipt", f"{n}") for n in range(claimed))
        assert store.claim("receipt", f"{claimed}")
    with DiskStore(small_disk / "store") as store:
        assert len(list(store.events("audit"))) == kept + 1
        assert len(store.load()) == saved


def test_a_full_disk_on_opening_is_one_clear_error(small_disk: Path) -> None:
    with (small_disk / "filler").open("wb", buffering=0) as filler:
        assert filler.write(bytes(4_000_000)) < 2_500_000
    with pytest.raises(StoreError, match="the disk is full"):
        DiskStore(small_disk / "store")


LIMITED = """
import json, os, resource, sys
from agentguard.errors import StoreError
from agentguard.stores import DiskStore

store = DiskStore(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
for n in range(10_000):
    try:
        store.append("audit", {"n": n, "text": os.urandom(1000).hex()})
    except StoreError as error:
        message = str(error)
        break
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert store.append("audit", {"n": n}) == n + 1
print(json.dumps([n + 1, message]))
"""


@posix
def test_a_file_that_may_not_grow_is_one_clear_error(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", LIMITED, tmp_path / "store"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    kept, message = json.loads(ran.stdout)

    assert "nothing of this call was kept" in message
    with DiskStore(tmp_path / "store") as store:
        assert [record.event["n"] for record in store.events("audit")] == list(range(kept))


@pytest.fixture
def read_only(folder: Path) -> Iterator[Path]:
    """A store on a file system that is mounted to be read, which holds for root too."""
    if not mount("--bind", folder, folder):
        pytest.skip("a read-only disk needs the right to mount one")
    assert mount("-o", "remount,bind,ro", folder)
    yield folder
    unmount(folder)


def test_a_read_only_disk_is_one_clear_error(read_only: Path) -> None:
    with pytest.raises(StoreError, match="the folder cannot be written") as raised:
        DiskStore(read_only)
    assert str(read_only) in str(raised.value)


UNPRIVILEGED = """
import os, sys
from agentguard.errors import StoreError
from agentguard.stores import DiskStore

if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    DiskStore(sys.argv[1])
except StoreError as error:
    print(error)
"""


@posix
def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o755)
    (tmp_path / "locked").chmod(0o555)
    for parent in tmp_path.parents[:2]:  # those that pytest makes private
        parent.chmod(0o755)
    tmp_path.chmod(0o755)
    ran = subprocess.run(
        [sys.executable, "-c", UNPRIVILEGED, tmp_path / "locked" / "store"], capture_output=True, text=True
    )
    if "ModuleNotFoundError" in ran.stderr or "PermissionError" in ran.stderr:
        pytest.skip("an unprivileged user cannot read this checkout")

    assert ran.returncode == 0, ran.stderr
    assert "the folder cannot be written" in ran.stdout
    assert "locked" in ran.stdout


def test_what_is_older_than_max_age_goes_by_itself(tmp_path: Path) -> None:
    now = [1_000_000.0]
    with DiskStore(tmp_path / "store", max_age=86_400.0, clock=lambda: now[0]) as store:
        store.append("audit", {"n": 1})
        store.save({"add": {"n": 1}})
        now[0] += 86_000
        store.append("audit", {"n": 2})
        assert [record.event["n"] for record in store.events("audit")] == [1, 2]
        now[0] += 4_000
        store.append("audit", {"n": 3})
        assert [record.event["n"] for record in store.events("audit")] == [2, 3]
        assert store.load() == {}
    now[0] += 200_000
    with DiskStore(tmp_path / "store", max_age=86_400.0, clock=lambda: now[0]) as store:
        assert list(store.events("audit")) == []
        assert store.append("audit", {"n": 4}) == 4


def test_pruning_gives_room_back(tmp_path: Path) -> None:
    with DiskStore(tmp_path / "store", clock=lambda: 1_000_000.0) as store:
        for n in range(500):
            store.append("audit", {"n": n, "text": os.urandom(2000).hex()})
    size = (tmp_path / "store" / "cache.db").stat().st_size
    with DiskStore(tmp_path / "store", clock=lambda: 2_000_000.0) as store:
        assert store.prune(1.0) == 500

    assert (tmp_path / "store" / "cache.db").stat().st_size < size / 10


def test_events_are_read_in_constant_memory(tmp_path: Path) -> None:
    """30 MB of them, while much less than that is held."""
    with DiskStore(tmp_path / "store") as store:
        for n in range(1500):
            store.append("audit", {"n": n, "text": os.urandom(10_000).hex()})
        tracemalloc.start()
        try:
            assert sum(1 for _ in store.events("audit")) == 1500
            assert tracemalloc.get_traced_memory()[1] < 6_000_000
        finally:
            tracemalloc.stop()


def test_what_survives_is_one_of_two(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="'process' or 'power'"):
        DiskStore(tmp_path / "store", survives="anything")  # type: ignore[arg-type]  # that is the point
    for survives, synchronous in (("process", 1), ("power", 2)):
        with DiskStore(tmp_path / "store", survives=survives) as store:  # type: ignore[arg-type]  # a loop variable
            store.append("audit", {"n": 1})
            assert store._access._rows.connection.execute("PRAGMA synchronous").fetchone() == (synchronous,)
