"""A tool's result looked through as a whole: the texts in it, what they hold, and the result without that."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .findings import KINDS, Finding, Kind

if TYPE_CHECKING:
    from .scanner import Scanner

__all__ = ["KINDS", "Found", "Kind", "found_in", "redacted", "text_of"]

MAX_DEPTH: Final = 200
MAX_VALUES: Final = 1_000_000  # of a result that is redacted; one that shares its parts has them without end


class Found(NamedTuple):
    """What of one kind was found in a result.

    Attributes:
        score: how sure that is, in [0, 1]; 0 where nothing was found.
        findings: how many there are.
        names: what they are, each once, in alphabetical order; no words of the result.
        sure: they are what they look like; False for what is only suspicious.
    """

    score: float
    findings: int
    names: tuple[str, ...]
    sure: bool = True


def text_of(value: Any) -> str:
    r"""The texts of a value made of JSON's types, a line each, behind the name of the field that they stand in.

    >>> text_of({"note": "call me", "rows": [{"tel": "555-0132"}, 7]})
    'note: call me\nrows\ntel: 555-0132\nrows: 7'
    """
    if isinstance(value, str):
        return value
    found: list[str] = []
    _gather(value, "", found, 0)
    return "\n".join(found)


def _gather(value: Any, label: str, found: list[str], depth: int) -> None:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, dict):
        for key, item in value.items():
            if item is None or isinstance(item, (bool, dict, list, tuple)):
                found.append(str(key))
            _gather(item, f"{key}: ", found, depth + 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _gather(item, label, found, depth + 1)
    elif value is not None and not isinstance(value, bool):
        found.append(label + _written(value))


def _written(value: Any) -> str:
    """A number's digits; none of an integer so long that Python refuses to write it, for nothing we look for is."""
    try:
        return str(value)
    except ValueError:
        return ""


def found_in(value: Any, kinds: Collection[Kind]) -> dict[Kind, Found]:
    """What a result holds of each of these kinds, in one pass over its texts."""
    results = _scanner(kinds).scan(text_of(value), tools=())
    return {kind: _found(results[kind]) for kind in kinds}


def _found(result: Any) -> Found:
    if result.label == "clean":
        return Found(0.0, 0, ())
    names = tuple(sorted({finding.kind for finding in result.findings}))
    return Found(result.score, len(result.findings), names, result.label != "suspicious")


def _scanner(kinds: Collection[Kind]) -> Scanner:
    key = tuple(sorted(kinds))
    if key not in _scanners:
        from .scanner import Scanner  # with all its patterns, which only who declares content needs

        _scanners[key] = Scanner(key)
    return _scanners[key]


_scanners: dict[tuple[Kind, ...], Scanner] = {}


def redacted(value: Any, kinds: Collection[Kind]) -> Any:
    """The value with a placeholder for each finding of these kinds; texts within it one by one, all else as it is.

    Text that is JSON is read, and written again where there was something to redact.

    Raises:
        TypeError: for a value that is not made of JSON's types: its texts cannot be told from its other parts; for one
            of more than a million values.
    """
    from .redaction import redact_value

    scanner = _scanner(kinds)

    def find(text: str) -> list[Finding]:
        results = scanner.scan(text, tools=())
        return [finding for kind in kinds if results[kind].label != "clean" for finding in results[kind].findings]

    try:
        _refuse_others(value, 0, count(1))
    except TypeError:
        raise
    except Exception as error:  # of a foreign object, whose own code may fail at any question
        raise TypeError(f"what a {type(value).__name__} holds cannot be redacted: {type(error).__name__}") from None
    read = _json(value) if isinstance(value, str) else None
    if read is None:
        return redact_value(value, find).value
    made = redact_value(read, find)
    return json.dumps(made.value, ensure_ascii=False) if made.count else value


def _json(text: str) -> Any:
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _refuse_others(value: Any, depth: int, numbers: Iterator[int]) -> None:
    if next(numbers) > MAX_VALUES:
        raise TypeError(f"what holds more than {MAX_VALUES:,} values cannot be redacted")
    if isinstance(value, dict) and depth < MAX_DEPTH:
        for item in value.values():
            _refuse_others(item, depth + 1, numbers)
    elif isinstance(value, (list, tuple)) and depth < MAX_DEPTH:
        for item in value:
            _refuse_others(item, depth + 1, numbers)
    elif value is not None and not isinstance(value, (str, int, float, dict, list, tuple)):
        raise TypeError(f"what a {type(value).__name__} holds cannot be redacted")
