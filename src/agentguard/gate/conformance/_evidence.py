"""The ``EvidenceIndex`` protocol as a test class to subclass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Protocol

import pytest

from agentguard.errors import ConfigurationError, DataError, StoreError
from agentguard.gate._types import Chunk, Document, Passage
from agentguard.gate.evidence._index import EvidenceIndex, Vector, evidence_digest

EAST: Final = (1.0, 0.0, 0.0, 0.0)
WEST: Final = (-1.0, 0.0, 0.0, 0.0)
NORTH: Final = (0.0, 1.0, 0.0, 0.0)
UP: Final = (0.0, 0.0, 1.0, 0.0)


class IndexOpener(Protocol):
    """Opens an index, and again the same one."""

    def __call__(self, embedder: str = "compass") -> EvidenceIndex:
        """An index at the test's own place."""


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
    """Texts of passages, in their order."""
    return [passage.chunk.text for passage in passages]


CALLS: Final[dict[str, Callable[[EvidenceIndex], Any]]] = {
    "documents": lambda index: index.documents(),
    "replace": lambda index: put(index, "a.md", "The warranty lasts two years."),
    "remove": lambda index: index.remove(["a.md"]),
    "keyword": lambda index: index.keyword("warranty", 5),
    "vector": lambda index: index.vector(EAST, 5),
    "chunk": lambda index: index.chunk("a.md#0"),
    "digest": lambda index: index.digest(),
}


