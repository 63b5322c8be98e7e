"""How many calls got which verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from .types import Verdict

__all__ = ["SEVERITY", "VERDICTS", "VerdictCounts"]

VERDICTS: Final[tuple[Verdict, ...]] = ("accept", "flag", "block")
"""From the mildest on; the fields of ``VerdictCounts``."""

SEVERITY: Final[Mapping[Verdict, int]] = {verdict: place for place, verdict in enumerate(VERDICTS)}


class VerdictCounts(NamedTuple):
    """How many calls got which verdict.

    >>> counts = VerdictCounts(accept=90, flag=4)
    >>> counts.calls, counts.suspects, counts.worst
    (94, 4, 'flag')
    """

    accept: int = 0
    flag: int = 0
    block: int = 0

    @property
    def calls(self) -> int:
        """All of them."""
        return self.accept + self.flag + self.block

    @property
    def suspects(self) -> int:
        """Flagged and blocked ones."""
        return self.flag + self.block

    @property
    def worst(self) -> Verdict:
        """The gravest verdict that was given at all."""
        return "block" if self.block else "flag" if self.flag else "accept"
