"""A process that writes to a DiskStore, and says on its standard output what it was told is kept. Run as a script."""

import os
import sys
import threading
from collections.abc import Callable

from agentguard.stores import Delta, DiskStore


def say(*words: object) -> None:
    """One line in one write, so that it is whole or not there."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def text(n: int) -> str:
    """Of many lengths, some beyond what is kept uncompressed, a few over several pages of the file."""
    return f"{n:06d}" * (n * 37 % 100 if n % 10 else 4000)


def write_until_killed(folder: str, worker: str) -> None:
    """Each kind of writing in turn, the number of the round behind its name."""
    say("opening")
    store = DiskStore(folder)
    steps: dict[str, Callable[[int], object]] = {
        "append": lambda n: store.append("audit", {"worker": worker, "n": n, "text": text(n)}),
        "merge": lambda n: store.merge(Delta(worker, n, {"tool": {worker: 1, "all": 1}, worker: {"n": n}})),
        "claim": lambda n: store.claim("receipt", f"{worker}/{n}"),
        "save": lambda n: store.save({f"{worker}/left": {"n": n}, f"{worker}/right": {"n": n, "text": text(n)}}),
    }
    n = 0
    while True:
        n += 1
        for name, step in steps.items():
            step(n)
            say(name, n)


def count(folder: str, worker: str, updates: int, batch: int) -> None:
    """So many updates of a field that all share and of one of its own, in deltas of a batch each."""
    store = DiskStore(folder, timeout=60)
    for sequence in range(1, updates // batch + 1):
        store.merge(Delta(worker, sequence, {"tool": {"calls": batch, worker: batch}}))
    store.close()
    say("done")


def fork(folder: str) -> None:
    """Both sides of a fork write, the child after the parent has closed."""
    store = DiskStore(folder)
    store.append("audit", {"by": "parent", "when": "before"})
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(readable, 1)
        for n in range(100):
            store.append("audit", {"by": "child", "n": n})
        store.merge(Delta("child", 1, {"tool": {"calls": 1}}))
        say("child is done")
        os.kill(os.getpid(), 9)
    store.append("audit", {"by": "parent", "when": "after"})
    store.merge(Delta("parent", 1, {"tool": {"calls": 10}}))
    store.close()
    os.write(writable, b"x")
    os.waitpid(child, 0)


def fork_under_load(folder: str) -> None:
    """Children are forked while threads of the parent write."""
    store = DiskStore(folder)
    ended = threading.Event()
    written = [0] * 4

    def write(thread: int) -> None:
        while not ended.is_set():
            store.append("audit", {"by": "thread"})
            written[thread] += 1

    threads = [threading.Thread(target=write, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for n in range(20):
        child = os.fork()
        if child == 0:
            for _ in range(10):
                store.append("audit", {"by": "child"})
            store.close()
            os._exit(0)
        if os.waitpid(child, 0)[1] != 0:
            say("child", n, "failed")
    ended.set()
    for thread in threads:
        thread.join()
    store.close()
    say(sum(written))


def main() -> None:
    task, folder, *rest = sys.argv[1:]
    if task == "write":
        write_until_killed(folder, *rest)
    elif task == "count":
        count(folder, rest[0], int(rest[1]), int(rest[2]))
    elif task == "fork":
        fork(folder)
    else:
        fork_under_load(folder)


if __name__ == "__main__":
    main()
