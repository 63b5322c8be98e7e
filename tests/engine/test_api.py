"""What an engine lets its user ask and undo: thresholds, profiles, one tool's memory, signals of one's own."""

from __future__ import annotations

import json
import logging
import math
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import pytest

import agentguard
from agentguard.errors import ConfigurationError, DataError
from agentguard.stores import DiskStore, MemoryStore
from agentguard.verification import Case, Check, Settings, SignalResult, VerificationEngine, VerificationTier

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


# --- Signals of one's own ---


class NegativeTotal:
    """Fires on a negative total."""

    def __init__(self, ratio: float = 15.0, tier: VerificationTier = VerificationTier.TIER_0, **fields: Any) -> None:
        self.name = "negative_total"
        self.tier = tier
        self.ratio = ratio
        self.fields = fields
        self.seen: list[Case] = []

    def __call__(self, case: Case, /) -> SignalResult:
        self.seen.append(case)
        value = case.document.value
        if not isinstance(value, dict) or "total" not in value:
            return SignalResult.abstain(self.name, self.tier, "no total")
        fired = value["total"] < 0
        said = "the total is negative" if fired else "not negative"
        signal = SignalResult(self.name, True, fired, float(fired), self.ratio if fired else 1.0, None, self.tier, said)
        return signal._replace(**self.fields)


class Lying(NegativeTotal):
    """Gives its signal another name and tier than its own."""

    def __call__(self, case: Case, /) -> SignalResult:
        return super().__call__(case)._replace(name="schema_mismatch", tier=VerificationTier.TIER_1)


GOOD = {"order_id": "W99", "total": 23.0}
BAD = {"order_id": "W99", "total": -23.0}


def judge(engine: VerificationEngine, result: object) -> Any:
    return engine.verify("get_order", args={"order_id": "W99"}, result=result, execution_time_ms=62.0, learn=False)


@pytest.mark.parametrize("tier", list(VerificationTier))
def test_a_signal_of_ones_own_is_one_among_the_others(mode: Mode, tier: VerificationTier) -> None:
    check: Check = NegativeTotal(tier=tier)
    engine = VerificationEngine(mode=mode, signals=[check])

    good, bad, none = judge(engine, GOOD), judge(engine, BAD), judge(engine, {"order_id": "W99"})

    signal = bad.signals["negative_total"]
    assert (signal.fired, signal.tier, signal.group, signal.traits) == (
        True, tier, "negative_total", ("negative_total",),
    )  # fmt: skip
    assert bad.contributions["negative_total"] == pytest.approx(math.log(15.0))
    assert bad.verdict == "block"
    assert "the total is negative" in bad.explanation
    assert good.verdict == "accept"
    assert not none.signals["negative_total"].applicable
    assert list(judge(VerificationEngine(mode=mode), GOOD).signals) != list(good.signals)


def test_it_sees_the_call_the_result_and_the_profile(mode: Mode) -> None:
    check = NegativeTotal()
    engine = VerificationEngine(mode=mode, signals=[check])
    engine.register_tool_profile("get_order", required_fields=["total"])
    engine.verify(
        "get_order", args={"order_id": 7}, result='{"total": 3}', execution_time_ms=42, session_id="s", call_id="c"
    )

    (case,) = check.seen
    assert (case.call.tool, case.call.args, case.call.session_id, case.call.call_id) == (
        "get_order", {"order_id": 7}, "s", "c",
    )  # fmt: skip
    assert case.document.value == {"total": 3}
    assert (case.document.text, case.document.kind, case.document.is_error) == (b'{"total":3}', "object", False)
    assert case.contract.profile.required_fields == ("total",)
    assert case.milliseconds == 42.0
    assert case.settings.block_at == 0.5


@pytest.mark.parametrize(("given", "counted"), [(1e9, 20.0), (1e-9, 0.05), (3.0, 3.0)])
def test_its_weight_is_bounded(given: float, counted: float) -> None:
    engine = VerificationEngine(signals=[NegativeTotal(ratio=given)])
    assert judge(engine, BAD).signals["negative_total"].likelihood_ratio == counted


def test_calibrate_sets_its_ratio(mode: Mode) -> None:
    engine = VerificationEngine(mode=mode, signals=[NegativeTotal()])

    engine.calibrate("get_order", likelihood_ratios={"negative_total": 2.0})

    assert judge(engine, BAD).contributions["negative_total"] == pytest.approx(math.log(2.0))
    assert engine.thresholds("get_order").likelihood_ratios["negative_total"] == 2.0
    with pytest.raises(ConfigurationError, match=r"unknown signal 'negative_totals'; known are .*negative_total"):
        engine.calibrate(likelihood_ratios={"negative_totals": 2.0})


def test_with_a_p_value_it_is_under_the_bound_on_false_blocks() -> None:
    """Without one it is the user's own rule, and stands on the posterior alone."""
    strict = {"max_false_block_rate": 1e-12}
    rule = VerificationEngine(signals=[NegativeTotal()], **strict)  # type: ignore[arg-type]
    learned = VerificationEngine(signals=[NegativeTotal(p_value=0.01)], **strict)  # type: ignore[arg-type]

    assert judge(rule, BAD).verdict == "block"
    assert judge(learned, BAD).posterior >= 0.5
    assert judge(learned, BAD).verdict == "flag"


