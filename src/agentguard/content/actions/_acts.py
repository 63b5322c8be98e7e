"""Acts: what verbs, nouns, tools and commands stand for, by the tables of ``acts.ini`` and ``commands.ini``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

from agentguard.content._patterns import read_table
from agentguard.content.actions._english import base, bases, lines, words
from agentguard.content.actions._sentences import Token

#: Acts that change nothing, and those of them that any look at a thing is.
READING: Final = frozenset({"read", "verify", "browse", "calculate", "check code", "test", "fill"})
LOOKING: Final = frozenset({"read", "browse"})
CHECKING: Final = frozenset({"check code", "test", "build"})
#: Acts that say little by themselves.
GENERIC: Final = frozenset({"create", "update", "read", "run"})
#: Acts that are done whatever comes out of them.
TRYING: Final = frozenset({"test", "run", "check code", "build", "read", "verify", "plan"})
MANY: Final = 4  # acts, beyond which a verb says little by itself
_SAME: Final = frozenset({"re", "force", "cross"})  # before a verb: again, by force, in several places
REACH: Final = 6  # words between a verb and its particle


class Meaning(NamedTuple):
    """The acts that a verb can stand for.

    Attributes:
        acts: the acts.
        bases: the bases of the words that say it: a tool that calls itself by one of them does it, whatever it is.
        kind: ``mental``, ``spoken``, ``tentative`` or "".
        known: it stands for something.
    """

    acts: frozenset[str]
    bases: frozenset[str]
    kind: str
    known: bool

    @classmethod
    def of(cls, acts: frozenset[str]) -> Meaning:
        """The meaning of what says no more than these acts."""
        return cls(acts, frozenset(), "", True)


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
            if others and first not in ("re", "e", "pre", "un"):
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
    """The acts of a single verb, in any form; done again or by force, it is the same: "rebooked", "force-pushed".

    >>> verb_acts("rebooked") == verb_acts("re-booked") == verb_acts("booked")
    True
    """
    return _acts_of_verb(base(word))


def acts_of_base(own: str) -> frozenset[str]:
    """The acts of a word, verb or noun, by its base."""
    return _acts_of_verb(own) | _table().nouns.get(own, frozenset())


def _acts_of_verb(own: str) -> frozenset[str]:
    acts = _table().verbs.get(own)
    if acts is None:
        how, _, plain = own.rpartition("-") if "-" in own else (own[:2], "", own[2:])
        acts = _table().verbs.get(plain) if how in _SAME else None
    return acts or frozenset()


def noun_acts(word: str) -> frozenset[str]:
    """The acts that a noun names."""
    return _table().nouns.get(base(word), frozenset())


def phrase_acts(first: str, second: str) -> frozenset[str]:
    """The acts of a verb with its particle."""
    return frozenset(act for others, act in _table().phrases.get(base(first), ()) if others == (second,))


def _object(tokens: Sequence[Token], verb: int) -> Sequence[Token]:
    """The words of a verb's direct object."""
    end = verb + 1
    while end < len(tokens) and end < verb + REACH and tokens[end].kind == "word":
        if tokens[end].low in words("preposition"):
            break
        end += 1
    return tokens[verb + 1 : end]


def named(tokens: Sequence[Token], among: frozenset[str] | None = None) -> frozenset[str]:
    """The acts that nouns name, or those of them that are among others."""
    acts = frozenset(act for token in tokens for act in noun_acts(token.low))
    return acts if among is None else acts & among


def meaning_of(tokens: Sequence[Token], verb: int, subject: Sequence[Token] = ()) -> Meaning:
    """The meaning of the verb at a place in a sentence; its particle and its object may decide it."""
    own = base(tokens[verb].low)
    following = [token.low for token in tokens[verb + 1 : verb + 1 + REACH]]
    if _left_alone(own, following) or any(
        own in firsts and set(following[:reach]) & others for firsts, others, reach in _MENTAL
    ):
        return Meaning(frozenset(), frozenset(), "mental", True)
    strong, weak = _phrased(own, following)
    acts = strong or verb_acts(tokens[verb].low)
    nouns: list[str] = []
    if own in bases("light") and not strong:  # "made a reservation", "re-ran the tests"
        nouns = [token.low for token in (*_object(tokens, verb), *subject) if noun_acts(token.low)]
        acts = frozenset(act for noun in nouns for act in noun_acts(noun)) or acts
    kind = ""
    if not strong and not nouns:
        kind = next((name for name in ("tentative", "mental", "spoken") if own in bases(name)), "")
        if own == base("note") and {"in", "on", "under"}.intersection(following):
            kind = ""  # "noted it in the log"
    acts |= weak
    if strong and own in bases("vague"):  # "let her know", "put together": the verb alone says nothing
        return Meaning(acts, frozenset(), kind, True)
    return Meaning(acts, frozenset(map(base, nouns)) or frozenset({own}), kind, bool(acts) or kind != "")


def is_vague(meaning: Meaning) -> bool:
    """Tell whether a verb can stand for so many acts that it says little."""
    return (
        not meaning.acts or len(meaning.acts) > MANY or bool(meaning.acts & GENERIC or meaning.bases & bases("vague"))
    )


def reads(meaning: Meaning) -> bool:
    """Tell whether a verb only says that something was looked at."""
    return bool(meaning.acts & {"read", "verify"}) and meaning.acts <= READING


@cache
def _opposites() -> tuple[tuple[frozenset[str], ...], ...]:
    """Verbs of which a call is one alone, by their bases: a line a kind."""
    return tuple(tuple(frozenset(map(base, side.split())) for side in line.split("|")) for line in lines("opposite"))


def are_opposite(some: frozenset[str], others: frozenset[str]) -> bool:
    """Tell whether verbs, by their bases, are the opposite of others: what added a thing has not removed it."""
    return any(
        one & some and other & others and not one & others and not other & some
        for kind in _opposites()
        for one, other in (kind, kind[::-1])
    )


#: Verbs that with one of these words behind them are nothing that a tool could do.
_MENTAL: Final = (
    (frozenset({"tak", "keep", "bear"}), frozenset({"account", "mind", "consideration", "care"}), REACH),
    (frozenset({"pay"}), frozenset({"attention"}), REACH),
    (frozenset({"mak"}), frozenset({"sure"}), 1),
    (frozenset({"mak"}), frozenset({"mental"}), 3),
    (frozenset({"settl"}), frozenset({"on", "for"}), 1),
    (frozenset({"leav"}), frozenset({"alone", "as-is"}), 4),
)


def _left_alone(own: str, following: Sequence[str]) -> bool:
    """Tell whether a thing was left so as it was: "left it as it was", "left the others unread"."""
    as_is = "as" in following and not words("be").isdisjoint(following)
    return own == base("leave") and (as_is or any(word.startswith("un") and word != "until" for word in following[1:4]))


def _phrased(own: str, following: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The acts of a verb with its particles: those that are it alone, and those that it may be too.

    A preposition may belong to the object as well: "added it to the cart", "added to the calendar".
    """
    strong: set[str] = set()
    weak: set[str] = set()
    for others, act in _table().phrases.get(own, ()):
        at = 0
        for other in others:
            if other not in following[at:]:
                break
            at = following.index(other, at) + 1
        else:
            toggled = own in bases("toggling") and following[:1] == ["on"]
            (weak if others[-1] in ("to", "in", "on") and not toggled else strong).add(act)
    return frozenset(strong), frozenset(weak)
