"""A log of the generated tools of ``detection``, as long as is wished for: what the engines are timed on."""

from __future__ import annotations

import random
from pathlib import Path

import orjson
from detection.families import FAMILIES

__all__ = ["write_log"]

SEED = 7


def write_log(path: Path, calls: int) -> int:
    """Write a log of so many calls; every family's tools take turns by chance. Returns its bytes.

    A longer log begins with the calls of a shorter one.
    """
    rng = random.Random(SEED)
    streams = [family(random.Random(f"{SEED} {name}")) for name, family in FAMILIES.items()]
    with path.open("wb") as out:
        for _ in range(calls):
            call = next(rng.choice(streams))
            row = {"tool": call.tool, "args": call.args, "result": call.result, "latency_ms": call.ms}
            out.write(orjson.dumps({**row, "session_id": call.session}) + b"\n")
    return path.stat().st_size
