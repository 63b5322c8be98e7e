"""``record_feedback``: never the wrong way round, never without bound."""

from __future__ import annotations

import logging
import math
import random
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import ConfigurationError
from agentguard.stores import DiskStore, MemoryStore
from agentguard.verification import Feedback, VerificationEngine, VerificationResult

Mode = Literal["calibrated", "reference"]
ORDER = ("accept", "flag", "block")
CITIES = ["Lisbon", "Porto", "Madrid", "Vienna", "Graz", "Oslo", "Riga", "Turin", "Lyon", "Prague"]


def weather(rng: random.Random) -> dict[str, Any]:
    city = rng.choice(CITIES)
    result = {"city": city, "temperature": round(rng.gauss(15, 5), 1), "humidity": rng.randint(30, 95)}
    return {"args": {"city": city}, "result": result, "execution_time_ms": 200.0 * rng.lognormvariate(0, 0.2)}


def warmed(mode: Mode, calls: int = 60) -> VerificationEngine:
    engine, rng = VerificationEngine(mode=mode), random.Random(11)
    engine.register_tool_profile("get_weather", expected_latency_ms=(20, 5000), required_fields=["humidity"])
    for number in range(calls):
        engine.verify("get_weather", **weather(rng), call_id=f"clean {number}")
    return engine


ARGS = {"city": "Oslo"}
OSLO = {"city": "Oslo", "temperature": 14.0, "humidity": 60}
PROBES: dict[str, dict[str, Any]] = {
    "genuine": {"args": ARGS, "result": OSLO, "execution_time_ms": 210.0},
    "missing field": {"args": ARGS, "result": {"city": "Oslo", "temperature": 14.0}, "execution_time_ms": 210.0},
    "instant": {"args": ARGS, "result": OSLO, "execution_time_ms": 0.5},
    "wrong city": {"args": ARGS, "result": {**OSLO, "city": "Riga"}, "execution_time_ms": 210.0},
    "prose": {"args": ARGS, "result": "It is sunny.", "execution_time_ms": 210.0},
    "nothing given": {},
}


def judge(engine: VerificationEngine, probe: str) -> VerificationResult:
    return engine.verify("get_weather", **PROBES[probe], learn=False)


def steps_right(before: VerificationResult, after: VerificationResult, label: bool) -> None:
    """A hallucination never makes the later judgement milder, a genuine one never harsher.

    Posteriors are compared where the same tiers ran: in reference mode a block in tier 0 ends there, so the evidence of
    tier 1 is in one posterior and not in the other. Where the label decides what the change is that the call looks
    like, what was held back is learned, and the charts of the tool's drift go on by it.
    """
    one, other = (before, after) if label else (after, before)
    assert one.prior <= other.prior
    for verdict in (one, other):
        added_up = log_odds(verdict.prior) + sum(verdict.contributions.values())
        assert math.isclose(added_up, log_odds(verdict.posterior), abs_tol=1e-9)
    drift = "spc_anomaly"
    alike = one.tier_reached is other.tier_reached and one.change == other.change
    if alike and one.contributions.get(drift) == other.contributions.get(drift):
        assert one.posterior <= other.posterior
        assert ORDER.index(one.verdict) <= ORDER.index(other.verdict)


def log_odds(probability: float) -> float:
    return math.log(probability) - math.log1p(-probability)


@pytest.mark.parametrize("mode", ["calibrated", "reference"])
@given(
    labels=st.lists(st.tuples(st.booleans(), st.floats(0.0, 1.0), st.sampled_from([None, "clean 7", "probe", "?"]))),
    probe=st.sampled_from(sorted(PROBES)),
    learned=st.booleans(),
    prior=st.sampled_from([0.01, 0.15, 0.3, 0.7]),
)
def test_each_label_steps_in_its_own_direction(
    mode: Mode, labels: list[tuple[bool, float, str | None]], probe: str, learned: bool, prior: float
) -> None:
    engine = warmed(mode).calibrate(prior=prior)
    if learned:
        engine.verify("get_weather", **PROBES[probe], call_id="probe")
    judged = judge(engine, probe)
    for label, score, call_id in labels:
        engine.record_feedback("get_weather", score, label, call_id)
        before, judged = judged, judge(engine, probe)
        steps_right(before, judged, label)


