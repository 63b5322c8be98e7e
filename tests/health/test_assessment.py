"""One call against the calls before it: scores worked out by hand, and what is learned of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.health import HealthResult, LLMCall
from agentguard.health._baseline import Levels
from agentguard.health._judging import Method, Settings, fingerprint_of, judge, weighted_distance

from ..rows import over

USUAL = LLMCall("m", "It is mild in Oslo.", 100.0, tokens=50)


def judged(*calls: LLMCall, settings: Settings | None = None) -> tuple[HealthResult, Levels]:
    levels = Levels()
    result = HealthResult("", None, "unknown", ())
    for call in calls:
        result, levels = judge(call, levels, settings or Settings())
    return result, levels


def of(result: HealthResult, metric: str) -> tuple[float, str, bool]:
    (found,) = [found for found in result.results if found.metric == metric]
    return found.value, found.status, found.applicable


def test_the_score_of_a_slow_call() -> None:
    """500 tokens a second are usual; four times the time is deviation 3 (1.0) and rate 125, a deficit of 0.75.

    The text is the usual one and its structure in order: (0.25 · 1 + 0.25 · 0.75 + 0.3 · 0) / 0.8 = 0.546875.
    """
    result, _ = judged(*[USUAL] * 5, USUAL._replace(latency_ms=400.0))

    assert of(result, "latency") == (1.0, "error", True)
    assert of(result, "token_rate") == (0.75, "error", True)
    assert of(result, "fingerprint") == (pytest.approx(0.0), "ok", True)
    assert not of(result, "structure")[2]
    assert result.score == pytest.approx(0.546875)
    assert (result.health, result.token_source) == ("degraded", "provider")
    assert [found.metric for found in result.findings] == ["latency", "token_rate"]


def test_a_usual_call_is_stable() -> None:
    result, _ = judged(*[USUAL] * 6)

    assert (result.score, result.health, result.findings) == (pytest.approx(0.0), "stable", ())


def test_nothing_is_said_before_there_are_enough_calls() -> None:
    result, _ = judged(*[USUAL] * 4, USUAL._replace(latency_ms=9000.0))

    assert (result.score, result.health) == (None, "unknown")
    assert [found.details for found in result.results[:3]] == [{"reason": "4 of 5 calls"}] * 3


def test_how_many_are_enough_is_a_setting() -> None:
    result, _ = judged(USUAL, USUAL._replace(latency_ms=400.0), settings=Settings(min_samples=1))

    assert of(result, "latency")[1] == "error"


def test_an_outlier_does_not_move_what_is_usual() -> None:
    _, before = judged(*[USUAL] * 5)
    _, after = judged(*[USUAL] * 5, USUAL._replace(text="No. No! Why? Why not? Never. Go.", latency_ms=60_000.0))

    assert after.latency_ms.usual == before.latency_ms.usual == (100.0,)
    assert after.tokens_per_second.usual == before.tokens_per_second.usual == (500.0,)
    assert after.fingerprint.usual == before.fingerprint.usual
    assert after.calls == 6


def test_a_slower_model_is_in_error_twenty_times_and_usual_then() -> None:
    slow = USUAL._replace(latency_ms=600.0)
    levels = judged(*[USUAL] * 10)[1]
    statuses = []
    for _ in range(21):
        result, levels = judge(slow, levels, Settings())
        statuses.append(of(result, "latency")[1])

    assert statuses == ["error"] * 20 + ["ok"]
    assert levels.latency_ms.usual == pytest.approx((600.0,))


def test_an_unusual_beginning_is_outvoted() -> None:
    """The first call was answered from a cache; the five after it are what is usual."""
    result, levels = judged(USUAL._replace(latency_ms=1.0), *[USUAL] * 6)

    assert levels.latency_ms.usual == pytest.approx((100.0,))
    assert of(result, "latency") == (0.0, "ok", True)


def test_an_unknown_time_is_left_out() -> None:
    """Another text alone: the score is the fingerprint's value, its weight being the only one."""
    result, levels = judged(*[USUAL] * 5, USUAL._replace(text="Mild, mild, mild in Oslo.", latency_ms=None))

    distance = weighted_distance(fingerprint_of("Mild, mild, mild in Oslo."), fingerprint_of("It is mild in Oslo."))
    assert 0.0 < distance < 0.3
    assert result.score == pytest.approx(distance)
    assert levels.latency_ms.samples == 5


def test_words_and_tokens_are_not_compared() -> None:
    """5 words in 100 ms are no drop from 50 tokens in 100 ms: words have a usual rate of their own."""
    counted = USUAL._replace(tokens=None)
    result, levels = judged(*[USUAL] * 5, counted)
    assert (result.token_source, of(result, "token_rate")[2]) == ("words", False)
    assert levels.words_per_second.usual == pytest.approx((50.0,))

    result, _ = judged(*[USUAL] * 5, *[counted] * 5, counted._replace(latency_ms=200.0))
    assert of(result, "token_rate") == (pytest.approx(0.5), "warn", True)


