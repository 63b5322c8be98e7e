"""What a profile has results looked through for, as the engine sees it: the detectors are tested by themselves."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from agentguard.content._results import Found
from agentguard.errors import ProfileError
from agentguard.verification import VerificationEngine
from agentguard.verification._checks import _content as content

Mode = Literal["calibrated", "reference"]
NOTHING = Found(0.0, 0, ())


@pytest.fixture(autouse=True)
def detectors(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, list[str]]]:
    """A text that says ``<injection>`` holds one, and so on; what was asked is noted."""
    asked: list[tuple[Any, list[str]]] = []

    def found_in(value: Any, kinds: list[str]) -> dict[str, Found]:
        asked.append((value, list(kinds)))
        if "<broken>" in repr(value):
            raise ValueError("a secret")
        return {kind: Found(0.9, 1, ("sample",)) if f"<{kind}>" in repr(value) else NOTHING for kind in kinds}

    monkeypatch.setattr(content, "found_in", found_in)
    return asked


def engine(mode: Mode, **declared: Any) -> VerificationEngine:
    made = VerificationEngine(mode=mode)
    made.register_tool_profile("search", has_network_io=False, **declared)
    return made


@pytest.mark.parametrize("mode", ["calibrated", "reference"])
class TestVerdicts:
    def test_blocked_where_the_profile_says_so(self, mode: Mode) -> None:
        verdict = engine(mode, content={"injection": "block"}).verify("search", result={"note": "<injection>"})
        assert verdict.verdict == "block"
        assert verdict.signals["injection_found"].fired
        assert verdict.contributions["injection_found"] > 0
        assert "sample" in verdict.signals["injection_found"].detail
        assert verdict.redact == ()

    @pytest.mark.parametrize("kind", ["injection", "pii", "secrets"])
    def test_at_least_flagged_where_the_profile_says_so_whatever_the_labels_say(self, mode: Mode, kind: str) -> None:
        guarded = engine(mode, content={kind: "flag"})
        for _ in range(300):
            guarded.record_feedback("search", 0.3, False)
        assert guarded.verify("search", result=f"<{kind}>").verdict != "accept"
        assert guarded.verify("search", result="nothing").verdict == "accept"

    def test_what_is_to_be_redacted_is_said_and_is_no_evidence(self, mode: Mode) -> None:
        guarded = engine(mode, content={"pii": "redact", "secrets": "redact"})
        plain = guarded.verify("search", result="nothing", learn=False)
        found = guarded.verify("search", result="<pii> <secrets>", learn=False)
        assert found.verdict == "accept"
        assert found.redact == ("secrets", "pii")
        assert found.posterior == pytest.approx(plain.posterior)
        assert "to be redacted" in found.signals["pii_found"].detail

    def test_without_content_in_the_profile_nothing_is_looked_for(
        self, mode: Mode, detectors: list[tuple[Any, list[str]]]
    ) -> None:
        verdict = engine(mode).verify("search", result="<injection>")
        assert verdict.verdict == "accept"
        assert "injection_found" not in verdict.signals
        assert detectors == []

    def test_one_pass_for_all_kinds(self, mode: Mode, detectors: list[tuple[Any, list[str]]]) -> None:
        guarded = engine(mode, content={"pii": "redact", "injection": "flag", "secrets": "redact"})
        guarded.verify("search", result='{"note": "text"}')
        assert detectors == [({"note": "text"}, ["injection", "secrets", "pii"])]

    @pytest.mark.parametrize(("policy", "expected"), [("open", "accept"), ("closed", "block")])
    def test_a_detector_that_fails(
        self, mode: Mode, policy: str, expected: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        guarded = engine(mode, content={"pii": "redact"}, on_error=policy)
        verdict = guarded.verify("search", result="<broken>")
        assert verdict.verdict == expected
        assert not verdict.signals["pii_found"].applicable
        assert "a secret" not in caplog.text


def test_a_calibrated_ratio_is_in_force() -> None:
    guarded = engine("calibrated", content={"secrets": "flag"})
    before = guarded.verify("search", result="<secrets>", learn=False)
    guarded.calibrate(likelihood_ratios={"secret_found": 40.0})
    after = guarded.verify("search", result="<secrets>", learn=False)
    assert before.signals["secret_found"].likelihood_ratio == 2.0
    assert after.signals["secret_found"].likelihood_ratio == 40.0
    assert after.posterior > before.posterior


def test_what_is_to_be_flagged_does_not_lift_the_bound_on_false_blocks() -> None:
    guarded = engine("calibrated", content={"secrets": "flag"})
    guarded.calibrate(likelihood_ratios={"secret_found": 40.0})
    verdict = guarded.verify("search", result="<secrets>", learn=False)
    assert verdict.posterior > 0.5
    assert verdict.false_block_p is not None
    assert verdict.false_block_p > 0.01
    assert verdict.verdict == "flag"


@pytest.mark.parametrize("declared", [{"injections": "block"}, {"pii": "hide"}, ["pii"], {"": "flag"}])
def test_content_that_does_not_exist_is_refused(declared: Any) -> None:
    with pytest.raises(ProfileError, match="content"):
        engine("calibrated", content=declared)
