"""A process that writes to run records, and says on its standard output what is done. Run as a script."""

import itertools
import os
import sys
from dataclasses import replace

from agentguard.gate.records._base import Event, RunSummary, this_process
from agentguard.gate.records._sqlite import SqliteRecords


def write_until_killed(path: str, run_id: str) -> None:
    """Events and summaries in turn, each with the number of the round."""
    records = SqliteRecords(path)
    summary = RunSummary(run_id, "running", 1.0, "help desk", "1f", "model", "rules", this_process())
    records.save(summary)
    os.write(1, b"0\n")
    for n in itertools.count(1):
        records.append(run_id, Event("stage", float(n), {"n": n, "text": "x" * (n * 997 % 20_000)}))
        records.save(replace(summary, error=str(n)))
        os.write(1, f"{n}\n".encode())


if __name__ == "__main__":
    write_until_killed(*sys.argv[1:])
