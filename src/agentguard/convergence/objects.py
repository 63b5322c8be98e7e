"""Finds the JSON objects in a model's prose, without guessing what a broken one was meant to say."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from agentguard.errors import DataError

__all__ = ["FoundObject", "find_objects", "load_object"]

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
    """The complete JSON objects of a text that stand outside its thinking and outside other objects.

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
    found: list[FoundObject] = []
    at = 0
    while (mark := _MARK.search(text, at)) is not None:
        if mark["object"]:
            at = _end(text, mark.start())
            written = text[mark.start() : at]
            try:
                found.append(FoundObject(written, load_object(written)))
            except DataError:
                if key in written:
                    raise
        elif mark["list"]:
            raise DataError("it holds a list of objects where one object is asked for")
        elif mark[4]:  # the end of a thought within a thought: all so far was thought
            found.clear()
            at = mark.end()
        else:
            closing = re.compile(rf"</{mark[5]}\s*>", re.IGNORECASE).search(text, mark.end())
            if closing is None:
                raise DataError("it breaks off inside a thought")
            at = closing.end()
    return found


def load_object(written: str) -> dict[str, Any]:
    """One JSON object. Commas before a closing bracket and line breaks in texts are let pass, nothing else.

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
    """Where the braces that open at ``start`` close; braces in quotes do not count."""
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
