"""The verifiable instructions of IFEval (Zhou et al. 2023, arXiv:2311.07911) on words, letters, case and language.

Names and parameters are IFEval's own. Judged as strictly as its reference checker judges, with three differences:
keywords are words and not regular expressions, sentences and capital words are found without a trained tokenizer, and
a language that cannot be told (langdetect not installed, nothing to detect) is left open, not counted as followed.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import Field

from agentguard.content.compliance_rules import Outcome, Rule, Terms, outcome
from agentguard.content.language import language_of
from agentguard.content.words import encodable, sentence_spans

__all__ = ["WORDING_RULES", "IfevalRule", "Number", "Phrase", "Relation", "compared"]

Relation = Literal["less than", "at least"]
Number = Annotated[int, Field(strict=True, ge=0, le=10**9)]
Phrase = Annotated[str, Field(strict=True, pattern=r"\S")]
# Words as a treebank tokenizer cuts them: no brackets, quotes or commas within, but slashes, stars and hyphens.
TOKEN = re.compile(r"""[^\s,;:@#$%&?!\[\](){}<>"“”]+""")
CLITIC = re.compile(r"[^'\u2019]['\u2019](?:S|M|D|LL|RE|VE)$|.N['\u2019]T$")


class IfevalRule(Rule):
    """An instruction of IFEval; a blank text follows none."""

    def judge(self, text: str) -> Outcome:
        return self.examine(text) if text.strip() else Outcome(False, "the text is blank")

    @abstractmethod
    def examine(self, text: str) -> Outcome:
        """Judge a text that is not blank."""


def compared(number: int, relation: Relation, bound: int, what: str) -> Outcome:
    """The outcome of a count that is to be less than a bound, or at least as high."""
    followed = number < bound if relation == "less than" else number >= bound
    return outcome(followed, f"{number} {what}, asked for {relation} {bound}")


@lru_cache(maxsize=256)
def _keyword(word: str) -> re.Pattern[str]:
    return re.compile(re.escape(encodable(word)), re.IGNORECASE)


class Existence(IfevalRule):
    """Every keyword occurs, also within a longer word."""

    type: Literal["keywords:existence"] = "keywords:existence"
    keywords: Terms

    def examine(self, text: str) -> Outcome:
        missing = [word for word in self.keywords if not _keyword(word).search(text)]
        return outcome(not missing, f"missing: {', '.join(missing) or 'nothing'}")


class Frequency(IfevalRule):
    """A keyword occurs so often, also within longer words."""

    type: Literal["keywords:frequency"] = "keywords:frequency"
    keyword: Phrase
    frequency: Number
    relation: Relation

    def examine(self, text: str) -> Outcome:
        number = sum(1 for _ in _keyword(self.keyword.strip()).finditer(text))
        return compared(number, self.relation, self.frequency, f"times {self.keyword!r}")


class ForbiddenWords(IfevalRule):
    """None of the words occurs."""

    type: Literal["keywords:forbidden_words"] = "keywords:forbidden_words"
    forbidden_words: Terms

    def examine(self, text: str) -> Outcome:
        patterns = {word: rf"\b{_keyword(word).pattern}\b" for word in self.forbidden_words}
        found = {word: [m.span() for m in re.finditer(p, text, re.IGNORECASE)] for word, p in patterns.items()}
        spans = sorted(span for places in found.values() for span in places)
        return outcome(not spans, f"present: {', '.join(w for w in found if found[w]) or 'nothing'}", spans)


class LetterFrequency(IfevalRule):
    """A letter occurs so often, in either case."""

    type: Literal["keywords:letter_frequency"] = "keywords:letter_frequency"
    letter: Annotated[str, Field(strict=True, min_length=1, max_length=1)]
    let_frequency: Number
    let_relation: Relation

    def examine(self, text: str) -> Outcome:
        number = text.lower().count(self.letter.lower())
        return compared(number, self.let_relation, self.let_frequency, f"times {self.letter!r}")


class NumberOfSentences(IfevalRule):
    """So many sentences."""

    type: Literal["length_constraints:number_sentences"] = "length_constraints:number_sentences"
    num_sentences: Number
    relation: Relation

    def examine(self, text: str) -> Outcome:
        return compared(len(sentence_spans(text)), self.relation, self.num_sentences, "sentences")


class NumberOfWords(IfevalRule):
    """So many words; a hyphen or an apostrophe parts them."""

    type: Literal["length_constraints:number_words"] = "length_constraints:number_words"
    num_words: Number
    relation: Relation

    def examine(self, text: str) -> Outcome:
        return compared(len(re.findall(r"\w+", text)), self.relation, self.num_words, "words")


class NoComma(IfevalRule):
    """No comma."""

    type: Literal["punctuation:no_comma"] = "punctuation:no_comma"

    def examine(self, text: str) -> Outcome:
        spans = [match.span() for match in re.finditer(",", text)]
        return outcome(not spans, f"{len(spans)} commas", spans)


class CapitalWordFrequency(IfevalRule):
    """So many words in capital letters."""

    type: Literal["change_case:capital_word_frequency"] = "change_case:capital_word_frequency"
    capital_frequency: Number
    capital_relation: Relation

    def examine(self, text: str) -> Outcome:
        capital = [token for token in TOKEN.findall(text.replace("--", " ")) if token.isupper()]
        number = len(capital) + sum(CLITIC.search(token) is not None for token in capital)
        return compared(number, self.capital_relation, self.capital_frequency, "words in capitals")


class EnglishCapital(IfevalRule):
    """English in capital letters only; needs the package langdetect."""

    type: Literal["change_case:english_capital"] = "change_case:english_capital"

    def examine(self, text: str) -> Outcome:
        return _in_language(text, "en") if text.isupper() else _wrong_case(text, str.islower, "small")


class EnglishLowercase(IfevalRule):
    """English in small letters only; needs the package langdetect."""

    type: Literal["change_case:english_lowercase"] = "change_case:english_lowercase"

    def examine(self, text: str) -> Outcome:
        return _in_language(text, "en") if text.islower() else _wrong_case(text, str.isupper, "capital")


class ResponseLanguage(IfevalRule):
    """The text is in one language, by ISO 639-1 code; needs the package langdetect."""

    type: Literal["language:response_language"] = "language:response_language"
    language: Phrase

    def examine(self, text: str) -> Outcome:
        return _in_language(text, self.language)


def _in_language(text: str, wanted: str) -> Outcome:
    found = language_of(text)
    if found is None:
        return Outcome(None, "the language cannot be told: langdetect is not installed, or the text is too short")
    return outcome(found == wanted, f"language {found}, asked for {wanted}")


def _wrong_case(text: str, wrong: Callable[[str], bool], name: str) -> Outcome:
    spans = [(place, place + 1) for place, letter in enumerate(text) if wrong(letter)]
    return outcome(False, f"{len(spans)} {name} letters", spans)


WORDING_RULES: tuple[type[IfevalRule], ...] = (
    Existence,
    Frequency,
    ForbiddenWords,
    LetterFrequency,
    NumberOfSentences,
    NumberOfWords,
    NoComma,
    CapitalWordFrequency,
    EnglishCapital,
    EnglishLowercase,
    ResponseLanguage,
)
