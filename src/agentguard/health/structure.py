"""JSON, lists and blocks of code in a response; out of order only where a form was asked for, or is broken."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import orjson

from .types import EngineResult, Structured

__all__ = ["Structure", "check", "read"]

METRIC: Final = "structure"
_BULLET: Final = re.compile(r"^[ \t]*[-*•][ \t]+\S", re.MULTILINE)
_NUMBERED: Final = re.compile(r"^[ \t]*\d{1,9}[.)][ \t]+\S", re.MULTILINE)
_FENCE: Final = re.compile(r"^[ \t]{0,3}```([^\n`]*)$", re.MULTILINE)
# How JSON begins, and prose in brackets (a footnote, a placeholder) hardly ever does.
_JSON_BEGINS: Final = re.compile(r"\s*(?:\{|\[\s*\{|\[)\s*\"")


class Structure(NamedTuple):
    """What a response is made of.

    Attributes:
        is_json: all of it, or all of its one fenced block, is an object or an array of JSON.
        broken_json: it begins as JSON, or has a fenced block that says it is JSON, and cannot be read as such.
        bullets: lines that begin with ``-``, ``*`` or ``•``.
        numbered: lines that begin with ``1.`` or ``1)``.
        code_blocks: fenced with three backticks; one that is never closed counts.
    """

    is_json: bool
    broken_json: bool
    bullets: int
    numbered: int
    code_blocks: int

    @property
    def list_items(self) -> int:
        """Bullets and numbered lines."""
        return self.bullets + self.numbered


def read(text: str) -> Structure:
    r"""The structure of a text, in time linear in its length.

    >>> read('{"city": "Oslo"}').is_json, read('{"city": "Os').broken_json, read("- a\n- b").list_items
    (True, True, 2)
    """
    blocks = _blocks(text)
    is_json = _is_json(text)
    if not is_json and len(blocks) == 1 and text.strip().startswith("```") and text.strip().endswith("```"):
        is_json = _is_json(blocks[0][1])
    broken = not is_json and (
        _JSON_BEGINS.match(text) is not None or any(label == "json" and not _is_value(body) for label, body in blocks)
    )
    return Structure(is_json, broken, len(_BULLET.findall(text)), len(_NUMBERED.findall(text)), len(blocks))


def _blocks(text: str) -> list[tuple[str, str]]:
    fences = list(_FENCE.finditer(text))
    found = []
    for place in range(0, len(fences), 2):
        end = fences[place + 1].start() if place + 1 < len(fences) else len(text)
        found.append((fences[place][1].strip().lower(), text[fences[place].end() : end]))
    return found


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[") and _is_value(text)


def _is_value(text: str) -> bool:
    try:
        orjson.loads(text.encode("utf-8", "replace"))
    except orjson.JSONDecodeError:
        return False
    return True


def check(
    found: Structure | None, expects: Structured | None = None, *, absent: float = 1.0, broken: float = 0.5
) -> EngineResult:
    """Find what is wrong with a structure. Where nothing is, the result has no weight in the score.

    Args:
        found: the response's structure; None: there was no text.
        expects: the form it was asked for: ``json``, ``list`` (two items and more) or ``code``.
        absent: the value, in error, where that form is not there.
        broken: the value, a warning, of broken JSON that nobody asked for.

    >>> check(read("I cannot do that."), "json")
    EngineResult(metric='structure', value=1.0, status='error', applicable=True, detail='json was expected, and ...')
    >>> check(read("Fine."))
    EngineResult(metric='structure', value=0.0, status='ok', applicable=False, detail='nothing out of order: ...')
    """
    if found is None:
        return EngineResult.abstain(METRIC, "no text was read")
    there = {"json": found.is_json, "list": found.list_items >= 2, "code": found.code_blocks > 0}
    if expects is not None and not there[expects]:
        how = "is broken" if expects == "json" and found.broken_json else "is absent"
        return EngineResult(METRIC, absent, "error", True, f"{expects} was expected, and {how}")
    if found.broken_json:
        return EngineResult(METRIC, broken, "warn", True, "begins as JSON, and cannot be read as such")
    made_of = "JSON" if found.is_json else f"{found.list_items} list items, {found.code_blocks} blocks of code"
    return EngineResult.abstain(METRIC, f"nothing out of order: {made_of}")
