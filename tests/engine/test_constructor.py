"""Every argument of the constructor does what it says, and each one out of range is named."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

from agentguard.errors import ConfigurationError, ProfileError, StoreError
from agentguard.stores import MemoryStore
from agentguard.verification import ToolProfile, VerificationEngine, VerificationResult

Mode = Literal["calibrated", "reference"]
ARGS = {"city": "London"}
GOOD = {"city": "London", "temperature": 18, "humidity": 65}
BAD = {"city": "London"}


def guarded(**arguments: Any) -> VerificationEngine:
    engine = VerificationEngine(**arguments)
    engine.register_tool_profile(
        "get_weather", expected_latency_ms=(100, 5000), required_fields=["temperature", "humidity"]
    )
    return engine


def judge(engine: VerificationEngine, result: object, milliseconds: float = 350.0) -> VerificationResult:
    return engine.verify("get_weather", args=ARGS, result=result, execution_time_ms=milliseconds, learn=False)


def log_odds(probability: float) -> float:
    return math.log(probability) - math.log1p(-probability)


@pytest.mark.parametrize("prior", [1e-300, 0.001, 0.15, 0.6, 0.999, 1 - 1e-12])
def test_prior_is_where_the_posterior_starts_from(mode: Mode, prior: float) -> None:
    """The same evidence moves the log-odds by the same amount wherever they start."""
    usual, moved = judge(guarded(mode=mode), GOOD), judge(guarded(mode=mode, block_at=1.0, prior=prior), GOOD)

    assert moved.prior == prior
    assert log_odds(moved.posterior) - log_odds(prior) == pytest.approx(
        log_odds(usual.posterior) - log_odds(0.15), rel=1e-3
    )


@pytest.mark.parametrize("prior", [5e-324, 1e-308, 1 - 2**-53])
def test_a_prior_at_the_edge_of_what_a_float_can_say(mode: Mode, prior: float) -> None:
    verdict = judge(guarded(mode=mode, prior=prior), GOOD)

    assert verdict.contributions
    assert 0.0 <= verdict.posterior <= 1.0
    assert abs(verdict.posterior - prior) < 1e-14


def test_accept_below_and_block_at_draw_the_lines(mode: Mode) -> None:
    """The posterior of one and the same call, held against lines just above it and just at it.

    Without arguments and history tier 1 has nothing to add, so the lines meet one posterior and not two.
    """

    def drawn_at(accept_below: float, block_at: float) -> VerificationResult:
        engine = guarded(mode=mode, accept_below=accept_below, block_at=block_at)
        return engine.verify("get_weather", result=BAD, execution_time_ms=350.0)

    posterior = drawn_at(1.0, 1.0).posterior
    above = math.nextafter(posterior, 1.0)

    verdicts = [drawn_at(*lines).verdict for lines in ((above, above), (posterior, above), (posterior, posterior))]

    assert verdicts == ["accept", "flag", "block"]


def warm(**arguments: Any) -> VerificationEngine:
    """A tool whose calls are all alike but for the reading, 200 of them."""
    engine = VerificationEngine(**arguments)
    for call in range(200):
        args, milliseconds = {"meter": f"M{call:03}"}, 200.0 + call % 7
        engine.verify("read_meter", args=args, result=reading(call), execution_time_ms=milliseconds)
    return engine


def reading(call: int) -> dict[str, object]:
    return {"meter": f"M{call:03}", "reading": 40.0 + call % 11, "unit": "kWh"}


SUSPECT: dict[str, Any] = {
    "args": {"meter": "M300"},
    "result": {"meter": "M300", "reading": None, "unit": None},
    "execution_time_ms": 203.0,
}


def test_a_false_block_rate_of_one_lets_the_posterior_alone_decide() -> None:
    """And a rate near zero blocks nothing that is not declared, however high the posterior."""
    alone = warm(max_false_block_rate=1.0).verify("read_meter", **SUSPECT)
    never = warm(max_false_block_rate=1e-12).verify("read_meter", **SUSPECT)

    assert alone.posterior >= 0.5
    assert alone.verdict == "block"
    assert never.posterior == alone.posterior
    assert never.verdict != "block"


@pytest.mark.parametrize("rate", [1e-12, 0.001, 0.01, 0.1, 1.0])
def test_a_block_keeps_to_the_rate(rate: float) -> None:
    """Where nothing is declared, a blocked call is among the share of ``rate`` of the genuine calls that look worst.

    So is a flagged one; an error report and an empty answer are flagged at most.
    """
    engine = warm(max_false_block_rate=rate)
    for call, result in enumerate([reading(7), {"meter": "M300"}, "no meter", {"unit": 3}, [], "Error: no such meter"]):
        args, milliseconds = {"meter": f"M{call:03}"}, 203.0 * 10.0 ** (call - 2)
        verdict = engine.verify("read_meter", args=args, result=result, execution_time_ms=milliseconds, learn=False)
        assert verdict.false_block_p is not None
        if verdict.verdict == "block":
            assert verdict.posterior >= 0.5
            assert verdict.false_block_p <= rate
        if verdict.false_block_p <= rate and verdict.posterior >= 0.5:
            is_answer = bool(result) and not str(result).startswith("Error")
            assert verdict.verdict == ("block" if is_answer else "flag")


def test_a_broken_declaration_is_blocked_on_the_posterior_alone() -> None:
    assert judge(guarded(max_false_block_rate=1e-12), BAD).verdict == "block"


YAML = """\
name: get_weather
required_fields: [temperature, humidity]
expected_latency_ms: [100, 5000]
"""


def test_profiles_from_a_folder_and_from_a_file(mode: Mode, tmp_path: Path) -> None:
    (tmp_path / "weather.yaml").write_text(YAML, encoding="utf-8")
    for place in (tmp_path, str(tmp_path), tmp_path / "weather.yaml"):
        engine = VerificationEngine(mode=mode, profiles=place)
        assert judge(engine, BAD).signals["schema_mismatch"].fired
        assert not judge(engine, GOOD).signals["schema_mismatch"].fired


def test_profiles_from_any_iterable(mode: Mode) -> None:
    profile = ToolProfile(name="get_weather", required_fields=("temperature", "humidity"))
    for given in ([profile], (profile,), iter([profile]), (each for each in [profile])):
        assert judge(VerificationEngine(mode=mode, profiles=given), BAD).signals["schema_mismatch"].fired


@pytest.mark.parametrize("given", [[{"name": "get_weather"}], ["get_weather.yaml"], {"get_weather": 1}])
def test_profiles_that_are_none(given: Any) -> None:
    with pytest.raises(ConfigurationError, match="profiles must be a path or ToolProfiles"):
        VerificationEngine(profiles=given)


def test_without_profiles_nothing_is_declared_and_the_verdict_says_so(mode: Mode) -> None:
    verdict = judge(VerificationEngine(mode=mode), BAD)

    assert not verdict.signals["schema_mismatch"].applicable
    assert "get_weather" in verdict.note
    assert verdict.note in verdict.explanation


def test_a_faulty_profile_stops_the_engine_from_being_built(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("name: one\nrequired: [a]\nmin_response_length: -1\n", encoding="utf-8")
    (tmp_path / "two.yaml").write_text("response_patterns: ['(']\n", encoding="utf-8")

    with pytest.raises(ProfileError) as caught:
        VerificationEngine(profiles=tmp_path)

    assert len(caught.value.problems) == 3


def test_a_profile_registered_again_replaces_the_first_and_keeps_what_was_learned(mode: Mode, learned: Any) -> None:
    engine = guarded(mode=mode)
    engine.verify("get_weather", args=ARGS, result=GOOD, execution_time_ms=350.0)

    engine.register_tool_profile("get_weather", required_fields=["wind"])

    assert "wind" in judge(engine, GOOD).signals["schema_mismatch"].detail
    assert learned(engine, "get_weather") == 1


def test_a_profile_counts_for_its_aliases_and_patterns(mode: Mode) -> None:
    engine = VerificationEngine(mode=mode)
    engine.verify("weather_in_porto", result=GOOD)
    engine.register_tool_profile("get_weather", aliases=["weather", "weather_*"], required_fields=["humidity"])

    for tool in ("get_weather", "weather", "weather_in_porto", "weather_"):
        assert engine.verify(tool, result=BAD).signals["schema_mismatch"].fired
    assert not engine.verify("weathers", result=BAD).signals["schema_mismatch"].applicable


def test_feedback_survives_into_a_second_engine_on_the_same_store(mode: Mode) -> None:
    store = MemoryStore()
    first = guarded(mode=mode, store=store)
    for _ in range(5):
        first.record_feedback("get_weather", 0.3, True)
    first.record_feedback("get_weather", 0.3, False)
    first.record_feedback("read_meter", 0.3, False)

    second = guarded(mode=mode, store=store)

    assert judge(second, GOOD) == judge(first, GOOD)
    assert judge(second, GOOD).prior > judge(guarded(mode=mode), GOOD).prior
    assert second.verify("read_meter", result=1).prior < 0.15


def test_engines_without_a_store_share_nothing(mode: Mode) -> None:
    guarded(mode=mode).record_feedback("get_weather", 0.3, True)

    assert judge(guarded(mode=mode), GOOD).prior == 0.15


class FullStore(MemoryStore):
    """A store that keeps nothing any more."""

    def extend(self, kind: str, events: Sequence[Mapping[str, Any]], /) -> int:
        raise StoreError(f"cannot keep {kind}: the disk is full")


def test_what_the_store_cannot_keep_is_not_learned(mode: Mode) -> None:
    engine = guarded(mode=mode, store=FullStore())

    with pytest.raises(StoreError, match="full"):
        engine.record_feedback("get_weather", 0.3, True)

    assert judge(engine, GOOD).prior == 0.15


@pytest.mark.parametrize("mode", ["", "Calibrated", "bayes", None, 1, ["reference"]])
def test_an_unknown_mode(mode: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"mode must be one of 'calibrated', 'reference'"):
        VerificationEngine(mode=mode)


NO_PROBABILITY: list[Any] = [-0.1, 1.1, math.nan, math.inf, -math.inf, True, False, "0.2", None, [0.2], 10**400]


@pytest.mark.parametrize("name", ["prior", "accept_below", "block_at", "max_false_block_rate"])
def test_an_argument_out_of_range_is_named(mode: Mode, name: str, subtests: pytest.Subtests) -> None:
    for value in [0, 0.0, *NO_PROBABILITY]:
        arguments: dict[str, Any] = {name: value}
        with subtests.test(repr(value)[:8]), pytest.raises(ConfigurationError, match=rf"^{name} must be a number in"):
            VerificationEngine(mode=mode, **arguments)


def test_a_prior_of_one_leaves_nothing_to_judge() -> None:
    with pytest.raises(ConfigurationError, match="prior"):
        VerificationEngine(prior=1.0)
    assert VerificationEngine(accept_below=1.0, block_at=1.0, max_false_block_rate=1.0).mode == "calibrated"


def test_the_lines_must_not_cross(mode: Mode) -> None:
    with pytest.raises(ConfigurationError, match=r"accept_below.*block_at"):
        VerificationEngine(mode=mode, accept_below=0.6, block_at=0.5)
    with pytest.raises(ConfigurationError, match=r"accept_below.*block_at"):
        VerificationEngine(mode=mode, block_at=0.1)


def test_a_missing_folder_of_profiles(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="nowhere"):
        VerificationEngine(profiles=tmp_path / "nowhere")


def test_a_number_too_long_to_be_written_is_refused_all_the_same() -> None:
    with pytest.raises(ConfigurationError, match=r"prior must be a number in \(0, 1\), not an integer of 16,610 bits"):
        VerificationEngine(prior=10**5000)


@pytest.mark.parametrize("value", [[10**5000], {"a": -(10**5000)}, {10**5000: 1}], ids=["list", "value", "key"])
def test_a_value_that_holds_such_a_number_is_refused_by_its_type(value: object) -> None:
    with pytest.raises(ConfigurationError, match=rf"prior must be a number in \(0, 1\), not a {type(value).__name__}"):
        VerificationEngine(prior=value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        (-(10**5000), "an integer of 16,610 bits"),
        (10**5000, "an integer of 16,610 bits"),  # no float can hold it
        (10**309, "an integer of 1,027 bits"),
        ([10**5000], "a list"),
    ],
    ids=["negative", "long", "beyond floats", "list"],
)
def test_a_ratio_that_no_float_can_hold_is_refused(ratio: object, said: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"schema_mismatch'\] must be a positive number, not {said}"):
        VerificationEngine().calibrate(likelihood_ratios={"schema_mismatch": ratio})  # type: ignore[dict-item]
