"""Rules that an answer can be asked to follow, as records that judge a text: format, length, terms, keys, topics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from agentguard.content.words import (
    STOPWORDS,
    count_words,
    fenced_blocks,
    json_part,
    list_items,
    plural_stripped,
    terms,
)
from agentguard.content.words import words as words_of

__all__ = ["Coverage", "Exclude", "Format", "Include", "Length", "Outcome", "Rule", "Schema", "Terms", "outcome"]

SPANS = 20  # so many places of one rule are named; the verdict counts all


class Outcome(NamedTuple):
    """What one rule found.

    Attributes:
        followed: whether the text follows the rule; None where it cannot be told.
        detail: what was found, in numbers or in the rule's own words.
        spans: where it is broken; empty where no place can be named.
    """

    followed: bool | None
    detail: str
    spans: tuple[tuple[int, int], ...] = ()


def outcome(followed: bool, detail: str, spans: Iterable[tuple[int, int]] = ()) -> Outcome:
    """An outcome that names the first places only, and none where the rule is followed."""
    return Outcome(followed, detail, () if followed else tuple(spans)[:SPANS])


class Rule(BaseModel, ABC):
    """One rule. Its ``type`` tells it from the others where rules are given as dictionaries."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    type: str

    @abstractmethod
    def judge(self, text: str) -> Outcome:
        """Whether a text follows the rule; linear in the text. It must hold no lone surrogates."""


def _one_or_many(value: Any) -> Any:
    """A single string is a list of one; anything else is left for pydantic to judge."""
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
        said = {plural_stripped(word) for whole in words_of(text) for word in (whole, *whole.split("-"))}
        missing = [topic for topic in self.topics if not _essence(topic) <= said]
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
