import os
import socket
from pathlib import Path

import pytest

from agentguard.errors import ConfigurationError, DataError
from agentguard.gate._config import LocalSource
from agentguard.gate.documents import _local as local
from agentguard.gate.documents._local import list_local
from agentguard.gate.documents._text import Found, LeftOut


def source(path, *include):
    return LocalSource(type="local", path=path, include=include)


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path = path.with_name(path.name.replace("_", "."))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def found(folder, path, *include, roots=()):
    return [item for item in list_local(source(path, *include), folder, roots) if isinstance(item, Found)]


def left_out(folder, path, *include):
    return {item.uri: item for item in list_local(source(path, *include), folder) if isinstance(item, LeftOut)}


def test_folders_are_read_recursively_in_the_order_of_names(tmp_path):
    write(tmp_path, docs__b_md="B", docs__a_txt="A", docs__x__c_html="C", docs__a__d_md="D")
    items = found(tmp_path, "./docs/")
    assert [(item.uri, item.name) for item in items] == [
        ("docs/a.txt", "a.txt"),
        ("docs/b.md", "b.md"),
        ("docs/a/d.md", "d.md"),
        ("docs/x/c.html", "c.html"),
    ]
    assert [item.read().data for item in items] == [b"A", b"B", b"D", b"C"]


def test_one_file_is_a_source_too_and_may_have_any_ending(tmp_path):
    write(tmp_path, docs__README="read me", docs__other_md="other")
    (item,) = found(tmp_path, "docs/README")
    assert item.uri == "docs/README"
    assert item.chosen
    assert item.read().data == b"read me"


def test_hidden_files_and_unread_kinds_are_skipped_with_their_reasons(tmp_path):
    write(tmp_path, docs__a_md="A", docs__logo_png="not read")
    (tmp_path / "docs/.env").write_text("SECRET=1")
    (tmp_path / "docs/.git").mkdir()
    (tmp_path / "docs/.git/config.md").write_text("x")
    reasons = left_out(tmp_path, "docs")
    assert {uri: item.kind for uri, item in reasons.items()} == {
        "docs/.env": "skipped",
        "docs/.git": "skipped",
        "docs/logo.png": "skipped",
    }
    assert "hidden" in reasons["docs/.env"].reason
    assert ".md" in reasons["docs/logo.png"].reason


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["*.md"], ["docs/a.md", "docs/x/b.md", "docs/x/y/c.md"]),
        (["x/*.md"], ["docs/x/b.md"]),
        (["x/**/*.md"], ["docs/x/b.md", "docs/x/y/c.md"]),
        (["**/c.md", "a.*"], ["docs/a.md", "docs/a.txt", "docs/x/y/c.md"]),
        (["x/**"], ["docs/x/b.md", "docs/x/y/c.md"]),
        (["*/*/*"], ["docs/x/y/c.md"]),
        (["nothing"], []),
    ],
)
def test_patterns_choose_by_name_or_by_path(tmp_path, patterns, expected):
    write(tmp_path, docs__a_md="", docs__a_txt="", docs__x__b_md="", docs__x__y__c_md="")
    assert [item.uri for item in found(tmp_path, "docs", *patterns)] == expected


@pytest.mark.parametrize("path", ["..", "../outside", "/etc", "docs/../../outside"])
def test_a_path_out_of_the_root_is_refused(tmp_path, path):
    (tmp_path / "root").mkdir()
    (tmp_path / "outside").mkdir()
    with pytest.raises(ConfigurationError, match=r"outside of .*root"):
        list(list_local(source(path), tmp_path / "root"))


def test_another_root_allows_more(tmp_path):
    write(tmp_path, shared__a_md="A")
    (tmp_path / "gate").mkdir()
    (item,) = found(tmp_path / "gate", "../shared", roots=[tmp_path / "shared"])
    assert item.uri == "../shared/a.md"
    assert item.read().data == b"A"


def test_a_link_to_a_folder_outside_is_refused_as_a_source(tmp_path):
    write(tmp_path, outside__a_md="A")
    (tmp_path / "root").mkdir()
    (tmp_path / "root/docs").symlink_to(tmp_path / "outside")
    with pytest.raises(ConfigurationError, match="outside of"):
        list(list_local(source("docs"), tmp_path / "root"))


def test_links(tmp_path):
    write(tmp_path, secret_md="S", root__docs__a_md="A", root__docs__x__b_md="B")
    docs = tmp_path / "root/docs"
    (tmp_path / "root/.env").write_text("SECRET=1")
    (docs / "inside.md").symlink_to("x/b.md")
    (docs / "outside.md").symlink_to("../../secret.md")
    (docs / "hidden.md").symlink_to("../.env")
    (docs / "loop").symlink_to(".")
    (docs / "nowhere.md").symlink_to("gone.md")
    (docs / "round.md").symlink_to("round.md")
    items = {item.uri: item for item in found(tmp_path / "root", "docs")}
    assert sorted(items) == ["docs/a.md", "docs/inside.md", "docs/nowhere.md", "docs/round.md", "docs/x/b.md"]
    assert items["docs/inside.md"].read().data == b"B"
    for broken in ("docs/nowhere.md", "docs/round.md"):
        with pytest.raises(DataError):
            items[broken].read()
    reasons = left_out(tmp_path / "root", "docs")
    assert {uri: item.kind for uri, item in reasons.items()} == {
        "docs/outside.md": "refused",
        "docs/hidden.md": "refused",
        "docs/loop": "skipped",
    }
    assert "leads outside" in reasons["docs/outside.md"].reason


