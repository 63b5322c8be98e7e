"""Checks against earlier calls: the same arguments, the same session, other arguments, other tools."""

from __future__ import annotations

import math
from typing import Final

from agentguard.verification._baseline import ToolMemory
from agentguard.verification._case import Case
from agentguard.verification._checks._base import AS_USUAL, Finding, LearnedCheck
from agentguard.verification._document import Document
from agentguard.verification._keys import KeyHistory, numbers_of
from agentguard.verification._pool import SHORTEST_OWNED, session_of
from agentguard.verification.drift import clock_values
from agentguard.verification.types import SignalResult, Trait


def history_of(case: Case, memory: ToolMemory) -> KeyHistory | str:
    """The history of a call's arguments, or why this answer is not held against it."""
    history = memory.keys.by_key.get(case.arguments.key)
    if history is None:
        return "no earlier call with these arguments"
    return "an error report, not an answer" if case.document.is_error else history


def earlier_in_session(case: Case, memory: ToolMemory) -> int | str:
    """The digest of the latest result of the same call in its session, or the reason why there is none."""
    if case.call.session_id is None:
        return "no session"
    earlier = memory.pool.in_session(case.call.session_id, memory.id, case.arguments.key)
    return "no earlier call with these arguments in this session" if earlier is None else earlier


# --- historical_inconsistency: another answer than the same arguments had before ---

BY_CHANCE: Final = 0.1  # P(a fabricated result is byte for byte the known one)
NEW: Final = 0.2  # P(a result that these arguments never had | fabricated), more than what other signals see as well
STEADY: Final = 20  # calls with the same arguments after which their rate of new results is a likelihood of its own
SET_BACK: Final = 0.5  # P(a call that changes the answer sets it back to an earlier one)
STRONGEST_AGREEMENT: Final = 0.25  # ratio: a result that comes again speaks for the call by no more
ANOTHER: Final = "another result than before"
OFTEN: Final = 0.25  # share of the answers that are others than before, from which on another one is no event
SLIGHT: Final = 0.2  # nats: no suspect, also with what silence takes away


def is_later(case: Case, memory: ToolMemory) -> bool:
    """The answer may be another by now: in a new session or an unknown one, and of a text after other calls."""
    between = case.between
    if between is None or not between.asked_before:
        return True
    return memory.gives_text and bool(between.tools)


def heard_again(case: Case, memory: ToolMemory) -> bool:
    """The same arguments had this very answer in another session."""
    session = session_of(case.call.session_id)
    return memory.keys.is_heard_again(case.arguments.key, case.document.digest, session)


class HistoricalInconsistency(LearnedCheck):
    """Holds the result against earlier results of the same arguments.

    The same result again speaks for the call, by as much as this tool repeats itself. A different one is judged by
    how often this tool's answers change; one that was current before and has since been replaced, by how often that
    happens. How far its numbers moved is another signal.
    """

    name = "historical_inconsistency"
    group = "past"
    floor = 0.0005

    def __call__(self, case: Case, /) -> SignalResult:
        signal = super().__call__(case)
        memory: ToolMemory = case.memory
        history = memory.keys.by_key.get(case.arguments.key)
        if history is None or not signal.applicable:
            return signal
        if signal.score == 0.0 and history.results[-1] == case.document.digest:
            again = 1.0 - memory.change_rate(history, case.between)
            return signal._replace(likelihood_ratio=min(max(BY_CHANCE / again, STRONGEST_AGREEMENT), 1.0))
        if signal.detail == ANOTHER:  # it fired: a reader is told where to look
            _, path = memory.furthest_move(history, numbers_of(case.document))
            return signal._replace(detail=f"{ANOTHER}, most so in {path}") if path else signal
        return signal

    def examine(self, case: Case, document: Document, memory: ToolMemory) -> Finding | str:
        history = history_of(case, memory)
        if isinstance(history, str):
            return history
        if document.digest == history.results[-1]:
            return Finding(0.0, "the same result as before")
        change, revert = memory.change_rate(history, case.between), memory.reverts.mean(0.1, 3.0)
        new_session = case.between is not None and not case.between.asked_before
        if document.digest in history.results:
            if new_session and change >= OFTEN:
                return AS_USUAL
            detail = "an earlier result that had been replaced since"
            back_again = max(min(change, revert), memory.changed_by(case.between) * SET_BACK)
            return Finding(-math.log(back_again), detail, traits=(Trait("answer", case.arguments.place, "reverted"),))
        new = change * (1.0 - revert)
        if new >= OFTEN:
            return AS_USUAL
        # What has grown, has been edited since or comes again is what these arguments have now.
        honest = is_later(case, memory) and history.has_grown(document)
        most = SLIGHT if honest or heard_again(case, memory) else math.inf
        direct = NEW / new if history.count >= STEADY else 0.0
        traits: tuple[Trait, ...] = (Trait("answer", case.arguments.place, "changed"),)
        if document.kind == "empty":
            traits = (Trait("empty", "", "emptied"), *traits)
        return Finding(-math.log(new), ANOTHER, most, direct, traits)


