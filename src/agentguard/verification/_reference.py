"""The published document, executable: fixed scores, fixed ratios, one log-odds sum."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

from agentguard.errors import ConfigurationError
from agentguard.verification._calibration import HIGHEST, LOWEST, LabelCounts
from agentguard.verification._canonical import args_key
from agentguard.verification._case import Case
from agentguard.verification._contract import INSTANT_MS, Contract
from agentguard.verification._document import Document
from agentguard.verification._method import Check, Decision
from agentguard.verification._relations import Relation
from agentguard.verification.statistics import RunningStats, log_odds, western_electric
from agentguard.verification.types import (
    UNREAD,
    NotLookedAt,
    Settings,
    SignalResult,
    ToolCall,
    Trait,
    Verdict,
    VerificationTier,
)

LARGEST = 1e150  # its square is still a finite number
MAX_FIELDS = 200  # paths with numbers, of one result and of one tool
MAX_PATH = 256  # characters


def finite(value: Any) -> float | None:
    """A number as a float, of at most 1e150; None for whatever is not one.

    Booleans, text, NaN, infinities and integers too large for a float are not numbers here.

    >>> finite(3), finite(True), finite("3"), finite(10**400), finite(1e300)
    (3.0, None, None, None, 1e+150)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return max(-LARGEST, min(LARGEST, number)) if math.isfinite(number) else None


def numeric_fields(document: Document) -> dict[str, float]:
    """The number at each path of a result, in the order met; the mean where a path occurs several times.

    The rows of a list share one path, and a single row may rightly be of any size; their mean is what stays
    comparable between two answers of the same tool. At most 200 paths are taken, and none longer than 256 characters.

    >>> from agentguard.verification._document import read
    >>> numeric_fields(read({"total": 7, "ok": True, "rows": [{"id": 1}, {"id": 4}]}))
    {'total': 7.0, 'rows[].id': 2.5}
    """
    fields: dict[str, float] = {}
    for path, leaves in document.leaves.items():
        numbers = [number for leaf in leaves if (number := finite(leaf)) is not None]
        if numbers and len(path) <= MAX_PATH:
            fields[path] = numbers[0] if len(numbers) == 1 else math.fsum(numbers) / len(numbers)
            if len(fields) >= MAX_FIELDS:
                break
    return fields


def swing(one: float, other: float) -> float | None:
    """The factor between two magnitudes, at least 1; None between zero and another number.

    Signs are left aside: a balance that goes from -5 to 5 has not swung. An empty count that fills up is no multiple of
    nothing, and a value that drops to zero is for ``value_plausibility`` to notice, which measures distance.

    >>> swing(650.0, 50.0), swing(-5.0, 5.0), swing(0.0, 3.0), swing(0.0, 0.0)
    (13.0, 1.0, None, 1.0)
    """
    low, high = sorted((abs(one), abs(other)))
    if low > 0.0:
        return high / low
    return 1.0 if high == 0.0 else None


def severity(factor: float) -> float:
    """The gravity of a swing by this factor, in [0, 1]: a factor of 1,000 and more is 1.

    >>> round(severity(50.0), 4), severity(1e6)
    (0.5663, 1.0)
    """
    return min(1.0, math.log10(factor) / 3.0)


# --- What is remembered of one tool: every part bounded, the least recently used entry goes first ---

MIN_CALLS = 8  # below it, mean and standard deviation are not held against anything
SIGMAS = 3.0  # the document's three sigma

MAX_SESSIONS = 256  # of one tool
SESSION_RESULTS = 10  # latest of one session
MAX_ARGUMENTS = 1_000  # of one tool
MAX_FIELDS_EACH = 64  # numbers of one result of a session or of some arguments

_means_only = partial(RunningStats, keep=0)
_last_results: Callable[[], deque[dict[str, float]]] = partial(deque, maxlen=SESSION_RESULTS)

Key = TypeVar("Key")
Entry = TypeVar("Entry")


class History:
    """The results that one set of arguments has had: their number, and the mean of each numeric field."""

    __slots__ = ("calls", "fields")

    def __init__(self) -> None:
        self.calls = 0
        self.fields: OrderedDict[str, RunningStats] = OrderedDict()

    def push(self, fields: dict[str, float]) -> None:
        """Take in one result's numbers, at most 64 of them."""
        self.calls += 1
        for path, number in islice(fields.items(), MAX_FIELDS_EACH):
            _use(self.fields, path, MAX_FIELDS_EACH, _means_only).push(number)


