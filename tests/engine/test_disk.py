"""An engine on a folder: killed, full, read-only. What was acknowledged is there, and the guard goes on."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from agentguard.errors import StoreError
from agentguard.stores._disk import DiskStore
from agentguard.verification import VerificationEngine
from agentguard.verification._census import field

KILLS = 6

WRITER = """
import sys
from agentguard.stores._disk import DiskStore
from agentguard.verification import VerificationEngine

folder, name = sys.argv[1:]
engine = VerificationEngine(store=DiskStore(folder, flush_seconds=0.002), audit_rate=0.5)
engine.register_tool_profile("get_weather", required_fields=["humidity"])
print("ready", flush=True)
number = 0
while True:
    call_id = f"{name}-{number}"
    result = {"city": "Oslo", "humidity": number % 60} if number % 3 else {"city": "Oslo"}
    verdict = engine.verify("get_weather", result=result, call_id=call_id)
    if verdict.verdict != "accept":
        print("audit", call_id, flush=True)
    engine.record_feedback("get_weather", verdict.posterior, number % 3 == 0, call_id)
    print("feedback", call_id, flush=True)
    number += 1
"""


def acknowledged(folder: Path, name: str, enough: int) -> set[tuple[str, str]]:
    """What a writer was told is kept before it was killed, at a moment of nobody's choice."""
    command = [sys.executable, "-c", WRITER, str(folder), name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        lines = [writer.stdout.readline() for _ in range(enough)]
        writer.send_signal(signal.SIGKILL)
        lines += [line for line in writer.stdout if line.endswith("\n")]
    told = {tuple(line.split()) for line in lines}
    return {(kind, call_id) for kind, call_id in told}


def test_killed_at_any_moment_nothing_that_was_acknowledged_is_missing(tmp_path: Path) -> None:
    folder, told, rng = tmp_path / "state", set(), random.Random(31)
    for number in range(KILLS):
        told |= acknowledged(folder, f"w{number}", rng.randint(1, 60))
        with DiskStore(folder, flush_seconds=None) as store:
            kept = {(kind, record.event["call_id"]) for kind in ("audit", "feedback") for record in store.events(kind)}
            assert told <= kept
            engine = VerificationEngine(store=store)
            prior = engine.verify("get_weather", result={"city": "Oslo"}, learn=False).prior
            assert (prior != 0.15) is any(kind == "feedback" for kind, _ in kept)
    assert len({kind for kind, _ in told}) == 2


READ_ONLY = """
import os, sys
from agentguard.errors import StoreError
from agentguard.stores._disk import DiskStore
from agentguard.verification import VerificationEngine

folder = sys.argv[1]
engine = VerificationEngine(store=DiskStore(folder, flush_seconds=3600))
engine.verify("get_weather", result={"city": "Oslo"})
engine.close()
for name in os.listdir(folder):
    os.chmod(os.path.join(folder, name), 0o400)
os.chmod(folder, 0o500)
if os.getuid() == 0:  # who may write everywhere; what was imported before stays usable
    for path in [folder, *(os.path.join(folder, name) for name in os.listdir(folder))]:
        os.chown(path, 65534, 65534)
    os.setgid(65534)
    os.setuid(65534)
try:
    DiskStore(folder)
except StoreError as error:
    print("told:", error)
"""


def test_a_folder_that_turned_read_only(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as outer:  # every user may go through it, which pytest's own folders forbid
        Path(outer).chmod(0o755)
        run = limited(READ_ONLY, str(Path(outer) / "state"))
    assert run.stdout.startswith("told:"), run.stderr
    assert run.stdout.count("\n") == 1
    assert "Traceback" not in run.stderr


def limited(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


FULL = """
import logging, resource, signal, sys
from agentguard.errors import StoreError
from agentguard.stores._disk import DiskStore
from agentguard.verification import VerificationEngine

folder, policy = sys.argv[1:]
store = DiskStore(folder, flush_seconds=3600.0)
engine = VerificationEngine(store=store)
engine.register_tool_profile("get_weather", required_fields=["humidity"], on_error=policy)
for number in range(30):
    engine.verify("get_weather", result={"city": "Oslo", "humidity": number})
engine.flush()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
errors = 0
verdicts = []
for number in range(200):
    verdicts.append(engine.verify("get_weather", result={"city": "Oslo"}, call_id=str(number)))
try:
    engine.record_feedback("get_weather", 0.5, True)
    print("no error")
except StoreError as error:
    print("told:", str(error).splitlines()[0])
engine._persistence.flush_quietly()
engine._persistence.flush_quietly()
print("blocked", sum(verdict.verdict == "block" and "closed" in verdict.note for verdict in verdicts))
print("noted", sum("not on record" in verdict.note for verdict in verdicts))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
engine.flush()
print("kept", sum(1 for _ in store.events("audit")))
"""


@pytest.mark.parametrize(("policy", "blocked"), [("open", "blocked 0"), ("closed", "blocked")])
def test_a_full_disk(policy: str, blocked: str, tmp_path: Path) -> None:
    """No file may grow: to SQLite that is a full disk. When there is room again, what waited is written."""
    run = limited(FULL, str(tmp_path / "state"), policy)
    lines = dict(line.split(" ", 1) for line in run.stdout.splitlines())

    assert "told:" in lines, run.stdout + run.stderr
    assert int(lines["noted"]) >= 100
    assert int(lines["kept"]) >= int(lines["noted"])
    assert lines["blocked"] == ("0" if policy == "open" else lines["noted"])
    logged = run.stderr.count("goes on without it")
    assert logged == 1, run.stderr


def test_eight_processes_on_one_folder_count_every_call(tmp_path: Path) -> None:
    code = """
import os, sys
from agentguard.stores._disk import DiskStore
from agentguard.verification import VerificationEngine

workers = []
for name in range(8):  # forks of one that has imported all, and has neither store nor engine
    worker = os.fork()
    workers.append(worker)
    if worker == 0:
        with VerificationEngine(store=DiskStore(sys.argv[1], flush_seconds=0.01), audit_rate=0.0) as engine:
            for number in range(500):
                engine.verify("search", args={"q": number % 7}, result={"hits": number % 7, "of": str(name)})
        sys.exit()
print([os.waitpid(worker, 0)[1] for worker in workers])
"""
    folder = tmp_path / "state"
    run = limited(code, str(folder))
    assert run.stdout == f"{[0] * 8}\n", run.stderr
    with DiskStore(folder) as store:
        found = store.counts().values()
        assert sum(tools["search"][field("calls")] for tools in found) == 4_000
        assert sum(tools["search"][field("kind", "object")] for tools in found) == 4_000


def test_a_folder_that_cannot_be_made_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StoreError, match="file"):
        DiskStore(tmp_path / "file" / "state")
