import os
import sys

import pytest

from agentguard.errors import ConfigurationError, DataError
from agentguard.gate.documents import _sandbox as sandbox
from agentguard.gate.documents._sandbox import Reader

pytest.importorskip("bs4")
pytest.importorskip("pypdf")


@pytest.fixture
def reader():
    with Reader() as reader:
        yield reader


def test_documents_are_read_one_after_the_other_by_one_process(reader):
    assert reader.read("html", b"<title>T</title><p>one").text == "one"
    process = reader._process.pid
    assert reader.read("html", "<p>Größe".encode("latin-1"), "latin-1").text == "Größe"
    with pytest.raises(DataError, match="is no PDF, or a broken one"):
        reader.read("pdf", b"%PDF-1.4 rubbish")
    assert reader.read("html", b"<title>T</title><p>two") == ("T", "two", ())
    assert reader._process.pid == process


def test_a_document_that_takes_too_long_ends_its_process_only(monkeypatch):
    # It takes the first document, and is busy with it for ever.
    monkeypatch.setattr(sandbox, "_START", "import sys, time; sys.stdin.buffer.readline(); time.sleep(100_000)")
    with Reader(seconds=0.2) as reader:
        with pytest.raises(DataError, match=r"cannot be read within 0\.2 seconds"):
            reader.read("html", b"<p>one")
        monkeypatch.undo()
        reader._seconds = 60
        assert reader.read("html", b"<p>next").text == "next"


def test_a_process_that_was_killed_is_followed_by_another(reader):
    assert reader.read("html", b"<p>one").text == "one"
    reader._process.kill()
    reader._process.wait()
    assert reader.read("html", b"<p>two").text == "two"


def test_a_process_that_dies_of_a_document_is_reported(monkeypatch):
    monkeypatch.setattr(sandbox, "_START", "import sys; sys.stdin.buffer.readline()")
    with Reader() as reader, pytest.raises(DataError, match="cannot be read within 60 seconds"):
        reader.read("html", b"<p>one")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process reliably")
def test_memory_is_limited():
    with Reader(memory=100_000_000) as reader:
        with pytest.raises(DataError, match="100 MB"):
            reader.read("html", b"<p>x <b>y</b>" * 150_000)
        assert reader.read("html", b"<p>next").text == "next"


def test_the_process_has_no_secrets_and_imports_nothing_from_where_it_runs(monkeypatch, tmp_path):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "bs4.py").write_text("raise SystemExit")
    (tmp_path / "json.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    seen = {}
    start = sandbox.subprocess.Popen

    def watch(*args, **options):
        seen.update(options["env"])
        return start(*args, **options)

    monkeypatch.setattr(sandbox.subprocess, "Popen", watch)
    with Reader() as reader:
        assert reader.read("html", b"<p>one").text == "one"
    assert "AWS_SECRET_ACCESS_KEY" not in seen
    assert seen.get("PATH") == os.environ.get("PATH")


def test_a_missing_library_names_its_extra(monkeypatch):
    start = sandbox._START.replace("import sys, json;", "import sys, json; sys.modules['bs4'] = None;")
    monkeypatch.setattr(sandbox, "_START", start)
    with (
        Reader() as reader,
        pytest.raises(ConfigurationError, match=r"beautifulsoup4: pip install 'agentguard\[gate\]'"),
    ):
        reader.read("html", b"<p>one")


def test_it_may_be_closed_twice_and_without_having_read():
    reader = Reader()
    reader.close()
    reader.close()