class Baseline:
    """One tool's past: the times of its calls, the sizes of its results, their fields, and the numbers in these.

    Times are milliseconds, of the calls whose time is known, sizes bytes of compact JSON. ``frequency`` counts the
    results that have a path, ``fields`` keeps its numbers; of either, at most 200 paths.
    """

    __slots__ = ("_histories", "_sessions", "calls", "fields", "frequency", "latency", "size")

    def __init__(self) -> None:
        self.calls = 0
        self.latency = RunningStats()
        self.size = RunningStats()
        self.fields: OrderedDict[str, RunningStats] = OrderedDict()
        self.frequency: Counter[str] = Counter()
        self._sessions: OrderedDict[bytes, deque[dict[str, float]]] = OrderedDict()
        self._histories: OrderedDict[bytes, History] = OrderedDict()

    def push(self, call: ToolCall, document: Document, arguments: bytes) -> None:
        """Learn one result; ``arguments`` is the key of the call's arguments (``Arguments.key``)."""
        self.calls += 1
        elapsed = finite(call.milliseconds)
        if elapsed is not None:
            self.latency.push(elapsed)
        self.size.push(float(document.size))
        for path in islice(document.leaves, MAX_FIELDS):
            if path in self.frequency or (len(self.frequency) < MAX_FIELDS and len(path) <= MAX_PATH):
                self.frequency[path] += 1
        numbers = numeric_fields(document)
        for path, number in numbers.items():
            _use(self.fields, path, MAX_FIELDS, RunningStats).push(number)
        if call.session_id is not None:
            results = _use(self._sessions, args_key(call.session_id), MAX_SESSIONS, _last_results)
            results.append(dict(islice(numbers.items(), MAX_FIELDS_EACH)))
        if call.args is not None:
            _use(self._histories, arguments, MAX_ARGUMENTS, History).push(numbers)

    def session(self, session_id: str) -> tuple[dict[str, float], ...]:
        """The numbers of this tool's last 10 results in a session, oldest first, at most 64 of each result."""
        return tuple(self._sessions.get(args_key(session_id), ()))

    def history(self, arguments: bytes) -> History | None:
        """The results that the arguments with this key had before; None where they are new."""
        return self._histories.get(arguments)


def _use(entries: OrderedDict[Key, Entry], key: Key, limit: int, new: Callable[[], Entry]) -> Entry:
    """The entry of a key, now the most recently used of at most ``limit``; made where there is none."""
    if key in entries:
        entries.move_to_end(key)
    else:
        if len(entries) >= limit:
            entries.popitem(last=False)
        entries[key] = new()
    return entries[key]


# --- The eight checks ---


class Finding(NamedTuple):
    """A check's finding.

    Attributes:
        score: how strongly something is out of order, in [0, 1]; 0 for in order, None where the check does not apply.
        detail: what, in words.
        traits: the same for programs, see ``SignalResult``; a number that is out of order has one trait, whatever the
            checks that see it, so that calls with it are one change. None given: the signal's name.
    """

    score: float | None
    detail: str
    traits: tuple[Trait, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentedCheck:
    """One row of the document's table of signals: ``find`` looks at a case and changes nothing.

    ``ratio`` is the documented likelihood ratio, which ``Settings.likelihood_ratios`` may replace.
    """

    name: str
    tier: VerificationTier
    ratio: float
    find: Callable[[Case], Finding]

    def __call__(self, case: Case, /) -> SignalResult:
        """The finding as a signal, with the ratio that is in force."""
        score, detail, traits = self.find(case)
        if score is None:
            return SignalResult.abstain(self.name, self.tier, detail)._replace(traits=traits)
        ratio = case.settings.likelihood_ratios.get(self.name, self.ratio)
        traits = (traits or (Trait("own", "", self.name),)) if score > 0.0 else ()
        return SignalResult(self.name, True, score > 0.0, score, ratio, None, self.tier, detail, "", traits)


NOT_AN_OBJECT = 0.8  # the document's scores, here and below
NO_PATTERN_MATCHES = 0.8
TOO_SHORT = 0.5
TOO_LONG = 0.2


def schema(case: Case) -> Finding:
    """Violations ÷ (required + forbidden fields); 0.8 where required fields are declared of what has no fields.

    A declared ``output_schema`` counts as one item more. A list has fields where they are declared with a leading
    ``[]``. Text without fields violates no forbidden one. A result that was not read to its end is not looked at, but
    for the forbidden fields in what was read.
    """
    contract, document = case.contract, case.document
    declared = len(contract.required) + len(contract.forbidden) + contract.has_schema
    if not declared:
        return Finding(None, "no fields declared")
    if document.unread:
        forbidden = [message for message in contract.field_violations(document) if message.startswith("forbidden")]
        if not forbidden:
            return _not_looked_at(document.unread)
        return Finding(min(1.0, len(forbidden) / declared), "; ".join(forbidden))
    if contract.required and not _has_fields(document.value, contract):
        return Finding(NOT_AN_OBJECT, f"fields are declared and the result is no object ({document.kind})")
    violations = contract.field_violations(document)
    try:
        broken = contract.schema_violation(document)
    except NotLookedAt as error:
        if not violations:
            return _not_looked_at(str(error))
        broken = None
    if broken is not None:
        violations.append(broken)
    if not violations:
        return Finding(0.0, f"as declared ({declared} checked)")
    return Finding(min(1.0, len(violations) / declared), "; ".join(violations))


def _not_looked_at(why: str) -> Finding:
    return Finding(None, f"not looked at: {why}", (UNREAD,))


def _has_fields(value: object, contract: Contract) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and any(steps[:1] == ("[]",) for _, steps in contract.required)
    )


