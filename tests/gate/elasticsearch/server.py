"""An Elasticsearch server on loopback, with a folder of its own."""

from __future__ import annotations

import contextlib
import ctypes
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "ensure_server.sh"
PATIENCE = 120.0  # seconds
NOBODY = 65534
PASSWORD = "s3cret-pass"
# Of PASSWORD, by the server's own `elasticsearch-users`.
HASH = "$2a$10$cIEn3rlEbTvUJ/.16k6P4OAkP0UdFBQ1KFZWC0t6fMyncul2yIdD."

# Who gives no name may do all but touch an index called sealed…; names are checked, and privileges are those of roles.
# `writer` has what the documentation asks for, `reader` less.
ROLES = """
anyone:
  cluster: [all]
  indices: [{names: ["/~(sealed.*)/"], privileges: [all]}]
writer:
  cluster: [manage_index_templates]
  indices: [{names: ["sealed*"], privileges: [read, write, manage]}]
reader:
  indices: [{names: ["sealed*"], privileges: [read]}]
"""
SETTINGS = {
    "discovery.type": "single-node",
    "network.host": "127.0.0.1",
    "transport.port": 0,
    "xpack.security.enabled": True,
    "xpack.security.enrollment.enabled": False,
    "xpack.security.http.ssl.enabled": False,
    "xpack.security.transport.ssl.enabled": False,
    "xpack.security.authc.anonymous.username": "anyone",
    "xpack.security.authc.anonymous.roles": "anyone",
    "cluster.routing.allocation.disk.threshold_enabled": False,  # a full disk of the tester's is not ours to judge
}


class ElasticsearchServer:
    """Runs as an ordinary user, keeps its data when it is killed, and dies with the tests however they end."""

    def __init__(self) -> None:
        found = subprocess.run([SCRIPT, "--where"], capture_output=True, text=True, check=False)
        if found.returncode:
            pytest.skip(f"NOT TESTED on a real Elasticsearch: there is none; {SCRIPT.name} fetches it")
        self._home, self._java = map(Path, found.stdout.splitlines())
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="agentguard-elasticsearch-"))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        (self._folder / "tmp").mkdir()
        config = self._folder / "config"
        shutil.copytree(self._home / "config", config)
        settings = SETTINGS | {
            "http.port": self._port, "path.data": str(self._folder / "data"), "path.logs": str(self._folder / "logs"),
        }  # fmt: skip
        (config / "elasticsearch.yml").write_text(json.dumps(settings))  # JSON is YAML
        (config / "roles.yml").write_text(ROLES)
        (config / "users").write_text(f"reader:{HASH}\nwriter:{HASH}\n")
        (config / "users_roles").write_text("reader:reader\nwriter:writer\n")
        self._user = NOBODY if os.geteuid() == 0 else None
        if self._user is not None:
            for path in (self._folder, *self._folder.rglob("*")):
                os.chown(path, NOBODY, NOBODY)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        environment = {
            "ES_JAVA_HOME": str(self._java),
            "ES_JAVA_OPTS": "-Xms512m -Xmx512m -XX:TieredStopAtLevel=1 -XX:-AlwaysPreTouch",  # quick to start
            "ES_PATH_CONF": str(self._folder / "config"),
            "ES_TMPDIR": str(self._folder / "tmp"),
            "HOME": str(self._folder),
            "PATH": os.environ["PATH"],
        }
        become = {} if self._user is None else {"user": self._user, "group": self._user, "extra_groups": []}
        log = self._folder / "log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [self._home / "bin" / "elasticsearch"],
                env=environment, cwd=self._folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True, preexec_fn=_die_with_parent, **become,
            )  # fmt: skip
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(log.read_text(errors="replace")[-5_000:])
            time.sleep(0.05)

    def kill(self) -> None:
        """As ``kill -9`` does it."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(PATIENCE)
            deadline = time.monotonic() + PATIENCE
            while self._answers() and time.monotonic() < deadline:  # the launcher's child, which is the server itself
                time.sleep(0.01)

    def remove(self) -> None:
        """Kill it, and forget its data."""
        self.kill()
        deadline = time.monotonic() + PATIENCE
        while self._folder.exists() and time.monotonic() < deadline:  # what is dying may still write
            shutil.rmtree(self._folder, ignore_errors=True)

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=5)
        try:
            connection.request("GET", "/_cluster/health")
            return json.load(connection.getresponse()).get("status") in ("green", "yellow")
        except (OSError, ValueError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def _die_with_parent() -> None:
    """Where the tests are killed, the kernel (of Linux) kills the launcher, and the server ends with its launcher."""
    if hasattr(_LIBC, "prctl"):
        _LIBC.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


_LIBC = ctypes.CDLL(None)
