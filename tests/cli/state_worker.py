"""An engine on a store, in a process of its own, that does what its standard input says. Run as a script."""

import sys

from agentguard.stores import DiskStore
from agentguard.verification import VerificationEngine


def main(folder: str) -> None:
    store = DiskStore(folder, flush_seconds=3_600.0)  # flushes are asked for
    engine = VerificationEngine(store=store)
    for line in sys.stdin:
        word, _, number = line.strip().partition(" ")
        if word == "verify":
            for n in range(int(number)):
                engine.verify("weather", args={"day": n}, result={"degrees": n}, execution_time_ms=120.0)
        elif word == "flush":
            engine.flush()
        print("done", flush=True)
    engine.close()
    store.close()


if __name__ == "__main__":
    main(sys.argv[1])
