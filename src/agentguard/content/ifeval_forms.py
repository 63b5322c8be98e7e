"""The verifiable instructions of IFEval on an answer's form: paragraphs, lists, sections, titles, start and end."""

from __future__ import annotations

import json
import re
from typing import Annotated, Literal

from pydantic import Field

from agentguard.content.compliance_rules import Outcome, outcome
from agentguard.content.ifeval_rules import IfevalRule, Number, Phrase, compared
from agentguard.content.words import encodable

__all__ = ["FORM_RULES"]

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
    """How many times ``[`` is followed by its ``]``, each from where the last one ended."""
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
