"""One tool result, serialised once and walked once; every check reads it from here."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Hashable, Set
from functools import lru_cache
from typing import Any, Final, NamedTuple

import orjson

from agentguard._limits import LIMITS as ALL_LIMITS
from agentguard.verification._canonical import MAX_SCANNED, digest, made_plain, serialised, weighs_too_much
from agentguard.verification._sides import Side
from agentguard.verification._walk import MAX_KEYS, MAX_LEAVES, Form, Layout, Walk, layout_of, text_layout_of

MAX_LINES = 600  # of keyed text
MAX_SCALAR = 400  # characters of a quoted value
_LINE = re.compile(r"^(\s*)((?:- )*)([A-Za-z_@][\w@ .()/-]{0,40}):(?:\s(.*))?$")
_DIGITS = re.compile(r"\d+")
_QUOTED = {"'": re.compile(r"'[^']*(?:''[^']*)*'(?!')"), '"': re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')}

# --- Text that is no JSON: ``key: value`` lines, read without a YAML parser, and reports of errors ---
#
# A parser refuses a cut-off document; this reader takes what is there and says what is still open at its end.


class KeyedText(NamedTuple):
    """Text of ``key: value`` lines, with ``leaves`` and ``forms`` as in ``Document``.

    The text ends within the objects ``open_forms``; ``unclosed`` is True where a quoted value never ends.
    """

    leaves: dict[str, list[Any]]
    forms: dict[Form, None]
    open_forms: list[Form]
    unclosed: bool
    complete: bool


class _Level:
    """One open mapping: how far it is indented, where it stands, the keys seen so far."""

    __slots__ = ("indent", "keys", "path")

    def __init__(self, indent: int, path: str) -> None:
        self.indent = indent
        self.path = path
        self.keys: list[str] = []

    def as_form(self) -> Form:
        return self.path, tuple(dict.fromkeys(self.keys))


@lru_cache(maxsize=2_048)
def _name(key: str) -> str:
    """A key without its digits; equal ones are one object, since they are kept by the thousand."""
    return _DIGITS.sub("#", key)


class _Reader:
    """One pass over the lines: what was found, what is open, how many lines made sense."""

    def __init__(self) -> None:
        self.leaves: dict[str, list[Any]] = {}
        self.forms: dict[Form, None] = {}
        self.levels: list[_Level] = []
        self.keyed = 0
        self.explained = 0
        self.blank = 0
        self.quote = ""
        self._path = ""
        self._quoted: list[str] = []

    def take(self, line: str) -> None:
        if self.quote:
            self.explained += 1
            self._continue_quoted(line)
            return
        match = _LINE.match(line)
        if match is not None:
            self.keyed += 1
            self.explained += 1
            self._key(len(match[1]) + len(match[2]), bool(match[2]), _name(match[3]), match[4] or "")
            return
        item = line.strip()
        if not item:
            self.blank += 1
        elif self.levels and item.startswith("- "):
            self.explained += 1
            self.leaves.setdefault(f"{self._path}[]", []).append(item[2:])
        elif self.levels and len(line) - len(line.lstrip()) > self.levels[-1].indent:
            self.explained += 1  # a plain value goes on, further in

    def _key(self, indent: int, is_item: bool, key: str, value: str) -> None:
        levels = self.levels
        while levels and (levels[-1].indent > indent or (is_item and levels[-1].indent == indent)):
            self.forms[levels.pop().as_form()] = None
        if not levels or levels[-1].indent < indent:
            parent = f"{levels[-1].path}.{levels[-1].keys[-1]}".lstrip(".") if levels else ""
            levels.append(_Level(indent, parent + ("[]" if is_item else "")))
        levels[-1].keys.append(key)
        self._path = f"{levels[-1].path}.{key}".lstrip(".")
        value = value.strip()
        quoted = _QUOTED.get(value[:1])
        closed = None if quoted is None else quoted.match(value)
        if quoted is not None and (closed is None or closed.end() == len(value)):
            self.quote, self._quoted = value[0], []
            self._continue_quoted(value[1:])
        elif value:  # `"Dune" by Frank Herbert` opens no quote
            self.leaves.setdefault(self._path, []).append(value)

    def _continue_quoted(self, line: str) -> None:
        line = line.strip()
        escape = self.quote if self.quote == "'" else "\\"
        body = line.removesuffix(self.quote)
        closed = body != line and (len(body) - len(body.rstrip(escape))) % 2 == 0  # '' and \" are literal quotes
        self._quoted.append(line[:-1] if closed else line)
        if closed:
            self.end_quoted()

    def end_quoted(self) -> None:
        text = " ".join(self._quoted)[:MAX_SCALAR]
        if self.quote == "'":
            text = text.replace("''", "'")
        else:
            text = text.replace("\\n", " ").replace('\\"', '"').replace("\\ ", "").replace("\\", "")
        self.leaves.setdefault(self._path, []).append(text)
        self.quote = ""


def keyed_lines(text: str) -> KeyedText | None:
    r"""The leaves of keyed text, or None where more than half of its lines do not read as keyed text.

    Blank lines do not count. Beyond 600 lines it is not said what is open at the end, since it is not looked at.

    >>> keyed_lines("- id: 7\n  name: 'Ann\n   Lee'\n").leaves
    {'[].id': ['7'], '[].name': ['Ann Lee']}
    """
    lines = text.split("\n", MAX_LINES)
    complete = len(lines) <= MAX_LINES
    reader = _Reader()
    for line in lines[:MAX_LINES]:
        reader.take(line)
    if reader.keyed == 0 or reader.explained * 2 < min(len(lines), MAX_LINES) - reader.blank:
        return None
    unclosed = bool(reader.quote) and complete
    if reader.quote:
        reader.end_quoted()
    still_open = [level.as_form() for level in reversed(reader.levels)] if complete else []
    return KeyedText(reader.leaves, {**reader.forms, **dict.fromkeys(still_open)}, still_open, unclosed, complete)


# --- Results that report a failure instead of giving an answer ---

LONGEST_TEXT: Final = 600  # characters of an error report
MOST_KEYS: Final = 3  # of an object that reports an error
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
        | (?-i:E[A-Z]{{3,12}}):\s | access\ denied\b | permission\ denied\b | could\ not\ \w
        | \d+\ validation\ errors?\b
        | not\ found | forbidden\b(?!\s+(?-i:[A-Z][a-z]))
        | (?:http\S*\s+)?[45]\d\d\s+(?:bad|forbidden|gateway|internal|service|too\ many|unauthori[sz]ed)\b
    )
    | .{{0,80}}(?:
        \balready\ exists\b | \b(?:cannot|can't|can\ not|could\ not|unable\ to)\ \w
        | \berror(?:\.\.\.|:(?!{_NOTHING}))
        | \b(?:not\ found|does\ not\ exist)(?=\s*(?:$|[^\w\s]|(?:at|by|for|in|on|to|with|within)\b))
    )
    """,
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


