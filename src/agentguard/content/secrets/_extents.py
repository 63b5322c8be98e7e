"""How far a credential reaches: the lines of a key, the value of an assignment.

A match says where a credential begins. Its end is looked for in the text around it, and where a text was cut or does
not say, the credential reaches as far as the run of characters in which it stands. All of it takes time linear in the
text: a key is followed to the next line that begins or ends one, a value for ``LONGEST`` characters.
"""

from __future__ import annotations

import re
from binascii import Error, a2b_base64
from collections.abc import Iterator

from agentguard.content._recognizers import Span

LONGEST = 1_024  # characters of a value
OPENING = 200  # characters before a name in which the quotation mark that it stands behind is looked for
WIDE = 40  # characters of base64 that go on with a key after lines of other text
NARROW = 16  # characters of base64 in a line that tell it from a word
HEADERS, OTHERS = 8, 2  # lines in a row within a key: of its headers, and of anything else

_BLANK = r"(?: |%20|\+)"
MARKER = re.compile(
    rf"-{{4,5}} ?(BEGIN|END){_BLANK}(?:[A-Z0-9]+{_BLANK})*PRIVATE{_BLANK}KEY(?:{_BLANK}BLOCK)? ?-{{4,5}}"
    r"|PuTTY-User-Key-File-[23]:"
)
# The beginning of "-----BEGIN " in base64, by the number of bytes before it.
ENCODED = re.compile(r"LS0tLS1CRUdJTi|0tLS0tQkVHSU4|tLS0tLUJFR0lO")
BEFORE = {"L": "", "0": "AA", "t": "AAA"}  # what completes the first four characters
# As they stand in a text, or written by JSON, by Python and C, in an address, in HTML; a text may be written twice.
LINE_END = re.compile(
    r"\r\n?|\n|\\{1,16}(?:r\\{1,16}n|[nr]|u000[aAdD])|%0[aAdD]|&#1[03];|<br ?/?>|[\"'], ?\\{0,16}[\"']"
)
BASE64 = re.compile(r"(?:[A-Za-z0-9+/=]|\\{1,16}(?:/|u00(?:2[bBfF]|3[dD]))|%(?:2[bBfF]|3[dD]))+")
HEADER = re.compile(r"[A-Za-z][\w-]+: ?\S")
CLOSING = ",;:.!?)}]>|&*"  # signs that may follow a closing quotation mark
PAIRED = {")": "(", "}": "{", "]": "[", ">": "<"}
_NOTE = r"(?:…|\.\.\.|[\[(<](?:truncated|cut|omitted))"
# Behind the last characters of a line of a key: an escape that is cut, marks, a note.
TAIL = re.compile(rf"(?:%[023]?|\\+u0{{0,2}}[23]?)?[\s\"'`,;+\\|)>\]}}.]*(?:{_NOTE}.*)?", re.DOTALL)
NUMBER = re.compile(r"[0-9]+")

QUOTE = re.compile(r"(\\*)([\"'`])")
ASSIGNED = re.compile(r"[^=:]*?(?:=>|:=|[=:]|\sis:?\s)\s*", re.IGNORECASE)
CUT = re.compile(rf"\s*(?:{_NOTE}|\n|\Z)")
VALUE = re.compile(rf"\S{{1,{LONGEST}}}")
TAG = re.compile(r"</[a-zA-Z]+>|<br ?/?>")
NAMED = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."  # signs of a name
BEHIND = frozenset("\"'`,;.…)}]>\\")  # signs behind a value that ends a clause, a call or an object
FORM = re.compile(
    r"[\w%+.~*-]*((?:&[\w.-]+=[\w%+.~*-]*)+)[\"'`,;.)}\]>\\]*"
)  # a value in a form, and the pairs behind it
PAIRS = {"&": "&", "?": "&", ";": ";"}  # before a name in a query or a connection string, and between two pairs


# --- Keys ---


