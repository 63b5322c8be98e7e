"""Documents of strangers: cleaned (HTML, Markdown, text, PDF) and cut into chunks that lose nothing."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import Any

from agentguard.errors import DataError
from agentguard.gate._types import Document
from agentguard.gate.documents._chunking import CHARACTERS_PER_TOKEN, Chunking, chunk_document
from agentguard.gate.documents._html import clean_html
from agentguard.gate.documents._markdown import clean_markdown
from agentguard.gate.documents._pdf import clean_pdf, join_pages
from agentguard.gate.documents._text import clean_text, normalise
from fuzz import grammar, tokens
from fuzz.harness import Harness
from fuzz.source import Source
from fuzz.trial import Trial, encodable, require

__all__ = ["HARNESSES"]

CHARSETS = ("", "utf-8", "latin-1", "utf-16", "cp1252", "utf-7", "idna", "rot13", "base64", "punycode", "\0", "x" * 99)
HIDDEN = "\0\x1b\u200b\u202e\u2028\xad"


def _unicode(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _cleaned_holds(found: Any) -> None:
    if isinstance(found, DataError):
        require(encodable(str(found)), "the reason cannot be printed")
        return
    require(encodable(found.text) and encodable(found.title), "text that cannot be written")
    require(not any(sign in found.text for sign in HIDDEN), "what does not show is still there")
    require("\n\n\n" not in found.text, "more than one blank line")


def _cleaning(clean: Callable[..., Any], *alphabets: tuple[str, ...]) -> Callable[[Trial], None]:
    def run(trial: Trial) -> None:
        source = trial.source
        given = source.verbatim()
        charset = source.choice(CHARSETS) if source.chance(3) else ""
        data = grammar.bytes_of(source, grammar.text(source, alphabets, 60)) if given is None else given
        found = trial.call(clean, data, charset, allowed=DataError)
        _cleaned_holds(found)
        if not isinstance(found, DataError):
            require(normalise(found.text) == found.text, "what was cleaned is not in the one form")

    return run


def _chunking(trial: Trial) -> None:
    source = trial.source
    given = source.verbatim()
    made = grammar.text(source, (tokens.WORDS, tokens.MARKDOWN, tokens.ENTITIES, tokens.UNICODE), 80)
    text = normalise(_unicode(made) if given is None else given.decode("utf-8", "replace"))
    sizes = source.choice(((5, 9, 0, 2), (1, 1, 0, 0), (50, 100, 5, 10), (500, 1_000, 50, 100)))
    chunks = trial.call(chunk_document, Document("d.md", "T", text, "0"), Chunking(*sizes))
    covered = 0
    for chunk in chunks:
        require(text[chunk.start : chunk.end] == chunk.text, "a chunk that does not stand in its place")
        require(0 < len(chunk.text) <= sizes[1] * CHARACTERS_PER_TOKEN, f"a chunk of {len(chunk.text)} characters")
        require(not text[covered : chunk.start].strip(), "a gap between chunks")
        require(chunk.end > covered, "a chunk with nothing new")
        covered = chunk.end
    require(not text[covered:].strip(), "the end is missing")
    require(len({chunk.id for chunk in chunks}) == len(chunks), "two chunks of one id")


def _object(number: int, body: bytes) -> bytes:
    return b"%d 0 obj\n%s\nendobj\n" % (number, body)


def _stream(dictionary: bytes, data: bytes) -> bytes:
    return b"<< %s /Length %d >>\nstream\n%s\nendstream" % (dictionary, len(data), data)


PDF_PIECES = (
    *(
        b"/Kids [3 0 R 3 0 R]",
        b"/Kids [2 0 R]",
        b"/Count -1",
        b"/Count 99999999",
        b"/Parent 2 0 R",
        b"/Filter /FlateDecode",
    ),
    *(
        b"/Filter [/ASCIIHexDecode /LZWDecode]",
        b"/Filter /RunLengthDecode",
        b"<<",
        b">>",
        b"[",
        b"]",
        b"0 0 R",
        b"99 0 R",
    ),
    *(
        b"/Encoding /Identity-H",
        b"/ToUnicode 6 0 R",
        b"stream\n",
        b"endstream",
        b"trailer",
        b"startxref\n0",
        b"(\\777",
        b"<zz>",
    ),
    *(
        b"/Prev 0",
        b"/Encrypt 5 0 R",
        b"/Type /ObjStm /N 9 /First 0",
        b"null",
        b"-",
        b"1e99",
        b"/Title (\xfe\xff\xd8)",
        b"%%EOF",
    ),
)


def _pdf_bytes(source: Source) -> bytes:
    said = (
        grammar.text(source, grammar.PROSE, 6)[:200].encode("latin-1", "replace").replace(b"(", b"").replace(b")", b"")
    )
    content = b"BT /F1 12 Tf 72 700 Td (%s) Tj T* (%s) Tj ET" % (said, said[::-1])
    bodies = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> /MediaBox [0 0 9 9] >>",
        _stream(source.choice((b"", b"/Filter /FlateDecode", b"/Filter /ASCII85Decode")), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        _stream(b"", b"1 beginbfchar <01> <D800> endbfchar 1 beginbfrange <00> <FFFFFFFF> <00> endbfrange"),
    ]
    for _ in range(source.integer(0, 4)):
        number = source.integer(0, len(bodies) - 1)
        at = source.integer(0, len(bodies[number]) - 1)
        piece = source.choice(PDF_PIECES) if source.integer(0, 3) else source.raw(3)
        bodies[number] = bodies[number][:at] + piece + bodies[number][at + source.integer(0, 12) :]
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(bodies, 1):
        places.append(len(data))
        data += _object(number, body)
    table = b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1) + b"".join(
        b"%010d 00000 n \n" % at for at in places
    )
    data += table + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(bodies) + 1, len(data))
    if source.chance(3):
        data = data[: source.integer(0, len(data))]
    return data


def _pdf(trial: Trial) -> None:
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it tells of every fault that it passes over
    given = trial.source.verbatim()
    data = _pdf_bytes(trial.source) if given is None else given
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the library, which the reading process has switched off too
        _cleaned_holds(trial.call(clean_pdf, data, allowed=DataError))
    pages = [
        normalise(_unicode(grammar.text(trial.source, grammar.PROSE, 8))) for _ in range(trial.source.integer(0, 4))
    ]
    trial.call(join_pages, pages)


HARNESSES = (
    Harness("html", "clean_html", _cleaning(clean_html, tokens.HTML, tokens.HTML, tokens.WORDS, tokens.UNICODE)),
    Harness(
        "markdown",
        "clean_markdown",
        _cleaning(clean_markdown, tokens.MARKDOWN, tokens.WORDS, tokens.UNICODE, tokens.YAML),
    ),
    Harness(
        "plain_text",
        "clean_text, decode, normalise",
        _cleaning(clean_text, tokens.WORDS, tokens.UNICODE, tokens.MARKDOWN),
    ),
    Harness("pdf", "clean_pdf in this process, join_pages", _pdf),
    Harness("chunking", "chunk_document", _chunking),
)