def test_a_label_moves_its_own_tool_only(mode: Mode) -> None:
    engine = warmed(mode)
    engine.record_feedback("get_weather", 0.3, True)

    assert judge(engine, "genuine").prior > 0.15
    assert engine.verify("get_forecast", result=1).prior == 0.15


@pytest.mark.parametrize("call_id", [None, "clean 3"])
def test_ten_thousand_genuine_labels_do_not_switch_the_guard_off(mode: Mode, call_id: str | None) -> None:
    engine = warmed(mode)
    for _ in range(10_000):
        engine.record_feedback("get_weather", 0.1, False, call_id)

    assert judge(engine, "missing field").verdict != "accept"
    assert judge(engine, "genuine").verdict == "accept"
    assert judge(engine, "genuine").prior > 0.01


def test_ten_thousand_hallucination_labels_do_not_block_clean_calls_of_a_warm_tool() -> None:
    """The bound on false blocks holds whatever the prior: at most 1% of 1,000 calls.

    Plus 3 standard deviations of such a count, sqrt(1000 * .01 * .99) = 3.15.
    """
    engine, rng = warmed("calibrated", 300), random.Random(12)
    for _ in range(10_000):
        engine.record_feedback("get_weather", 0.9, True)

    verdicts = [engine.verify("get_weather", **weather(rng)).verdict for _ in range(1_000)]

    assert verdicts.count("block") <= 10 + 3 * 3.15
    assert judge(engine, "genuine").prior < 1.0


@pytest.mark.parametrize("in_force", [{}, {"block_at": 0.3}, {"accept_below": 0.05, "block_at": 0.16}])
def test_nor_does_any_number_of_them_block_a_call_with_nothing_against_it(mode: Mode, in_force: dict[str, Any]) -> None:
    engine = VerificationEngine(mode=mode, **in_force)
    for _ in range(10_000 if mode == "calibrated" else 1_000):  # an average, which has long reached the label
        engine.record_feedback("nameless", 0.9, True)
    calls: list[dict[str, Any]] = [
        {}, {"result": {"city": "Oslo"}}, {"result": "text", "execution_time_ms": 300.0},
    ]  # fmt: skip
    for call in calls:
        verdict = engine.verify("nameless", **call, learn=False)
        assert not any(signal.fired for signal in verdict.signals.values())
        assert verdict.verdict != "block"


def test_labels_on_signals_that_were_no_broken_declaration_leave_the_declaration_its_weight() -> None:
    """Six hundred short answers labelled genuine: short for this tool, and yet within what is declared.

    That nothing below 10 bytes is an answer still stands as it did.
    """
    engine, rng = VerificationEngine(), random.Random(13)
    engine.register_tool_profile("search", min_response_length=10)
    engine.calibrate(likelihood_ratios={"length_anomaly": 10.0})
    for _ in range(100):
        engine.verify("search", result="found: " + "x" * rng.randint(900, 1_100))
    before = engine.verify("search", result="found: 1", learn=False).signals["length_anomaly"]
    assert before.likelihood_ratio == pytest.approx(10.0)
    assert engine.verify("search", result="found: " + "x" * 100, call_id="short").signals["length_anomaly"].fired

    for _ in range(600):
        engine.record_feedback("search", 0.3, False, "short")

    assert engine.verify("search", result="found: 1", learn=False).signals["length_anomaly"] == before


def test_genuine_labels_on_a_broken_declaration_make_it_weaker_evidence() -> None:
    engine = warmed("calibrated")
    before = engine.verify("get_weather", **PROBES["missing field"], call_id="probe")
    engine.record_feedback("get_weather", before.posterior, False, "probe")

    after = judge(engine, "missing field")
    assert 1.0 < after.signals["schema_mismatch"].likelihood_ratio < before.signals["schema_mismatch"].likelihood_ratio


def test_a_call_is_found_by_whatever_it_was_named(mode: Mode) -> None:
    """Names that are no text are taken as the text that stands for them, in both places alike."""
    by_text, by_number = (VerificationEngine(mode=mode) for _ in range(2))
    for engine, name in ((by_text, "7"), (by_number, 7)):
        call_id: Any = name
        engine.register_tool_profile("get_weather", required_fields=["humidity"])
        engine.verify("get_weather", result={"city": "Oslo"}, call_id=call_id)
        engine.record_feedback("get_weather", 0.7, False, call_id)

    assert judge(by_number, "missing field") == judge(by_text, "missing field")