def pattern(case: Case) -> Finding:
    """0.8 where none of the declared patterns is found in the result."""
    if not case.contract.has_patterns:
        return Finding(None, "no patterns declared")
    try:
        if case.contract.matches_a_pattern(case.document):
            return Finding(0.0, "a declared pattern matches")
        unread = case.contract.unsearched(case.document)
    except NotLookedAt as error:
        unread = str(error)
    if unread:
        return _not_looked_at(unread)
    return Finding(NO_PATTERN_MATCHES, f"none of {len(case.contract.profile.response_patterns)} patterns matches")


def length(case: Case) -> Finding:
    """0.5·(1 - length/minimum) where the result is too short, 0.2 where it is too long; in bytes of compact JSON."""
    size = case.document.size
    low, high = case.contract.lengths
    if low is None and high is None:
        return Finding(None, "no length declared")
    if low is not None and size < low:
        return Finding(TOO_SHORT * (1.0 - size / low), f"{size} bytes, at least {low} declared")
    if high is not None and size > high:
        return Finding(TOO_LONG, f"{size} bytes, at most {high} declared")
    return Finding(0.0, f"{size} bytes, as declared")


FIRES_FROM = 0.3  # score of a time below the minimum


def latency(case: Case) -> Finding:
    """The largest score of what is out of order; t is the time in milliseconds.

    - t < 2 for a tool with network I/O: 1 - t/2.
    - t below the declared minimum: √(1 - t/minimum), from 0.3 on.
    - t above the declared maximum: min(1, log10(t/maximum)).
    - against at least 8 earlier times, |z| > 3: min(1, (|z| - 3)/3); not where these have no spread.

    A cacheable tool may be as fast as it likes: it has no lower bound, neither declared nor learned. Where a profile
    says nothing the range is 50 ms - 30 s, over a network; an unregistered tool has 2 ms - 60 s. These defaults are the
    document's own, and are evidence in this mode alone. Unknown times are not judged.
    """
    elapsed = finite(case.call.milliseconds)
    if elapsed is None:
        return Finding(None, "execution time unknown")
    profile, memory = case.contract.profile, case.memory
    low, high = case.contract.latency_ms
    parts: list[tuple[float, str]] = []
    if elapsed < INSTANT_MS and profile.has_network_io and not profile.cacheable:
        parts.append((1.0 - elapsed / INSTANT_MS, "instant for a call over a network"))
    if elapsed < low and not profile.cacheable:
        score = math.sqrt(1.0 - elapsed / low)
        if score >= FIRES_FROM:
            parts.append((score, f"below the minimum of {low:g} ms"))
    if elapsed > high:
        parts.append((min(1.0, math.log10(elapsed / high)), f"above the maximum of {high:g} ms"))
    z: float | None = memory.latency.z(elapsed) if memory.latency.n >= MIN_CALLS else None
    if z is not None and abs(z) > SIGMAS and (z > 0.0 or not profile.cacheable):
        side = "above" if z > 0.0 else "below"
        parts.append((min(1.0, (abs(z) - SIGMAS) / SIGMAS), f"{abs(z):.1f} sigma {side} its mean"))
    if not parts:
        return Finding(0.0, f"{elapsed:.3g} ms is plausible")
    details = " and ".join(detail for _, detail in parts)
    return Finding(max(score for score, _ in parts), f"{elapsed:.3g} ms is {details}")


