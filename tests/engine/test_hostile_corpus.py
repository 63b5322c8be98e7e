"""Every public entry point answers, or refuses by an error of its own, whatever it is given."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from agentguard.testing._corpus import OBJECTS, TEXTS

from .hostile_walk import ON_TEXTS, ON_VALUES

WALK = Path(__file__).with_name("hostile_walk.py")
# Characters of the largest texts, more than any bound below a million. By hand, for longer ones:
# python tests/engine/hostile_walk.py 20000000 1
SIZE = 140_000


def test_every_entry_point_answers_to_the_whole_corpus() -> None:
    """In two processes with bounded memory, at once; one that hangs says where, and ends."""
    entries = [*ON_VALUES, *ON_TEXTS]
    judging = [entry for entry in entries if entry.startswith(("verify", "receipts"))]
    others = [entry for entry in entries if entry not in judging]
    command = [sys.executable, str(WALK), str(SIZE), "inf"]
    walks = [
        subprocess.Popen([*command, *some], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for some in (judging, others)
    ]
    said = [walk.communicate() for walk in walks]
    assert [walk.returncode for walk in walks] == [0, 0], said
    trials = [
        sum(entry in ON_VALUES for entry in some) * len(OBJECTS) + len(some) * len(TEXTS) for some in (judging, others)
    ]
    unended = sum("endless" in what for what in OBJECTS)  # which no profile is read from
    assert [text for text, _ in said] == [f"{trials[0]} answered\n", f"{trials[1] - unended} answered\n"]
