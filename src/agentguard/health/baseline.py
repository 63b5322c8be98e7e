"""What is usual: an exponential moving average that outliers do not move, and that takes up a new level.

A sample that its engine finds in error does not enter the average: one answer that took a minute would otherwise make
the next slow ones look usual. But a model that has become slower for good (a new version, another region) would then
be in error for ever. So outliers are counted, one up for each and one down for every other sample; at ``adapt_after``
the mean of all samples since the first of them takes the average's place. Twenty in a row do it: short enough for a
change that stays, and longer than an incident that should be reported to its end. Outliers in the minority never do.
"""

from __future__ import annotations

from typing import NamedTuple

from .types import Fingerprint, ModelBaseline

__all__ = ["Level", "Levels", "summary"]

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
            adapt_after: the run at which there is a new level.

        >>> Level().push((100.0,)).push((200.0,)).usual
        (110.0,)
        >>> Level().push((100.0,)).push((900.0,), outlier=True).usual
        (100.0,)
        """
        if not self.samples:
            return Level(1, sample)
        run = self.run + 1 if outlier else max(0, self.run - 1)
        if not run:
            return Level(self.samples + 1, _mixed(self.usual, sample, alpha))
        since = self.since + 1
        recent = _mixed(self.recent, sample, 1.0 / since) if self.since else sample
        if run >= adapt_after:
            return Level(since, recent)
        if outlier:
            return Level(self.samples, self.usual, run, recent, since)
        return Level(self.samples + 1, _mixed(self.usual, sample, alpha), run, recent, since)


def _mixed(before: Sample, sample: Sample, weight: float) -> Sample:
    return tuple((1.0 - weight) * old + weight * new for old, new in zip(before, sample, strict=True))


class Levels(NamedTuple):
    """All that is learned of a model: what is usual, and how many of its calls failed."""

    calls: int = 0
    errors: int = 0
    latency_ms: Level = Level()
    first_token_ms: Level = Level()
    tokens_per_second: Level = Level()
    words_per_second: Level = Level()
    fingerprint: Level = Level()
    json_share: Level = Level()


def summary(levels: Levels, min_samples: int) -> ModelBaseline:
    """What is learned of a model, for people.

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
