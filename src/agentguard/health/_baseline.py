"""What is usual: an exponential moving average that outliers do not move, and that takes up a new level.

A sample that its engine finds in error does not enter the average: one answer that took a minute would otherwise make
the next slow ones look usual. But a model that has become slower for good (a new version, another region) would then
be in error for ever. So outliers are counted, one up for each and one down for every other sample; at ``adapt_after``
the mean of all samples since the first of them takes the average's place. Twenty in a row do it: short enough for a
change that stays, and longer than an incident that should be reported to its end. Outliers in the minority never do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from agentguard.errors import DataError
from agentguard.health._types import Fingerprint, ModelBaseline, usable

Sample = tuple[float, ...]


class Level(NamedTuple):
    """A figure's usual value, or that of several figures that are judged together.

    Attributes:
        samples: how many are in it.
        usual: their moving average; empty before the first.
        run: outliers, less the other samples since the first of them.
        recent: the mean of all samples since then.
        since: how many these are.
    """

    samples: int = 0
    usual: Sample = ()
    run: int = 0
    recent: Sample = ()
    since: int = 0

    def push(self, sample: Sample, *, outlier: bool = False, alpha: float = 0.1, adapt_after: int = 20) -> Level:
        """The level after one more sample.

        The first is the average; from then on ``(1 − alpha) · average + alpha · sample``.

        Args:
            sample: as many finite figures as the ones before it had.
            outlier: it is not to move the average.
            alpha: the weight of a new sample, in (0, 1].
            adapt_after: the run at which there is a new level; 0: outliers move the average like any sample.

        >>> Level().push((100.0,)).push((200.0,)).usual
        (110.0,)
        >>> Level().push((100.0,)).push((900.0,), outlier=True).usual
        (100.0,)
        """
        if not self.samples:
            return Level(1, sample)
        outlier = outlier and adapt_after > 0
        run = self.run + 1 if outlier else max(0, self.run - 1)
        if not run:
            return Level(self.samples + 1, mixed(self.usual, sample, alpha))
        since = self.since + 1
        recent = mixed(self.recent, sample, 1.0 / since) if self.since else sample
        if run >= adapt_after:
            return Level(since, recent)
        if outlier:
            return Level(self.samples, self.usual, run, recent, since)
        return Level(self.samples + 1, mixed(self.usual, sample, alpha), run, recent, since)


def mixed(before: Sample, sample: Sample, weight: float) -> Sample:
    """Average figures with new ones, which have a weight in [0, 1]."""
    return tuple((1.0 - weight) * old + weight * new for old, new in zip(before, sample, strict=True))


class Levels(NamedTuple):
    """The baseline of a model: its usual levels, and the counts of its calls and failures."""

    calls: int = 0
    errors: int = 0
    latency_ms: Level = Level()
    first_token_ms: Level = Level()
    tokens_per_second: Level = Level()
    words_per_second: Level = Level()
    fingerprint: Level = Level()
    json_share: Level = Level()


def summary(levels: Levels, min_samples: int) -> ModelBaseline:
    """Summarise a baseline for people.

    >>> summary(Levels(calls=1, latency_ms=Level(1, (350.0,))), 5).latency_ms
    350.0
    """
    fingerprint = levels.fingerprint.usual
    return ModelBaseline(
        calls=levels.calls,
        errors=levels.errors,
        stable=max(levels.latency_ms.samples, levels.fingerprint.samples) >= min_samples,
        latency_ms=_one(levels.latency_ms),
        first_token_ms=_one(levels.first_token_ms),
        tokens_per_second=_one(levels.tokens_per_second),
        words_per_second=_one(levels.words_per_second),
        fingerprint=Fingerprint(*fingerprint) if fingerprint else None,
        json_share=_one(levels.json_share),
    )


def _one(level: Level) -> float | None:
    return level.usual[0] if level.usual else None


# --- The baseline as a document of a store: figures alone, nothing of any response ---


VERSION: Final = 1
_LEVELS: Final = tuple(name for name in Levels._fields if name not in ("calls", "errors"))
_WIDTHS: Final = {"fingerprint": len(Fingerprint._fields)}


def name_of(model: str) -> str:
    """The name of a model's document.

    >>> name_of("llama3.2:3b")
    'health:llama3.2:3b'
    """
    return "health:" + model.encode("utf-8", "backslashreplace").decode()  # a lone surrogate is no text to a store


def encode(model: str, levels: Levels) -> dict[str, Any]:
    """Write a baseline as the document of a model.

    >>> encode("m", Levels(calls=3))["learned"]["calls"]
    3
    """
    learned: dict[str, Any] = {"calls": levels.calls, "errors": levels.errors}
    learned |= {name: _written(getattr(levels, name)) for name in _LEVELS}
    return {"version": VERSION, "model": model.encode("utf-8", "backslashreplace").decode(), "learned": learned}


def _written(level: Level) -> dict[str, Any]:
    return {**level._asdict(), "usual": list(level.usual), "recent": list(level.recent)}


def decode(document: Mapping[str, Any]) -> Levels:
    """Read a baseline from its document.

    Raises:
        DataError: for anything that ``encode`` does not write.

    >>> decode(encode("m", Levels(errors=2))).errors
    2
    """
    version = document.get("version")
    if version != VERSION:
        raise DataError(f"it has version {version!r}, and this is agentguard with version {VERSION}")
    learned = document.get("learned")
    if not isinstance(learned, Mapping):
        raise DataError("what was learned is missing in it")
    levels = {name: _level(name, learned.get(name), _WIDTHS.get(name, 1)) for name in _LEVELS}
    return Levels(calls=_times("calls", learned), errors=_times("errors", learned), **levels)


def _level(name: str, written: Any, width: int) -> Level:
    if not isinstance(written, Mapping):
        raise DataError(f"{name} is missing in it")
    samples, run, since = (_times(part, written, name) for part in ("samples", "run", "since"))
    usual = _sample(f"{name}.usual", written.get("usual"), width if samples else 0)
    return Level(samples, usual, run, _sample(f"{name}.recent", written.get("recent"), width if since else 0), since)


def _times(name: str, written: Mapping[str, Any], of: str = "") -> int:
    value = written.get(name)
    if type(value) is not int or value < 0:
        raise DataError(f"{of + '.' if of else ''}{name} is not a number of calls in it")
    return value


def _sample(name: str, written: Any, width: int) -> Sample:
    figures = written if isinstance(written, (list, tuple)) else None
    if figures is None or len(figures) != width:
        raise DataError(f"{name} should have {width} figures in it")
    measured = tuple(figure for figure in map(usable, figures) if figure is not None)
    if len(measured) != width:
        raise DataError(f"{name} has a figure in it that was never measured")
    return measured