FIELD_WEIGHT = 0.3  # the document's score of each field


def spc(case: Case) -> Finding:
    """Sum of the weights of the Western Electric rules that hold, over latency, size and numeric fields, at most 1.

    A rule that holds in two of these series counts twice. The newest point of each is this call, mean and standard
    deviation are those of the calls before it. It applies from 8 learned calls on, and to each series from 8 values
    on; a series without spread has no chart.
    """
    memory: Baseline = case.memory
    if memory.calls < MIN_CALLS:
        return Finding(None, f"{memory.calls} of {MIN_CALLS} calls")
    total, details, traits = 0.0, [], []
    for name, trait, stats, newest in _series(case, memory):
        rules = western_electric((*stats.recent(7), newest), stats.mean, stats.spread)
        if rules:
            total += sum(rule.weight for rule in rules)
            details.append(f"{name}: rule {' and '.join(str(rule.number) for rule in rules)}")
            traits.append(trait)
    return Finding(min(1.0, total), "; ".join(details) or f"in control over {memory.calls} calls", tuple(traits))


def _series(case: Case, memory: Baseline) -> Iterator[tuple[str, Trait, RunningStats, float]]:
    elapsed = finite(case.call.milliseconds)
    if elapsed is not None and memory.latency.n >= MIN_CALLS:
        yield "latency", Trait("drift", "latency"), memory.latency, elapsed
    if memory.size.n >= MIN_CALLS:
        yield "size", Trait("drift", "size"), memory.size, float(case.document.size)
    yield from _known_fields(case, memory)


def _known_fields(case: Case, memory: Baseline) -> Iterator[tuple[str, Trait, RunningStats, float]]:
    for path, number in numeric_fields(case.document).items():
        stats = memory.fields.get(path)
        if stats is not None and stats.n >= MIN_CALLS:
            yield f"field {path or 'result'!r}", Trait("number", path), stats, number


def value(case: Case) -> Finding:
    """min(1, 0.3 · fields beyond mean ± 3 sigma), over the fields with at least 8 earlier values.

    A field that never varied has no sigma, and a first other value in it is not judged here.
    """
    memory: Baseline = case.memory
    if memory.calls < MIN_CALLS:
        return Finding(None, f"{memory.calls} of {MIN_CALLS} calls")
    known = list(_known_fields(case, memory))
    if not known:
        return Finding(None, f"no numeric field with {MIN_CALLS} earlier values")
    outside, traits = [], []
    for name, trait, stats, number in known:
        z = stats.z(number)
        if z is not None and abs(z) > SIGMAS:
            outside.append(f"{name} is {abs(z):.1f} sigma {'above' if z > 0 else 'below'} its mean")
            traits.append(trait)
    if not outside:
        return Finding(0.0, f"{len(known)} fields within {SIGMAS:g} sigma")
    return Finding(min(1.0, FIELD_WEIGHT * len(outside)), "; ".join(outside), tuple(traits))


SESSION_SWING = 50.0  # the document's factors
HISTORY_SWING = 10.0
MIN_HISTORY = 3  # calls with the same arguments


def session(case: Case, *, limit: float = SESSION_SWING) -> Finding:
    """Mean severity of the fields that swung ``limit`` times or more against one of the session's last 10 results.

    A field is held against every one of these results that has it, and its largest swing counts. See ``swing`` for
    zeros and signs, ``severity`` for the scale.
    """
    if case.call.session_id is None:
        return Finding(None, "no session given")
    memory: Baseline = case.memory
    earlier = memory.session(case.call.session_id)
    if not earlier:
        return Finding(None, "first result of this tool in the session")
    factors: dict[str, float] = {}
    for path, number in numeric_fields(case.document).items():
        swings = [swing(result[path], number) for result in earlier if path in result]
        comparable = [factor for factor in swings if factor is not None]
        if comparable:
            factors[path] = max(comparable)
    return _swings(factors, limit, f"of {len(earlier)} earlier results in the session")


