"""The records that cross the engine's border: a call goes in, signals and a verdict come out; and what it is set by.

They are named tuples, not dataclasses: one verdict carries a dozen signals, and a frozen dataclass costs four
times as much to build. Both are immutable, which is what matters here.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from math import inf
from typing import Any, Final, Literal, NamedTuple, get_args

from agentguard.errors import ConfigurationError

__all__ = [
    "SEVERITY", "UNREAD", "VERDICTS", "Feedback", "NotLookedAt", "Settings", "SignalResult", "ToolCall", "Trait",
    "TraitKind", "Verdict", "VerdictCounts", "VerificationResult", "VerificationTier", "as_written", "is_ratio",
    "not_looked_at", "probability",
]  # fmt: skip

Verdict = Literal["accept", "flag", "block"]


class VerificationTier(Enum):
    """How far a call went: tier 0 looks at the call alone, tier 1 at the call against what was learned."""

    TIER_0 = 0
    TIER_1 = 1


class ToolCall(NamedTuple):
    """One executed tool call, as the guard sees it.

    ``result`` is any Python object; text that is JSON is read as JSON. ``execution_time_ms`` is None where the time
    is unknown (a cache answered, an imported trace): latency checks then do not apply. ``is_error`` is the framework's
    own flag (MCP's ``isError``, a message's ``status="error"``); without it an error is told from the result's form.
    """

    tool: str
    args: Any = None
    result: Any = None
    execution_time_ms: float | None = None
    session_id: str | None = None
    call_id: str | None = None
    is_error: bool = False

    @property
    def milliseconds(self) -> float | None:
        """The execution time, or None where it is none: missing, not a number, negative, infinite.

        >>> ToolCall("t", execution_time_ms=350).milliseconds, ToolCall("t", execution_time_ms=True).milliseconds
        (350.0, None)
        """
        value: Any = self.execution_time_ms
        if type(value) is not float:
            try:
                if isinstance(value, bool) or not isinstance(value, (int, float)):
                    return None
                value = float(value)
            except KeyboardInterrupt:
                raise
            except BaseException:  # an integer may be too large for a float, and a foreign object's own code may fail
                return None
        return value if 0.0 <= value < inf else None


TraitKind = Literal[
    "lost", "added", "word", "keys", "type", "format", "writing", "kind", "form", "empty", "error", "cut", "value",
    "level", "number", "relation", "answer", "clock", "same", "size", "speed", "early", "drift",
    "declared", "content", "unread", "own",
]  # fmt: skip
TRAIT_KINDS: Final = frozenset(get_args(TraitKind))


class Trait(NamedTuple):
    """One way in which a result is odd. Results that share it are odd in the same way.

    Attributes:
        kind: a word of ``TraitKind``; ``own`` is the name that a signal of the user's gave.
        path: the place in the result; where it concerns the answer to certain arguments, a mark of these.
        what: the rest: a type, ``above`` or ``below``, the relation's name. Neither has a value of a result.

    >>> str(Trait("lost", "currency", "str"))
    'lost currency str'
    """

    kind: TraitKind
    path: str = ""
    what: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, self))

    @classmethod
    def read(cls, value: Any) -> Trait:
        """Read the three texts that a store keeps of a trait; one text, as stores of version 0.1 have it, is a name.

        Raises:
            ValueError: where it is no trait.
        """
        if isinstance(value, str):
            return cls("own", "", value)
        texts = isinstance(value, list | tuple) and len(value) == 3 and all(isinstance(part, str) for part in value)
        if not texts or value[0] not in TRAIT_KINDS:
            raise ValueError("this is no trait")
        return cls(*value)


class SignalResult(NamedTuple):
    """The finding of one check on one call.

    Attributes:
        name: the signal's name, for instance ``"schema_mismatch"``.
        applicable: False where the check has nothing to go by (not configured, too little history, no session).
            Such a signal is no evidence: it contributes a likelihood ratio of exactly 1.
        fired: the check found something out of order.
        score: how unusual, in [0, 1]; 0 where nothing is. In reference mode a signal fires from any score above 0 on;
            in calibrated mode only where the score is unusual among this tool's own calls, or a declaration is broken.
        likelihood_ratio: P(this | fabricated) / P(this | genuine), in (0, inf); 1 where not applicable. In reference
            mode it is the documented ratio, which the document's formula scales by ``score``.
        p_value: the share of genuine calls of this tool that look at least this unusual, in (0, 1]; None where the
            method has no such figure.
        tier: where the check runs.
        detail: one sentence in plain words.
        group: signals of one group are correlated and are combined as such (see ``evidence.py``).
        traits: the same for programs; calls that share one are odd in the same way. A signal that does not apply has
            the trait ``UNREAD`` where something is declared that could not be checked.
    """

    name: str
    applicable: bool
    fired: bool
    score: float
    likelihood_ratio: float
    p_value: float | None
    tier: VerificationTier
    detail: str
    group: str = ""
    traits: tuple[Trait, ...] = ()

    @classmethod
    def abstain(cls, name: str, tier: VerificationTier, detail: str, group: str = "") -> SignalResult:
        """A signal that says nothing, and why.

        >>> SignalResult.abstain("spc_anomaly", VerificationTier.TIER_1, "7 of 8 calls").likelihood_ratio
        1.0
        """
        return cls(name, False, False, 0.0, 1.0, None, tier, detail, group)


class VerificationResult(NamedTuple):
    """The verdict on one call, with everything it rests on.

    Attributes:
        verdict: ``"accept"``, ``"flag"`` or ``"block"``.
        posterior: P(the result is fabricated or corrupted | all signals), in [0, 1].
        prior: the same before any signal, for this tool.
        signals: every check's signal by name, the silent and the inapplicable ones too, whatever tier ended it.
        contributions: what each signal added to the log-odds, in nats; with the prior's log-odds they sum to the
            posterior's.
        tier_reached: TIER_1 whenever tier 1 ran; in calibrated mode it always does.
        false_block_p: the conformal p-value of the whole call: the share of this tool's genuine calls that score at
            least as high. None where the method has none (reference mode).
        tool, call_id: the call that was judged.
        note: what else bears on the verdict: why it is not the one that the posterior alone gives, no profile, a
            trusted warm-up, a failure of the guard itself.
        redact: the kinds of content found that the profile has taken out; whoever shows the result shows it without.
        change: the id of the lasting change of this tool that the call looks like; None where it looks like none.
        asked: how often this very call had this very result just before, where that was not accepted: a retry is no
            new evidence, and has the graver of both verdicts.
    """

    verdict: Verdict
    posterior: float
    prior: float
    signals: dict[str, SignalResult]
    contributions: Mapping[str, float]
    tier_reached: VerificationTier
    false_block_p: float | None
    tool: str
    call_id: str | None
    note: str
    redact: tuple[str, ...] = ()
    change: str | None = None
    asked: int = 0

    @property
    def hazard(self) -> str:
        """The reasons against the result, the strongest first; "" where there are none.

        That what is declared could not be looked at speaks against it too.
        """
        fired = [name for name, signal in self.signals.items() if signal.fired or UNREAD in signal.traits]
        fired.sort(key=lambda name: -self.contributions.get(name, 0.0))
        return "; ".join(dict.fromkeys(self.signals[name].detail for name in fired[:3]))

    @property
    def explanation(self) -> str:
        """A summary in words, naming the two signals that moved the odds most."""
        moved = sorted(self.contributions.items(), key=lambda item: -abs(item[1]))[:2]
        reasons = [f"{name} {nats:+.2f} ({self.signals[name].detail})" for name, nats in moved if nats]
        summary = f"{self.verdict}: P(fabricated) {self.posterior:.3f}, prior {self.prior:.3f}"
        return ". ".join(part for part in (summary, "; ".join(reasons), self.note) if part)

    @property
    def confidence(self) -> float:
        """P(hallucination) in [0, 1]: another name for ``posterior``."""
        return self.posterior

    @property
    def is_hallucinated(self) -> bool:
        """True where the verdict is ``"block"``."""
        return self.verdict == "block"


class Feedback(NamedTuple):
    """The outcome of a label; see ``VerificationEngine.record_feedback``.

    Attributes:
        counted: it changed something. False for a label that says again what was said of the same call.
        note: in words, what the label could not be related to, or what it replaces; "" where there is nothing to say.
    """

    counted: bool
    note: str = ""


VERDICTS: Final[tuple[Verdict, ...]] = ("accept", "flag", "block")
"""From the mildest on; the fields of ``VerdictCounts``."""

SEVERITY: Final[Mapping[Verdict, int]] = {verdict: place for place, verdict in enumerate(VERDICTS)}


class VerdictCounts(NamedTuple):
    """Counts of calls by verdict.

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


