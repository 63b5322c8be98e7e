"""How strings are written: free text in any way, an enumeration in a few, a date, a time or an address in one.

NaN and the infinities stand where numbers do and are none; they are remembered by their names.

Where all ``n`` strings at a path are numbers with marks between them, another arrangement has come in none of them:
its chance in the next genuine result is put at ``(0 + 1/2) / (n + 3/2)``, times ``1 + (m - 1)/2`` for the ``m`` such
paths that are looked at. More or less precision (hours added to a date, parts of a second) is no other arrangement.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Final

from .document import Document
from .statistics import Categories

__all__ = ["NOT_FINITE", "formats_of", "is_rigid", "is_written_alike", "not_finite", "string_format"]

NOT_FINITE: Final = ("NaN", "Infinity", "-Infinity")

RIGID: Final = 8  # strings, all of them numbers with marks between
MAX_RIGID: Final = 4  # formats of these
FORMATS_READ: Final = 3  # of the values at one path, until one is a string
_DATA = re.compile(r"[+-]?9+(?:[^9a]{1,3}9+)+A{0,3}")  # the format of a date, a time, a decimal number, an address
_RUN = re.compile(r"([9aA])\1+")
_DIGITS_AND_LETTERS = bytes.maketrans(
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", b"9" * 10 + b"a" * 26 + b"A" * 26
)
_NONE: Mapping[str, Categories | None] = {}


def string_format(value: str) -> str:
    """The format of a short string: letters as ``a`` and ``A``, digits as ``9``, the rest as it is.

    >>> string_format("HAT069"), string_format("2024-05-20")
    ('AAA999', '9999-99-99')
    """
    # As bytes, by a table of 256, in a third of the time; the bytes of what is not ASCII stand for themselves there.
    text = value[:32].encode("utf-8", "surrogatepass")
    return text.translate(_DIGITS_AND_LETTERS).decode("utf-8", "surrogatepass")


def not_finite(document: Document) -> dict[str, str]:
    """The paths at which a number is none, and the name of what it is: ``NaN``, ``Infinity`` or ``-Infinity``.

    >>> from agentguard.verification.document import read
    >>> not_finite(read({"price": float("nan"), "sold": 7}))
    {'price': 'NaN'}
    """
    if document.not_finite is None:
        found: dict[str, str] = {}
        if document.layout is not None and b"null" in document.text:  # as which JSON writes such a number
            for path in document.layout.numbers:
                for value in document.leaves[path]:
                    if type(value) is float and not math.isfinite(value):
                        found[path] = NOT_FINITE[0] if math.isnan(value) else NOT_FINITE[1 if value > 0.0 else 2]
                        break
        document.not_finite = found
    return document.not_finite


def formats_of(document: Document, known: Mapping[str, Categories | None] = _NONE) -> dict[str, str]:
    """The format of the first string at each path, but for the paths of free text: those for which None is known.

    A number that is none has its name as a format. Worked out once for a document, with what is known then.
    """
    if document.formats is None:
        leaves = document.leaves
        document.formats = {}
        strings = ("",) if document.kind == "word" else () if document.layout is None else document.layout.strings
        for path in strings:
            if path in known and known[path] is None:
                continue
            values = leaves[path]
            value = values[0]
            if type(value) is not str:
                value = next((other for other in values[1:FORMATS_READ] if type(other) is str), None)
            if value is not None:
                document.formats[path] = string_format(value)
        document.formats.update(not_finite(document))
    return document.formats


def built(format_: str) -> str:
    """How a string of this format is built, whatever the lengths of its numbers and words.

    >>> built("9999-99-99A99:99:99A"), built("9-9-9A99:99:99A")
    ('9-9-9A9:9:9A', '9-9-9A9:9:9A')
    """
    return _RUN.sub(r"\1", format_)


def is_written_alike(format_: str, known_formats: Iterable[str]) -> bool:
    """As a known one, or more or less precise: hours added to a date, parts of a second, a time zone."""
    build = built(format_).rstrip("A")
    for known in known_formats:
        other = built(known).rstrip("A")
        if build == other:
            return True
        shorter, longer = (build, other) if len(build) < len(other) else (other, build)
        if longer.startswith(shorter) and (len(shorter) > 2 or longer == "9.9"):
            return True
    return False


def is_rigid(formats: Categories) -> bool:
    """All of these strings, eight or more, are numbers with marks between, in at most four formats."""
    known = formats.counts
    return formats.total >= RIGID and len(known) <= MAX_RIGID and all(_DATA.fullmatch(format_) for format_ in known)
