"""What sources of documents tell: documents to read, and what was left out, with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

__all__ = ["MAX_BYTES", "Found", "LeftOut", "Listing", "Raw"]

#: A document with more bytes than this is not read; of a compressed answer, the bytes after decompression.
MAX_BYTES = 50_000_000


class Raw(NamedTuple):
    """A document as it was fetched.

    Attributes:
        data: its bytes, at most ``MAX_BYTES``.
        media_type: what its sender calls it, in lower case; empty where nobody said.
        charset: the encoding that its sender names; empty where nobody said.
    """

    data: bytes
    media_type: str = ""
    charset: str = ""


class Found(NamedTuple):
    """A document that a source has listed and not read yet.

    Attributes:
        uri: the document's.
        name: of its file, with the ending.
        read: fetches it; raises DataError, with the reason, where it cannot be had.
        chosen: whether the configuration names its kind of file, so that an unknown ending is read as text.
    """

    uri: str
    name: str
    read: Callable[[], Raw]
    chosen: bool = False


class LeftOut(NamedTuple):
    """Something that a source holds and that is no document to read.

    Attributes:
        uri: which.
        reason: why, in words.
        kind: ``skipped`` by a rule that applies every day, such as a hidden file; ``refused`` where somebody should
            look at it; ``unlisted`` where what is below it could not be listed, so that the source is incomplete.
    """

    uri: str
    reason: str
    kind: Literal["skipped", "refused", "unlisted"]


Listing = Found | LeftOut
