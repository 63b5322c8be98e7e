"""Compliance of an answer with rules of form: each rule judged, and the share that holds.

Among the rules are the verifiable instructions of IFEval (Zhou et al. 2023, arXiv:2311.07911), with its names and
parameters. They are judged as strictly as its reference checker judges, with three differences: keywords are words and
not regular expressions, sentences and capital words are found without a trained tokenizer, and a language that cannot
be told (langdetect not installed, nothing to detect) is left open, not counted as followed.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from agentguard.content._findings import Finding
from agentguard.content._text import (
    STOPWORDS,
    count_words,
    encodable,
    fenced_blocks,
    json_part,
    list_items,
    plural_stripped,
    sentence_spans,
    terms,
)
from agentguard.content._text import words as words_of
from agentguard.errors import ConfigurationError

SAMPLE = 20_000  # characters; langdetect itself reads the first 10,000 that are no address


def language_of(text: str) -> str | None:
    """Detect the language: its ISO 639-1 code (``zh-cn`` and ``zh-tw`` for Chinese), or None.

    It cannot be told where langdetect is not installed, or where the text has nothing to detect. The same text gives
    the same answer: the detector's sampling is seeded.
    """
    factory = _factory()
    if factory is None:
        return None
    from langdetect import LangDetectException

    detector = factory.create()
    detector.seed = 0
    detector.append(text[:SAMPLE])
    try:
        found: str = detector.detect()
    except LangDetectException:
        return None
    return None if found == detector.UNKNOWN_LANG else found


@lru_cache(maxsize=1)
def _factory() -> Any:
    """A detector factory with its 55 languages (half a second to read), or None."""
    try:
        from langdetect.detector_factory import PROFILES_DIRECTORY, DetectorFactory
    except ImportError:
        return None
    factory = DetectorFactory()
    factory.load_profile(PROFILES_DIRECTORY)
    return factory


# --- Rules: format, length, terms, keys, topics ---


SPANS = 20  # so many places of one rule are named; the verdict counts all


class Outcome(NamedTuple):
    """The outcome of one rule.

    Attributes:
        followed: whether the text follows the rule; None where it cannot be told.
        detail: what was found, in numbers or in the rule's own words.
        spans: where it is broken; empty where no place can be named.
    """

    followed: bool | None
    detail: str
    spans: tuple[tuple[int, int], ...] = ()


def outcome(followed: bool, detail: str, spans: Iterable[tuple[int, int]] = ()) -> Outcome:
    """Make an outcome that names the first places only, and none where the rule is followed."""
    return Outcome(followed, detail, () if followed else tuple(spans)[:SPANS])


class Rule(BaseModel, ABC):
    """A rule of form. ``type`` names it where rules are given as dictionaries."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    type: str

    @abstractmethod
    def judge(self, text: str) -> Outcome:
        """Judge a text that holds no lone surrogates, in time linear in its length."""


def _one_or_many(value: Any) -> Any:
    """Take a single string for a list of one; anything else is left for pydantic to judge."""
    return (value,) if isinstance(value, str) else value


Term = Annotated[str, Field(min_length=1, strict=True)]
Terms = Annotated[tuple[Term, ...], BeforeValidator(_one_or_many), Field(min_length=1)]
Count = Annotated[int, Field(strict=True, ge=0, le=10**9)]


class Format(Rule):
    """The text is JSON (an object or array), a list, plain paragraphs, or has a code block."""

    type: Literal["format"] = "format"
    format: Literal["json", "list", "paragraph", "code"]

    def judge(self, text: str) -> Outcome:
        items, blocks = list_items(text), fenced_blocks(text)
        if self.format == "json":
            found = json_part(text) is not None
        elif self.format == "list":
            found = bool(items)
        elif self.format == "code":
            found = bool(blocks)
        else:
            found = bool(text.strip()) and not items and not blocks and json_part(text) is None
        return outcome(
            found, f"{'as' if found else 'not'} {self.format}: {len(items)} items, {len(blocks)} code blocks"
        )


