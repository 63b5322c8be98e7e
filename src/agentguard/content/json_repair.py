"""JSON mended: the value that a broken text most likely meant, and every edit that this took."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any, NamedTuple, NoReturn

from agentguard.content.findings import Finding
from agentguard.content.json_edits import ESCAPE_QUOTE, inner_quotes, json_faults
from agentguard.content.metered_text import Exhausted, MeteredText

__all__ = ["Repair", "repair"]

EDITS = 100  # so many edits are listed
# Broken JSON as models write it takes the library 1 to 9 looks at a character; hostile texts take it thousands.
READS, READS_A_CHARACTER = 50_000, 16
STEPS = 6  # kinds of edits in the published list: comments, commas, keys, quotes, line breaks, brackets


class Repair(NamedTuple):
    """What became of a text that should be JSON.

    Attributes:
        value: the value; None where there is none, and where it is JSON's null: ``valid`` tells them apart.
        text: valid JSON with that value: the text as given where it was valid, and where nothing could be made of it.
        edits: what had to be done, with its place in the text as given; empty where it was valid.
        valid: whether there is a value, so that ``text`` is JSON.
    """

    value: Any
    text: str
    edits: tuple[Finding, ...]
    valid: bool

    @property
    def label(self) -> str:
        """``"valid"`` as given, ``"repaired"``, or ``"failed"``."""
        return "failed" if not self.valid else "repaired" if self.edits else "valid"

    @property
    def score(self) -> float:
        """How broken it was: 0 where valid, 1 where nothing helped, else a sixth for each kind of edit, at most 1."""
        return min(1.0, len({edit.kind for edit in self.edits}) / STEPS) if self.valid else 1.0

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The edits."""
        return self.edits


def repair(text: str, *, max_characters: int = 200_000) -> Repair:
    """Read a text as JSON, and mend it where that fails.

    Comments, trailing commas, bare keys, single quotes, raw line breaks, inner quotes, text around and missing brackets
    are mended; a string keeps its slashes, braces and quotes. The result is a guess: it is JSON, and its meaning is not
    verified. Control characters and inner quotes in strings are escaped first; for all else stands the json-repair
    library.

    Args:
        text: the text, in which one JSON value stands.
        max_characters: longest text that the library is asked about; it gives up early on texts made to keep it busy.

    >>> mended = repair("{name: 'Ada', 'tags': [1, 2,], // as of today")
    >>> mended.value, mended.label
    ({'name': 'Ada', 'tags': [1, 2]}, 'repaired')
    >>> [edit.kind for edit in mended.edits][:3]
    ['quote a key', 'replace single quotes', 'replace single quotes']
    >>> repair('{"url": "https://x.org/{id}"}').edits
    ()
    """
    try:
        return Repair(json.loads(text, parse_constant=_no_constant), text, (), True)
    except (ValueError, RecursionError):
        pass
    repaired = _escaped(text) or (_mended(text) if len(text) <= max_characters else None)
    if repaired is not None:
        return repaired
    reason = "no JSON found" if len(text) <= max_characters else f"longer than {max_characters} characters"
    return Repair(None, text, (Finding("failed", f"not mended: {reason}", 0, len(text)),), False)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _escaped(text: str) -> Repair | None:
    """The text with control characters and inner quotes escaped, where that is all it needs."""
    quotes: list[int] = []
    for attempt in range(2):
        if attempt:
            quotes = inner_quotes(text)
            if not quotes:
                return None
        pieces = [text[start:end] for start, end in zip([0, *quotes], [*quotes, len(text)], strict=True)]
        try:
            value = json.loads("\\".join(pieces), strict=False, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            continue
        bare = (Finding(ESCAPE_QUOTE, "a quote within a string", place, place + 1) for place in quotes)
        edits = islice(bare if quotes else json_faults(text), EDITS)
        return _written(value, tuple(edits))
    return None


def _mended(text: str) -> Repair | None:
    """What the json-repair library makes of the text; None where it finds no value in it."""
    from json_repair import repair_json

    try:
        metered = MeteredText(text, READS + READS_A_CHARACTER * len(text))
        value = repair_json(metered, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError, Exhausted):
        return None
    if value == "":
        return None
    edits = tuple(islice(json_faults(text), EDITS))
    return _written(value, edits or (Finding("mend", "not JSON as it stands", 0, len(text)),))


def _written(value: Any, edits: tuple[Finding, ...]) -> Repair | None:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError):
        return None
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            text = json.dumps(value)
            value = json.loads(text)  # two halves of a surrogate pair side by side are one character in JSON
    return Repair(value, text, edits, True)
