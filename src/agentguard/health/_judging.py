"""One call against its model's baseline: four metrics, the score, and the baseline after it."""

from __future__ import annotations

import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log2, sqrt
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import orjson

from agentguard.errors import ConfigurationError, DataError
from agentguard.health._baseline import Level, Levels, Sample, summary
from agentguard.health._types import (
    EngineResult,
    Fingerprint,
    Health,
    HealthEngine,
    HealthResult,
    LLMCall,
    ModelBaseline,
    Status,
    Structured,
    TokenSource,
    usable,
)

# --- Latency ---


def check_latency(
    latency_ms: float | None,
    usual_ms: float | None,
    *,
    warn: float = 1.5,
    error: float = 3.0,
    metric: str = "latency",
) -> EngineResult:
    """Compare a response time with the usual one.

    ``deviation = max(0, latency / usual − 1)``: below ``warn`` the value is 0, from there on ``deviation / error``, at
    most 1. A call of 2.5 times the usual is therefore the first to warn, and one of 4 times the first in error.

    Args:
        latency_ms: of this call, in milliseconds.
        usual_ms: of the calls before it.
        warn: the deviation from which the status is ``warn``.
        error: the deviation from which it is ``error``.
        metric: the result's name; the time to a first token is judged alike.

    >>> check_latency(250.0, 100.0)[1:4]
    (0.5, 'warn', {'latency_ms': 250.0, 'usual_ms': 100.0})
    >>> check_latency(249.0, 100.0).value, check_latency(400.0, 100.0).status
    (0.0, 'error')
    """
    now, usual = usable(latency_ms), usable(usual_ms)
    if now is None:
        return EngineResult.abstain(metric, "no time was measured")
    if not usual:
        return EngineResult.abstain(metric, "no usual time to compare with")
    deviation = max(0.0, now / usual - 1.0)
    details = {f"{metric}_ms": now, "usual_ms": usual}
    if deviation < warn:
        return EngineResult(metric, 0.0, "ok", details)
    value = min(1.0, deviation / error) if error > 0 else 1.0
    return EngineResult(metric, value, "warn" if deviation < error else "error", details)


# --- Token rate ---


def rate_of(tokens: float | None, latency_ms: float | None) -> float | None:
    """Tokens per second; None where either figure is missing, or the time is 0.

    >>> rate_of(50, 2000.0)
    25.0
    """
    count, time = usable(tokens), usable(latency_ms)
    return usable(count / time * 1000.0) if count is not None and time else None


def check_rate(
    rate: float | None, usual: float | None, *, warn: float = 0.3, error: float = 0.6, unit: str = "tokens"
) -> EngineResult:
    """Compare a rate with the usual one: the value is the deficit, ``max(0, 1 − rate / usual)``.

    A short response varies much: its fixed costs weigh more.

    Args:
        rate: of this call, in tokens (or words) per second.
        usual: of the calls before it, in the same unit.
        warn: the deficit from which the status is ``warn``.
        error: the deficit from which it is ``error``.
        unit: the name of what was counted.

    >>> check_rate(20.0, 40.0)[1:4]
    (0.5, 'warn', {'tokens_per_second': 20.0, 'usual': 40.0})
    """
    now, before = usable(rate), usable(usual)
    if now is None:
        return EngineResult.abstain("token_rate", "no tokens or no time were measured")
    if not before:
        return EngineResult.abstain("token_rate", "no usual rate to compare with")
    deficit = max(0.0, 1.0 - now / before)
    status: Status = "ok" if deficit < warn else "warn" if deficit < error else "error"
    return EngineResult("token_rate", deficit, status, {f"{unit}_per_second": now, "usual": before})


# --- Manner: a response in seven figures ---


Method = Literal["weighted", "cosine"]
_WEIGHTS: Final = (0.3, 0.3, 0.2, 0.2)  # of tokens, sentences, sentence length, entropy
# A full stop inside a number or a name ends no sentence; those of Chinese and Japanese need no space after them.
# One mark at a time: of several in a row the last ends the sentence, and no row of them is tried twice.
_SENTENCE_END: Final = re.compile("[.!?\u2026](?=[\\s\"')\\]\u00bb\u201d\u2019]|$)|[\u3002\uff01\uff1f]")
_WORD: Final = re.compile(r"\w")


