"""An answer cut into sentences of tokens, without what is not the writer's own words: programs, quotations, markup."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from agentguard.content.actions._english import words

MOST_CHARACTERS: Final = 100_000  # of an answer that are read
LONGEST: Final = 200  # tokens; a sentence that is longer is cut, so that reading it takes time with its length
_MARKS: Final = "✅✔✓☑🎉🚀👍🟢"
_FENCE = re.compile(r"^[ \t]*(?:```|~~~).*?(?:^[ \t]*(?:```|~~~)[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^|(?<=\n\n))(?:(?: {4}|\t)[^\n]*(?:\n|$))+", re.MULTILINE)
_QUOTE_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_LINK_END = re.compile(r"\]\([^()\s]{1,500}\)")
_BOLD = re.compile(r"\*{1,3}|(?<!\w)_{1,2}(?=\w)|(?<=\w)_{1,2}(?!\w)|~~|</?[a-z]{1,8}>")
#: What has its verb joined to it: "it's" is two words.
_PRONOUN: Final = "[Ii]|[Yy]ou|[Hh]e|[Ss]he|[Ii]t|[Ww]e|[Tt]hey|[Tt]here|[Tt]hat|[Ww]ho|[Ee]verything|[Nn]othing"
_TOKEN = re.compile(
    r"`[^`\n]{1,400}`"
    r"|\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|(?<!\w)'[^'\n]{2,200}'(?!\w)|(?<!\w)‘[^’\n]{2,200}’(?!\w)"  # noqa: RUF001
    r"|https?://[^\s)>\]]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<!\w)(?:" + _PRONOUN + r")(?=['’](?:s|m|re|ve|ll|d)(?!\w))|\w+(?=['’]s\s+been\s)"  # noqa: RUF001
    r"|(?<=\w)['’](?:s|m|re|ve|ll|d)(?!\w)"  # noqa: RUF001
    r"|(?<!\S)--[a-z][\w-]*"
    r"|\d[\d.,]*\d%?(?![\w/-]|[.,:]\d)|[#@]?\w+(?:[-./:_#@]\w+)*(?:['’]\w+|(?<=s)['’](?=\s))?%?"  # noqa: RUF001
    r"|[$€£¥]\s?\d[\d.,]*\d|[$€£¥]\s?\d"
    r"|[" + _MARKS + r"❌⚠⏳🚧]|->|[–—]|\[[ xX]\]|\S"
)
#: The line below the head of a table: "|---|:--:|".
_RULE = re.compile(r"\|?(?: *:?-+:? *\|)+(?: *:?-+:?)?")
_NUMBER_POINT = re.compile(r"^\s*(?:\(?\d{1,3}[.)]|[-*+•·‣▪])\s+")
_HEADING = re.compile(r"^\s*#{1,6}\s+")
_ABBREVIATED: Final = frozenset(
    "e.g i.e etc vs mr mrs ms dr prof sr sra srta fr hr mme mlle st no approx incl a.m p.m u.s inc ltd".split()
)
#: Entries of ``english.ini`` whose words begin a sentence, not a name.
_BEGINNINGS: Final = ("subject", "determiner", "adverb", "preposition", "if", "modal", "not", "be", "do", "have")
_OPENING: Final = "\"“'‘`"  # noqa: RUF001


class Token(NamedTuple):
    """A word, a mark, or a piece that is taken whole.

    Attributes:
        start, end: where it stands in the answer.
        text: as written.
        low: in small letters, with a straight apostrophe.
        kind: ``word``, ``mark``, ``quoted`` or ``code``.
    """

    start: int
    end: int
    text: str
    low: str
    kind: str


class Sentence(NamedTuple):
    """A sentence, a point of a list, a heading or a cell of a table.

    Attributes:
        tokens: its tokens, never empty.
        form: ``prose``, ``point``, ``heading``, ``cell``.
        lead: the cell or heading that it belongs to, for a cell the first of its row; empty elsewhere.
        asks: it is a question.
        ticked: True behind a mark that it is done; False behind an empty box or a mark of failure; None elsewhere.
    """

    tokens: tuple[Token, ...]
    form: str
    lead: tuple[Token, ...]
    asks: bool
    ticked: bool | None


def sentences(answer: str) -> Iterator[Sentence]:
    r"""Cut an answer into its sentences.

    >>> [[token.text for token in each.tokens] for each in sentences("- [x] Ran `make`.\nIs it *done*? Yes.")]
    [['Ran', '`make`'], ['Is', 'it', 'done'], ['Yes']]
    """
    text = _masked(answer[:MOST_CHARACTERS])
    start = 0
    lines = text.splitlines(keepends=True)
    for line, following in itertools.zip_longest(lines, lines[1:], fillvalue=""):
        if not _RULE.fullmatch(following.strip()):  # above it stand the names of columns
            yield from _line(text, start, start + len(line.rstrip()))
        start += len(line)


def _masked(text: str) -> str:
    """The text with spaces for what is not read."""
    for pattern in (_FENCE, _INDENTED, _QUOTE_LINE, _LINK_END, _BOLD):
        text = pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return text


def _line(text: str, start: int, end: int) -> Iterator[Sentence]:
    line = text[start:end]
    if line.lstrip().startswith("|"):
        first: tuple[Token, ...] = ()
        at = start
        for cell in line.split("|"):
            tokens = _tokens(text, at, at + len(cell))
            if any(any(c.isalnum() or c in _MARKS for c in token.text) for token in tokens):
                for sentence in _cut(text, at, at + len(cell), "cell"):
                    yield sentence._replace(lead=first)
                first = first or tuple(token for token in tokens if not token.low.isdigit())
            at += len(cell) + 1
        return
    form = "prose"
    heading = _HEADING.match(line)
    if heading is not None:
        form, start = "heading", start + heading.end()
    else:
        point = _NUMBER_POINT.match(line)
        if point is not None:
            form, start = "point", start + point.end()
    yield from _cut(text, start, end, form)


def _cut(text: str, start: int, end: int, form: str) -> Iterator[Sentence]:
    held: list[Token] = []
    tokens = _tokens(text, start, end)
    for number, token in enumerate(tokens):
        ended = token.kind == "quoted" and token.text[-2:-1] in tuple(".!?")
        ends = token.text in ".!?;…" or (ended and _new(tokens, number))
        if token.text == "." and held and (held[-1].low.rstrip(".") in _ABBREVIATED or _is_initial(tokens, number - 1)):
            ends = False
        if token.text not in ".!?;…":
            held.append(token)
        if held and (ends or len(held) == LONGEST):
            yield _sentence(held, form, token.text == "?")
            held = []
    if held:
        yield _sentence(held, form, False)


def _is_initial(tokens: tuple[Token, ...], at: int) -> bool:
    """Tell whether a letter with a point begins a name: "A. Reyes", not "plan B. The"."""
    letter, name = tokens[at].text, tokens[at + 2 : at + 3]
    return (
        len(letter) == 1
        and letter.isupper()
        and bool(name)
        and name[0].kind == "word"
        and name[0].start == tokens[at + 1].end + 1
        and name[0].text[0].isupper()
        and not any(name[0].low in words(entry) for entry in _BEGINNINGS)
    )


def _new(tokens: tuple[Token, ...], number: int) -> bool:
    return number + 1 == len(tokens) or tokens[number + 1].text[:1].isupper()


def _sentence(tokens: list[Token], form: str, asks: bool) -> Sentence:
    ticked: bool | None = None
    while tokens and (tokens[0].text in _MARKS or tokens[0].text in ("[x]", "[X]")):
        ticked, tokens = True, tokens[1:]
    while tokens and tokens[-1].text in _MARKS:
        ticked, tokens = True, tokens[:-1]
    while tokens and tokens[0].text in ("[ ]", "❌", "⚠", "⏳", "🚧", "\ufe0f"):
        ticked, tokens = (ticked if tokens[0].text == "\ufe0f" else False), tokens[1:]
    if any(token.text in ("❌", "⏳", "🚧") for token in tokens):
        ticked = False
    return Sentence(tuple(tokens), form, (), asks, ticked)


def _tokens(text: str, start: int, end: int) -> tuple[Token, ...]:
    found = []
    for match in _TOKEN.finditer(text, start, end):
        piece = match[0]
        first = piece[0]
        if first == "`":
            kind = "code"
        elif first in _OPENING and len(piece) > 1 and not piece[-1].isalnum():
            kind = "quoted"
        else:
            kind = "word" if any(character.isalnum() for character in piece) else "mark"
        low = piece.casefold().replace("’", "'").replace("e-mail", "email")  # noqa: RUF001
        found.append(Token(match.start(), match.end(), piece, low, kind))
    return tuple(found)
