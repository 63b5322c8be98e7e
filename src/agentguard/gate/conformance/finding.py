"""What is found by words and by vectors, in which order, and what cannot be searched for."""

from __future__ import annotations

import math
from typing import Final

import pytest

from agentguard.errors import ConfigurationError, DataError
from agentguard.gate.evidence.base import EvidenceIndex
from agentguard.gate.types import Chunk, Document

from .searching import EAST, NORTH, WEST, EvidenceOpening, put, texts

__all__ = ["FindingConformance"]

QUERIES: Final = {
    "quotes": '"',
    "operators": "AND OR NOT NEAR",
    "parentheses": "((",
    "near": "NEAR(warranty years, 5",
    "column": "text:warranty",
    "star": "* ^ warrant*",
    "minus": "-warranty +years",
    "sql": "'; DROP TABLE chunks; --",
    "wildcards": "% _ ? [a-z] {2} /.*/",
    "backslash": "\\",
    "null": "a\x00b",
    "emoji": "🙂 👩‍🚀",
    "surrogate": "\ud800",
    "scripts": "保証 ضمان गारंटी",
    "long word": "w" * 100_000,
    "many words": " ".join(f"word{number}" for number in range(20_000)),
}


class FindingConformance(EvidenceOpening):
    """``keyword`` and ``vector``."""

    def test_keyword_finds_shared_words_the_best_first(self, index: EvidenceIndex) -> None:
        put(index, "a.md", "The warranty lasts two years for all cameras.", "Shipping is free.", "All cameras float.")
        found = index.keyword("warranty of cameras", 5)

        assert texts(found) == ["The warranty lasts two years for all cameras.", "All cameras float."]
        assert found[0].score > found[1].score

    def test_keyword_weighs_rare_words_more(self, index: EvidenceIndex) -> None:
        put(
            index, "a.md", *[f"The camera number {number} floats." for number in range(20)], "A zoom lens floats along."
        )

        assert texts(index.keyword("camera zoom", 1)) == ["A zoom lens floats along."]

    def test_keyword_heeds_no_case(self, index: EvidenceIndex) -> None:
        put(index, "a.md", "The WARRANTY lasts two years.")

        assert len(index.keyword("warranty", 5)) == len(index.keyword("Warranty", 5)) == 1

    def test_keyword_searches_titles_and_headings(self, index: EvidenceIndex) -> None:
        put(index, "a.md", "It lasts two years.", title="Warranty", heading="Cameras > Lenses")

        assert len(index.keyword("warranty", 5)) == len(index.keyword("lenses", 5)) == 1

    def test_keyword_gives_no_more_than_the_limit(self, index: EvidenceIndex) -> None:
        put(index, "a.md", *[f"The warranty of part {number} lasts." for number in range(20)])

        assert [len(index.keyword("warranty", limit)) for limit in (1, 7, 20, 100)] == [1, 7, 20, 20]

    def test_keyword_settles_ties_by_id(self, index: EvidenceIndex) -> None:
        for uri in ("c.md", "a.md", "b.md"):
            put(index, uri, "The warranty lasts two years.")

        assert [passage.chunk.id for passage in index.keyword("warranty", 5)] == ["a.md#0", "b.md#0", "c.md#0"]

    @pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
    def test_any_text_is_a_query(self, index: EvidenceIndex, query: str) -> None:
        put(index, "a.md", "The warranty lasts two years.")
        index.keyword(query, 5)

        assert texts(index.keyword(f"warranty {query}", 5)) == ["The warranty lasts two years."]

    @pytest.mark.parametrize("query", ["", "  \n", "?!…", "-"])
    def test_a_query_without_words_finds_nothing(self, index: EvidenceIndex, query: str) -> None:
        put(index, "a.md", "The warranty lasts two years.")

        assert index.keyword(query, 5) == []

    # --- Vectors

    def test_vector_finds_by_direction_the_nearest_first(self, index: EvidenceIndex) -> None:
        put(index, "a.md", ("east", (5.0, 0.0, 0.0, 0.0)), ("north", NORTH), ("north-east", (3.0, 3.0, 0.0, 0.0)))
        found = index.vector((0.2, 0.1, 0.0, 0.0), 5)

        # cosines: 2/√5 = 0.894, 1/√5 = 0.447, 3/√10 = 0.949
        assert texts(found) == ["north-east", "east", "north"]
        assert found[0].score > found[1].score > found[2].score

    def test_vector_gives_no_more_than_the_limit(self, index: EvidenceIndex) -> None:
        pieces = [(f"piece {n}", (math.cos(n / 20), math.sin(n / 20), 0.0, 0.0)) for n in range(30)]
        put(index, "a.md", *pieces)

        assert texts(index.vector(EAST, 3)) == ["piece 0", "piece 1", "piece 2"]
        assert len(index.vector(EAST, 100)) == 30

    def test_vector_settles_ties_by_id(self, index: EvidenceIndex) -> None:
        for uri in ("c.md", "a.md", "b.md"):
            put(index, uri, ("east", EAST), ("west", WEST))

        assert [passage.chunk.id for passage in index.vector(EAST, 3)] == ["a.md#0", "b.md#0", "c.md#0"]

    def test_a_vector_without_direction_is_found_by_words_only(self, index: EvidenceIndex) -> None:
        put(index, "a.md", ("warranty", (0.0, 0.0, 0.0, 0.0)), ("returns", EAST))

        assert texts(index.vector(EAST, 5)) == ["returns"]
        assert texts(index.keyword("warranty", 5)) == ["warranty"]
        assert index.vector((0.0, 0.0, 0.0, 0.0), 5) == []

    @pytest.mark.parametrize("component", [math.nan, math.inf])
    def test_a_vector_must_be_finite(self, index: EvidenceIndex, component: float) -> None:
        with pytest.raises(DataError):
            put(index, "a.md", ("east", (component, 0.0, 0.0, 0.0)))
        with pytest.raises(DataError):
            index.vector((component, 0.0, 0.0, 0.0), 5)

        assert dict(index.documents()) == {}

    def test_every_chunk_needs_a_vector(self, index: EvidenceIndex) -> None:
        put(index, "a.md", "The warranty lasts two years.", digest="1f")
        chunk = Chunk("a.md#0", "a.md", "", "", "Shipping is free.", 0, 17)
        with pytest.raises(DataError):
            index.replace(Document("a.md", "", "Shipping is free.", "2e"), [chunk], [])

        assert dict(index.documents()) == {"a.md": "1f"}
        assert index.chunk("a.md#0") != chunk

    def test_vectors_of_another_length_are_refused(self, index: EvidenceIndex) -> None:
        put(index, "a.md", "The warranty lasts two years.")
        with pytest.raises(ConfigurationError, match="4"):
            put(index, "b.md", ("Shipping is free.", (1.0, 0.0)))
        with pytest.raises(ConfigurationError, match="4"):
            index.vector((1.0, 0.0), 5)

        assert list(index.documents()) == ["a.md"]