def fingerprint_of(text: str) -> Fingerprint:
    """The fingerprint of a text, in time linear in its length.

    >>> found = fingerprint_of("It is mild. Bring a coat!")
    >>> found.tokens, found.sentences, found.sentence_length, found.punctuation
    (6.0, 2.0, 3.0, 1.0)
    >>> fingerprint_of("abab").entropy
    1.0
    """
    words = text.split()
    characters = Counter(text)
    sentences = sum(1 for part in _SENTENCE_END.split(text) if _WORD.search(part))
    marks = sum(times for mark, times in characters.items() if unicodedata.category(mark)[0] == "P")
    distinct = len({word.lower() for word in words})
    return Fingerprint(
        tokens=float(len(words)),
        sentences=float(sentences),
        sentence_length=len(words) / sentences if sentences else 0.0,
        entropy=_entropy(characters, len(text)),
        word_length=sum(map(len, words)) / len(words) if words else 0.0,
        diversity=distinct / len(words) if words else 0.0,
        punctuation=marks / max(sentences, 1),
    )


def _entropy(characters: Counter[str], length: int) -> float:
    bits = -sum(times / length * log2(times / length) for times in characters.values())
    return max(0.0, bits)  # one character repeated gives -0.0


def weighted_distance(now: Fingerprint, usual: Fingerprint) -> float:
    """The weighted mean of relative differences, ``|now − usual| / max(usual, 1)``: 0 and above.

    Words and sentences weigh 0.3 each, the length of a sentence and the entropy 0.2 each.
    """
    return sum(
        weight * abs(figure - before) / max(before, 1.0)
        for weight, figure, before in zip(_WEIGHTS, now, usual, strict=False)  # the last three have no weight
    )


def cosine_distance(now: Fingerprint, usual: Fingerprint) -> float:
    """One minus the cosine between (sentences, word length, diversity, punctuation a sentence): in [0, 1].

    The figures enter as they are, so that the share of distinct words, at most 1, turns the angle least. Of two empty
    responses the distance is 0, of an empty one from any other 1.
    """
    left = [now.sentences, now.word_length, now.diversity, now.punctuation]
    right = [usual.sentences, usual.word_length, usual.diversity, usual.punctuation]
    # Divided by the largest, so that no square is beyond a float.
    large, larger = max(left), max(right)
    if not large or not larger:
        return float(large != larger)
    left, right = [value / large for value in left], [value / larger for value in right]
    product = sum(a * b for a, b in zip(left, right, strict=True))
    cosine = product / sqrt(sum(a * a for a in left) * sum(b * b for b in right))
    return min(1.0, max(0.0, 1.0 - cosine))


_DISTANCES: Final = {"weighted": weighted_distance, "cosine": cosine_distance}
_COMPARED: Final = {
    "weighted": ("tokens", "sentences", "sentence_length", "entropy"),
    "cosine": ("sentences", "word_length", "diversity", "punctuation"),
}


def check_fingerprint(
    now: Fingerprint | None,
    usual: Fingerprint | None,
    *,
    method: Method = "weighted",
    warn: float = 0.3,
    error: float = 0.6,
) -> EngineResult:
    """Compare a fingerprint with the usual one; the value is the distance, at most 1.

    A response may well be shorter or longer for a good reason. Of repeated work of one kind this says most; where the
    prompts are mixed, about half of all genuine responses are in error by the weighted distance, and one in ten by the
    cosine, which does not look at their length in words.

    Args:
        now: of this response.
        usual: of the responses before it.
        method: ``weighted`` or ``cosine``, the distance that is taken.
        warn: the distance from which the status is ``warn``.
        error: the distance from which it is ``error``.

    Raises:
        ConfigurationError: for another method.

    >>> usual = fingerprint_of("It is mild today. Bring a coat!")
    >>> [check_fingerprint(fingerprint_of(text), usual).status for text in ("It is cold today. Bring a hat!", "No.")]
    ['ok', 'error']
    """
    distance = _DISTANCES.get(method)
    if distance is None:
        raise ConfigurationError(f"the fingerprint's method must be 'weighted' or 'cosine', not {method!r}")
    if now is None:
        return EngineResult.abstain("fingerprint", "no text was read")
    if usual is None:
        return EngineResult.abstain("fingerprint", "no usual responses to compare with")
    value = distance(now, usual)
    status: Status = "ok" if value < warn else "warn" if value < error else "error"
    details: dict[str, Any] = {"method": method, "distance": value}
    for name in _COMPARED[method]:
        details |= {name: getattr(now, name), f"usual_{name}": getattr(usual, name)}
    return EngineResult("fingerprint", min(1.0, value), status, details)


