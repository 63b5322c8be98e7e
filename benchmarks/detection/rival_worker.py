"""awesome-agentguard 0.2.0 judges one course: run by the Python of its own environment, driven by ``rival.py``.

Reads one JSON list of events from standard input and writes one of ``[posterior, verdict]``. The peer learns from
every call that it judges; what is not to be learned is judged in a copy of the process, which then ends.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from typing import Any


def main() -> None:
    """Judge the course and end."""
    engine: Any = import_module("agentguard.verification").VerificationEngine()
    course = json.load(sys.stdin)
    json.dump(
        [_judge(engine, *event["call"]) if event["learn"] else _aside(engine, event) for event in course], sys.stdout
    )


def _judge(engine: Any, tool: str, args: Any, result: Any, ms: float, session: str) -> list[Any]:
    said = engine.verify(tool, result, ms, args=args, session_id=session)
    return [said.posterior, said.verdict]


def _aside(engine: Any, event: dict[str, Any]) -> Any:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, json.dumps(_judge(engine, *event["call"])).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return json.loads(answer)


if __name__ == "__main__":
    main()
