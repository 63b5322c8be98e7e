"""Acts: what verbs, nouns, tools and commands stand for, by the tables of ``acts.ini`` and ``commands.ini``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

from agentguard.content._patterns import read_table
from agentguard.content.actions._english import base, words
from agentguard.content.actions._sentences import Token

REACH: Final = 6  # words between a verb and its particle


class Meaning(NamedTuple):
    """The acts that a verb can stand for.

    Attributes:
        acts: the acts.
        bases: the bases of the words that say it: a tool that calls itself by one of them does it, whatever it is.
        light: the verb says little by itself ("made a reservation").
        kind: ``mental``, ``spoken``, ``tentative`` or "".
        known: it stands for something.
    """

    acts: frozenset[str]
    bases: frozenset[str]
    light: bool
    kind: str
    known: bool


class _Table(NamedTuple):
    verbs: dict[str, frozenset[str]]
    phrases: dict[str, tuple[tuple[tuple[str, ...], str], ...]]  # by the first word: the others, and the act
    nouns: dict[str, frozenset[str]]


@cache
def _table() -> _Table:
    verbs: dict[str, set[str]] = {}
    nouns: dict[str, set[str]] = {}
    phrases: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    table = read_table(__package__, "acts.ini")
    for act in table.sections():
        for verb in table[act]["verbs"].split():
            first, *others = verb.split("-")
            if others and len(first) > 2:
                phrases.setdefault(base(first), []).append((tuple(others), act))
            verbs.setdefault(base(verb), set()).add(act)
        for noun in table[act]["nouns"].split():
            nouns.setdefault(base(noun), set()).add(act)
    return _Table(
        {verb: frozenset(acts) for verb, acts in verbs.items()},
        {verb: tuple(rows) for verb, rows in phrases.items()},
        {noun: frozenset(acts) for noun, acts in nouns.items()},
    )


def verb_acts(word: str) -> frozenset[str]:
    """The acts of a single verb, in any form."""
    return _table().verbs.get(base(word), frozenset())


def noun_acts(word: str) -> frozenset[str]:
    """The acts that a noun names."""
    return _table().nouns.get(base(word), frozenset())


@cache
def _bases(name: str) -> frozenset[str]:
    return frozenset(base(word) for word in words(name))


def meaning_of(tokens: Sequence[Token], verb: int, subject: Sequence[Token] = ()) -> Meaning:
    """The meaning of the verb at a place in a sentence; its particle and its object may decide it."""
    low = tokens[verb].low
    own = base(low)
    following = [token.low for token in tokens[verb + 1 : verb + 1 + REACH]]
    phrased = set()
    for others, act in _table().phrases.get(own, ()):
        at, fits = 0, True
        for other in others:
            try:
                at = following.index(other, at) + 1
            except ValueError:
                fits = False
                break
        if fits:
            phrased.add(act)
    acts = set(phrased) or set(_table().verbs.get(own, ()))
    light = own in _bases("light")
    if light:
        for token in [*tokens[verb + 1 : verb + 8], *subject]:
            acts |= noun_acts(token.low)
    kind = ""
    for name in ("tentative", "mental", "spoken"):
        if own in _bases(name) and not phrased:
            kind = name
            break
    return Meaning(frozenset(acts), frozenset({own}), light, kind, bool(acts) or kind != "")
