"""Words as a claim and a passage are compared by: roots, families, synonyms, opposites. English.

The root folds plural, tense and adverb (``delivers``, ``delivered``, ``delivering``); the family also folds what makes
a noun of a verb or an adjective of a noun (``delivery``). The lists of words are the text files of this folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from itertools import permutations
from typing import Final, NamedTuple

from agentguard.content.grounding._values import plain

_FAMILY_ENDINGS: Final = (
    "ization isation ational fulness iveness ation ition ment ness abl ibl anc enc ancy ency ity iv ical ial ion er or "
    "ist ism ful ous ish ur ag ery ary ory al ic y ant ent"
).split()


class Token(NamedTuple):
    """A word.

    Attributes:
        start, end: Where it stands.
        root, family: What it is compared by.
        kind: ``content``, ``name`` (capitalised where no sentence begins), ``figure`` (a number, in digits or words),
            or ``light``: a function word.
        sentence: The number of its sentence.
    """

    start: int
    end: int
    root: str
    family: str
    kind: str
    sentence: int


def word_list(name: str) -> list[str]:
    """The lines of one of this folder's lists, without comments."""
    lines = files(__package__).joinpath(f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def word_sections(name: str) -> dict[str, list[str]]:
    """The lines of a list below each of its headings in brackets."""
    sections: dict[str, list[str]] = {}
    for line in filter(None, word_list(name)):
        if line.startswith("["):
            lines = sections.setdefault(line.strip("[]"), [])
        else:
            lines.append(line)
    return sections


@cache
def _irregular() -> dict[str, str]:
    return {form: base for line in word_list("irregular") for base, *forms in [line.split()] for form in forms}


@lru_cache(maxsize=50_000)
def root(word: str) -> str:
    """A word without case, accents, possessive, and the endings of number, tense and manner.

    >>> [root(word) for word in ("Delivers", "shipped", "shipping", "policies", "quickly", "bought", "purchase")]
    ['deliver', 'ship', 'ship', 'policy', 'quick', 'buy', 'purchas']
    """
    folded = plain(word).replace("\u2019", "'")
    for ending in ("'s", "s'", "'"):
        if folded.endswith(ending):
            folded = folded[: -len(ending)]
            break
    folded = folded.strip("'-")
    folded = _irregular().get(folded, folded)
    size = len(folded)
    if size < 4 or not folded.isalpha():
        return folded
    # The plural of a noun, or the third person of a verb.
    if folded.endswith("ies") and size > 4:
        folded = folded[:-3] + "y"
    elif folded.endswith(("sses", "xes", "ches", "shes", "zes")):
        folded = folded[:-2]
    elif folded.endswith("s") and not folded.endswith(("ss", "us", "is")):
        folded = folded[:-1]
    # Tense, or the adverb.
    if folded.endswith("ied") and len(folded) > 4:
        folded = folded[:-3] + "y"
    elif folded.endswith("ed") and len(folded) > 4 and any(vowel in folded[:-2] for vowel in "aeiouy"):
        folded = _undoubled(folded[:-2])
    elif folded.endswith("ing") and len(folded) > 5 and any(vowel in folded[:-3] for vowel in "aeiouy"):
        folded = _undoubled(folded[:-3])
    elif folded.endswith("ily") and len(folded) > 5:
        folded = folded[:-3] + "y"
    elif folded.endswith("ly") and len(folded) > 4:
        folded = folded[:-2]
    folded = _irregular().get(folded, folded)
    return folded[:-1] if folded.endswith("e") and len(folded) > 3 else folded


def is_plural(word: str) -> bool:
    """Whether a word, folded, has the form of a plural.

    >>> is_plural("guests"), is_plural("it's"), is_plural("glass")
    (True, False, False)
    """
    return word[-2:-1].isalpha() and word.endswith("s") and not word.endswith(("ss", "us", "is"))


def _undoubled(word: str) -> str:
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        return word[:-1]
    return word[:-1] if len(word) > 4 and word.endswith("ll") else word


@lru_cache(maxsize=50_000)
def family(stem: str) -> str:
    """Stem that words of one family share, from a word's root; roughly, by endings.

    >>> family(root("delivery")) == family(root("delivers")), family(root("announcement")) == family(root("announced"))
    (True, True)
    """
    if len(stem) < 5 or not stem.isalpha():
        return stem
    for _ in range(2):
        for ending in _FAMILY_ENDINGS:
            if stem.endswith(ending) and len(stem) - len(ending) >= 4:
                stem = stem[: -len(ending)]
                break
        else:
            break
    if stem.endswith(("e", "i", "y")) and len(stem) > 4:
        stem = stem[:-1]
    if len(stem) > 4 and stem[-1] == stem[-2]:
        stem = stem[:-1]
    return stem[:-1] + "s" if stem[-1] == "d" and stem[-2] in "aeiou" else stem  # invade, invasion


@cache
def generic_roots() -> frozenset[str]:
    """Roots of words that say little by themselves, as "policy" or "include"."""
    return frozenset(root(word) for line in word_list("generic") for word in line.split())


@cache
def _classes(name: str) -> dict[str, frozenset[str]]:
    shared: dict[str, set[str]] = {}
    for line in word_list(name):
        roots = {root(word) for word in line.split()}
        for each in roots:
            shared.setdefault(each, set()).update(roots - {each})
    return {word: frozenset(others) for word, others in shared.items()}


@cache
def _excluded(name: str) -> dict[str, frozenset[str]]:
    excluded: dict[str, set[str]] = {}
    for line in word_list(name):
        sides = [{root(word) for word in side.split()} for side in line.split("|")]
        for here, there in permutations(sides, 2):
            for each in here:
                excluded.setdefault(each, set()).update(there - here)
    return {word: frozenset(others) for word, others in excluded.items()}


# Beginnings that deny, and beginnings of words that exclude one another: "untrimmed", "uphill" and "downhill".
_DENYING: Final = ("un", "non-", "non")
_EXCLUDING: Final = tuple(
    pair for each in ("up down", "in out", "over under", "on off", "pre post") for pair in permutations(each.split(), 2)
)
_MIN_STEM: Final = 4  # letters behind such a beginning


def _turned(one: str) -> Iterator[str]:
    """The roots that a root excludes by its beginning, words or not."""
    for beginning in _DENYING:
        yield beginning + one
        if one.startswith(beginning) and len(one) - len(beginning) >= _MIN_STEM:
            yield one.removeprefix(beginning)
    for beginning, other in _EXCLUDING:
        if one.startswith(beginning) and len(one) - len(beginning) >= _MIN_STEM:
            yield other + one.removeprefix(beginning)


def synonyms_of(one: str) -> frozenset[str]:
    """The roots that share a class with a root.

    >>> root("acquire") in synonyms_of(root("purchase")), synonyms_of("zebra")
    (True, frozenset())
    """
    return _classes("synonyms").get(one, frozenset())


def related_to(one: str) -> frozenset[str]:
    """The roots that are near a root, without being its synonyms.

    >>> root("fruit") in related_to(root("apple")), related_to("zebra")
    (True, frozenset())
    """
    return _classes("related").get(one, frozenset())


@lru_cache(maxsize=50_000)
def opposites_of(one: str) -> frozenset[str]:
    """The roots that exclude a root, and those that would if they were words.

    >>> root("optional") in opposites_of(root("required")), root("untrimmed") in opposites_of(root("trimmed"))
    (True, True)
    """
    return _excluded("opposites").get(one, frozenset()).union(_turned(one))


def siblings_of(one: str) -> frozenset[str]:
    """The roots of other kinds of the same thing.

    >>> root("autumn") in siblings_of(root("spring")), siblings_of("zebra")
    (True, frozenset())
    """
    return _excluded("siblings").get(one, frozenset())
