"""Read a model's answer: the verdict strictly, everything else as far as it is clear.

What is not clearly a verdict is a fault, never a guess. A score or a list that is written otherwise than asked for and
can mean one thing only is read; one that can mean several is left out. Both are noted.

The JSON objects in a model's prose are found without guessing what a broken one was meant to say.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast, get_args

from agentguard.convergence._types import DEFAULT_CATEGORIES, Confidence, JudgeReply
from agentguard.errors import DataError

_THINKING = r"<(/?)(think|thinking|thought|reasoning|scratchpad)\b[^<>]*>"
_FIRST_THINKING = re.compile(_THINKING, re.IGNORECASE)
_MARK = re.compile(r"(?P<object>\{)|(?P<list>\[\s*[\[{])|(?P<thinking>" + _THINKING + ")", re.IGNORECASE)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|["{}]', re.DOTALL)
# The form of the answer, repeated with the kind of value in place of the verdict: "passed": boolean.
_KIND = r"<[^<>\"]*>|bool(?:ean)?|true\s*(?:\||/|or)\s*false|\.\.\."
_PLACEHOLDER = re.compile(rf"\s*(?:{_KIND})\s*", re.IGNORECASE)
_FORM = re.compile(rf'"passed"\s*:\s*(?:{_KIND})\s*[,}}\n]', re.IGNORECASE)
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
        key: what the wanted object must hold. A broken object that mentions it is not passed over, unless it is the
            form repeated: what stands inside or behind it may be a part of it.

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
                if key in written and not _FORM.search(written):
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

# "85", "85.5", "85%" and "85/100"; three digits at most, since a score has no more.
_WRITTEN_SCORE = re.compile(r"\s*(-?[0-9]{1,3}(?:\.[0-9]{1,6})?)\s*(%|/\s*100)?\s*")
_NO_QUOTING = str.maketrans("", "", "\\ \t\r\n")

_NOTHING = frozenset({"", "none", "none.", "n/a", "-"})

T = TypeVar("T")
Reading = tuple[T, str]


def parse_reply(
    text: str, categories: Sequence[str] = DEFAULT_CATEGORIES, *, evaluated: Iterable[str] = ()
) -> JudgeReply:
    r"""Parse a model's reply: the one JSON object in it that says ``passed``.

    Fences, prose before and after, thinking tags, commas before closing brackets and line breaks in texts are let pass,
    and so is the form of the answer where it is repeated before the answer itself. A reply that is cut off, or that
    gives several differing evaluations, is a fault.

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
        objects = [candidate for candidate in _objects(text) if "passed" in candidate.value]
    except DataError as error:
        raise DataError(f"the reply cannot be read: {error}") from None
    answers = [candidate for candidate in objects if not _is_placeholder(candidate.value["passed"])]
    if not answers:
        raise DataError("No JSON found in response" + (" that says 'passed'" if "{" in text else ""))
    material = [part.translate(_NO_QUOTING) for part in evaluated]
    own = [
        candidate
        for candidate in answers
        if not any(candidate.written.translate(_NO_QUOTING) in part for part in material)
    ]
    if not own:
        raise DataError("the reply only repeats an evaluation that stands in the evaluated text")
    # Compared as JSON, since to Python True, 1 and 1.0 are one.
    different = {json.dumps(candidate.value, sort_keys=True) for candidate in own}
    if len(different) > 1:
        raise DataError(f"the reply gives {len(different)} differing evaluations")
    return read_answer(own[0].value, categories)


