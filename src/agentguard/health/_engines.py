"""The engines one by one: functions of a call and the usual figures of its model, as the published document has them.

A monitor asks them of every call, with a baseline that it keeps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from agentguard.health._baseline import mixed
from agentguard.health._judging import (
    LIMITS,
    WEIGHTS,
    Limits,
    Method,
    check_fingerprint,
    check_latency,
    check_rate,
    check_structure,
    counted,
    fingerprint_of,
    label_of,
    rate_of,
    score_of,
    structure_of,
)
from agentguard.health._types import EngineResult, Fingerprint, HealthScore, LLMCall, ModelBaseline, usable


def latency_engine(call: LLMCall, baseline: ModelBaseline, *, warn: float = 1.5, error: float = 3.0) -> EngineResult:
    """Compare a call's time with the usual one.

    ``deviation = max(0, latency / usual - 1)``. Below ``warn`` the value is 0, from there on ``deviation / error``, at
    most 1; from ``error`` on the status is ``error``.

    >>> latency_engine(LLMCall("m", latency_ms=250.0), ModelBaseline(latency_ms=100.0))[:3]
    ('latency', 0.5, 'warn')
    """
    return check_latency(call.latency_ms, baseline.latency_ms, warn=warn, error=error)


def token_rate_engine(call: LLMCall, baseline: ModelBaseline, *, warn: float = 0.3, error: float = 0.6) -> EngineResult:
    """Compare a call's tokens per second with the usual ones: the value is ``max(0, 1 - rate / usual)``.

    Where the provider did not count them, words are compared with words.

    >>> token_rate_engine(LLMCall("m", latency_ms=1000.0, tokens=20), ModelBaseline(tokens_per_second=40.0))[:3]
    ('token_rate', 0.5, 'warn')
    """
    source, count = counted(call)
    in_tokens = source == "provider"
    usual = baseline.tokens_per_second if in_tokens else baseline.words_per_second
    unit = "tokens" if in_tokens else "words"
    return check_rate(rate_of(count, call.latency_ms), usual, warn=warn, error=error, unit=unit)


def fingerprint_engine(
    call: LLMCall, baseline: ModelBaseline, *, method: Method = "weighted", warn: float = 0.3, error: float = 0.6
) -> EngineResult:
    """Compare the manner of a response with the usual one, by a ``weighted`` or a ``cosine`` distance.

    Raises:
        ConfigurationError: for another method.

    >>> usual = ModelBaseline(fingerprint=Fingerprint(3.0, 1.0, 3.0, 2.6, 3.0, 1.0, 1.0))
    >>> fingerprint_engine(LLMCall("m", "It is mild."), usual).status
    'ok'
    """
    now = None if call.text is None else fingerprint_of(call.text)
    return check_fingerprint(now, baseline.fingerprint, method=method, warn=warn, error=error)


def structure_engine(call: LLMCall, baseline: ModelBaseline | None = None) -> EngineResult:
    """Find JSON, lists and blocks of code in a response; they are in the details.

    It has a value, and a weight, where the form that was asked for is absent, or JSON is broken.

    >>> structure_engine(LLMCall("m", "- tea")).details["list_count"]
    1
    >>> structure_engine(LLMCall("m", "Tea.", expects="json")).status
    'error'
    """
    return check_structure(None if call.text is None else structure_of(call.text), call.expects)


def baseline_engine(
    call: LLMCall, baseline: ModelBaseline, *, alpha: float = 0.1, min_samples: int = 5
) -> ModelBaseline:
    """Take a call into the moving averages: ``(1 - alpha) * usual + alpha * now``; a first figure is the average.

    A call that ended with an exception is counted and moves none.

    >>> usual = ModelBaseline(calls=1, latency_ms=100.0)
    >>> baseline_engine(LLMCall("m", latency_ms=200.0), usual).latency_ms
    110.0
    """
    calls = baseline.calls + 1
    if call.error is not None:
        return baseline._replace(calls=calls, errors=baseline.errors + 1)

    def average(before: float | None, now: float | None) -> float | None:
        return before if now is None else now if before is None else mixed((before,), (now,), alpha)[0]

    source, count = counted(call)
    rate = rate_of(count, call.latency_ms)
    manner, is_json = baseline.fingerprint, None
    if call.text is not None:
        now = fingerprint_of(call.text)
        manner = now if manner is None else Fingerprint(*mixed(manner, now, alpha))
        is_json = float(structure_of(call.text).is_json)
    return ModelBaseline(
        calls=calls,
        errors=baseline.errors,
        stable=calls - baseline.errors >= min_samples,
        latency_ms=average(baseline.latency_ms, usable(call.latency_ms)),
        first_token_ms=average(baseline.first_token_ms, usable(call.first_token_ms)),
        tokens_per_second=average(baseline.tokens_per_second, rate if source == "provider" else None),
        words_per_second=average(baseline.words_per_second, rate if source == "words" else None),
        fingerprint=manner,
        json_share=average(baseline.json_share, is_json),
    )


def health_score_engine(
    results: Iterable[EngineResult], *, weights: Mapping[str, float] = WEIGHTS, limits: Limits = LIMITS
) -> HealthScore:
    """Aggregate results to the mean of their values, by the weights of those that apply, and name it.

    Args:
        results: what engines said of one call.
        weights: by metric; one that is not named is not counted.
        limits: the highest scores that are ``stable``, ``minor_variation`` and ``degraded``.

    >>> health_score_engine([EngineResult("latency", 1.0, "error"), EngineResult("token_rate", 0.5, "warn")])
    HealthScore(score=0.75, health='degraded')
    """
    score = score_of(results, weights)
    return HealthScore(score, label_of(score, limits))
