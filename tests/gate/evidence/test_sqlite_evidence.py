"""What the embedded index promises beyond the protocol: its file, its words, exact search by vectors."""

import math
import sqlite3
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import ConfigurationError, DataError, StoreError
from agentguard.gate._types import Chunk, Document, Passage
from agentguard.gate.evidence._sqlite import FILE, SqliteEvidence

from ...rows import over


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SqliteEvidence]:
    opened = SqliteEvidence(tmp_path / "index", "test")
    yield opened
    opened.close()


def put(index: SqliteEvidence, uri: str, *pieces: str, vectors: list[tuple[float, ...]] | None = None) -> None:
    chunks = [Chunk(f"{uri}#{n}", uri, "", "", piece, 0, len(piece)) for n, piece in enumerate(pieces)]
    index.replace(Document(uri, "", "", "1f"), chunks, vectors or [(1.0, 0.0)] * len(pieces))


def texts(passages: list[Passage]) -> list[str]:
    return [passage.chunk.text for passage in passages]


# --- Words


@pytest.mark.parametrize("query", ["returned", "Return", "the returns?"])
def test_endings_do_not_matter(index: SqliteEvidence, query: str) -> None:
    put(index, "a.md", "Returning an item takes a week.", "Shipping is free.")

    assert texts(index.keyword(query, 5)) == ["Returning an item takes a week."]


def test_accents_do_not_matter(index: SqliteEvidence) -> None:
    put(index, "a.md", "The café in Málaga is open.", "Shipping is free.")

    assert len(index.keyword("malaga", 5)) == len(index.keyword("CAFE\u0301", 5)) == 1


def test_words_that_say_nothing_find_nothing_beside_others(index: SqliteEvidence) -> None:
    put(index, "a.md", "The price of the camera.", "All of the rest is what it is.")

    assert texts(index.keyword("what is the price of all", 5)) == ["The price of the camera."]
    assert texts(index.keyword("what is all of the", 5))[0] == "All of the rest is what it is."


@given(st.text(max_size=200))
def test_any_text_can_be_indexed_and_asked(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    index = SqliteEvidence(tmp_path_factory.mktemp("index"), "test")
    put(index, "a.md", text, "warranty")
    chunk = index.chunk("a.md#0")
    index.keyword(text, 5)
    found = index.keyword(f"warranty {text}", 5)
    index.close()

    assert chunk is not None
    assert chunk.text == text
    assert "warranty" in texts(found)


# --- Vectors

components = st.floats(-1e6, 1e6).map(lambda number: round(number, 3))
vectors = st.lists(st.tuples(components, components, components), min_size=1, max_size=40)


@given(vectors, st.tuples(components, components, components), st.integers(1, 45))
def test_vector_search_is_exact(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[float, ...]], query: tuple[float, ...], limit: int
) -> None:
    index = SqliteEvidence(tmp_path_factory.mktemp("index"), "test")
    for n, row in enumerate(rows):
        put(index, f"{n:02d}", f"{n}", vectors=[row])
    found = index.vector(query, limit)
    index.close()

    def cosine(row: tuple[float, ...]) -> float:
        return sum(a * b for a, b in zip(row, query, strict=True)) / math.hypot(*row) / math.hypot(*query)

    cosines = sorted((cosine(row) for row in rows if any(row)), reverse=True) if any(query) else []
    assert [passage.score for passage in found] == pytest.approx(cosines[:limit], abs=3e-6)
    assert [passage.score for passage in found] == [
        pytest.approx(cosine(rows[int(passage.chunk.text)]), abs=3e-6) for passage in found
    ]
    keys = [(-passage.score, passage.chunk.id) for passage in found]
    assert keys == sorted(keys)


def test_components_of_any_size_have_a_direction(index: SqliteEvidence) -> None:
    put(index, "a.md", "huge", "tiny", vectors=[(1e308, 1e308), (0.0, 5e-324)])

    assert [round(passage.score, 5) for passage in index.vector((0.0, 1e300), 5)] == [1.0, round(math.sqrt(0.5), 5)]


def test_ties_at_the_limit_go_by_id(index: SqliteEvidence) -> None:
    for uri in ("e", "b", "d", "a", "c"):
        put(index, uri, uri, vectors=[(1.0, 2.0)])

    assert texts(index.vector((1.0, 0.0), 3)) == ["a", "b", "c"]