def historical(case: Case, *, limit: float = HISTORY_SWING) -> Finding:
    """Mean severity of the fields that are ``limit`` times or more away from their mean for the same arguments.

    A field is compared from 3 earlier values on, and where its mean says what size to expect: not where the mean is
    zero or smaller than the standard deviation. A tool that is declared stateful may rightly answer anew.
    """
    if case.call.args is None:
        return Finding(None, "no arguments given")
    if case.contract.profile.stateful:
        return Finding(None, "declared stateful: the same arguments may give other results")
    memory: Baseline = case.memory
    past = memory.history(case.arguments.key) or History()
    if past.calls < MIN_HISTORY:
        return Finding(None, f"{past.calls} of {MIN_HISTORY} calls with these arguments")
    factors: dict[str, float] = {}
    for path, number in numeric_fields(case.document).items():
        stats = past.fields.get(path)
        if stats is None or stats.n < MIN_HISTORY or stats.std > abs(stats.mean):
            continue
        factor = swing(stats.mean, number)
        if factor is not None:
            factors[path] = factor
    return _swings(factors, limit, f"of its mean over {past.calls} calls with these arguments")


def _swings(factors: dict[str, float], limit: float, against: str) -> Finding:
    """The finding of some factors; the detail gives factors and not values, for it may end up in a log."""
    if not factors:
        return Finding(None, "no number to compare")
    swung = {path: factor for path, factor in factors.items() if factor >= limit}
    if not swung:
        return Finding(0.0, f"within {limit:g} times {against}")
    score = sum(map(severity, swung.values())) / len(swung)
    details = [f"Field {path or 'result'!r}: off by a factor of {factor:.3g}" for path, factor in swung.items()]
    traits = tuple([Trait("number", path) for path in swung])
    return Finding(score, f"{'; '.join(details)}, {limit:g} is the limit {against}", traits)


# --- The verdict, and the thresholds that labels adapt ---

STEEPNESS: Final = 1.0  # nats of the threshold's log-odds for a rate that is 1 above the prior; ours


def adapted(settings: Settings, labels: LabelCounts) -> Settings:
    """The thresholds in force for a tool with these labels, by the three steps of the document.

    1. The rate of hallucinations is an exponential moving average of the labels (``LabelCounts.rate``).
    2. ``block_at`` falls as the rate rises: its log-odds are those configured minus ``rate - prior``. So it is lower
       (stricter) after a confirmed hallucination, and higher after a confirmed genuine result.
    3. The tool's prior is the rate.

    The average's weight, how far the threshold moves and the bounds are ours: the threshold never falls to
    ``accept_below`` or to the configured prior, and the prior stays between 0.05 and 0.9 of the lowest that the
    threshold can be (or at the configured value where that lies outside). Both bounds are constants, so every label
    steps in its own direction, no number of them blocks a call with nothing against it, and none switches the guard
    off.

    >>> labels = LabelCounts()
    >>> before = adapted(Settings(), labels)
    >>> _ = labels.add(was_hallucination=True)
    >>> after = adapted(Settings(), labels)
    >>> [(round(each.prior, 4), round(each.block_at, 4)) for each in (before, after)]
    [(0.15, 0.5), (0.1707, 0.4948)]
    """
    if not labels.seen:
        return settings
    prior, block_at = settings.prior, settings.block_at
    rate = labels.rate(prior)
    least = max(settings.accept_below, prior / HIGHEST)
    lowest = max(_moved(block_at, 1.0 - prior), min(least, block_at))
    moved = max(_moved(block_at, rate - prior), lowest)
    most = max(HIGHEST * lowest, prior)
    return settings.changed(prior=min(max(rate, min(LOWEST, prior)), most), block_at=moved)


def _moved(threshold: float, by: float) -> float:
    """The threshold with its log-odds lowered; 1, at which hardly anything is blocked, stays 1."""
    if threshold >= 1.0:
        return 1.0
    moved = log_odds(threshold) - STEEPNESS * by
    return 1.0 / (1.0 + math.exp(-moved)) if moved > -700.0 else threshold


SILENCE = 0.1  # a silent signal weighs a tenth of a firing one ...
LEAST_SILENCE = 1.01  # ... and speaks for the result by at least this factor


