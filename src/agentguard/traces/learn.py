"""Profiles learned from a log, tried on the part of the log that they were not learned from.

The log is read up to three times: to count each tool's calls; to learn from the first of them and to hold the rest
against what was learned; to judge the rest by an engine that has the profiles, and by one that has not, both warmed
up on the calls before. Memory is that of the counts (see ``state.py``) and of two engines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter_ns
from typing import Any, Final, Literal

from agentguard.errors import ConfigurationError
from agentguard.verification.canonical import as_name
from agentguard.verification.engine import VerificationEngine
from agentguard.verification.types import Verdict, VerificationResult

from .draft import Draft
from .holdout import Trial
from .inference import MIN_CALLS, draft_profile
from .kept import Kept, rank_of
from .replay import Tally, judge
from .row import BrokenLine, TraceRow
from .state import MAX_TOOLS, State
from .summary import SEVERITY

__all__ = ["HOLDOUT", "Learner"]

HOLDOUT: Final = 0.3

Stage = Literal["count", "learn", "judge", "done"]


class Learner:
    """Learns profiles; whoever holds it can ask it for what was learned also when it was broken off.

    Args:
        read: reads the log from its beginning, each time it is called.
        min_calls: answers of a tool that are necessary for a profile.
        holdout: the share of each tool's calls, its last ones, that is not learned from, in [0, 1).
        tools: the tools to learn; None: all.
        keep_all: declare also what held-out calls break.

    Attributes:
        stage: what it is at.
        read_calls: calls read in this stage.
        state: what was counted of the calls that are learned from.
        drafts: the profiles by tool.
        skipped: why a tool has none.
        judged: held-out calls of tools with a profile.
        without, with_profiles: the verdicts on them without and with the profiles.
        changed: their number by both verdicts, where these differ.

    Raises:
        ConfigurationError: for an argument out of range.
    """

    def __init__(
        self,
        read: Callable[[], Iterable[TraceRow | BrokenLine]],
        *,
        min_calls: int = MIN_CALLS,
        holdout: float = HOLDOUT,
        tools: Iterable[str] | None = None,
        keep_all: bool = False,
    ) -> None:
        if not 0.0 <= holdout < 1.0:
            raise ConfigurationError(f"holdout must be a share of the calls in [0, 1), not {holdout!r}")
        if min_calls < 1:
            raise ConfigurationError(f"min_calls must be 1 or more, not {min_calls!r}")
        self.stage: Stage = "count"
        self.read_calls = 0
        self.state = State()
        self.drafts: dict[str, Draft] = {}
        self.skipped: dict[str, str] = {}
        self.without, self.with_profiles = Tally(), Tally()
        self.changed: Counter[tuple[Verdict, Verdict]] = Counter()
        self._read = read
        self._min_calls = min_calls
        self._holdout = holdout
        self._only = None if tools is None else frozenset(map(as_name, tools))
        self._keep_all = keep_all
        self._to_learn: dict[str, int] = {}

    @property
    def judged(self) -> int:
        """Held-out calls that were judged."""
        return self.with_profiles.calls

    def run(self) -> Learner:
        """Learn, and try what was learned."""
        if self._holdout:
            self._count()
        self._learn()
        if self._holdout and any(draft.declarations for draft in self.drafts.values()):
            self._judge()
        self.stage = "done"
        return self

    def _rows(self, stage: Stage) -> Iterator[TraceRow | BrokenLine]:
        """The log's lines, without the calls of tools that are of no interest."""
        self.stage, self.read_calls = stage, 0
        for row in self._read():
            if isinstance(row, TraceRow):
                self.read_calls += 1
                if self._only is not None and as_name(row.call.tool) not in self._only:
                    continue
            yield row

    def _count(self) -> None:
        """How many calls of each tool to learn from: all but the last."""
        calls: Kept[str, list[int]] = Kept(MAX_TOOLS, lambda: [0], rank_of)
        for row in self._rows("count"):
            if isinstance(row, TraceRow) and (counted := calls.at(as_name(row.call.tool))) is not None:
                counted[0] += 1
        for tool, (count,) in calls.entries.items():
            self._to_learn[tool] = count - int(count * self._holdout)

    def _learn(self) -> None:
        seen: Counter[str] = Counter()
        trials: dict[str, Trial] = {}
        try:
            for row in self._rows("learn"):
                tool = "" if isinstance(row, BrokenLine) else as_name(row.call.tool)
                learned = self._to_learn.get(tool)
                if isinstance(row, BrokenLine) or learned is None:  # of this tool nothing is held out
                    self.state.push(row)
                    continue
                seen[tool] += 1
                if seen[tool] <= learned:
                    self.state.push(row)
                    continue
                if seen[tool] == learned + 1:
                    self._draft(tool)
                    if tool in self.drafts:
                        known = self.state.tools.entries[tool].results.entries
                        trials[tool] = Trial(self.drafts[tool], known)
                if tool in trials:
                    trials[tool].push(row.call)
        finally:  # also of what was read when it was broken off
            for tool in self.state.tools.entries:
                if tool not in self.drafts and tool not in self.skipped:
                    self._draft(tool)
            for tool, trial in trials.items():
                tried = trial.verdict()
                self.drafts[tool] = tried if self._keep_all else tried.without_broken()

    def _draft(self, tool: str) -> None:
        state = self.state.tools.entries.get(tool)
        drafted = "too many tools to learn them all" if state is None else draft_profile(tool, state, self._min_calls)
        if isinstance(drafted, str):
            self.skipped[tool] = drafted
        else:
            self.drafts[tool] = drafted

    def _judge(self) -> None:
        plain = VerificationEngine()
        declared = VerificationEngine(profiles=[draft.profile() for draft in self.drafts.values()])
        seen: Counter[str] = Counter()
        for row in self._rows("judge"):
            if isinstance(row, BrokenLine):
                continue
            tool = as_name(row.call.tool)
            before, took_before = _judged(plain, row)
            after, took_after = _judged(declared, row)
            if tool not in self.drafts:
                continue
            seen[tool] += 1
            if seen[tool] <= self._to_learn.get(tool, 0):
                continue
            self.without.push(row, before, took_before)
            self.with_profiles.push(row, after, took_after)
            if before.verdict != after.verdict:
                self.changed[before.verdict, after.verdict] += 1

    def as_dict(self) -> dict[str, Any]:
        """What was learned, as plain data, ready for JSON."""
        return {
            "calls": self.state.calls,
            "broken": self.state.broken,
            "stage": self.stage,
            "tools": [_draft_as_dict(draft) for _, draft in sorted(self.drafts.items())],
            "skipped": dict(sorted(self.skipped.items())),
            "held_out": {
                "calls": self.judged,
                "without": self.without.summary().as_dict(),
                "with": self.with_profiles.summary().as_dict(),
                "changed": [
                    {"without": before, "with": after, "calls": calls}
                    for (before, after), calls in sorted(self.changed.items())
                ],
                "newly_blocked": self.newly("block"),
                "newly_flagged": self.newly("flag"),
            },
        }

    def newly(self, verdict: Literal["flag", "block"]) -> int:
        """Held-out calls on which this verdict is the profiles' doing."""
        return sum(
            calls
            for (before, after), calls in self.changed.items()
            if after == verdict and SEVERITY[before] < SEVERITY[after]
        )


def _judged(engine: VerificationEngine, row: TraceRow) -> tuple[VerificationResult, int]:
    begun = perf_counter_ns()
    verdict = judge(engine, row.call)
    return verdict, perf_counter_ns() - begun


def _draft_as_dict(draft: Draft) -> dict[str, Any]:
    return {
        "tool": draft.tool,
        "calls": draft.calls,
        "answers": draft.answers,
        "distinct": draft.distinct,
        "declarations": [_as_dict(one) for one in draft.declarations],
        "left_out": [_as_dict(one) for one in draft.left_out],
        "too_thin": [_as_dict(one) for one in draft.thin],
        "notes": list(draft.notes),
    }


def _as_dict(one: Any) -> dict[str, Any]:
    return {
        "field": one.field,
        "path": list(one.path),
        "value": one.value,
        "why": one.why,
        "broken": one.broken,
        "held_out": one.held_out,
    }