def test_the_engine_learns_of_calls_in_which_it_has_a_p_value(learned: Any, caplog: pytest.LogCaptureFixture) -> None:
    engine = VerificationEngine(signals=[NegativeTotal(p_value=0.4)])
    engine.trust("get_order", 10)
    with caplog.at_level(logging.ERROR):
        warm(engine)

    assert learned(engine, "get_order") == 60
    assert not caplog.records


@pytest.mark.parametrize(
    "fields",
    [
        {"likelihood_ratio": math.nan},
        {"likelihood_ratio": 0.0},
        {"likelihood_ratio": -3.0},
        {"likelihood_ratio": math.inf},
        {"score": 1.5},
        {"score": math.nan},
        {"p_value": 0.0},
        {"likelihood_ratio": "much"},
    ],
)
@pytest.mark.parametrize("on_error", ["open", "closed"])
def test_a_signal_with_impossible_numbers_is_a_check_that_failed(mode: Mode, on_error: str, fields: Any) -> None:
    engine = VerificationEngine(mode=mode, signals=[NegativeTotal(**fields)])
    engine.register_tool_profile("get_order", on_error=on_error)

    verdict = judge(engine, GOOD)

    assert not verdict.signals["negative_total"].applicable
    assert "the check failed" in verdict.signals["negative_total"].detail
    assert verdict.verdict == ("accept" if on_error == "open" else "block")


@pytest.mark.parametrize("answer", [None, True, 0.7, {"fired": True}])
def test_so_is_one_that_returns_no_signal(answer: Any) -> None:
    class Answers(NegativeTotal):
        def __call__(self, case: Case, /) -> Any:
            return answer

    verdict = judge(VerificationEngine(signals=[Answers()]), GOOD)
    assert verdict.signals["negative_total"].detail == "the check failed: TypeError"


def test_and_one_that_raises_whose_words_are_not_logged(mode: Mode, caplog: pytest.LogCaptureFixture) -> None:
    class Raises(NegativeTotal):
        def __call__(self, case: Case, /) -> SignalResult:
            raise RuntimeError(f"secret {case.document.value}")

    with caplog.at_level(logging.ERROR):
        verdict = judge(VerificationEngine(mode=mode, signals=[Raises()]), GOOD)

    assert verdict.signals["negative_total"].detail == "the check failed: RuntimeError"
    assert verdict.verdict == "accept"
    assert "negative_total" in caplog.text
    assert "secret" not in caplog.text


def test_it_cannot_pass_for_another_signal() -> None:
    engine = VerificationEngine(signals=[NegativeTotal(group="form")])
    lying = VerificationEngine(signals=[Lying()])

    assert judge(engine, BAD).signals["negative_total"].group == "form"
    signals = judge(lying, BAD).signals
    assert not signals["schema_mismatch"].applicable
    assert (signals["negative_total"].name, signals["negative_total"].tier) == (
        "negative_total",
        VerificationTier.TIER_0,
    )


def named(name: Any, tier: Any = VerificationTier.TIER_0) -> Any:
    check: Any = NegativeTotal()
    check.name, check.tier = name, tier
    return check


@pytest.mark.parametrize(
    ("checks", "said"),
    [
        ([named("schema_mismatch")], "there is a signal 'schema_mismatch' already"),
        ([named("echo_mismatch")], "there is a signal 'echo_mismatch' already"),
        ([named("injection_found")], "there is a signal 'injection_found' already"),
        ([named("one"), named("one")], "there is a signal 'one' already"),
        ([named("")], "a signal has a name"),
        ([named(7)], "a signal has a name"),
        ([named("two\nlines")], "a signal has a name"),
        ([object()], "a signal has a name"),
        ([named("one", 0)], "signal 'one' has a tier"),
        ([type("Mute", (), {"name": "mute", "tier": VerificationTier.TIER_1})()], "cannot be called"),
    ],
)
def test_what_is_no_signal_is_refused(mode: Mode, checks: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        VerificationEngine(mode=mode, signals=checks)


def test_its_labels_and_its_verdicts_go_the_way_of_all_others(mode: Mode) -> None:
    store = MemoryStore()
    engine = warm(VerificationEngine(mode=mode, store=store, signals=[NegativeTotal()]))
    for number in range(4):
        result = {"order_id": f"X{number}", "total": -1.0 - number}
        engine.verify("get_order", args={"order_id": f"X{number}"}, result=result, call_id=f"c{number}")
    engine.record_feedback("get_order", 0.8, True, "c3")

    records = [record.event for record in store.events("audit")]
    assert any("!negative_total" in record["fired"] for record in records)
    json.dumps(records)
    second = VerificationEngine(mode=mode, store=store)
    assert second.thresholds("get_order").prior == engine.thresholds("get_order").prior


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
        assert run.stdout.strip() == f"agentguard {agentguard.__version__}"


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
