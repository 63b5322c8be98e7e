"""Reads the answers of a judging model strictly: what is not in the form asked for is a fault, never a guess."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentguard.errors import DataError
from agentguard.gate.judging import Case
from agentguard.gate.models.quotes import SearchedText, count_quoted_words
from agentguard.gate.types import Claim, ClaimVerdict, Label, Reason, Response

__all__ = ["read_claims", "read_prompts", "read_verdict"]

MAX_ANSWER_CHARS = 1_000_000
MAX_CLAIMS = 200
"""Of one response. Cutting the list instead would leave claims unverified."""
MAX_TEXT_CHARS = 10_000
MAX_REASON_CHARS = 1_000
MAX_KEPT_CHARS = 20_000
LEAST_QUOTED_WORDS = 2
"""A single word is found in most passages, and shows nothing."""

_LABELS: dict[str, Label] = {
    "supported": "supported",
    "weakly_supported": "weakly_supported",
    "unsupported": "unsupported",
}
_THOUGHT = re.compile(r"\A<think(?:ing)?>.*?</think(?:ing)?>\s*", re.DOTALL | re.IGNORECASE)
_FENCED = re.compile(r"\A```(?:json)?[ \t]*\n(.*)\n[ \t]*```\Z", re.DOTALL | re.IGNORECASE)

Text = Annotated[str, Field(max_length=MAX_TEXT_CHARS)]
Stated = Annotated[str, Field(max_length=MAX_TEXT_CHARS, pattern=r"\S")]
T = TypeVar("T", bound=BaseModel)


class _Answer(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class _Prompts(_Answer):
    prompts: list[Text]


class _Claim(_Answer):
    text: Stated
    quote: Text | None = None


class _Claims(_Answer):
    claims: Annotated[list[_Claim], Field(max_length=MAX_CLAIMS)]


class _Verdict(_Answer):
    label: str
    passage: int | None = None
    quote: str | None = None
    reason: str | None = None


def read_prompts(answer: str) -> list[str]:
    """The questions of an answer, without blank ones.

    Raises:
        DataError: saying what is wrong with it, without quoting it.
    """
    return [" ".join(text.split()) for text in _read(answer, _Prompts).prompts if text.strip()]


def read_claims(answer: str, response: Response) -> list[Claim]:
    """The claims of an answer, each once, in the order in which the response makes them.

    Raises:
        DataError: saying what is wrong with the answer, without quoting it.
    """
    said = SearchedText(response.text)
    placed: dict[str, tuple[str, int, int]] = {}
    for claim in _read(answer, _Claims).claims:
        text = " ".join(claim.text.split())
        start, end = said.find(claim.quote or "") or said.find(text) or (-1, -1)
        placed.setdefault(text.casefold(), (text, start, end))
    order: list[tuple[int, int, tuple[str, int, int]]] = []
    last = -1
    for number, found in enumerate(placed.values()):
        last = found[1] if found[1] >= 0 else last  # what is said in no one place stays behind what it followed
        order.append((last, number, found))
    return [
        Claim(f"{response.prompt_id}.c{number}", response.prompt_id, text, start, end)
        for number, (_, _, (text, start, end)) in enumerate(sorted(order), 1)
    ]


def read_verdict(answer: str, case: Case, judge: str) -> ClaimVerdict:
    """The verdict of an answer. Unless it shows the words that support the claim, it supports it weakly at best.

    An answer that cannot be read, or names no known label, is ``unsupported``, and says so. The verdict has the answer.
    """
    kept = answer[:MAX_KEPT_CHARS]

    def unsupported(why: str) -> ClaimVerdict:
        return ClaimVerdict(case.claim.id, "unsupported", (Reason("judge", why),), None, "", judge, kept)

    try:
        read = _read(answer, _Verdict)
    except DataError as error:
        return unsupported(f"the judge's answer could not be read: {error}")
    label = _LABELS.get(read.label.strip())
    if label is None:
        return unsupported(f"the judge gave no known label, but {_shortened(read.label, 40)!r}")
    reasons = [Reason("judge", _shortened(read.reason or "", MAX_REASON_CHARS) or "the judge gave no reason")]
    chunk, quote = None, ""
    if read.passage is not None and 1 <= read.passage <= len(case.passages):
        chunk = case.passages[read.passage - 1].chunk
        found = SearchedText(chunk.text).find(read.quote or "")
        quote = chunk.text[found[0] : found[1]] if found is not None else ""
        quote = quote if count_quoted_words(quote) >= LEAST_QUOTED_WORDS else ""
    missing = ""
    if read.passage is not None and chunk is None:
        missing = f"the judge names passage {read.passage} of {len(case.passages)}"
    elif label == "supported" and chunk is None:
        missing = "the judge names no passage"
    elif not quote and (label == "supported" or (read.quote or "").strip()):
        missing = "what the judge quotes does not stand in the passage it names, or is less than two words"
    if missing and label == "supported":
        label = "weakly_supported"
        reasons.insert(0, Reason("judge", f"{missing}: supported counts as weakly supported"))
    elif missing:
        reasons.append(Reason("judge", missing))
    chunk_id = None if chunk is None else chunk.id
    return ClaimVerdict(case.claim.id, label, tuple(reasons), chunk_id, quote, judge, kept)


def _read(answer: str, form: type[T]) -> T:
    """The one JSON object that an answer is, within a block of code or behind a thought at most."""
    if len(answer) > MAX_ANSWER_CHARS:
        raise DataError(f"it has {len(answer)} characters, more than {MAX_ANSWER_CHARS}")
    text = _THOUGHT.sub("", answer.strip()).strip()
    fenced = _FENCED.match(text)
    try:
        value = json.loads(
            text if fenced is None else fenced[1], object_pairs_hook=_distinct, parse_constant=_refuse_constant
        )
    except DataError:
        raise
    except (ValueError, RecursionError) as error:
        said = (
            f"{error.msg} at character {error.pos}" if isinstance(error, json.JSONDecodeError) else "too deep or long"
        )
        raise DataError(f"it is not one JSON object ({said})") from None
    if not isinstance(value, dict):
        raise DataError("it is not one JSON object")
    try:
        return form.model_validate(value)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        shown = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults[:3]]
        raise DataError(f"it is not in the form asked for: {'; '.join(shown)}") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise DataError("its object names a key twice")
    return value


def _refuse_constant(name: str) -> None:
    raise DataError(f"it holds {name}, which is no JSON")


def _shortened(text: str, limit: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
