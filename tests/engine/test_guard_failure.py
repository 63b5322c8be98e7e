"""When the guard itself fails: a check or a store raises, and the profile decides whether the call goes through."""

from __future__ import annotations

import logging
from typing import Any, Literal

import pytest

from agentguard.verification import VerificationEngine, VerificationResult
from agentguard.verification._engine import _METHODS as METHODS

Mode = Literal["calibrated", "reference"]
BROKEN = "value_plausibility"
SECRET = "the patient's name is in here"
CALL: dict[str, Any] = {"args": {"q": SECRET}, "result": {"answer": SECRET, "count": 3}, "execution_time_ms": 120.0}


def explode(case: Any) -> Any:
    raise ValueError(f"cannot judge {case.document.value} of {case.call.args}")


@pytest.fixture
def broken_check(mode: Mode, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make value_plausibility raise, with the result in its message."""
    (check,) = (check for _, checks in METHODS[mode]().tiers for check in checks if check.name == BROKEN)
    monkeypatch.setattr(type(check), "__call__", lambda self, case: explode(case))
    return BROKEN


def guarded(mode: Mode, on_error: str | None) -> VerificationEngine:
    engine = VerificationEngine(mode=mode)
    if on_error is not None:
        engine.register_tool_profile("lookup", on_error=on_error)
    return engine


def test_without_a_failure_on_error_changes_nothing(mode: Mode) -> None:
    verdicts = [guarded(mode, on_error).verify("lookup", **CALL) for on_error in ("open", "closed")]
    assert verdicts[0] == verdicts[1]
    assert verdicts[0].verdict == "accept"


@pytest.mark.parametrize("on_error", [None, "open"])
def test_open_goes_on_without_the_check(mode: Mode, broken_check: str, on_error: str | None) -> None:
    verdict = guarded(mode, on_error).verify("lookup", **CALL)

    signal = verdict.signals[broken_check]
    assert verdict.verdict == "accept"
    assert not signal.applicable
    assert signal.likelihood_ratio == 1.0
    assert "failed" in signal.detail
    assert verdict.contributions.get(broken_check, 0.0) == 0.0
    assert len(verdict.signals) == len(VerificationEngine(mode=mode).verify("other").signals)


def test_closed_blocks_and_says_why(mode: Mode, broken_check: str) -> None:
    verdict = guarded(mode, "closed").verify("lookup", **CALL)

    assert verdict.verdict == "block"
    assert verdict.is_hallucinated
    assert broken_check in verdict.note
    assert verdict.note in verdict.explanation


def test_what_a_closed_guard_blocks_is_not_learned(mode: Mode, broken_check: str, learned: Any) -> None:
    engine = guarded(mode, "closed")
    engine.verify("lookup", **CALL)

    assert learned(engine, "lookup") == 0


def test_what_an_open_guard_accepts_is_learned(mode: Mode, broken_check: str, learned: Any) -> None:
    engine = guarded(mode, "open")
    engine.verify("lookup", **CALL)

    assert learned(engine, "lookup") == 1


def everything_written(caplog: pytest.LogCaptureFixture) -> str:
    formatter = logging.Formatter()
    return "\n".join(formatter.format(record) for record in caplog.records)


@pytest.mark.parametrize("on_error", ["open", "closed"])
def test_a_failure_is_logged_without_content(
    mode: Mode, broken_check: str, on_error: str, caplog: pytest.LogCaptureFixture
) -> None:
    verdict = guarded(mode, on_error).verify("lookup", **CALL)

    written = everything_written(caplog)
    assert broken_check in written
    assert "lookup" in written
    assert "ValueError" in written
    assert SECRET not in written
    assert SECRET not in verdict.explanation
    assert SECRET not in verdict.signals[broken_check].detail


def test_a_failure_to_learn_is_logged_without_content_and_the_verdict_stands(
    mode: Mode, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    engine = guarded(mode, "closed")
    expected = engine.verify("lookup", **CALL, learn=False)
    monkeypatch.setattr(type(engine._method), "learn", lambda self, case, *_, **__: explode(case))

    assert engine.verify("lookup", **CALL) == expected
    assert "learning" in everything_written(caplog)
    assert SECRET not in everything_written(caplog)


def test_a_failure_to_combine_is_logged_without_content_and_on_error_decides(
    mode: Mode, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    engines = guarded(mode, "open"), guarded(mode, "closed")
    monkeypatch.setattr(type(engines[0]._method), "decide", lambda self, case, *_: explode(case))

    def verify(engine: VerificationEngine) -> VerificationResult:
        return engine.verify("lookup", **CALL)

    assert [verify(engine).verdict for engine in engines] == ["accept", "block"]
    assert verify(engines[0]).posterior == verify(engines[0]).prior
    assert caplog.records
    assert SECRET not in everything_written(caplog)


def test_nothing_is_logged_when_all_is_well(mode: Mode, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="agentguard")
    engine = guarded(mode, None)
    for result in (SECRET, {"answer": SECRET}, f'{{"answer": "{SECRET}', [SECRET] * 3, None, b"\xff", float("nan")):
        engine.verify("lookup", args={"q": SECRET}, result=result, execution_time_ms=-1.0, session_id="s", call_id="c")

    assert caplog.records == []
