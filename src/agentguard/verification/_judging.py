"""Judges one call, step by step: reads it once, runs the tiers, compares it with open incidents, and learns from it.

::

    call ── read the result once ──▶ TIER 0: the call alone ──▶ (reference mode: combine ── block? ──▶ BLOCK)
                                        │
                                        ▼
                                     TIER 1: against what was learned
                                        └─▶ combine all ──▶ accept | flag | block ──▶ what came before ──▶ learn

The engine hands each call to ``judge``; settings, labels and the store are in the engine's own module.
"""

from __future__ import annotations

import logging
import math
from typing import Final, NamedTuple

from agentguard.verification._arguments import Arguments
from agentguard.verification._canonical import plain
from agentguard.verification._case import Case
from agentguard.verification._checks._content import CONTENT, at_least, look_through, to_redact
from agentguard.verification._checks._earlier import named_as_documented
from agentguard.verification._checks._read_back import READ_BACK
from agentguard.verification._contract import Contract
from agentguard.verification._decision import DONE, graver, least_verdict, why_not_as_posterior
from agentguard.verification._document import Document, read, read_copy
from agentguard.verification._incidents import ENDED, Incident, Incidents
from agentguard.verification._method import Check, Decision, Method
from agentguard.verification._own_signals import Lineup
from agentguard.verification._read_back import Reading
from agentguard.verification._registry import ToolState
from agentguard.verification._snapshot import packed
from agentguard.verification.types import SignalResult, ToolCall, VerificationResult, VerificationTier

_log: Final = logging.getLogger("agentguard")


class CallRead(NamedTuple):
    """A call, and its result and arguments as all checks see them.

    ``unread`` says why a copy of them was read; it is empty where they were read as they stand.
    """

    call: ToolCall
    document: Document
    arguments: Arguments
    unread: str


def read_under(call: ToolCall, contract: Contract) -> CallRead:
    """Read the result and the arguments of a call once, for all checks."""
    unread = ""
    try:
        document, arguments = read(call.result, contract.limits), Arguments(call.args)
    except Exception as error:  # another thread is changing them
        _log.error("reading a call of %r failed: %s", call.tool, type(error).__name__)
        # A copy that is made at one blow is judged.
        document, arguments = read_copy(call.result, contract.limits), Arguments(plain(call.args))
        unread = f"the call could not be read as it stands ({type(error).__name__}): a copy of it was judged"
    if call.is_error:
        document.is_error = True
    return CallRead(call, document, arguments, unread)


def judge(
    one: CallRead,
    state: ToolState,
    contract: Contract,
    method: Method,
    lineup: Lineup,
    *,
    learn: bool,
    readings: tuple[Reading, ...],
) -> tuple[VerificationResult, tuple[Incident, ...]]:
    """Judge a call, and learn from it.

    Args:
        one: the call, with its result and arguments as read.
        state: the tool's memory, incidents and settings.
        contract: the declarations to hold the call to; without ``learn`` they may be others than the tool's own.
        method: decides and learns.
        lineup: the checks to run.
        learn: False leaves everything that was learned as it is.
        readings: the answers of the calls that the profile has made after this one.

    Returns:
        The verdict, and the incidents to notify listeners of.
    """
    call, document, arguments, unread = one
    # Before the tool's lock is taken: of a large result this takes its time, and no other call is to wait for it.
    content = look_through(contract, document) if contract.profile.content else None
    with state.lock:
        # Judge the call, and hold the decision against what came before.
        prior = state.in_force.prior
        case = Case(call, document, contract, state.memory, state.in_force, arguments, state.factors, readings)
        case.found = content
        signals, decision, tier, failed = _run(case, prior, state.incidents, method, lineup, learn=learn)
        if unread:
            failed.insert(0, "reading the call")
        closed = contract.closed
        trusted = learn and state.trusted_left > 0
        settled = state.incidents.settle(case, signals, decision, learn=learn and not trusted)
        # Learn from it, and from what was held back until now.
        if learn:
            method.meet()
            state.count(case, method)
        if learn and not (failed and closed):
            if not settled.asked and (settled.incident is None or settled.incident.state != "fault"):
                _note(method, case)  # a call that is asked again is no new one, and what is a fault is not followed
            state.trusted_left -= trusted
            if settled.teaches or trusted:
                teach(method, case, signals, decision, trusted=trusted)
            if settled.incident is not None and settled.incident.state in ENDED:  # it is followed from this call on
                state.incidents.keep_before(settled.incident, packed(state.memory))
                method.adopt(state.memory, settled.incident.traits)
            for held in settled.released:
                teach(method, held.case, held.signals, held.decision, trusted=held.in_full)
    # The verdict that stands, and why it is not the one that the posterior alone gives.
    note = why_not_as_posterior(case, signals, decision, settled)
    verdict = settled.verdict
    if contract.declares:
        least, unchecked = least_verdict(case, signals)
        if unchecked:
            verdict = graver(verdict, least)
            note += f"{'; ' * bool(note)}{DONE[least]} at least: {unchecked}"
    if unread:
        note += f"{'; ' * bool(note)}{unread}"
    if not contract.declared:
        note += f"{'; ' * bool(note)}no profile for {call.tool!r}: held to {method.held_to}"
    if failed and closed:
        verdict, note = "block", f"the guard failed in {', '.join(failed)} and on_error is closed"
    elif trusted:
        verdict, note = "accept", f"trusted warm-up, {state.trusted_left} calls left"
    judged = VerificationResult(
        verdict=verdict,
        posterior=decision.posterior,
        prior=prior,
        signals=named_as_documented(signals),
        contributions=decision.contributions,
        tier_reached=tier,
        false_block_p=decision.false_block_p,
        tool=call.tool,
        call_id=call.call_id,
        note=note,
        redact=to_redact(case, signals) if contract.profile.content else (),
        change=None if settled.incident is None else settled.incident.id,
        asked=settled.asked,
    )
    return judged, settled.moved