class EvidenceConformance:
    """Holds an index to the ``EvidenceIndex`` protocol: subclass it in a file of tests, and say how yours is opened.

    ::

        from agentguard.gate.conformance import EvidenceConformance


        class TestMyIndex(EvidenceConformance):
            def open(self, place, embedder):
                return MyIndex(place, embedder=embedder)

    ``place`` is a folder of the test's own; a fixture ``place`` of your class gives something else, as the name of an
    index on a server. Tests open the same place twice to see what is there for the next. Vectors have four components.
    """

    def open(self, place: Any, embedder: str) -> EvidenceIndex:
        """Your index at a place that no other test uses.

        Args:
            place: What the fixture ``place`` returned.
            embedder: The name of what the vectors come from; the suite's vectors have four components.
        """
        raise NotImplementedError("define open(self, place, embedder) -> EvidenceIndex")

    @pytest.fixture
    def place(self, tmp_path: Path) -> Any:
        """Folder of a test's index, unless a subclass has another fixture of this name."""
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

    def test_an_empty_index_has_nothing(self, index: EvidenceIndex) -> None:
        assert dict(index.documents()) == {}
        assert index.keyword("warranty", 5) == []
        assert index.vector(EAST, 5) == []
        assert index.chunk("a.md#0") is None

    def test_a_chunk_comes_back_as_it_was(self, index: EvidenceIndex) -> None:
        text = "Zwei Jahre Garantie: „auf alles“.\n\n  | a | b |\t<b>&amp;</b> \\ ' \" 🙂\x00"
        chunk = Chunk("1f2e#7", "docs/ä b.md", "Über uns", "Handbuch > Garantie", text, 17, 17 + len(text))
        index.replace(Document("docs/ä b.md", "Über uns", "x" * 17 + text, "ff00"), [chunk], [EAST])

        assert index.chunk("1f2e#7") == chunk
        assert [passage.chunk for passage in index.keyword("Garantie", 5)] == [chunk]
        assert [passage.chunk for passage in index.vector(EAST, 5)] == [chunk]

    def test_documents_are_known_by_their_digests(self, index: EvidenceIndex) -> None:
        put(index, "a.md", "The warranty lasts two years.", digest="1f")
        put(index, "b.md", digest="2e")  # nothing of it can be searched for

        assert dict(index.documents()) == {"a.md": "1f", "b.md": "2e"}

    def test_a_document_takes_the_place_of_the_one_before(self, index: EvidenceIndex) -> None:
        put(index, "a.md", ("The warranty lasts two years.", EAST), ("Returns take a week.", NORTH), digest="1f")
        put(index, "a.md", ("Shipping is free.", UP), digest="2e")

        assert dict(index.documents()) == {"a.md": "2e"}
        assert index.keyword("warranty returns", 5) == []
        assert texts(index.keyword("shipping", 5)) == ["Shipping is free."]
        assert texts(index.vector(EAST, 5)) == ["Shipping is free."]
        assert index.chunk("a.md#1") is None

    def test_the_same_document_again_changes_nothing(self, index: EvidenceIndex) -> None:
        put(index, "a.md", "The warranty lasts two years.")
        put(index, "a.md", "The warranty lasts two years.")

        assert len(index.keyword("warranty", 5)) == len(index.vector(EAST, 5)) == 1

    def test_what_is_removed_is_gone(self, index: EvidenceIndex) -> None:
        put(index, "a.md", "The warranty lasts two years.")
        put(index, "b.md", "The warranty of parts lasts one year.")
        index.remove(uri for uri in ("a.md", "unknown.md"))

        assert list(index.documents()) == ["b.md"]
        assert [passage.chunk.document for passage in index.keyword("warranty", 5)] == ["b.md"]
        assert [passage.chunk.document for passage in index.vector(EAST, 5)] == ["b.md"]
        assert index.chunk("a.md#0") is None

    def test_to_remove_nothing_is_no_error(self, index: EvidenceIndex) -> None:
        put(index, "a.md", "The warranty lasts two years.")
        index.remove([])

        assert list(index.documents()) == ["a.md"]

    def test_many_documents_are_removed_at_once(self, index: EvidenceIndex) -> None:
        for number in range(30):
            put(index, f"{number}.md", "The warranty lasts two years.")
        index.remove(f"{number}.md" for number in range(1, 2_000))

        assert list(index.documents()) == ["0.md"]

    # --- Search by words

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

    # --- Search by vectors

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

    # --- Who made the vectors

    def test_vectors_of_another_embedder_are_neither_written_nor_searched(self, opened: IndexOpener) -> None:
        put(opened("compass"), "a.md", "The warranty lasts two years.")
        other = opened("sextant")
        with pytest.raises(ConfigurationError, match=r"compass.*sextant|sextant.*compass"):
            put(other, "b.md", "Shipping is free.")
        with pytest.raises(ConfigurationError, match=r"compass.*sextant|sextant.*compass"):
            other.vector(EAST, 5)

        assert list(other.documents()) == ["a.md"]
        assert texts(other.keyword("warranty", 5)) == ["The warranty lasts two years."]
        assert other.chunk("a.md#0") is not None

    def test_an_emptied_index_takes_another_embedder(self, opened: IndexOpener) -> None:
        put(opened("compass"), "a.md", "The warranty lasts two years.")
        other = opened("sextant")
        other.remove(list(other.documents()))
        put(other, "a.md", ("Shipping is free.", (1.0, 0.0)))

        assert texts(other.vector((1.0, 0.0), 5)) == ["Shipping is free."]
        with pytest.raises(ConfigurationError):
            put(opened("compass"), "b.md", "The warranty lasts two years.")

    # --- The digest

    def test_the_digest_is_of_what_is_indexed(self, opened: IndexOpener) -> None:
        index = opened("compass")
        put(index, "b.md", "Shipping is free.", digest="2e")
        put(index, "a.md", "The warranty lasts two years.", digest="1f")

        assert index.digest() == evidence_digest("compass", {"a.md": "1f", "b.md": "2e"})
        assert opened("sextant").digest() == index.digest()  # the vectors are still those of the compass

    def test_the_digest_follows_every_change(self, index: EvidenceIndex) -> None:
        seen = [index.digest()]
        put(index, "a.md", "The warranty lasts two years.", digest="1f")
        seen.append(index.digest())
        put(index, "a.md", "The warranty lasts three years.", digest="2e")
        seen.append(index.digest())
        index.remove(["a.md"])

        assert len(set(seen)) == 3
        assert index.digest() == seen[0]

    # --- Several at once

    def test_what_one_writes_the_other_finds(self, opened: IndexOpener) -> None:
        one, other = opened(), opened()
        assert other.vector(EAST, 5) == []
        put(one, "a.md", ("The warranty lasts two years.", EAST))
        assert texts(other.vector(EAST, 5)) == texts(other.keyword("warranty", 5)) == ["The warranty lasts two years."]
        put(one, "a.md", ("Shipping is free.", NORTH))
        assert texts(other.vector(EAST, 5)) == texts(other.keyword("shipping", 5)) == ["Shipping is free."]
        one.remove(["a.md"])

        assert other.vector(EAST, 5) == other.keyword("shipping", 5) == []

    def test_an_index_outlives_its_closing(self, opened: IndexOpener) -> None:
        first = opened()
        put(first, "a.md", "The warranty lasts two years.")
        first.close()
        again = opened()

        assert texts(again.keyword("warranty", 5)) == texts(again.vector(EAST, 5)) == ["The warranty lasts two years."]

    def test_nobody_sees_half_a_document(self, opened: IndexOpener) -> None:
        writer = opened()
        versions = [[(f"camera {name} {part}", EAST) for part in range(4)] for name in ("old", "new")]
        put(writer, "a.md", *versions[0])
        whole = [[text for text, _ in version] for version in versions]
        done = False

        def read(search: Callable[[EvidenceIndex], list[str]]) -> list[list[str]]:
            mine, seen = opened(), []
            while not done:
                seen.append(sorted(search(mine)))
            return seen

        with ThreadPoolExecutor(2) as pool:
            readers = [
                pool.submit(read, lambda index: texts(index.keyword("camera", 9))),
                pool.submit(read, lambda index: texts(index.vector(EAST, 9))),
            ]
            try:
                for turn in range(1, 21):
                    put(writer, "a.md", *versions[turn % 2])
            finally:
                done = True
            seen = [found for reader in readers for found in reader.result(timeout=60)]

        assert [found for found in seen if found not in [sorted(version) for version in whole]] == []

    def test_threads_may_share_an_index(self, index: EvidenceIndex) -> None:
        def work(number: int) -> int:
            for turn in range(5):
                put(index, f"{number}.md", f"The warranty of part {number} lasts {turn} years.", digest=str(turn))
                index.keyword("warranty", 3)
                index.vector(EAST, 3)
            return len(index.keyword(f"warranty {number}", 3))

        with ThreadPoolExecutor(6) as pool:
            found = list(pool.map(work, range(6), timeout=60))

        assert all(found)
        assert dict(index.documents()) == {f"{number}.md": "4" for number in range(6)}
        assert len(index.vector(EAST, 100)) == 6

    # --- The end

    @pytest.mark.parametrize("call", CALLS)
    def test_a_closed_index_refuses(self, index: EvidenceIndex, call: str) -> None:
        CALLS[call](index)
        index.close()

        with pytest.raises(StoreError, match="closed"):
            CALLS[call](index)

    def test_an_index_may_be_closed_twice(self, index: EvidenceIndex) -> None:
        index.close()
        index.close()
