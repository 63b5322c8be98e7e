"""A restart in the middle of a stream changes nothing: the same verdicts to the last digit as without it.

All but one thing outlives the process: calls that are held back have arguments and results in them, which no store is
given. So the engine that goes on is held against one that forgets these at the same places.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pytest

from agentguard.stores import MemoryStore
from agentguard.stores._disk import DiskStore
from agentguard.traces import TraceRow, read_traces
from agentguard.verification import VerificationEngine

from . import recorded

Mode = Literal["calibrated", "reference"]
CALLS = 900
RECORDED = Path(__file__).parents[3] / "shared" / "data"
LOGS = ["agentdojo_traces/benign_runs.jsonl.gz", "taubench_traces/calls.jsonl.gz", "toolbench_traces/calls.jsonl.gz"]


def judge(engine: VerificationEngine, calls: list[dict[str, Any]]) -> list[str]:
    """Each verdict in full, as text: signals, contributions, explanations and all."""
    return [repr(engine.verify(**call)) for call in calls]


def forget_held(engine: VerificationEngine) -> None:
    """What a restart does: calls that are held back are gone."""
    for _, state in engine._tools.known():
        for incident in state.incidents:
            incident.held.clear()


def judge_forgetful(engine: VerificationEngine, calls: list[dict[str, Any]], cuts: list[int]) -> list[str]:
    """The verdicts of one engine, which forgets the calls that it holds back at each cut."""
    verdicts = []
    for begin, end in zip([0, *cuts], [*cuts, len(calls)], strict=True):
        forget_held(engine)
        verdicts += judge(engine, calls[begin:end])
    return verdicts


def copied(store: MemoryStore) -> MemoryStore:
    """What a store has of documents after a way through text, as on a disk."""
    other = MemoryStore()
    other.save(json.loads(json.dumps(store.load())))
    for record in store.events("feedback"):
        other.append("feedback", record.event)
    return other


def in_parts(mode: Mode, calls: list[dict[str, Any]], cuts: list[int], **arguments: Any) -> list[str]:
    """The verdicts of engines of which each takes up where the one before was closed."""
    store, verdicts = MemoryStore(), []
    for begin, end in zip([0, *cuts], [*cuts, len(calls)], strict=True):
        engine = VerificationEngine(mode, store=store, **arguments)
        verdicts += judge(engine, calls[begin:end])
        engine.close()
        store = copied(store)
    return verdicts


@pytest.mark.parametrize("mode", ["calibrated", "reference"])
@pytest.mark.parametrize("cuts", [[1], [2, 3, 5, 8, 13, 21, 34, 55, 89, 144], [300, 301, 700]])
def test_the_same_verdicts_as_without_a_restart(mode: Mode, cuts: list[int]) -> None:
    calls = list(recorded.calls(CALLS))
    whole = judge_forgetful(VerificationEngine(mode), calls, cuts)

    assert in_parts(mode, calls, cuts) == whole
    assert len({verdict.split("'", 2)[1] for verdict in whole}) == 3, "accepted, flagged and blocked calls are in it"


def test_with_labels_among_the_calls() -> None:
    """Labels on calls that were judged before the restart find them."""
    calls = list(recorded.calls(500, seed=8))
    store = MemoryStore()
    engines = VerificationEngine(store=MemoryStore()), VerificationEngine(store=store)
    verdicts: tuple[list[str], list[str]] = ([], [])
    for number, call in enumerate(calls):
        if number == 250:
            engines[1].close()
            forget_held(engines[0])
            kept = copied(store)
            for record in store.events("audit"):
                kept.append("audit", record.event)
            engines = engines[0], VerificationEngine(store=kept)
        for engine, said in zip(engines, verdicts, strict=True):
            verdict = engine.verify(**call)
            said.append(repr(verdict))
            if number % 50 == 49:  # of earlier calls, the last before a restart among them
                for back in (0, 10, 30):
                    earlier = calls[number - back]
                    engine.record_feedback(earlier["tool"], 0.4, number % 100 == 49, earlier["call_id"])

    assert verdicts[0] == verdicts[1]
    assert engines[0].verify("get_weather").prior != 0.15


SEGMENT = """
import hashlib, importlib.util, sys
from agentguard.stores._disk import DiskStore
from agentguard.verification import VerificationEngine

source, folder, begin, end = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
spec = importlib.util.spec_from_file_location("recorded", source)
recorded = importlib.util.module_from_spec(spec)
spec.loader.exec_module(recorded)
with VerificationEngine(store=DiskStore(folder)) as engine:
    for call in list(recorded.calls(600))[begin:end]:
        print(repr(engine.verify(**call)))
"""


def segment(folder: Path, begin: int, end: int, seed: str) -> list[str]:
    """The verdicts of a process of its own, whose hashes of texts are its own too."""
    command = [sys.executable, "-c", SEGMENT, str(recorded.__file__), str(folder), str(begin), str(end)]
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return run.stdout.splitlines()


def test_from_process_to_process(tmp_path: Path) -> None:
    """The same verdicts, where no call is held back at a restart: those are kept in memory alone."""
    whole = segment(tmp_path / "whole", 0, 600, "1")
    parts = [
        *segment(tmp_path / "parts", 0, 100, "2"),
        *segment(tmp_path / "parts", 100, 400, "3"),
        *segment(tmp_path / "parts", 400, 600, "4"),
    ]
    assert len(whole) == 600
    assert parts == whole


@pytest.mark.parametrize("log", LOGS)
def test_on_recorded_calls(log: str, tmp_path: Path) -> None:
    path = RECORDED / log
    if not path.exists():
        pytest.skip(f"the recorded calls are not there: {log} is looked for beside the checkout, in shared/data")
    rows = [row for row in read_traces(path) if isinstance(row, TraceRow)][:2_500]
    fields = ("tool", "args", "result", "execution_time_ms", "session_id", "call_id")
    calls = [{name: getattr(row.call, name) for name in fields} for row in rows]
    whole = VerificationEngine()
    digests = hashlib.sha256(), hashlib.sha256()
    cuts = [len(calls) // 7, len(calls) // 2]
    for verdict in judge_forgetful(whole, calls, cuts):
        digests[0].update(verdict.encode())
    for begin, end in zip([0, *cuts], [*cuts, len(calls)], strict=True):
        with DiskStore(tmp_path) as store, VerificationEngine(store=store) as engine:
            for call in calls[begin:end]:
                digests[1].update(repr(engine.verify(**call)).encode())

    assert digests[0].hexdigest() == digests[1].hexdigest()