# --- moved_value: a number far from its level under the same arguments, or a clock that went back ---

WENT_BACK: Final = 0.3  # P(a clock goes back | fabricated or corrupted)


class MovedValue(LearnedCheck):
    """Holds each number of a new answer against those that the same arguments had before.

    A field that has only ever gone forward, a time or a version, is held to going forward.
    """

    name = "moved_value"
    group = "past"
    floor = 0.0005

    def examine(self, case: Case, document: Document, memory: ToolMemory) -> Finding | str:
        history = history_of(case, memory)
        if isinstance(history, str):
            return history
        if document.digest == history.results[-1]:
            return "the same result as before"
        finding = AS_USUAL
        clocks, numbers, vouched = clock_values(document), numbers_of(document), case.vouched
        if history.has_grown(document):  # with a row more those of the rows have another mean
            numbers = {path: x for path, x in numbers.items() if "[]" not in path}
        if vouched:
            clocks = {path: value for path, value in clocks.items() if path not in vouched}
            numbers = {path: value for path, value in numbers.items() if path not in vouched}
        back, path = memory.clocks.back_rate(clocks, history.clocks)
        if path:
            detail = f"{path} went back, and has only ever gone forward"
            traits = (Trait("clock", case.arguments.place, path),)
            finding = Finding(-math.log(back), detail, direct=WENT_BACK / back, traits=traits)
        x, path = memory.furthest_move(history, numbers)
        # However far it is, it is judged by the moves of m answers to known arguments: by no less than 1 in (m + 3)^3.
        x = min(x, 3.0 * math.log(memory.repeats.total + memory.across.total + 3.0))
        if x > finding.surprise:
            detail = f"{path or 'the number'} moved far from its level under these arguments"
            finding = Finding(x, detail, direct=finding.direct, traits=(Trait("level", path, "moved"),))
        return finding


def named_as_documented(signals: dict[str, SignalResult]) -> dict[str, SignalResult]:
    """Have ``historical_inconsistency`` fire where ``moved_value`` does, which the published document has as one.

    Whoever watches the documented name is told of the number that moved. Its evidence stays ``moved_value``'s.
    """
    moved, past = signals.get(MovedValue.name), signals.get(HistoricalInconsistency.name)
    if moved is None or past is None or past.fired or not moved.fired:
        return signals
    fired = past._replace(fired=True, score=moved.score, p_value=moved.p_value, detail=moved.detail)
    return {**signals, past.name: fired}


def findings_of(signals: dict[str, SignalResult]) -> dict[str, SignalResult]:
    """Pick the signals that fired by evidence of their own: a label moves the weights of these and of no other.

    ``historical_inconsistency`` is left out where it only repeats the finding of ``moved_value``.
    """
    fired = {name: signal for name, signal in signals.items() if signal.fired}
    moved, past = fired.get(MovedValue.name), fired.get(HistoricalInconsistency.name)
    if moved is not None and past is not None and past.detail == moved.detail:
        del fired[HistoricalInconsistency.name]
    return fired


# --- session_inconsistency: another answer than the same arguments had earlier in the same session ---


