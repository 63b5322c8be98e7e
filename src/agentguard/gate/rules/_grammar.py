"""English grammar for parting clauses: which words are finite verbs, and where a subject ends.

A word counts as a verb where its form and its neighbours leave little doubt; what is missed stays in one claim.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from agentguard.content._text import STOPWORDS
from agentguard.gate.rules._words import word_sections


def _third(base: str) -> str:
    """The third person singular of a verb."""
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + ("es" if base.endswith(("s", "x", "ch", "sh", "o")) else "s")


def _past(base: str) -> str:
    """The past of a regular verb."""
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    return base + ("d" if base.endswith("e") else "ed")


WORDS: Final = {kind: frozenset(" ".join(lines).split()) for kind, lines in word_sections("grammar").items()}
AUXILIARIES: Final = WORDS["auxiliaries"]
DETERMINERS: Final = WORDS["determiners"]
PREPOSITIONS: Final = WORDS["prepositions"]
SUBORDINATORS: Final = WORDS["subordinators"]
RELATIVES: Final = WORDS["relatives"]
PRONOUNS: Final = WORDS["pronouns"]
NEGATIONS: Final = WORDS["negations"]
LIGHT: Final = WORDS["light"] | STOPWORDS
_BASE: Final = WORDS["verbs"]
_THIRD: Final = frozenset(map(_third, _BASE))
_PAST: Final = frozenset(map(_past, _BASE)) | WORDS["pasts"]
_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*|[$€£]")
MAX_SUBJECT: Final = 12  # words before the verb


class Clause(NamedTuple):
    """The beginning of a clause: the words of its subject, and where its verb begins, in characters."""

    subject: tuple[str, ...]
    subject_end: int
    verb: int


def is_finite(words: Sequence[str], position: int) -> bool:
    """Whether the word at this place can be a finite verb, its neighbours considered.

    >>> is_finite(["shipping", "is", "free"], 1), is_finite(["the", "costs"], 1), is_finite(["Ann", "asks"], 1)
    (True, False, True)
    """
    word = words[position].casefold().replace("\u2019", "'")
    before = words[position - 1].casefold() if position else ""
    if word in AUXILIARIES:
        return True
    if not before or before in DETERMINERS or before in PREPOSITIONS or before == "and":
        return before == "that" and word in _THIRD
    if word in _THIRD or word in _PAST:
        return True
    return word in _BASE and (
        before in {"i", "you", "we", "they"} or (before.endswith("s") and not before.endswith(("ss", "us", "is")))
    )


def is_predicate(words: Sequence[str]) -> bool:
    """Whether a clause without its subject begins with these words, folded: "is free", "costs $5", "placed before"."""
    if not words:
        return False
    if words[0] in AUXILIARIES or words[0] in _THIRD or words[0] in _PAST:
        return True
    return words[0].endswith(("s", "ed")) and len(words) > 1 and (words[1] in DETERMINERS or words[1] in {"it", "them"})


def is_past(word: str) -> bool:
    """Whether a word, folded, is a past form or participle."""
    return word in _PAST


def is_base(words: Sequence[str], position: int) -> bool:
    """Whether the word at this place can be a verb in its base form: no article and no preposition stands before it."""
    before = words[position - 1]
    return words[position] in _BASE and not (before in DETERMINERS or before in PREPOSITIONS or before in AUXILIARIES)


def begins_order(words: Sequence[str]) -> bool:
    """Whether a clause that begins with these words, folded, tells someone to do something: "Mix it", "Do not use"."""
    if len(words) < 2:
        return False
    if words[0] in {"do", "don't", "never", "please"}:
        return True
    objects = DETERMINERS | {"it", "them", "us"}
    return (
        (words[0] in _BASE or not words[0].endswith("s"))
        and words[1] in objects
        and words[0].isalpha()  # "1.3 A ticket …" is no order
        and words[0] not in (PREPOSITIONS | DETERMINERS | SUBORDINATORS | PRONOUNS | AUXILIARIES | LIGHT)
    )


def clause(text: str) -> Clause | None:
    """The subject and the place of the verb of a text that is a main clause; None if it does not look like one.

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
    for position in range(1, min(len(words), MAX_SUBJECT + 1)):
        if words[position].casefold() in RELATIVES:
            relative = True
        if is_finite(words, position):
            past = words[position].casefold() in _PAST
            later = any(
                words[at].casefold() in AUXILIARIES for at in range(position + 1, min(len(words), position + 7))
            )
            if (past and later) or relative:  # "items bought online are …", "what the shop sells is …"
                relative = False
                continue
            if "," in text[: found[position].start()] and not later and words[position].casefold() in _PAST:
                return None
            return Clause(tuple(words[:position]), found[position - 1].end(), found[position].start())
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
