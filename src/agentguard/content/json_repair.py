"""JSON repaired: the value that a broken text most likely meant, with its types, and every edit that this took."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple, NoReturn

from agentguard.content._findings import Finding
from agentguard.content._rewritten import Rewritten, rewrite

ESCAPE_LINE_BREAK, ESCAPE_QUOTE = "escape a control character", "escape a quote"
# One alternative always matches from where the last ended, and each reads its characters once: linear on any text.
TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|\#[^\n]*|/\*(?:(?!\*/).)*(?:\*/|\Z))
    |(?P<fence>```\w*)
    |(?P<string>"(?:[^"\\]|\\.)*(?:(?P<ended>")|\\?\Z))
    |(?P<single>'(?:[^'\\]|\\.)*(?:(?P<closed>')|\\?\Z))
    |(?P<open>[{[])|(?P<close>[}\]])|(?P<comma>,)|(?P<colon>:)
    |(?P<word>[^\s{}\[\],:"](?:(?!//|/\*)[^\s{}\[\],:"])*)""",
    re.VERBOSE | re.DOTALL,
)
LITERAL = re.compile(r"(?:true|false|null|-?(?:0|[1-9]\d{0,400})(?:\.\d{1,400})?(?:[eE][+-]?\d{1,9})?)\Z")
SCALAR = re.compile(r"(?i:true|false|null|none)\Z|-?\d")
NAMES = {"true": "true", "false": "false", "null": "null", "none": "null"}
CUT_NUMBER = re.compile(r"-?\d+(?:\.|(?:\.\d+)?[eE][+-]?)\Z")
CONTROL = re.compile(r"[\x00-\x1f]+")
PLAIN_END = re.compile(r'"[^{}\[\],:"\\\n]+\Z')
ESCAPED_OR_QUOTE = re.compile(r'\\.|"', re.DOTALL)
PAIR = {"{": "}", "[": "]"}
# A string that holds a Python literal, bare: it begins with brackets and a single quote, and ends where, brackets
# aside, the text ends or JSON goes on. Any string else ends at its next quote.
LITERAL_STRING = re.compile(r'"\s{0,32}[\[{(][\[{(\s]{0,32}\'')
STRING_PART = re.compile(r'(?:[^"\\]|\\.)*', re.DOTALL)
GOES_ON = re.compile(r'[}\]\s]*(?:\Z|,\s*(?:"|[\[{]\s*["\[{\d]))')


class Fault(NamedTuple):
    """A place at which a text is no JSON, and the edit that it needs.

    Attributes:
        start: where it begins.
        end: where it ends.
        new: the text for its place; None where that would be a guess.
        kind: the name of the edit; "" for one that is part of another.
        detail: why it is needed.
    """

    start: int
    end: int
    new: str | None
    kind: str = ""
    detail: str = ""


def json_faults(text: str) -> Iterator[Fault]:
    r"""List the faults of a text as JSON, a trailing comma after what follows it; text outside counts once a run.

    A lenient parser reads control characters in strings: they are listed with themselves as the new text.

    >>> [(fault.kind, fault.start, fault.new) for fault in json_faults("{a: 'it',}")]
    [('quote a key', 1, '"a"'), ('replace single quotes', 4, '"it"'), ('remove a trailing comma', 8, '')]
    """
    stack: list[str] = []
    # What may come: "begin", the first bracket; a "key"; a "colon"; a "value" of a key, or an "item" of an array;
    # a "comma", or a closing bracket; "end", nothing.
    state, trailing, outside, is_bare = "begin", -1, False, False
    for match in TOKEN.finditer(text):
        kind, (start, end) = str(match.lastgroup), match.span()
        if kind == "comment" or (kind == "fence" and stack):
            new = None if match.group()[0] == "#" else " "  # where a comment of that kind ends is often not plain
            yield Fault(start, end, new, "remove a comment", "JSON has no comments")
            continue
        if not stack and kind != "open":
            new = "" if state == "begin" or kind in ("word", "fence") else None  # else JSON may go on
            yield Fault(start, end, new, "" if outside else "remove text around", "this stands outside the JSON")
            outside = True
            continue
        outside = False
        next_part = "key" if stack and stack[-1] == "}" else "item"
        if kind == "close":
            if trailing >= 0:
                yield Fault(trailing, trailing + 1, "", "remove a trailing comma", "nothing follows this comma")
            if state in ("colon", "value"):
                yield Fault(start, end, None)
            if stack.pop() != match.group():
                yield Fault(start, end, None, "repair a bracket", "another bracket was open here")
            state = "comma" if stack else "end"
        elif kind == "comma":
            if state in ("key", "item"):
                yield Fault(start, end, "", "remove a comma", "nothing stands before this comma")
                continue
            if state != "comma":
                yield Fault(start, end, None)
            state, trailing = next_part, start
            continue
        elif kind == "colon":
            if state != "colon":
                yield Fault(start, end, None)
            state = "value"
        else:
            if state == "comma":
                # A bare word rather is within a string that has quotes.
                new = None if kind == "word" and not SCALAR.match(match.group()) else ", "
                yield Fault(start, start, new, "add a comma", "two values stand side by side")
                state = next_part
            elif state == "colon":
                new = None if is_bare else ": "  # behind a key without quotes it rather is one text
                yield Fault(start, start, new, "add a colon", "a key and its value stand side by side")
            elif state == "end" or (state == "key" and kind == "open"):
                yield Fault(start, end, None)
            if kind == "open":
                stack.append(PAIR[match.group()])
                state = "key" if match.group() == "{" else "item"
            else:
                yield from _faults_within(text, match, is_key=state == "key")
                state, is_bare = "colon" if state == "key" else "comma", kind == "word"
        trailing = -1
    if state in ("begin", "colon", "value"):
        yield Fault(len(text), len(text), None)
    if trailing >= 0:
        yield Fault(trailing, trailing + 1, "", "remove a trailing comma", "nothing follows this comma")
    if stack:
        closing = "".join(reversed(stack))
        yield Fault(len(text), len(text), closing, "close a bracket", f"{len(stack)} left open at the end")