def reports_error(value: Any) -> bool:
    """An object of at most three keys of which one names an error, or a short text that starts as an error report.

    >>> reports_error({"error": "no such city"}), reports_error({"error": None}), reports_error("Error rates in 2024")
    (True, False, False)
    """
    if type(value) is dict:
        return len(value) <= MOST_KEYS and any(
            isinstance(key, str) and key.lower() in _ERROR_KEYS and bool(item) for key, item in value.items()
        )
    return isinstance(value, str) and len(value) < LONGEST_TEXT and _ERROR_TEXT.match(value) is not None


# --- The document ---
#
# Marks that set the result off (a code fence, ``<<`` and ``>>``, the quotes of one JSON string) are no part of it. Text
# that is JSON, a Python literal or ``key: value`` lines is read as the structure that it writes.


MAX_LITERAL: Final = 20_000  # characters of a Python literal, which takes time to read

_KINDS = {dict: "object", list: "array", bool: "boolean", int: "number", float: "number"}
EMPTY = frozenset({b"", b"null", b'""', b"[]", b"{}", b"None", b"none", b"()"})
LONGEST_EMPTY: Final = 4  # bytes: to look up a long text is to hash all of it
_JSON_START = re.compile(r"""\s*(?:\{\s*(?:["'}]|$)|\[\s*(?:[\[{"'\]]|$|-?\d[\d.eE+-]*\s*(?:,|$)))""")
_FENCE = re.compile(r"```\w{0,20}[ \t\r]*\n")  # more than a language is part of the text
_ESCAPE = re.compile(r"(\\[\\'\"abfnrtvxuUN0-7\n])|\\")  # those that Python has, or a bare backslash


