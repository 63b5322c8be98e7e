"""A tool's result looked through as a whole: the texts in it, what they hold, and the result without that."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agentguard import _forks as forks
from agentguard._limits import LIMITS
from agentguard.content._findings import LABEL, Finding, Kind
from agentguard.content._text import written
from agentguard.errors import DataError

if TYPE_CHECKING:
    from agentguard.content._scanner import Scanner


MAX_DEPTH: Final = 200
MAX_VALUES: Final = 1_000_000  # of a result that is redacted; one that shares its parts has them without end
DEEPEST: Final = 1_100  # levels whose texts are gathered: more than any JSON is read with
LABELLED: Final = 4  # characters of a number that a name may make something of
CONTAINER: Final = 16  # characters that a list counts for, so that one which holds itself comes to an end
ROOM: Final = 4  # times ``LIMITS.bytes``: of the texts with the names before them
MOST_REDACTED: Final = ROOM * LIMITS.bytes  # characters


class Texts(NamedTuple):
    """The texts of a value, a line each.

    Attributes:
        text: the lines.
        unread: what is not in them, in words; "" where all is.
    """

    text: str
    unread: str


class Found(NamedTuple):
    """The findings of one kind in a result, counted.

    Attributes:
        score: how sure that is, in [0, 1]; 0 where nothing was found.
        findings: how many there are.
        names: what they are, each once, in alphabetical order; no words of the result.
        sure: they are what they look like; False for what is only suspicious.
        more: there may be more of them.
        unread: what of the result was not looked at, in words; "" where all of it was.
    """

    score: float
    findings: int
    names: tuple[str, ...]
    sure: bool = True
    more: bool = False
    unread: str = ""


def text_of(value: Any) -> str:
    r"""Gather the texts of a JSON-like value, a line each, behind the names of their fields.

    >>> text_of({"note": "call me", "rows": [{"tel": "555-0132"}, 7, "x"]})
    'note: call me\nrows\ntel: 555-0132\n7\nrows: x'
    """
    return texts_of(value).text


def texts_of(value: Any) -> Texts:
    """Gather the texts as ``text_of`` does, up to 16 MiB, and say what is left out."""
    if isinstance(value, str):
        if len(value) <= LIMITS.bytes:
            return Texts(value, "")
        return Texts(value[: LIMITS.bytes], f"looked at the first {LIMITS.bytes:,} of {len(value):,} characters")
    lines: list[str] = []
    left, room, too_deep = LIMITS.bytes, ROOM * LIMITS.bytes, False
    levels: list[Iterator[tuple[str, str, Any]]] = [iter((("", "", value),))]
    while levels:
        for name, label, item in levels[-1]:
            is_list = isinstance(item, (list, tuple))
            if name and (item is None or is_list or isinstance(item, (bool, dict))):
                lines.append(name)
                left -= len(name) + 1
            if is_list or isinstance(item, dict):
                left -= CONTAINER
                if len(levels) < DEEPEST:
                    levels.append(_elements(item, label) if is_list else _fields(item))
                    break
                too_deep = True
            elif item is not None and not isinstance(item, bool):
                text = item if type(item) is str else written(item)
                if len(text) > left:
                    text, left = text[: max(left, 0)], -1
                if name or isinstance(item, str) or len(text) >= LABELLED:
                    text = f"{label}{text}"
                lines.append(text)
                left -= len(text) - len(label) + 1
                room -= len(text) + 1
            if left < 0 or room < 0:
                return Texts("\n".join(lines), f"looked at the first {LIMITS.bytes:,} characters of its texts")
        else:
            levels.pop()
    return Texts("\n".join(lines), f"nested more than {DEEPEST:,} levels deep" if too_deep else "")


def _fields(value: dict[Any, Any]) -> Iterator[tuple[str, str, Any]]:
    """Each field as its name, the label before its text, and its value."""
    for key, item in value.items():
        name = key if type(key) is str else written(key)
        yield name, f"{name}: ", item


def _elements(value: Collection[Any], label: str) -> Iterator[tuple[str, str, Any]]:
    return zip(repeat(""), repeat(label[-LABEL:]), value)


def found_in(value: Any, kinds: Collection[Kind]) -> dict[Kind, Found]:
    """Look through a result for these kinds, in one pass over its texts."""
    texts = texts_of(value)
    with forks.undivided():
        results = _scanner(kinds).scan(texts.text, tools=(), most=LIMITS.findings)
    return {kind: _found(results[kind], texts.unread) for kind in kinds}


def _found(result: Any, unread: str) -> Found:
    more = getattr(result, "more", False) or len(result.findings) >= LIMITS.findings
    if result.label == "clean":
        # What looked alike was so much that the search was given up.
        return Found(0.0, 0, (), unread=unread or ("too much in it has the form of it" if more else ""))
    names = tuple(sorted({finding.kind for finding in result.findings}))
    return Found(result.score, len(result.findings), names, result.label != "suspicious", more, unread)


def _scanner(kinds: Collection[Kind]) -> Scanner:
    key = tuple(sorted(kinds))
    if key not in _scanners:
        from agentguard.content._scanner import Scanner  # with all its patterns, which only who declares content needs

        _scanners[key] = Scanner(key)
    return _scanners[key]


_scanners: dict[tuple[Kind, ...], Scanner] = {}


def redacted(value: Any, kinds: Collection[Kind]) -> Any:
    """Put a placeholder in the place of each finding of these kinds in a JSON-like value.

    Text that is JSON is read, and written again where there was something to redact.

    Raises:
        TypeError: for a value that is not made of JSON's types: its texts cannot be told from its other parts; for one
            of more than a million values or 64 MiB of texts, and where more is found than can be taken out.
    """
    with forks.undivided():  # a module that is half loaded stays so in a child
        from agentguard.content._redaction import redact_value

        scanner = _scanner(kinds)

    def find(text: str) -> list[Finding]:
        if len(text) > MOST_REDACTED:
            raise _CannotRedact(f"what holds more than {MOST_REDACTED:,} characters cannot be redacted")
        try:
            with forks.undivided():
                results = scanner.scan(text, tools=(), every=True)
        except DataError as error:
            raise _CannotRedact(f"it cannot be redacted: {error}") from None
        if any(getattr(results[kind], "more", False) for kind in kinds):
            raise _CannotRedact(f"what holds more than {LIMITS.values:,} findings cannot be redacted")
        return [finding for kind in kinds if results[kind].label != "clean" for finding in results[kind].findings]

    try:
        _refuse_others(value)
        read = _json(value) if isinstance(value, str) else None
        if read is None:
            return redact_value(value, find).value
        made = redact_value(read, find)
        return json.dumps(made.value, ensure_ascii=False) if made.count else value
    except _CannotRedact:
        raise
    except Exception as error:  # of a foreign object, whose own code may fail at any question
        raise _CannotRedact(f"what a {type(value).__name__} holds cannot be redacted: {type(error).__name__}") from None


class _CannotRedact(TypeError):
    """A value whose texts cannot be told from its other parts, or that is too much."""


def _json(text: str) -> Any:
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return unambiguous(text)
    except (ValueError, RecursionError):
        return None


def unambiguous(text: str) -> Any:
    """Read JSON in which every name is there once: of one that is there twice, only the last would be read.

    Raises:
        ValueError: for other text.

    >>> unambiguous('{"a": 1}')
    {'a': 1}
    """
    return json.loads(text, object_pairs_hook=_each_once)


def _each_once(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(fields)
    if len(made) < len(fields):
        raise ValueError("a name is there twice")
    return made


def _refuse_others(value: Any) -> None:
    """Refuse what is not made of JSON's types, or is too much: what stands there many times counts as often."""
    pending = [(value, 0)]
    values = characters = 0
    while pending:
        item, depth = pending.pop()
        values += 1
        if isinstance(item, str):
            characters += str.__len__(item)
        elif isinstance(item, (dict, list, tuple)):
            if depth < MAX_DEPTH:
                inner = islice(item.values() if isinstance(item, dict) else item, MAX_VALUES)
                pending.extend((each, depth + 1) for each in inner)
        elif item is not None and not isinstance(item, (int, float)):
            raise _CannotRedact(f"what a {type(item).__name__} holds cannot be redacted")
        if values + len(pending) > MAX_VALUES:
            raise _CannotRedact(f"what holds more than {MAX_VALUES:,} values cannot be redacted")
        if characters > MOST_REDACTED:
            raise _CannotRedact(f"what holds more than {MOST_REDACTED:,} characters cannot be redacted")


def cut(value: Any, longest: int, most: int) -> Any:
    """A JSON value with its texts cut, and without what is beyond the first values of it.

    Args:
        value: the value.
        longest: characters of a text.
        most: values that are kept.

    >>> cut({"command": "x" * 30}, 20, 10)["command"][-3:], len(cut(list(range(50)), 20, 10))
    ('xx…', 9)
    """
    left = most

    def part(item: Any, depth: int) -> Any:
        nonlocal left
        left -= 1
        if isinstance(item, str):
            return item if len(item) <= longest else f"{item[: longest - 1]}…"
        if depth == MAX_DEPTH:
            return None
        if isinstance(item, dict):
            return {name: part(held, depth + 1) for name, held in item.items() if left > 0}
        if isinstance(item, list):
            return [part(held, depth + 1) for held in item if left > 0]
        return item

    return part(value, 0)
