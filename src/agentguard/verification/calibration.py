"""Feedback becomes a prior: Beta counts a tool, shrunk to the configured prior and bounded on both sides."""

from __future__ import annotations

from typing import Final

__all__ = ["LabelCounts"]

STRENGTH: Final = 40.0
MOST_LABELS: Final = 200.0
LOWEST: Final = 0.05
HIGHEST: Final = 0.9  # of the posterior that blocks: a prior at that line would block calls with nothing against them


class LabelCounts:
    """How many labelled calls of a tool were fabricated and how many genuine.

    The prior is the mean of a Beta distribution that starts at the configured prior with the weight of 40 calls. At
    most 200 labels count (older ones fade), and the prior stays within 0.05 and 0.9 ``block_at``, or the configured
    value where that lies outside: no number of labels switches the guard off or lets it block a call with nothing
    against it.

    >>> counts = LabelCounts()
    >>> counts.add(was_hallucination=True)
    >>> round(counts.prior(0.15), 4)
    0.1707
    """

    __slots__ = ("fabricated", "genuine")

    def __init__(self) -> None:
        self.fabricated = 0.0
        self.genuine = 0.0

    def add(self, *, was_hallucination: bool) -> None:
        """Count one label. A fabricated one never lowers the prior, a genuine one never raises it."""
        if was_hallucination:
            self.fabricated += 1.0
        else:
            self.genuine += 1.0
        total = self.fabricated + self.genuine
        if total > MOST_LABELS:
            self.fabricated *= MOST_LABELS / total
            self.genuine *= MOST_LABELS / total

    def prior(self, configured: float, block_at: float = 0.5) -> float:
        """P(fabricated) before any signal, for this tool; labels alone never bring it to ``block_at``."""
        labels = self.fabricated + self.genuine
        mean = (configured * STRENGTH + self.fabricated) / (STRENGTH + labels)
        return min(max(mean, min(LOWEST, configured)), max(HIGHEST * block_at, configured))
