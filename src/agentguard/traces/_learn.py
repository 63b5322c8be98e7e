"""Profiles learned from a log and tried on the part of the log that they were not learned from.

The log is read twice, or once where nothing is held out: to count each tool's calls; then to learn from the first ones
and to hold the rest against what was learned. In the same reading an engine without profiles judges every call, and
from what it has learned until then it says of a held-out call what the verdict would be if the tool were held to its
profile. Each call is parsed, and its result read, once for all of these. Memory is that of the counts (see
``_counts.py``) and of one engine.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from time import perf_counter_ns
from typing import Any, Final, Literal

from agentguard.errors import ConfigurationError
from agentguard.traces._counts import MAX_TOOLS, Kept, State, rank_of, repeats
from agentguard.traces._inference import LATENCY_MARGIN, MIN_CALLS, Declaration, Draft, draft_profile, fields_of
from agentguard.traces._read import BrokenLine, TraceRow
from agentguard.traces._replay import Tally
from agentguard.verification._arguments import Arguments
from agentguard.verification._canonical import as_name
from agentguard.verification._contract import Contract
from agentguard.verification._document import Document, read
from agentguard.verification._engine import VerificationEngine, read_call, verify_read, verify_under
from agentguard.verification._judging import CallRead
from agentguard.verification._sides import normal
from agentguard.verification.profile import schema_validator
from agentguard.verification.types import SEVERITY, ToolCall, Verdict

MOST_FAULTS: Final = 1_000  # of one answer
MOST_DIGESTS: Final = 10_000

_Name = tuple[str, tuple[str, ...]]  # of a declaration: its field and path


class Trial:
    """A draft, and the held-out calls that are held against it; by the same rules as the engine's checks.

    An error report answers for nothing but its time. What was too thin to declare is tried as well: where the held-out
    answers bear it out and are as many, and others, as were wanting, it is declared after all. ``known`` are digests of
    the answers that the draft was learned from.
    """

    def __init__(self, draft: Draft, known: Iterable[int] = ()) -> None:
        self.calls = 0
        self._draft = draft
        self._tried = (*draft.declarations, *draft.thin)
        self._known = set(known)
        self._broken: Counter[_Name] = Counter()
        self._fresh: Counter[_Name] = Counter()  # answers that were not met before, by the echo that they could have
        self._fresh_answers = 0
        self._extremes: tuple[float, float] | None = None
        schema = fields_of(self._tried).get("output_schema")
        self._validator = None if schema is None else schema_validator(schema)
        self._in_schema = {one.path: one for one in self._tried if one.field == "output_schema"}
        self._others = [one for one in self._tried if one.field not in ("output_schema", "echoes")]
        self._echoes = [(one, _parsed(one.value)) for one in self._tried if one.field == "echoes"]

    def push(self, call: ToolCall) -> None:
        """Hold one call against every declaration."""
        self.push_read(call, read(call.result), Arguments(call.args))

    def push_read(self, call: ToolCall, document: Document, arguments: Arguments) -> None:
        """Hold one call, whose result and arguments were read, against every declaration."""
        self.calls += 1
        is_answer = not (document.is_error or call.is_error)
        is_fresh = is_answer and document.digest not in self._known
        if is_fresh:
            self._fresh_answers += 1
            if len(self._known) < MOST_DIGESTS:
                self._known.add(document.digest)
        milliseconds = call.milliseconds
        if milliseconds is not None:
            low, high = self._extremes or (milliseconds, milliseconds)
            self._extremes = (min(low, milliseconds), max(high, milliseconds))
        self._broken.update(
            (one.field, one.path) for one in self._others if self._breaks(one, call, document, is_answer=is_answer)
        )
        if is_answer:
            self._push_echoes(document, dict(arguments.values), is_fresh=is_fresh)
        if self._validator is not None and is_answer and document.kind != "large":
            self._push_value(document.value)

    def _push_echoes(self, document: Document, arguments: dict[str, str], *, is_fresh: bool) -> None:
        for one, (path, rows) in self._echoes:
            text = arguments.get(one.path[0])
            others = [normal(value) for value in document.leaves.get(path, ())]
            if not text or not others:
                continue
            name = one.field, one.path
            self._fresh[name] += is_fresh
            if rows == "every":
                held = all(repeats(text, other) for other in others)
            else:
                held = any(text in other or other in text for other in others)
            self._broken[name] += not held

    def _push_value(self, value: Any) -> None:
        if self._validator is None or self._validator.is_valid(value):
            return
        broken: set[_Name] = set()
        for error in islice(self._validator.iter_errors(value), MOST_FAULTS):
            path = tuple(map(str, error.schema_path))
            missing = getattr(error.kind, "property", None)  # of a required field
            one = self._in_schema.get(path if missing is None else (*path, missing))
            if one is not None:
                broken.add((one.field, one.path))
        self._broken.update(broken)

    def _breaks(self, one: Declaration, call: ToolCall, document: Document, *, is_answer: bool) -> bool:
        if one.field == "expected_latency_ms":
            milliseconds = call.milliseconds
            return milliseconds is not None and not one.value[0] <= milliseconds <= one.value[1]
        if not is_answer:
            return False
        if one.field == "min_response_length":
            return document.size < int(one.value)
        if one.field == "max_response_length":
            return document.size > int(one.value)
        if one.field == "required_fields":
            value = document.value
            return document.kind != "large" and not (isinstance(value, dict) and one.value in value)
        return False

    @property
    def departures(self) -> tuple[object, ...]:
        """How many things the calls so far broke, and how far the time went where it is one of them."""
        timed = self._broken["expected_latency_ms", ()] > 0
        return sum(times > 0 for times in self._broken.values()), self._extremes if timed else None

    def verdict(self) -> Draft:
        """The draft, each declaration with how many of how many calls broke it; what held and was wanting is in it."""
        tried = [one.against(self._broken[one.field, one.path], self.calls, self._instead(one)) for one in self._tried]
        borne_out = [one for one in tried if one.missing == 0 or self._bears_out(one)]
        thin = tuple(one for one in tried if one not in borne_out and not one.broken)
        return replace(self._draft, declarations=tuple(replace(one, missing=0) for one in borne_out), thin=thin)

    def _bears_out(self, one: Declaration) -> bool:
        if one.missing is None or one.broken:
            return False
        fresh = self._fresh[one.field, one.path] if one.field == "echoes" else self._fresh_answers
        return fresh >= one.missing

    def _instead(self, one: Declaration) -> Declaration | None:
        """A bound on the time that held-out calls were beyond is opened on that side."""
        if one.field != "expected_latency_ms" or self._extremes is None:
            return None
        (low, high), (least, most) = one.value, self._extremes
        if low <= least and most <= high:
            return None
        opened = [low if low <= least else 0.0, high if most <= high else float(math.ceil(most * LATENCY_MARGIN))]
        return replace(one, value=opened, why=f"{one.why}; opened, as held-out calls took {least:.3g} to {most:.3g} ms")


def _parsed(value: Any) -> tuple[str, str | None]:
    """Path and rows of an echo as it is declared."""
    return (value, None) if isinstance(value, str) else (value["path"], value.get("rows"))


# --- Learning ---

HOLDOUT: Final = 0.3

Stage = Literal["count", "learn", "done"]


class _Held:
    """A tool whose calls are held out by now: their trial, and the contract that its profile makes meanwhile.

    A declaration is in the contract until a held-out call breaks it, for it is left out of the profile then; where all
    are kept, they stay in it.
    """

    def __init__(self, trial: Trial, *, keep_all: bool) -> None:
        self._trial, self._keep_all = trial, keep_all
        self._departures = trial.departures
        self.contract = Contract(self.draft.profile())

    def push(self, one: CallRead) -> None:
        """Hold one call against the declarations."""
        self._trial.push_read(one.call, one.document, one.arguments)
        departures = self._trial.departures
        if departures != self._departures and not self._keep_all:
            self._departures = departures
            self.contract = Contract(self.draft.profile())

    @property
    def draft(self) -> Draft:
        """The draft as the calls so far leave it."""
        tried = self._trial.verdict()
        return tried if self._keep_all else tried.without_broken()


class Learner:
    """Learns profiles; whoever holds it can ask it for what was learned also when it was broken off.

    Args:
        read: reads the log from its beginning, each time it is called.
        min_calls: answers of a tool that are necessary for a profile.
        holdout: the share of each tool's calls, its last ones, that is not learned from, in [0, 1).
        tools: the tools to learn; None: all.
        keep_all: declare also what held-out calls break.

    Attributes:
        judged: held-out calls of tools with a profile.
        without, with_profiles: the verdicts on them without and with the profile of their tool, as the calls until then
            leave it: a declaration that a held-out call breaks is in it no longer, unless ``keep_all`` is set.

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
        self.stage: Stage = "count"  # what it is at
        self.read_calls = 0  # calls read in this stage
        self.state = State()  # what was counted of the calls that are learned from
        self.drafts: dict[str, Draft] = {}  # the profiles by tool
        self.skipped: dict[str, str] = {}  # why a tool has none
        self.without, self.with_profiles = Tally(), Tally()
        self.changed: Counter[tuple[Verdict, Verdict]] = Counter()  # their number by both verdicts, where these differ
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
        """Count the calls of each tool to learn from: all but the last share."""
        calls: Kept[str, list[int]] = Kept(MAX_TOOLS, lambda: [0], rank_of)
        for row in self._rows("count"):
            if isinstance(row, TraceRow) and (counted := calls.at(as_name(row.call.tool))) is not None:
                counted[0] += 1
        for tool, (count,) in calls.entries.items():
            self._to_learn[tool] = count - int(count * self._holdout)

    def _learn(self) -> None:
        engine = VerificationEngine() if self._holdout else None
        seen: Counter[str] = Counter()
        trials: dict[str, _Held] = {}
        try:
            for row in self._rows("learn"):
                if isinstance(row, BrokenLine) or engine is None:
                    self.state.push(row)
                    continue
                begun = perf_counter_ns()
                one, tool = read_call(engine, row.call), as_name(row.call.tool)
                reading = perf_counter_ns() - begun
                learned = self._to_learn.get(tool)
                seen[tool] += 1
                if learned is None or seen[tool] <= learned:  # of a tool too many nothing is held out
                    self.state.push_read(row.call, one.document, one.arguments)
                    verify_read(engine, one)
                    continue
                if seen[tool] == learned + 1:
                    self._draft(tool)
                    if tool in self.drafts:
                        known = self.state.tools.entries[tool].results.entries
                        trials[tool] = _Held(Trial(self.drafts[tool], known), keep_all=self._keep_all)
                if tool not in trials:
                    verify_read(engine, one)
                    continue
                trials[tool].push(one)
                self._judge(engine, row, one, trials[tool].contract, reading)
        finally:  # also of what was read when it was broken off
            for tool in self.state.tools.entries:
                if tool not in self.drafts and tool not in self.skipped:
                    self._draft(tool)
            for tool, trial in trials.items():
                self.drafts[tool] = trial.draft
            if not any(draft.declarations for draft in self.drafts.values()):
                self.without, self.with_profiles = Tally(), Tally()  # there is nothing to compare
                self.changed.clear()

    def _judge(
        self, engine: VerificationEngine, row: TraceRow, one: CallRead, contract: Contract, reading: int
    ) -> None:
        """Judge a held-out call with the profile of its tool, and without it; the latter is learned from."""
        begun = perf_counter_ns()
        after = verify_under(engine, one, contract)
        middle = perf_counter_ns()
        before = verify_read(engine, one)
        self.with_profiles.push(row, after, reading + middle - begun)
        self.without.push(row, before, reading + perf_counter_ns() - middle)
        if before.verdict != after.verdict:
            self.changed[before.verdict, after.verdict] += 1

    def _draft(self, tool: str) -> None:
        state = self.state.tools.entries.get(tool)
        drafted = "too many tools to learn them all" if state is None else draft_profile(tool, state, self._min_calls)
        if isinstance(drafted, str):
            self.skipped[tool] = drafted
        else:
            self.drafts[tool] = drafted

    def as_dict(self) -> dict[str, Any]:
        """The drafts and their trial as plain data, ready for JSON."""
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


def _draft_as_dict(draft: Draft) -> dict[str, Any]:
    def listed(declarations: Iterable[Declaration]) -> list[dict[str, Any]]:
        names = ("field", "value", "why", "broken", "held_out")
        return [{"path": list(one.path), **{name: getattr(one, name) for name in names}} for one in declarations]

    return {
        **{name: getattr(draft, name) for name in ("tool", "calls", "answers", "distinct")},
        "declarations": listed(draft.declarations),
        "left_out": listed(draft.left_out),
        "too_thin": listed(draft.thin),
        "notes": list(draft.notes),
    }
