"""The conformance suite of signals: ours pass it, and it finds what is wrong with those that are almost right."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from agentguard.testing import SignalConformance
from agentguard.verification import Abstain, Broken, Kept, Measured, Past, Signal, ToolCall, VerificationTier


def total_of(call: ToolCall) -> float | None:
    """The total, where it is a number."""
    total = call.result.get("total") if isinstance(call.result, dict) else None
    return float(total) if isinstance(total, (int, float)) and -1e300 < total < 1e300 else None


class NegativeTotal:
    name = "negative_total"
    tier = VerificationTier.TIER_0

    def __call__(self, call: ToolCall, past: Past, /) -> Broken | Kept | Abstain:
        total = total_of(call)
        if total is None:
            return Abstain("no total")
        return Broken("negative") if total < 0 else Kept()


class Discount:
    name = "discount"
    tier = VerificationTier.TIER_1

    def __call__(self, call: ToolCall, past: Past, /) -> Measured | Abstain:
        total = total_of(call)
        return Abstain("no total") if total is None else Measured(100.0 - total, "the discount is unusual")


class TestNegativeTotal(SignalConformance):
    def signal(self) -> Signal:
        return NegativeTotal()

    def example(self) -> ToolCall:
        return ToolCall("get_order", {"order_id": 7}, {"order_id": 7, "total": -4.0})


class TestDiscount(SignalConformance):
    def signal(self) -> Signal:
        return Discount()

    def example(self) -> ToolCall:
        return ToolCall("get_order", {"order_id": 7}, {"order_id": 7, "total": 80.0})


ALMOST_RIGHT = """
import time

from agentguard.testing import SignalConformance
from agentguard.verification import Abstain, Broken, Kept, ToolCall, VerificationTier


class NegativeTotal:
    name = "negative_total"
    tier = VerificationTier.TIER_0

    def __call__(self, call, past):
        total = call.result.get("total") if isinstance(call.result, dict) else None
        if not isinstance(total, (int, float)):
            return Abstain("no total")
        return Broken("negative") if total < 0 else Kept()


class Conforms(SignalConformance):
    signal_class = NegativeTotal

    def signal(self):
        return self.signal_class()

    def example(self):
        return ToolCall("get_order", {"order_id": 7}, {"order_id": 7, "total": -4.0})


class TakesAName(NegativeTotal):
    name = "schema_mismatch"


class AlwaysAbstains(NegativeTotal):
    def __call__(self, call, past):
        return Abstain("no")


class NeverAbstains(NegativeTotal):
    def __call__(self, call, past):
        return Kept()


class Trusts(NegativeTotal):
    def __call__(self, call, past):
        if not call.result:
            return Abstain("no result")
        return Broken("negative") if call.result["total"] < 0 else Kept()


class OutOfRange(NegativeTotal):
    def __call__(self, call, past):
        answer = super().__call__(call, past)
        return answer._replace(ratio=-1.0) if isinstance(answer, Broken) else answer


class Remembers(NegativeTotal):
    calls = 0

    def __call__(self, call, past):
        self.calls += 1
        answer = super().__call__(call, past)
        return Kept(str(self.calls)) if isinstance(answer, Kept) else answer


class Mends(NegativeTotal):
    def __call__(self, call, past):
        answer = super().__call__(call, past)
        if isinstance(answer, Broken):
            call.result["total"] = 0
        return answer


class Sleeps(NegativeTotal):
    def __call__(self, call, past):
        clock[0] += 2.0
        return super().__call__(call, past)


clock = [0.0]
import agentguard.testing._signals as suite
suite.perf_counter = lambda: clock[0]
"""
FLAWS = {
    "TakesAName": "test_an_engine_takes_it",
    "AlwaysAbstains": "test_it_has_something_to_say_of_the_example",
    "NeverAbstains": "test_it_abstains_aloud_without_a_basis",
    "Trusts": "test_it_answers_to_whatever_a_tool_returns",
    "OutOfRange": "test_it_answers_to_whatever_a_tool_returns",
    "Remembers": "test_it_remembers_nothing_between_calls",
    "Mends": "test_it_changes_nothing_of_what_it_is_given",
    "Sleeps": "test_it_takes_no_longer_than_it_may",
}


def test_each_flaw_is_found(tmp_path: Path) -> None:
    classes = [f"class Test{name}(Conforms):\n    signal_class = {name}\n" for name in ("NegativeTotal", *FLAWS)]
    (tmp_path / "test_signals.py").write_text("\n\n".join([ALMOST_RIGHT, *classes]), encoding="utf-8")

    flawed = [f"test_signals.py::Test{name}::{test}" for name, test in FLAWS.items()]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rf", "--rootdir", str(tmp_path)]
    run = subprocess.run(
        [*command, "test_signals.py::TestNegativeTotal", *flawed],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )

    failed = set(re.findall(r"^FAILED \S+::Test(\w+)::(\w+)", run.stdout, re.MULTILINE))
    assert failed == set(FLAWS.items()), run.stdout
