"""What an engine lets its user ask and undo: thresholds, profiles, one tool's memory."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import pytest

import agentguard
from agentguard.errors import ConfigurationError, DataError
from agentguard.stores import DiskStore, MemoryStore
from agentguard.verification import Settings, VerificationEngine

Mode = Literal["calibrated", "reference"]


def warm(engine: VerificationEngine, tool: str = "get_order", calls: int = 60) -> VerificationEngine:
    for number in range(calls):
        result = {"order_id": f"W{number}", "total": 20.0 + number % 9}
        engine.verify(tool, args={"order_id": f"W{number}"}, result=result, execution_time_ms=40.0 + number % 7)
    return engine


# --- Thresholds in force ---


def test_the_thresholds_in_force_are_those_that_were_set(mode: Mode) -> None:
    engine = VerificationEngine(mode=mode, prior=0.1, block_at=0.6, max_false_block_rate=0.02)
    engine.calibrate("get_order", prior=0.3, likelihood_ratios={"schema_mismatch": 5.0}).calibrate(accept_below=0.25)

    everywhere, own = engine.thresholds(), engine.thresholds("get_order")

    assert isinstance(own, Settings)
    assert (everywhere.prior, everywhere.accept_below, everywhere.block_at) == (0.1, 0.25, 0.6)
    assert (own.prior, own.accept_below, own.block_at, own.max_false_block_rate) == (0.3, 0.25, 0.6, 0.02)
    assert everywhere.likelihood_ratios["schema_mismatch"] == 12.0
    assert own.likelihood_ratios["schema_mismatch"] == 5.0
    assert engine.thresholds("never seen") == everywhere


def test_they_are_what_verify_goes_by(mode: Mode) -> None:
    """Labels move them; a verdict's prior is the prior in force, and its verdict follows from both thresholds."""
    engine = warm(VerificationEngine(mode=mode))
    for _ in range(5):
        engine.record_feedback("get_order", 0.3, True)

    in_force = engine.thresholds("get_order")
    verdict = engine.verify("get_order", args={"order_id": "W3"}, result={"order_id": "W3", "total": 23.0})

    assert in_force.prior == verdict.prior > 0.15
    assert engine.thresholds().prior == 0.15


def test_asking_for_thresholds_meets_no_tool(learned: Any) -> None:
    engine = VerificationEngine()
    engine.thresholds("get_order")
    assert engine._tools.met("get_order") is None


# --- Profiles taken back ---


def test_a_profile_can_be_taken_back(mode: Mode, learned: Any) -> None:
    engine = VerificationEngine(mode=mode)
    profile = engine.register_tool_profile("get_order", required_fields=["total"], aliases=["order"])
    engine.verify("get_order", result={"order_id": 1, "total": 2})
    assert engine.verify("order", result={"order_id": 1}).signals["schema_mismatch"].fired

    assert engine.unregister("get_order") == profile

    for tool in ("get_order", "order"):
        verdict = engine.verify(tool, result={"order_id": 1}, learn=False)
        assert not verdict.signals["schema_mismatch"].applicable
        assert "no profile" in verdict.note
    assert learned(engine, "get_order") == 1


def test_the_next_profile_that_matches_stands_then(mode: Mode) -> None:
    engine = VerificationEngine(mode=mode)
    engine.register_tool_profile("get_*", required_fields=["id"])
    engine.register_tool_profile("get_order", required_fields=["total"])

    engine.unregister("get_order")

    assert "'id'" in engine.verify("get_order", result={}).signals["schema_mismatch"].detail


def test_a_profile_that_is_not_there_is_answered_with_those_that_are(mode: Mode) -> None:
    engine = VerificationEngine(mode=mode)
    with pytest.raises(ConfigurationError, match="no profile is registered as 'order'; registered: there are none"):
        engine.unregister("order")
    engine.register_tool_profile("get_order", aliases=["order"])
    with pytest.raises(ConfigurationError, match="registered: 'get_order'"):
        engine.unregister("order")


# --- One tool forgotten ---


