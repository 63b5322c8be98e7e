"""The evidence of an injection in one text or in the turns of a conversation.

The evidence of a text is the sum of its triggers' weights, each trigger counted once, and of its strongest request;
both are looked for behind disguised letters, codes and hidden places too.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, islice
from typing import Any, NamedTuple

from agentguard.content._findings import Finding
from agentguard.content._patterns import Catalogue, Occurrences, Pattern, compiled, located
from agentguard.content._text import encodable, message_text
from agentguard.content.injection._concealed import (
    CODE_PATTERNS,
    DISGUISED,
    HIDDEN_PATTERNS,
    MISSPELT,
    Decoded,
    HiddenPlace,
    decode,
    fold,
    hidden_places,
    respelt,
)
from agentguard.content.injection._features import CATEGORY, MEDIUM, SIGNS, TRIGGERS, WEAK, Sign, Trigger
from agentguard.content.injection._passages import BIAS as PASSAGE_BIAS
from agentguard.content.injection._passages import OPENINGS, Passage, PassageSign, passages
from agentguard.content.injection._passages import SIGNS as PASSAGE_SIGNS
from agentguard.content.injection._requests import BIAS, PROBES, Request, requests, wrapped
from agentguard.errors import ConfigurationError

NO_REQUEST = -3.5  # nats: the evidence of a text without a request, which its triggers have to outweigh
MOST_PLACES = 20  # of one trigger, that become findings
AROUND = 40  # characters before and after a trigger that may cast doubt on it
MOST_QUOTED = 200  # characters of decoded text in a finding
# A manual asks for many things, alike and in many places; an injection stands out from its text. Judgements.
ALIKE = 3.0  # nats by which requests that are alike may differ
APART = 400  # characters between requests that are not parts of one
OTHERS = 2  # requests like it elsewhere, among which one does not stand out
AMONG_OTHERS = 3.0  # nats that it loses by that
# Signs by which a request stands out all the same.
STANDING_OUT = frozenset(("my", "mail", "money", "your reply", "todo", "the assistant", "names a tool", "a new voice"))
ENOUGH_EARLIER = 5  # earlier results from which the tool's voice is known
MOST_EARLIER = 50
# Codes that texts are ordinarily carried in; a request in one of the others is hidden.
TRANSPORT = frozenset({"url", "html", "escapes"})
TRUSTED = frozenset({"system", "developer", "assistant", "ai"})
ASKING = frozenset({"user", "human"})


def _bounded(regex: str) -> str:
    """Let a pattern that begins at a word begin behind an escaped line break of JSON too: its n is no letter of it."""
    return regex.replace(r"(?i)\b", r"(?i)(?:\b|\\[nrt])", 1) if regex.startswith(r"(?i)\b") else regex


_DISGUISED = Pattern("injection/disguised", DISGUISED)
_MISSPELT = Pattern("injection/misspelt", MISSPELT)
GROUPS = (
    tuple(Pattern(name, _bounded(wrapped(trigger.pattern))) for name, trigger in TRIGGERS.items()),
    (_MISSPELT,),
    (*PROBES, _DISGUISED, *CODE_PATTERNS, *HIDDEN_PATTERNS),
    OPENINGS,
)
CATALOGUE = Catalogue(*GROUPS)
_TRIGGER_NAMES = frozenset(TRIGGERS)
_REQUEST_NAMES, _PASSAGE_NAMES, _CODE_NAMES, _HIDDEN_NAMES, _NAMES = (
    frozenset(pattern.name for group in groups for pattern in group)
    for groups in ([PROBES], [OPENINGS], [CODE_PATTERNS], [HIDDEN_PATTERNS], GROUPS)
)
_SAYING = _TRIGGER_NAMES | _REQUEST_NAMES | _PASSAGE_NAMES
_Where = Callable[[int, int], tuple[int, int]]
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
# Words in the names of tools that say nothing of what a tool does.
_GENERAL = frozenset("get set to the user by of in for a an api tool new my".split())


class Context:
    """What is known of a text beside its words.

    Args:
        tools: names of the tools that the agent has.
        expected: earlier, genuine results of the same tool.
        data: the text is known to be a tool's result, not what a user asks.
    """

    def __init__(self, tools: Iterable[str] = (), expected: Iterable[str] = (), *, data: bool = False) -> None:
        self.data = data
        self._tools = [(name.lower(), words) for name in tools if (words := _stems(_WORD.findall(name)) - _GENERAL)]
        self._expected = list(expected)[-MOST_EARLIER:]
        self._said: frozenset[str] | None = None

    @property
    def _said_before(self) -> frozenset[str]:
        if self._said is None:
            self._said = frozenset(request.words for text in self._expected for request in requests(encodable(text)))
        return self._said

    def signs(self, request: Request) -> set[str] | None:
        """The signs that the context gives a request; None for one that the tool's results are known to make."""
        signs = set()
        if self._expected:
            if request.words in self._said_before:
                return None
            if len(self._expected) >= ENOUGH_EARLIER and not self._said_before:
                signs.add("a new voice")
        if self._tools:
            words, lower = _stems(_WORD.findall(request.words)), request.words.lower()
            if any(len(tool & words) > 1 or (len(name) > 5 and name in lower) for name, tool in self._tools):
                signs.add("names a tool")
        return signs


