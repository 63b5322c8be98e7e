"""The memory of one tool. Everything here is bounded."""

from __future__ import annotations

import re
from math import log, log1p, sqrt
from typing import Final

from agentguard.verification._arguments import Arguments
from agentguard.verification._canonical import digest
from agentguard.verification._causes import says_canned
from agentguard.verification._document import Document
from agentguard.verification._keys import KeyHistory, Keys, numbers_of
from agentguard.verification._pool import SHORTEST_OWNED, Between, Pool, outermost_form
from agentguard.verification._relations import Relations
from agentguard.verification._shape import Shape
from agentguard.verification.drift import Clocks, Drift, NumberChart, Stuck, clock_values, is_poor
from agentguard.verification.statistics import Categories, Level, Rate, Ring, Surprises, new_scores, student_t4_tail

RECENT_LATENCIES: Final = 256  # timed calls
RECENT_LENGTHS: Final = 128  # of each kind
RECENT_MEASURED: Final = 256  # numbers of one signal of the user's own
MAX_MEASURED: Final = 64  # such signals; the one that came first makes room
OWN_FLOOR: Final = 0.01  # of their p-values: nobody has measured them, as those of the engine's own checks were
OWN_PRIOR: Final = 8.0  # calls, as of every learned signal
MAX_NUMBER_PATHS: Final = 64  # numbers that are followed
QUIET_STRENGTH: Final = 4.0  # calls that the rate of all counts for in that of calls with nothing in between
MAX_BETWEEN: Final = 64  # tools that are called between two calls
WITHIN_VARIANCE: Final = 0.1**2  # of a number under the same arguments, before any has moved
KEY_STRENGTH: Final = 4.0  # calls that the tool's rate counts for in that of one key
SWAPPED: Final = 0.4  # P(the result is another tool's | fabricated or corrupted)
WELL_KNOWN: Final = 256  # results, after which what is as usual is sampled
ONE_IN: Final = 4  # results as usual of a well-known tool that are learned
PACKED_EVERY: Final = 64  # calls
SHORTEST_MS: Final = 0.5  # what is shorter is taken for as long: its differences are those of the machine
CANNED_LOOKED_FOR: Final = 256  # results, in which words of mocks are looked for
NOT_LETTERS = re.compile(r"[^A-Za-z]+")


