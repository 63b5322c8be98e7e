"""The records of a monitored model: a call goes in, what each engine says of it and one score come out."""

from __future__ import annotations

from math import inf
from typing import Any, Literal, NamedTuple, Protocol

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
        metric: ``latency``, ``first_token``, ``token_rate``, ``fingerprint``, ``structure`` or ``availability``.
        value: how far out of order, in [0, 1].
        status: ``ok``, ``warn`` or ``error``.
        applicable: False where there is nothing to go by (no latency, too few calls). Such a result has no weight.
        detail: why, in plain words and figures; nothing of the response.
    """

    metric: str
    value: float
    status: Status
    applicable: bool
    detail: str

    @classmethod
    def abstain(cls, metric: str, reason: str) -> EngineResult:
        """Make a result without weight that says what it lacks.

        >>> EngineResult.abstain("latency", "3 of 5 calls").applicable
        False
        """
        return cls(metric, 0.0, "ok", False, reason)


class HealthEngine(Protocol):
    """An engine of your own: one metric of a call, judged against what is usual for its model.

    The monitor keeps what is usual, as it does for its own metrics: a moving average that outliers do not move, which a
    store keeps. Until ``min_samples`` calls of the model were measured, what ``check`` says has no weight.

    >>> class Shouting:
    ...     metric, weight = "capitals", 0.2
    ...     def measure(self, call: LLMCall) -> tuple[float, ...] | None:
    ...         return None if not call.text else (sum(map(str.isupper, call.text)) / len(call.text),)
    ...     def check(self, now: tuple[float, ...], usual: tuple[float, ...]) -> EngineResult:
    ...         loud = now[0] > 3 * usual[0] + 0.1
    ...         return EngineResult("capitals", float(loud), "error" if loud else "ok", True, f"{now[0]:.0%} capitals")
    >>> from agentguard.health import LLMMonitor
    >>> monitor = LLMMonitor(engines=[Shouting()])
    >>> results = [monitor.record(LLMCall("m", text)) for text in 5 * ["It is mild."] + ["IT IS MILD."]]
    >>> [result.detail for result in results[-1].findings if result.metric == "capitals"]
    ['73% capitals']
    """

    @property
    def metric(self) -> str:
        """The name in results; none that the monitor has itself."""

    @property
    def weight(self) -> float:
        """The weight in the score, where the documented ones weigh 0.2 to 0.3. 0: reported and not counted."""

    def measure(self, call: LLMCall) -> tuple[float, ...] | None:
        """The figures of a call that ended well: finite, as many each time; None where there is nothing to measure."""

    def check(self, now: tuple[float, ...], usual: tuple[float, ...]) -> EngineResult:
        """Compare figures with the usual ones. What is in ``error`` does not enter the average."""


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

    calls: int
    errors: int
    stable: bool
    latency_ms: float | None
    first_token_ms: float | None
    tokens_per_second: float | None
    words_per_second: float | None
    fingerprint: Fingerprint | None
    json_share: float | None


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
