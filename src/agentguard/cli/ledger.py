"""The sum behind a verdict, in the order in which a person would add it up."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from agentguard.verification import SignalResult, VerificationResult

__all__ = ["Entry", "Ledger", "ledger", "log_odds"]


class Entry(NamedTuple):
    """What one signal added to the log-odds, in nats, and the sum so far."""

    name: str
    signal: SignalResult | None
    nats: float
    running: float


class Ledger(NamedTuple):
    """Prior log-odds, one entry a signal, and the log-odds that the posterior stands for.

    ``remainder`` is what the entries leave unexplained: 0 but for rounding, unless the engine limited the posterior.
    """

    prior: float
    entries: tuple[Entry, ...]
    remainder: float
    total: float

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data: all in nats."""
        contributions = {entry.name: entry.nats for entry in self.entries}
        return {
            "prior": self.prior,
            "contributions": contributions,
            "remainder": self.remainder,
            "total": self.total,
        }


def ledger(result: VerificationResult) -> Ledger:
    """Lay out a verdict as a sum: prior + contributions = total, P(fabricated) = 1 / (1 + exp(-total))."""
    prior = running = log_odds(result.prior)
    entries = []
    names = [*result.signals, *(name for name in result.contributions if name not in result.signals)]
    for name in names:
        nats = result.contributions.get(name, 0.0)
        running += nats
        entries.append(Entry(name, result.signals.get(name), nats, running))
    total = log_odds(result.posterior)
    remainder = total - running if math.isfinite(total) else 0.0
    return Ledger(prior, tuple(entries), remainder, total)


def log_odds(probability: float) -> float:
    """ln(p / (1 - p)); infinite at 0 and 1.

    >>> round(log_odds(0.15), 4)
    -1.7346
    """
    if probability <= 0:
        return -math.inf
    if probability >= 1:
        return math.inf
    return math.log(probability / (1 - probability))
