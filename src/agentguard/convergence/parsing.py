"""Reads a model's answer strictly: what is not clearly an evaluation is a fault, never a guess."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

from agentguard.convergence.config import DEFAULT_CATEGORIES
from agentguard.convergence.objects import FoundObject, find_objects, load_object
from agentguard.convergence.types import Confidence, JudgeReply
from agentguard.errors import DataError

__all__ = ["MAX_REPLY_CHARS", "parse_reply", "read_answer"]

#: Longer replies are refused: an evaluation of 2,000 tokens has some 8,000 characters.
MAX_REPLY_CHARS = 200_000

_CONFIDENCES = ("high", "medium", "low", "uncertain")
_NO_QUOTING = str.maketrans("", "", "\\ \t\r\n")

T = TypeVar("T")


def parse_reply(
    text: str, categories: Sequence[str] = DEFAULT_CATEGORIES, *, evaluated: Iterable[str] = ()
) -> JudgeReply:
    r"""The evaluation in a model's reply: the one JSON object in it that says ``passed``.

    Fences, prose before and after, thinking tags, commas before closing brackets and line breaks in texts are let pass.
    A reply that is cut off, or that gives several differing evaluations, is a fault.

    Args:
        text: the reply.
        categories: those whose scores are read.
        evaluated: the texts that were under evaluation. An object that stands in one of them is a quotation, not an
            answer.

    Raises:
        DataError: saying what is wrong with the reply.

    >>> parse_reply('```json\n{"passed": "false", "qualityScore": 55}\n```').passed
    False
    """
    if len(text) > MAX_REPLY_CHARS:
        raise DataError(f"the reply has {len(text)} characters, more than {MAX_REPLY_CHARS}")
    try:
        answers = [found for found in _objects(text) if "passed" in found.value]
    except DataError as error:
        raise DataError(f"the reply cannot be read: {error}") from None
    if not answers:
        raise DataError("the reply holds no JSON object that says 'passed'")
    material = [part.translate(_NO_QUOTING) for part in evaluated]
    own = [found for found in answers if not any(found.written.translate(_NO_QUOTING) in part for part in material)]
    if not own:
        raise DataError("the reply only repeats an evaluation that stands in the evaluated text")
    # Compared as JSON, since to Python True, 1 and 1.0 are one.
    different = {json.dumps(found.value, sort_keys=True) for found in own}
    if len(different) > 1:
        raise DataError(f"the reply gives {len(different)} differing evaluations")
    return read_answer(own[0].value, categories)


def read_answer(answer: Mapping[str, Any], categories: Sequence[str] = DEFAULT_CATEGORIES) -> JudgeReply:
    """An answer's fields, each of its own type. ``passed`` must be there; the others may be missing or null.

    Only true is true; false may also be written as text. An unknown confidence is ``uncertain``. Scores are numbers
    in [0, 100]; one between 0 and 1, or written 1.0, may be on another scale, and is a fault.

    Raises:
        DataError: naming every field that is not as asked for.

    >>> read_answer({"passed": True, "qualityScore": "90%", "gaps": "none"})
    Traceback (most recent call last):
    agentguard.errors.DataError: the answer is not as asked for: qualityScore is no number; gaps is no list of texts
    """
    faults: list[str] = []

    def read(name: str, reader: Callable[[Any], T], missing: T, source: Mapping[str, Any] = answer) -> T:
        value = source.get(name)
        if value is None:
            return missing
        try:
            return reader(value)
        except DataError as error:
            faults.append(f"{name} {error}")
            return missing

    if answer.get("passed") is None:
        faults.append("passed is missing")
    passed = read("passed", _truth, False)
    said = answer.get("confidence")
    scores: Mapping[str, Any] = read("categoryScores", _mapping, dict[str, Any]())
    reply = JudgeReply(
        passed=passed,
        confidence=cast(Confidence, said) if isinstance(said, str) and said in _CONFIDENCES else "uncertain",
        reasoning=read("reasoning", _text, "") or "No reasoning was given.",
        evidence=read("evidence", _texts, ()),
        quality_score=read("qualityScore", _score, None),
        category_scores={name: read(name, _score, None, scores) for name in categories},
        gaps=read("gaps", _texts, ()),
        more_rounds_recommended=read("moreRoundsRecommended", _truth, not passed),
        recommended_focus_areas=read("recommendedFocusAreas", _texts, ()),
    )
    if faults:
        raise DataError(f"the answer is not as asked for: {'; '.join(faults)}")
    return reply


def _objects(text: str) -> list[FoundObject]:
    stripped = text.strip()
    if stripped.startswith("{") and stripped.endswith("}"):
        try:  # a reply that is one object is read as such, whatever tags its texts contain
            return [FoundObject(stripped, load_object(stripped))]
        except DataError:
            return find_objects(text, "passed")
    return find_objects(text, "passed")


def _truth(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().casefold() == "false":
        return False
    raise DataError("is neither true nor false")


def _score(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise DataError("is no number")
    if not 0 <= value <= 100:
        raise DataError("is not in 0 to 100")
    if 0 < value < 1 or (isinstance(value, float) and value == 1):
        raise DataError("may be on a scale of 0 to 1")
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise DataError("is no text")
    return value.strip()


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise DataError("is no list of texts")
    return tuple(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise DataError("is no object of scores")
    return value
