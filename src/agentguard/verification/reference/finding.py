"""From what a check found to its signal: the part that all eight checks have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ..case import Case
from ..types import SignalResult, VerificationTier

__all__ = ["DocumentedCheck", "Finding"]


class Finding(NamedTuple):
    """What a check found.

    Attributes:
        score: how strongly something is out of order, in [0, 1]; 0 for in order, None where the check does not apply.
        detail: what, in words.
        traits: the same for programs, see ``SignalResult``; a number that is out of order has one trait, whatever the
            checks that see it, so that calls with it are one change. None given: the signal's name. Where the check
            does not apply: that what is declared could not be looked at, see ``unread``.
    """

    score: float | None
    detail: str
    traits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentedCheck:
    """One row of the document's table of signals.

    Attributes:
        name: the signal's name.
        tier: where it runs.
        ratio: the documented likelihood ratio, which ``Settings.likelihood_ratios`` may replace.
        find: looks at a case and changes nothing.
    """

    name: str
    tier: VerificationTier
    ratio: float
    find: Callable[[Case], Finding]

    def __call__(self, case: Case, /) -> SignalResult:
        """The finding as a signal, with the ratio that is in force."""
        score, detail, traits = self.find(case)
        if score is None:
            return SignalResult.abstain(self.name, self.tier, detail)._replace(traits=traits)
        ratio = case.settings.likelihood_ratios.get(self.name, self.ratio)
        traits = (traits or (self.name,)) if score > 0.0 else ()
        return SignalResult(self.name, True, score > 0.0, score, ratio, None, self.tier, detail, "", traits)
