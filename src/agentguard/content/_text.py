"""What every judgement of an English text starts from: its words, sentences, list items, code blocks and JSON.

All of it runs in time linear in the text. Positions are characters of the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from math import log2
from typing import Any, NamedTuple

import orjson

from agentguard._foreign import raised_by

# Function words, which say nothing of what a text is about.
STOPWORDS = frozenset(
    """a about above after again all also am an and any are as at be because been before being below between both but by
    can could did do does doing down during each few for from further had has have having he her here hers him his how
    i if in into is it its itself just me more most my no nor not now of off on once only or other our ours out over own
    same she should so some such than that the their theirs them then there these they this those through to too under
    until up us very was we were what when where which while who whom why will with would you your yours""".split()
)
WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")
LIST_ITEM = re.compile(r"^[ \t]*(?:[-*•][ \t]+|\d{1,9}[.)][ \t]+)(?=\S)", re.MULTILINE)
FENCE = re.compile(r"^[ \t]*```[^\n]*\n?", re.MULTILINE)
# A full stop after these ends no sentence.
ABBREVIATIONS = frozenset(
    """mr mrs ms dr prof st sr jr rev gen col lt sgt capt gov sen rep hon pres no vs etc inc ltd co corp dept univ
    approx est fig vol ed eds al cf e.g i.e eg ie a.m p.m u.s u.k u.s.a ph.d jan feb mar apr jun jul aug sep sept oct
    nov dec mt ave blvd rd""".split()
)
SENTENCE_END = re.compile(r"""(?<![.!?])([.!?]+)["'”\u2019)\]*_]{0,8}(?=\s|$)""")


class JsonPart(NamedTuple):
    """A piece of JSON in a text: its value and its span."""

    value: Any
    start: int
    end: int


def encodable(text: str) -> str:
    r"""Replace every lone surrogate by ``?``, so that UTF-8 can encode the text; its length stays.

    >>> encodable("a\ud800b")
    'a?b'
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def words(text: str) -> list[str]:
    """Split a text into words, in their order; hyphens and apostrophes hold one together.

    >>> words("It's a well-known fact: 3.")
    ["It's", 'a', 'well-known', 'fact', '3']
    """
    return WORD.findall(text)


def count_words(text: str) -> int:
    """Count the words of a text."""
    return len(words(text))


def plural_stripped(word: str) -> str:
    """Fold a word's case and strip a plural's ending, roughly: enough to find a topic again.

    >>> [plural_stripped(word) for word in ("Taxes", "cities", "class", "bus")]
    ['tax', 'city', 'class', 'bus']
    """
    word = word.casefold()
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("xes", "ches", "shes", "sses")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3 else word


def entropy(text: str) -> float:
    """Shannon entropy of the characters, in bits a character.

    >>> entropy("abab"), entropy("aaaa"), entropy("")
    (1.0, 0.0, 0.0)
    """
    total = len(text)
    # Adding 0.0 turns the -0.0 of a text of one character into 0.0.
    return -sum(n / total * log2(n / total) for n in Counter(text).values()) + 0.0 if total else 0.0


def list_items(text: str) -> list[tuple[int, int]]:
    r"""The spans of the marks of bulleted and numbered lines.

    >>> list_items("- one\n2) two\n-three")
    [(0, 2), (6, 9)]
    """
    return [match.span() for match in LIST_ITEM.finditer(text)]


def fenced_blocks(text: str) -> list[tuple[int, int]]:
    r"""The spans of the contents of fenced code blocks; an open block reaches to the end.

    >>> fenced_blocks("```json\n{}\n```")
    [(8, 11)]
    """
    marks = [match.span() for match in FENCE.finditer(text)]
    ends = [start for start, _ in marks[1::2]]
    return list(zip((end for _, end in marks[::2]), [*ends, len(text)], strict=False))


def json_part(text: str) -> JsonPart | None:
    r"""Read the JSON object or array that the whole text is, or that its first fenced block holds.

    >>> json_part('Here:\n```json\n{"a": 1}\n```').value
    {'a': 1}
    """
    for start, end in ((0, len(text)), *fenced_blocks(text)[:1]):
        candidate = text[start:end].strip()
        if candidate[:1] in ("{", "["):
            try:
                value = orjson.loads(candidate)
            except orjson.JSONDecodeError:
                continue
            return JsonPart(value, start, end)
    return None


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """The spans of sentences; a full stop of an abbreviation or initial ends none, nor does a lower-case ellipsis.

    >>> [("Dr. Who came. Really?! He did")[a:b] for a, b in sentence_spans("Dr. Who came. Really?! He did")]
    ['Dr. Who came.', 'Really?!', 'He did']
    """
    spans, begin = [], 0
    for match in SENTENCE_END.finditer(text):
        if match.group(1) == "." and _stands_for_more(text, match.start()):
            continue
        if len(match.group(1)) > 1 and set(match.group(1)) == {"."} and _next_letter(text, match.end()).islower():
            continue
        spans.append(trimmed(text, begin, match.end()))
        begin = match.end()
    rest = trimmed(text, begin, len(text))
    return [*spans, rest] if rest[0] < rest[1] else spans


def terms(text: str, term: str) -> list[tuple[int, int]]:
    """The spans of a term as a whole, in any case: "cat" does not occur in "concatenate".

    >>> terms("Cat, concatenate; C++.", "cat"), terms("Cat, concatenate; C++.", "c++")
    ([(0, 3)], [(18, 21)])
    """
    before = r"\b" if term[:1].isalnum() or term[:1] == "_" else ""
    after = r"\b" if term[-1:].isalnum() or term[-1:] == "_" else ""
    pattern = rf"{before}{re.escape(term)}{after}"
    return [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)] if term else []


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Narrow a span by the blanks at its ends."""
    part = text[start:end]
    start += len(part) - len(part.lstrip())
    return start, max(start, end - (len(part) - len(part.rstrip())))


def _stands_for_more(text: str, stop: int) -> bool:
    """Tell whether the word before a full stop is an abbreviation or an initial."""
    begin = stop
    while begin > 0 and stop - begin < 12 and (text[begin - 1].isalpha() or text[begin - 1] == "."):
        begin -= 1
    word = text[begin:stop]
    if word.lower() in ABBREVIATIONS:
        return not (word.lower() in {"etc", "a.m", "p.m", "inc", "co", "no"} and _next_letter(text, stop + 1).isupper())
    return len(word) == 1 and word.isupper() and word != "I"


def _next_letter(text: str, position: int) -> str:
    """The first character after blanks, or nothing; it looks no further than a few blanks."""
    return text[position : position + 8].lstrip()[:1]


def message_text(content: object) -> str:
    r"""The text of a chat message's content: a string, or parts that are strings or have a ``text``.

    >>> message_text(["Hello", {"type": "text", "text": "Ada"}, {"type": "image"}])
    'Hello\nAda'
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, (list, tuple)):
        return ""
    parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
    return "\n".join(part for part in parts if isinstance(part, str))


def written(value: object) -> str:
    """Write a value as text; "" where its own code fails, or for an integer too long for Python to write.

    >>> written(2.5), written(10**5000)
    ('2.5', '')
    """
    if type(value) is str:
        return value
    try:
        return str.__str__(str(value))
    except BaseException as error:
        if not raised_by(value, error):
            raise
        return ""
