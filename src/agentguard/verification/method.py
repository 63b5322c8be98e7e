"""What the engine asks of a way of judging; ``reference`` and ``calibrated`` are the two there are.

The engine walks the tiers and knows nothing of the mathematics; a method knows nothing of tools' names, locks or
profiles' files. One memory a tool is all that a method may keep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from .case import Case
from .types import SignalResult, Verdict, VerificationTier

__all__ = ["Case", "Check", "Decision", "Method"]


class Check(Protocol):
    """One signal. Reads the case, changes nothing, and abstains aloud where it has nothing to go by."""

    @property
    def name(self) -> str: ...

    @property
    def tier(self) -> VerificationTier: ...

    def __call__(self, case: Case, /) -> SignalResult: ...


class Decision(NamedTuple):
    """The verdict so far, and the sum it rests on (``contributions`` in nats)."""

    verdict: Verdict
    posterior: float
    contributions: Mapping[str, float]
    false_block_p: float | None


class Method(Protocol):
    """A way of judging calls.

    ``tiers`` are run in order; a tier whose decision is ``block`` ends the pipeline. ``decide`` is asked after each
    tier with all signals so far. ``learn`` is told of the outcome unless the caller asked for ``learn=False``;
    ``trusted`` calls are known-good.
    """

    #: Suspects are held back and calls like them keep their verdict; False: verdicts are as a document lays them down.
    holds: bool

    @property
    def tiers(self) -> Sequence[tuple[VerificationTier, Sequence[Check]]]: ...

    def new_memory(self, tool: str, /) -> Any: ...

    @property
    def shared(self) -> Any:
        """What is remembered of all tools together, a record with a ``lock``; None where there is no such thing."""

    def decide(self, case: Case, prior: float, signals: dict[str, SignalResult], /) -> Decision: ...

    def note(self, case: Case) -> None:
        """Take note of a call that was judged, whether or not it is learned from."""

    def learn(
        self, case: Case, signals: dict[str, SignalResult], decision: Decision, *, trusted: bool = False
    ) -> None: ...
