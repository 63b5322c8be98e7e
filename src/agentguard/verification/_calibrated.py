"""The calibrated method: p-values from each tool's own past, weighed, combined, and decided with a bound."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from agentguard.verification._baseline import ONE_IN, OWN_FLOOR, OWN_PRIOR, WELL_KNOWN, ToolMemory
from agentguard.verification._case import Case
from agentguard.verification._checks import TIERS, LearnedCheck
from agentguard.verification._decision import SURE, alarmed, false_block_p, verdict_of
from agentguard.verification._method import Check, Decision
from agentguard.verification._pool import Pool, session_of
from agentguard.verification._relations import Relation
from agentguard.verification.evidence import DEFAULT_RATIOS, added, breaks_a_declaration
from agentguard.verification.statistics import Rate, Surprises
from agentguard.verification.types import SignalResult, Trait, VerificationTier

PROMOTION: Final = 6  # suspects in a row that are a new mode
FLAGGED_WEIGHT: Final = 0.3  # share of flagged calls that are learned
BLOCKED_WEIGHT: Final = 0.1  # share of blocked calls that are learned
MOST_NATS: Final = 30.0  # of all evidence together: P within 1e-13 of 0 and 1
WEAK: Final = 1.25  # nats, up to which what speaks loudest may flag, and not block
NEW_STATE: Final = "novel_value"  # nor may a new state alone: interfaces come by them
FAULT_ODDS: Final = 0.03  # in the past as a whole; the prior of one judgement is set with more caution

_OWN: Final = (OWN_FLOOR, OWN_PRIOR)


class Calibrated:
    """Judges by what was learned; see ``_checks`` for the signals and ``evidence`` for the sum."""

    ends_early = False
    holds = True
    held_to = "its own earlier calls alone"
    tiers: Sequence[tuple[VerificationTier, Sequence[Check]]] = TIERS

    def __init__(self) -> None:
        self.pool = self.shared = Pool()
        self._priors = {
            check.name: (check.floor, check.prior)
            for _, checks in self.tiers
            for check in checks
            if isinstance(check, LearnedCheck)
        }

    def new_memory(self, tool: str, /) -> ToolMemory:
        """The memory of one tool, with nothing in it yet."""
        return ToolMemory(tool, self.pool)

    def prepare(self, case: Case) -> None:
        """Look up what was called in the session since the same call was made there."""
        session_id = case.call.session_id
        if session_id is not None:
            marks = case.arguments.marks
            with self.pool.lock:
                case.between = self.pool.calls.between(session_id, case.memory.id, marks)

    def outcomes(self, case: Case) -> Iterable[tuple[Relation, bool]]:
        """The relations that an answer holds to, or breaks; an error and an empty result are about nothing."""
        memory: ToolMemory = case.memory
        if case.document.is_error or not case.document.leaves:
            return ()
        return memory.relations.outcomes(case.arguments.side, case.document.side)

    def decide(self, case: Case, prior: float, signals: dict[str, SignalResult], /) -> Decision:
        """Prior odds times the evidence, then the verdict."""
        # The posterior.
        broken = breaks_a_declaration(signals)
        contributions = added(signals, silence_counts=not broken)
        total = min(max(sum(contributions.values()), -MOST_NATS), MOST_NATS)
        odds = math.exp(math.log(prior) - math.log1p(-prior) + total)
        posterior = odds / (1.0 + odds)
        # The verdict, where genuine calls hardly ever look like this.
        memory: ToolMemory = case.memory
        p = false_block_p(total, memory.scores, self.pool.scores)
        verdict = verdict_of(posterior, p, broken or alarmed(signals, contributions), case.settings)
        if verdict == "block" and not broken:
            # The agent needs an error, and an empty answer, to correct itself; weak evidence adds up to a flag, and so
            # does all that is learned of free text, which has no form to be held to.
            loudest = max(contributions, key=contributions.__getitem__, default="")
            weak = loudest == NEW_STATE or contributions.get(loudest, 0.0) <= WEAK
            if case.document.is_error or case.document.kind == "empty" or weak or memory.gives_text:
                verdict = "flag"
        if verdict == "accept" and posterior >= case.settings.accept_below:
            # So has a value that hundreds of results never had: it is not for other oddities to let it pass.
            value = signals.get(NEW_STATE)
            if value is not None and value.fired and value.score >= SURE:
                verdict = "flag"
        return Decision(verdict, posterior, contributions, p)

    def meet(self) -> None:
        """Count a call of any tool that is judged to be learned from."""
        with self.pool.lock:
            self.pool.met += 1

    def note(self, case: Case) -> None:
        """Put what was seen on the charts, whatever is believed of it."""
        memory: ToolMemory = case.memory
        memory.note(case.document, case.arguments, session_of(case.call.session_id))
        if case.document.leaves and not case.document.is_error:
            side = case.document.side
            case.document.stale = memory.relations.look(case.arguments.key, side)
            memory.relations.note(case.arguments.side, side, case.document.stale)
        if case.call.session_id is not None and not case.document.is_error:
            with self.pool.lock:
                self.pool.calls.push(case.call.session_id, case.memory.id, case.document.digest, case.arguments.marks)

    def adopt(self, memory: ToolMemory, traits: Iterable[Trait]) -> None:
        """Begin the levels of numbers anew that a genuine change has moved; a result that it repeats is genuine too."""
        memory.stuck.adopt()
        for trait in traits:
            if trait.kind == "level":
                for levels in (memory.levels, memory.charts, memory.within):
                    levels.pop(trait.path, None)

    def learn(self, case: Case, signals: dict[str, SignalResult], decision: Decision, *, trusted: bool = False) -> None:
        """Remember how unusual the call was, and learn from it as far as it is believed.

        Believed calls are learned in full, suspects thinned (three in ten, one in ten): a bad result must not become
        the norm, and a new genuine mode must not stay locked out. Doubtful calls that were accepted are thinned as to
        their form alone. Of suspects that no incident holds, six in a row are a new mode. The thinning counts instead
        of drawing lots, so that a stream replayed is learned alike.
        """
        memory: ToolMemory = case.memory
        total = sum(decision.contributions.values())
        genuine = 1.0 if trusted else 1.0 / (1.0 + FAULT_ODDS * math.exp(min(total, MOST_NATS)))
        with self.pool.lock:
            # How unusual it was, signal by signal and as a whole.
            learns = self.pool.learns
            for name, signal in signals.items():
                if signal.p_value is not None:
                    past = memory.surprises.get(name)
                    if past is None:
                        past = memory.surprises[name] = Surprises(*self._priors.get(name, _OWN))
                    surprise = -math.log1p(-signal.score) if signal.score > 0.0 else 0.0
                    past.push(surprise, genuine)
                    overall = self.pool.surprises.get(name) if learns else None
                    if overall is not None:
                        overall.push(surprise, genuine)
            memory.scores.push(total, genuine)
            if self.pool.learns:
                self.pool.scores.push(total, genuine)
                self.pool.broken.push(case.document.kind == "broken", genuine)
                self.pool.errors.push(case.document.is_error, genuine)
            if trusted:
                self._correct_contracts(memory, signals)
            # What it is like, as far as it is believed.
            believed = self._believed(memory, case, decision, trusted)
            if believed and case.measured is not None:
                for name, value in case.measured.items():
                    memory.measure(name, value)
            if believed or decision.verdict == "accept":
                self._learn_echoes(memory, case)
                memory.learn(
                    case.document,
                    case.arguments,
                    case.milliseconds,
                    case.call.session_id,
                    case.between,
                    as_usual=not trusted and decision.posterior < case.settings.accept_below,
                    doubtful=not believed,
                )

    @staticmethod
    def _learn_echoes(memory: ToolMemory, case: Case) -> None:
        """Count how often all rows were the argument's, for declared echoes that leave it to the past."""
        for rule in case.contract.echoes:
            if rule.rows is None and (memory.count <= WELL_KNOWN or case.document.digest % ONE_IN == 0):
                rows = rule.rows_of(case.arguments, case.call.args, case.document)
                if rows is not None and rows.total > 1 and rows.alike:
                    memory.echoed_rows.setdefault(rule.where, Rate()).push(rows.alike == rows.total)

    @staticmethod
    def _believed(memory: ToolMemory, case: Case, decision: Decision, trusted: bool) -> bool:
        suspect = decision.posterior >= case.settings.block_at
        memory.suspects = memory.suspects + 1 if suspect else 0
        if trusted or decision.posterior < case.settings.accept_below or memory.suspects >= PROMOTION:
            return True
        memory.thinned += BLOCKED_WEIGHT if suspect else FLAGGED_WEIGHT
        if memory.thinned < 1.0:
            return False
        memory.thinned -= 1.0
        return True

    @staticmethod
    def _correct_contracts(memory: ToolMemory, signals: dict[str, SignalResult]) -> None:
        for name, signal in signals.items():
            if signal.applicable and signal.p_value is None and name in DEFAULT_RATIOS:  # a user's rule is not softened
                memory.contracts.setdefault(name, Rate()).push(signal.fired)