class ToolMemory:
    """One tool: forms by kind, numbers by path, argument keys, sessions, and how its signals usually are."""

    __slots__ = (
        "across", "after", "broken", "canned", "charts", "clocks", "contracts", "count", "cut_objects", "cut_off",
        "drift", "echoed_rows", "empties", "endings", "error_forms", "errors", "foreign", "foreign_known",
        "foreign_sister", "foreign_tool", "forms", "id", "keys", "kinds", "latency", "lengths", "levels", "measured",
        "pool", "quiet", "relations", "repeats", "reverts", "scores", "session_changes", "shapes", "stuck",
        "surprises", "suspects", "thinned", "unclosed", "within",
    )  # fmt: skip

    def __init__(self, tool: str, pool: Pool) -> None:
        self.pool = pool
        self.id = digest(tool.encode("utf-8", "surrogatepass")) or 1  # the same in every process; 0 is nobody
        self.count = 0  # results learned in full
        self.errors = Rate()
        self.error_forms = Categories()
        self.empties = Rate()
        self.broken = Rate()
        self.canned = False  # its genuine results have words of mocks
        self.kinds = Categories()  # of the results that are neither errors nor empty
        self.shapes: dict[str, Shape] = {}
        self.lengths: dict[str, Ring] = {}
        self.endings: dict[str, Categories] = {}
        self.unclosed: dict[str, Rate] = {}
        self.cut_objects = Rate()
        self.latency = Ring(RECENT_LATENCIES)
        self.forms = Categories()  # of the outermost keys of results
        self.drift = Drift()
        self.clocks = Clocks()
        self.levels: dict[str, Level] = {}
        self.charts: dict[str, NumberChart] = {}  # of the same numbers, as they follow on one another
        self.stuck = Stuck()
        self.within: dict[str, Level] = {}  # a number's distance from its key's mean
        self.echoed_rows: dict[str, Rate] = {}  # of results with several rows at a declared echo's place: all are it
        self.relations = Relations()
        self.keys = Keys()
        self.repeats = Rate()  # of calls with a known key: another result than the current one
        self.across = Rate()  # the same, of the first call in a session
        self.quiet = Rate()  # of those made again in a session with nothing in between
        self.after: dict[int, Rate] = {}  # of those made again, by what was called in the session since
        self.reverts = Rate()  # of those: one that had been current before
        self.cut_off = Rate()  # of those: a beginning of a known result
        self.foreign = Rate()  # of calls with a new key: a result known only under quite other arguments
        self.foreign_known = Rate()  # the same, of calls with a known key
        self.foreign_tool = Rate()  # of results of a form new to this tool: another tool's result
        self.foreign_sister = Rate()  # the same, of a form that this tool's results have too
        self.session_changes = Rate()
        self.measured: dict[str, Ring] = {}  # the numbers of signals of the user's own
        self.surprises: dict[str, Surprises] = {}
        self.scores = new_scores()
        self.contracts: dict[str, Rate] = {}  # of trusted or labelled genuine calls: the contract was broken
        self.suspects = 0
        self.thinned = 0.0

    def learn(
        self,
        document: Document,
        arguments: Arguments,
        milliseconds: float | None,
        session_id: str | None,
        between: Between | None = None,
        *,
        as_usual: bool = False,
        doubtful: bool = False,
    ) -> None:
        """Take one call as genuine.

        The forms, lengths and numbers of a tool with many calls are learned from one in four of those that
        are as usual, told by their digest: what is kept of them reaches back some 200 calls, and a sample says as
        much. What belongs to the arguments, the session and the clock is learned of every call; of a ``doubtful``
        one nothing but that, and the relations.
        """
        self.count += 1
        if milliseconds is not None and not document.is_error:
            self.latency.push(log(max(milliseconds, SHORTEST_MS)))
            self.drift.push("latency", log(max(milliseconds, SHORTEST_MS)))
        self.errors.push(document.is_error)
        if document.is_error:
            self.error_forms.push(error_form(document))
            return
        self.empties.push(document.kind == "empty")
        has_form = self.has_form(document)
        if document.kind != "empty":
            self.drift.push("size", log1p(document.size))
        sampled_out = as_usual and self.count > WELL_KNOWN and document.digest % ONE_IN != 0
        if document.leaves and not sampled_out:
            self.relations.learn(arguments.side, document.side, document.stale)
        if document.kind != "empty" and not sampled_out and not doubtful:
            history = self.keys.by_key.get(arguments.key)
            if history is None or document.digest not in history.results:
                self._learn_form(document)
            if not self.canned and self.count <= CANNED_LOOKED_FOR:
                self.canned = says_canned(document.text)
        self._learn_key(document, arguments, session_id, between, has_form, sampled_out)

    def note(self, document: Document, arguments: Arguments, session: int = 0) -> None:
        """Put a call on the charts, learned or not: how long a change lasts is part of it."""
        if document.is_error:
            return
        self.stuck.push(document.digest, arguments.key, poor=is_poor(document))
        self.keys.hear(arguments.key, document.digest, session)
        if self.is_known(document):
            return
        for path, x in numbers_of(document).items():
            level = self.levels.get(path)
            if level is not None:
                chart = self.charts.get(path)
                if chart is None:
                    chart = self.charts[path] = NumberChart()
                chart.push(x, level, arguments.key)
                chart.stuck.push(hash(x), arguments.key)

    def measure(self, name: str, value: float) -> None:
        """Learn a number of a signal of the user's own."""
        ring = self.measured.get(name)
        if ring is None:
            if len(self.measured) >= MAX_MEASURED:
                oldest = next(iter(self.measured))
                del self.measured[oldest]
                self.surprises.pop(oldest, None)
            ring = self.measured[name] = Ring(RECENT_MEASURED)
        ring.push(value)

    def recalibrated(self, name: str, surprise: float, floor: float, prior: float) -> float:
        """The p-value of a signal's surprise, by how often this tool's genuine calls looked as unusual."""
        past = self.surprises.get(name)
        overall = self.pool.surprises.get(name)
        expected = None if overall is None else overall.p(surprise)
        return (Surprises(floor, prior) if past is None else past).p(surprise, expected)

    def _learn_form(self, document: Document) -> None:
        kind = document.kind
        known = self.is_known(document)
        self.kinds.push(kind)
        self.broken.push(kind == "broken")
        if kind not in self.shapes:
            self.new_kind(kind)
        self.lengths[kind].push(log1p(document.size))
        self.endings[kind].push(ending(document))
        self.unclosed[kind].push(document.unclosed)
        form = outermost_form(document)
        if form is not None:
            if form not in self.forms.counts and self.pool.learns:
                self.pool.foreign_form.push(self.pool.has_anothers_form(document, self.id))
            self.forms.push(form)
        if document.open_forms:
            self.cut_objects.push(ends_in_a_cut_object(document, self.shapes[kind]))
        self.shapes[kind].learn(document)
        for path, x in () if known else numbers_of(document).items():
            level = _known_or_new(self.levels, path)
            if level is not None:
                level.push(x)

    def new_kind(self, kind: str) -> None:
        """Make room for results of a kind that did not come before."""
        self.shapes[kind], self.lengths[kind] = Shape(), Ring(RECENT_LENGTHS)
        self.endings[kind], self.unclosed[kind] = Categories(), Rate()

    def _learn_key(
        self,
        document: Document,
        arguments: Arguments,
        session_id: str | None,
        between: Between | None,
        has_form: bool,
        sampled_out: bool,
    ) -> None:
        key, pool = arguments.key, self.pool
        history = self.keys.by_key.get(key)
        if history is not None and history.results:
            changed = document.digest != history.results[-1]
            first = between is not None and not between.asked_before
            (self.across if first else self.repeats).push(changed)
            if pool.learns:
                pool.changes.push(changed)
            if between is not None:
                self._learn_between(between, changed)
            if changed:
                self.reverts.push(document.digest in history.results)
                self.cut_off.push(history.is_cut_off(document))
            if not sampled_out:
                for path, move in history.moves(numbers_of(document)):
                    moves = _known_or_new(self.within, path)
                    if moves is not None:
                        moves.push(move)
        if document.size >= SHORTEST_OWNED:
            rate = self.foreign if history is None else self.foreign_known
            foreign = self.keys.is_foreign(arguments, document.digest)
            rate.push(foreign)
            anothers = pool.is_anothers(document.digest, self.id)
            (self.foreign_sister if has_form else self.foreign_tool).push(anothers)
            if pool.learns:
                (pool.foreign_sister if has_form else pool.foreign_tool).push(anothers)
                pool.foreign.push(foreign)
        pool.own(document, self.id)
        if self.count % PACKED_EVERY == 0:
            self.keys.pack()
        history = self.keys.learn(arguments, document)
        clocks = clock_values(document)
        self.clocks.learn(clocks, history.clocks)
        history.clocks = self.clocks.kept(clocks)
        if session_id is not None:
            earlier = pool.swap_session(session_id, self.id, key, document.digest)
            if earlier is not None:
                self.session_changes.push(document.digest != earlier)

    def _learn_between(self, between: Between, changed: bool) -> None:
        if not between.tools:
            if between.asked_before:
                self.quiet.push(changed)
            return
        for tool in between.tools:
            if self.pool.learns:
                (self.pool.after_shared if tool & 1 else self.pool.after_other).push(changed)
            rate = self.after.get(tool)
            if rate is None:
                if len(self.after) >= MAX_BETWEEN:
                    continue
                rate = self.after[tool] = Rate()
            rate.push(changed)

    def change_rate(self, history: KeyHistory, between: Between | None = None) -> float:
        """P(these arguments get another result than before), given what was called in the session since.

        How often they did, shrunk to the tool's rate, which is one for the first call in a session and another for
        later ones, and to that of all tools; where nothing was called in between, shrunk to that, how often they did so
        then; and at least what the call in between says that most often changes it.
        """
        first = between is not None and not between.asked_before
        one, other = (self.across, self.repeats) if first else (self.repeats, self.across)
        tool = one.mean(other.mean(self.pool.changes.mean(0.3, 2.0), 4.0), 4.0)
        rate = (history.changes + KEY_STRENGTH * tool) / (history.count - 1 + KEY_STRENGTH)
        if between is None:
            return rate
        if between.asked_before:
            rate = self.quiet.mean(rate, QUIET_STRENGTH)
        return max(rate, self.changed_by(between))

    def changed_by(self, between: Between | None) -> float:
        """P(another result than before | the call in between that most often makes it so); 0 without one."""
        if between is None or not between.tools:
            return 0.0
        return max([self._after(tool) for tool in between.tools])

    def _after(self, tool: int) -> float:
        prior = self.pool.after_shared.mean(0.3, 4.0) if tool & 1 else self.pool.after_other.mean(0.1, 4.0)
        rate = self.after.get(tool)
        return prior if rate is None else rate.mean(prior, 2.0)

    def furthest_move(self, history: KeyHistory, numbers: dict[str, float]) -> tuple[float, str]:
        """``-ln p`` of the number that moved most against its level under the same arguments, and its path.

        The spread of such moves is pooled over all keys of the tool, and starts at 10%.
        """
        furthest, furthest_path = 0.0, ""
        moved = history.moves(numbers)
        if not moved:
            return 0.0, ""
        for path, move in moved:
            moves = self.within.get(path)
            # Against how such moves usually go: a counter moves up each time.
            away, variance = (move, WITHIN_VARIANCE) if moves is None else (move - moves.mean, moves.variance)
            t_squared = away * away / variance
            if t_squared > furthest:
                furthest, furthest_path = t_squared, path
        least = student_t4_tail(sqrt(furthest / (1.0 + 1.0 / history.seen)))
        return -log(min(least * (1.0 + 0.5 * (len(moved) - 1)), 1.0)), furthest_path

    @property
    def has_records(self) -> bool:
        """Most results have fields."""
        return bool(self._usual_paths())

    def usual_fields(self) -> frozenset[str]:
        """The names of the fields that most results of the usual kind have."""
        return frozenset(path.removesuffix("[]").rpartition(".")[2] for path in self._usual_paths()) - {""}

    def _usual_paths(self) -> list[str]:
        kinds = self.kinds.counts
        shape = self.shapes.get(max(kinds, key=kinds.__getitem__)) if kinds else None
        return [] if shape is None else [fact[0] for fact in shape.usual if isinstance(fact, tuple)]

    def has_form(self, document: Document) -> bool:
        """Results of this tool had these outermost keys before or, of text without keys, this kind."""
        form = outermost_form(document)
        return document.kind in self.kinds.counts if form is None else form in self.forms.counts

    def swapped_ratio(self, form: int) -> float:
        """P(a result has this form | fabricated) / P(it has | genuine), for a form that is another tool's own; else 0.

        The former is ``SWAPPED q`` with q the form's share in the results of other tools. The latter is its share in
        this tool's results, and for a form new to it the Good-Turing mass of new forms times how often new forms are
        another tool's, times q. A history of which a share e was swapped leaves a ratio of about ``SWAPPED / e``.
        """
        owner = self.pool.forms.get(form)
        if owner is None or not owner.is_not(self.id):
            return 0.0
        forms = self.forms
        here = forms.counts.get(form, 0)
        q = max(owner.results - here, 1) / max(self.pool.results - self.count, 1)
        novel = (forms.singles + 0.5) / (forms.total + 1.5) * self.pool.foreign_form.mean(0.25, 4.0)
        return SWAPPED * q / (here / (forms.total + 1.0) + novel * q)

    @property
    def gives_text(self) -> bool:
        """Half of the results or more are texts, and about one in twenty or more is free: pages, source files, logs."""
        counts, total = self.kinds.counts, max(self.kinds.total, 1)
        free = counts.get("prose", 0)
        return 20 * (free + 1) >= total + 2 and 2 * (free + counts.get("keyed", 0) + counts.get("list", 0)) >= total

    def is_known(self, document: Document) -> bool:
        """This very result was learned before from this tool."""
        return document.digest in self.keys.owners


def _known_or_new(levels: dict[str, Level], path: str) -> Level | None:
    level = levels.get(path)
    if level is None and len(levels) < MAX_NUMBER_PATHS:
        level = levels[path] = Level()
    return level


def ending(document: Document) -> str:
    """The class of a result's last character: prose that always ends in a full stop, and now in a letter, was cut."""
    last = document.text[-1:].decode("latin-1")
    return "a" if last.isalpha() else "9" if last.isdigit() else last


def ends_in_a_cut_object(document: Document, shape: Shape) -> bool:
    """A keyed text ends within an object that has only the first keys of what is known there."""
    return any(shape.is_cut_object(path, names) for path, names in document.open_forms)


def error_form(document: Document) -> str:
    """An error's form without its particulars, so that ``user 12 not found`` and ``user 7 not found`` are one."""
    return " ".join(NOT_LETTERS.sub(" ", document.text[:120].decode("utf-8", "replace")).split()[:4]).lower()
