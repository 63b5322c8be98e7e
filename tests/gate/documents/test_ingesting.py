import hashlib
import os
from contextlib import nullcontext
from typing import NamedTuple

import pytest

from agentguard.errors import ConfigurationError, GateError, StoreError
from agentguard.gate._config import GateConfig
from agentguard.gate.documents import _ingest as ingesting
from agentguard.gate.documents._ingest import IngestReport, IngestStep, ingest
from agentguard.gate.documents._sandbox import Reader


class Index:
    """Documents and what was done with them, in memory; like any index, it holds the vectors of one model."""

    def __init__(self):
        self.held = {}
        self.done = []

    def documents(self):
        return {uri: document.digest for uri, (document, _, _) in self.held.items()}

    def replace(self, document, chunks, vectors):
        assert len(chunks) == len(vectors) > 0
        lengths = {len(vector) for _, _, others in self.held.values() for vector in others}
        if lengths and lengths != {len(vectors[0])}:
            raise ConfigurationError("vectors of another model")
        self.done.append(("replace", document.uri))
        self.held[document.uri] = (document, chunks, vectors)

    def remove(self, uris):
        for uri in list(uris):
            self.done.append(("remove", uri))
            self.held.pop(uri, None)


class Letters:
    """Vectors that count letters; fails when it is told to."""

    def __init__(self, dimensions=2):
        self.dimensions = dimensions
        self.asked = []
        self.fail_at = None

    def embed_documents(self, texts):
        self.asked.append(list(texts))
        if self.fail_at is not None and len(self.asked) >= self.fail_at:
            raise TimeoutError("no answer")
        return [[1.0 + text.count(letter) for letter in "abcdef"[: self.dimensions]] for text in texts]


class Services(NamedTuple):
    embeddings: Letters
    evidence: Index


@pytest.fixture(scope="module")
def reader():
    with Reader() as reader:
        yield reader


@pytest.fixture(autouse=True)
def _one_reading_process(monkeypatch, reader):
    """For all ingests of this file: each would wait for one of its own."""
    monkeypatch.setattr(ingesting, "Reader", lambda: nullcontext(reader))


@pytest.fixture
def services():
    return Services(Letters(), Index())


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "docs/deep").mkdir(parents=True)
    (tmp_path / "docs/returns.md").write_text("# Returns\n\nWithin **30** days.\n")
    (tmp_path / "docs/terms.html").write_text("<title>Terms</title><p>Free shipping.")
    (tmp_path / "docs/deep/notes.txt").write_text("Notes.")
    return tmp_path


def config(folder, *sources, **sections):
    declared = sources or ({"type": "local", "path": "docs"},)
    return GateConfig(use_case="help desk", doc_sources=declared, folder=folder, **sections)


def test_documents_are_cleaned_cut_and_indexed(folder, services):
    assert ingest(config(folder), services) == IngestReport(added=3, chunks=3)
    document, (chunk,), vectors = services.evidence.held["docs/returns.md"]
    assert (document.title, document.text) == ("Returns", "# Returns\n\nWithin 30 days.")
    assert (chunk.text, chunk.heading, chunk.document) == ("# Returns\n\nWithin 30 days.", "Returns", "docs/returns.md")
    assert len(vectors[0]) == 2
    assert services.evidence.held["docs/terms.html"][0].title == "Terms"
    assert services.evidence.held["docs/deep/notes.txt"][0].title == "notes.txt"


def test_what_has_not_changed_is_neither_embedded_nor_written(folder, services):
    ingest(config(folder), services)
    done, asked = list(services.evidence.done), len(services.embeddings.asked)
    assert ingest(config(folder), services) == IngestReport(unchanged=3)
    assert services.evidence.done == done
    assert len(services.embeddings.asked) == asked


def test_what_has_changed_is_written_and_what_is_gone_is_removed(folder, services):
    ingest(config(folder), services)
    (folder / "docs/returns.md").write_text("# Returns\n\nWithin 14 days.")
    (folder / "docs/deep/notes.txt").unlink()
    (folder / "docs/new.md").write_text("New.")
    report = ingest(config(folder), services)
    assert report == IngestReport(added=1, changed=1, unchanged=1, removed=1, chunks=2)
    assert sorted(services.evidence.held) == ["docs/new.md", "docs/returns.md", "docs/terms.html"]
    assert "14 days" in services.evidence.held["docs/returns.md"][0].text


def test_a_source_that_is_no_longer_declared_loses_its_documents(folder, services):
    (folder / "other").mkdir()
    (folder / "other/a.md").write_text("A.")
    ingest(config(folder, {"type": "local", "path": "docs"}, {"type": "local", "path": "other"}), services)
    assert ingest(config(folder), services) == IngestReport(unchanged=3, removed=1)


def test_sources_that_overlap_hold_a_document_once(folder, services):
    both = config(folder, {"type": "local", "path": "docs"}, {"type": "local", "path": "docs/deep"})
    assert ingest(both, services) == IngestReport(added=3, chunks=3)


