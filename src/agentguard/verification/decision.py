"""From the posterior to the verdict, with a bound on how often a genuine call is blocked."""

from __future__ import annotations

import math
from typing import Final

from .statistics import Surprises
from .types import Settings, Verdict

TOOL_WEIGHT: Final = 20.0
BURST: Final = 3.0  # calls that one odd call of a tool counts for


def new_scores() -> Surprises:
    """An empty record of the total log-odds of past calls."""
    return Surprises(floor=0.0, prior=TOOL_WEIGHT)


def false_block_p(total: float, tool: Surprises, everywhere: Surprises) -> float:
    """The share of genuine calls whose evidence is at least this strong (``total`` in nats, without the prior).

    The tool's own calls count from the first, together with 20 that behave as calls do over all tools; those start
    from 20 that keep to Markov's bound, P(LR >= t | genuine) <= 1/t. Past calls enter by their probability of being
    genuine, so that what was blocked does not teach the guard to let it pass. Odd calls of a tool come in bursts, as a
    new mode does, and not one by one as the rank of an exchangeable call supposes: each that came counts for three.

    >>> false_block_p(0.0, new_scores(), new_scores())
    1.0
    """
    if total <= 0.0:
        return 1.0
    overall = everywhere.p(total)
    p = (BURST * tool.tail(total) + TOOL_WEIGHT * overall) / (tool.total + TOOL_WEIGHT)
    return min(max(p, math.exp(-30.0)), 1.0)


def verdict_of(posterior: float, p: float, contract_broken: bool, settings: Settings) -> Verdict:
    """Block where the posterior says so *and* genuine calls hardly ever look like this; without the latter, flag.

    A posterior between the thresholds flags where genuine calls hardly ever look like this. A broken declaration
    needs no such share: it is the user's own rule, and repetition does not soften it.
    """
    rare = contract_broken or p <= settings.max_false_block_rate
    if posterior >= settings.block_at:
        return "block" if rare else "flag"
    return "flag" if posterior >= settings.accept_below and rare else "accept"