class Evidence(NamedTuple):
    """The evidence in a text.

    Attributes:
        triggers: nats by the name of a trigger, and for ``"encoding"``, ``"hidden"`` and ``"split"``.
        request: log-odds of its strongest request; ``NO_REQUEST`` where it has none.
        passage: log-odds of the strongest passage that orders an AI about; ``NO_REQUEST`` where there is none.
        findings: of triggers, of requests and passages with even odds, and of the strongest request where the triggers
            give it these.
    """

    triggers: dict[str, float]
    request: float
    passage: float
    findings: list[Finding]

    @property
    def log_odds(self) -> float:
        """The evidence of the whole text, in nats: of its phrases and requests, or of a passage.

        Passages are made of the words of phrases and requests, so that the two are not added up.
        """
        return max(sum(self.triggers.values()) + self.request, self.passage)


class _Weighed(NamedTuple):
    """A request or a passage, weighed by itself.

    Attributes:
        log_odds: in nats.
        what: what it is, in a finding.
        shown: its signs.
        span: where it stands in the text as given.
        how: what was taken off it, where something was.
        words: what it says, on one line.
        stands_out: it stands out from others of the same weight.
        apart: how many characters away others must stand to be others.
    """

    log_odds: float
    what: str
    shown: Sequence[Sign | PassageSign]
    span: tuple[int, int]
    how: str | None
    words: str
    stands_out: bool
    apart: int

    @property
    def finding(self) -> Finding:
        """What is reported of it."""
        telling = sorted((sign for sign in self.shown if sign.weight > 0.0), key=lambda sign: (-sign.weight, sign.name))
        detail = f"{self.what}: {', '.join(sign.meaning for sign in telling[:4]) or 'an order'}"
        if self.how:
            return Finding(CATEGORY["indirect"], f"{detail}; {self.how}", *self.span, self.words[:MOST_QUOTED])
        return Finding(CATEGORY["indirect"], detail, *self.span)


def _same(start: int, end: int) -> tuple[int, int]:
    return start, end


def probability(log_odds: float) -> float:
    """The logistic function.

    >>> round(probability(2.0), 3)
    0.881
    """
    return 1.0 / (1.0 + math.exp(-max(-700.0, min(700.0, log_odds))))


def read(found: Occurrences, context: Context, every: int = 0) -> Evidence:
    """Gather the evidence in a text.

    Args:
        found: what a catalogue that holds ``GROUPS`` found in it.
        context: what is known of the text beside.
        every: all places become findings, up to so many of a thing and one more; 0: as many as tell what is there.
    """
    if found.names.isdisjoint(_NAMES):
        return Evidence({}, NO_REQUEST, NO_REQUEST, [])
    reading = _Reading(context, every)
    # As it stands, then what lies in code, then what shows with the disguises off, and in code behind them.
    reading.take(found, _same, None)
    if _CODE_NAMES & found.names:
        for run in decode(found):
            reading.take_decoded(run, _same)
    reading.take_misspelt(found, _same)
    if _DISGUISED.name in found:
        folded = fold(found.text)
        if folded.text != found.text:
            plain = CATALOGUE.look(folded.text)
            reading.take(plain, folded.span, "in disguised letters", original=found.text)
            for run in decode(plain):
                reading.take_decoded(run, folded.span)
            reading.take_misspelt(plain, folded.span)
    return reading.evidence()


