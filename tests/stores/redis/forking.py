"""A process that forks while its threads judge on a server: ``forking.py URL CHILDREN CALLS``.

Each of the parent's threads and each child judges so many calls, all of which are put on record. Prints the exit codes
of the children.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from agentguard.stores import open_store
from agentguard.verification import VerificationEngine

THREADS = 2


def judge(engine: VerificationEngine, who: str, calls: int) -> None:
    for number in range(calls):
        engine.verify("get", args={"n": number}, result={"of": who, "n": number}, call_id=f"{who}-{number}")


def main(url: str, children: int, calls: int) -> None:
    engine = VerificationEngine(store=open_store(url), audit_rate=1.0)
    names = [f"thread-{number}" for number in range(THREADS)]
    threads = [threading.Thread(target=judge, args=(engine, name, calls)) for name in names]
    for thread in threads:
        thread.start()
    forked = []
    for number in range(children):
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            judge(engine, f"child-{number}", calls)
            engine.close()
            os._exit(0)
        forked.append(child)
        judge(engine, f"between-{number}", calls)
    for thread in threads:
        thread.join()
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in forked]
    engine.close()
    print(codes)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
