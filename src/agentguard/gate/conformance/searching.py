"""Documents to search, and how the conformance suite gets at the index that it tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import pytest

from agentguard.gate.evidence.base import EvidenceIndex, Vector
from agentguard.gate.types import Chunk, Document, Passage

__all__ = ["EAST", "NORTH", "UP", "WEST", "EvidenceOpening", "IndexOpener", "put", "texts"]

EAST: Final = (1.0, 0.0, 0.0, 0.0)
WEST: Final = (-1.0, 0.0, 0.0, 0.0)
NORTH: Final = (0.0, 1.0, 0.0, 0.0)
UP: Final = (0.0, 0.0, 1.0, 0.0)


class IndexOpener(Protocol):
    """Opens an index, and again the same one."""

    def __call__(self, embedder: str = "compass") -> EvidenceIndex:
        """An index at the test's own place."""


class EvidenceOpening:
    """What a subclass says of its index."""

    def open(self, place: Any, embedder: str) -> EvidenceIndex:
        """Your index at a place that no other test uses.

        Args:
            place: what the fixture ``place`` returned.
            embedder: the name of what the vectors come from; the suite's vectors have four components.
        """
        raise NotImplementedError("define open(self, place, embedder) -> EvidenceIndex")

    @pytest.fixture
    def place(self, tmp_path: Path) -> Any:
        """Where a test's index is: a new folder, unless a subclass has another fixture of this name."""
        return tmp_path / "evidence"

    @pytest.fixture
    def opened(self, place: Any) -> Iterator[IndexOpener]:
        """Opens indices in one place, and closes them when the test ends."""
        indices: list[EvidenceIndex] = []

        def opener(embedder: str = "compass") -> EvidenceIndex:
            indices.append(self.open(place, embedder))
            return indices[-1]

        yield opener
        for index in indices:
            index.close()

    @pytest.fixture
    def index(self, opened: IndexOpener) -> EvidenceIndex:
        """A new index, empty."""
        return opened()


def put(
    index: EvidenceIndex,
    uri: str,
    *pieces: str | tuple[str, Vector],
    digest: str = "d1",
    title: str = "",
    heading: str = "",
) -> list[Chunk]:
    """Index a document of these pieces; their ids are the uri and a number, their vectors EAST unless they are given.

    Returns:
        its chunks.
    """
    chunks, vectors = [], []
    start = 0
    for number, piece in enumerate(pieces):
        text, vector = (piece, EAST) if isinstance(piece, str) else piece
        chunks.append(Chunk(f"{uri}#{number}", uri, title, heading, text, start, start + len(text)))
        vectors.append(vector)
        start += len(text) + 2
    text = "\n\n".join(chunk.text for chunk in chunks)
    index.replace(Document(uri, title, text, digest), chunks, vectors)
    return chunks


def texts(passages: Sequence[Passage]) -> list[str]:
    """What was found, in its order."""
    return [passage.chunk.text for passage in passages]