class Reference:
    """The published document to the letter: eight signals in two tiers, each with a fixed likelihood ratio.

    A signal that fires adds ``log(1 + (ratio - 1) * score)`` to the log-odds, a silent one takes
    ``log(max(ratio * 0.1, 1.01))`` from them, and one that does not apply changes nothing. Blocked results are not
    learned, unless the caller vouched for them.

    Args:
        session_swing: the factor, above 1, from which on a number contradicts its session.
        history_swing: the factor, above 1, from which on a number contradicts its history.

    Raises:
        ConfigurationError: for a factor that is not a number above 1.

    >>> [check.name for _, checks in Reference().tiers for check in checks][:3]
    ['schema_mismatch', 'latency_anomaly', 'pattern_mismatch']
    """

    def __init__(self, *, session_swing: float = SESSION_SWING, history_swing: float = HISTORY_SWING) -> None:
        for name, factor in (("session_swing", session_swing), ("history_swing", history_swing)):
            if not factor > 1.0:
                raise ConfigurationError(f"{name} must be a factor above 1, not {factor!r}")
        early, late = VerificationTier.TIER_0, VerificationTier.TIER_1
        before: tuple[Check, ...] = (
            DocumentedCheck("schema_mismatch", early, 12.0, schema),
            DocumentedCheck("latency_anomaly", early, 3.5, latency),
            DocumentedCheck("pattern_mismatch", early, 6.0, pattern),
            DocumentedCheck("length_anomaly", early, 2.0, length),
        )
        after: tuple[Check, ...] = (
            DocumentedCheck("spc_anomaly", late, 3.0, spc),
            DocumentedCheck("session_inconsistency", late, 4.0, partial(session, limit=session_swing)),
            DocumentedCheck("historical_inconsistency", late, 4.5, partial(historical, limit=history_swing)),
            DocumentedCheck("value_plausibility", late, 3.0, value),
        )
        self.tiers: Sequence[tuple[VerificationTier, Sequence[Check]]] = ((early, before), (late, after))

    shared = None
    holds = False
    held_to = "a latency of 2 ms to 60 s"
    ends_early = True

    def new_memory(self, tool: str, /) -> Baseline:
        """The memory of a tool that was never called."""
        return Baseline()

    def decide(self, case: Case, prior: float, signals: Mapping[str, SignalResult], /) -> Decision:
        """Bayes' theorem in log-odds over the signals so far; those of later tiers may be missing."""
        contributions = {name: _nats(signal) for name, signal in signals.items()}
        evidence = math.fsum(contributions.values())
        posterior = _probability(log_odds(prior) + evidence) if evidence else prior
        verdict: Verdict = "flag"
        if posterior >= case.settings.block_at:
            verdict = "block"
        elif posterior < case.settings.accept_below:
            verdict = "accept"
        return Decision(verdict, posterior, contributions, None)

    def adopt(self, memory: Baseline, traits: Iterable[Trait]) -> None:
        """Do nothing: what was held back is learned, and the document's running baselines follow."""

    def prepare(self, case: Case) -> None:
        """The document's checks look up for themselves what they need."""

    def outcomes(self, case: Case) -> Iterable[tuple[Relation, bool]]:
        """The document knows no relations."""
        return ()

    def meet(self) -> None:
        """The document's tools have nothing in common."""

    def note(self, case: Case) -> None:
        """The document's baselines are of what is learned alone."""

    def learn(
        self, case: Case, signals: Mapping[str, SignalResult], decision: Decision, *, trusted: bool = False
    ) -> None:
        """Take the result into the tool's baseline, unless it was blocked and nobody vouched for it."""
        if trusted or decision.verdict != "block":
            case.memory.push(case.call, case.document, case.arguments.key)


def _nats(signal: SignalResult) -> float:
    """The nats that a signal adds to the log-odds."""
    if not signal.applicable:
        return 0.0
    ratio = signal.likelihood_ratio
    if signal.fired:
        # 1 + (ratio - 1) * score, written so that no ratio above 0 is lost beside the 1.
        return math.log((1.0 - signal.score) + ratio * signal.score)
    return -math.log(max(ratio * SILENCE, LEAST_SILENCE))


def _probability(nats: float) -> float:
    """The logistic function, without overflow on either side."""
    if nats >= 0.0:
        return 1.0 / (1.0 + math.exp(-nats))
    odds = math.exp(nats)
    return odds / (1.0 + odds)
