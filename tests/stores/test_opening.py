"""A store by its address; what is not installed is named, a password never is."""

import subprocess
import sys
from pathlib import Path

import pytest

import agentguard.stores
from agentguard.errors import ConfigurationError
from agentguard.stores import DiskStore, MemoryStore, open_store


def test_memory() -> None:
    assert isinstance(open_store("memory:"), MemoryStore)


@pytest.mark.parametrize("form", ["{}", "disk:{}", "DISK:{}", "{}/with:colon", "{}/redis:", "path"])
def test_a_folder(tmp_path: Path, form: str) -> None:
    where = tmp_path / "a" / "store"
    store = open_store(where if form == "path" else form.format(where))
    assert isinstance(store, DiskStore)
    store.append("audit", {"n": 1})
    store.close()

    assert where.exists()


def test_a_relative_folder_with_a_colon_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("state:2").mkdir()
    store = open_store("state:2")
    store.close()

    assert (tmp_path / "state:2" / "cache.db").exists()


def test_the_users_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    open_store("~/store").close()

    assert (tmp_path / "store" / "cache.db").exists()


@pytest.mark.parametrize(
    "where",
    [
        "postgres://user:secret@host/db",
        "REDISS+SENTINEL://user:secret@host",
        "http://user:secret@host",
        "mem:secret",
        "memory:secret",
        "redis:secret",
        "redis:/secret@host",
        "file:/secret",
    ],
)
def test_another_address_is_refused_without_repeating_it(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match="no store has an address") as raised:
        open_store(where)

    assert "secret" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", ["", "disk:"])
def test_no_folder_is_refused(where: str) -> None:
    with pytest.raises(ConfigurationError, match="needs a folder"):
        open_store(where)


WITHOUT = """
import sys
sys.modules[sys.argv[1]] = None  # as where it is not installed
from agentguard.errors import ConfigurationError
import agentguard.stores
for use in (lambda: agentguard.stores.open_store(sys.argv[2]), lambda: getattr(agentguard.stores, sys.argv[3])):
    try:
        use()
    except ConfigurationError as error:
        print(error)
"""


@pytest.mark.parametrize(
    ("package", "where", "name", "extra"),
    [
        ("diskcache", "somewhere", "DiskStore", "diskcache"),
        ("redis", "redis://user:secret@localhost/0", "RedisStore", "agentguard[redis]"),
        ("redis", "rediss://user:secret@localhost/0", "RedisStore", "agentguard[redis]"),
        ("redis", "unix://user:secret@/run/redis.sock", "RedisStore", "agentguard[redis]"),
    ],
)
def test_what_is_not_installed_is_named(package: str, where: str, name: str, extra: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT, package, where, name], capture_output=True, text=True, cwd=tmp_path
    )

    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert len(lines) == 2
    assert all(f"pip install '{extra}'" in line for line in lines)
    assert "secret" not in ran.stdout + ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_nothing_else_is_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'PostgresStore'"):
        agentguard.stores.PostgresStore  # noqa: B018  # asking for it is the test


def test_stores_load_no_backend_nor_pytest() -> None:
    heavy = {"diskcache", "pytest", "redis", "sqlite3"}
    code = f"import sys, agentguard, agentguard.stores; print({heavy} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "set()"
