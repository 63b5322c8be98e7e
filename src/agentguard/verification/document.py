"""One tool result, serialised once and walked once; every check reads it from here.

The walk turns a nested value into ``(path, scalar)`` leaves and ``(path, keys)`` objects. A path names a place in the
result's structure, not in one result: list positions are ``[]`` and digits in keys are ``#``, so that
``{"rows": [{"id": 1}]}`` has the path ``rows[].id`` and ``{"card_12": 1}`` has ``card_#``.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Hashable
from functools import lru_cache
from operator import itemgetter
from typing import Any

import orjson

from .canonical import MAX_SCANNED, digest, plain, serialise
from .text import keyed_lines

__all__ = ["Document", "Leaf", "read"]

Leaf = tuple[str, Any]
_SCALARS = frozenset({str, int, float, bool, type(None)})
_value_of = itemgetter(1)

MAX_LEAVES = 1_500
MAX_KEYS = 200
MAX_KEY_LENGTH = 80
MAX_NAMES_LENGTH = 2_000  # of all keys of an object together
HEAD, TAIL = 10, 2  # list elements looked at from the front and from the back
MAX_WALK_DEPTH = 24
MAX_LITERAL = 20_000

EMPTY = frozenset({b"", b"null", b'""', b"[]", b"{}", b"None", b"none", b"()"})
_JSON_START = re.compile(r"""\s*(?:\{\s*(?:["'}]|$)|\[\s*(?:[\[{"'\]]|$|-?\d[\d.eE+-]*\s*(?:,|$)))""")
_ERROR_KEYS = frozenset({"error", "errors", "error_message", "exception"})
_NOTHING = r"\s*(?:null|none|~|false|no|0|\[\])\s*(?:\n|$)"  # `error: null` reports that there is none
_SUBJECT = (  # what texts about errors are about
    r"\s+(?:(?:analysis|bars?|budgets?|correction|detection|margins?|pages?|propagation|rates?|tracking|types?)\b"
    r"|handling\b(?!\s+(?:an?|the|this|your|request|call)\b))"
)
_ERROR_TEXT = re.compile(
    rf"""
    \W{{0,3}}(?:
        (?:[\w.]*(?-i:Error|Exception|Failure)|(?:[\w.]*[._])?(?:error|exception|failure))\b(?!\s*:{_NOTHING})(?!{_SUBJECT})
        | (?:traceback|failed|invalid|cannot|can't|timeout)\b | timed\ ?out | unauthori[sz]ed | unable\ to | no\ such
        | not\ found | forbidden\b(?!\s+(?-i:[A-Z][a-z]))
        | (?:http\S*\s+)?[45]\d\d\s+(?:bad|forbidden|gateway|internal|service|too\ many|unauthori[sz]ed)\b
    )
    | .{{0,80}}(?:
        \berror(?:\.\.\.|:(?!{_NOTHING}))
        | \b(?:not\ found|does\ not\ exist)(?=\s*(?:$|[^\w\s]|(?:at|by|for|in|on|to|with|within)\b))
    )
    """,
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_ESCAPE = re.compile(r"(\\[\\'\"abfnrtvxuUN0-7\n])|\\")  # those that Python has, or a bare backslash


class Document:
    """A result as the checks see it.

    Attributes:
        value: the plain value: parsed where the result was JSON text, the text itself where it was not.
        text: its compact JSON, or the text, as UTF-8.
        kind: ``object array literal number boolean word keyed list prose broken empty``; ``literal`` is text that is a
            Python literal, ``keyed`` lines of ``key: value``, ``broken`` text that starts as JSON and does not parse.
        is_error: the result reports a failure instead of an answer.
        leaves: ``(path, scalar)`` in order, sampled in long lists and bounded.
        objects: ``(path, keys in order)`` of every object met.
        complete: False where the walk had to leave something out.
        open_objects: those of them in which a keyed text ends.
        unclosed: a quote or bracket that text opened is still open at its end.
        digest: 64 bits that tell results apart.
        facts, numbers: worked out on first use, by ``shape.facts_of`` and ``keys.numbers_of``.
    """

    __slots__ = (
        "complete", "digest", "facts", "is_error", "kind", "leaves", "numbers", "objects", "open_objects", "text",
        "unclosed", "value",
    )  # fmt: skip

    def __init__(self, value: Any, text: bytes, kind: str) -> None:
        self.value = value
        self.text = text
        self.kind = kind
        self.is_error = False
        self.leaves: list[Leaf] = []
        self.objects: list[tuple[str, tuple[str, ...]]] = []
        self.open_objects: list[tuple[str, tuple[str, ...]]] = []
        self.complete = True
        self.unclosed = False
        self.digest = digest(text)
        self.facts: set[Hashable] | None = None
        self.numbers: dict[str, float] | None = None

    @property
    def size(self) -> int:
        """Length of ``text`` in bytes."""
        return len(self.text)

    @property
    def is_structured(self) -> bool:
        """The result is an object or an array, however it was written."""
        return isinstance(self.value, (dict, list))


def read(result: Any) -> Document:
    """Read any Python object as a tool result. Never raises.

    >>> document = read('{"rows": [{"id": 1}, {"id": 2}]}')
    >>> document.kind, document.leaves
    ('object', [('rows[].id', 1), ('rows[].id', 2)])
    """
    if type(result) is str:
        return _read_text(result)
    if type(result) is bytes or type(result) is bytearray:
        return _read_text(result.decode("utf-8", "replace"))
    text, value = serialise(result)
    if type(value) is not str:
        document = _read_value(value, text, "array" if isinstance(value, (list, tuple)) else "object")
        if _SCALARS.issuperset(map(type, map(_value_of, document.leaves))):
            return document
        text, value = serialise(plain(value))  # of tuples, UUIDs and enums, which orjson writes as they stand
        if type(value) is not str:
            return _read_value(value, text, document.kind)
    return _read_text(value)


def _read_value(value: Any, text: bytes, kind: str) -> Document:
    if text in EMPTY:
        return Document(value, text, "empty")
    if isinstance(value, tuple):
        value = list(value)
    if not isinstance(value, (dict, list)):
        kind = "boolean" if isinstance(value, bool) else "number"
    document = Document(value, text, kind)
    _walk(document, value, "", 0)
    if isinstance(value, dict) and len(value) <= 3:
        document.is_error = any(
            isinstance(key, str) and key.lower() in _ERROR_KEYS and bool(item) for key, item in value.items()
        )
    return document


def _read_text(text: str) -> Document:
    text = text.removeprefix("\ufeff")  # a byte order mark is no part of the text
    stripped = text[:MAX_SCANNED].strip() if len(text) > MAX_SCANNED else text.strip()
    first = stripped[:1]
    if first and (first in '{["-(' or first.isdigit() or stripped in ("true", "false")):
        parsed = _parse(text, stripped)
        if parsed is not None:
            return parsed
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raw = text.encode("utf-8", "replace")
        text, stripped = raw.decode(), stripped.encode("utf-8", "replace").decode()
    if len(stripped) < 5 and stripped.encode("utf-8", "replace") in EMPTY:
        return Document(text, raw, "empty")
    if first and first in "{[" and _JSON_START.match(stripped):
        document = Document(text, raw, "broken")
        document.unclosed = len(text) > MAX_SCANNED or _is_open(stripped)
        return document
    return _read_plain_text(text, stripped, raw)


def _parse(text: str, stripped: str) -> Document | None:
    """The document of text that is JSON, or the literal of a Python container; None for any other text."""
    try:
        value = orjson.loads(text if len(text) > MAX_SCANNED else stripped)
    except (ValueError, RecursionError):
        if stripped[0] not in "{[(" or stripped[-1] not in "}])":
            return None
        try:
            value = json.loads(text)  # takes NaN and lone surrogates, which Python's own writer puts into JSON
        except (ValueError, RecursionError):
            return _parse_literal(stripped)
    if isinstance(value, str):
        return None  # a JSON string is read as the text that it was written in
    canonical, value = serialise(value)
    return _read_value(value, canonical, "object" if isinstance(value, dict) else "array")


def _parse_literal(stripped: str) -> Document | None:
    if len(stripped) > MAX_LITERAL:
        return None
    if "\\" in stripped:  # Python reads a bare backslash too, but warns of it on stderr
        stripped = _ESCAPE.sub(lambda match: match[1] or r"\\", stripped)
    try:
        value = ast.literal_eval(stripped)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    if not isinstance(value, (dict, list, tuple, set)):
        return None
    canonical, _ = serialise(value)
    return _read_value(orjson.loads(canonical), canonical, "literal")


def _is_open(text: str) -> bool:
    """A string or a bracket of text that starts as JSON, or as a Python literal, is open at its end."""
    quote = "'" if text[1:].lstrip()[:1] == "'" else '"'
    outside = re.sub(rf"{quote}[^{quote}\\]*(?:\\.[^{quote}\\]*)*{quote}", "", text, flags=re.DOTALL)
    opened = outside.count("{") + outside.count("[")
    return quote in outside or opened > outside.count("}") + outside.count("]")


def _read_plain_text(text: str, stripped: str, raw: bytes) -> Document:
    document = Document(text, raw, "prose")
    keyed = keyed_lines(stripped)
    if keyed is not None:
        document.kind = "keyed"
        document.leaves, document.objects, document.unclosed = keyed.leaves, keyed.objects, keyed.unclosed
        document.complete, document.open_objects = keyed.complete, keyed.open_objects
    elif stripped.startswith("- "):
        document.kind = "list"
        lines = stripped.split("\n", MAX_KEYS)
        document.leaves = [("[]", line[2:].rstrip()) for line in lines[:MAX_KEYS] if line[:2] == "- "]
        document.complete = len(lines) <= MAX_KEYS
    elif len(stripped) < 24 and " " not in stripped:
        document.kind = "word"
        document.leaves = [("", stripped)]
    else:
        document.leaves = [("", text)]
        document.unclosed = (
            stripped.count('"') % 2 == 1
            or stripped.count("(") > stripped.count(")")
            or stripped.count("[") > stripped.count("]")
        )
    if len(text) > MAX_SCANNED:
        document.complete, document.unclosed, document.open_objects = False, False, []  # its end was not looked at
    document.is_error = len(stripped) < 600 and _ERROR_TEXT.match(stripped) is not None
    return document


@lru_cache(maxsize=16_384)
def child_path(parent: str, key: str) -> str:
    """The path of a key below a parent; remembered, so that equal paths are one object with one hash.

    >>> child_path("cards", "card_4421")
    'cards.card_#'
    """
    if len(key) > MAX_KEY_LENGTH:
        child_path.cache_clear()  # it keeps what it was asked for, and must not fill up with long keys
        key = key[:MAX_KEY_LENGTH]
    name = key if key.isalpha() else _DIGITS.sub("#", key)
    return f"{parent}.{name}" if parent else name


_DIGITS = re.compile(r"\d+")


@lru_cache(maxsize=8_192)
def _element_path(parent: str) -> str:
    return f"{parent}[]"


@lru_cache(maxsize=8_192)
def _names(keys: tuple[str, ...]) -> tuple[str, ...]:
    """An object's keys with their digits put out, each name once."""
    if sum(map(len, keys)) > MAX_NAMES_LENGTH:
        _names.cache_clear()
    return tuple(dict.fromkeys(_DIGITS.sub("#", key[:MAX_KEY_LENGTH]) for key in keys))


def _walk(document: Document, value: Any, path: str, depth: int) -> None:
    kind = type(value)
    if kind is dict:
        keys = tuple(value) if len(value) <= MAX_KEYS else tuple(value)[:MAX_KEYS]
        document.objects.append((path, _names(keys)))
        full = depth >= MAX_WALK_DEPTH or len(document.leaves) >= MAX_LEAVES or len(document.objects) >= MAX_LEAVES
        if full or len(keys) < len(value):
            document.complete = False
            if full:
                return
        leaves = document.leaves
        for key in keys:
            item = value[key]
            below = child_path(path, key)
            if type(item) is dict or type(item) is list:
                _walk(document, item, below, depth + 1)
            else:
                leaves.append((below, item))
    elif kind is list:
        below = _element_path(path)
        if not value:
            document.leaves.append((below, None))
            return
        if depth >= MAX_WALK_DEPTH or len(document.leaves) >= MAX_LEAVES:
            document.complete = False
            return
        if len(value) > HEAD + TAIL:
            document.complete = False
            value = value[:HEAD] + value[-TAIL:]
        for item in value:
            if type(item) is dict or type(item) is list:
                _walk(document, item, below, depth + 1)
            else:
                document.leaves.append((below, item))
    else:
        document.leaves.append((path, value))