@pytest.mark.parametrize("kept", [False, True])
def test_a_tool_is_forgotten_and_nothing_else(mode: Mode, learned: Any, tmp_path: Path, kept: bool) -> None:
    with VerificationEngine(mode=mode, store=DiskStore(tmp_path) if kept else None) as engine:
        engine.register_tool_profile("get_order", required_fields=["total"])
        engine.calibrate("get_order", block_at=0.7)
        warm(warm(engine), "get_price")
        engine.record_feedback("get_order", 0.1, True)

        other = learned(engine, "get_price")

        engine.reset("get_order")

        assert learned(engine, "get_order") == 0
        assert learned(engine, "get_price") == other > 0
        assert engine.thresholds("get_order").prior > 0.15
        assert engine.thresholds("get_order").block_at == pytest.approx(0.7, abs=0.01)
        assert engine.profile_of("get_order").required_fields == ("total",)


def test_its_labels_are_forgotten_on_demand(mode: Mode) -> None:
    engine = warm(VerificationEngine(mode=mode))
    engine.record_feedback("get_order", 0.1, True)

    engine.reset("get_order", labels=True)

    assert engine.thresholds("get_order") == engine.thresholds()


def test_what_is_learned_after_a_reset_stays(mode: Mode, learned: Any, tmp_path: Path) -> None:
    """The word of it in the log is read once: a later flush takes nothing back."""
    with VerificationEngine(mode=mode, store=DiskStore(tmp_path)) as engine:
        warm(engine)
        engine.reset("get_order")
        warm(engine, calls=5)
        engine.flush()
        assert learned(engine, "get_order") == 5

    with VerificationEngine(mode=mode, store=DiskStore(tmp_path)) as later:
        assert learned(later, "get_order") == 5


def test_other_engines_on_the_store_forget_it_too(mode: Mode, learned: Any) -> None:
    store = MemoryStore()
    first, second = (warm(VerificationEngine(mode=mode, store=store)) for _ in range(2))

    first.reset("get_order")
    second.flush()

    assert learned(second, "get_order") == 0


def test_a_tool_of_which_nothing_is_known(mode: Mode) -> None:
    with pytest.raises(DataError, match="get_oder"):
        warm(VerificationEngine(mode=mode)).reset("get_oder")


# --- The package ---


def test_the_version_is_that_of_the_distribution() -> None:
    assert agentguard.__version__ == version("agentguard")
    with pytest.raises(AttributeError, match="no attribute 'version'"):
        _ = agentguard.version


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_the_package_runs_as_its_command(argument: str) -> None:
    run = subprocess.run([sys.executable, "-m", "agentguard", argument], capture_output=True, text=True, check=True)
    assert "agentguard" in run.stdout
    if argument == "--version":
        assert run.stdout == f"agentguard {agentguard.__version__}\n"


def test_a_posterior_that_nothing_was_said_for_is_no_block_and_no_acceptance() -> None:
    """The prior alone is at the line, and the bound on false blocks is switched off: there is nothing to combine."""
    engine = VerificationEngine(prior=0.9, max_false_block_rate=1.0)
    verdict = engine.verify("new", result={"a": 1})

    assert verdict.contributions == {}
    assert (verdict.verdict, verdict.posterior) == ("flag", pytest.approx(0.9))


@pytest.mark.parametrize(("on_error", "expected"), [("open", "accept"), ("closed", "block")])
def test_a_session_that_cannot_be_looked_up_follows_the_policy(
    on_error: str, expected: str, caplog: pytest.LogCaptureFixture
) -> None:
    engine = VerificationEngine()
    engine.register_tool_profile("get_order", on_error=on_error)
    method = engine._method

    class Failing:
        def __getattr__(self, name: str) -> Any:
            return getattr(method, name)

        def prepare(self, case: Any) -> None:
            raise RuntimeError("secret")

    engine._method = Failing()  # type: ignore[assignment]
    verdict = engine.verify("get_order", result={"id": 7}, session_id="s")

    assert verdict.verdict == expected
    assert "looking up the session of 'get_order' failed: RuntimeError" in caplog.text
    assert "secret" not in caplog.text
