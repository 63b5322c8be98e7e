"""A tool's result looked through as a whole: the texts in it, what they hold, and the result without that."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, Literal, NamedTuple

__all__ = ["KINDS", "Found", "Kind", "found_in", "redacted", "text_of"]

Kind = Literal["injection", "pii", "secrets"]
KINDS: Final[tuple[Kind, ...]] = ("injection", "pii", "secrets")
MAX_DEPTH: Final = 200


class Found(NamedTuple):
    """What of one kind was found in a result.

    Attributes:
        score: how sure that is, in [0, 1]; 0 where nothing was found.
        findings: how many there are.
        names: what they are, each once, in alphabetical order; no words of the result.
    """

    score: float
    findings: int
    names: tuple[str, ...]


def text_of(value: Any) -> str:
    r"""The texts of a value made of JSON's types, keys too, a line each; a text stands for itself.

    >>> text_of({"note": "call me", "rows": [{"tel": "555-0132"}, 7]})
    'note\ncall me\nrows\ntel\n555-0132'
    """
    if isinstance(value, str):
        return value
    found: list[str] = []
    _gather(value, found, 0)
    return "\n".join(found)


def _gather(value: Any, found: list[str], depth: int) -> None:
    if isinstance(value, str):
        found.append(value)
    elif depth > MAX_DEPTH:
        return
    elif isinstance(value, dict):
        for key, item in value.items():
            found.append(str(key))
            _gather(item, found, depth + 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _gather(item, found, depth + 1)


def found_in(value: Any, kinds: Collection[Kind]) -> dict[Kind, Found]:
    """What a result holds of each of these kinds, in one pass over its texts."""
    from .scanner import Scanner

    scanner = _scanners.get(key := tuple(sorted(kinds)))
    if scanner is None:
        scanner = _scanners[key] = Scanner(key)
    results = scanner.scan(text_of(value))
    return {kind: _found(results[kind]) for kind in kinds}


def _found(result: Any) -> Found:
    names = tuple(sorted({finding.kind for finding in result.findings}))
    return Found(result.score if names else 0.0, len(result.findings), names)


_scanners: dict[tuple[Kind, ...], Any] = {}


def redacted(value: Any, kinds: Collection[Kind]) -> Any:
    """The value with a placeholder for each finding of these kinds; texts within it one by one, all else as it is.

    Text that is JSON is read, and written again where there was something to redact.

    Raises:
        TypeError: for a value that is not made of JSON's types: its texts cannot be told from its other parts.
    """
