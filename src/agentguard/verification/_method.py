"""Interface between the engine and a way of judging calls; ``_reference`` and ``_calibrated`` are the two there are.

The engine walks the tiers and knows nothing of the mathematics; a method knows nothing of tools' names, locks or
profiles' files, and keeps one memory a tool.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from agentguard.verification._case import Case
from agentguard.verification._relations import Relation
from agentguard.verification.types import SignalResult, Trait, Verdict, VerificationTier


class Check(Protocol):
    """One signal. Reads the case, changes nothing, and abstains aloud where it has nothing to go by."""

    @property
    def name(self) -> str:
        """By which the signal is known."""

    @property
    def tier(self) -> VerificationTier:
        """The tier in which the check runs: tier 0 looks at the call alone, tier 1 at what was learned too."""

    def __call__(self, case: Case, /) -> SignalResult: ...


class Decision(NamedTuple):
    """The verdict so far, and the sum it rests on (``contributions`` in nats)."""

    verdict: Verdict
    posterior: float
    contributions: Mapping[str, float]
    false_block_p: float | None


class Method(Protocol):
    """A way of judging calls.

    ``tiers`` are run in order, and ``decide`` is asked after the last with all signals; where a method ``ends_early``
    also after each one before, and a ``block`` ends the pipeline. ``learn`` is told of the outcome unless the caller
    asked for ``learn=False``; ``trusted`` calls are known-good.
    """

    #: A tier whose decision is ``block`` is the last that is run, as the document has it; False: all are run.
    ends_early: bool

    #: Suspects are held back and calls like them keep their verdict; False: verdicts are as a document lays them down.
    holds: bool

    #: Names, in verdicts, the limits that a tool without a profile is held to.
    held_to: str

    @property
    def tiers(self) -> Sequence[tuple[VerificationTier, Sequence[Check]]]: ...

    def new_memory(self, tool: str, /) -> Any: ...

    @property
    def shared(self) -> Any:
        """The memory of all tools together, a record with a ``lock``; None where there is no such thing."""

    def prepare(self, case: Case) -> None:
        """Look up what the checks of a call have in common, before they run."""

    def outcomes(self, case: Case) -> Iterable[tuple[Relation, bool]]:
        """The relations that the call holds to, or breaks, for other workers to be told of."""

    def decide(self, case: Case, prior: float, signals: dict[str, SignalResult], /) -> Decision: ...

    def adopt(self, memory: Any, traits: Iterable[Trait]) -> None:
        """Make room in a tool's memory for a change that was taken for genuine."""

    def meet(self) -> None:
        """Note that one more call, of any tool, is judged to be learned from."""

    def note(self, case: Case) -> None:
        """Take note of a call that was judged, whether or not it is learned from."""

    def learn(
        self, case: Case, signals: dict[str, SignalResult], decision: Decision, *, trusted: bool = False
    ) -> None: ...
