"""A run of the gate that stands still while it verifies claims, so that a test can end it there.

Run as a process: python gate_worker.py CONFIGURATION. It prints a line when it has got so far.
"""

import sys
import threading
from collections.abc import Sequence
from typing import Any

from agentguard.cli import app
from agentguard.gate.rules._judge import RuleJudge


def stand_still(judge: RuleJudge, cases: Sequence[Any]) -> Any:
    print("verifying", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    RuleJudge.verify = stand_still  # type: ignore[method-assign]  # the test's way in
    app(["gate", "run", "--config", sys.argv[1], "--json"])
