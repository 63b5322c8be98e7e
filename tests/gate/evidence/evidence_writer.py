"""A process that writes to an evidence index, and says on its standard output what is done. Run as a script."""

import itertools
import os
import sys
from pathlib import Path

from agentguard.gate._types import Chunk, Document
from agentguard.gate.evidence._sqlite import SqliteEvidence

URI = "manual.md"


def say(*words: object) -> None:
    """One line in one write, so that it is whole or not there."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def put(index: SqliteEvidence, uri: str, version: int, pieces: int) -> None:
    """All chunks say which version they are of, in words and in their vectors."""
    text = f"camera version{version} " + "filler " * 200
    chunks = [Chunk(f"{uri}#{n}", uri, "", "", text, 0, len(text)) for n in range(pieces)]
    index.replace(Document(uri, "", text, str(version)), chunks, [(float(version), 1.0)] * pieces)


def replace_until_killed(folder: str, first: int) -> None:
    """Versions of one document, one after the other, each of another number of chunks."""
    say("opening")
    index = SqliteEvidence(folder, "test")
    for version in itertools.count(first):
        put(index, URI, version, 10 + version % 30)
        say(version)


def write_own(folder: str, name: str, documents: int) -> None:
    """Some documents of one's own, in a file that others open and write to at the same time."""
    sys.stdin.readline()
    index = SqliteEvidence(folder, "test")
    for n in range(documents):
        put(index, f"{name}/{n}.md", n, 2)
    index.close()


if __name__ == "__main__":
    task, folder, *rest = sys.argv[1:]
    Path(folder).mkdir(exist_ok=True)
    if task == "replace":
        replace_until_killed(folder, int(rest[0]))
    else:
        write_own(folder, rest[0], int(rest[1]))
