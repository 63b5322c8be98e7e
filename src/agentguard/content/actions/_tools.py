"""Tools, and what they can do by what they say of themselves."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from agentguard.content.actions._acts import READING, noun_acts, phrase_acts, verb_acts
from agentguard.content.actions._english import base, words

MOST_DESCRIBED: Final = 2_000  # characters of a description that are read
#: Arguments that hold a program, a statement or a request: their tool does whatever these say.
PROGRAMS: Final = frozenset(
    "command cmd commands script code sql query statement method url path patch body workflow selector ref prompt"
    " action operation function expression".split()
)
_GENERAL: Final = frozenset("bash shell sql http python api exec execute task".split())
_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_AND: Final = frozenset({"and", "or", "/", "|", ","})
REACH: Final = 12  # words of a description in which its verbs are looked for
_TOKEN = re.compile(r"[A-Za-z-]+|[/|,.;:(]")
_WORD = re.compile(r"[A-Za-z]+|\d+")


class Tool(NamedTuple):
    """A tool, by what it says of itself.

    Attributes:
        name: the agent's name for it.
        description: in its own words.
        arguments: the names of its arguments.
        does: the verbs, with their objects, that its owner declared ("send email").
    """

    name: str
    description: str = ""
    arguments: tuple[str, ...] = ()
    does: tuple[str, ...] = ()


class Described(NamedTuple):
    """The acts of the verbs at the beginning of a description, and the bases of these verbs."""

    acts: frozenset[str]
    verbs: frozenset[str]


class Ability(NamedTuple):
    """The abilities of a tool.

    Attributes:
        acts: by its name, or as declared.
        also: by its description.
        verbs: the bases of the words of its name that say what it does.
        names: the bases of the other words of its name, and of nouns among the first.
        about: the bases of its name's, description's and arguments' words.
        described: what the first sentence of its description says that it does.
        tentative: it only prepares, or holds.
        general: it does what its arguments say.
    """

    acts: frozenset[str]
    also: frozenset[str]
    verbs: frozenset[str]
    names: frozenset[str]
    about: frozenset[str]
    described: Described
    tentative: bool
    general: bool


class _Name(NamedTuple):
    """The words of a name, read: the acts, the bases of the words that say them, and whether it only prepares."""

    acts: frozenset[str]
    verbs: frozenset[str]
    tentative: bool


def ability_of(tool: Tool) -> Ability:
    """Read the ability of a tool from what it says of itself.

    >>> ability = ability_of(Tool("crm.refunds.issue", "Pays back an order.", ("order_id", "amount")))
    >>> "refund" in ability_of(Tool("issue_refund")).acts, ability_of(Tool("draftEmail")).tentative, ability.general
    (True, True, False)
    """
    pieces = pieces_of(tool.name)
    # The last part of a dotted name says what it does, the one before to what: "crm.contacts.update".
    *before, last = (pieces_of(part) for part in re.split(r"\.|__|/", tool.name))
    name = _read(last or pieces, before[-1] if before else ())
    first = described_by(tool.description[:MOST_DESCRIBED])
    noun = len(pieces) == 1 and (noun_acts(pieces[0]) or not verb_acts(pieces[0]))
    if noun and first.acts and first.acts <= READING:
        name = _Name(frozenset({"read"}), first.verbs, False)  # mail: "Search the mailbox or read a message."
    declared = [_read(each.casefold().split()) for each in tool.does]
    described = [each.casefold() for each in _WORD.findall(tool.description[:MOST_DESCRIBED])]
    arguments = [piece for argument in tool.arguments for piece in pieces_of(argument)]
    general = not name.acts and bool(PROGRAMS & {argument.casefold() for argument in tool.arguments})
    return Ability(
        name.acts.union(*(each.acts for each in declared)),
        frozenset(act for each in described for act in verb_acts(each) | noun_acts(each)),
        name.verbs.union(*(each.verbs for each in declared)),
        frozenset(base(each) for each in pieces if base(each) not in name.verbs or noun_acts(each)),
        bases_of([*pieces, *described, *arguments]),
        first,
        name.tentative or any(each.tentative for each in declared),
        general or bool(_GENERAL & set(pieces)),
    )  # fmt: skip


def described_by(description: str) -> Described:
    """Read the verbs that a description begins with; none where it begins with another word.

    >>> sorted(described_by("Cordons and drains a node, then waits.").verbs)
    ['cordon', 'drain']
    """
    sentence = description.split(". ")[0]
    tokens = itertools.dropwhile(_is_adverb, (each.casefold() for each in _TOKEN.findall(sentence)))
    verbs: list[str] = []
    expected = True
    for token in itertools.islice(tokens, REACH):
        if token in _AND:
            expected = True
        elif expected and verb_acts(token):
            verbs.append(token)
            expected = False
        elif not verbs or not token[0].isalpha():
            break
        else:
            expected = False
    return Described(frozenset(act for verb in verbs for act in verb_acts(verb)), bases_of(verbs))


def _is_adverb(word: str) -> bool:
    return word in words("adverb") or word.endswith("ly")


def pieces_of(name: str) -> list[str]:
    """The words of a name, in small letters.

    >>> pieces_of("mcp__github__createPullRequest")
    ['mcp', 'github', 'create', 'pull', 'request']
    """
    return [piece.casefold() for piece in _PIECE.findall(name)]


def bases_of(found: Iterable[str]) -> frozenset[str]:
    """The bases of words."""
    return frozenset(base(word) for word in found)


def _read(pieces: Sequence[str], before: Sequence[str] = ()) -> _Name:
    """Read the words of a name: its verb does, and where that only says "make", the noun that it makes.

    The noun may stand in the part of the name before: "payments.refunds.create".
    """
    prepares = [piece for piece in pieces if piece in words("prepares")]
    if prepares and not any(_acts_on(piece) for piece in pieces[: pieces.index(prepares[0])]):
        acts = frozenset(act for piece in prepares for act in verb_acts(piece) | noun_acts(piece))
        return _Name(acts, bases_of(prepares), True)
    if pieces and pieces[-1] in words("looks") and not (verb_acts(pieces[0]) and not noun_acts(pieces[0])):
        return _Name(frozenset({"read"}), frozenset({base(pieces[-1])}), False)  # "order_find"
    verbs = [piece for piece in pieces if verb_acts(piece)]
    if not verbs:
        return _Name(frozenset(act for piece in pieces for act in noun_acts(piece)), bases_of(pieces), False)
    for first, second in itertools.pairwise(pieces):
        if phrase_acts(first, second):
            return _Name(phrase_acts(first, second), frozenset({base(first)}), False)
    verb = _verb(pieces, verbs)
    if verb in words("looks"):
        return _Name(frozenset({"read"}), frozenset({base(verb)}), False)
    acts = frozenset({"run"}) if verb in words("runs") else verb_acts(verb)
    made = (
        [piece for piece in (*before, *pieces) if piece != verb and noun_acts(piece)] if verb in words("making") else []
    )
    return _Name(acts.union(*(noun_acts(piece) for piece in made)), bases_of([verb, *made]), False)


def _verb(pieces: Sequence[str], verbs: Sequence[str]) -> str:
    """The verb of a name, of those that may be it: "crm_get_contact" contacts nobody, "order_cancel" orders nothing."""
    first, last = pieces[0], pieces[-1]
    if first in verbs and noun_acts(first) and last in verbs and not noun_acts(last) and last not in words("runs"):
        return last
    if first in verbs or last in words("plainly"):
        return first if first in verbs else last
    plain = (piece for piece in pieces[1:-1] if piece in verbs and piece in words("plainly"))
    return next(plain, last if last in verbs else verbs[0])


def _acts_on(piece: str) -> bool:
    """Tell whether a word of a name does something with what it is before, and does not make it: "cancelHold"."""
    return bool(verb_acts(piece)) and not noun_acts(piece) and piece not in words("making") | words("keeping")