def test_feedback_is_kept_as_one_event_of_plain_values(mode: Mode) -> None:
    store = MemoryStore()
    engine = VerificationEngine(mode=mode, store=store)
    engine.verify("get_weather", result={"city": "secret"}, call_id="one")
    engine.record_feedback("get_weather", 0.35, True, "one")

    (record,) = store.events("feedback")
    event = record.event
    assert event["tool"] == "get_weather"
    assert event["confidence_score"] == 0.35
    assert event["was_hallucination"] is True
    assert event["call_id"] == "one"
    assert "secret" not in repr(event)


@pytest.mark.parametrize("score", [-0.01, 1.01, float("nan"), float("inf"), True, "0.3", None])
def test_a_score_that_is_no_probability(mode: Mode, score: Any) -> None:
    engine = warmed(mode, 1)
    with pytest.raises(ConfigurationError, match="confidence_score"):
        engine.record_feedback("get_weather", score, True)
    assert judge(engine, "genuine").prior == 0.15


@pytest.mark.parametrize("label", [1, 0, None, "yes", "False"])
def test_a_label_that_is_no_bool(mode: Mode, label: Any) -> None:
    engine = warmed(mode, 1)
    with pytest.raises(ConfigurationError, match="was_hallucination"):
        engine.record_feedback("get_weather", 0.3, label)
    assert judge(engine, "genuine").prior == 0.15


@pytest.mark.parametrize("score", [0, 1, 0.0, 1.0])
def test_certainties_are_scores_too(mode: Mode, score: float) -> None:
    engine = warmed(mode, 1)
    engine.record_feedback("get_weather", score, True)
    assert judge(engine, "genuine").prior > 0.15


# --- What is answered ---


def test_a_label_of_a_call_on_record_needs_no_comment(mode: Mode) -> None:
    assert warmed(mode, 10).record_feedback("get_weather", 0.1, False, "clean 3") == Feedback(True, "")
    assert warmed(mode, 10).record_feedback("get_weather", 0.1, False) == Feedback(True, "")


def test_a_label_of_a_tool_that_was_never_called_says_so_and_counts(
    mode: Mode, caplog: pytest.LogCaptureFixture
) -> None:
    engine = warmed(mode, 10)
    with caplog.at_level(logging.WARNING):
        answers = [engine.record_feedback("get_wether", 0.9, True, call_id) for call_id in (None, "clean 3", None)]

    assert {answer.counted for answer in answers} == {True}
    assert {answer.note for answer in answers} == {
        "tool 'get_wether' was never called here: the label counts from its first call on"
    }
    assert [record.getMessage() for record in caplog.records] == [f"a label: {answers[0].note}"]
    assert engine.thresholds("get_wether").prior > 0.15


def test_a_label_of_a_call_that_is_not_on_record_counts_for_the_tool(mode: Mode) -> None:
    engine = warmed(mode, 10)

    answer = engine.record_feedback("get_weather", 0.9, True, "clean 99")

    assert answer == Feedback(
        True, "call 'clean 99' of 'get_weather' is not on record: the label counts for the tool alone"
    )
    assert engine.thresholds("get_weather").prior > 0.15


def test_a_reviewer_in_another_process_is_known_the_tool_and_the_call(mode: Mode, tmp_path: Path) -> None:
    with VerificationEngine(mode=mode, store=DiskStore(tmp_path)) as engine:
        engine.register_tool_profile("get_weather", required_fields=["humidity"])
        engine.verify("get_weather", **PROBES["missing field"], call_id="probe")

    with VerificationEngine(mode=mode, store=DiskStore(tmp_path)) as reviewer:
        assert reviewer.record_feedback("get_weather", 0.7, True, "probe") == Feedback(True, "")
        assert "not on record" in reviewer.record_feedback("get_weather", 0.7, True, "another").note


# --- Two labels of one call ---


