"""The script that breaks recorded calls for good, run faster: the calls before a fault are judged once for a tool.

    python benchmarks/lasting/recorded.py SCRIPT DATA [--engine MODULE:FACTORY] [--tools N] [--json FILE]

All trials of a tool begin with its first sixty calls. Here an engine judges these once, and every trial goes on from
there in a copy of the process, two at a time; the trials, their order and all sums are the script's own, and so are the
figures. Runs on the standard library alone, so that another project's environment can run it too.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

if __name__ == "__main__":  # by path, and under -I without this folder
    sys.path.append(str(Path(__file__).resolve().parents[1]))

from lasting.forks import AT_ONCE, forked

__all__ = ["Trials", "main", "report"]

BLOCKED = "blocked after the second label"
OURS = "agentguard.verification:VerificationEngine"

#: A trial of the script's: the verdicts on the faulty calls, on the retries, and on the calls after the recovery.
Answer = tuple[Sequence[bool], bool | None, Sequence[bool]]


class Trials:
    """Answers the script's ``trial`` and ``change``: all trials of a tool are run when the first is asked for.

    Attributes:
        blocked: by kind of fault, of the faulty calls after the second that was labelled: whether it was blocked.
    """

    def __init__(self, protocol: ModuleType, at_once: int = AT_ONCE) -> None:
        self._protocol = protocol
        self._own_trial, self._own_change = protocol.trial, protocol.change
        self._at_once = at_once
        self._asked: tuple[Any, str] | None = None
        self._answers: dict[tuple[str, bool, bool], Answer | None] = {}
        self._changed: list[bool] | None = None
        self.blocked: defaultdict[str, list[bool]] = defaultdict(list)

    def trial(
        self, make: Callable[[], Any], calls: Sequence[Any], tool: str, kind: str, label: bool, retry: bool = False
    ) -> Answer | None:
        """As the script's."""
        self._run(make, calls, tool)
        return self._answers[kind, label, retry]

    def change(self, make: Callable[[], Any], calls: Sequence[Any], tool: str) -> list[bool] | None:
        """As the script's."""
        self._run(make, calls, tool)
        return self._changed

    def _run(self, make: Callable[[], Any], calls: Sequence[Any], tool: str) -> None:
        if self._asked is not None and self._asked[0] is calls and self._asked[1] == tool:
            return
        self._asked = (calls, tool)
        engine, first = make(), self._first_calls(calls, tool)
        for row in calls[:first]:
            self._protocol.one(engine, row)

        def of(kind: str, label: bool, retry: bool) -> Any:
            started = _Started(engine, first)
            return self._own_trial(lambda: started, calls, tool, kind, label, retry=retry), started.after_second_label

        # Whether a fault shows often enough does not depend on the engine: one that judges nothing tells it at once.
        shown = [kind for kind in self._protocol.FAULTS if self._own_trial(_Blind, calls, tool, kind, False)]
        changes = self._own_change(_Blind, calls, tool) is not None
        runs = [(kind, *how) for kind in shown for how in ((False, False), (True, False), (False, True))]
        jobs: list[Callable[[], Any]] = [partial(of, *run) for run in runs]
        if changes:
            jobs.append(lambda: self._own_change(lambda: _Started(engine, first), calls, tool))
        found = forked(jobs, self._at_once)
        self._changed = found.pop() if changes else None
        self._answers = {(kind, False, False): None for kind in self._protocol.FAULTS}
        for (kind, label, retry), (answer, blocked) in zip(runs, found, strict=True):
            self._answers[kind, label, retry] = answer
            self.blocked[kind] += blocked if label else []

    def _first_calls(self, calls: Sequence[Any], tool: str) -> int:
        own = 0
        for place, row in enumerate(calls, 1):
            own += row["tool"] == tool
            if own == self._protocol.BEFORE:
                return place
        return len(calls)


class _Blind:
    """An engine that accepts everything, at no cost."""

    accepted = SimpleNamespace(verdict="accept", posterior=0.0)

    def verify(self, *call: Any, **said: Any) -> Any:
        return self.accepted


class _Started:
    """An engine that has had the first calls; passes over them when the script gives them again.

    Attributes:
        after_second_label: of the faulty calls after the second label, whether each was blocked.
    """

    def __init__(self, engine: Any, calls: int) -> None:
        self._engine = engine
        self._left = calls
        self._labels = 0
        self.after_second_label: list[bool] = []

    def verify(self, *call: Any, **said: Any) -> Any:
        if self._left:
            self._left -= 1
            return _Blind.accepted  # the script does not look at what is said of these
        answer = self._engine.verify(*call, **said)
        if self._labels >= 2 and str(said.get("call_id", "")).startswith("bad-"):
            self.after_second_label.append(answer.verdict == "block")
        return answer

    def record_feedback(self, *label: Any, **said: Any) -> None:
        self._labels += 1
        self._engine.record_feedback(*label, **said)


def report(script: Path, data: Path, engine: str, tools: int | None, at_once: int = AT_ONCE) -> dict[str, Any]:
    """What the script reports; beside each kind of fault the share blocked after the second label."""
    protocol = _loaded(script)
    trials = Trials(protocol, at_once)
    protocol.trial, protocol.change = trials.trial, trials.change  # type: ignore[attr-defined]
    written = io.StringIO()
    more = [] if tools is None else ["--tools", str(tools)]
    given, sys.argv = sys.argv, [str(script), str(data), "--engine", engine, *more]
    try:
        with redirect_stdout(written):
            protocol.main()
    finally:
        sys.argv = given
    found: dict[str, Any] = json.loads(written.getvalue())
    for kind, blocked in trials.blocked.items():
        found[kind][BLOCKED] = sum(blocked) / len(blocked) if blocked else None
    return found


def _loaded(script: Path) -> ModuleType:
    sys.path.insert(0, str(script.resolve().parent))  # it imports its neighbours, whose names may be those of ours
    spec = importlib.util.spec_from_file_location("recorded_protocol", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Run the script and write its report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("script", type=Path, help="the script")
    parser.add_argument("data", type=Path, help="folder of recorded calls")
    parser.add_argument("--engine", default=OURS, help="MODULE:FACTORY")
    parser.add_argument("--tools", type=int, help="at most so many tools a source")
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help="trials at the same time")
    parser.add_argument("--json", type=Path, help="where the report goes; else to standard output")
    options = parser.parse_args()
    text = json.dumps(report(options.script, options.data, options.engine, options.tools, options.at_once), indent=1)
    if options.json:
        options.json.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
