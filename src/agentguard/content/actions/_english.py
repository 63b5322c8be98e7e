"""English as answers are read by: the words of ``english.ini``, and the verbs behind their forms."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final, NamedTuple

from agentguard.content._patterns import read_table

_VOWELS: Final = "aeiouy"
_NOT_PAST: Final = frozenset("embed united hundred indeed sacred naked wicked".split())
_PAST_IN_EED: Final = frozenset("agreed freed guaranteed decreed".split())


@cache
def _table() -> Mapping[str, str]:
    return read_table(__package__, "english.ini")["words"]


@cache
def words(entry: str) -> frozenset[str]:
    """The words of one entry of ``english.ini``."""
    return frozenset(_table()[entry].split())


@cache
def bases(entry: str) -> frozenset[str]:
    """The bases of the words of one entry."""
    return frozenset(base(word) for word in words(entry))


def lines(entry: str) -> list[str]:
    """The lines of one entry."""
    return _table()[entry].strip().splitlines()


class _Forms(NamedTuple):
    past: dict[str, str]
    participle: dict[str, str]


@cache
def _irregular() -> _Forms:
    past: dict[str, str] = {}
    participle: dict[str, str] = {}
    for row in ";".join(lines("past")).split(";"):
        if row.strip():
            verb, one, other = row.split()
            for again in ("", "re", "re-"):
                past.setdefault(again + one, again + verb)
                participle.setdefault(again + other, again + verb)
    return _Forms(past, participle)


@lru_cache(maxsize=20_000)
def base(word: str) -> str:
    """The verb or noun behind a form, as words are compared by it: its end may be cut off.

    >>> [base(word) for word in ("pushed", "pushes", "sent", "cancelled", "cancelling", "queries", "notified", "wrote")]
    ['push', 'push', 'send', 'cancel', 'cancel', 'query', 'notify', 'writ']
    """
    forms = _irregular()
    word = word.casefold().removesuffix("'s").removesuffix("’s")  # noqa: RUF001
    if word in forms.past or word in forms.participle:
        word = forms.past.get(word) or forms.participle[word]
    first, dash, last = word.rpartition("-")
    if dash and last.isalpha():
        return f"{first}-{base(last)}"
    if len(word) < 4 or not word.isalpha():
        return _undoubled(word)
    # A plural, or the third person.
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith(("sses", "xes", "ches", "shes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    # The past, or the present participle.
    if word.endswith("ied") and len(word) > 4:
        word = word[:-3] + "y"
    else:
        for ending in ("ed", "ing"):
            stem = word[: -len(ending)]
            if word.endswith(ending) and (len(stem) > 2 or stem == "go") and any(vowel in stem for vowel in _VOWELS):
                word = _undoubled(stem)
                break
    return word[:-1] if word.endswith("e") and len(word) > 3 else _undoubled(word)


def _undoubled(word: str) -> str:
    return word[:-1] if len(word) > 2 and word[-1] == word[-2] and word[-1] not in "sz" else word


def is_past(word: str) -> bool:
    """Tell whether a word, in small letters, has the form of a past tense or a past participle.

    >>> [is_past(word) for word in ("pushed", "sent", "need", "push", "bed")]
    [True, True, False, False, False]
    """
    forms = _irregular()
    return (
        word in forms.past
        or word in forms.participle
        or (len(word) > 4 and word.endswith("ed") and not word.endswith("eed") and word not in _NOT_PAST)
        or word in _PAST_IN_EED
        or ("-" in word and word.endswith("ed"))
    )


def is_participle(word: str) -> bool:
    """Tell whether a word, in small letters, can be a past participle.

    >>> is_participle("sent"), is_participle("wrote"), is_participle("written")
    (True, False, True)
    """
    forms = _irregular()
    return word in forms.participle or (is_past(word) and word not in forms.past)


def is_plain(word: str) -> bool:
    """Tell whether a word can be a verb's plain form, as in an order: it has no ending of another one."""
    return not word.endswith(("ed", "ing", "s")) and (word not in _irregular().past or word in words("same"))
