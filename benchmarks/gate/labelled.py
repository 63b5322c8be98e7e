"""The labelled claims, and which of them are held out: by document, so that no claim's neighbour gives it away.

A document is held out where a hash of its id leaves 2 when divided by 3. Nothing but id, claim, document and
label is read.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["DATA", "PARTS", "SETS", "Labelled", "labelled"]

DATA = Path(__file__).resolve().parents[2] / "../shared/data"
PARTS = ("design", "held out")
SETS = ("claims_summedits", "claims_qags")


class Labelled(NamedTuple):
    """A claim that people judged by its document."""

    source: str
    domain: str
    part: str
    document: str
    doc_id: str
    claim: str
    supported: bool


def labelled(data: Path, source: str) -> Iterator[Labelled]:
    """All claims of a set; none where it is not there."""
    folder = data / source
    if not (folder / "claims.jsonl.gz").is_file():
        return
    documents = {row["doc_id"]: row["doc"] for row in _rows(folder / "docs.jsonl.gz")}
    for row in _rows(folder / "claims.jsonl.gz"):
        doc_id = row["doc_id"]
        document = documents.get(doc_id) or row["doc"]
        domain = row.get("domain") or row["source"]
        yield Labelled(source, domain, part_of(doc_id), document, doc_id, row["claim"], row["label"] == 1)


def part_of(doc_id: str) -> str:
    """The part that a document belongs to."""
    return PARTS[int.from_bytes(blake2b(doc_id.encode(), digest_size=8).digest(), "big") % 3 == 2]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if path.is_file():
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)