class Length(Rule):
    """The text's words and list items lie within bounds, which are inclusive."""

    type: Literal["length"] = "length"
    min_words: Count | None = None
    max_words: Count | None = None
    min_bullets: Count | None = None
    max_bullets: Count | None = None

    @model_validator(mode="after")
    def _bounds_make_sense(self) -> Length:
        pairs = ((self.min_words, self.max_words), (self.min_bullets, self.max_bullets))
        if all(bound is None for pair in pairs for bound in pair):
            raise ValueError("name a bound: min_words, max_words, min_bullets or max_bullets")
        if any(low is not None and high is not None and low > high for low, high in pairs):
            raise ValueError("a minimum is above its maximum: no text can follow that")
        return self

    def judge(self, text: str) -> Outcome:
        number, items = count_words(text), list_items(text)
        followed = _within(number, self.min_words, self.max_words) and _within(
            len(items), self.min_bullets, self.max_bullets
        )
        return outcome(followed, f"{number} words, {len(items)} list items")


class Include(Rule):
    """Every term occurs, as a whole and in any case."""

    type: Literal["include"] = "include"
    terms: Terms

    def judge(self, text: str) -> Outcome:
        missing = [term for term in self.terms if not terms(text, term)]
        return outcome(not missing, _named("missing", missing))


class Exclude(Rule):
    """No term occurs, as a whole and in any case."""

    type: Literal["exclude"] = "exclude"
    terms: Terms

    def judge(self, text: str) -> Outcome:
        found = {term: terms(text, term) for term in self.terms}
        spans = sorted(span for places in found.values() for span in places)
        return outcome(not spans, _named("present", [term for term in self.terms if found[term]]), spans)


class Schema(Rule):
    """The text is a JSON object, or an array of objects, with all these keys at its top level."""

    type: Literal["schema"] = "schema"
    keys: Terms

    def judge(self, text: str) -> Outcome:
        part = json_part(text)
        if part is None:
            return outcome(False, "no JSON object or array")
        records = part.value if isinstance(part.value, list) else [part.value]
        if not records or not all(isinstance(record, dict) for record in records):
            return outcome(False, "the JSON holds no object where the keys could stand", [part[1:]])
        missing = [key for key in self.keys if any(key not in record for record in records)]
        return outcome(not missing, _named("missing keys", missing), [part[1:]])


class Coverage(Rule):
    """Every topic is spoken of: all its words occur somewhere, singular or plural, function words aside."""

    type: Literal["coverage"] = "coverage"
    topics: Terms

    def judge(self, text: str) -> Outcome:
        covered = {plural_stripped(word) for whole in words_of(text) for word in (whole, *whole.split("-"))}
        missing = [topic for topic in self.topics if not _essence(topic) <= covered]
        return outcome(not missing, _named("not covered", missing))


def _essence(topic: str) -> set[str]:
    every = words_of(topic)
    return {plural_stripped(word) for word in every if word.casefold() not in STOPWORDS} or {
        plural_stripped(word) for word in every
    }


def _within(number: int, low: int | None, high: int | None) -> bool:
    return (low is None or number >= low) and (high is None or number <= high)


def _named(what: str, names: list[str]) -> str:
    return f"{what}: {', '.join(map(repr, names))}" if names else f"nothing {what}"


# --- IFEval: words, letters, case, language ---


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
    """Compare a count with the bound that it is to stay below, or to reach."""
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
    """A keyword occurs a number of times, also within longer words."""

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
    """A letter occurs a number of times, in either case."""

    type: Literal["keywords:letter_frequency"] = "keywords:letter_frequency"
    letter: Annotated[str, Field(strict=True, min_length=1, max_length=1)]
    let_frequency: Number
    let_relation: Relation

    def examine(self, text: str) -> Outcome:
        number = text.lower().count(self.letter.lower())
        return compared(number, self.let_relation, self.let_frequency, f"times {self.letter!r}")


class NumberOfSentences(IfevalRule):
    """The text has a number of sentences."""

    type: Literal["length_constraints:number_sentences"] = "length_constraints:number_sentences"
    num_sentences: Number
    relation: Relation

    def examine(self, text: str) -> Outcome:
        return compared(len(sentence_spans(text)), self.relation, self.num_sentences, "sentences")


class NumberOfWords(IfevalRule):
    """The text has a number of words; a hyphen or an apostrophe parts them."""

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
    """The text has a number of words in capital letters."""

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
    spans = [(index, index + 1) for index, letter in enumerate(text) if wrong(letter)]
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