def read_answer(answer: Mapping[str, Any], categories: Sequence[str] = DEFAULT_CATEGORIES) -> JudgeReply:
    """Read an answer's fields. ``passed`` must be there, and be true or false; the others may be missing or null.

    For ``passed`` only true is true; false may also be written as text. The other fields never make the answer void.
    Read, and noted: a score as text (``"85"``, ``"85%"``, ``"85/100"``), a score out of range as the nearest in it, a
    list of one as its text, values that are no text as their JSON, a confidence or a category in other letters, a truth
    as text. Left out, and noted: whatever can mean several things or nothing, such as a score of 0.9, which may be on a
    scale of 0 to 1.

    Raises:
        DataError: where ``passed`` is missing, or neither true nor false.

    >>> reply = read_answer({"passed": True, "qualityScore": "90%", "gaps": "timeouts", "evidence": 7})
    >>> reply.quality_score, reply.gaps, reply.evidence
    (90.0, ('timeouts',), ())
    >>> reply.notes
    ('qualityScore was read from text', 'evidence is no list of texts', 'gaps was read from one text')
    """
    notes: list[str] = []

    def read(name: str, reader: Callable[[Any], Reading[T]], missing: T, source: Mapping[str, Any] = answer) -> T:
        value = source.get(name)
        if value is None:
            return missing
        try:
            result, note = reader(value)
        except DataError as error:
            notes.append(f"{name} {error}")
            return missing
        if note:
            notes.append(f"{name} {note}")
        return result

    if answer.get("passed") is None:
        raise DataError("the answer is not as asked for: passed is missing")
    passed = answer["passed"]
    if not isinstance(passed, bool):
        if not isinstance(passed, str) or passed.strip().casefold() != "false":
            raise DataError("the answer is not as asked for: passed is neither true nor false")
        passed = False
    reasoning = read("reasoning", _text, "")
    more_rounds = read("moreRoundsRecommended", _truth, not passed)
    unsure: Confidence = "uncertain"
    confidence = read("confidence", _confidence, unsure)
    quality = read("qualityScore", _score, None)
    scores = read("categoryScores", _scores_by(categories), dict[str, Any]())
    return JudgeReply(
        passed=passed,
        confidence=confidence,
        reasoning=reasoning or "No reasoning provided",
        evidence=read("evidence", _texts, ()),
        quality_score=quality,
        category_scores={name: read(name, _score, None, scores) for name in categories},
        gaps=read("gaps", _texts, ()),
        more_rounds_recommended=more_rounds,
        recommended_focus_areas=read("recommendedFocusAreas", _texts, ()) if more_rounds else (),
        notes=tuple(notes),
    )


def _is_placeholder(passed: Any) -> bool:
    return isinstance(passed, str) and _PLACEHOLDER.fullmatch(passed) is not None


def _objects(text: str) -> list[FoundObject]:
    stripped = text.strip()
    if stripped.startswith("{") and stripped.endswith("}"):
        try:  # a reply that is one object is read as such, whatever tags its texts contain
            return [FoundObject(stripped, load_object(stripped))]
        except DataError:
            return find_objects(text, "passed")
    return find_objects(text, "passed")


# --- Readers of fields: the value, and a note where it was written otherwise than asked for ---
# What they raise, and note, goes into the next request to the model: it quotes nothing of the answer.


def _truth(value: Any) -> Reading[bool]:
    if isinstance(value, bool):
        return value, ""
    written = value.strip().casefold() if isinstance(value, str) else ""
    if written not in ("true", "false"):
        raise DataError("is neither true nor false")
    return written == "true", "was read from text"


def _score(value: Any) -> Reading[float | None]:
    number, note = value, ""
    percent = False
    if isinstance(value, str) and (match := _WRITTEN_SCORE.fullmatch(value)):
        number = float(match[1]) if "." in match[1] else int(match[1])
        percent, note = match[2] is not None, "was read from text"
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise DataError("is no number")
    if isinstance(number, float) and not math.isfinite(number):
        raise DataError("is not finite")
    if not 0 <= number <= 100:
        return float(min(100, max(0, number))), "is not in 0 to 100"
    if not percent and (0 < number < 1 or (isinstance(number, float) and number == 1)):
        raise DataError("may be on a scale of 0 to 1")
    return float(number), note


def _scores_by(categories: Sequence[str]) -> Callable[[Any], Reading[dict[str, Any]]]:
    def read(value: Any) -> Reading[dict[str, Any]]:
        if not isinstance(value, Mapping):
            raise DataError("is no object of scores")
        scores = {name: value[name] for name in categories if name in value}
        folded = {str(name).strip().casefold(): score for name, score in value.items() if name not in scores}
        others = {
            name: folded[name.casefold()] for name in categories if name not in scores and name.casefold() in folded
        }
        return {**scores, **others}, "has categories in other letters" if others else ""

    return read


def _confidence(value: Any) -> Reading[Confidence]:
    written = value.strip().casefold() if isinstance(value, str) else ""
    if written not in get_args(Confidence):
        raise DataError("is none of the four words")
    return cast(Confidence, written), "" if value == written else "was read in other letters"


def _text(value: Any) -> Reading[str]:
    if isinstance(value, str):
        return value, ""
    return _as_json(value) if value else "", "is no text"


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _texts(value: Any) -> Reading[tuple[str, ...]]:
    if isinstance(value, str):
        text = value.strip()
        return ((), "was read as an empty list") if text.casefold() in _NOTHING else ((text,), "was read from one text")
    if not isinstance(value, (list, tuple)):
        raise DataError("is no list of texts")
    texts = tuple(item if isinstance(item, str) else _as_json(item) for item in value)
    return texts, "" if all(isinstance(item, str) for item in value) else "has items that are no text"