def _faults_within(text: str, match: re.Match[str], *, is_key: bool) -> Iterator[Fault]:
    """List the faults of a string, a number or a name."""
    kind, (start, end), token = match.lastgroup, match.span(), match.group()
    if kind == "word":
        if is_key:
            yield Fault(start, end, json.dumps(token, ensure_ascii=False), "quote a key", "keys stand in quotes")
        else:
            yield from _faults_of_scalar(start, end, token, at_end=end == len(text))
        return
    if kind == "single":
        new = _double_quoted(token) if match.group("closed") else None
        yield Fault(start, end, new, "replace single quotes", "JSON's quotes are double")
    for control in CONTROL.finditer(text, start, end):
        yield Fault(*control.span(), control.group(), ESCAPE_LINE_BREAK, "a string holds these escaped")
    if kind == "string" and not match.group("ended"):
        new = '"' if PLAIN_END.match(token) else None
        yield Fault(end, end, new, "close a string", "its last quote is missing")


def _faults_of_scalar(start: int, end: int, word: str, *, at_end: bool) -> Iterator[Fault]:
    """List the faults of a bare word that stands for a value; one that ends with the text may have been cut."""
    lower = word.lower()
    whole = NAMES.get(lower)
    if LITERAL.match(word):
        if at_end and word not in NAMES:
            yield Fault(start, end, word, "complete a value", "the text ends in this number, which may go on")
    elif at_end and whole is None and (found := [name for name in NAMES if name.startswith(lower)]):
        yield Fault(start, end, NAMES[found[0]], "complete a value", "the text ends in this word")
    elif at_end and CUT_NUMBER.match(word):
        yield Fault(start, end, word + "0", "complete a value", "the text ends in this number, which may go on")
    else:
        new = whole or (word if SCALAR.match(word) else None)
        yield Fault(start, end, new, "repair a value", "neither a number, nor true, false or null")


def _double_quoted(token: str) -> str:
    r"""Write a string in single quotes as one in double quotes.

    >>> print(_double_quoted(r"'it\'s so'"))
    "it's so"
    """
    as_json = {"\\'": "'", '"': r"\""}
    return f'"{ESCAPED_OR_QUOTE.sub(lambda found: as_json.get(found.group(), found.group()), token[1:-1])}"'


def inner_quotes(text: str) -> list[int]:
    '''Find the bare double quotes within strings that hold a Python literal, as a tool prints an answer.

    >>> inner_quotes("""{"answer": "[{'name': "Ada's"}, 1]"}""")
    [22, 28]
    '''
    inner: list[int] = []
    position = 0
    while (start := text.find('"', position)) >= 0:
        literal = LITERAL_STRING.match(text, start) is not None
        position = start + 1
        while True:
            position = STRING_PART.match(text, position).end()  # type: ignore[union-attr]  # it matches nothing, too
            if position >= len(text):
                break
            position += 1
            if not literal or GOES_ON.match(text, position):
                break
            inner.append(position - 1)
    return inner


