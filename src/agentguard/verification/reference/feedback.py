"""The document's adaptive thresholds: an average of the labels, and what it does to a tool's threshold and prior."""

from __future__ import annotations

import math
from typing import Final

from ..calibration import HIGHEST, LOWEST, LabelCounts
from ..settings import Settings

__all__ = ["adapted"]

STEEPNESS: Final = 1.0  # nats of the threshold's log-odds for a rate that is 1 above the prior; ours


def adapted(settings: Settings, labels: LabelCounts) -> Settings:
    """The thresholds in force for a tool with these labels, by the three steps of the document.

    1. The rate of hallucinations is an exponential moving average of the labels (``LabelCounts.rate``).
    2. ``block_at`` falls as the rate rises: its log-odds are those configured minus ``rate - prior``. So it is lower
       (stricter) after a confirmed hallucination, and higher after a confirmed genuine result.
    3. The tool's prior is the rate.

    The document gives the steps, and neither the average's weight, nor how far the threshold moves, nor bounds. Ours:
    the threshold never falls to ``accept_below`` or to the configured prior, and the prior stays between 0.05 and 0.9
    of the lowest that the threshold can be (or at the configured value where that lies outside). Both bounds are
    constants, so every label steps in its own direction, no number of them blocks a call with nothing against it, and
    none switches the guard off.

    >>> labels = LabelCounts()
    >>> before = adapted(Settings(), labels)
    >>> _ = labels.add(was_hallucination=True)
    >>> after = adapted(Settings(), labels)
    >>> [(round(each.prior, 4), round(each.block_at, 4)) for each in (before, after)]
    [(0.15, 0.5), (0.1707, 0.4948)]
    """
    if not labels.seen:
        return settings
    prior, block_at = settings.prior, settings.block_at
    rate = labels.rate(prior)
    least = max(settings.accept_below, prior / HIGHEST)
    lowest = max(_moved(block_at, 1.0 - prior), min(least, block_at))
    moved = max(_moved(block_at, rate - prior), lowest)
    most = max(HIGHEST * lowest, prior)
    return settings.changed(prior=min(max(rate, min(LOWEST, prior)), most), block_at=moved)


def _moved(threshold: float, by: float) -> float:
    """The threshold with its log-odds lowered; 1, at which hardly anything is blocked, stays 1."""
    if threshold >= 1.0:
        return 1.0
    log_odds = math.log(threshold) - math.log1p(-threshold) - STEEPNESS * by
    return 1.0 / (1.0 + math.exp(-log_odds)) if log_odds > -700.0 else threshold