@pytest.mark.parametrize("place", ["a.md", "."])
def test_what_is_exchanged_for_a_link_after_it_was_listed_is_not_read(tmp_path, place):
    write(tmp_path, outside__a_md="secret", root__docs__a_md="A")
    (item,) = found(tmp_path / "root", "docs")
    exchanged = tmp_path / "root/docs" / place
    if place == ".":
        (tmp_path / "root/docs").rename(tmp_path / "root/old")
        (tmp_path / "root/docs").symlink_to(tmp_path / "outside")
    else:
        exchanged.unlink()
        exchanged.symlink_to(tmp_path / "outside/a.md")
    with pytest.raises(DataError):
        item.read()


@pytest.mark.parametrize("place", ["a.md", "."])
def test_the_same_where_folders_cannot_be_opened(tmp_path, place, monkeypatch):
    monkeypatch.setattr(local, "BY_FOLDERS", False)
    write(tmp_path, root__docs__b_md="B")
    assert [item.read().data for item in found(tmp_path / "root", "docs")] == [b"B"]
    (tmp_path / "root/docs/b.md").unlink()
    test_what_is_exchanged_for_a_link_after_it_was_listed_is_not_read(tmp_path, place)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")
def test_what_is_no_regular_file_is_not_opened(tmp_path):
    (tmp_path / "docs").mkdir()
    os.mkfifo(tmp_path / "docs/pipe.md")
    with socket.socket(socket.AF_UNIX) as server:
        cwd = Path.cwd()
        os.chdir(tmp_path / "docs")  # the path of a socket must be short
        try:
            server.bind("socket.md")
        finally:
            os.chdir(cwd)
    for item in found(tmp_path, "docs"):
        with pytest.raises(DataError, match="no regular file"):
            item.read()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")
def test_a_fifo_put_in_the_place_of_a_file_keeps_nobody_waiting(tmp_path):
    os.mkfifo(tmp_path / "a.md")
    with pytest.raises(DataError, match="no regular file"):
        local.read_safely(tmp_path, ("a.md",), 100)


@pytest.mark.parametrize("parts", [(), ("..", "a.md"), ("x/../a.md",), ("",)])
def test_only_names_lead_below_a_folder(tmp_path, parts):
    (tmp_path / "a.md").write_text("A")
    with pytest.raises(DataError):
        local.read_safely(tmp_path, parts, 100)


def test_a_file_is_read_up_to_the_limit(tmp_path):
    (tmp_path / "a.md").write_bytes(b"x" * 100)
    assert local.read_safely(tmp_path, ("a.md",), 100) == b"x" * 100
    with pytest.raises(DataError, match="has 100 bytes, and at most 99 are read"):
        local.read_safely(tmp_path, ("a.md",), 99)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system has no /proc")
def test_a_file_that_does_not_tell_its_size_is_limited_too():
    with pytest.raises(DataError, match="more than the 10 bytes"):
        local.read_safely(Path("/proc").resolve(), (str(os.getpid()), "status"), 10)


def test_a_path_that_is_not_there_makes_the_source_incomplete(tmp_path):
    reasons = left_out(tmp_path, "docs")
    assert reasons["docs"].kind == "unlisted"
    assert "No such file" in reasons["docs"].reason


def test_a_folder_that_cannot_be_listed_makes_the_source_incomplete(tmp_path, monkeypatch):
    write(tmp_path, docs__a_md="A", docs__closed__b_md="B")
    scan = os.scandir

    def refuse(path):
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert [item.uri for item in found(tmp_path, "docs")] == ["docs/a.md"]
    assert left_out(tmp_path, "docs")["docs/closed"] == LeftOut(
        "docs/closed", "cannot be read: Permission denied", "unlisted"
    )


def test_the_whole_folder_of_the_configuration_may_be_a_source(tmp_path):
    write(tmp_path, a_md="A", x__b_md="B")
    assert [item.uri for item in found(tmp_path, ".")] == ["a.md", "x/b.md"]


def test_a_hidden_folder_may_be_named_as_a_source(tmp_path):
    (tmp_path / ".docs").mkdir()
    (tmp_path / ".docs/a.md").write_text("A")
    assert [item.read().data for item in found(tmp_path, ".docs")] == [b"A"]


def test_a_null_character_is_a_fault_of_the_configuration(tmp_path):
    with pytest.raises(ConfigurationError, match="is no path"):
        list(list_local(source("docs\0x"), tmp_path))
