"""Text that is sent as bytes: read it, and change it in its own encoding."""

from __future__ import annotations

import base64
import codecs
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

#: Byte order marks, with their encodings; the longer ones first, for that of UTF-32 begins with that of UTF-16.
MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
#: The ASCII characters of text. Three in four bytes of a text are of these, and some two in five of a picture.
_PLAIN: Final = bytes((*b"\t\n\r", *range(0x20, 0x7F)))
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_\-\s]*(?:=[=\s]*)?")
_URL_SAFE: Final = str.maketrans("-_", "+/", " \t\r\n\f\v=")


class _Text(NamedTuple):
    text: str
    mark: bytes
    encoding: str

    def encoded(self, text: str) -> bytes:
        return self.mark + text.encode(self.encoding, "replace")


def text_in(data: bytes) -> str | None:
    r"""Read bytes as text: by their byte order mark, as UTF-8, or as Latin-1 where they are mostly ASCII.

    Returns:
        None for bytes that are no text, such as a picture's.

    >>> text_in("Größe".encode("utf-16")), text_in(b"the gr\xf6\xdfe"), text_in(b"\x89PNG\xff\xd8")
    ('Größe', 'the größe', None)
    """
    read = _read(data)
    return None if read is None else read.text


def _read(data: bytes) -> _Text | None:
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return _Text(data[len(mark) :].decode(encoding, "replace"), mark, encoding)
    try:
        return _Text(data.decode(), b"", "utf-8")
    except UnicodeDecodeError:
        mostly_ascii = 4 * len(data.translate(None, _PLAIN)) <= len(data)
        return _Text(data.decode("latin-1"), b"", "latin-1") if mostly_ascii else None


def with_text(data: bytes, change: Callable[[str], Any]) -> bytes:
    """Return the bytes with their text changed, in the encoding that it has; other bytes as they are."""
    read = _read(data)
    if read is None:
        return data
    changed = str(change(read.text))
    return data if changed == read.text else read.encoded(changed)


def text_in_base64(encoded: str) -> str | None:
    """Read base64 as the most lenient client does: with line breaks, unpadded, in either alphabet.

    Returns:
        The text; what is no base64 as it stands; None for bytes that are no text.

    >>> text_in_base64("aGVsbG8"), text_in_base64("hello, you"), text_in_base64("/9j/4AAQ")
    ('hello', 'hello, you', None)
    """
    data = _from_base64(encoded)
    return encoded if data is None else text_in(data)


def with_text_in_base64(encoded: str, change: Callable[[str], Any]) -> str:
    """Return base64 with the text that it stands for changed; what is no base64, changed as it stands."""
    data = _from_base64(encoded)
    if data is None:
        return str(change(encoded))
    changed = with_text(data, change)
    return encoded if changed is data else base64.b64encode(changed).decode()


def _from_base64(encoded: str) -> bytes | None:
    # Words are apart by spaces, lines of base64 are not.
    if " " in encoded or not _BASE64.fullmatch(encoded):
        return None
    bare = encoded.translate(_URL_SAFE)
    return base64.b64decode(bare[: len(bare) - (len(bare) % 4 == 1)] + "=" * (-len(bare) % 4))
