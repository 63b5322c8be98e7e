"""awesome-agentguard 0.2.0 at work: run by the Python of its own environment, driven by ``peer.py``.

Reads one JSON order a line and answers each with one JSON line::

    {"profile": {...}, "tool": "..."}   register a profile
    {"calls": [[args, result, ms, session], ...]}   judge the calls; answers their times in nanoseconds and verdicts
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from importlib import import_module, metadata
from time import perf_counter_ns
from typing import Any


def main() -> None:
    """Serve orders until standard input ends."""
    engine: Any = import_module("agentguard.verification").VerificationEngine()
    tool = ""
    for line in sys.stdin:
        order = json.loads(line)
        if "profile" in order:
            tool = order["tool"]
            engine.register_tool_profile(tool, **order["profile"])
            answer: dict[str, Any] = {"version": metadata.version("awesome-agentguard")}
        else:
            answer = _judge(engine, tool, order["calls"])
        print(json.dumps(answer), flush=True)


def _judge(engine: Any, tool: str, calls: list[Any]) -> dict[str, Any]:
    verify, times = engine.verify, []
    verdicts: Counter[str] = Counter()
    for args, result, ms, session in calls:
        start = perf_counter_ns()
        verdict = verify(tool, result, ms, args=args, session_id=session)
        times.append(perf_counter_ns() - start)
        verdicts[verdict.verdict] += 1
    return {"ns": times, "verdicts": verdicts}


if __name__ == "__main__":
    main()
