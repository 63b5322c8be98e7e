"""Which kind of document a file is, by what its sender calls it, or else by its ending."""

from __future__ import annotations

from typing import Final, Literal

__all__ = ["ENDINGS", "Kind", "kind_of"]

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