def test_no_limit_finds_nothing(index: SqliteEvidence) -> None:
    put(index, "a.md", "warranty")

    assert index.keyword("warranty", 0) == index.keyword("warranty", -1) == []
    assert index.vector((1.0, 0.0), 0) == index.vector((1.0, 0.0), -1) == []


def test_one_id_in_two_documents_is_two_chunks(index: SqliteEvidence) -> None:
    for uri in ("b.md", "a.md"):
        index.replace(Document(uri, "", "", "1f"), [Chunk("same", uri, "", "", "warranty", 0, 8)], [(1.0, 0.0)])
    index.remove(["a.md"])

    assert index.chunk("same") == Chunk("same", "b.md", "", "", "warranty", 0, 8)
    assert len(index.keyword("warranty", 5)) == len(index.vector((1.0, 0.0), 5)) == 1


# --- What is refused


@over("vector", [("1", "x"), (None, 1.0), (1 + 2j, 0.0), ((1.0,), (2.0,)), (10**400, 1.0), ()])
def test_what_is_no_vector_is_refused(index: SqliteEvidence, vector: tuple[float, ...]) -> None:
    with pytest.raises(DataError, match="vector"):
        put(index, "a.md", "warranty", vectors=[vector])

    assert dict(index.documents()) == {}


def test_vectors_of_one_document_have_one_length(index: SqliteEvidence) -> None:
    with pytest.raises(DataError, match="differ in length"):
        put(index, "a.md", "warranty", "shipping", vectors=[(1.0, 0.0), (1.0,)])


def test_half_a_surrogate_pair_is_no_text(index: SqliteEvidence) -> None:
    with pytest.raises(DataError, match="surrogates"):
        put(index, "a.md", "half \ud83d")
    with pytest.raises(DataError, match="surrogates"):
        put(index, "\udcff.md", "warranty")

    assert index.chunk("\ud83d") is None
    index.remove(["\udcff.md"])


def test_a_chunk_of_another_document_is_refused(index: SqliteEvidence) -> None:
    with pytest.raises(DataError, match="another document"):
        index.replace(Document("a.md", "", "", "1f"), [Chunk("1", "b.md", "", "", "x", 0, 1)], [(1.0, 0.0)])


def test_without_numpy_it_is_said_what_to_install(index: SqliteEvidence, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(ConfigurationError, match=r"agentguard\[gate\]"):
        put(index, "a.md", "warranty")


# --- The file


def test_only_the_user_may_read_the_file(tmp_path: Path) -> None:
    index = SqliteEvidence(tmp_path / "new", "test")
    put(index, "a.md", "warranty")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").iterdir()}
    index.close()

    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert modes == {FILE: 0o600, f"{FILE}-wal": 0o600, f"{FILE}-shm": 0o600}


def test_a_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    SqliteEvidence(tmp_path, "test").close()
    (tmp_path / FILE).chmod(0o644)
    SqliteEvidence(tmp_path, "test").close()

    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE documents (uri TEXT)")
    connection.close()


def newer(path: Path) -> None:
    SqliteEvidence(path.parent, "test").close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 7")
    connection.close()


def cut(path: Path) -> None:
    index = SqliteEvidence(path.parent, "test")
    put(index, "a.md", *["camera " * 500] * 50)
    index.close()
    path.write_bytes(path.read_bytes()[:5000])


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        pytest.param(foreign, "is no evidence index but the database of something else", id="foreign"),
        pytest.param(newer, "format 7", id="newer"),
        pytest.param(lambda path: path.write_bytes(b"no database at all " * 99), "damaged, or something", id="text"),
        pytest.param(lambda path: path.mkdir(), "no plain file", id="folder"),
        pytest.param(cut, "damaged", id="cut off"),
    ],
)
def test_a_file_that_is_no_index_is_refused_in_one_sentence(tmp_path: Path, spoil: "object", says: str) -> None:
    assert callable(spoil)
    spoil(tmp_path / FILE)
    with pytest.raises(StoreError, match=says) as refused:
        SqliteEvidence(tmp_path, "test").keyword("camera", 5)

    assert str(tmp_path / FILE) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="evidence index"):
        SqliteEvidence(tmp_path / "file" / "index", "test")


def test_a_vector_that_was_tampered_with_is_no_crash(tmp_path: Path) -> None:
    index = SqliteEvidence(tmp_path, "test")
    put(index, "a.md", "warranty", "shipping")
    connection = sqlite3.connect(tmp_path / FILE)
    connection.execute("UPDATE chunks SET vector = x'00' WHERE id = 'a.md#0'")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="damaged"):
        index.vector((1.0, 0.0), 5)
    index.close()