def labelled(engine: VerificationEngine, *labels: bool, call_id: str | None = "clean 3") -> VerificationEngine:
    for label in labels:
        engine.record_feedback("get_weather", 0.1, label, call_id)
    return engine


@pytest.mark.parametrize("label", [True, False])
def test_the_same_label_again_is_not_counted_again(mode: Mode, label: bool) -> None:
    once, often = labelled(warmed(mode, 10), label), labelled(warmed(mode, 10), *[label] * 40)
    word = "fabricated" if label else "genuine"

    assert often.thresholds("get_weather") == once.thresholds("get_weather")
    assert often.record_feedback("get_weather", 0.4, label, "clean 3") == Feedback(
        False, f"call 'clean 3' of 'get_weather' was labelled {word} before: this label is not counted again"
    )


@pytest.mark.parametrize("last", [True, False])
def test_another_label_replaces_the_first(mode: Mode, last: bool) -> None:
    alone, changed = labelled(warmed(mode, 10), last), labelled(warmed(mode, 10), not last)
    answer = changed.record_feedback("get_weather", 0.1, last, "clean 3")

    assert answer.counted
    assert answer.note.endswith("before: this label replaces it")
    one, other = alone.thresholds("get_weather"), changed.thresholds("get_weather")
    assert (one.prior, one.block_at) == (pytest.approx(other.prior), pytest.approx(other.block_at))


def test_labels_of_several_calls_and_of_none_in_particular_all_count(mode: Mode) -> None:
    engine = warmed(mode, 10)
    priors = [engine.thresholds("get_weather").prior]
    for call_id in ("clean 1", "clean 2", None, None):
        labelled(engine, True, call_id=call_id)
        priors.append(engine.thresholds("get_weather").prior)
    assert priors == sorted(set(priors))


def test_the_log_keeps_both_and_who_reads_it_counts_alike(mode: Mode) -> None:
    store = MemoryStore()
    engine = VerificationEngine(mode=mode, store=store)
    engine.verify("get_weather", **PROBES["genuine"], call_id="clean 3")
    labelled(engine, True, True, False, True, False)

    assert len(list(store.events("feedback"))) == 5
    again = VerificationEngine(mode=mode, store=store)
    assert again.thresholds("get_weather") == engine.thresholds("get_weather")
    assert again.thresholds("get_weather").prior < 0.15


def test_workers_that_disagree_about_a_call_come_to_agree(mode: Mode) -> None:
    """Each hears its own label first; the later one in the log stands for both."""
    store = MemoryStore()
    first, second = (VerificationEngine(mode=mode, store=store) for _ in range(2))
    for engine in (first, second):
        engine.verify("get_weather", **PROBES["genuine"])
    labelled(first, True)
    labelled(second, False)
    first.flush()
    second.flush()

    priors = [engine.thresholds("get_weather").prior for engine in (first, second, VerificationEngine(store=store))]
    assert priors[0] == pytest.approx(priors[1])
    assert priors[0] < 0.15


@pytest.mark.parametrize("probe", ["missing field", "wrong city"])
def test_the_last_word_decides_what_the_change_is(mode: Mode, probe: str) -> None:
    engine = warmed(mode)
    verdict = engine.verify("get_weather", **PROBES[probe], call_id="probe")
    if verdict.change is None:
        pytest.skip("it is the first of no change in this mode")

    def state() -> str:
        (change,) = [change for change in engine.changes() if change.id == verdict.change]
        return change.state

    states = []
    for label in (True, False, True):
        engine.record_feedback("get_weather", verdict.posterior, label, "probe")
        states.append(state())
    assert states == ["fault", "adopted", "fault"]


def test_of_an_accepted_call_too() -> None:
    """What was odd about it, however little, is a fault; and no longer, when the reviewer takes that back."""
    engine = warmed("calibrated", 200)
    engine.calibrate(accept_below=1.0, block_at=1.0)
    odd = {"args": ARGS, "result": {**OSLO, "mock": True}, "execution_time_ms": 210.0}
    assert engine.verify("get_weather", **odd, call_id="odd").verdict == "accept"

    engine.record_feedback("get_weather", 0.1, True, "odd")
    rejected = engine.verify("get_weather", **{**odd, "result": {**OSLO, "humidity": 61, "mock": True}})
    engine.record_feedback("get_weather", 0.1, False, "odd")
    accepted = engine.verify("get_weather", **{**odd, "result": {**OSLO, "humidity": 62, "mock": True}})

    assert (rejected.verdict, accepted.verdict) == ("block", "accept")


