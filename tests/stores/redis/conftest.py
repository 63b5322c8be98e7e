"""Redis servers on loopback, each with a folder of its own."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

PASSWORD = "p/a#s?s:w@r%d"
ESCAPED = "p%2Fa%23s%3Fs%3Aw%40r%25d"
PATIENCE = 20.0  # seconds
# With which nothing that was acknowledged is lost to a kill; docs/operations.md gives the reason of each.
SAFE = ("--appendonly", "yes", "--appendfsync", "always")


class RedisServer:
    """A ``redis-server`` that keeps an append-only file in its folder and can be ended and started again."""

    def __init__(self, folder: Path, *settings: str, tls: bool = False, repaired: bool = True) -> None:
        self._folder, self._settings, self._tls, self._repaired = folder, settings, tls, repaired
        self._process: subprocess.Popen[bytes] | None = None
        self.port = _free_port()
        self.password = PASSWORD
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def url(self) -> str:
        if self._tls:
            return f"rediss://:{ESCAPED}@localhost:{self.port}/0?ssl_ca_certs={self._folder / 'ca.crt'}"
        return f"redis://:{ESCAPED}@127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def client(self, **options: Any) -> Any:
        return redis.Redis.from_url(self.url, **options)

    @property
    def log_of_writes(self) -> Path:
        """The append-only file; of several, as from Redis 7 on, the one that grows."""
        (path,) = (*self._folder.glob("*.aof"), *self._folder.glob("*/*.incr.aof"))
        return path

    def start(self) -> None:
        """Start it, with its append-only file ``repaired``, and wait until it has loaded its data."""
        if self._repaired:
            self._repair()
        port = ("--port", "0", "--tls-port") if self._tls else ("--port",)
        unrepaired = "no" if self._repaired else "yes"
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    _program("redis-server"), *port, str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder),
                    "--save", "", *SAFE, "--aof-load-truncated", unrepaired, "--requirepass", self.password,
                    *self._settings,
                ],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        deadline = time.monotonic() + PATIENCE
        with self.client() as client:
            while True:
                try:
                    client.ping()
                    return
                except redis.exceptions.ConnectionError:
                    if self._process.poll() is not None or time.monotonic() > deadline:
                        raise RuntimeError((self._folder / "log").read_text()) from None
                    time.sleep(0.01)

    def kill(self) -> None:
        """As ``kill -9`` does it."""
        self._end(signal.SIGKILL)

    def shut_down(self) -> None:
        """As ``SHUTDOWN`` and a service manager do it."""
        self._end(signal.SIGTERM)

    def freeze(self) -> None:
        """Accepts connections and answers nothing."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def _repair(self) -> None:
        """Cut off what was written of a transaction when the server was killed."""
        for path in (*self._folder.glob("*.aof"), *self._folder.glob("*/*.manifest")):
            subprocess.run(
                [_program("redis-check-aof"), "--fix", str(path)], input=b"y\n", check=True, capture_output=True
            )

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(how)
            self._process.wait(PATIENCE)


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., RedisServer]]:
    """Starts a server with settings of its own; all are killed in the end."""
    servers: list[RedisServer] = []

    def start(*settings: str, **options: Any) -> RedisServer:
        servers.append(RedisServer(tmp_path_factory.mktemp("redis"), *settings, **options))
        servers[-1].start()
        return servers[-1]

    yield start
    for server in servers:
        server.kill()


@pytest.fixture(scope="session")
def server(started: Callable[..., RedisServer]) -> RedisServer:
    """One server for all tests that leave it running; each has a prefix of its own."""
    return started()


@pytest.fixture(scope="session")
def tls_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A server that speaks TLS alone, with a certificate for localhost of an authority of its own."""
    folder = tmp_path_factory.mktemp("tls")
    _certificates(folder)
    server = RedisServer(
        folder, "--tls-cert-file", str(folder / "server.crt"), "--tls-key-file", str(folder / "server.key"),
        "--tls-ca-cert-file", str(folder / "ca.crt"), "--tls-auth-clients", "no", tls=True,
    )  # fmt: skip
    server.start()
    yield server
    server.kill()


@pytest.fixture
def prefix(_numbers: Iterator[int]) -> str:
    """A prefix that no other test has."""
    return f"test{next(_numbers)}"


@pytest.fixture(scope="session")
def _numbers() -> Iterator[int]:
    return itertools.count()


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"NOT TESTED on a real Redis: there is no {name} (Debian and Ubuntu: apt-get install redis-server)")
    return path


def _free_port() -> int:
    port = 65535
    while port > 55535:  # a cluster's own port is 10,000 above
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
    return port


def _certificates(folder: Path) -> None:
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("NOT TESTED over TLS: there is no openssl to make a certificate with")

    def openssl(*arguments: str) -> None:
        subprocess.run([program, *arguments], cwd=folder, check=True, capture_output=True)

    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl(
        "req", "-x509", *curve, "-keyout", "ca.key", "-out", "ca.crt", "-days", "2", "-subj", "/CN=Test authority",
        "-addext", "keyUsage=critical,keyCertSign",
    )  # fmt: skip
    openssl("req", *curve, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=localhost")
    (folder / "names").write_text("subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n")
    openssl(
        "x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-out",
        "server.crt", "-days", "2", "-extfile", "names",
    )  # fmt: skip