class _Reading:
    """Evidence as it comes together, each piece once."""

    def __init__(self, context: Context, every: int = 0) -> None:
        self.context = context
        self.every = every > 0
        self.most = every + 1 if every else MOST_PLACES
        self.triggers: dict[str, float] = {}
        self.findings: dict[tuple[str, str, int, int], Finding] = {}
        self.requests: dict[tuple[int, int], _Weighed] = {}
        self.passages: dict[tuple[int, int], _Weighed] = {}

    def take(self, found: Occurrences, where: _Where, how: str | None, original: str | None = None) -> None:
        """Look at a text, as given or with disguises off.

        Args:
            found: what occurs in it.
            where: from its offsets to those of the text as given.
            how: what was taken off, where something was.
            original: the text as given, where it is another; what it says as well is no news.
        """
        if found.names.isdisjoint(_SAYING):
            return
        places = sorted(hidden_places(found), key=lambda place: place.start) if found.names & _HIDDEN_NAMES else []
        # What is said openly needs no disguise: folding changes the accents of honest words too.
        openly = self.triggers.keys() if original is not None and not self.every else set()
        for name in sorted(found.names & _TRIGGER_NAMES - openly):
            for number, (start, end) in enumerate(found.spans(name)):
                weight = _weight(TRIGGERS[name], found.text, start, end)
                if number >= self.most:
                    # Behind many places that are in doubt may stand one that is not.
                    if self.triggers.get(name) == TRIGGERS[name].weight:
                        break
                    if weight < TRIGGERS[name].weight:
                        continue
                span = where(start, end)
                if original is None or not self.every or original[slice(*span)] != found.text[start:end]:
                    self._trigger(name, span, how, found.text[start:end], _hidden(places, start), weight)
        if found.names & _REQUEST_NAMES:
            for request in requests(encodable(found.text)):
                span = where(request.start, request.end)
                if original is None or original[slice(*span)] != found.text[request.start : request.end]:
                    self._request(request, span, how, _hidden(places, request.start))
        if found.names & _PASSAGE_NAMES:
            for passage in passages(found):
                span = where(passage.start, passage.end)
                if original is None or original[slice(*span)] != found.text[passage.start : passage.end]:
                    self._passage(passage, span, how, _hidden(places, passage.opening))

    def take_decoded(self, run: Decoded, where: _Where) -> None:
        """Look at the words of a run in code."""
        found = CATALOGUE.look(run.text)
        span = where(run.start, run.end)
        how = f"in {' within '.join(reversed(run.how))}"
        for name in sorted(found.names & _TRIGGER_NAMES):
            for start, end in islice(found.spans(name), 1):
                self._trigger(name, span, how, run.text[start:end], None, TRIGGERS[name].weight)
        if found.names & _REQUEST_NAMES and not TRANSPORT.issuperset(run.how):
            for request in islice(requests(encodable(run.text)), MOST_PLACES):
                self._request(request, span, how, "code")
        if found.names & _PASSAGE_NAMES and not TRANSPORT.issuperset(run.how):
            for passage in islice(passages(found), MOST_PLACES):
                self._passage(passage, span, how, "code")

    def take_misspelt(self, found: Occurrences, where: _Where) -> None:
        """Look for triggers in the text with its spelling put right; a misspelling is no evidence of its own."""
        if _MISSPELT.name not in found:
            return
        mended = respelt(found.text)
        if mended.text == found.text:
            return
        plain = CATALOGUE.look(mended.text)
        for name in sorted((plain.names & _TRIGGER_NAMES) - (set() if self.every else self.triggers.keys())):
            trigger = TRIGGERS[name]
            for start, end in islice(plain.spans(name), self.most):
                first, last = mended.span(start, end)
                if found.text[first:last] != plain.text[start:end]:
                    self._weighs(name, _weight(trigger, plain.text, start, end))
                    self._add(Finding(trigger.category, f"{trigger.meaning}, misspelt", *where(first, last)))

    def _weighs(self, name: str, weight: float) -> None:
        self.triggers[name] = max(weight, self.triggers.get(name, 0.0))

    def _trigger(
        self, name: str, span: tuple[int, int], how: str | None, words: str, hidden: str | None, weight: float
    ) -> None:
        trigger = TRIGGERS[name]
        self._weighs(name, weight)
        decoded = None
        detail = trigger.meaning
        if how:
            self.triggers["encoding"] = MEDIUM
            decoded = words[:MOST_QUOTED]
            self._add(Finding(CATEGORY["encoding"], f"{trigger.meaning}, {how}", *span, decoded))
        if hidden:
            self.triggers["hidden"] = WEAK
            self._add(Finding(CATEGORY["indirect"], f"{trigger.meaning}, in {hidden}", *span, decoded))
            detail = f"{detail}, in {hidden}"
        self._add(Finding(trigger.category, f"{detail}, {how}" if how else detail, *span, decoded))

    def _add(self, finding: Finding) -> None:
        self.findings.setdefault((finding.kind, finding.detail, finding.start, finding.end), finding)

    def _request(self, request: Request, span: tuple[int, int], how: str | None, hidden: str | None) -> None:
        context = self.context.signs(request)
        if context is None:
            return
        signs = request.signs | context
        if hidden:
            # Attributes are whole fields, and comments hold the tasks of those who write.
            signs = signs - {"whole field", "todo"} | {"hidden"}
        if hidden or self.context.data:
            signs -= {"in one paragraph"}
        shown = [SIGNS[sign] for sign in signs if sign in SIGNS]
        log_odds = round(BIAS + sum([sign.weight for sign in shown]), 6)  # exactly 0 where it comes to that
        frequent = "frequent" in signs
        stands_out = how is not None or not (frequent or signs.isdisjoint(STANDING_OUT))
        what, apart = "a request to the assistant", 0 if frequent else APART
        _keep(self.requests, _Weighed(log_odds, what, shown, span, how, request.words, stands_out, apart))

    def _passage(self, passage: Passage, span: tuple[int, int], how: str | None, hidden: str | None) -> None:
        shown = [PASSAGE_SIGNS[sign] for sign in passage.signs | ({"hidden"} if hidden else set())]
        log_odds = round(PASSAGE_BIAS + sum([sign.weight for sign in shown]), 6)
        _keep(self.passages, _Weighed(log_odds, "orders to an assistant", shown, span, how, passage.words, True, APART))

    def evidence(self) -> Evidence:
        """All of it, with the findings in the order of the text."""
        weighed = _among_others(list(self.requests.values()))
        strongest = max([NO_REQUEST, *(log_odds for log_odds, _ in weighed)])
        passage = max([NO_REQUEST, *(each.log_odds for each in self.passages.values())])
        weight = sum(self.triggers.values())
        surest = sorted(weighed, key=lambda found: -found[0])[: self.most]
        telling = [
            each.finding for rank, (log_odds, each) in enumerate(surest) if log_odds + (0.0 if rank else weight) >= 0.0
        ]
        orders = sorted(self.passages.values(), key=lambda found: -found.log_odds)[: self.most]
        telling += [each.finding for each in orders if each.log_odds >= 0.0]
        findings = sorted(
            [*self.findings.values(), *telling], key=lambda finding: (finding.start, finding.end, finding.kind)
        )
        return Evidence(self.triggers, strongest, passage, findings)


