"""The records of a monitored model: a call goes in, what each engine says of it and one score come out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

Status = Literal["ok", "warn", "error"]
Structured = Literal["json", "list", "code"]
Health = Literal["stable", "minor_variation", "degraded", "unstable", "unknown"]
TokenSource = Literal["provider", "words"]


class LLMCall(NamedTuple):
    """One finished call of a model.

    Attributes:
        model: whose baseline it belongs to.
        text: the response; None where there was none to read (a call that only asks for tools, say).
        latency_ms: milliseconds from the request to the end of the response; None where unknown (a cache answered).
        first_token_ms: milliseconds to the first text of a streamed response.
        tokens: of the response, as the provider counted them; None: words are counted instead.
        expects: the form the response was asked for, where one was.
        error: the name of the exception the call ended with; nothing else of such a call is judged.
    """

    model: str
    text: str | None = None
    latency_ms: float | None = None
    first_token_ms: float | None = None
    tokens: int | None = None
    expects: Structured | None = None
    error: str | None = None


class Fingerprint(NamedTuple):
    """A response without its content.

    Attributes:
        tokens: words, as whitespace parts them.
        sentences: stretches with a letter or digit, up to ``.``, ``!``, ``?`` or the end.
        sentence_length: words a sentence; 0 without one.
        entropy: Shannon entropy of the characters, in bits.
        word_length: mean characters of a word.
        diversity: distinct words (in lower case) as a share of all, in [0, 1].
        punctuation: marks a sentence.
    """

    tokens: float
    sentences: float
    sentence_length: float
    entropy: float
    word_length: float
    diversity: float
    punctuation: float


class EngineResult(NamedTuple):
    """The judgement of one engine on one call.

    Attributes:
        metric: ``latency``, ``first_token``, ``token_rate``, ``fingerprint``, ``structure`` or ``availability``; or the
            name that an engine of your own gives.
        value: how far out of order, in [0, 1].
        status: ``ok``, ``warn`` or ``error``.
        details: the figures it rests on, by name; nothing of the response.
        applicable: False where there is nothing to go by (no latency, too few calls). Such a result has no weight.

    >>> EngineResult("latency", 0.5, "warn", {"latency_ms": 250.0, "usual_ms": 100.0}).detail
    'latency_ms: 250, usual_ms: 100'
    """

    metric: str
    value: float
    status: Status
    details: Mapping[str, Any] = MappingProxyType({})
    applicable: bool = True

    @classmethod
    def abstain(cls, metric: str, reason: str, **details: Any) -> EngineResult:
        """Make a result without weight that says what it lacks.

        >>> EngineResult.abstain("latency", "3 of 5 calls")
        EngineResult(metric='latency', value=0.0, status='ok', details={'reason': '3 of 5 calls'}, applicable=False)
        """
        return cls(metric, 0.0, "ok", {"reason": reason, **details}, applicable=False)

    @property
    def detail(self) -> str:
        """The details in one line."""
        return ", ".join(f"{name}: {_shown(value)}" for name, value in self.details.items())


def _shown(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if 100.0 <= value < 1e9 else f"{value:.3g}"


class HealthResult(NamedTuple):
    """The health of one call, against the model's own baseline.

    Attributes:
        model: the model's name.
        score: the weighted mean of the applicable engines' values, in [0, 1]; None where none applies.
        health: ``stable`` to 0.25, ``minor_variation`` to 0.5, ``degraded`` to 0.75, ``unstable`` above; ``unknown``
            without a score.
        results: what each engine said, those that abstain among them.
        token_source: whether tokens are the ``provider``'s count or whitespace ``words``; None: neither was there.
    """

    model: str
    score: float | None
    health: Health
    results: tuple[EngineResult, ...]
    token_source: TokenSource | None = None

    @property
    def findings(self) -> tuple[EngineResult, ...]:
        """The results that are out of order."""
        return tuple(result for result in self.results if result.applicable and result.status != "ok")


class ModelBaseline(NamedTuple):
    """The usual figures of a model; None until there was one.

    Attributes:
        calls: judged so far, failed ones among them.
        errors: calls that ended with an exception.
        stable: as many calls entered the averages as engines need to say something.
        latency_ms, first_token_ms: milliseconds.
        tokens_per_second: by the provider's counts.
        words_per_second: of calls without such a count.
        fingerprint: of the responses.
        json_share: of the responses that are JSON, in [0, 1], the latest weighing most.
    """

    calls: int = 0
    errors: int = 0
    stable: bool = False
    latency_ms: float | None = None
    first_token_ms: float | None = None
    tokens_per_second: float | None = None
    words_per_second: float | None = None
    fingerprint: Fingerprint | None = None
    json_share: float | None = None


#: An engine of your own judges a call by the usual figures of its model, as the engines of this package do.
HealthEngine: TypeAlias = Callable[[LLMCall, ModelBaseline], EngineResult]


class HealthScore(NamedTuple):
    """The assessment of several engines' results as one.

    Attributes:
        score: the weighted mean of the applicable values, in [0, 1]; None where none applies.
        health: its name; ``unknown`` without a score.
    """

    score: float | None
    health: Health


def usable(value: Any) -> float | None:
    """Return a figure that can be judged; None where it is missing, no number, negative or infinite.

    >>> usable(350), usable(True), usable(-1.0), usable(float("nan")), usable(10**400)
    (350.0, None, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if 0.0 <= number < inf else None