# --- IFEval: paragraphs, lists, sections, titles, start and end ---


Position = Annotated[int, Field(strict=True, ge=1, le=10**9)]
HIGHLIGHT = re.compile(r"\*[^\n*]*\*")
DOUBLE_HIGHLIGHT = re.compile(r"\*\*[^\n*]*\*\*")
OPTIONS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
FENCE_STARTS = ("```json", "```Json", "```JSON", "```")


class NumberOfParagraphs(IfevalRule):
    """Exactly so many paragraphs, with ``***`` between them."""

    type: Literal["length_constraints:number_paragraphs"] = "length_constraints:number_paragraphs"
    num_paragraphs: Number

    def examine(self, text: str) -> Outcome:
        blank = [not part.strip() for part in text.split("***")]
        number = len(blank) - sum(blank)
        followed = number == self.num_paragraphs and not any(blank[1:-1])
        return outcome(
            followed, f"{number} paragraphs, {sum(blank[1:-1])} blank between, asked for {self.num_paragraphs}"
        )


class NthParagraphFirstWord(IfevalRule):
    """Exactly so many paragraphs, with blank lines between, of which one begins with a word."""

    type: Literal["length_constraints:nth_paragraph_first_word"] = "length_constraints:nth_paragraph_first_word"
    num_paragraphs: Number
    nth_paragraph: Position
    first_word: Phrase

    def examine(self, text: str) -> Outcome:
        paragraphs = text.split("\n\n")
        number = sum(1 for paragraph in paragraphs if paragraph.strip())
        named = paragraphs[self.nth_paragraph - 1].split(maxsplit=1) if self.nth_paragraph <= number else []
        word = re.split(r"[.,?!'\"]", named[0].lstrip("'").lstrip('"'), maxsplit=1)[0].lower() if named else ""
        fits = word == self.first_word.lower()
        detail = f"{number} paragraphs, number {self.nth_paragraph} {'begins' if fits else 'does not begin'} as asked"
        return outcome(fits and number == self.num_paragraphs, detail)


class NumberOfPlaceholders(IfevalRule):
    """At least so many placeholders in square brackets."""

    type: Literal["detectable_content:number_placeholders"] = "detectable_content:number_placeholders"
    num_placeholders: Number

    def examine(self, text: str) -> Outcome:
        number = sum(_bracketed(line) for line in text.split("\n"))
        return compared(number, "at least", self.num_placeholders, "placeholders")


def _bracketed(line: str) -> int:
    """Count the pairs of ``[`` and the next ``]``, each from the end of the last one."""
    number = position = 0
    while (opened := line.find("[", position)) >= 0 and (closed := line.find("]", opened)) >= 0:
        number, position = number + 1, closed + 1
    return number


class Postscript(IfevalRule):
    """A postscript under its marker, in either case."""

    type: Literal["detectable_content:postscript"] = "detectable_content:postscript"
    postscript_marker: Phrase

    def examine(self, text: str) -> Outcome:
        marker = self.postscript_marker.strip()
        spaced = {"P.P.S": r"p\.\s?p\.\s?s", "P.S.": r"p\.\s?s\."}.get(marker, re.escape(encodable(marker.lower())))
        found = re.search(spaced, text.lower()) is not None
        return outcome(found, f"{'a' if found else 'no'} postscript {marker!r}")


class NumberOfBullets(IfevalRule):
    """Exactly so many lines that begin with a star or a hyphen."""

    type: Literal["detectable_format:number_bullet_lists"] = "detectable_format:number_bullet_lists"
    num_bullets: Number

    def examine(self, text: str) -> Outcome:
        lines = (line.lstrip() for line in text.split("\n"))
        number = sum(line.startswith("-") or (line.startswith("*") and line[1:2] not in ("", "*")) for line in lines)
        return outcome(number == self.num_bullets, f"{number} bullets, asked for {self.num_bullets}")


class ConstrainedResponse(IfevalRule):
    """One of the three answers that may be given occurs: yes, no or maybe."""

    type: Literal["detectable_format:constrained_response"] = "detectable_format:constrained_response"

    def examine(self, text: str) -> Outcome:
        found = any(option in text for option in OPTIONS)
        return outcome(found, f"{'one' if found else 'none'} of {', '.join(map(repr, OPTIONS))}")


