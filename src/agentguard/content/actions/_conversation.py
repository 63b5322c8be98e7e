"""The conversation: what was asked and answered, as the things that calls were given are looked for in it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from agentguard.content.actions._compared import MOST_READ, bare, clocked, is_said, numbers_in
from agentguard.content.actions._english import words
from agentguard.content.grounding._values import Moment

LEAST_NUMBER: Final = 10  # smaller ones are of too many things
LAST_DAY: Final = 31
#: A capitalised word that does not begin a sentence.
_NAME = re.compile(r"(?<=[\w,] )[^\W\d_a-z][^\W\d_A-Z]+(?![\w@.-]\w)")
_TITLES: Final = frozenset({"mr", "mrs", "ms", "dr", "prof"})
_ORDINAL = re.compile(r"(?<!\w)(\d{1,2})(?:st|nd|rd|th)(?!\w)")
_WORD = re.compile(r"[\w-]+")
_LETTERS = re.compile(r"[^\W\d_]+")


class Conversation:
    """The words of a user and of the agent that answers.

    Args:
        question: what was asked, and is known.
        answer: what was answered.

    Attributes:
        question: in small letters.
        answer: as it was written.
        names: the capitalised words of the question, in small letters; not those that begin its sentences.
    """

    def __init__(self, question: str, answer: str) -> None:
        self.question, self.answer, self._both = question.casefold(), answer, f"{question}\n{answer}"
        self.names = frozenset(each.casefold() for each in _NAME.findall(question)) - _TITLES - words("times")

    @cached_property
    def text(self) -> str:
        """All of it, in small letters."""
        return self._both.casefold()

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words, without accents."""
        return frozenset(_LETTERS.findall(plain(self._both)))

    @cached_property
    def numbers(self) -> frozenset[float]:
        """Its numbers, money in cents, too."""
        numbers = numbers_in(self._both)
        return frozenset(numbers | {100 * number for number in numbers if number >= LEAST_NUMBER})

    @cached_property
    def asked_numbers(self) -> frozenset[float]:
        """The numbers of the question."""
        return frozenset(numbers_in(self.question))

    @cached_property
    def asked_moments(self) -> tuple[tuple[Moment, ...], ...]:
        """The dates and times of the question."""
        return moments_in(self.question[:MOST_READ])

    @cached_property
    def _moments(self) -> tuple[tuple[Moment, ...], ...]:
        return moments_in(self._both[:MOST_READ])

    @cached_property
    def asked_words(self) -> frozenset[str]:
        """The words of the question, in small letters."""
        return frozenset(_WORD.findall(self.question))

    @cached_property
    def all_words(self) -> frozenset[str]:
        """All words, in small letters."""
        return frozenset(_WORD.findall(self.text))

    def has_moment(self, moment: Moment) -> bool:
        """Tell whether anybody has said a date or time."""
        return any(agree(said, (moment,)) for said in self._moments)

    def asked(self, token: str) -> bool:
        """Tell whether the question has what is said exactly."""
        return token in self.question or bare(token) in self.question

    def has(self, token: str) -> bool:
        """Tell whether anybody has said something exactly."""
        return re.search(rf"(?<![^\W_]){re.escape(bare(token))}(?![^\W_])", self.text) is not None


def moments_in(text: str) -> tuple[tuple[Moment, ...], ...]:
    """The dates and times of a text, each in every way that it can be read; of "the 20th" the day alone.

    >>> [moment.day for (moment,) in moments_in("from the 20th until 3 June")]
    [3, 20]
    """
    moments = clocked(text)
    dated = {moment.day for moment in single(moments)}
    days = {int(day) for day in _ORDINAL.findall(text)}
    return moments + tuple((Moment(day=day),) for day in sorted(days - dated) if 0 < day <= LAST_DAY)


def single(stated: Iterable[Sequence[Moment]]) -> Iterator[Moment]:
    """The dates and times, in every way that they can be read."""
    return (moment for readings in stated for moment in readings)


def agree(one: Sequence[Moment], other: Sequence[Moment]) -> bool:
    """Tell whether a date or time, in one of the ways it can be read, is among others."""
    return any(is_said(each, other) for each in one)


def plain(text: str) -> str:
    """A text in small letters, without accents."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(each for each in decomposed if not unicodedata.combining(each))