class Limits(NamedTuple):
    """Limits on reading: text up to so many bytes is parsed, so many values are walked."""

    max_bytes: int = ALL_LIMITS.bytes
    max_nodes: int = MAX_LEAVES


LIMITS = Limits()


class Document:
    """A result as the checks see it.

    Attributes:
        value: the plain value: parsed where the result was JSON text, the text itself where it was not.
        text: its compact JSON, or the text, as UTF-8; ``size`` is its length in bytes.
        source: the text that it was read from; "" for a result that was no text.
        kind: ``object array lines literal number boolean word keyed list prose broken empty large``; ``lines`` is
            JSON Lines, ``literal`` a Python literal, ``keyed`` lines of ``key: value``, ``broken`` text that starts as
            JSON and does not parse, ``large`` text beyond the limit, which is not read.
        is_error: the result reports a failure instead of an answer.
        leaves, lengths: the scalars at each path (see ``_walk``), sampled in long lists and bounded; and how long
            lists are.
        forms: the path and the keys in order of the objects met, each once.
        complete: False where the walk had to leave something out.
        unread: what of the result is not in ``value``, in words: it is too large, too deep; "" where all of it is.
        open_forms: those of the objects in which a keyed text ends.
        unclosed: a quote or bracket that text opened is still open at its end.
        is_structured: the result is an object or an array, however it was written.
        digest: 64 bits that tell results apart.
        layout: what results of this form have in common, of structured and keyed results; else None.
        facts, formats, not_finite, numbers, clocks: worked out on first use, by ``_shape``, ``_keys``
            and ``drift``.
        stale: the paths that say what they said at the last look with the same arguments, see ``Relations.look``.
    """

    __slots__ = (
        "_side", "clocks", "complete", "digest", "facts", "formats", "forms", "is_error", "is_structured",
        "kind", "layout", "leaves", "lengths", "not_finite", "numbers", "open_forms", "size", "source", "stale",
        "text", "unclosed", "unread", "value",
    )  # fmt: skip

    def __init__(self, value: Any, text: bytes, kind: str) -> None:
        self.value = value
        self.text = text
        self.source = ""
        self.kind = kind
        self.is_error = False
        self.leaves: dict[str, list[Any]] = {}
        self.lengths: dict[str, int] = {}
        self.forms: dict[Form, None] = {}
        self.open_forms: list[Form] = []
        self.layout: Layout | None = None
        self.complete = True
        self.unread = ""
        self.unclosed = False
        self.digest = digest(text)
        self.size = len(text)
        self.is_structured = isinstance(value, (dict, list))
        self.facts: Set[Hashable] | None = None
        self.formats: dict[str, str] | None = None
        self.numbers: dict[str, float] | None = None
        self.not_finite: dict[str, str] | None = None
        self.clocks: dict[str, float | str] | None = None
        self._side: Side | None = None
        self.stale: frozenset[str] = frozenset()

    @property
    def side(self) -> Side:
        """The scalars as relations compare them."""
        if self._side is None:
            self._side = Side(self.leaves, self.text, self.lengths)
        return self._side


def read(result: Any, limits: Limits = LIMITS) -> Document:
    """Read any Python object as a tool result.

    Raises:
        RuntimeError: where another thread changes it meanwhile; ``read_copy`` reads it then. It raises nothing else.

    >>> document = read('{"rows": [{"id": 1}, {"id": 2}]}')
    >>> document.kind, document.leaves
    ('object', {'rows[].id': [1, 2]})
    """
    if type(result) is str:
        return _read_text(result, limits)
    if type(result) is bytes or type(result) is bytearray:
        return _read_text(result.decode("utf-8", "replace"), limits)
    walk = _walked(result, limits)
    if walk is None:
        return read_copy(result, limits)
    text, value, cut = serialised(result)
    if type(value) is str:
        return _read_text(value, limits, cut)
    if value is result:
        document = _read_value(value, text, limits, walk)
        if document.layout is None or document.layout.is_plain:
            return document
        return read_copy(value, limits)  # of tuples, UUIDs and enums, which orjson writes as they stand
    return _read_value(value, text, limits, cut=cut)


