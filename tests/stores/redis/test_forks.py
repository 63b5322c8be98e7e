"""Forks while threads judge on a server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.engine.test_forks import TIMES, ends_of

from agentguard.stores import open_store
from agentguard.verification._audit import AUDIT


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("order", ["stores", "engine"])
def test_children_forked_under_load_judge_and_end(order: str, started: Any) -> None:
    assert ends_of(order, started().url) == f"{{'well': {TIMES}}} parent well"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_no_record_is_lost_or_doubled_by_forks_under_load(started: Any) -> None:
    url, children, calls = started().url, 6, 50
    script = Path(__file__).with_name("forking.py")
    command = [sys.executable, script, url, str(children), str(calls)]
    run = subprocess.run(command, capture_output=True, text=True)

    assert (run.returncode, run.stdout.strip()) == (0, str([0] * children)), run.stderr[-2000:]
    judges = [f"{kind}-{number}" for kind in ("child", "between") for number in range(children)]
    judges += ["thread-0", "thread-1"]
    store = open_store(url)
    found = Counter(record.event["call_id"] for record in store.events(AUDIT))
    store.close()
    assert found == Counter(f"{judge}-{number}" for judge in judges for number in range(calls))
