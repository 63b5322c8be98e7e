"""awesome-agentguard 0.2.0 under faults that last, on generated tools: run by the Python of its own environment.

Takes a JSON object with ``seeds`` and ``families`` from standard input; writes what ``lasted`` and ``generated`` give.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))  # under -I not even this folder is on the path

from lasting.protocol import courses, lasted
from lasting.rival_engine import make
from lasting.streams import generated


def main() -> None:
    """Run the trials and streams and end."""
    order = json.load(sys.stdin)
    seeds, families = order["seeds"], order["families"]
    found, changes = lasted(make, courses(seeds, families))
    json.dump({"lasted": found, "changes": changes, "streams": generated(make, seeds, families)}, sys.stdout)


if __name__ == "__main__":
    main()