class NumberOfHighlights(IfevalRule):
    """At least so many passages between single or double stars."""

    type: Literal["detectable_format:number_highlighted_sections"] = "detectable_format:number_highlighted_sections"
    num_highlights: Number

    def examine(self, text: str) -> Outcome:
        number = sum(
            1 for form in (HIGHLIGHT, DOUBLE_HIGHLIGHT) for found in form.findall(text) if found.strip("*").strip()
        )
        return compared(number, "at least", self.num_highlights, "highlighted passages")


class MultipleSections(IfevalRule):
    """At least so many sections, each begun by the word that marks one and a number."""

    type: Literal["detectable_format:multiple_sections"] = "detectable_format:multiple_sections"
    section_spliter: Phrase
    num_sections: Number

    def examine(self, text: str) -> Outcome:
        marks = re.findall(rf"{re.escape(encodable(self.section_spliter.strip()))}\s?\d+", text)
        return compared(len(marks), "at least", self.num_sections, "sections")


class JsonFormat(IfevalRule):
    """The whole text is JSON, in a fence or not."""

    type: Literal["detectable_format:json_format"] = "detectable_format:json_format"

    def examine(self, text: str) -> Outcome:
        body = text.strip()
        for start in FENCE_STARTS:
            body = body.removeprefix(start)
        try:
            json.loads(body.removesuffix("```").strip())
        except (ValueError, RecursionError):
            return outcome(False, "not JSON")
        return outcome(True, "JSON")


class Title(IfevalRule):
    """A title between double angular brackets."""

    type: Literal["detectable_format:title"] = "detectable_format:title"

    def examine(self, text: str) -> Outcome:
        found = any(_titled(line) for line in text.split("\n"))
        return outcome(found, f"{'a' if found else 'no'} title between << and >>")


def _titled(line: str) -> bool:
    start, end = line.find("<<"), line.rfind(">>")
    return start >= 0 and end > start + 2 and bool(line[start:end].lstrip("<").rstrip(">").strip())


class TwoResponses(IfevalRule):
    """Two different responses with six stars between."""

    type: Literal["combination:two_responses"] = "combination:two_responses"

    def examine(self, text: str) -> Outcome:
        parts = [part.strip() for part in text.split("******")]
        given = [part for part in parts if part]
        followed = all(parts[1:-1]) and len(given) == 2 and given[0] != given[1]
        return outcome(followed, f"{len(given)} responses, {len(set(given))} of them different")


class RepeatPrompt(IfevalRule):
    """The request is repeated word for word before the answer."""

    type: Literal["combination:repeat_prompt"] = "combination:repeat_prompt"
    prompt_to_repeat: Phrase

    def examine(self, text: str) -> Outcome:
        followed = text.strip().lower().startswith(encodable(self.prompt_to_repeat).strip().lower())
        return outcome(followed, f"the request is {'' if followed else 'not '}repeated first")


class EndChecker(IfevalRule):
    """The text ends with a phrase."""

    type: Literal["startend:end_checker"] = "startend:end_checker"
    end_phrase: Phrase

    def examine(self, text: str) -> Outcome:
        followed = text.strip().strip('"').lower().endswith(encodable(self.end_phrase).strip().lower())
        return outcome(followed, f"{'ends' if followed else 'does not end'} with {self.end_phrase!r}")


class Quotation(IfevalRule):
    """The whole text stands in double quotation marks."""

    type: Literal["startend:quotation"] = "startend:quotation"

    def examine(self, text: str) -> Outcome:
        body = text.strip()
        followed = len(body) > 1 and body[0] == body[-1] == '"'
        return outcome(followed, f"{'' if followed else 'not '}in double quotation marks")


FORM_RULES: tuple[type[IfevalRule], ...] = (
    NumberOfParagraphs,
    NthParagraphFirstWord,
    NumberOfPlaceholders,
    Postscript,
    NumberOfBullets,
    ConstrainedResponse,
    NumberOfHighlights,
    MultipleSections,
    JsonFormat,
    Title,
    TwoResponses,
    RepeatPrompt,
    EndChecker,
    Quotation,
)


# --- Judging ---


