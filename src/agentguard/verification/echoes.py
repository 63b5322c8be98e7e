"""Which of a tool's arguments its results repeat, and where: a missing echo is the answer to another question.

Three kinds of echo are learned for each argument path. Its value stands *somewhere* in the result; it stands at a
result path *of the same name* (``user_id`` in, ``user_id`` out); and *every row* repeats it, where there are several
rows with such a path, of which one does. What tools have in common is pooled by argument name, so that a new tool's
``user_id`` is expected back before the tool itself has shown it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import orjson

from .arguments import MAX_VALUES as MAX_ARGUMENTS
from .arguments import Arguments, normal
from .document import Document
from .statistics import Rate
from .walk import last_name

__all__ = ["EVERY_ROW", "Echo", "EchoPool", "Echoes", "find_echoes"]

SOMEWHERE: Final = "somewhere"
SAME_NAME: Final = "same name"
EVERY_ROW: Final = "every row"

SHORTEST: Final = 3
MAX_PATHS: Final = 64
MAX_VALUES: Final = 40
POOL_STRENGTH: Final = 3.0
CLASS_STRENGTH: Final = 20.0
IDENTIFIER_ENDINGS = ("id", "name", "email", "number", "symbol", "ticker", "code", "isbn", "iata")
IDENTIFIER_RATE: Final = 0.97
OTHER_RATE: Final = 0.85
LIKELY: Final = 0.7
WELL_KNOWN: Final = 8  # calls of a tool
REST: Final = 0.33
LOST: Final = 0.5  # P(the echo is missing | fabricated)
LONG: Final = 32
_NO_WORD = re.compile(r"[\W_]+")
_TELLING_WORD = re.compile(r"[^\W_]{5,}")
TELLING_WORDS: Final = 8


class Echo:
    """One argument held against a result of some kind.

    Attributes:
        path: the argument's.
        where: ``"somewhere"``, ``"same name"`` or ``"every row"``; of rows at a declared place, ``"every "`` and it.
        kind: the result's.
        found: it is there.
    """

    __slots__ = ("found", "kind", "path", "where")

    def __init__(self, path: str, where: str, kind: str, found: bool) -> None:
        self.path = path
        self.where = where
        self.kind = kind
        self.found = found


@lru_cache(maxsize=2_048)
def _is_identifier(name: str) -> bool:
    return name.lower().endswith(IDENTIFIER_ENDINGS)


class EchoPool:
    """Echo rates by argument name over all tools; bounded."""

    LIMIT: Final = 2_000

    def __init__(self) -> None:
        self.by_name: dict[str, Rate] = {}
        self.identifiers = Rate()
        self.others = Rate()

    def expected(self, name: str) -> float:
        """How often an argument of this name comes back under the same name, before the tool itself is known."""
        if _is_identifier(name):
            prior = self.identifiers.mean(IDENTIFIER_RATE, CLASS_STRENGTH)
        else:
            prior = self.others.mean(OTHER_RATE, CLASS_STRENGTH)
        rate = self.by_name.get(name)
        return prior if rate is None else rate.mean(prior, 2.0)

    def push(self, name: str, found: bool) -> None:
        (self.identifiers if _is_identifier(name) else self.others).push(found)
        rate = self.by_name.get(name)
        if rate is None:
            if len(self.by_name) >= self.LIMIT:
                return
            rate = self.by_name[name] = Rate()
        rate.push(found)


def find_echoes(arguments: Arguments, document: Document, declared: Iterable[Echo] = ()) -> list[Echo]:
    """Every argument that could come back, with whether it did; worked out once for a call.

    Values shorter than three characters are looked for only under their own name: elsewhere they are found by chance.

    Args:
        arguments: the call's.
        document: its result.
        declared: what was found at places that a profile declares, to be learned with the rest.
    """
    if arguments.echoes is None:
        arguments.echoes = [*_find(arguments, document), *declared]
    return arguments.echoes


def _find(arguments: Arguments, document: Document) -> list[Echo]:
    if document.kind in ("empty", "broken") or not arguments.values:
        return []
    lowered: bytes | None = None
    structured = document.is_structured
    echoes: list[Echo] = []
    asked: dict[str, list[str]] = {}  # the values of an argument of whose name the result has several, by path
    for path, text in arguments.values:
        found = False
        if len(text) >= SHORTEST:
            needle = text.encode("utf-8", "replace")
            if structured and ('"' in text or "\\" in text or not text.isprintable()):
                needle = orjson.dumps(needle.decode("utf-8", "replace"))[1:-1]
            found = needle in document.text  # as most are; to lower a large text takes longer than to search it
            if not found:
                lowered = _lower(document.text) if lowered is None else lowered
                found = needle in lowered or (len(text) > LONG and _says_the_same(text, lowered))
            _note(echoes, Echo(path, SOMEWHERE, document.kind, found))
        name = last_name(path)
        others = _values_at(document, name)
        if others and name:
            if len(text) <= LONG:
                found = False
            for other in others:
                found = found or _same(text, other)
            _note(echoes, Echo(path, SAME_NAME, document.kind, found))
            if len(others) > 1:
                asked.setdefault(path, []).append(text)
    if asked and len(arguments.values) < MAX_ARGUMENTS:  # of more values some were left out, and a row may be of those
        for echo in tuple(echoes):
            if echo.found and echo.where == SAME_NAME and echo.path in asked:
                _note_rows(echoes, echo.path, asked[echo.path], document)
    return echoes


def _note_rows(echoes: list[Echo], path: str, texts: list[str], document: Document) -> None:
    """Add whether every row repeats an argument, of which these are the values; of fewer than two rows nothing."""
    rows = _values_at(document, last_name(path), of_rows=True)
    if len(rows) > 1:
        found = True
        for row in rows:
            if row not in texts and not any(_same(text, row) for text in texts):
                found = False
                break
        echoes.append(Echo(path, EVERY_ROW, document.kind, found))


def _note(echoes: list[Echo], echo: Echo) -> None:
    """Add an echo; of several values of one list argument, the answer rightly leaves out what it does not know."""
    if "[]" in echo.path:
        for other in echoes:
            if other.path == echo.path and other.where == echo.where:
                other.found = other.found or echo.found
                return
    echoes.append(echo)


def _lower(text: bytes) -> bytes:
    lowered = text.lower()
    if not lowered.isascii():
        lowered = text.decode("utf-8", "replace").lower().encode()  # É is é, which bytes do not know
    return lowered


def _says_the_same(text: str, lowered: bytes) -> bool:
    """A long text comes back re-flowed, quoted or escaped: all but one of its telling words are there.

    Judged by up to eight words of five letters or more, evenly spaced; two texts on one subject share some of their
    words, hardly ever all.
    """
    words = list(dict.fromkeys(_TELLING_WORD.findall(text)))
    chosen = words[:: max(len(words) // TELLING_WORDS, 1)][:TELLING_WORDS]
    missing = sum(word.encode("utf-8", "replace") not in lowered for word in chosen)
    return len(chosen) >= TELLING_WORDS // 2 and missing <= 1


def _same(text: str, other: str) -> bool:
    if len(text) > LONG:  # a text is repeated with other breaks and quotes: letters and digits are compared
        text, other = _NO_WORD.sub("", text), _NO_WORD.sub("", other)
    return text == other or (len(text) >= SHORTEST and text in other) or (len(other) >= SHORTEST and other in text)


def _values_at(document: Document, name: str, *, of_rows: bool = False) -> list[str]:
    """The normalised values of the top two levels whose path ends in this name; those in lists alone, if so asked."""
    if document.layout is None:
        return []
    paths = document.layout.named.get(name, ())
    if of_rows:
        paths = tuple(path for path in paths if "[]" in path)
    return [text for path in paths for value in document.leaves[path][:MAX_VALUES] if (text := normal(value))]


class Echoes:
    """One tool's echo rates, by argument path, kind of echo and kind of result."""

    __slots__ = ("rates",)

    def __init__(self) -> None:
        self.rates: dict[tuple[str, str, str], Rate] = {}

    def surprise(self, echoes: list[Echo], pool: EchoPool) -> tuple[float, str, float, tuple[str, ...]] | None:
        """``-ln P(no such echoes)``, what is missing, P(so | fabricated) / P(so | genuine) where known, and traits.

        The missing echo that was most to be expected counts in full, each other one a third: they are missing
        together. Of a tool that is hardly known, an identifier that did come back shows whose result it is, and what
        else is expected by name alone is hardly expected then. None where no echo was to be expected.
        """
        worst, together, why, expected_any, known = 0.0, 0.0, "", False, False
        traits: tuple[str, ...] = ()
        anchored = False
        for echo in echoes:
            if echo.found and echo.where == SAME_NAME and _is_identifier(last_name(echo.path)):
                anchored = True
        for echo in echoes:
            path, where, found = echo.path, echo.where, echo.found
            rate = self.rates.get((path, where, echo.kind))
            is_known = rate is not None and rate.total >= WELL_KNOWN
            if where == SAME_NAME:
                expected = pool.expected(last_name(path))
                likely = expected if rate is None else rate.mean(expected, POOL_STRENGTH)
            elif rate is None or rate.total < 3:
                continue
            else:
                likely = rate.mean()
            if likely < LIKELY or (anchored and not is_known and not found):
                continue
            expected_any = True
            if not found:
                surprise = -math.log(max(1.0 - likely, 1e-5))
                together += surprise
                in_rows = where not in (SOMEWHERE, SAME_NAME)
                traits += (f"rows without {path}" if in_rows else f"no echo of {path}",)
                if surprise > worst:
                    worst, known = surprise, is_known or where == SAME_NAME
                    missing = "not every row repeats" if in_rows else "the result does not repeat"
                    why = f"{missing} argument {path!r} ({where}), usual in {likely:.0%}"
        if not expected_any:
            return None
        together = worst + REST * (together - worst)
        return together, why, LOST * math.exp(together) if known and worst else 0.0, traits

    def learn(self, echoes: list[Echo], pool: EchoPool) -> None:
        for echo in echoes:
            self.absorb((echo.path, echo.where, echo.kind), echo.found, 1.0)
            if echo.where == SAME_NAME:
                pool.push(last_name(echo.path), echo.found)

    def absorb(self, place: tuple[str, str, str], found: bool, times: float) -> None:
        """Count echoes at a place (argument path, kind of echo, kind of result)."""
        rate = self.rates.get(place)
        if rate is None:
            if len(self.rates) >= MAX_PATHS:
                return
            rate = self.rates[place] = Rate()
        rate.push(found, times)