# --- Labelled values bite ---


def price(rng: random.Random, value: float | None = None) -> dict[str, Any]:
    number = rng.randrange(40)
    usual = round((20.0 + 1.25 * number) * rng.uniform(0.97, 1.03), 2)
    result = {"sku": f"K-{number}", "price": usual if value is None else value, "currency": "EUR"}
    return {"args": {"sku": f"K-{number}"}, "result": result, "execution_time_ms": rng.uniform(30, 60)}


@pytest.mark.parametrize("seed", range(3))
def test_a_price_that_was_labelled_fabricated_is_blocked_from_then_on(seed: int) -> None:
    """20 to 70 euro in 200 calls; then 900 among them, each time looked up by a reviewer."""
    engine, rng = VerificationEngine(), random.Random(seed)
    for _ in range(200):
        engine.verify("get_price", **price(rng))

    verdicts, usual = [], []
    for number in range(12):
        verdict = engine.verify("get_price", **price(rng, 900.0 + number), call_id=f"bad {number}")
        verdicts.append(verdict.verdict)
        engine.record_feedback("get_price", verdict.posterior, True, f"bad {number}")
        usual += [engine.verify("get_price", **price(rng)).verdict for _ in range(5)]

    assert verdicts[2:] == ["block"] * 10
    assert usual.count("accept") >= 0.8 * len(usual)
    assert engine.verify("get_price", **price(rng, 950.5)).verdict == "block"


def test_thirty_labels_on_one_change_are_one_label_for_the_prior() -> None:
    """A Beta that starts at .15 with the weight of 40 calls: (6 + 1) / 41, and not (6 + 30) / 70."""
    engine, rng = VerificationEngine(), random.Random(5)
    for _ in range(200):
        engine.verify("get_price", **price(rng))
    for number in range(30):
        call = price(rng)
        del call["result"]["currency"]
        verdict = engine.verify("get_price", **call, call_id=f"bad {number}")
        engine.record_feedback("get_price", verdict.posterior, True, f"bad {number}")

    assert engine.thresholds("get_price").prior == pytest.approx(7 / 41)


def test_labels_on_calls_of_no_change_count_each() -> None:
    """Ten genuine ones: 6 / 50."""
    engine, rng = VerificationEngine(), random.Random(5)
    for _ in range(60):
        engine.verify("get_price", **price(rng))
    for number in range(10):
        verdict = engine.verify("get_price", **price(rng), call_id=f"good {number}")
        assert verdict.verdict == "accept"
        engine.record_feedback("get_price", verdict.posterior, False, f"good {number}")

    assert engine.thresholds("get_price").prior == pytest.approx(6 / 50)


# --- The document's three steps, in reference mode ---


def in_force(rate: float) -> tuple[float, float]:
    """Prior and blocking threshold at a rate of hallucinations, by hand: .5 has log-odds of 0."""
    return rate, 1.0 / (1.0 + math.exp(rate - 0.15))


def test_a_label_moves_the_average_the_threshold_and_the_prior() -> None:
    """``rate <- 40/41 rate + 1/41 label``, from .15 on; three hallucinations, then two genuine results."""
    engine = VerificationEngine(mode="reference")
    rate = 0.15
    for label in (True, True, True, False, False):
        engine.record_feedback("search_web", 0.35, label)
        rate = (40 * rate + label) / 41
        settings = engine.thresholds("search_web")
        assert (settings.prior, settings.block_at) == pytest.approx(in_force(rate), rel=1e-12)
        assert settings.accept_below == 0.2
    assert engine.thresholds() == VerificationEngine(mode="reference").thresholds()


def test_a_confirmed_hallucination_lowers_the_threshold_and_a_genuine_result_raises_it() -> None:
    thresholds = [labelled(warmed("reference"), *[label] * 9, call_id=None) for label in (True, False)]
    stricter, milder = (engine.thresholds("get_weather") for engine in thresholds)

    assert stricter.block_at < 0.5 < milder.block_at
    assert stricter.prior > 0.15 > milder.prior


