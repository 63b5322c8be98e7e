"""A path names a file inside the root, and nothing else."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from agentguard.errors import ConfigurationError
from agentguard.gate.api import create_app
from agentguard.gate.api._gate import CONFIG_PATH_PATTERN, find_config, open_root

from ...rows import over

FULL_WIDTH = "\uff0e\uff0e"  # becomes two dots where Unicode is normalised


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with files, links of all kinds and a pipe; outside of it a file and a folder."""
    top = tmp_path_factory.mktemp("tree").resolve()
    (top / "outside").mkdir()
    (top / "outside" / "secret.yaml").write_text("secret")
    root = top / "root"
    (root / "team" / "deep").mkdir(parents=True)
    for inside in (".llm-reliability.yaml", "a.yml", "team/b.yaml", "team/deep/c.yaml", "team/notes.txt", "..x.yaml"):
        (root / inside).write_text("inside")
    (root / "folder.yaml").mkdir()
    (root / "link.yaml").symlink_to(root / "team" / "b.yaml")
    (root / "out.yaml").symlink_to(top / "outside" / "secret.yaml")
    (root / "up").symlink_to(top / "outside")
    (root / "self.yaml").symlink_to(root / "self.yaml")
    (root / "null.yaml").symlink_to("/dev/null")
    os.mkfifo(root / "pipe.yaml")
    return root


PARTS = st.sampled_from(
    ["..", ".", "", "/", "team", "deep", "up", "a.yml", "b.yaml", "secret.yaml", "outside", "out.yaml", "link.yaml",
     "self.yaml", "null.yaml", "pipe.yaml", "folder.yaml", "\\", "..\\", "\x00", "C:", "~", "%2e%2e", "root",
     "/etc/passwd", "\ud800", "....", "..;", "con.yaml", FULL_WIDTH]
)  # fmt: skip
PATHS = st.one_of(
    st.text(),
    st.lists(PARTS | st.text(max_size=3), max_size=8).map("/".join),
    st.from_regex(CONFIG_PATH_PATTERN),
    st.lists(PARTS, max_size=6).map("/".join).map(lambda path: path + ".yaml"),
)


@given(path=PATHS)
def test_no_path_leads_out_of_the_root(tree: Path, path: str) -> None:
    found = find_config(tree, path)

    assert found is None or (found.is_file() and found.read_text() == "inside" and found.suffix in (".yaml", ".yml"))


@over(
    ("path", "file"),
    [
        (".llm-reliability.yaml", ".llm-reliability.yaml"),
        ("a.yml", "a.yml"),
        ("team/b.yaml", "team/b.yaml"),
        ("team/deep/c.yaml", "team/deep/c.yaml"),
        ("link.yaml", "team/b.yaml"),
    ],
)
def test_a_file_inside_is_found(tree: Path, path: str, file: str) -> None:
    assert find_config(tree, path) == tree / file


REFUSED = [
    "/etc/passwd", "../outside/secret.yaml", "team/../../outside/secret.yaml", "team/../a.yml", "./a.yml", "a.yml/",
    "team//b.yaml", "team\\b.yaml", "..\\outside\\secret.yaml", "a.yml\x00", "a.yml\n", "C:a.yaml", "C:/a.yaml", "",
    ".", "..", "team", "team/notes.txt", ".yaml", "//server/share/a.yaml", "~/a.yaml/", "file:///etc/a.yaml",
    "a.yaml?x", "..x.yaml",
]  # fmt: skip
MISSING = [
    "missing.yaml", "out.yaml", "up/secret.yaml", "up/missing.yaml", "folder.yaml", "self.yaml", "null.yaml",
    "pipe.yaml", "a.yml/b.yaml", "team/missing/b.yaml", "%2e%2e/outside/secret.yaml",
    FULL_WIDTH + "/outside/secret.yaml", "x" * 300 + ".yaml", "~/a.yaml", "~root/a.yaml",
]  # fmt: skip


@pytest.fixture
def asker(tree: Path, key: str) -> TestClient:
    return TestClient(create_app(tree, api_key=key), headers={"X-API-Key": key})


@over("path", REFUSED)
def test_a_path_of_another_form_is_refused(tree: Path, asker: TestClient, path: str) -> None:
    answer = asker.post("/evaluate", json={"config_path": path})

    assert find_config(tree, path) is None
    assert answer.status_code == 422
    assert [fault["place"] for fault in answer.json()["errors"]] == ["body.config_path"]


def test_all_that_is_not_a_file_inside_gets_one_and_the_same_answer(asker: TestClient) -> None:
    answers = {
        (answer.status_code, answer.text)
        for path in MISSING
        for answer in (
            asker.post("/evaluate", json={"config_path": path}),
            asker.get("/history", params={"config_path": path}),
            asker.get("/runs/a", params={"config_path": path}),
        )
    }

    assert [status for status, _ in answers] == [404]


def test_the_default_is_held_to_the_root_too(tree: Path, key: str) -> None:
    for name in ("out.yaml", "up/secret.yaml", "missing.yaml"):
        asker = TestClient(create_app(tree, api_key=key, config_name=name), headers={"X-API-Key": key})
        assert asker.post("/evaluate", json={}).status_code == 404
    for name in ("../outside/secret.yaml", str(tree / "a.yml"), "notes.txt", ""):
        with pytest.raises(ConfigurationError, match="names no configuration"):
            create_app(tree, api_key=key, config_name=name)


def test_a_root_may_be_a_link(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tree)

    assert open_root(tmp_path / "link") == tree


@pytest.mark.parametrize("root", ["missing", "file", "nul\x00"])
def test_a_root_must_be_a_folder(tmp_path: Path, root: str) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ConfigurationError, match="must be a folder"):
        open_root(tmp_path / root)