# --- Structure: out of order only where a form was asked for, or is broken ---


_BULLET: Final = re.compile(r"^[-*•]\s+", re.MULTILINE)
_NUMBERED: Final = re.compile(r"^\d+[.)]\s+", re.MULTILINE)
_FENCE: Final = re.compile(r"^[ \t]{0,3}```([^\n`]*)$", re.MULTILINE)
# How JSON begins, and prose in brackets (a footnote, a placeholder) hardly ever does.
_JSON_BEGINS: Final = re.compile(r"\s*(?:\{|\[\s*\{|\[)\s*\"")


class Structure(NamedTuple):
    """The parts that a response is made of.

    Attributes:
        is_json: all of it, or all of its one fenced block, is an object or an array of JSON.
        broken_json: it begins as JSON, or has a fenced block that says it is JSON, and cannot be read as such.
        bullets: lines that begin with ``-``, ``*`` or ``•``.
        numbered: lines that begin with ``1.`` or ``1)``.
        code_blocks: fenced with three backticks; one that is never closed counts.
    """

    is_json: bool
    broken_json: bool
    bullets: int
    numbered: int
    code_blocks: int

    @property
    def list_items(self) -> int:
        """Bullets and numbered lines."""
        return self.bullets + self.numbered


def structure_of(text: str) -> Structure:
    r"""The structure of a text, in time linear in its length.

    >>> structure_of('{"city": "Oslo"}').is_json, structure_of('{"city": "Os').broken_json
    (True, True)
    >>> structure_of("- a\n- b").list_items
    2
    """
    blocks = _blocks(text)
    is_json = _is_json(text)
    if not is_json and len(blocks) == 1 and text.strip().startswith("```") and text.strip().endswith("```"):
        is_json = _is_json(blocks[0][1])
    broken = not is_json and (
        _JSON_BEGINS.match(text) is not None or any(label == "json" and not _is_value(body) for label, body in blocks)
    )
    return Structure(is_json, broken, len(_BULLET.findall(text)), len(_NUMBERED.findall(text)), len(blocks))


