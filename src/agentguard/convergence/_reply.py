"""Read a model's answer strictly: what is not clearly an evaluation is a fault, never a guess.

The JSON objects in a model's prose are found without guessing what a broken one was meant to say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from agentguard.convergence._types import DEFAULT_CATEGORIES, Confidence, JudgeReply
from agentguard.errors import DataError

_THINKING = r"<(/?)(think|thinking|thought|reasoning|scratchpad)\b[^<>]*>"
_FIRST_THINKING = re.compile(_THINKING, re.IGNORECASE)
_MARK = re.compile(r"(?P<object>\{)|(?P<list>\[\s*[\[{])|(?P<thinking>" + _THINKING + ")", re.IGNORECASE)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|["{}]', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)


class FoundObject(NamedTuple):
    """An object that stands by itself in a text: as written, and as read."""

    written: str
    value: dict[str, Any]


def find_objects(text: str, key: str) -> list[FoundObject]:
    """Find the complete JSON objects of a text, outside its thinking and outside other objects.

    Braces that belong to prose or code are passed over.

    Args:
        text: a reply.
        key: what the wanted object must hold. A broken object that mentions it is not passed over: what stands inside
            or behind it may be a part of it.

    Raises:
        DataError: where the text breaks off inside an object or a thought, or the wanted object is broken.

    >>> [found.value for found in find_objects('Of the set {a, b}: {"passed": false,}', "passed")]
    [{'passed': False}]
    """
    first = _FIRST_THINKING.search(text)
    if first is not None and first[1]:  # a closing tag alone: the template has opened the thought
        text = text[first.end() :]
    objects: list[FoundObject] = []
    at = 0
    while (mark := _MARK.search(text, at)) is not None:
        if mark["object"]:
            at = _end(text, mark.start())
            written = text[mark.start() : at]
            try:
                objects.append(FoundObject(written, load_object(written)))
            except DataError:
                if key in written:
                    raise
        elif mark["list"]:
            raise DataError("it holds a list of objects where one object is asked for")
        elif mark[4]:  # the end of a thought within a thought: all so far was thought
            objects.clear()
            at = mark.end()
        else:
            closing = re.compile(rf"</{mark[5]}\s*>", re.IGNORECASE).search(text, mark.end())
            if closing is None:
                raise DataError("it breaks off inside a thought")
            at = closing.end()
    return objects


def load_object(written: str) -> dict[str, Any]:
    """Read a JSON object; commas before a closing bracket and line breaks in texts are let pass.

    Raises:
        DataError: where it is no JSON, names a key twice or holds NaN or Infinity.
    """
    strict = _TRAILING_COMMA.sub(lambda match: match[1] or "", written)
    try:
        value = json.loads(strict, object_pairs_hook=_distinct, parse_constant=_no_constant, strict=False)
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, DataError) else DataError(f"its object is no JSON ({_what(error)})") from None
    if not isinstance(value, dict):
        raise DataError("it is no JSON object")
    return value


def _end(text: str, start: int) -> int:
    """The end of the braces that open at ``start``; braces in quotes do not count."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        if token[0] == '"':
            break  # a quote that nothing closes
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    raise DataError("it breaks off inside an object")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise DataError("its object names a key twice")
    return value


def _no_constant(name: str) -> None:
    raise DataError(f"its object holds {name}, which is no JSON")


def _what(error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos}"
    return "nested too deeply" if isinstance(error, RecursionError) else "a number too long"


# --- The evaluation in a reply ---


#: Longer replies are refused: an evaluation of 2,000 tokens has some 8,000 characters.
MAX_REPLY_CHARS = 200_000

_CONFIDENCES = ("high", "medium", "low", "uncertain")
_NO_QUOTING = str.maketrans("", "", "\\ \t\r\n")

T = TypeVar("T")


def parse_reply(
    text: str, categories: Sequence[str] = DEFAULT_CATEGORIES, *, evaluated: Iterable[str] = ()
) -> JudgeReply:
    r"""Parse a model's reply: the one JSON object in it that says ``passed``.

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
    """Read an answer's fields by type. ``passed`` must be there; the others may be missing or null.

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
    confidence = answer.get("confidence")
    scores: Mapping[str, Any] = read("categoryScores", _mapping, dict[str, Any]())
    reply = JudgeReply(
        passed=passed,
        confidence=cast(Confidence, confidence)
        if isinstance(confidence, str) and confidence in _CONFIDENCES
        else "uncertain",
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