def read_copy(result: Any, limits: Limits = LIMITS) -> Document:
    """``read``, of a plain copy: of any object, also of one that another thread is changing."""
    value, cut = made_plain(result)
    if type(value) is str:
        return _read_text(value, limits, cut)
    return _read_value(value, orjson.dumps(value), limits, cut=cut)


def _walked(result: Any, limits: Limits) -> Walk | None:
    """A walk over the object as it stands; None where it has to be made plain: too large, or no JSON at all."""
    walk = Walk(limits.max_nodes)
    try:
        walk.visit(result)
    except RuntimeError:  # it was changed under way
        raise
    except Exception:  # keys and values may be of any class, with code of their own
        return None
    return None if (walk.is_heavy or _holds_tuples(walk.typed)) and weighs_too_much(result) else walk


def _holds_tuples(typed: list[Any]) -> bool:
    """Tuples are not walked through, but would be written: their parts may be shared as those of lists may."""
    return any(tuple in kinds for kinds in typed[1::2])


def _read_value(
    value: Any, text: bytes, limits: Limits, walk: Walk | None = None, kind: str = "", cut: str = ""
) -> Document:
    """The document of a value that is JSON's own, or is shown by the layout not to be."""
    if len(text) <= LONGEST_EMPTY and text in EMPTY:
        return Document(value, text, "empty")
    if walk is None:
        walk = Walk(limits.max_nodes)
        walk.visit(value)
    document = Document(value, text, kind or _KINDS.get(type(value), "object"))
    document.leaves, document.forms, document.complete = walk.leaves, walk.forms, walk.complete
    document.lengths = walk.lengths
    document.layout = layout_of(walk.forms, walk.typed)
    document.is_error = reports_error(value)
    return _cut(document, cut) if cut else document


def _cut(document: Document, cut: str) -> Document:
    """The document, marked as one of which something was left out."""
    document.unread, document.complete = cut, False
    return document


def _read_text(text: str, limits: Limits, cut: str = "") -> Document:
    """The document of a text; ``cut`` says what of an object it stands for is not in it."""
    if len(text) > limits.max_bytes:
        document = Document(text[:MAX_SCANNED], text.encode("utf-8", "replace"), "large")
        return _cut(document, cut or "larger than max_bytes")
    document = _read_form(text, limits)
    document.source = text
    return _cut(document, cut) if cut else document


def _read_form(text: str, limits: Limits) -> Document:
    """The document of a text that is not too large, by the form that it is written in."""
    text = text.removeprefix("\ufeff")  # a byte order mark is no part of the text
    stripped = text[:MAX_SCANNED].strip()
    first = stripped[:1]
    # Marks that set the result off.
    if (first == "<" or first == "`") and len(text) <= MAX_SCANNED:
        text = _unwrapped(stripped) or text
        stripped = text.strip()
        first = stripped[:1]
    if first == '"' and "\\n" in text and (lines := _json_string(stripped)):
        text = lines
        stripped = text[:MAX_SCANNED].strip()
        first = stripped[:1]
    # JSON, or the literal of a Python container.
    if first and (first in '{["-(' or first.isdigit() or stripped in ("true", "false")):
        parsed = _parse(text, stripped, limits)
        if parsed is not None:
            return parsed
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raw = text.encode("utf-8", "replace")
        text, stripped = raw.decode(), stripped.encode("utf-8", "replace").decode()
    if len(stripped) <= LONGEST_EMPTY and stripped.encode("utf-8", "replace") in EMPTY:
        return Document(text, raw, "empty")
    if first and first in "{[" and _JSON_START.match(stripped):
        document = Document(text, raw, "broken")
        document.unclosed = len(text) > MAX_SCANNED or _is_open(stripped)
        return document
    return _read_plain_text(text, stripped, raw)


def _unwrapped(stripped: str) -> str:
    """Return the text inside of a code fence, or of ``<<`` and ``>>``; "" where there is none, or no closing mark."""
    if stripped.startswith("<<") and stripped.endswith(">>"):
        return stripped[2:-2].strip() or "[]"
    if _FENCE.match(stripped) and stripped.endswith("\n```"):
        return stripped[stripped.index("\n") + 1 : -4].strip() or "[]"
    return ""