def test_a_source_that_cannot_be_listed_keeps_its_documents(folder, services):
    (folder / "other").mkdir()
    (folder / "other/a.md").write_text("A.")
    both = config(folder, {"type": "local", "path": "docs"}, {"type": "local", "path": "other"})
    ingest(both, services)
    (folder / "docs/returns.md").unlink()
    (folder / "other").rename(folder / "elsewhere")
    report = ingest(both, services)
    assert report == IngestReport(
        unchanged=2, removed=1, problems=(("other", "cannot be read: No such file or directory"),)
    )
    assert "other/a.md" in services.evidence.held


def test_a_document_that_cannot_be_read_keeps_what_is_indexed(folder, services):
    path = folder / "docs/returns.md"
    ingest(config(folder), services)
    path.write_bytes(bytes(100))
    report = ingest(config(folder), services)
    assert report == IngestReport(unchanged=2, problems=(("docs/returns.md", "is no text: it holds null characters"),))
    assert "30 days" in services.evidence.held["docs/returns.md"][0].text
    path.unlink()
    path.symlink_to("/etc/hostname")
    report = ingest(config(folder), services)
    assert report.problems == (("docs/returns.md", "is a link that leads outside of the roots"),)
    assert "docs/returns.md" in services.evidence.held


def test_a_document_that_has_been_emptied_is_removed(folder, services):
    ingest(config(folder), services)
    (folder / "docs/returns.md").write_text("<!-- nothing -->\n")
    report = ingest(config(folder), services)
    assert report == IngestReport(unchanged=2, removed=1, problems=(("docs/returns.md", "holds no text"),))
    assert "docs/returns.md" not in services.evidence.held


def test_broken_documents_are_reported_and_the_others_indexed(folder, services):
    (folder / "docs/broken.pdf").write_bytes(b"%PDF-1.4 rubbish")
    (folder / "docs/latin.txt").write_bytes(b"Caf\xe9")
    (folder / "docs/logo.png").write_bytes(b"\x89PNG")
    report = ingest(config(folder), services)
    assert (report.added, len(report.problems), len(report.skipped)) == (4, 2, 1)
    assert report.problems[0][0] == "docs/broken.pdf"
    assert "is no PDF, or a broken one" in report.problems[0][1]
    assert report.problems[1] == ("docs/latin.txt", "is not UTF-8 and names no encoding: read as Windows-1252")
    assert report.skipped[0][0] == "docs/logo.png"


def test_another_way_of_cutting_indexes_all_anew(folder, services):
    ingest(config(folder), services)
    report = ingest(config(folder, chunking={"least": 200, "most": 400}), services)
    assert report == IngestReport(changed=3, chunks=3)


def test_another_embedder_indexes_all_anew(folder, services):
    ingest(config(folder), services)
    other = Services(Letters(dimensions=3), services.evidence)
    assert ingest(config(folder), other) == IngestReport(changed=3, chunks=3)
    assert {len(vectors[0]) for _, _, vectors in services.evidence.held.values()} == {3}


def test_vectors_of_another_embedder_go_only_when_there_are_new_ones(folder, services):
    ingest(config(folder), services)
    other = Services(Letters(dimensions=3), services.evidence)
    other.embeddings.fail_at = 1
    with pytest.raises(GateError, match=r"no vectors for docs/returns\.md: TimeoutError: no answer"):
        ingest(config(folder), other)
    assert len(services.evidence.held) == 3
    other.embeddings.fail_at = None
    (folder / "docs/returns.md").write_bytes(bytes(100))
    report = ingest(config(folder), other)
    assert (report.changed, report.removed, sorted(services.evidence.held)) == (
        2,
        1,
        ["docs/deep/notes.txt", "docs/terms.html"],
    )
    assert report.problems[-1] == (
        "docs/returns.md",
        "is removed: its vectors were another model's, and it could not be read again",
    )


def test_an_interrupted_ingest_goes_on_where_it_stopped(folder, services):
    services.embeddings.fail_at = 2
    with pytest.raises(GateError, match="the next ingest goes on from there"):
        ingest(config(folder), services)
    assert list(services.evidence.held) == ["docs/returns.md"]
    services.embeddings.fail_at = None
    assert ingest(config(folder), services) == IngestReport(added=2, unchanged=1, chunks=2)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("after", [1, 2, 3])
def test_an_ingest_may_be_stopped_at_any_document(folder, services, stop, after):
    def progress(step):
        if step.done == after:
            raise stop

    with pytest.raises(stop):
        ingest(config(folder), services, progress=progress)
    assert len(services.evidence.held) == after
    assert ingest(config(folder), services).unchanged == after


def test_a_full_index_raises_its_own_error(folder, services, monkeypatch):
    def full(*args):
        raise StoreError("the disk is full")

    monkeypatch.setattr(services.evidence, "replace", full)
    with pytest.raises(StoreError, match="the disk is full"):
        ingest(config(folder), services)


