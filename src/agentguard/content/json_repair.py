"""JSON mended: the value that a broken text most likely meant, and every edit that this took."""

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
    |(?P<single>'(?:[^'\\]|\\.)*(?:'|\\?\Z))
    |(?P<open>[{[])|(?P<close>[}\]])|(?P<comma>,)|(?P<colon>:)
    |(?P<word>[^\s{}\[\],:"][^\s{}\[\],:"]*)""",
    re.VERBOSE | re.DOTALL,
)
LONGEST_NUMBER = 400  # characters of a number that is compared by its value
LITERAL = re.compile(r"(?:true|false|null|-?(?:0|[1-9]\d{0,400})(?:\.\d{1,400})?(?:[eE][+-]?\d{1,9})?)\Z")
COLON = re.compile(r"\s*:")
CONTROL = re.compile(r"[\x00-\x1f]+")
PAIR = {"{": "}", "[": "]"}
# A string that holds a Python literal, bare: it begins with brackets and a single quote, and ends where, brackets
# aside, the text ends or JSON goes on. Any string else ends at its next quote.
LITERAL_STRING = re.compile(r'"\s{0,32}[\[{(][\[{(\s]{0,32}\'')
STRING_PART = re.compile(r'(?:[^"\\]|\\.)*', re.DOTALL)
GOES_ON = re.compile(r'[}\]\s]*(?:\Z|,\s*(?:"|[\[{]\s*["\[{\d]))')


def json_faults(text: str) -> Iterator[Finding]:
    r"""List the faults of a text as JSON, in order; text outside the brackets counts once a run.

    >>> [(fault.kind, fault.start) for fault in json_faults("{a: 'it', // no\n}")]
    [('quote a key', 1), ('replace single quotes', 4), ('remove a comment', 10), ('remove a trailing comma', 8)]
    """
    stack: list[str] = []
    before, comma = "", 0  # what came last (comments aside), and where the last comma stands
    for match in TOKEN.finditer(text):
        kind, (start, end) = str(match.lastgroup), match.span()
        if kind == "comment" or (kind == "fence" and stack):
            yield Finding("remove a comment", "JSON has no comments", start, end)
            continue
        if not stack and kind != "open":
            if before != "outside":
                yield Finding("remove text around", "this stands outside the JSON", start, end)
            before = "outside"
            continue
        if kind in ("string", "single", "word", "open") and before in ("string", "single", "word", "close"):
            yield Finding("add a comma", "two values stand side by side", start, start)
        if kind == "open":
            stack.append(PAIR[match.group()])
        elif kind == "close":
            if before == "comma":
                yield Finding("remove a trailing comma", "nothing follows this comma", comma, comma + 1)
            if stack.pop() != match.group():
                yield Finding("mend a bracket", "another bracket was open here", start, end)
        elif kind == "comma":
            comma = start
        else:
            yield from _value_faults(text, kind, match, in_object=stack[-1] == "}")
        before = "outside" if kind == "close" and not stack else kind
    if stack:
        yield Finding("close a bracket", f"{len(stack)} left open at the end", len(text), len(text))


def _value_faults(text: str, kind: str, match: re.Match[str], *, in_object: bool) -> Iterator[Finding]:
    start, end = match.span()
    if kind == "single":
        yield Finding("replace single quotes", "JSON's quotes are double", start, end)
    if kind in ("string", "single"):
        yield from _line_breaks(text, start, end)
    if kind == "string" and match.group("ended") is None:
        yield Finding("close a string", "its last quote is missing", end, end)
    if kind == "word":
        if in_object and COLON.match(text, end):
            yield Finding("quote a key", "keys stand in quotes", start, end)
        elif not LITERAL.match(match.group()):
            yield Finding("mend a value", "neither a number, nor true, false or null", start, end)


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


def _line_breaks(text: str, start: int, end: int) -> Iterator[Finding]:
    """List the line breaks and other control characters that stand unescaped in a string."""
    for match in CONTROL.finditer(text, start, end):
        yield Finding(ESCAPE_LINE_BREAK, "a string holds these escaped", *match.span())


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


# --- What the library would lose: quotes that are not JSON's, colons and commas that are missing ---

# A string in JSON's quotes or in single ones, which are passed over; else one in typographic quotes or backticks, the
# group being what it says. An apostrophe within a word ends none.
QUOTED = re.compile(
    r"""\"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|```
    |[\u201c\u201d\u201e\u00ab](?P<double>[^\u201c\u201d\u00bb]*)[\u201c\u201d\u00bb]
    |[\u2018\u2019\u201a](?P<single>(?:[^\u2018\u2019]|\u2019(?=\w))*)[\u2018\u2019]
    |`(?P<backtick>[^`]*)`""",
    re.VERBOSE | re.DOTALL,
)
OPEN = re.compile(r"[{\[]")
BARE_QUOTE = re.compile(r'(?<!\\)"')
SCALAR = re.compile(r"(?i:true|false|null|none)\Z|-?\d")


def _json_quotes(text: str) -> list[tuple[int, int, str]]:
    """List the changes that turn typographic quotes and backticks into JSON's quotes."""
    changes = []
    first = OPEN.search(text)
    for match in QUOTED.finditer(text, first.start()) if first else ():
        if match.lastgroup:
            words = BARE_QUOTE.sub(r"\"", match[match.lastgroup])
            changes.append((*match.span(), f'"{words}"'))
    return changes


def _separators(text: str) -> list[tuple[int, int, str]]:
    """The changes that put in missing colons and commas and take out doubled commas.

    Empty where it is not plain which value is whose: brackets that do not match, a key without a value, text that is no
    value, a string without an end.
    """
    changes: list[tuple[int, int, str]] = []
    stack: list[str] = []  # closing brackets
    state = "value"  # what may come: a key, a colon, a value; "comma": a comma or a closing bracket
    for match in TOKEN.finditer(text):
        kind, start = match.lastgroup, match.start()
        if kind in ("comment", "fence") or (not stack and kind != "open"):
            continue
        in_object = bool(stack) and stack[-1] == "}"
        if kind == "close":
            if stack.pop() != match.group() or state == "colon":
                return []
            state = "comma"
        elif kind == "comma":
            if state == "key":  # the second of two
                changes.append((start, match.end(), ""))
            elif state != "comma":
                return []
            state = "key" if in_object else "value"
        elif kind == "colon":
            if state != "colon":
                return []
            state = "value"
        elif (kind == "string" and not match.group("ended")) or (
            kind == "word" and state != "key" and not SCALAR.match(match.group())
        ):
            return []
        else:
            if state == "comma" and stack:
                changes.append((start, start, ", "))
                state = "key" if in_object else "value"
            if state == "key":
                if kind == "open":
                    return []
                state = "colon"
                continue
            if state == "colon":
                changes.append((start, start, ": "))
            state = "comma"
            if kind == "open":
                stack.append(PAIR[match.group()])
                state = "key" if match.group() == "{" else "value"
    return [] if state == "colon" else changes


# --- What a repair has lost ---

SEARCHED = 20_000_000  # characters of the value in which strings are looked for as parts of others: some 10 ms
LOST = "lose a value"


def _lost(text: str, value: Any) -> Iterator[Finding]:
    """List the scalars of a broken text that its repaired value does not hold, not even as part of a string."""
    kept: set[Any] = set()
    strings: list[str] = []
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending += item.values()
            strings += map(str, item)
        elif isinstance(item, list):
            pending += item
        elif isinstance(item, str):
            strings.append(item)
        else:
            kept.add(repr(item).lower())
            if not isinstance(item, bool):  # for Python true is 1
                kept.add(item)
    kept.update(strings)
    together = "\0".join(strings)
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
        words = _plain(token) if kind != "word" else token
        if words in kept or (kind == "word" and (_literal(token) in kept or not any(map(str.isalnum, token)))):
            continue
        left -= 1
        if left < 0 or words.strip() not in together:
            yield Finding(LOST, "this is not in the result", *match.span())


def _plain(token: str) -> str:
    """Read a string token: its words without the quotes, its escapes undone."""
    quote = token[0]
    inner = token[1:-1] if len(token) > 1 and token[-1] == quote else token[1:]
    try:
        return str(json.loads(f'"{inner}"', strict=False))
    except ValueError:
        return inner


def _literal(word: str) -> Any:
    """The value of a bare word: a number, or the name of true, false or null as Python writes it, in lower case."""
    word = word.rstrip(";")
    named = {"null": "none", "undefined": "none"}.get(word.lower(), word.lower())
    if named in ("true", "false", "none"):
        return named
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
    """Read a text as JSON, and mend it where that fails.

    Comments, trailing commas, bare keys, single quotes, raw line breaks, inner quotes, text around and missing brackets
    are mended; a string keeps its slashes, braces and quotes. The result is a guess: it is JSON, and its meaning is not
    verified. Control characters and inner quotes in strings are escaped first; for all else stands the json-repair
    library.

    Args:
        text: the text, in which one JSON value stands.
        max_characters: longest text that the library is asked about; it gives up early on texts made to keep it busy.

    >>> mended = repair("{name: 'Ada', 'tags': [1, 2,], // as of today")
    >>> mended.value, mended.label
    ({'name': 'Ada', 'tags': [1, 2]}, 'repaired')
    >>> [edit.kind for edit in mended.edits][:3]
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
            repaired = _mended(text, prepared)
    if repaired is not None:
        return repaired
    reason = "no JSON found" if len(text) <= max_characters else f"longer than {max_characters} characters"
    return Repair(None, text, (Finding("failed", f"not mended: {reason}", 0, len(text)),), False)


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
        edits = islice(bare if quotes else json_faults(text), EDITS)
        return _written(value, tuple(edits))
    return None


class _Prepared(NamedTuple):
    """A broken text with its quotes, colons and commas mended.

    Attributes:
        text: the text with all of them.
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
    """Mend the quotes, colons and commas of a broken text."""
    quotes = _json_quotes(text)
    quoted = rewrite(text, quotes)
    separators = _separators(quoted.text)
    faults = [
        Finding("replace quotes", "JSON's quotes are straight and double", start, end) for start, end, _ in quotes
    ]
    for start, end, new in separators:
        kind = {": ": "add a colon", ", ": "add a comma"}.get(new, "remove a comma")
        detail = "a separator is missing here" if new else "nothing stands before this comma"
        faults.append(_as_given(Finding(kind, detail, start, end), quoted))
    faults += (
        _as_given(fault, quoted)
        for fault in islice(json_faults(quoted.text), EDITS)
        if not (separators and fault.kind == "add a comma")
    )
    faults.sort(key=lambda fault: fault.start)
    return _Prepared(rewrite(quoted.text, separators).text, quoted, faults)


def _completed(text: str, prepared: _Prepared) -> Repair | None:
    """Take the quotes, colons and commas that were put in, where that is all the text needs."""
    if prepared.text == text:
        return None
    try:
        value = json.loads(prepared.text, strict=False, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    return _written(value, prepared.edits(value))


def _mended(text: str, prepared: _Prepared) -> Repair | None:
    """Mend the text with the json-repair library; None where it finds no value in it."""
    from json_repair import repair_json

    try:
        metered = MeteredText(prepared.text, READS + READS_A_CHARACTER * len(prepared.text))
        value = repair_json(metered, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError, Exhausted):
        return None
    if value == "":
        return None
    return _written(value, prepared.edits(value) or (Finding("mend", "not JSON as it stands", 0, len(text)),))


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
