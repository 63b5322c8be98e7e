"""One digest of all evidence, the same in every index that holds the same documents."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

__all__ = ["evidence_digest"]


def evidence_digest(embedder: str, documents: Mapping[str, str]) -> str:
    """The digest of an index, whatever keeps it: of the embedder's name, and of each document's uri and digest.

    Args:
        embedder: whose vectors the chunks have.
        documents: digests by uri, in any order.

    Returns:
        128 bits, in hexadecimal.

    >>> one, other = {"a.md": "1f", "b.md": "2e"}, {"b.md": "2e", "a.md": "1f"}
    >>> evidence_digest("lexical", one) == evidence_digest("lexical", other)
    True
    """
    hashed = hashlib.blake2b(digest_size=16)
    for part in (embedder, *(part for item in sorted(documents.items()) for part in item)):
        data = part.encode("utf-8", "surrogatepass")
        hashed.update(len(data).to_bytes(8, "big"))  # so that no two lists of parts run together into the same bytes
        hashed.update(data)
    return hashed.hexdigest()
