"""Signals of a user's own: the protocol, and the records that go into one and come out.

A signal has a ``name`` and a ``tier``, and is called with a call and what is known of its tool. It answers with one of
four records, ``Broken`` or ``Kept`` for a rule, ``Measured`` for a number of which the engine learns what is usual, and
``Abstain`` where it has nothing to go by.

>>> class NegativeTotal:
...     name = "negative_total"
...     tier = VerificationTier.TIER_0
...
...     def __call__(self, call, past):
...         if not isinstance(call.result, dict) or "total" not in call.result:
...             return Abstain("no total")
...         return Broken("total is negative") if call.result["total"] < 0 else Kept("total is not negative")
>>> from agentguard.verification import VerificationEngine
>>> engine = VerificationEngine(signals=[NegativeTotal()])
>>> engine.verify("get_order", result={"order_id": "W7", "total": -4.0}).verdict
'block'
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from .evidence import OWN_RATIO, OWN_RULE_RATIO
from .profile import ToolProfile
from .types import Settings, ToolCall, VerificationTier

__all__ = ["MOST_RATIO", "Abstain", "Broken", "Finding", "Kept", "Measured", "Past", "Signal"]

#: And 1/20 the other way: no signal of a user's outweighs all that the engine knows.
MOST_RATIO: Final = 20.0


class Broken(NamedTuple):
    """A rule is broken: it counts as a broken declaration of a profile, and is blocked on the posterior alone.

    Attributes:
        detail: one sentence for the reasons of the verdict, without content of the result.
        ratio: P(broken | fabricated) / P(broken | genuine), from 1 up; 20 at most counts. The default, 12, is that
            of ``schema_mismatch``.
        traits: names by which calls that are odd in the same way are known to each other; none: the signal's name.
    """

    detail: str
    ratio: float = OWN_RULE_RATIO
    traits: tuple[str, ...] = ()


class Kept(NamedTuple):
    """A rule is kept.

    Attributes:
        detail: one sentence.
        ratio: P(kept | fabricated) / P(kept | genuine), in (0, 1]; 1/20 at least counts. 1, the default, says nothing
            for the call; a checksum that holds says much.
    """

    detail: str = "kept"
    ratio: float = 1.0


class Measured(NamedTuple):
    """A number, the larger the more unusual, in any unit; the engine learns of each tool which numbers are usual.

    It becomes a p-value from the latest 256 numbers of this tool's genuine calls, recalibrated as that of every learned
    signal is, and is under the bound on false blocks. Below eight numbers it is learned and says nothing. A number that
    is usual says nothing for the call. In reference mode, which has no p-values, it says nothing at all.

    Attributes:
        value: finite.
        detail: what it is, in one sentence without content of the result.
        ratio: the likelihood ratio at p = .0027 (three sigma), from 1 to 20. The default, 4.5 as of
            ``historical_inconsistency``, is for a signal of which nothing is known.
        traits: as in ``Broken``.
    """

    value: float
    detail: str
    ratio: float = OWN_RATIO
    traits: tuple[str, ...] = ()


class Abstain(NamedTuple):
    """There is nothing to go by, and why: no evidence for the call, and none against it."""

    reason: str


Finding = Broken | Kept | Measured
"""A signal's answer where it has one."""


class Past(NamedTuple):
    """Everything that a signal may know of a tool besides the call.

    Attributes:
        calls: the calls of this tool that were taken for genuine and learned.
        values: the latest of this signal's own numbers for them, at most 256, the oldest first.
        profile: the profile that the tool is held to.
        settings: the thresholds in force.

    >>> Past().calls, Past().values
    (0, ())
    """

    calls: int = 0
    values: tuple[float, ...] = ()
    profile: ToolProfile = ToolProfile(name="*")
    settings: Settings = Settings()


class Signal(Protocol):
    """A check of one's own, for ``VerificationEngine(signals=[...])``, ``register_signal`` or a package's entry point.

    It is called under the lock of the tool: let it be quick, and let it not call the engine. It changes nothing of what
    it is given, and remembers nothing between calls. What it raises makes it a check that failed: the signal does not
    apply, the kind of error is logged, and the profile's ``on_error`` has its say. ``agentguard.testing`` has the tests
    that hold one to this.
    """

    @property
    def name(self) -> str:
        """By which the signal is known: in verdicts, thresholds, profiles and the store."""

    @property
    def tier(self) -> VerificationTier:
        """When it runs: tier 0 among what looks at the call alone, tier 1 among what knows its past."""

    def __call__(self, call: ToolCall, past: Past, /) -> Finding | Abstain:
        """Look at a call.

        Args:
            call: its ``args`` and ``result`` as plain data, the result parsed where it was JSON text;
                ``execution_time_ms`` None where it is no time; ``is_error`` also where the result's form says so.
            past: what is known of the tool.
        """
