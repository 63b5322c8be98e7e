"""English as answers are read by: the words of ``english.ini``, and the verbs behind their forms."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Final, NamedTuple

from agentguard.content._patterns import read_table

VOWELS: Final = "aeiouy"


@cache
def words(name: str) -> frozenset[str]:
    """The words of one entry of ``english.ini``."""
    return frozenset(read_table(__package__, "english.ini")["verbs"][name].split())


class _Forms(NamedTuple):
    past: dict[str, str]
    participle: dict[str, str]


@cache
def _irregular() -> _Forms:
    past, participle = {}, {}
    for line in read_table(__package__, "english.ini")["verbs"]["past"].replace("\n", ";").split(";"):
        if line.strip():
            base, one, other = line.split()
            past[one], participle[other] = base, base
    return _Forms(past, participle)


@lru_cache(maxsize=20_000)
def base(word: str) -> str:
    """The verb or noun behind a form, as far as words are compared by it: its letters may be cut short.

    >>> [base(word) for word in ("pushed", "pushes", "sent", "cancelled", "cancelling", "queries", "notified", "ran")]
    ['push', 'push', 'send', 'cancel', 'cancel', 'query', 'notify', 'run']
    """
    forms = _irregular()
    word = word.casefold().removesuffix("'s").removesuffix("’s")
    if word in forms.past or word in forms.participle:
        word = forms.past.get(word) or forms.participle[word]
    first, dash, last = word.rpartition("-")
    if dash and last.isalpha():
        return f"{first}-{base(last)}"
    if len(word) < 4 or not word.isalpha():
        return _undoubled(word)
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith(("sses", "xes", "ches", "shes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if word.endswith("ied") and len(word) > 4:
        word = word[:-3] + "y"
    else:
        for ending in ("ed", "ing"):
            if word.endswith(ending) and len(word) > len(ending) + 2 and any(v in word[: -len(ending)] for v in VOWELS):
                word = _undoubled(word[: -len(ending)])
                break
    return word[:-1] if word.endswith("e") and len(word) > 3 else _undoubled(word)


def _undoubled(word: str) -> str:
    return word[:-1] if len(word) > 2 and word[-1] == word[-2] and word[-1] not in "sz" else word


def is_past(word: str) -> bool:
    """Whether a word, in small letters, has the form of a past tense or a past participle.

    >>> [is_past(word) for word in ("pushed", "sent", "need", "push", "bed")]
    [True, True, False, False, False]
    """
    forms = _irregular()
    return (
        word in forms.past
        or word in forms.participle
        or (len(word) > 4 and word.endswith("ed") and not word.endswith("eed") and word not in _NO_PAST)
        or ("-" in word and word.endswith("ed"))
    )


def is_participle(word: str) -> bool:
    """Whether a word, in small letters, can be a past participle."""
    forms = _irregular()
    return word in forms.participle or (is_past(word) and word not in forms.past)


_NO_PAST: Final = frozenset("embed shed sled united hundred red indeed speed seed need feed sacred naked wicked".split())