#: The trait of a signal of what could not be looked at: a result too large or too deep for it, a search without an end.
#: The signal does not apply then, for it is no evidence that the result is fabricated, and says what was not looked at.
#: What becomes of the verdict is for ``_decision.least_verdict`` to say.
UNREAD: Final = Trait("unread")


class NotLookedAt(Exception):
    """A declaration could not be held against a result; the text says why."""


def not_looked_at(name: str, tier: VerificationTier, why: str, group: str = "") -> SignalResult:
    """The signal of a declaration that could not be held against the result.

    >>> not_looked_at("schema_mismatch", VerificationTier.TIER_0, "larger than max_bytes").detail
    'not looked at: larger than max_bytes'
    """
    return SignalResult(name, False, False, 0.0, 1.0, None, tier, f"not looked at: {why}", group, (UNREAD,))


_MOST: Final = sys.float_info.max
_LONG: Final = 1_000  # bits


@dataclass(frozen=True, slots=True)
class Settings:
    """The thresholds in force for a tool.

    Probabilities in (0, 1], the prior in (0, 1); likelihood ratios by signal name, in (0, inf).
    """

    prior: float = 0.15
    accept_below: float = 0.2
    block_at: float = 0.5
    max_false_block_rate: float = 0.01
    likelihood_ratios: Mapping[str, float] = field(default_factory=dict)

    def changed(self, **changes: Any) -> Settings:
        """These settings with changes; ratios are added to those that stand.

        Raises:
            ConfigurationError: naming the setting that is out of range.
        """
        for name, value in changes.items():
            if name != "likelihood_ratios":
                changes[name] = probability(name, value, high_open=name == "prior")
        if "likelihood_ratios" in changes:
            for signal, ratio in changes["likelihood_ratios"].items():
                if not is_ratio(ratio):
                    setting = f"likelihood_ratios[{as_written(signal)}]"
                    raise ConfigurationError(f"{setting} must be a positive number, not {as_written(ratio)}")
            changes["likelihood_ratios"] = {**self.likelihood_ratios, **changes["likelihood_ratios"]}
        settings = replace(self, **changes)
        if settings.accept_below > settings.block_at:
            raise ConfigurationError(
                f"accept_below ({settings.accept_below}) must not be above block_at ({settings.block_at})"
            )
        return settings


def probability(name: str, value: Any, *, low_open: bool = True, high_open: bool = False) -> float:
    """The value as a float where it is a probability, else a ``ConfigurationError`` that names it."""
    usable = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not usable or not 0 <= value <= 1 or (low_open and value == 0) or (high_open and value == 1):
        interval = f"{'(' if low_open else '['}0, 1{')' if high_open else ']'}"
        raise ConfigurationError(f"{name} must be a number in {interval}, not {as_written(value)}")
    return float(value)


def is_ratio(value: Any) -> bool:
    """A positive number that a float can hold.

    >>> is_ratio(11.3), is_ratio(0), is_ratio(10**400)
    (True, False, False)
    """
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= _MOST


def as_written(value: Any) -> str:
    """A faulty value in a message. Python does not write out integers without end, wherever they stand in it.

    >>> as_written("0.1"), as_written(-(10**5000)), as_written([10**5000])
    ("'0.1'", 'an integer of 16,610 bits', 'a list that cannot be written out')
    """
    if isinstance(value, int) and value.bit_length() > _LONG:
        return f"an integer of {value.bit_length():,} bits"
    try:
        return repr(value)
    except Exception:
        return f"a {type(value).__name__} that cannot be written out"
