"""The embedded index under several processes, and under processes that are killed in the middle of writing."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentguard.gate._types import Chunk, Document
from agentguard.gate.evidence._sqlite import SqliteEvidence

WRITER = Path(__file__).with_name("evidence_writer.py")
KILLS = 4


def start(task: str, folder: Path, *rest: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, WRITER, task, folder, *map(str, rest)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_writer_killed_in_the_middle_leaves_the_old_document_or_the_new(tmp_path: Path) -> None:
    chance = random.Random(7)
    last = 0
    for _ in range(KILLS):
        with start("replace", tmp_path, last + 1) as writer:
            assert writer.stdout is not None
            said = [writer.stdout.readline() for _ in range(chance.randint(1, 30))]
            writer.kill()
            said += writer.stdout.readlines()
            assert writer.wait(timeout=30) == -signal.SIGKILL
        told = [int(line) for line in said if line.endswith("\n") and line != "opening\n"]
        acknowledged = told[-1] if told else last
        index = SqliteEvidence(tmp_path, "test")
        documents = index.documents()
        if not documents:
            assert acknowledged == 0
            continue
        version = int(documents["manual.md"])
        found = index.keyword("camera", 1000)
        by_direction = index.vector((1.0, 0.0), 1000)
        index.close()

        assert version - acknowledged in (0, 1)
        assert {passage.chunk.text.split()[1] for passage in found} == {f"version{version}"}
        assert len(found) == len(by_direction) == 10 + version % 30
        last = version
    assert last > KILLS


def test_processes_may_open_and_write_an_index_at_once(tmp_path: Path) -> None:
    writers = [start("own", tmp_path / "new", name, 15) for name in "abc"]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    index = SqliteEvidence(tmp_path / "new", "test")

    assert sorted(index.documents()) == sorted(f"{name}/{n}.md" for name in "abc" for n in range(15))
    assert len(index.keyword("camera", 1000)) == len(index.vector((1.0, 1.0), 1000)) == 3 * 15 * 2
    index.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")  # numpy's idle threads
def test_an_index_may_be_used_on_both_sides_of_a_fork(tmp_path: Path) -> None:
    def put(uri: str) -> None:
        index.replace(Document(uri, "", "A camera.", "1f"), [Chunk(uri, uri, "", "", "A camera.", 0, 9)], [(1.0, 0.0)])

    index = SqliteEvidence(tmp_path, "test")
    put("before.md")
    assert len(index.vector((1.0, 0.0), 5)) == 1
    child = os.fork()
    if child == 0:
        try:
            put("child.md")
            os._exit(len(index.vector((1.0, 0.0), 5)))
        finally:
            os._exit(99)
    put("parent.md")
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) in (2, 3)
    assert sorted(index.documents()) == ["before.md", "child.md", "parent.md"]
    assert len(index.vector((1.0, 0.0), 5)) == 3
    index.close()