# --- A string that limits how often a parser looks into it ---


class Exhausted(Exception):  # no error: the end of what a parser may spend
    """A metered text was looked into more often than it allows."""


class MeteredText(str):
    """A string that allows so many characters to be read from it by index, slice or search.

    What begins at its beginning, and what is joined to that, is metered with it; any other part is a plain string.

    Raises:
        Exhausted: on the read that goes beyond.

    >>> text = MeteredText("abcdef", 10)
    >>> text[0], text[2:4], text[:3] + "x"
    ('a', 'cd', 'abcx')
    >>> text[0:6]
    Traceback (most recent call last):
    ...
    agentguard.content.json_repair.Exhausted
    """

    _left: list[int]

    def __new__(cls, text: str, allowed: int) -> MeteredText:
        metered = super().__new__(cls, text)
        metered._left = [allowed]
        return metered

    def __getitem__(self, where: Any) -> str:
        part = super().__getitem__(where)
        self._spend(len(part))
        return self._metered(part) if isinstance(where, slice) and not where.start else part

    def __add__(self, other: str) -> str:
        return self._metered(super().__add__(other))

    def find(self, *what: Any) -> int:
        """Find a part, as ``str.find`` does; a sixteenth of what is passed over counts as read."""
        found = super().find(*what)
        start = what[1] if len(what) > 1 else 0
        self._spend(((found if found >= 0 else len(self)) - start) // 16 + 1)
        return found

    def _metered(self, part: str) -> MeteredText:
        metered = MeteredText(part, 0)
        metered._left = self._left
        return metered

    def _spend(self, characters: int) -> None:
        self._left[0] -= characters
        if self._left[0] < 0:
            raise Exhausted


# --- What the library would lose: quotes that are not JSON's, numbers before a key without quotes ---

# A comment, or a string in JSON's quotes or in single ones, which are passed over; else one in typographic quotes or
# backticks, the group being what it says. An apostrophe within a word ends none.
QUOTED = re.compile(
    r"""//[^\n]*|/\*(?:(?!\*/).)*(?:\*/|\Z)|\"(?:[^"\\]|\\.)*(?:"|\\?\Z)|```
    |(?<!\w)'(?:[^'\\]|\\.)*(?:'|\\?\Z)
    |[\u201c\u201d\u201e\u00ab](?P<double>[^\u201c\u201d\u00bb]*)[\u201c\u201d\u00bb]
    |[\u2018\u2019\u201a](?P<single>(?:[^\u2018\u2019]|\u2019(?=\w))*)[\u2018\u2019]
    |`(?P<backtick>[^`]*)`""",
    re.VERBOSE | re.DOTALL,
)
OPEN = re.compile(r"[{\[]")
BARE_QUOTE = re.compile(r'(?<!\\)"')


def _json_quotes(text: str) -> list[tuple[int, int, str]]:
    """List the changes that turn typographic quotes and backticks into JSON's quotes."""
    changes = []
    first = OPEN.search(text)
    for match in QUOTED.finditer(text, first.start()) if first else ():
        if match.lastgroup:
            words = BARE_QUOTE.sub(r"\"", match[match.lastgroup])
            changes.append((*match.span(), f'"{words}"'))
    return changes


def _blanks(text: str) -> Iterator[tuple[int, int, str]]:
    """List blanks for after commas between a number and a letter: the library reads ``1,b`` as one text."""
    before = 0  # where the last number ended
    for match in TOKEN.finditer(text):
        if match.lastgroup == "comma" and match.start() == before and text[match.end() : match.end() + 1].isalpha():
            yield match.end(), match.end(), " "
        before = match.end() if match.lastgroup == "word" and SCALAR.match(match.group()) else 0


# --- What a repair has lost ---

SEARCHED = 20_000_000  # characters of the value in which strings are looked for as parts of others: some 10 ms
LONGEST_NUMBER = 4000  # characters of a number that is compared by its value; Python reads no longer integer
LOST = "lose a value"


def _lost(text: str, value: Any) -> Iterator[Finding]:
    """List the scalars of a broken text that its repaired value does not hold, not even as part of a string."""
    scalars: set[str | float] = set()  # true, false and null by name: for Python true is 1
    strings: list[str] = []
    keys: set[str] = set()
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending += item.values()
            keys.update(map(str, item))
        elif isinstance(item, list):
            pending += item
        elif isinstance(item, str):
            strings.append(item)
        else:
            scalars.add(item if type(item) in (int, float) else json.dumps(item))
    texts = set(strings)
    together = "\0".join((*keys, *strings))
    left = SEARCHED // (len(together) + 1) + 1
    # From the first bracket to the last closing one, or to the end where one is left open: where brackets do not match,
    # what is within them is a guess.
    is_open = text.count("{") + text.count("[") > text.count("}") + text.count("]")
    last = -1 if is_open else max(text.rfind("}"), text.rfind("]"))
    within = False
    for match in TOKEN.finditer(text):
        kind, token = match.lastgroup, match.group()
        within = within or kind == "open"
        if kind not in ("string", "single", "word") or not within or 0 <= last < match.start():
            continue
        words = token if kind == "word" else _plain(token)
        if kind == "word":
            scalar = _value_of(token, cut=match.end() == len(text))
            if scalar in scalars or not any(map(str.isalnum, token)):
                continue
        if words in keys:
            continue
        if words in texts:
            if kind == "word" and LITERAL.match(token):
                yield Finding("change a type", "this is a text in the result", *match.span())
            continue
        left -= 1
        if left < 0 or words.strip() not in together:
            yield Finding(LOST, "this is not in the result", *match.span())


def _plain(token: str) -> str:
    """Read a string token: its words without the quotes, its escapes undone."""
    quote = token[0]
    whole = token if len(token) > 1 and token[-1] == quote else token + quote
    try:
        return str(json.loads(_double_quoted(whole) if quote == "'" else whole, strict=False))
    except ValueError:
        return whole[1:-1]


def _value_of(word: str, *, cut: bool) -> str | float:
    """Read a bare word as a number, or as the name of true, false or null, which it may be the beginning of if cut."""
    word = word.rstrip(";")
    for name, named in NAMES.items():
        if word and (name.startswith(word.lower()) if cut else name == word.lower()):
            return named
    if cut and CUT_NUMBER.match(word):
        word += "0"
    try:
        return int(word) if len(word) < LONGEST_NUMBER else word
    except ValueError:
        pass
    try:
        return float(word) if len(word) < LONGEST_NUMBER else word
    except ValueError:
        return word


# --- Repair ---


EDITS = 100  # so many edits are listed
# Broken JSON as models write it takes the library 1 to 9 looks at a character; hostile texts take it thousands.
READS, READS_A_CHARACTER = 50_000, 16
STEPS = 6  # kinds of edits in the published list: comments, commas, keys, quotes, line breaks, brackets


class Repair(NamedTuple):
    """The outcome of a repair.

    Attributes:
        value: the value; None where there is none, and where it is JSON's null: ``valid`` tells them apart.
        text: valid JSON with that value: the text as given where it was valid, and where nothing could be made of it.
        edits: what had to be done, with its place in the text as given; empty where it was valid.
        valid: whether there is a value, so that ``text`` is JSON.
    """

    value: Any
    text: str
    edits: tuple[Finding, ...]
    valid: bool

    @property
    def label(self) -> str:
        """``"valid"`` as given, ``"repaired"``, or ``"failed"``."""
        return "failed" if not self.valid else "repaired" if self.edits else "valid"

    @property
    def score(self) -> float:
        """The damage: 0 where valid, 1 where nothing helped, else a sixth for each kind of edit, at most 1."""
        return min(1.0, len({edit.kind for edit in self.edits}) / STEPS) if self.valid else 1.0

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The edits."""
        return self.edits


def repair(text: str, *, max_characters: int = 200_000) -> Repair:
    """Read a text as JSON, and repair it where that fails.

    The published steps: comments and trailing commas are removed, keys without quotes are quoted, single quotes are
    replaced, raw line breaks escaped, brackets closed. Beyond them: text around, other quotes, missing commas and
    colons, Python's names of true, false and null, values that were cut. A string keeps its slashes, braces and quotes,
    a number stays a number. Where that is not enough the json-repair library guesses. The result is JSON, and its
    meaning is not verified.

    Args:
        text: the text, in which one JSON value stands.
        max_characters: longest text that the library is asked about; it gives up early on texts made to keep it busy.

    >>> repaired = repair("{name: 'Ada', 'tags': [1, 2,], // as of today")
    >>> repaired.value, repaired.label
    ({'name': 'Ada', 'tags': [1, 2]}, 'repaired')
    >>> [edit.kind for edit in repaired.edits][:3]
    ['quote a key', 'replace single quotes', 'replace single quotes']
    >>> repair('{"url": "https://x.org/{id}"}').edits
    ()
    """
    try:
        return Repair(json.loads(text, parse_constant=_no_constant), text, (), True)
    except (ValueError, RecursionError):
        pass
    repaired = _escaped(text)
    if repaired is None:
        prepared = _prepared(text)
        repaired = _completed(text, prepared)
        if repaired is None and len(text) <= max_characters:
            repaired = _guessed(text, prepared)
    if repaired is not None:
        return repaired
    reason = "no JSON found" if len(text) <= max_characters else f"longer than {max_characters} characters"
    return Repair(None, text, (Finding("failed", f"not repaired: {reason}", 0, len(text)),), False)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _escaped(text: str) -> Repair | None:
    """Escape control characters and inner quotes, where that is all the text needs."""
    quotes: list[int] = []
    for attempt in range(2):
        if attempt:
            quotes = inner_quotes(text)
            if not quotes:
                return None
        pieces = [text[start:end] for start, end in zip([0, *quotes], [*quotes, len(text)], strict=True)]
        try:
            value = json.loads("\\".join(pieces), strict=False, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            continue
        bare = (Finding(ESCAPE_QUOTE, "a quote within a string", index, index + 1) for index in quotes)
        faults = (Finding(fault.kind, fault.detail, fault.start, fault.end) for fault in json_faults(text))
        return _written(value, tuple(islice(bare if quotes else faults, EDITS)))
    return None


class _Prepared(NamedTuple):
    """A broken text, repaired as far as that is no guess.

    Attributes:
        text: the text with all edits, or, where one would be a guess, with JSON's quotes alone.
        quoted: the text with JSON's quotes alone.
        faults: what was broken, at its place in the text as given.
    """

    text: str
    quoted: Rewritten
    faults: list[Finding]

    def edits(self, value: Any) -> tuple[Finding, ...]:
        """List what the value has lost of the text, then the faults; the list is cut at ``EDITS``."""
        lost = [_as_given(finding, self.quoted) for finding in islice(_lost(self.quoted.text, value), EDITS)]
        return (*lost, *self.faults)[:EDITS]


def _as_given(finding: Finding, quoted: Rewritten) -> Finding:
    """Move a finding to its place in the text as given."""
    start, end = quoted.span(finding.start, finding.end)
    return finding._replace(start=start, end=end)


def _prepared(text: str) -> _Prepared:
    """Repair plain faults of a text."""
    quotes = _json_quotes(text)
    quoted = rewrite(text, quotes)
    faults = sorted(json_faults(quoted.text), key=lambda fault: fault.start)
    named = [Finding("replace quotes", "JSON's quotes are straight and double", start, end) for start, end, _ in quotes]
    listed = islice((fault for fault in faults if fault.kind), EDITS)
    named += (_as_given(Finding(fault.kind, fault.detail, fault.start, fault.end), quoted) for fault in listed)
    changes = [
        (fault.start, fault.end, fault.new)
        for fault in faults
        if fault.new is not None and fault.kind != ESCAPE_LINE_BREAK
    ]
    is_plain = all(fault.new is not None for fault in faults)
    repaired = rewrite(quoted.text, changes if is_plain else _blanks(quoted.text)).text
    return _Prepared(repaired, quoted, sorted(named, key=lambda finding: finding.start))


def _completed(text: str, prepared: _Prepared) -> Repair | None:
    """Take the text as it was prepared, where that is all it needs."""
    try:
        value = json.loads(prepared.text, strict=False, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    return _written(value, prepared.edits(value))


def _guessed(text: str, prepared: _Prepared) -> Repair | None:
    """Repair the text with the json-repair library; None where it finds no value in it."""
    from json_repair import repair_json

    try:
        metered = MeteredText(prepared.text, READS + READS_A_CHARACTER * len(prepared.text))
        value = repair_json(metered, return_objects=True, skip_json_loads=True)
    except Exception:  # Exhausted, or an error of the library's own, which has assertions that some texts break
        return None
    if value == "":
        return None
    return _written(value, prepared.edits(value) or (Finding("repair", "not JSON as it stands", 0, len(text)),))


def _written(value: Any, edits: tuple[Finding, ...]) -> Repair | None:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError):
        return None
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            text = json.dumps(value)
            value = json.loads(text)  # two halves of a surrogate pair side by side are one character in JSON
    return Repair(value, text, edits, True)
