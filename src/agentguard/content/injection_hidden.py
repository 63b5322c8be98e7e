"""Places in a text that a reader of the page does not see, and the model does."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from agentguard._linear_patterns import LinearPattern
from agentguard.content.patterns import Occurrences, Pattern

__all__ = ["PATTERNS", "HiddenPlace", "hidden_places"]


class HiddenPlace(NamedTuple):
    """What kind of place, and where it stands in the text, in characters."""

    what: str
    start: int
    end: int


_STYLES = (
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0(?:\.0+)?\s*[;\"']"
    r"|[^-]color\s*:\s*(?:white|#fff(?:fff)?|transparent)\b|(?:left|top|text-indent)\s*:\s*-\d{3,}"
)
# By name: the least that shows such a place may be there, and the place, its group being what it hides.
_PLACES = {
    "an HTML comment": ("<!--", r"(?s)<!--(.*?)(?:-->|\z)"),
    "an element that is not shown": (
        rf"(?i)(?:{_STYLES})|aria-hidden|<[a-z]+ [^<>]{{0,80}}hidden",
        rf"(?is)<[a-z][^<>]*?(?:{_STYLES}|aria-hidden\s*=\s*[\"']?true|\shidden\b)[^<>]*>([^<]*)",
    ),
    "the alternative text of an image": (
        r"(?i)\balt\s*=|!\[[^\]]{20}",
        r"(?is)\balt\s*=\s*(?:\"([^\"]+)\"|'([^']+)')|!\[([^\]\n]+)\]\(",
    ),
    "the title of a link": (
        r"\]\([^()\s]+\s+[\"']|(?i:\btitle\s*=)",
        r"(?is)\]\([^()\s]+\s+(?:\"([^\"]+)\"|'([^']+)')|\btitle\s*=\s*(?:\"([^\"]+)\""
        r"|'([^']+)')",
    ),
    "a comment in Markdown": (r"(?m)^\[[^\]]{1,20}\]:\s*[#<]", r"(?m)^\[[^\]]{1,20}\]:\s*<?#>?\s+([^\n]*)"),
    "a description for machines": (
        r"(?i)<meta\s",
        r"(?is)<meta\s[^<>]*?content\s*=\s*(?:\"([^\"]+)\"|'([^']+)')",
    ),
}

PATTERNS = tuple(Pattern(f"hidden/{what}", probe) for what, (probe, _) in _PLACES.items())


@cache
def _compiled(regex: str) -> LinearPattern:
    return LinearPattern(regex)


def hidden_places(found: Occurrences) -> Iterator[HiddenPlace]:
    """The places in a text where nobody looks, in time linear in its length.

    Args:
        found: what a catalogue with this module's ``PATTERNS`` found.
    """
    text = found.text if found.text.isascii() else found.text.encode("utf-8", "replace").decode()
    for what, (_, regex) in _PLACES.items():
        if f"hidden/{what}" in found:
            for match in _compiled(regex).finditer(text):
                start, end = match.span(match.lastindex or 0)
                yield HiddenPlace(what, start, end)
