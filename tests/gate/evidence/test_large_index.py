"""What keeps searches fast in a large index, and what it must not change."""

from pathlib import Path

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import DataError
from agentguard.gate._types import Chunk, Document
from agentguard.gate.evidence import _sqlite
from agentguard.gate.evidence._index import Indexed
from agentguard.gate.evidence._sqlite import SqliteEvidence, rarest
from agentguard.gate.evidence._vectors import Vectors, nearest, unit_vectors


def indexed(name: str, text: str, vector: tuple[float, ...] = (1.0, 0.0)) -> Indexed:
    chunk = Chunk(name, f"{name}.md", name, "", text, 0, len(text))
    return Indexed(Document(chunk.document, name, text, name), [chunk], [vector])


@given(st.dictionaries(st.text(max_size=5), st.integers(0, 100), max_size=10), st.integers(0, 200))
def test_the_rarest_words_are_chosen(counts: dict[str, int], most: int) -> None:
    chosen = rarest(counts, most)

    assert bool(chosen) == any(counts.values())
    assert len(chosen) == 1 or sum(counts[word] for word in chosen) <= most
    assert all(counts[word] for word in chosen)
    others = [count for word, count in counts.items() if count and word not in chosen]
    assert not chosen or all(count >= max(counts[word] for word in chosen) for count in others)


def test_what_stands_everywhere_is_not_looked_up_beside_rarer_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_sqlite, "MOST_MATCHES", 5)
    evidence = SqliteEvidence(tmp_path, "e")
    evidence.replace_all([indexed(f"c{n}", "the lamp is blue") for n in range(20)])
    evidence.replace(*indexed("rare", "the lamp is broken"))

    assert [passage.chunk.id for passage in evidence.keyword("a broken lamp", 10)] == ["rare"]
    assert len(evidence.keyword("lamp", 100)) == 21  # alone, it is all there is
    evidence.replace(*indexed("rare", "the lamp is green"))
    assert [passage.chunk.id for passage in evidence.keyword("a green lamp", 10)] == ["rare"]


def test_of_words_that_all_stand_too_often_the_rarest_is_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_sqlite, "MOST_MATCHES", 5)
    evidence = SqliteEvidence(tmp_path, "e")
    evidence.replace_all([indexed(f"blue{n:02}", "a blue lamp") for n in range(12)])
    evidence.replace_all([indexed(f"red{n:02}", "a red lamp") for n in range(9)])

    for query in ("lamp blue red", "blue lamp red", "lamp", "red lamp"):
        passages = evidence.keyword(query, 3)
        # Those that are equally good come by their ids.
        colour = "blue" if query == "lamp" else "red"
        assert [passage.chunk.id for passage in passages] == [f"{colour}{n:02}" for n in range(3)]
    assert len(evidence.keyword("lamp", 100)) == 21


def test_several_documents_are_replaced_together_or_not_at_all(tmp_path: Path) -> None:
    evidence = SqliteEvidence(tmp_path, "e")
    evidence.replace_all([indexed("a", "one"), indexed("b", "two")])
    broken = indexed("c", "three")._replace(vectors=[])

    with pytest.raises(DataError):
        evidence.replace_all([indexed("a", "changed"), broken])

    assert dict(evidence.documents()) == {"a.md": "a", "b.md": "b"}
    assert evidence.chunk("a") == indexed("a", "one").chunks[0]


def test_a_sieve_lets_the_nearest_pass() -> None:
    """Of 50 clusters of 100 vectors; the nearest hundred of a centre are its cluster."""
    draws = numpy.random.default_rng(7)
    centres = draws.standard_normal((50, 512))
    rows = unit_vectors(numpy.repeat(centres, 100, axis=0) + draws.standard_normal((5_000, 512)))  # type: ignore[arg-type]
    sifted = Vectors(rows, sifted_from=1)

    for number in range(0, 50, 5):
        query = unit_vectors([centres[number]])[0]  # type: ignore[list-item]
        found = sifted.nearest(query, 10)
        assert {row // 100 for row, _ in found} == {number}
        assert found == sorted(found, key=lambda each: -each[1])
        exact = dict(nearest(rows, query, 100))
        assert all(exact[row] == pytest.approx(score, abs=1e-5) for row, score in found)


def test_a_small_matrix_is_compared_as_a_whole() -> None:
    rows = unit_vectors(numpy.random.default_rng(7).standard_normal((50, 300)))  # type: ignore[arg-type]

    assert Vectors(rows).nearest(rows[3], 5) == nearest(rows, rows[3], 5)
    assert Vectors(rows, sifted_from=1).nearest(rows[3], 5) == nearest(rows, rows[3], 5)
    assert Vectors(rows).nearest(rows[3], 0) == []
