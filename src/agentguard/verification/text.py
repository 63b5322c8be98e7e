"""What text says that is no JSON: ``key: value`` lines, read without a YAML parser, and reports of errors.

A parser refuses a cut-off document; this reader takes what is there and says what is still open at its end.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final, NamedTuple

from .walk import Form

MAX_LINES = 600
MAX_SCALAR = 400
_LINE = re.compile(r"^(\s*)((?:- )*)([A-Za-z_@][\w@ .()/-]{0,40}):(?:\s(.*))?$")
_DIGITS = re.compile(r"\d+")
_QUOTED = {"'": re.compile(r"'[^']*(?:''[^']*)*'(?!')"), '"': re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')}


class KeyedText(NamedTuple):
    """``leaves`` and ``forms`` as in ``Document``.

    ``open_forms`` are the objects in which the text ends; ``unclosed`` is True where a quoted value never ends.
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

LONGEST_TEXT: Final = 600
MOST_KEYS: Final = 3
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
