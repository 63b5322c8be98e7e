"""Texts and values drawn from a source: tokens joined, repeated, nested and encoded; JSON values; odd numbers."""

from __future__ import annotations

import base64
import codecs
import json
import math
import urllib.parse
from collections.abc import Sequence
from typing import Any, Final

from fuzz import tokens
from fuzz.source import Source

__all__ = ["LONGEST", "PROSE", "SMALL", "bytes_of", "json_text", "key", "name", "number", "text", "value"]

LONGEST: Final = 16_000
"""Characters of a text of a large input; long enough for what grows with the square of the length to show."""

SMALL: Final = 600
"""Characters of a text of any other."""

_DEEP, _SHALLOW = 3_000, 100

PROSE: Final = (tokens.WORDS, tokens.ENTITIES, tokens.NUMBERS, tokens.DATES, tokens.UNITS, tokens.WORDS)
ALL: Final = (
    *PROSE, tokens.MARKDOWN, tokens.JSON, tokens.YAML, tokens.HTML, tokens.UNICODE, tokens.INSTRUCTIONS,
    tokens.PERSONAL, tokens.SECRETS,
)  # fmt: skip
KEYS: Final = (
    *("a", "b", "id", "name", "price", "total", "rows", "date", "status", "email", "content", "text", "error", "tool"),
    *("", "é", "a.b", "rows[]", "~float", "$ref", "__class__", "password", "\ud800", "0", "amount_usd", "unit", "type"),
)
FLOATS: Final = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, 65.0, 1e308, -1e308, 5e-324, math.nan, math.inf, -math.inf, 1e16, 253402300800.0),
    *(0.1, 1e-9, 99.99),
)
INTEGERS: Final = (
    *(0, 1, -1, 2, 7, 42, 255, 1024, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 2**64, 10**20, 10**400, -(10**400)),
    *(10**5000, 2020, 20200101, 1_700_000_000, 1_700_000_000_000),
)


def text(source: Source, alphabets: Sequence[Sequence[str]] = ALL, most: int = 24) -> str:
    """A text of pieces of these alphabets; of a verbatim input, the input itself."""
    given = source.verbatim()
    if given is not None:
        return given.decode("utf-8", "surrogateescape")
    return _pieces(source, alphabets, most, 2)[: _room(source)]


def _room(source: Source) -> int:
    return LONGEST if source.large else SMALL


def _pieces(source: Source, alphabets: Sequence[Sequence[str]], most: int, depth: int) -> str:
    parts: list[str] = []
    # Most texts keep to one separator, as texts do; the others change it after every piece.
    usual = source.choice(tokens.SEPARATORS)
    mixed = source.chance(3)
    for _ in range(source.integer(0, most)):
        if not source.left:
            break
        parts.append(_piece(source, alphabets, depth))
        parts.append(source.choice(tokens.SEPARATORS) if mixed else usual)
    return "".join(parts[:-1])