def _keep(those: dict[tuple[int, int], _Weighed], one: _Weighed) -> None:
    """Keep the surest of each place."""
    if one.span not in those or those[one.span].log_odds < one.log_odds:
        those[one.span] = one


def _weight(trigger: Trigger, text: str, start: int, end: int) -> float:
    """The weight of a trigger at a place: that of a weak one where words that reach into it cast doubt on it."""
    if not trigger.doubt:
        return trigger.weight
    first = max(0, start - AROUND)
    doubts = located(compiled(trigger.doubt), encodable(text[first : end + AROUND]))
    doubtful = any(first + doubt < end and first + doubt_end > start for [(doubt, doubt_end)] in doubts)
    return min(WEAK, trigger.weight) if doubtful else trigger.weight


def _among_others(requests: Sequence[_Weighed]) -> list[tuple[float, _Weighed]]:
    """Take ``AMONG_OTHERS`` from the requests that do not stand out, in time of sorting them."""
    # Told from its repetitions by its letters and digits.
    alike = {"".join(filter(str.isalnum, each.words)): each for each in requests if not each.stands_out}
    ordered = sorted(alike.values(), key=lambda each: -each.log_odds)
    # Where the outermost of the first so many begin.
    before: list[int] = []
    after: list[int] = []
    outermost: list[tuple[list[int], list[int]]] = []
    for each in ordered:
        before, after = sorted((*before, each.span[0]))[:OTHERS], sorted((*after, each.span[0]))[-OTHERS:]
        outermost.append((before, after))
    weighed = []
    for each in requests:
        log_odds, start = each.log_odds, each.span[0]
        count = bisect_right(ordered, ALIKE - log_odds, key=lambda other: -other.log_odds)
        if not each.stands_out and count:
            before, after = outermost[count - 1]
            others = {other for other in (*before, *after) if abs(other - start) > each.apart}
            log_odds -= AMONG_OTHERS if len(others) >= OTHERS else 0.0
        weighed.append((log_odds, each))
    return weighed


