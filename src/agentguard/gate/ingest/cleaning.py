"""One document, cleaned: Markdown and text here, HTML and PDF in a process of their own."""

from __future__ import annotations

from agentguard.errors import DataError
from agentguard.gate.ingest.apart import Reader
from agentguard.gate.ingest.found import Raw
from agentguard.gate.ingest.kinds import ENDINGS, Kind, kind_of
from agentguard.gate.ingest.markdown import clean_markdown
from agentguard.gate.ingest.text import MAX_CHARACTERS, Cleaned, clean_text

__all__ = ["clean", "kind_of_document"]


def kind_of_document(name: str, raw: Raw, chosen: bool = False) -> Kind:
    """What a document is read as.

    Args:
        name: of its file.
        raw: what was fetched.
        chosen: whether an unknown kind is read as text, for the configuration names it.

    Raises:
        DataError: where it is of no kind that is read.
    """
    if raw.data[:5] == b"%PDF-":
        return "pdf"
    kind = kind_of(name, raw.media_type) or ("text" if chosen else None)
    if kind is None:
        said = f" ({raw.media_type[:60]})" if raw.media_type else ""
        raise DataError(f"is of no kind that is read{said}: {', '.join(ENDINGS)}")
    return kind


def clean(kind: Kind, raw: Raw, reader: Reader) -> Cleaned:
    """The text of a document, in the form that ``Document.text`` describes; empty where it has none.

    Markdown and text are read by patterns that take time in proportion to their length. HTML and PDF are read by
    libraries of which that cannot be said: ``reader`` ends them when their time is up.

    Raises:
        DataError: where it cannot be read, or is too large.
        ConfigurationError: where a library is missing.
    """
    if kind == "markdown":
        cleaned = clean_markdown(raw.data, raw.charset)
    elif kind == "text":
        cleaned = clean_text(raw.data, raw.charset)
    else:
        cleaned = reader.read(kind, raw.data, raw.charset)
    if len(cleaned.text) > MAX_CHARACTERS:
        raise DataError(f"has {len(cleaned.text):,} characters of text, and at most {MAX_CHARACTERS:,} are read")
    return cleaned._replace(title=cleaned.title[:500])