def _piece(source: Source, alphabets: Sequence[Sequence[str]], depth: int) -> str:
    kind = source.integer(0, 31)
    if kind < 24 or depth == 0:
        return source.choice(source.choice(alphabets))
    if kind == 24:
        return source.raw(source.integer(0, 12)).decode("utf-8", "replace")
    if kind == 25:
        return chr(source.integer(0, 0x10FFFF))
    if kind in (26, 27):
        piece = _pieces(source, alphabets, 3, depth - 1) or " "
        times = source.choice((2, 2, 3, 3, 10, 10, 100, 100, 1_000, 5_000))
        return piece * min(times, max(_room(source) // len(piece), 1))
    if kind == 28:
        return _nested(source)
    if kind == 29:
        return _encoded(source, _pieces(source, alphabets, 4, depth - 1))
    if kind == 30:
        return json_text(source, 2)
    return "".join(f"{source.integer(0, 9)}" for _ in range(source.integer(1, 24)))


def _nested(source: Source) -> str:
    before, after = source.choice(
        (("[", "]"), ("{", "}"), ('{"a":', "}"), ("(", ")"), ("<b>", "</b>"), ("> ", ""), ("- ", ""))
    )
    depth = min(source.choice((3, 30, 300, 3_000)), _DEEP if source.large else _SHALLOW)
    return before * depth + (after * depth if source.integer(0, 1) else "")


def _encoded(source: Source, inner: str) -> str:
    data = inner[:2_000].encode("utf-8", "surrogatepass")
    how = source.integer(0, 5)
    if how == 0:
        return base64.b64encode(data).decode()
    if how == 1:
        return data.hex()
    if how == 2:
        return urllib.parse.quote(data, safe="")
    if how == 3:
        return codecs.encode(inner, "rot13")
    if how == 4:
        return json.dumps(inner[:2_000])
    return "".join(f"&#{ord(sign)};" for sign in inner[:300])


def name(source: Source) -> str:
    """A short text, as names and identifiers are."""
    return (
        source.choice(("t", "search", "", "a" * 1_001, "<script>", "é\u202e"))
        if source.chance(2)
        else text(source, most=3)[:1_200]
    )


def key(source: Source) -> str:
    """A field's name."""
    return source.choice(KEYS) if source.integer(0, 5) else text(source, most=2)[:60]


def number(source: Source) -> int | float:
    """A number, odd ones among them."""
    kind = source.integer(0, 3)
    if kind == 0:
        return source.choice(FLOATS)
    if kind == 1:
        return source.choice(INTEGERS)
    return source.integer(0, 10_000) if kind == 2 else source.integer(-10_000, 10_000) / 100


def value(source: Source, depth: int = 4) -> Any:
    """A value of JSON's types, with NaN, integers of many digits and lone surrogates among them."""
    kind = source.integer(0, 9)
    if depth and source.left:
        if kind in (0, 1):
            return {key(source): value(source, depth - 1) for _ in range(source.integer(0, 5))}
        if kind == 2:
            return [value(source, depth - 1) for _ in range(source.integer(0, 5))]
        if kind == 3 and source.chance(8):
            return _deep(source)
        if kind == 3:  # records of one form, as tables are
            keys = [key(source) for _ in range(source.integer(1, 3))]
            return [{field: _scalar(source) for field in keys} for _ in range(source.integer(0, 12))]
    return _scalar(source)


def _scalar(source: Source) -> Any:
    kind = source.integer(0, 7)
    if kind < 3:
        return text(source, most=4)
    if kind < 6:
        return number(source)
    return source.choice((None, True, False, "", "null", "error: no", "2020-01", "1e400"))


def _deep(source: Source) -> Any:
    made: Any = _scalar(source)
    as_list = source.integer(0, 1)
    for _ in range(min(source.choice((60, 250, 900, 3_000)), _DEEP if source.large else _SHALLOW)):
        made = [made] if as_list else {"a": made}
    return made


def json_text(source: Source, depth: int = 4) -> str:
    """JSON, sometimes with a piece cut out or put in."""
    made = value(source, depth)
    try:
        written = json.dumps(made, ensure_ascii=bool(source.integer(0, 1)))
    except (RecursionError, ValueError):
        return "[" * 2_000
    if source.integer(0, 1) and written:
        at = source.integer(0, len(written) - 1)
        written = written[:at] + source.choice(tokens.JSON) + written[at + source.integer(0, 3) :]
    return written[: _room(source)]


def bytes_of(source: Source, made: str) -> bytes:
    """A text as bytes, now and then in another encoding or with some of them changed; verbatim ones as they stand."""
    how = source.integer(0, 11)
    encoding = {9: "utf-16", 10: "latin-1", 11: "utf-32"}.get(how, "utf-8")
    data = made.encode(
        encoding, "surrogateescape" if encoding == "utf-8" and how < 6 and _escapes(made) else _handler(encoding)
    )
    if how == 8 and data:
        at = source.integer(0, len(data) - 1)
        data = data[:at] + source.raw(source.integer(0, 4)) + data[at + source.integer(0, 4) :]
    return data


def _escapes(made: str) -> bool:
    return all(not 0xD800 <= ord(sign) <= 0xDFFF or 0xDC80 <= ord(sign) <= 0xDCFF for sign in made)


def _handler(encoding: str) -> str:
    return "replace" if encoding == "latin-1" else "surrogatepass"