def key_lines(text: str, start: int, end: int) -> Span:
    r"""Find the lines of a private key around a line that begins or ends it.

    Behind a first line the key reaches to its last line, or as far as there are lines of base64: whatever is written
    before each of them (numbers, signs of quotation, times), however their ends are written, and whether they are cut.
    A last line without a first one closes the lines before it; without any, it is nothing.

    >>> text = "7:-----BEGIN PRIVATE KEY-----\n8:MIIEvQIBADANBgkqhkiG9w0B\n9:AQEF\n10:and so on"
    >>> text[slice(*key_lines(text, 2, 29))][-10:]
    'w0B\n9:AQEF'
    """
    marker = MARKER.match(text, start)
    if marker is not None and marker[1] == "END":
        first = _lines_before(text, start)
        return (first, end) if first < start else (start, start)
    following = MARKER.search(text, end)
    if following is None:
        return start, _lines_behind(text, start, end, len(text))[0]
    last, done = _lines_behind(text, start, end, following.start())
    return start, following.end() if done and following[1] == "END" else last


def encoded_key(text: str, start: int, end: int) -> Span:
    """Find the base64 of a private key with its first line; where it is of something else, it is nothing."""
    begun = text[start : start + 120]
    data = BEFORE[begun[0]] + "".join(BASE64.findall(begun)).partition("=")[0]
    try:
        label = a2b_base64(data[: len(data) // 4 * 4])
    except Error:
        return start, start
    if b"PRIVATE KEY" not in label:
        return start, start
    following = ENCODED.search(text, end)
    return start, _lines_behind(text, start, start, len(text) if following is None else following.start())[0]


def _lines_behind(text: str, first: int, start: int, end: int) -> tuple[int, bool]:
    """Where the lines of a key end that go on from a place, and whether they may go on to ``end``."""
    opened = max(text.rfind("\n", max(0, first - OPENING), first) + 1, first - OPENING)
    last, before, width, headers, others = start, _form(text[opened:first]), 0, 0, 0
    for begin, stop in _lines(text, start, end):
        runs = _runs(text, begin, stop, WIDE if others else NARROW)
        alone = None if runs else _alone(text, begin, stop)
        if runs:
            last = runs[-1][1]
            rest = BASE64.search(text, last, stop)
            if rest is not None and text[last : rest.start()].isspace():  # blanks stand for the ends of lines
                last = rest.end()
            before, width, headers, others = _form(text[begin : runs[0][0]]), 0, 0, 0
        elif alone and not others and _form(text[begin : alone[0]]) in (before, "") and width in (0, _width(alone)):
            # The last line of a key; several of one width are a key in narrow lines.
            last, width = alone[1], _width(alone)
        elif HEADER.search(text, begin, stop):
            headers, width = headers + 1, 0
        elif any(map(str.isalnum, text[begin:stop])):
            others += 1
        if headers > HEADERS or others > OTHERS:
            return last, False
    return last, True


def _lines_before(text: str, end: int) -> int:
    """Where the lines of a key begin that end before a place."""
    begun = max(text.rfind("PRIVATE KEY", 0, end), 0)
    first = end
    for begin, stop in reversed(list(_lines(text, begun, end))):
        runs = _runs(text, begin, stop, NARROW)
        alone = _alone(text, begin, stop)
        if runs:
            first = runs[0][0]
        elif alone and first == end > stop and not _form(text[begin : alone[0]]):
            first = alone[0]
        elif end > stop and any(map(str.isalnum, text[begin:stop])):
            break
    return first


def _lines(text: str, start: int, end: int) -> Iterator[Span]:
    for line_end in LINE_END.finditer(text, start, end):
        yield start, line_end.start()
        start = line_end.end()
    yield start, end


def _runs(text: str, begin: int, stop: int, least: int) -> list[Span]:
    """The runs of base64 in a line that are no words or paths: in both cases, or long and with digits."""
    runs = (run for run in BASE64.finditer(text, begin, stop) if _width(run.span()) >= least)
    return [run.span() for run in runs if _mixed(run[0]) or (len(run[0]) >= WIDE and NUMBER.search(run[0]))]


def _alone(text: str, begin: int, stop: int) -> Span | None:
    """The characters of base64 that end a line, but for marks or a note behind them."""
    runs = BASE64.finditer(text, begin, stop)
    return next((run.span() for run in runs if TAIL.fullmatch(text, run.end(), stop)), None)


def _mixed(run: str) -> bool:
    return any(map(str.isupper, run)) and any(map(str.islower, run))


def _width(span: Span) -> int:
    return span[1] - span[0]


def _form(before: str) -> str:
    """What stands before a line's part of a key, with any number for each; "" where that names nothing."""
    form = NUMBER.sub("0", before).replace("-", ":")
    return form if "[" in form or any(map(str.isalpha, form)) else ""


# --- Values ---


def assigned_value(text: str, start: int, end: int) -> Span:
    r"""Find the value in ``name = value``, with whatever signs are in it.

    Between quotation marks it ends at the second one, in other text at a blank. It ends sooner where the assignment
    stands within quotation marks, or where the sign before the name parts it from other names: ``&``, ``;``.

    >>> [text[slice(*assigned_value(text, 0, len(text)))] for text in ("pwd: a&b;9, or", r'pwd="a\"9"', "pwd='it''s'")]
    ['a&b;9', 'a\\"9', "it''s"]
    """
    assigned = ASSIGNED.match(text, start, end)
    return argument(text, start, end if assigned is None else min(assigned.end(), end))


def argument(text: str, start: int, end: int) -> Span:
    r"""Find the value that begins where a match ends.

    >>> text = "sshpass -p 'x y-9' ssh"
    >>> text[slice(*argument(text, 0, 11))]
    'x y-9'
    """
    begin = end
    opening = QUOTE.match(text, begin)
    if opening is not None:
        begin = opening.end()
        close = _closing(text, begin, opening)
        if close is None:
            cut = CUT.search(text, begin, begin + LONGEST)
            return begin, begin if cut is None else cut.start()
        behind = close + len(opening[0])
        if not _glued(text, behind):
            return begin, close
    value = VALUE.match(text, begin if opening is None else behind)
    if value is None:
        return begin, begin
    stop = value.end()
    if opening is None:
        stop = min(stop, _bound(text, start, begin, stop))
        tag = TAG.search(text, begin, stop)
        stop = stop if tag is None else tag.start()
    while stop > begin and text[stop - 1] in BEHIND and PAIRED.get(text[stop - 1], "\n") not in text[begin:stop]:
        stop -= 1
    return begin, stop


def user_password(text: str, start: int, end: int) -> Span:
    """Find the password in ``name:password``, which begins where a match ends, perhaps between quotation marks.

    >>> text = "curl -u 'ada:tea two' x"
    >>> text[slice(*user_password(text, 0, 8))]
    'tea two'
    """
    begin, stop = argument(text, start, end)
    colon = text.find(":", begin, stop)
    return (begin, begin) if colon < 0 else (colon + 1, stop)


def _closing(text: str, begin: int, opening: re.Match[str]) -> int | None:
    """Where the quotation mark stands that closes a value; a text in a text writes both with backslashes.

    To a shell, a backslash between single marks is a sign as others are: where no other closes the value, a mark behind
    one does.
    """
    level, mark = len(opening[1]), opening[2]
    behind_sign = None
    for quote in QUOTE.finditer(text, begin, begin + LONGEST):
        if "\n" in text[begin : quote.start()]:
            break
        number = len(quote[1])
        if quote[2] == mark and number >= level:
            if (number - level) // (level + 1) % 2 == 0:
                return quote.end() - 1 - level
            if mark == "'" and (not text[quote.end() : quote.end() + 1].strip()):
                behind_sign = quote.end() - 1
    return behind_sign


def _glued(text: str, place: int) -> bool:
    r"""Tell whether a word goes on behind a quotation mark, as in ``'it'\''s'``."""
    following = text[place : place + 2]
    if following[:1] == "\\":
        return following[1:] in ("'", '"')
    return bool(following.strip()) and not following[0].isspace() and following[0] not in CLOSING


def _bound(text: str, start: int, begin: int, stop: int) -> int:
    """Where a value without quotation marks has to end, by what stands before its name."""
    line = text[max(text.rfind("\n", max(0, start - OPENING), start) + 1, start - OPENING, 0) : start]
    name = len(line) - len(line.rstrip(NAMED))
    parted = PAIRS.get(line[: len(line) - name][-1:])
    form = FORM.fullmatch(text, begin, stop) if text[begin - 1] == "=" else None
    ends = [-1 if form is None else form.start(1), -1 if parted is None else text.find(parted, begin, stop)]
    opening = None
    for quote in QUOTE.finditer(line):
        if opening is not None and quote[0] == opening[0]:
            opening = None
        elif opening is None and (quote[2] == '"' or not line[quote.start() - 1 : quote.start()].isalnum()):
            opening = quote
    if opening is not None:
        close = _closing(text, begin, opening)
        ends.append(-1 if close is None else close)
    return min((end for end in ends if end >= 0), default=stop)