class SessionInconsistency(LearnedCheck):
    """A different result for the same arguments within one session, by how often this tool's results do that.

    Tools declared ``stateful`` change by design: they abstain.
    """

    name = "session_inconsistency"
    group = "past"

    def examine(self, case: Case, document: Document, memory: ToolMemory) -> Finding | str:
        if case.contract.profile.stateful and case.call.session_id is not None:
            return "declared stateful"
        earlier = earlier_in_session(case, memory)
        if isinstance(earlier, str):
            return earlier
        if document.is_error:
            return "an error report, not an answer"
        if earlier == document.digest:
            return Finding(0.0, "the same result as earlier in this session")
        change = max(memory.session_changes.mean(0.3, 2.0), memory.changed_by(case.between))
        if change >= OFTEN or is_later(case, memory):
            return Finding(0.0, "answers change here")
        x = -math.log(change)
        traits = (Trait("answer", case.arguments.place, "changed"),)
        return Finding(x, "another result than earlier in this session", traits=traits)


# --- stale_result: the same answer as before a call that nearly always changes it ---

UNCHANGED: Final = 0.3  # P(an answer from before the call in between | fabricated or corrupted)


class StaleResult(LearnedCheck):
    """An answer that a call in between should have changed: what was written is not read back."""

    name = "stale_result"
    group = "past"
    floor = 0.001
    prior = 4.0

    def examine(self, case: Case, document: Document, memory: ToolMemory) -> Finding | str:
        earlier = earlier_in_session(case, memory)
        if isinstance(earlier, str):
            return earlier
        changed = memory.changed_by(case.between)
        if earlier != document.digest or not changed:
            return "another answer, or no call in between"
        detail = "the same result as before a call that changes it"
        traits = (Trait("same", case.arguments.place, "unchanged"),)
        return Finding(-math.log(1.0 - changed), detail, direct=UNCHANGED / (1.0 - changed), traits=traits)


# --- duplicate_result: word for word the result of another call ---

BETWEEN_SISTERS: Final = 0.1  # before anything is known: how often tools whose results have one form give the same one
BETWEEN_STRANGERS: Final = 0.03  # the same of tools whose results have other forms
LONGEST_NOTICE: Final = 60  # bytes: "no matches found"
NOTICE_NATS: Final = 0.3  # alone it may not flag


class DuplicateResult(LearnedCheck):
    """This very result is known, but only from calls with quite other arguments, or from another tool.

    Judged by how often this tool's genuine results are so; another tool's result of a form that this tool has too is
    judged by how often sister tools share results (a search and a list of the same records). Results below 20 bytes
    are alike by chance: left alone.
    """

    name = "duplicate_result"
    group = "copy"
    share = 0.85

    def examine(self, case: Case, document: Document, memory: ToolMemory) -> Finding | str:
        arguments = case.arguments
        if document.is_error:
            return "an error report, not an answer"
        if document.size < SHORTEST_OWNED:
            return "too short to be told from others"
        if memory.keys.is_foreign(arguments, document.digest):
            if memory.count < 3:
                return f"{memory.count} of 3 calls"
            if any(document.side.says(text) for _, text in arguments.values):
                return "known under other arguments, and repeats one of these"
            rate = memory.foreign_known if arguments.key in memory.keys.by_key else memory.foreign
            usual = memory.pool.foreign.mean(0.1, 4.0)
            detail = "known as the result of quite other arguments"
            # A notice says the same to everybody.
            most = NOTICE_NATS if document.size < LONGEST_NOTICE else math.inf
            if heard_again(case, memory):
                most = SLIGHT
            traits = (Trait("same", "", "of other arguments"),)
            return Finding(-math.log(rate.mean(usual, 3.0)), detail, most, traits=traits)
        if memory.pool.is_anothers(document.digest, memory.id):
            pool = memory.pool
            if case.between is not None and document.digest in case.between.results:
                return "the result of a call in this session that had an argument in common"
            if memory.has_form(document):
                usual = memory.foreign_sister.mean(pool.foreign_sister.mean(BETWEEN_SISTERS, 4.0), 4.0)
                return Finding(
                    -math.log(usual),
                    "known as the result of a sister tool",
                    traits=(Trait("same", "", "of a sister tool"),),
                )
            usual = memory.foreign_tool.mean(pool.foreign_tool.mean(BETWEEN_STRANGERS, 4.0), 4.0)
            return Finding(
                -math.log(usual), "known as the result of another tool", traits=(Trait("same", "", "of another tool"),)
            )
        if memory.is_known(document):
            return "known under these or similar arguments"
        return "never seen elsewhere"