def test_embeddings_that_miss_a_vector_are_refused(folder, services, monkeypatch):
    monkeypatch.setattr(services.embeddings, "embed_documents", lambda texts: [])
    with pytest.raises(GateError, match="made 0 vectors of 1 texts"):
        ingest(config(folder), services)


def test_long_documents_are_embedded_in_batches(folder, services):
    (folder / "docs/long.txt").write_text("A sentence of words. " * 2_000)
    small = {"least": 50, "most": 100, "overlap_least": 5, "overlap_most": 10}
    report = ingest(config(folder, chunking=small), services)
    sizes = [len(texts) for texts in services.embeddings.asked]
    assert report.chunks == sum(sizes) > 100
    assert max(sizes) == 64


def test_progress_is_told_document_by_document(folder, services):
    steps = []
    ingest(config(folder), services, progress=steps.append)
    assert steps == [
        IngestStep(0, 3, "", "unchanged"),
        IngestStep(1, 3, "docs/returns.md", "added"),
        IngestStep(2, 3, "docs/terms.html", "added"),
        IngestStep(3, 3, "docs/deep/notes.txt", "added"),
    ]
    steps.clear()
    (folder / "docs/returns.md").unlink()
    (folder / "docs/terms.html").write_bytes(bytes(10))
    ingest(config(folder), services, progress=steps.append)
    assert steps[1:] == [
        IngestStep(1, 3, "docs/terms.html", "failed"),
        IngestStep(2, 3, "docs/deep/notes.txt", "unchanged"),
        IngestStep(3, 3, "docs/returns.md", "removed"),
    ]


def test_an_empty_folder_is_a_fault_of_the_configuration_and_empties_nothing(folder, services):
    ingest(config(folder), services)
    held = dict(services.evidence.held)
    for path in ("returns.md", "terms.html", "deep/notes.txt"):
        (folder / "docs" / path).unlink()
    (folder / "docs/logo.png").write_bytes(b"")
    with pytest.raises(
        ConfigurationError, match=r"no trusted document in docs \(1 .*logo\.png is of no kind.*mend doc_sources"
    ):
        ingest(config(folder), services)
    assert services.evidence.held == held


def test_no_document_that_can_be_read_is_an_error_with_the_reasons(folder, services):
    ingest(config(folder), services)
    held = dict(services.evidence.held)
    with pytest.raises(GateError, match=r"no trusted document could be read from nowhere \(nowhere: .*No such file"):
        ingest(config(folder, {"type": "local", "path": "nowhere"}), services)
    assert services.evidence.held == held


def test_a_folder_without_a_single_file_is_told(folder, services):
    (folder / "bare").mkdir()
    with pytest.raises(ConfigurationError, match="no trusted document in bare: put documents there"):
        ingest(config(folder, {"type": "local", "path": "bare"}), services)


def test_a_path_outside_is_refused_before_anything_is_written(folder, services):
    sources = {"type": "local", "path": "docs"}, {"type": "local", "path": "../other"}
    with pytest.raises(ConfigurationError, match="outside of"):
        ingest(config(folder, *sources), services)
    assert services.evidence.done == []


def test_a_further_root(folder, services):
    (folder / "gate").mkdir()
    above = config(folder / "gate", {"type": "local", "path": "../docs"})
    assert ingest(above, services, roots=[folder]).added == 3
    assert "../docs/returns.md" in services.evidence.held


def test_a_relative_folder_is_the_working_directorys(folder, services, monkeypatch):
    monkeypatch.chdir(folder)
    declared = GateConfig(use_case="help desk", doc_sources=[{"type": "local", "path": "docs"}])
    assert ingest(declared, services).added == 3
    assert ingest(config(folder), services).unchanged == 3


def test_web_pages_that_cannot_be_had_keep_what_is_indexed(folder, services):
    pytest.importorskip("httpx")
    address = "http://127.0.0.1:9/terms"
    sources = {"type": "local", "path": "docs"}, {"type": "http", "url": address}
    report = ingest(config(folder, *sources), services)
    assert report.added == 3
    assert report.problems[0][0] == address
    assert "127.0.0.1 is this machine's own" in report.problems[0][1]


def test_the_digest_of_a_document_is_of_its_bytes_and_not_of_its_place(folder, services):
    (folder / "docs/copy.md").write_bytes((folder / "docs/returns.md").read_bytes())
    os.utime(folder / "docs/returns.md", (0, 0))
    ingest(config(folder), services)
    digests = services.evidence.documents()
    assert digests["docs/copy.md"] == digests["docs/returns.md"]
    assert digests["docs/copy.md"] != digests["docs/terms.html"]
    assert len(bytes.fromhex(digests["docs/copy.md"])) == 16 + hashlib.blake2b(digest_size=4).digest_size