def _hidden(places: Sequence[HiddenPlace], start: int) -> str | None:
    """The hidden place that an offset lies in, of places in their order."""
    number = bisect_right(places, start, key=lambda place: place.start) - 1
    return places[number].what if number >= 0 and start < places[number].end else None


def _stems(words: Iterable[str]) -> set[str]:
    """Words as they are compared: lower case, without a plural's s."""
    return {lower[:-1] if len(lower) > 3 and lower.endswith("s") else lower for lower in map(str.lower, words)}


# --- Conversations: evidence that adds up, and a payload that is split among messages ---


class _Turn(NamedTuple):
    number: int  # of the message, from 1
    role: str | None
    text: str
    start: int  # where it begins in the contents joined by line breaks


def read_turns(messages: Sequence[str | Mapping[str, Any]], tools: Iterable[str], expected: Iterable[str]) -> Evidence:
    """Gather the evidence in a conversation; offsets are those in the messages' contents joined by line breaks.

    Raises:
        ConfigurationError: a message that is neither text nor a mapping.
    """
    turns = _turns(messages)
    of_data, unknown = Context(tools, expected, data=True), Context(tools, expected)
    triggers: dict[str, float] = {}
    request = passage = NO_REQUEST
    findings: list[Finding] = []
    adding: list[int] = []  # messages that bring evidence which none before them had
    surest = NO_REQUEST
    for turn in turns:
        asks = turn.role in ASKING
        evidence = read(CATALOGUE.look(turn.text), unknown if turn.role is None or asks else of_data)
        if asks:
            evidence = evidence._replace(request=NO_REQUEST, passage=NO_REQUEST)
        if evidence.triggers.keys() - triggers.keys():
            adding.append(turn.number)
        triggers |= evidence.triggers
        request, passage = max(request, evidence.request), max(passage, evidence.passage)
        surest = max(surest, evidence.log_odds)
        findings += _moved(evidence.findings, turn.start) if evidence.triggers or not asks else []
    together = Evidence(triggers, request, passage, findings)
    if surest < 0.0 <= together.log_odds and len(adding) > 1:
        first, last = (next(turn for turn in turns if turn.number == number) for number in (adding[0], adding[-1]))
        detail = f"evidence that adds up over the messages {', '.join(map(str, adding))}"
        findings.append(Finding(CATEGORY["turns"], detail, first.start, last.start + len(last.text)))
    for separator in (" ", ""):
        _split(turns, separator, together)
    return together


def _split(turns: Sequence[_Turn], separator: str, together: Evidence) -> None:
    """Add to the evidence the triggers that are split among messages: found in them joined, and in none alone."""
    texts = [turn.text.strip() for turn in turns]
    starts = list(accumulate((len(text) + len(separator) for text in texts), initial=0))
    evidence = read(CATALOGUE.look(separator.join(texts)), Context())

    def origin(offset: int) -> tuple[_Turn, int]:
        number = min(bisect_right(starts, offset), len(turns)) - 1
        turn = turns[number]
        indent = len(turn.text) - len(turn.text.lstrip())
        return turn, turn.start + min(len(turn.text), indent + offset - starts[number])

    new = {name: weight for name, weight in evidence.triggers.items() if name not in together.triggers}
    for finding in evidence.findings:
        (first, start), (last, end) = origin(finding.start), origin(max(finding.start, finding.end - 1))
        if new and first.number != last.number:
            detail = f"{finding.detail}, split over the messages {first.number} to {last.number}"
            together.findings.append(Finding(finding.kind, detail, start, end + 1, finding.decoded))
            together.findings.append(Finding(CATEGORY["turns"], detail, start, end + 1, finding.decoded))
            together.triggers.update(new)
            together.triggers["split"] = MEDIUM


def _moved(findings: Iterable[Finding], by: int) -> list[Finding]:
    return [finding._replace(start=finding.start + by, end=finding.end + by) for finding in findings]


def _turns(messages: Sequence[str | Mapping[str, Any]]) -> list[_Turn]:
    """The messages that are not trusted."""
    turns = []
    start = 0
    for number, message in enumerate(messages, 1):
        if isinstance(message, str):
            role, text = None, message
        elif isinstance(message, Mapping):
            role, text = str(message.get("role", "")).lower() or None, message_text(message.get("content"))
        else:
            raise ConfigurationError(
                f"injection: message {number} is a {type(message).__name__}: give texts, or mappings with role and "
                "content"
            )
        if role not in TRUSTED:
            turns.append(_Turn(number, role, text, start))
        start += len(text) + 1
    return turns
