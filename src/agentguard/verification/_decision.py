"""From the posterior to the verdict, with a bound on how often a genuine call is blocked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from agentguard.verification._case import Case
from agentguard.verification._incidents import ENDED, Settled
from agentguard.verification._method import Decision
from agentguard.verification.evidence import breaks_a_declaration
from agentguard.verification.statistics import TOOL_WEIGHT, Surprises
from agentguard.verification.types import SEVERITY, UNREAD, Settings, SignalResult, Verdict

CHART: Final = "spc_anomaly"
SURE: Final = 0.998  # a score with a bound of its own on false alarms, below that on false blocks
BURST: Final = 3.0  # calls that one odd call of a tool counts for


def false_block_p(total: float, tool: Surprises, everywhere: Surprises) -> float:
    """The share of genuine calls whose evidence is at least this strong (``total`` in nats, without the prior).

    The tool's own calls count from the first, together with 20 that behave as calls do over all tools; those start
    from 20 that keep to Markov's bound, P(LR >= t | genuine) <= 1/t. Past calls enter by their probability of being
    genuine, so that what was blocked does not teach the guard to let it pass. Odd calls of a tool come in bursts, as a
    new mode does, and not one by one as the rank of an exchangeable call supposes: each that came counts for three.

    >>> from agentguard.verification.statistics import new_scores
    >>> false_block_p(0.0, new_scores(), new_scores())
    1.0
    """
    if total <= 0.0:
        return 1.0
    overall = everywhere.p(total)
    p = (BURST * tool.tail(total) + TOOL_WEIGHT * overall) / (tool.total + TOOL_WEIGHT)
    return min(max(p, math.exp(-30.0)), 1.0)


def alarmed(signals: Mapping[str, SignalResult], contributions: Mapping[str, float]) -> bool:
    """An alarm of a control chart that speaks as loud as anything; an e-process has a bound of its own, see ``drift``.

    That bound is on its own false alarms: it does not speak for louder evidence, of which genuine calls may be full.
    """
    chart = signals.get(CHART)
    if chart is None or not chart.fired or chart.score < SURE:
        return False
    return contributions.get(CHART, 0.0) >= max(contributions.values(), default=0.0)


def verdict_of(posterior: float, p: float, contract_broken: bool, settings: Settings) -> Verdict:
    """Block where the posterior says so *and* genuine calls hardly ever look like this; without the latter, flag.

    A posterior between the thresholds flags where genuine calls hardly ever look like this. A broken declaration
    needs no such share: it is the user's own rule, and repetition does not soften it.
    """
    rare = contract_broken or p <= settings.max_false_block_rate
    if posterior >= settings.block_at:
        return "block" if rare else "flag"
    return "flag" if posterior >= settings.accept_below and rare else "accept"


# --- What a verdict is at least, and why it is not the one that its posterior alone gives, in words for its reader ---
#
# What nobody could look at is not clean, and a declaration that could not be checked is not kept: the verdict is
# ``flag`` at least where fields, a schema, patterns, echoes or a read-back are declared, or content is to be flagged or
# redacted; it is ``block`` where content is to be blocked, and wherever ``on_error`` is ``closed``.

_DECLARED: Final = ("schema_mismatch", "pattern_mismatch", "echo_mismatch", "confirm_mismatch", "against_mismatch")


def least_verdict(case: Case, signals: dict[str, SignalResult]) -> tuple[Verdict, str]:
    """The mildest verdict that the profile allows, given what could not be looked at; and what that is, in words.

    ``("accept", "")`` where all that is declared was looked at.
    """
    least: Verdict = "accept"
    reasons: list[str] = []
    for name in _DECLARED:
        signal = signals.get(name)
        if signal is not None and UNREAD in signal.traits:
            least = "flag"
            reasons.append(f"{name} {signal.detail}")
    actions = case.contract.profile.content
    if actions and type(case.found) is dict:
        content: dict[str, Any] = case.found
        for kind, action in actions.items():
            if content[kind].unread:
                least = "block" if action == "block" or least == "block" else "flag"
                reasons.append(f"{kind} {content[kind].unread}")
    if reasons and case.contract.closed:
        least = "block"
    return least, "; ".join(reasons)


DONE: Final[dict[Verdict, str]] = {"accept": "accepted", "flag": "flagged", "block": "blocked"}


def graver(one: Verdict, other: Verdict) -> Verdict:
    """The graver of two verdicts.

    >>> graver("flag", "accept"), graver("flag", "block")
    ('flag', 'block')
    """
    return one if SEVERITY[one] >= SEVERITY[other] else other


def why_not_as_posterior(case: Case, signals: dict[str, SignalResult], decision: Decision, settled: Settled) -> str:
    """The reason in one sentence; "" where the verdict is the one that the posterior and the two thresholds give.

    ``decision`` is what was made of the signals, ``settled`` what became of it, given what came before the call.
    """
    verdict, incident = settled.verdict, settled.incident
    if incident is not None and incident.state in ENDED:
        return f"change {incident.id} is followed from this call on: {incident.why}"
    if verdict == "accept" and decision.posterior < case.settings.accept_below:
        return ""  # nearly every call
    done = DONE[verdict]
    if settled.asked:
        times = "once" if settled.asked == 1 else f"{settled.asked} times"
        return f"{done} as it was before: this very call had this very result {times} already"
    if incident is not None and incident.state == "fault" and verdict == "block":
        return f"blocked as every call like it: a reviewer has found change {incident.id} to be a fault"
    if incident is not None and decision.verdict == "block" and verdict == "flag":
        most, p, block_at = case.contract.profile.max_blocks, incident.p_fault, case.settings.block_at
        if p < block_at:
            return f"flagged and not blocked: P(fault) of change {incident.id} is {p:.2f}, below {block_at:g}"
        return f"flagged and not blocked: change {incident.id} is known, and max_blocks is {most}"
    if incident is not None and verdict != decision.verdict:
        return f"{done} as the calls before it that were odd in the same way, change {incident.id}"
    settings, posterior = case.settings, decision.posterior
    usual: Verdict = "accept" if posterior < settings.accept_below else "flag"
    if posterior >= settings.block_at:
        usual = "block"
    if verdict == usual:
        return ""
    if SEVERITY[verdict] > SEVERITY[usual]:
        return f"{done}, as the profile asks for what was found in the content"
    but, threshold = (" and not blocked", settings.block_at) if usual == "block" else ("", settings.accept_below)
    return f"{done}{but} although P >= {threshold:g}: {_leniency(case, signals, decision)}"


def _leniency(case: Case, signals: dict[str, SignalResult], decision: Decision) -> str:
    """Why the calibrated method was milder than its posterior."""
    p, bound = decision.false_block_p, case.settings.max_false_block_rate
    if (
        p is not None
        and p > bound
        and not alarmed(signals, decision.contributions)
        and not breaks_a_declaration(signals)
    ):
        share = f"{100 * p:.3g}% of this tool's genuine calls look like this"
        return f"{share}, and the bound on false alarms is {100 * bound:.3g}%"
    if case.document.is_error or case.document.kind == "empty":
        kind = "error report" if case.document.is_error else "empty result"
        return f"an {kind} is not blocked on learned evidence, for the agent needs it to correct itself"
    return "there is weak evidence only, and that is not blocked"