def _blocks(text: str) -> list[tuple[str, str]]:
    fences = list(_FENCE.finditer(text))
    blocks = []
    for index in range(0, len(fences), 2):
        end = fences[index + 1].start() if index + 1 < len(fences) else len(text)
        blocks.append((fences[index][1].strip().lower(), text[fences[index].end() : end]))
    return blocks


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[") and _is_value(text)


def _is_value(text: str) -> bool:
    try:
        orjson.loads(text.encode("utf-8", "replace"))
    except orjson.JSONDecodeError:
        return False
    return True


def check_structure(
    structure: Structure | None, expects: Structured | None = None, *, absent: float = 1.0, broken: float = 0.5
) -> EngineResult:
    """Judge a structure. Where nothing is wrong with it, the result has no weight in the score.

    Args:
        structure: the response's structure; None: there was no text.
        expects: the form it was asked for: ``json``, ``list`` (two items and more) or ``code``.
        absent: the value, in error, where that form is not there.
        broken: the value, a warning, of broken JSON that nobody asked for.

    >>> check_structure(structure_of("I cannot do that."), "json").details
    {'expected': 'json', 'found': 'absent', 'is_json': False, 'list_count': 0, 'code_block_count': 0}
    >>> check_structure(structure_of("Fine.")).applicable
    False
    """
    if structure is None:
        return EngineResult.abstain("structure", "no text was read")
    parts = {
        "is_json": structure.is_json,
        "list_count": structure.list_items,
        "code_block_count": structure.code_blocks,
    }
    there = {"json": structure.is_json, "list": structure.list_items >= 2, "code": structure.code_blocks > 0}
    if expects is not None and not there[expects]:
        found = "broken" if expects == "json" and structure.broken_json else "absent"
        return EngineResult("structure", absent, "error", {"expected": expects, "found": found, **parts})
    if structure.broken_json:
        return EngineResult("structure", broken, "warn", {"found": "broken JSON", **parts})
    return EngineResult.abstain("structure", "nothing out of order", **parts)


# --- Score ---


Limits: TypeAlias = tuple[float, float, float]
LIMITS: Final[Limits] = (0.25, 0.50, 0.75)
WEIGHTS: Final[Mapping[str, float]] = MappingProxyType(
    {"latency": 0.25, "token_rate": 0.25, "fingerprint": 0.30, "structure": 0.20}
)


def score_of(results: Iterable[EngineResult], weights: Mapping[str, float] = WEIGHTS) -> float | None:
    """The mean of the applicable results' values, by the weights of those that are there; None where none is.

    A metric without a weight is reported and not counted, the time to the first token among them unless it is given
    one.

    >>> slow = EngineResult("latency", 0.8, "warn")
    >>> round(score_of([slow, EngineResult("fingerprint", 0.25, "ok")]), 9)
    0.5
    """
    weighed = [(result.value, weights.get(result.metric, 0.0)) for result in results if result.applicable]
    total = sum(weight for _, weight in weighed)
    if total <= 0:
        return None
    return min(1.0, sum(value * weight for value, weight in weighed) / total)


def label_of(score: float | None, limits: Limits = LIMITS) -> Health:
    """Name a score; each limit belongs to the better side.

    Args:
        score: the score; None where there is none.
        limits: the highest scores that are ``stable``, ``minor_variation`` and ``degraded``.

    >>> label_of(0.25), label_of(0.26), label_of(None)
    ('stable', 'minor_variation', 'unknown')
    """
    if score is None:
        return "unknown"
    stable, minor, degraded = limits
    if score <= stable:
        return "stable"
    if score <= minor:
        return "minor_variation"
    return "degraded" if score <= degraded else "unstable"


# --- Judging and learning ---


MOSTLY: Final = 0.95  # the share of responses in JSON from which JSON is expected
ADAPT_AFTER: Final = 20
#: The metrics that the package has itself.
METRICS: Final = frozenset({*WEIGHTS, "first_token", "availability"})

_log = logging.getLogger("agentguard")
Check = Callable[[Sample | None, Sample | None], EngineResult]


class Settings(NamedTuple):
    """The settings of a monitor; pairs are the deviations from which a metric warns and is in error."""

    alpha: float = 0.1
    min_samples: int = 5
    adapt_after: int = ADAPT_AFTER
    method: Method = "weighted"
    latency: tuple[float, float] = (1.5, 3.0)
    token_rate: tuple[float, float] = (0.3, 0.6)
    fingerprint: tuple[float, float] = (0.3, 0.6)
    weights: Mapping[str, float] = WEIGHTS
    limits: Limits = LIMITS


def judge(
    call: LLMCall, levels: Levels, settings: Settings, engines: Sequence[HealthEngine] = ()
) -> tuple[HealthResult, Levels]:
    """Judge a call by the calls before it, and learn from it.

    ``engines`` judge it beside the four metrics of this package, from its first call on.

    A call that ended with an exception is unstable, with a score of 1, and moves no average. The structure is looked
    at from the first call on; JSON is expected where it was asked for, or where nearly all responses of the last 20
    calls (``adapt_after``) and more were JSON.

    >>> levels = Levels()
    >>> for _ in range(5):
    ...     result, levels = judge(LLMCall("m", "It is mild.", 100.0), levels, Settings())
    >>> judge(LLMCall("m", "It is mild.", 500.0), levels, Settings())[0].findings[0].detail
    'latency_ms: 500, usual_ms: 100'
    """
    if call.error is not None:
        failed = EngineResult("availability", 1.0, "error", {"ended with": call.error})
        return (
            HealthResult(call.model, 1.0, label_of(1.0, settings.limits), (failed,)),
            levels._replace(calls=levels.calls + 1, errors=levels.errors + 1),
        )
    timed, latency_ms = _step(levels.latency_ms, _sample(call.latency_ms), _latency(settings, "latency"), settings)
    first, first_token_ms = _step(
        levels.first_token_ms, _sample(call.first_token_ms), _latency(settings, "first_token"), settings
    )
    source, tokens = counted(call)
    rate = rate_of(tokens, call.latency_ms)
    by_provider = source == "provider"
    rated, new_rate = _step(
        levels.tokens_per_second if by_provider else levels.words_per_second,
        _sample(rate),
        _rate(settings, "tokens" if by_provider else "words"),
        settings,
    )
    manner = None if call.text is None else fingerprint_of(call.text)
    drift, new_fingerprint = _step(levels.fingerprint, manner, _drift(settings), settings)
    formed, json_share = _structure(call, levels.json_share, settings)

    streamed = () if usable(call.first_token_ms) is None else (first,)
    baseline = summary(levels, settings.min_samples) if engines else ModelBaseline()
    results = (timed, *streamed, rated, drift, formed, *(_own(call, baseline, engine) for engine in engines))
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
    return HealthResult(call.model, score, label_of(score, settings.limits), results, source), learned


def _own(call: LLMCall, baseline: ModelBaseline, engine: HealthEngine) -> EngineResult:
    """Judge a call by a user's engine. Whatever goes wrong in it is its own, and the other metrics go on."""
    try:
        result = engine(call, baseline)
        value = usable(result.value)
        if value is None or result.status not in ("ok", "warn", "error") or not isinstance(result.details, Mapping):
            raise DataError("a result has a value of 0 or more, one of three statuses and details by name")
        if not isinstance(result.metric, str) or result.metric in METRICS:
            raise DataError("a result's metric is a name of its own")
        return result._replace(value=min(1.0, value))
    except Exception as error:
        name = getattr(engine, "__name__", type(engine).__name__)
        _log.error("the engine %r failed: %s", name, type(error).__name__)
        return EngineResult.abstain(name, f"the engine failed: {type(error).__name__}")


def counted(call: LLMCall) -> tuple[TokenSource | None, float | None]:
    """Count the tokens of a response, as the provider did, or its words; None where it has neither."""
    tokens = usable(call.tokens)
    if tokens is not None and (tokens or not call.text):  # some clients say 0 where they do not know
        return "provider", tokens
    return (None, None) if call.text is None else ("words", float(len(call.text.split())))


def _sample(value: float | None) -> Sample | None:
    figure = usable(value)
    return None if figure is None else (figure,)


def _step(level: Level, sample: Sample | None, check: Check, settings: Settings) -> tuple[EngineResult, Level]:
    result = check(sample, level.usual or None)
    if sample is None:
        return result, level
    stable = level.samples >= settings.min_samples
    learned = level.push(
        sample,
        outlier=result.applicable and result.status == "error",
        alpha=settings.alpha,
        # Before the level is stable nobody knows which of its samples are the unusual ones: the majority decides.
        adapt_after=settings.adapt_after if stable else min(settings.min_samples, settings.adapt_after),
    )
    if not stable:
        result = EngineResult.abstain(result.metric, f"{level.samples} of {settings.min_samples} calls")
    return result, learned


def _latency(settings: Settings, metric: str) -> Check:
    warn, error = settings.latency
    return lambda now, usual: check_latency(_only(now), _only(usual), warn=warn, error=error, metric=metric)


def _rate(settings: Settings, unit: str) -> Check:
    warn, error = settings.token_rate
    return lambda now, usual: check_rate(_only(now), _only(usual), warn=warn, error=error, unit=unit)


def _drift(settings: Settings) -> Check:
    warn, error = settings.fingerprint

    def check(now: Sample | None, usual: Sample | None) -> EngineResult:
        before = None if usual is None else Fingerprint(*usual)
        present = None if now is None else Fingerprint(*now)
        return check_fingerprint(present, before, method=settings.method, warn=warn, error=error)

    return check


def _only(sample: Sample | None) -> float | None:
    return None if sample is None else sample[0]


def _structure(call: LLMCall, level: Level, settings: Settings) -> tuple[EngineResult, Level]:
    if call.text is None:
        return check_structure(None), level
    structure = structure_of(call.text)
    usual = level.samples >= (settings.adapt_after or ADAPT_AFTER) and level.usual[0] >= MOSTLY
    expects: Structured | None = call.expects or ("json" if usual else None)
    learned = level.push(
        (float(structure.is_json),),
        outlier=usual and not structure.is_json,
        alpha=settings.alpha,
        adapt_after=settings.adapt_after,
    )
    return check_structure(structure, expects), learned
