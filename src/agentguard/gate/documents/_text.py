"""Documents as sources hand them over, and the one form of text that is made of them."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from agentguard._linear_patterns import LinearPattern
from agentguard.content._bytes import MARKS
from agentguard.errors import DataError

#: A document with more text than this (some 5,000 pages) is not taken: it is indexed as a whole or not at all.
MAX_CHARACTERS = 10_000_000

#: What a sender may name: encodings of text. Python knows others, some of which take the square of the length.
_ENCODINGS: Final = (
    *("ascii", "big5", "cp", "euc_", "gb", "iso2022", "iso8859", "koi8", "mac-", "shift_jis", "utf-16", "utf-32"),
    *("utf-8", "tis-620"),
)
_LINE_ENDS: Final = re.compile("\r\n?|[\x85\u2028]")
_PAGE_ENDS: Final = re.compile("[\x0b\x0c\u2029]")
#: Controls, soft hyphens, zero-width spaces, marks of writing direction, tags: none of them shows, all hide text from
#: a search. Joiners stay, for scripts need them.
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_SPACES: Final = re.compile("[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
#: Marks on one letter are put in order by a sort that takes the square of their number; text has a few of them.
_MARKS_ON_A_LETTER: Final = LinearPattern(r"(\p{M}{30})\p{M}+")
_GAPS: Final = re.compile(r"\n{3,}")


class Cleaned(NamedTuple):
    """The text of a document.

    Attributes:
        title: What the document calls itself; empty if it has no title.
        text: See ``Document.text``.
        notes: What a person should know of how it was read.
    """

    title: str
    text: str
    notes: tuple[str, ...] = ()


def decode(data: bytes, charset: str = "") -> tuple[str, str]:
    r"""The text of bytes, and a note where its encoding had to be guessed.

    A byte order mark decides; then what the sender named; then it is UTF-8 if it can be, else Windows-1252.

    >>> decode("Größe".encode("utf-16")), decode(b"Gr\xf6\xdfe")
    (('Größe', ''), ('Größe', 'is not UTF-8 and names no encoding: read as Windows-1252'))

    Raises:
        DataError: If it is no text: it holds null characters.
    """
    text, note = _decoded(data, charset)
    # A few stray ones occur in text that was once in a fixed-width file; binary data is full of them.
    if text.count("\0") > len(text) // 1000:
        raise DataError("is no text: it holds null characters")
    return text, note


def _decoded(data: bytes, charset: str) -> tuple[str, str]:
    for mark, name in MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace"), ""
    for name in (charset, "utf-8"):
        try:
            if codecs.lookup(name).name.startswith(_ENCODINGS):
                return data.decode(name), ""
        except (LookupError, ValueError):  # UnicodeDecodeError is a ValueError, and so is a null character in a name
            continue
    why = f"not in the encoding that its sender names, {charset[:40]!r}" if charset else "names no encoding"
    return data.decode("cp1252", "replace"), f"is not UTF-8 and {why}: read as Windows-1252"


def normalise(text: str) -> str:
    r"""NFC, lines apart by ``\n``, paragraphs by one blank line, one kind of space, nothing that does not show.

    >>> normalise("Cafe\u0301\r\nopen\u200b daily\xa0 \f\n\n\nclosed")
    'Café\nopen daily\n\nclosed'
    """
    text = _PAGE_ENDS.sub("\n\n", _LINE_ENDS.sub("\n", text))
    text = _INVISIBLE.sub("", text.expandtabs(4))
    if not text.isascii():  # what did not show may have stood between a letter and its accent
        text = unicodedata.normalize("NFC", _MARKS_ON_A_LETTER.sub(r"\1", text))
        text = _SPACES.sub(" ", text)
    text = "\n".join(line.rstrip(" ") for line in text.split("\n"))
    return _GAPS.sub("\n\n", text).strip("\n")


def clean_text(data: bytes, charset: str = "") -> Cleaned:
    """A document that is plain text, all of which is kept; its title is in none of its lines.

    Raises:
        DataError: If it is no text.
    """
    text, note = decode(data, charset)
    return Cleaned("", normalise(text), (note,) if note else ())


# --- What a source lists ---

#: A document with more bytes than this is not read; of a compressed answer, the bytes after decompression.
MAX_BYTES = 50_000_000


class Raw(NamedTuple):
    """A document as it was fetched.

    Attributes:
        data: Its bytes, at most ``MAX_BYTES``.
        media_type: What its sender calls it, in lower case; empty if nobody said.
        charset: The encoding that its sender names; empty if nobody said.
    """

    data: bytes
    media_type: str = ""
    charset: str = ""


class Found(NamedTuple):
    """A document that a source has listed and not read yet.

    Attributes:
        uri: The document's.
        name: Of its file, with the ending.
        read: Fetches it; raises DataError, with the reason, where it cannot be had.
        chosen: Whether the configuration names its kind of file, so that an unknown ending is read as text.
    """

    uri: str
    name: str
    read: Callable[[], Raw]
    chosen: bool = False


class LeftOut(NamedTuple):
    """Something in a source that is not read, with the reason.

    Attributes:
        uri: Which.
        reason: Why, in words.
        kind: ``skipped`` by a rule that applies every day, such as a hidden file; ``refused`` where somebody should
            look at it; ``unlisted`` where what is below it could not be listed, so that the source is incomplete.
    """

    uri: str
    reason: str
    kind: Literal["skipped", "refused", "unlisted"]


Listing = Found | LeftOut


# --- Kinds of documents ---

Kind = Literal["html", "markdown", "text", "pdf"]

ENDINGS: Final[dict[str, Kind]] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".txt": "text",
    ".text": "text",
    ".rst": "text",
    ".adoc": "text",
    ".csv": "text",
    ".tsv": "text",
    ".pdf": "pdf",
}

_MEDIA_TYPES: Final[dict[str, Kind]] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "application/pdf": "pdf",
    "text/csv": "text",
    "text/tab-separated-values": "text",
    "text/x-rst": "text",
}


def kind_of(name: str, media_type: str = "") -> Kind | None:
    """The kind of a document; None for what is not read.

    Media types that say nothing certain, ``text/plain`` among them, count less than the ending.

    >>> kind_of("Returns.MD"), kind_of("returns", "text/html"), kind_of("logo.png"), kind_of("notes", "text/plain")
    ('markdown', 'html', None, 'text')
    """
    if media_type in _MEDIA_TYPES:
        return _MEDIA_TYPES[media_type]
    dot = name.rfind(".")
    kind = ENDINGS.get(name[dot:].lower()) if dot >= 0 else None
    return "text" if kind is None and media_type == "text/plain" else kind
