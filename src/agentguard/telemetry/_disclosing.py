"""Text from outside made fit to leave the process: without personal data and credentials, and of bounded length.

Names of tools come from models, ids from clients, and an explanation names fields of results: any of them can hold
data that nobody meant to send to a log.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, cast

from agentguard import _forks as forks
from agentguard.content._findings import Kind
from agentguard.errors import ConfigurationError
from agentguard.verification._canonical import serialise

if TYPE_CHECKING:
    from agentguard.content._scanner import Scanner


KINDS: Final[tuple[Kind, ...]] = ("pii", "secrets")
MAX_TEXT: Final = 2_000
MAX_LABEL: Final = 80
MAX_CONTENT: Final = 8_192
MOST_SCANNED: Final = 65_536
MOST_REMEMBERED: Final = 500
WITHHELD: Final = "(withheld)"
_SURROGATES = re.compile("[\ud800-\udfff]")


def warm_up(*, content: bool = False) -> None:
    """Compile the patterns, which takes a quarter of a second, before the first call of an agent.

    Args:
        content: also the patterns for arguments and results.
    """
    safe_text("-")
    if content:
        content_text("-")


def safe_text(text: str) -> str:
    """Replace personal data and credentials by placeholders, and cut to 2,000 characters. Never raises.

    Text of more than 65,536 characters cannot be scanned in the time of a call, and is withheld.

    >>> safe_text("call of postgres://app:tea4two@db.internal/shop")
    'call of postgres://app:<DATABASE_PASSWORD_1>@db.internal/shop'
    """
    return _remembered(text) if len(text) <= MOST_REMEMBERED else _looked_through(text, KINDS, MAX_TEXT)


def safe_label(text: str) -> str:
    """The same as one printable line of 1 to 80 characters.

    >>> safe_label("search" + chr(10) + "now"), safe_label("")
    ('search�now', '(unnamed)')
    """
    line = "".join([each if each.isprintable() else "�" for each in safe_text(text)[:MAX_LABEL]])
    return line or "(unnamed)"


def content_text(value: Any, also: Collection[str] = ()) -> str:
    """Serialise arguments or a result as JSON without credentials, cut to 8,192 characters. Never raises.

    Text of more than 65,536 characters is withheld.

    Args:
        value: any object.
        also: kinds of content to redact beside credentials.

    >>> content_text({"dsn": "postgres://app:tea4two@db.internal/shop", "to": "ada@example.org"})
    '{"dsn": "postgres://app:<DATABASE_PASSWORD_1>@db.internal/shop", "to": "ada@example.org"}'
    >>> content_text("ada@example.org", also=["pii"])
    '<EMAIL_1>'
    """
    try:
        text = value if isinstance(value, str) else serialise(value)[0].decode()
    except Exception:  # an object's own code may fail in any way
        return WITHHELD
    return _looked_through(text, cast("tuple[Kind, ...]", tuple(sorted({"secrets", *also}))), MAX_CONTENT)


@lru_cache(maxsize=1_024)  # tools and sessions come again and again, and a scan of a name takes 20 µs
def _remembered(text: str) -> str:
    return _looked_through(text, KINDS, MAX_TEXT)


def _looked_through(text: str, kinds: tuple[Kind, ...], most: int) -> str:
    if len(text) > MOST_SCANNED:
        return f"(withheld: {len(text):,} characters)"
    try:
        shown = _without(text, kinds)
    except Exception:  # text that could not be scanned is not shown
        return WITHHELD
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def _without(text: str, kinds: tuple[Kind, ...]) -> str:
    if text.lstrip()[:1] in ("{", "[") or not _is_clean(text, kinds):
        from agentguard.content._results import redacted

        text = str(redacted(text, kinds))
    return _SURROGATES.sub("�", text)


def _is_clean(text: str, kinds: tuple[Kind, ...]) -> bool:
    """Whether text that is no JSON holds nothing of these kinds; takes half the time of redacting nothing."""
    return all(finding.label == "clean" for finding in _scanner(kinds).scan(text, tools=()).values())


@cache  # as many as there are sets of kinds
def _scanner(kinds: tuple[Kind, ...]) -> Scanner:
    from agentguard.content._scanner import Scanner

    return Scanner(kinds)


# --- Labels of metrics ---

OTHER: Final = "other"


class ToolNames:
    """Labels of metrics for names of tools: one each for the first names, ``other`` for the rest. Thread-safe.

    A label is a time series in the collector's memory, and models make names up.

    Args:
        most: number of names that get a label by being called.
        known: names that have one in any case.

    Raises:
        ConfigurationError: if ``most`` is not a non-negative integer.

    >>> names = ToolNames(1, ["pay"])
    >>> [names.label(each) for each in ("search", "look_up", "pay", "search")]
    ['search', 'other', 'pay', 'search']
    """

    def __init__(self, most: int, known: Iterable[str] = ()) -> None:
        if not isinstance(most, int) or isinstance(most, bool) or most < 0:
            raise ConfigurationError(f"max_tools must be a non-negative integer, not {most!r}")
        if isinstance(known, str):
            raise ConfigurationError(f"tools must be a collection of names, not the text {known!r}")
        warm_up()
        self._labels = {name: safe_label(name) for name in known}
        self._room = most
        self._lock = forks.lock(forks.Rank.LEAF)

    def label(self, tool: str) -> str:
        """The label of a tool."""
        label = self._labels.get(tool)
        if label is not None or not self._room:
            return label or OTHER
        with self._lock:
            if tool not in self._labels and self._room:
                self._labels[tool] = safe_label(tool)
                self._room -= 1
            return self._labels.get(tool, OTHER)
