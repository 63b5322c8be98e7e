"""Read PDF: the pages one after the other, without what stands at the top and the foot of each."""

from __future__ import annotations

import re
from collections import Counter
from io import BytesIO
from typing import Final

from pypdf import PdfReader
from pypdf.errors import DependencyError, PdfReadError, PyPdfError

from agentguard.errors import DataError
from agentguard.gate.documents._text import MAX_CHARACTERS, Cleaned, normalise

MAX_PAGES: Final = 10_000
#: How many lines at the top and at the foot of a page may be its header and footer.
_MARGIN: Final = 2
#: On how many pages, and on which share of all, a line must stand to be one.
_PAGES: Final = 3
_SHARE: Final = 0.6
_NUMBER: Final = re.compile(r"\d{1,9}")
#: Each begins at the first letter of a word: tried from every letter, a long word would take the square of its length.
_DIVIDED: Final = re.compile(r"(?<![^\W\d_])([^\W\d_]+)-\n([^\W\d_]+)")
_HYPHENATED: Final = re.compile(r"(?<![^\W\d_])[^\W\d_]+-[^\W\d_]+")
#: Of an object in memory: another one every time.
_ADDRESS: Final = re.compile(r"(?<=\d), \d{6,}(?=\))")
#: A line that ends with one of these does not run on.
_ENDS: Final = ".!?:;|"


def clean_pdf(data: bytes) -> Cleaned:
    """The text of a PDF; scanned pages, which are pictures, have none, and are noted.

    Raises:
        DataError: If it is encrypted or broken, or too large.
    """
    pages: list[str] = []
    empty: list[int] = []
    try:
        reader = PdfReader(BytesIO(data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise DataError("is encrypted: a password would be needed")
        count = len(reader.pages)
        if count > MAX_PAGES:
            raise DataError(f"has {count:,} pages, and at most {MAX_PAGES:,} are read")
        title = str((reader.metadata and reader.metadata.title) or "")
        size = 0
        for number, page in enumerate(reader.pages, 1):
            text = normalise(_unicode(page.extract_text()))
            size += len(text)
            if size > MAX_CHARACTERS:
                raise DataError(f"has more text than {MAX_CHARACTERS:,} characters")
            pages.append(text)
            if not text.strip():
                empty.append(number)
    except DependencyError:
        raise DataError("is encrypted in a way that needs the package cryptography: pip install cryptography") from None
    except PyPdfError as error:
        kind = "is no PDF, or a broken one" if isinstance(error, PdfReadError) else "is more than is read of a PDF"
        raise DataError(f"{kind}: {_ADDRESS.sub('', str(error))[:200]}") from None
    except (DataError, MemoryError):
        raise
    except Exception as error:  # a parser raises what it likes when it is handed what it did not expect
        raise DataError(f"is no PDF, or a broken one: {type(error).__name__}") from None
    note = (
        f"{len(empty)} of {count} pages have no text (page {empty[0]} is the first): are they scanned?" if empty else ""
    )
    return Cleaned(" ".join(normalise(_unicode(title)).split()), join_pages(pages), (note,) if note else ())


def _unicode(text: str) -> str:
    """Fonts may map to half of a surrogate pair, which is no text."""
    return text.encode("utf-8", "replace").decode()


def join_pages(pages: list[str]) -> str:
    r"""One text of the texts of pages.

    A line that stands at the top or the foot of most pages, the same on each or with the page's number in it, is kept
    where it stands first, but for the number, and removed from the others. Words that are divided between lines are
    joined, but for those that the document also writes with a hyphen elsewhere. Lines that run on are joined.

    >>> pages = ["Terms\nItems may be re-\nturned.\n1", "Terms\nWithin 30 days\nof purchase.\n2", "Terms\nFree.\n3"]
    >>> join_pages(pages)
    'Terms\nItems may be returned.\n\nWithin 30 days of purchase.\n\nFree.'
    """
    split = [[line.strip() for line in page.split("\n") if line.strip()] for page in pages]
    counts: Counter[str] = Counter()
    for number, lines in enumerate(split, 1):
        counts.update({key for at in _margins(lines) for key in _keys(lines[at], number)})
    least = max(_PAGES, _SHARE * sum(1 for lines in split if lines))
    repeated = {key for key, count in counts.items() if count >= least}
    told: set[str] = set()
    kept = []
    for number, lines in enumerate(split, 1):
        dropped = set()
        for at in _margins(lines):
            keys = [key for key in _keys(lines[at], number) if key in repeated]
            if keys and (lines[at] not in repeated or lines[at] in told):
                dropped.add(at)
            told.update(keys[:1])
        kept.append("\n".join(line for at, line in enumerate(lines) if at not in dropped))
    parts: list[str] = []
    for page in filter(None, kept):
        if parts:
            parts.append("\n" if page[0].islower() and parts[-1][-1] not in _ENDS else "\n\n")
        parts.append(page)
    return normalise(_run_on(_undivided("".join(parts))))


def _margins(lines: list[str]) -> list[int]:
    return sorted({*range(min(_MARGIN, len(lines))), *range(max(len(lines) - _MARGIN, 0), len(lines))})


def _keys(line: str, page: int) -> list[str]:
    """Keys to recognise a header by: the line itself, and with its first or last number counted from the page's."""
    numbers = list(_NUMBER.finditer(line))
    ends = numbers[:1] + numbers[1:][-1:]
    return [line, *(f"{line[: at.start()]}\0{int(at[0]) - page}\0{line[at.end() :]}" for at in ends)]


def _undivided(text: str) -> str:
    words = set(_HYPHENATED.findall(text))

    def join(match: re.Match[str]) -> str:
        first, second = match[1], match[2]
        if not second[0].islower():
            return f"{first}-{second}"  # a name, Weiss-\nBerg
        return f"{first}-{second}" if f"{first}-{second}" in words else first + second

    return _DIVIDED.sub(join, text)


def _run_on(text: str) -> str:
    """Lines joined where a sentence plainly goes on: it has not ended, and the next line begins in lower case."""
    parts: list[str] = []
    end = "."  # the last character of the line before
    for line in text.split("\n"):
        runs_on = bool(line) and line[0].islower() and end not in _ENDS
        parts += (" " if runs_on else "\n", line)
        end = line[-1] if line else "."
    return "".join(parts[1:])