def test_a_verdict_changes_by_the_threshold_alone() -> None:
    """A pattern's ratio of 5.75 at a score of .8 is 4.8. One label brings the odds from 4.8 3/17 to 4.8 7/34, .497."""
    engine = VerificationEngine(mode="reference")
    engine.calibrate(likelihood_ratios={"pattern_mismatch": 5.75})
    engine.register_tool_profile("search", response_patterns=["hits"], has_network_io=False)
    before = engine.verify("search", result="nothing")
    assert before.verdict == "flag"

    engine.record_feedback("search", before.posterior, True)
    after = engine.verify("search", result="nothing at all")

    assert engine.thresholds("search").block_at < after.posterior < 0.5
    assert after.verdict == "block"


@pytest.mark.parametrize("label", [True, False])
@pytest.mark.parametrize(
    "settings", [{}, {"block_at": 0.3}, {"accept_below": 0.05, "block_at": 0.16}, {"prior": 0.4}, {"block_at": 1.0}]
)
def test_a_thousand_labels_stay_within_bounds(label: bool, settings: dict[str, float]) -> None:
    """After as many, the average is the label to ten digits, and more of them change nothing: (40/41)^1000 is 2e-11."""
    engine = VerificationEngine(mode="reference", **settings)  # type: ignore[arg-type]
    configured = engine.thresholds()
    for _ in range(1_000):
        engine.record_feedback("nameless", 0.5, label)
    reached = engine.thresholds("nameless")

    assert configured.accept_below <= reached.block_at <= 1.0
    assert 0.0 < reached.prior < reached.block_at
    if label:
        assert reached.prior >= configured.prior
        assert reached.block_at <= configured.block_at
    else:
        assert reached.prior == pytest.approx(min(0.05, configured.prior))
        assert configured.block_at <= reached.block_at < configured.block_at + 0.1


def test_they_survive_a_restart(mode: Mode, tmp_path: Path) -> None:
    with VerificationEngine(mode=mode, store=DiskStore(tmp_path)) as engine:
        for number in range(7):
            engine.verify("get_weather", **PROBES["genuine"], call_id=f"c{number}")
            engine.record_feedback("get_weather", 0.2, number != 3, f"c{number}")
        before = engine.thresholds("get_weather")

    with VerificationEngine(mode=mode, store=DiskStore(tmp_path)) as engine:
        assert engine.thresholds("get_weather") == before


# --- A lasting change, in reference mode ---


def moved(rng: random.Random) -> dict[str, Any]:
    call = price(rng)
    return {**call, "result": {**call["result"], "price": round(call["result"]["price"] * 1_000, 2)}, "session_id": "s"}


def after_a_change(calls: int) -> tuple[VerificationEngine, random.Random, list[VerificationResult]]:
    engine, rng = VerificationEngine(mode="reference"), random.Random(5)
    for _ in range(200):
        engine.verify("get_price", **price(rng), session_id="s")
    return engine, rng, [engine.verify("get_price", **moved(rng)) for _ in range(calls)]


def test_in_reference_mode_a_lasting_change_is_blocked_until_it_is_adopted() -> None:
    engine, rng, held = after_a_change(40)
    assert {verdict.verdict for verdict in held} == {"block"}
    (change,) = [change for change in engine.changes() if change.state == "open" and change.blocked > 30]
    assert change.tool == "get_price"

    engine.adopt(change)

    after = [engine.verify("get_price", **moved(rng)).verdict for _ in range(300)]
    assert after.count("block") == 0
    assert after.count("accept") >= 270
    # The charts are those of the new price: what was usual before is out of order now.
    before = engine.verify("get_price", **price(rng), session_id="s")
    assert before.signals["historical_inconsistency"].fired


def test_a_change_of_few_calls_is_adopted_too() -> None:
    """Too few calls for charts of their own: what they are odd in is no evidence from then on."""
    engine, rng, held = after_a_change(3)
    assert {verdict.verdict for verdict in held} == {"block"}
    assert held[-1].change is not None

    engine.adopt(held[-1].change)

    after = [engine.verify("get_price", **moved(rng)).verdict for _ in range(300)]
    assert after.count("block") <= 3
