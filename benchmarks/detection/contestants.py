"""Who judges the courses: our engine in its modes and with each signal left out. Others: ``forest.py``, ``peer.py``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import engines

from agentguard.verification import VerificationEngine, VerificationResult

from .stream import Event

__all__ = ["REPLAY", "Contestant", "Score", "ours", "ours_in_full", "reference", "reviewed"]

REPLAY = ("duplicate_result", "historical_inconsistency")  # they remember whole answers
NEVER = 1e-12  # a rate of false blocks so low that no call is blocked, and so none is judged in tier 0 alone


class Score(NamedTuple):
    """What was said of one call.

    Attributes:
        posterior: P(wrong), or what a contestant has in its place: higher is more suspect.
        verdict: ``"accept"``, ``"flag"`` or ``"block"``.
        false_block_p: share of genuine calls that look at least as bad; None where that is not said.
        without: the posterior with one signal left out, or two (``"one+two"``), by name; empty where not asked for.
    """

    posterior: float
    verdict: str
    false_block_p: float | None = None
    without: tuple[tuple[str, float], ...] = ()


Contestant = Callable[[Iterable[Event]], list[Score]]


def ours(events: Iterable[Event]) -> list[Score]:
    """The default engine, without a profile."""
    return _judged(VerificationEngine(), events)


def reviewed(events: Iterable[Event]) -> list[Score]:
    """The default engine with a reviewer who adopts each change that it tells of; for histories that are clean."""
    return _judged(engines.reviewed(), events)


def reference(events: Iterable[Event]) -> list[Score]:
    """The engine that follows the published document, without a profile."""
    return _judged(engines.reference(), events)


def ours_in_full(events: Iterable[Event]) -> list[Score]:
    """The default engine with every signal of every call computed, and the posterior with each of them left out.

    Only the sum of one call is made anew: what was learned until then was learned with all signals.
    """
    engine = VerificationEngine(max_false_block_rate=NEVER)
    scores = []
    for event in events:
        said = _verify(engine, event)
        scores.append(Score(said.posterior, said.verdict, said.false_block_p, _without_each(said)))
    return scores


def _judged(engine: VerificationEngine, events: Iterable[Event]) -> list[Score]:
    said = (_verify(engine, event) for event in events)
    return [Score(result.posterior, result.verdict, result.false_block_p) for result in said]


def _verify(engine: VerificationEngine, event: Event) -> VerificationResult:
    call = event.call
    return engine.verify(
        call.tool, args=call.args, result=call.result, execution_time_ms=call.ms, session_id=call.session,
        learn=event.learn,
    )  # fmt: skip


def _without_each(said: VerificationResult) -> tuple[tuple[str, float], ...]:
    from agentguard.verification.evidence import combine

    prior = math.log(said.prior / (1.0 - said.prior))
    found = []
    for name in (*said.signals, "+".join(REPLAY)):
        gone = name.split("+")
        rest: dict[str, Any] = {other: signal for other, signal in said.signals.items() if other not in gone}
        found.append((name, 1.0 / (1.0 + math.exp(-prior - sum(combine(rest).values())))))
    return tuple(found)
