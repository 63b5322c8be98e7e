"""As much English grammar as the parting of clauses needs: which words are finite verbs, and where a subject ends.

A word counts as a verb where its form and its neighbours leave little doubt; what is missed stays in one claim.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

AUXILIARIES: Final = frozenset(
    """is are was were am has have had do does did can could will would shall should may might must cannot isn't aren't
    wasn't weren't hasn't haven't hadn't don't doesn't didn't can't couldn't won't wouldn't shouldn't mustn't""".split()
)
_BASES: Final = """
    accept achieve add address affect agree aim allow analyze answer appear apply approve arrive ask assign
    attract become begin believe belong benefit block break bring build buy calculate call cancel carry cause
    change charge check choose claim collect combine come compare complete conduct confirm connect consist
    contain continue control convert cost count cover create cut decide default deliver depend deploy describe
    deserve detect determine develop differ disable discuss display double download drive drop earn eliminate
    employ enable encourage encrypt end ensure enter exceed exclude exist expect expire explain export extend
    fail fall feature find fit focus follow free fund gain generate get give go grant grow guarantee handle
    happen hate help hold identify implement imply import improve include increase indicate inform install
    integrate introduce invest involve issue join keep kill know last launch lead learn leave let lie limit list
    listen live load log lose love mail make manage mean measure meet migrate monitor move need notify obtain
    occur offer open operate own pay perform permit plan play prevent process produce prohibit promise promote
    protect prove provide publish purchase put qualify range reach read receive recommend record reduce refund
    refuse reject release remain remove renew replace reply report require reset resolve respond restrict retain
    return reveal rise rotate run save say schedule see seek select sell send separate serve set settle share
    ship show sign sit solve speak spend start state stay stop store submit suffer suggest supply support sync
    take talk teach tell tend terminate think throw total track transfer travel treat trigger try turn
    understand update upgrade upload use validate vary verify visit wait want warn watch weigh win work write""".split()
_IRREGULAR: Final = frozenset(
    """became began bought brought built came chose cost cut did drew drove fell felt flew found gave got grew held hit
    kept knew led left lent lost made meant met paid put ran rose said sat saw sent set shot showed sold spent spoke
    stole stood struck swore taught thought threw told took understood went woke won wore wrote""".split()
)
_BASE: Final = frozenset(_BASES)
_THIRD: Final = frozenset(
    (base[:-1] + "ies" if base.endswith("y") and base[-2] not in "aeiou" else base + "es")
    if base.endswith(("s", "x", "ch", "sh", "o", "y")) and not base.endswith(("ay", "ey", "oy", "uy"))
    else base + "s"
    for base in _BASES
)
_PAST: Final = _IRREGULAR | frozenset(
    base + "d"
    if base.endswith("e")
    else base[:-1] + "ied"
    if base.endswith("y") and base[-2] not in "aeiou"
    else base + "ed"
    for base in _BASES
)
DETERMINERS: Final = frozenset(
    "a an the this that these those its their our your his her my each every any all no some".split()
)
PREPOSITIONS: Final = frozenset(
    """about above across after against along among around at before behind below between beyond by despite during
    except for from in inside into like near of off on onto over per since through throughout to toward towards under
    until up upon via with within without than as""".split()
)
SUBORDINATORS: Final = frozenset(
    "if when whenever unless because since until while although though after before once as where".split()
)
RELATIVES: Final = frozenset("which who whom whose that where when".split())
PRONOUNS: Final = frozenset("i you we they he she it this these there who which".split())
_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*|[$€£]")
MAX_SUBJECT: Final = 12  # words before the verb


class Clause(NamedTuple):
    """The beginning of a clause: the words of its subject, and where its verb begins, in characters."""

    subject: tuple[str, ...]
    subject_end: int
    verb: int


def is_finite(words: Sequence[str], place: int) -> bool:
    """Whether the word at this place can be a finite verb, its neighbours considered.

    >>> is_finite(["shipping", "is", "free"], 1), is_finite(["the", "costs"], 1), is_finite(["Ann", "asks"], 1)
    (True, False, True)
    """
    word = words[place].casefold().replace("\u2019", "'")
    before = words[place - 1].casefold() if place else ""
    if word in AUXILIARIES:
        return True
    if not before or before in DETERMINERS or before in PREPOSITIONS or before == "and":
        return before == "that" and word in _THIRD
    if word in _THIRD or word in _PAST:
        return True
    return word in _BASE and (
        before in {"i", "you", "we", "they"} or (before.endswith("s") and not before.endswith("ss"))
    )


def clause(text: str) -> Clause | None:
    """The subject and the place of the verb of a text that is a main clause; None where it does not look like one.

    >>> clause("shipping is free for orders over $50")
    Clause(subject=('shipping',), subject_end=8, verb=9)
    >>> clause("free shipping for orders") is None
    True
    """
    found = [match for match, _ in zip(_WORD.finditer(text), range(MAX_SUBJECT + 8), strict=False)]
    words = [match[0] for match in found]
    if not words or words[0].casefold() in PREPOSITIONS | RELATIVES - {"that"} | SUBORDINATORS:
        return None
    relative = False
    for place in range(1, min(len(words), MAX_SUBJECT + 1)):
        if words[place].casefold() in RELATIVES:
            relative = True
        if is_finite(words, place):
            past = words[place].casefold() in _PAST
            later = any(words[at].casefold() in AUXILIARIES for at in range(place + 1, min(len(words), place + 7)))
            if (past and later) or relative:  # "items bought online are …", "what the shop sells is …"
                relative = False
                continue
            if "," in text[: found[place].start()] and not later and words[place].casefold() in _PAST:
                return None
            return Clause(tuple(words[:place]), found[place - 1].end(), found[place].start())
    return None


def starts_predicate(text: str) -> bool:
    """Whether a text begins with a verb that another clause's subject can go with: "costs $20 a month".

    >>> starts_predicate("costs $20 a month"), starts_predicate("support by e-mail"), starts_predicate("reports")
    (True, False, False)
    """
    words = _WORD.findall(text[:200])
    if len(words) < 2:
        return False
    first, second = words[0].casefold(), words[1].casefold()
    if first in AUXILIARIES:
        return True
    return first in _THIRD and second not in {"of", "for", "and", "or", "in", "to"} and not is_finite(words, 1)
