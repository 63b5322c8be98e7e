"""The example runs as it is, offline, and ends as it says."""

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples" / "convergence_graph.py"


def test_the_example() -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLE)], capture_output=True, text=True, check=False, timeout=120
    )

    assert run.stderr == ""
    # Round 1 leaves an injection open, round 2 fixes it, the judge holds rounds 2 and 3 back, round 4 convinces it.
    assert run.stdout == "converged after 4 rounds: both_pass, quality 91\n"