def judge_content(one: CallRead, state: ToolState, contract: Contract) -> VerificationResult:
    """Judge text by the content rules of a profile alone: nothing learned and no other declaration counts.

    Args:
        one: the text as a call's result, as read.
        state: the tool's; its settings weigh the findings.
        contract: the declarations of its profile.
    """
    call, document, arguments, unread = one
    settings = state.in_force
    case = Case(call, document, contract, None, settings, arguments)
    case.found = look_through(contract, document)
    signals: dict[str, SignalResult] = {}
    failed = ["reading the text"] if unread else []
    for check in CONTENT:
        try:
            signals[check.name] = check(case)
        except Exception as error:
            signals[check.name] = _failed(check, case, error)
            failed.append(check.name)
    nats = {name: math.log(signal.likelihood_ratio) for name, signal in signals.items() if signal.fired}
    fabricated = settings.prior * math.exp(sum(nats.values()))
    posterior = fabricated / (fabricated + 1.0 - settings.prior)
    least, note = least_verdict(case, signals)
    verdict = graver(at_least("accept", case, signals), least)
    if failed and contract.closed:
        verdict, note = "block", f"the guard failed in {', '.join(failed)} and on_error is closed"
    return VerificationResult(
        verdict=verdict, posterior=posterior, prior=settings.prior, signals=signals, contributions=nats,
        tier_reached=VerificationTier.TIER_0, false_block_p=None, tool=call.tool, call_id=call.call_id, note=note,
        redact=to_redact(case, signals),
    )  # fmt: skip


def _run(
    case: Case, prior: float, incidents: Incidents, method: Method, lineup: Lineup, *, learn: bool
) -> tuple[dict[str, SignalResult], Decision, VerificationTier, list[str]]:
    """Run the tiers: the signals, the decision on them, the tier that was the last, and what has failed."""
    signals: dict[str, SignalResult] = {}
    failed: list[str] = []
    decision = Decision("accept", prior, {}, None)
    contract = case.contract
    named, last = contract.profile.signals, lineup.tiers[-1][0]
    asked: tuple[Check, ...] = CONTENT if contract.profile.content else ()
    if contract.read_backs:
        asked += READ_BACK
    try:
        method.prepare(case)
    except Exception as error:
        _log.error("looking up the session of %r failed: %s", case.call.tool, type(error).__name__)
        failed.append("the session")
    for tier, checks in lineup.tiers:
        if named:
            checks = (*checks, *lineup.in_tier(tier, named))
        for check in (*asked, *checks) if tier is VerificationTier.TIER_0 else checks:
            try:
                signals[check.name] = check(case)
            except Exception as error:
                signals[check.name] = _failed(check, case, error)
                failed.append(check.name)
        # A tier before the last one may block where the method ends early, and something speaks against the call.
        if tier is not last and not (
            method.ends_early and (prior >= case.settings.block_at or any(signal.fired for signal in signals.values()))
        ):
            continue
        incidents.waive(signals, learn=learn)
        try:
            decision = method.decide(case, prior, signals)
        except Exception as error:
            _log.error("combining the signals of %r failed: %s", case.call.tool, type(error).__name__)
            failed.append("combination")
        if asked:
            decision = decision._replace(verdict=at_least(decision.verdict, case, signals))
        if decision.verdict == "block" and tier is not last:
            signals.update(lineup.not_looked_at(named))
            return signals, decision, tier, failed
    return signals, decision, last, failed


def _failed(check: Check, case: Case, error: Exception) -> SignalResult:
    # The result's content may be in the exception's text: only its type is logged.
    _log.error("check %s failed on tool %r: %s", check.name, case.call.tool, type(error).__name__)
    return SignalResult.abstain(check.name, check.tier, f"the check failed: {type(error).__name__}")


def _note(method: Method, case: Case) -> None:
    try:
        method.note(case)
    except Exception as error:
        _log.error("charting a call of %r failed: %s", case.call.tool, type(error).__name__)


def teach(method: Method, case: Case, signals: dict[str, SignalResult], decision: Decision, *, trusted: bool) -> None:
    """Have the method learn from a call; a failure of it is logged."""
    try:
        method.learn(case, signals, decision, trusted=trusted)
    except Exception as error:
        _log.error("learning from a call of %r failed: %s", case.call.tool, type(error).__name__)