def _json_string(stripped: str) -> str:
    r"""The lines that were written as one JSON string, as some servers do; empty where the text is no such string.

    >>> _json_string('"name: Oslo\\nsky: clear"')
    'name: Oslo\nsky: clear'
    """
    try:
        value = orjson.loads(stripped)
    except ValueError:
        return ""
    return value if isinstance(value, str) else ""


def _parse(text: str, stripped: str, limits: Limits) -> Document | None:
    """The document of text that is JSON, or the literal of a Python container; None for any other text."""
    try:
        value = orjson.loads(text if len(text) > MAX_SCANNED else stripped)
    except (ValueError, RecursionError):
        if stripped[0] == "{" and "\n" in stripped and (lines := _parse_lines(stripped, limits)) is not None:
            return lines
        if stripped[0] not in "{[(" or stripped[-1] not in "}])":
            return None
        try:
            value = json.loads(text)  # takes NaN and lone surrogates, which Python's own writer puts into JSON
        except (ValueError, RecursionError):
            return _parse_literal(stripped, limits)
    if isinstance(value, str):
        return None  # a JSON string is read as the text that it was written in
    canonical, value, cut = serialised(value)
    return _read_value(value, canonical, limits, cut=cut)


def _parse_lines(stripped: str, limits: Limits) -> Document | None:
    """JSON Lines: an object on every line, the last of which may be cut off. None where it is not that."""
    values: list[Any] = []
    lines = stripped.split("\n")
    rest = ""  # of the last line, where it is cut off
    for line in lines:
        try:
            value = orjson.loads(line) if line.strip() else None
        except (ValueError, RecursionError):
            if line is not lines[-1] or not values:
                return None
            rest = line
            break
        if type(value) is dict:
            values.append(value)
        elif value is not None:
            return None
    canonical, _, cut = serialised(values)
    document = _read_value(values, canonical + rest.encode("utf-8", "replace"), limits, kind="lines", cut=cut)
    document.unclosed = bool(rest)
    return document


def _parse_literal(stripped: str, limits: Limits) -> Document | None:
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
    canonical, _, cut = serialised(value)
    return _read_value(orjson.loads(canonical), canonical, limits, kind="literal", cut=cut)


def _is_open(text: str) -> bool:
    """A string or a bracket of text that starts as JSON, or as a Python literal, is open at its end."""
    quote = "'" if text[1:].lstrip()[:1] == "'" else '"'
    # A string that is not closed is taken to the end: to search on inside of it would take quadratic time.
    string = rf"{quote}[^{quote}\\]*(?:\\.[^{quote}\\]*)*(?:{quote}|(\\?\Z))"
    outside = re.sub(string, lambda match: "" if match[1] is None else quote, text, flags=re.DOTALL)
    opened = outside.count("{") + outside.count("[")
    return quote in outside or opened > outside.count("}") + outside.count("]")


def _read_plain_text(text: str, stripped: str, raw: bytes) -> Document:
    document = Document(text, raw, "prose")
    keyed = keyed_lines(stripped)
    if keyed is not None:
        document.kind = "keyed"
        document.leaves, document.forms, document.unclosed = keyed.leaves, keyed.forms, keyed.unclosed
        document.complete, document.open_forms = keyed.complete, keyed.open_forms
        document.layout = text_layout_of(keyed.forms, keyed.leaves)
    elif stripped.startswith("- "):
        document.kind = "list"
        lines = stripped.split("\n", MAX_KEYS)
        document.leaves = {"[]": [line[2:].rstrip() for line in lines[:MAX_KEYS] if line[:2] == "- "]}
        document.complete = len(lines) <= MAX_KEYS
        document.layout = text_layout_of((), document.leaves)
    elif len(stripped) < 24 and " " not in stripped:
        document.kind = "word"
        document.leaves = {"": [stripped]}
    else:
        document.leaves = {"": [text]}
        document.unclosed = (
            stripped.count('"') % 2 == 1
            or stripped.count("(") > stripped.count(")")
            or stripped.count("[") > stripped.count("]")
        )
    if len(text) > MAX_SCANNED:
        document.complete, document.unclosed, document.open_forms = False, False, []  # its end was not looked at
    document.is_error = reports_error(stripped)
    return document