@over(
    ("call", "source"),
    [
        (LLMCall("m", "two words", 10.0, tokens=0), "words"),  # a client that does not know
        (LLMCall("m", "", 10.0, tokens=0), "provider"),
        (LLMCall("m", None, 10.0, tokens=7), "provider"),
        (LLMCall("m", None, 10.0), None),
        (LLMCall("m", "two words", 10.0, tokens=-1), "words"),
    ],
)
def test_where_tokens_are_from(call: LLMCall, source: str | None) -> None:
    assert judged(call)[0].token_source == source


def test_a_call_that_only_asks_for_tools_is_judged_by_time_and_tokens() -> None:
    result, levels = judged(*[USUAL] * 5, USUAL._replace(text=None))

    assert [found.metric for found in result.results if found.applicable] == ["latency", "token_rate"]
    assert levels.fingerprint.samples == 5


def test_the_first_token_is_judged_where_there_is_one_and_not_weighed() -> None:
    """Deviation 3 of the first token is an error; the score stays that of the other three."""
    streamed = USUAL._replace(first_token_ms=20.0)
    result, _ = judged(*[streamed] * 5, streamed._replace(first_token_ms=80.0))
    assert of(result, "first_token") == (1.0, "error", True)
    assert result.score == pytest.approx(0.0)
    assert [found.metric for found in judged(USUAL)[0].results] == [
        "latency", "token_rate", "fingerprint", "structure",
    ]  # fmt: skip

    weights = Settings(weights={"latency": 0.5, "first_token": 0.5})
    result, _ = judged(*[streamed] * 5, streamed._replace(first_token_ms=80.0), settings=weights)
    assert result.score == pytest.approx(0.5)


def test_a_failed_call_is_unstable_and_moves_no_average() -> None:
    _, before = judged(*[USUAL] * 5)
    result, after = judged(*[USUAL] * 5, LLMCall("m", error="TimeoutError", latency_ms=9.0, text="x"))

    assert (result.score, result.health) == (1.0, "unstable")
    assert [(found.metric, found.details) for found in result.findings] == [
        ("availability", {"ended with": "TimeoutError"})
    ]
    assert after == before._replace(calls=6, errors=1)


def test_json_that_was_asked_for_and_is_not_there() -> None:
    """From the first call on: structure is the only metric that applies."""
    result, _ = judged(USUAL._replace(expects="json"))

    assert (result.score, result.health) == (1.0, "unstable")


def test_json_is_expected_where_it_was_usual() -> None:
    json = USUAL._replace(text='{"degrees": 3}')
    assert not of(judged(*[json] * 19, USUAL)[0], "structure")[2]
    assert of(judged(*[json] * 20, USUAL)[0], "structure") == (1.0, "error", True)
    assert not of(judged(*[json, USUAL] * 30)[0], "structure")[2]


def test_json_is_no_longer_expected_after_a_change_that_stays() -> None:
    json = USUAL._replace(text='{"degrees": 3}')
    result, levels = judged(*[json] * 20, *[USUAL] * 20)
    assert of(result, "structure")[1] == "error"
    assert not of(judge(USUAL, levels, Settings())[0], "structure")[2]


def test_broken_json_weighs_in_the_score() -> None:
    """Structure 0.5 at weight 0.2 beside latency and rate that are usual, the text left out: 0.1 / 0.7."""
    result, _ = judged(*[USUAL] * 5, USUAL._replace(text='{"degrees": '), settings=Settings(weights={
        "latency": 0.25, "token_rate": 0.25, "structure": 0.2,
    }))  # fmt: skip
    assert of(result, "structure") == (0.5, "warn", True)
    assert result.score == pytest.approx(0.1 / 0.7)


def test_the_cosine_method_is_a_setting() -> None:
    result, _ = judged(*[USUAL] * 5, USUAL, settings=Settings(method="cosine"))
    assert next(found.details["method"] for found in result.results if found.metric == "fingerprint") == "cosine"


ANY = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
CALLS = st.builds(
    LLMCall,
    model=st.just("m"),
    text=st.none() | st.text(st.characters(codec=None)),
    latency_ms=ANY,
    first_token_ms=ANY,
    tokens=ANY,
    expects=st.sampled_from([None, "json", "list", "code"]),
    error=st.none() | st.just("ValueError"),
)


@given(st.lists(CALLS, max_size=30), st.sampled_from(["weighted", "cosine"]))
def test_any_calls_have_a_health(calls: list[LLMCall], method: Method) -> None:
    levels = Levels()
    for call in calls:
        result, levels = judge(call, levels, Settings(method=method, min_samples=2, adapt_after=3))
        assert result.score is None or 0.0 <= result.score <= 1.0
        assert (result.score is None) == (result.health == "unknown")
    assert levels.calls == len(calls)
