"""One call against what is usual of its model: what the engines say, the score, and what is usual after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from . import fingerprint, latency, structure, token_rate
from .baseline import Level, Levels, Sample
from .score import WEIGHTS, label_of, score_of
from .types import EngineResult, Fingerprint, HealthResult, LLMCall, Structured, TokenSource, usable

__all__ = ["Settings", "judge"]

MOSTLY: Final = 0.95  # the share of responses in JSON from which JSON is expected

Check = Callable[[Sample | None, Sample | None], EngineResult]


class Settings(NamedTuple):
    """How calls are judged; pairs are the deviations from which a metric warns and is in error."""

    alpha: float = 0.1
    min_samples: int = 5
    adapt_after: int = 20
    method: fingerprint.Method = "weighted"
    latency: tuple[float, float] = (1.5, 3.0)
    token_rate: tuple[float, float] = (0.3, 0.6)
    fingerprint: tuple[float, float] = (0.3, 0.6)
    weights: Mapping[str, float] = WEIGHTS


def judge(call: LLMCall, levels: Levels, settings: Settings) -> tuple[HealthResult, Levels]:
    """Judge a call by the calls before it, and learn from it.

    A call that ended with an exception is unstable, with a score of 1, and moves no average. The structure is looked
    at from the first call on; JSON is expected where it was asked for, or where nearly all responses of the last
    ``adapt_after`` calls and more were JSON.

    >>> levels = Levels()
    >>> for _ in range(5):
    ...     result, levels = judge(LLMCall("m", "It is mild.", 100.0), levels, Settings())
    >>> judge(LLMCall("m", "It is mild.", 500.0), levels, Settings())[0].findings[0].detail
    '500 ms, usually 100 ms'
    """
    if call.error is not None:
        failed = EngineResult("availability", 1.0, "error", True, f"the call ended with {call.error}")
        return (
            HealthResult(call.model, 1.0, label_of(1.0), (failed,)),
            levels._replace(calls=levels.calls + 1, errors=levels.errors + 1),
        )
    timed, latency_ms = _step(levels.latency_ms, _sample(call.latency_ms), _latency(settings, "latency"), settings)
    first, first_token_ms = _step(
        levels.first_token_ms, _sample(call.first_token_ms), _latency(settings, "first_token"), settings
    )
    source, tokens = _counted(call)
    rate = token_rate.rate_of(tokens, call.latency_ms)
    by_provider = source == "provider"
    rated, new_rate = _step(
        levels.tokens_per_second if by_provider else levels.words_per_second,
        _sample(rate),
        _rate(settings, "tokens" if by_provider else "words"),
        settings,
    )
    manner = None if call.text is None else fingerprint.take(call.text)
    drift, new_fingerprint = _step(levels.fingerprint, manner, _drift(settings), settings)
    formed, json_share = _structure(call, levels.json_share, settings)

    streamed = () if usable(call.first_token_ms) is None else (first,)
    results = (timed, *streamed, rated, drift, formed)
    score = score_of(results, settings.weights)
    learned = levels._replace(
        calls=levels.calls + 1,
        latency_ms=latency_ms,
        first_token_ms=first_token_ms,
        fingerprint=new_fingerprint,
        json_share=json_share,
    )
    learned = (
        learned._replace(tokens_per_second=new_rate) if by_provider else learned._replace(words_per_second=new_rate)
    )
    return HealthResult(call.model, score, label_of(score), results, source), learned


def _counted(call: LLMCall) -> tuple[TokenSource | None, float | None]:
    tokens = usable(call.tokens)
    if tokens is not None and (tokens or not call.text):  # some clients say 0 where they do not know
        return "provider", tokens
    return (None, None) if call.text is None else ("words", float(len(call.text.split())))


def _sample(value: float | None) -> Sample | None:
    found = usable(value)
    return None if found is None else (found,)


def _step(level: Level, sample: Sample | None, check: Check, settings: Settings) -> tuple[EngineResult, Level]:
    found = check(sample, level.usual or None)
    if sample is None:
        return found, level
    stable = level.samples >= settings.min_samples
    learned = level.push(
        sample,
        outlier=found.applicable and found.status == "error",
        alpha=settings.alpha,
        # Before the level is stable nobody knows which of its samples are the unusual ones: the majority decides.
        adapt_after=settings.adapt_after if stable else min(settings.min_samples, settings.adapt_after),
    )
    if not stable:
        found = EngineResult.abstain(found.metric, f"{level.samples} of {settings.min_samples} calls")
    return found, learned


def _latency(settings: Settings, metric: str) -> Check:
    warn, error = settings.latency
    return lambda now, usual: latency.check(_only(now), _only(usual), warn=warn, error=error, metric=metric)


def _rate(settings: Settings, unit: str) -> Check:
    warn, error = settings.token_rate
    return lambda now, usual: token_rate.check(_only(now), _only(usual), warn=warn, error=error, unit=unit)


def _drift(settings: Settings) -> Check:
    warn, error = settings.fingerprint

    def check(now: Sample | None, usual: Sample | None) -> EngineResult:
        before = None if usual is None else Fingerprint(*usual)
        present = None if now is None else Fingerprint(*now)
        return fingerprint.check(present, before, method=settings.method, warn=warn, error=error)

    return check


def _only(sample: Sample | None) -> float | None:
    return None if sample is None else sample[0]


def _structure(call: LLMCall, level: Level, settings: Settings) -> tuple[EngineResult, Level]:
    if call.text is None:
        return structure.check(None), level
    found = structure.read(call.text)
    usual = level.samples >= settings.adapt_after and level.usual[0] >= MOSTLY
    expects: Structured | None = call.expects or ("json" if usual else None)
    learned = level.push(
        (float(found.is_json),),
        outlier=usual and not found.is_json,
        alpha=settings.alpha,
        adapt_after=settings.adapt_after,
    )
    return structure.check(found, expects), learned