RULES: tuple[type[Rule], ...] = (Format, Length, Include, Exclude, Schema, Coverage, *WORDING_RULES, *FORM_RULES)
RULE_TYPES: Mapping[str, type[Rule]] = {rule.model_fields["type"].default: rule for rule in RULES}


class RuleResult(NamedTuple):
    """A rule and its outcome.

    Attributes:
        rule: the rule.
        followed: whether the text follows it; None where that cannot be told.
        detail: what was found.
    """

    rule: Rule
    followed: bool | None
    detail: str


class ComplianceResult(NamedTuple):
    """How well a text follows its rules.

    Attributes:
        score: share of the rules that are followed, among those that could be judged (0 to 1; here 1 is good).
        label: ``"followed"``, ``"not followed"``, or ``"undecided"`` where rules were given and none could be judged.
        results: every rule with its outcome, in the order given.
        findings: every broken rule, by place where one can be named, else over the whole text.
    """

    score: float
    label: str
    results: tuple[RuleResult, ...]
    findings: tuple[Finding, ...]

    @property
    def ratio(self) -> float:
        """The compliance ratio: the score."""
        return self.score

    @property
    def followed(self) -> bool:
        """Whether the ratio reaches what was asked; False where nothing could be judged."""
        return self.label == "followed"


def check(output: str, rules: Iterable[Rule | Mapping[str, Any]], *, enough: float = 0.8) -> ComplianceResult:
    r"""Judge a text by rules.

    Args:
        output: the text.
        rules: records (``Length(min_words=50)``) or dictionaries (``{"type": "length", "min_words": 50}``). Types are
            format, length, include, exclude, schema, coverage, and the instruction ids of IFEval. Without any rule,
            the text follows all.
        enough: the share of rules from which the text counts as following them.

    Raises:
        ConfigurationError: for rules that cannot be read; it names all of them.

    >>> result = check("- tea\n- milk", [Format(format="list"), {"type": "include", "terms": ["sugar"]}])
    >>> result.ratio, result.followed, [(each.rule.type, each.detail) for each in result.results]
    (0.5, False, [('format', 'as list: 2 items, 0 code blocks'), ('include', "missing: 'sugar'")])
    """
    text = encodable(output)
    results, findings = [], []
    for rule in parse_rules(rules):
        followed, detail, spans = rule.judge(text)
        results.append(RuleResult(rule, followed, detail))
        if followed is False:
            findings += [Finding(rule.type, detail, start, end) for start, end in spans or ((0, len(text)),)]
    judged = [result.followed for result in results if result.followed is not None]
    if results and not judged:
        return ComplianceResult(0.0, "undecided", tuple(results), ())
    score = sum(judged) / len(judged) if judged else 1.0
    return ComplianceResult(score, "followed" if score >= enough else "not followed", tuple(results), tuple(findings))


def parse_rules(rules: Iterable[Rule | Mapping[str, Any]]) -> tuple[Rule, ...]:
    """Read rules; records stay as they are.

    Raises:
        ConfigurationError: naming every rule that cannot be read, by its place, and why.
    """
    parsed: list[Rule] = []
    problems: list[str] = []
    for index, rule in enumerate(rules):
        try:
            parsed.append(rule if isinstance(rule, Rule) else _parsed(rule))
        except ValidationError as error:
            problems += [
                f"rules[{index}]: {'.'.join(map(str, each['loc'])) or rule['type']}: {each['msg']}"  # type: ignore[index]
                for each in error.errors(include_url=False, include_input=False)
            ]
        except ConfigurationError as error:
            problems.append(f"rules[{index}]: {error}")
    if problems:
        raise ConfigurationError("; ".join(problems))
    return tuple(parsed)


def _parsed(rule: Mapping[str, Any]) -> Rule:
    if not isinstance(rule, Mapping):
        raise ConfigurationError(f"a rule is a record or a dictionary with a type, not a {type(rule).__name__}")
    name = rule.get("type")
    kind = RULE_TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        close = get_close_matches(str(name), RULE_TYPES, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(RULE_TYPES)}"
        raise ConfigurationError(
            f"unknown rule type {name!r}; {hint}" if "type" in rule else f"the type is missing; {hint}"
        )
    return kind.model_validate(dict(rule))
