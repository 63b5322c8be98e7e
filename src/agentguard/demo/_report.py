"""Counts of a run of the demo, and one sentence that follows from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from agentguard.demo._agent import Event, FaultKind

GOAL_KINDS = 7
GOAL_FALSE_BLOCK_RATE = 0.01


class FaultCount(NamedTuple):
    """Verdicts on one kind of fault."""

    kind: FaultKind
    occurrences: int
    blocked: int
    flagged: int

    @property
    def missed(self) -> int:
        return self.occurrences - self.blocked - self.flagged

    @property
    def mostly_caught(self) -> bool:
        """Whether more than half of the occurrences were blocked or flagged."""
        return 2 * (self.blocked + self.flagged) > self.occurrences


class GenuineCount(NamedTuple):
    """Verdicts on genuine answers; each one blocked or flagged is a mistake."""

    calls: int
    blocked: int
    flagged: int

    @property
    def block_rate(self) -> float:
        """Share blocked, in [0, 1]; 0 of 0 is 0."""
        return self.blocked / self.calls if self.calls else 0.0

    @property
    def flag_rate(self) -> float:
        """Share flagged, in [0, 1]; 0 of 0 is 0."""
        return self.flagged / self.calls if self.calls else 0.0


@dataclass(frozen=True, slots=True)
class DemoReport:
    """The figures of one run. Make one with ``count``.

    Attributes:
        seed: of calls, answers and faults.
        planned_calls: number of planned calls.
        warm_up_calls: number of the first of them, without faults.
        complete: False if the run was ended before its last call.
        elapsed_s: time from the first call to the last verdict, in seconds.
        faults: one count for each of the eight kinds.
        genuine_warm_up, genuine_later: genuine answers verified during and after the warm-up, retries included.
        abandoned_steps: number of planned calls whose retries were blocked too.
        verify_p50_us, verify_p99_us: time of one ``verify`` call, in microseconds; None without calls.
        events: every verified call, in order.
    """

    seed: int
    planned_calls: int
    warm_up_calls: int
    complete: bool
    elapsed_s: float
    faults: tuple[FaultCount, ...]
    genuine_warm_up: GenuineCount
    genuine_later: GenuineCount
    abandoned_steps: int
    verify_p50_us: float | None
    verify_p99_us: float | None
    events: tuple[Event, ...]

    @property
    def genuine(self) -> GenuineCount:
        """All genuine answers of the run."""
        warm_up, later = self.genuine_warm_up, self.genuine_later
        return GenuineCount(*(a + b for a, b in zip(warm_up, later, strict=True)))

    @property
    def kinds_mostly_caught(self) -> int:
        return sum(fault.mostly_caught for fault in self.faults)

    @property
    def goal_reached(self) -> bool | None:
        """Whether at least 7 of 8 kinds were mostly caught and at most 1% of genuine answers blocked.

        None if the run was ended early or a kind did not occur.
        """
        if not self.complete or not all(fault.occurrences for fault in self.faults):
            return None
        return self.kinds_mostly_caught >= GOAL_KINDS and self.genuine.block_rate <= GOAL_FALSE_BLOCK_RATE

    @property
    def sentence(self) -> str:
        """The outcome in words, from the counts."""
        occurred = sum(fault.occurrences > 0 for fault in self.faults)
        genuine = self.genuine
        outcome = {
            True: "is reached",
            False: "is not reached",
            None: "cannot be judged: the run was ended early or was too short for every kind of fault",
        }[self.goal_reached]
        return (
            f"{self.kinds_mostly_caught} of {occurred} kinds of fault were caught (blocked or flagged) in most of "
            f"their occurrences, and {genuine.blocked} of {genuine.calls} genuine calls ({genuine.block_rate:.1%}) "
            f"were blocked: the goal of at least {GOAL_KINDS} of {len(self.faults)} and at most "
            f"{GOAL_FALSE_BLOCK_RATE:.0%} {outcome}."
        )

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data for JSON, with the calls that were faulty or not accepted."""
        return {
            "seed": self.seed,
            "planned_calls": self.planned_calls,
            "warm_up_calls": self.warm_up_calls,
            "verified_calls": len(self.events),
            "complete": self.complete,
            "elapsed_s": round(self.elapsed_s, 3),
            "faults": [
                {
                    "fault": fault.kind.value,
                    "occurrences": fault.occurrences,
                    "blocked": fault.blocked,
                    "flagged": fault.flagged,
                    "missed": fault.missed,
                }
                for fault in self.faults
            ],
            "genuine": {"warm_up": self.genuine_warm_up._asdict(), "later": self.genuine_later._asdict()},
            "false_block_rate": self.genuine.block_rate,
            "false_flag_rate": self.genuine.flag_rate,
            "abandoned_steps": self.abandoned_steps,
            "verify_us": {"p50": self.verify_p50_us, "p99": self.verify_p99_us},
            "kinds_mostly_caught": self.kinds_mostly_caught,
            "goal_reached": self.goal_reached,
            "sentence": self.sentence,
            "calls": [_call(event) for event in self.events if event.fault or event.caught],
        }


def count(
    events: Sequence[Event], *, seed: int, planned_calls: int, warm_up_calls: int, complete: bool, elapsed_s: float
) -> DemoReport:
    """Count a run's events."""
    genuine = [event for event in events if event.fault is None]
    answered = {event.step for event in events if event.verdict != "block"}
    times = sorted(event.verify_us for event in events)
    return DemoReport(
        seed=seed,
        planned_calls=planned_calls,
        warm_up_calls=warm_up_calls,
        complete=complete,
        elapsed_s=elapsed_s,
        faults=tuple(FaultCount(kind, *_verdicts([e for e in events if e.fault is kind])) for kind in FaultKind),
        genuine_warm_up=GenuineCount(*_verdicts([event for event in genuine if event.step < warm_up_calls])),
        genuine_later=GenuineCount(*_verdicts([event for event in genuine if event.step >= warm_up_calls])),
        abandoned_steps=len({event.step for event in events} - answered),
        verify_p50_us=_quantile(times, 0.5),
        verify_p99_us=_quantile(times, 0.99),
        events=tuple(events),
    )


def _verdicts(events: Sequence[Event]) -> tuple[int, int, int]:
    verdicts = [event.verdict for event in events]
    return len(verdicts), verdicts.count("block"), verdicts.count("flag")


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    """The smallest value that at least this share of the values does not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def _call(event: Event) -> dict[str, Any]:
    return {
        "call": event.step + 1,
        "attempt": event.attempt,
        "tool": event.tool,
        "fault": event.fault.value if event.fault else None,
        "verdict": event.verdict,
        "posterior": event.posterior,
        "reasons": list(event.reasons),
        "execution_ms": event.execution_ms,
    }
