"""The source distribution holds the project: what a build needs, and what the tests need."""

import re
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

pytestmark = pytest.mark.packaging

Run = Callable[..., subprocess.CompletedProcess[str]]

ROOT = Path(__file__).parents[2]
MADE_BY_SETUPTOOLS = {"PKG-INFO", "setup.cfg", "MANIFEST.in"}


@pytest.fixture(scope="module")
def held(sdist: Path) -> dict[PurePosixPath, bytes]:
    """Every file, by its path in the project."""
    with tarfile.open(sdist) as archive:
        members = [member for member in archive.getmembers() if not member.isdir()]
        assert all(member.isfile() for member in members), "links lead elsewhere on another machine"
        found = {}
        for member in members:
            file = archive.extractfile(member)
            assert file is not None
            found[PurePosixPath(*PurePosixPath(member.name).parts[1:])] = file.read()
    return found


def test_sdist_holds_what_a_build_and_the_tests_need(held: dict[PurePosixPath, bytes], tree: Path) -> None:
    shown = {
        PurePosixPath(path.relative_to(tree).as_posix())
        for path in tree.rglob("*")
        if path.is_file() and ".egg-info" not in str(path) and "__pycache__" not in path.parts
    }
    missing = {path for path in shown - held.keys() if not path.parts[0].startswith(".")}
    assert missing == set()
    assert {path for path in held if ".egg-info" not in str(path)} - shown <= {
        PurePosixPath(name) for name in MADE_BY_SETUPTOOLS
    }
    for name in (
        "LICENSE",
        "src/agentguard/py.typed",
        "profiles/weather.yaml",
        "src/agentguard/telemetry/grafana.json",
    ):
        assert PurePosixPath(name) in held


def test_sdist_holds_no_caches_or_environments(held: dict[PurePosixPath, bytes]) -> None:
    parts = {part for path in held for part in path.parts}

    assert not {part for part in parts if part.endswith(("__pycache__", ".pyc", "_cache"))}
    assert not {part for part in parts if part.startswith((".venv", ".git", ".hypothesis"))}


def test_sdist_does_not_tell_where_it_was_made(held: dict[PurePosixPath, bytes], tree: Path) -> None:
    places = [f"{place}/".encode() for place in (ROOT, tree, Path.home(), sys.prefix)]

    assert {str(path) for path, data in held.items() for place in places if place in data} == set()


def test_what_is_unpacked_is_tested(unpacked: Path, run: Run) -> None:
    """A few tests of each kind, in the folder that it is unpacked to."""
    few = [
        "tests/profiles/test_profile_index.py",
        "tests/architecture/test_public_names.py",
        "src/agentguard/errors.py",
    ]
    source = {"PYTHONPATH": str(unpacked / "src")}
    printed = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *few, cwd=unpacked, **source).stdout
    imported = run(sys.executable, "-c", "import agentguard; print(agentguard.__file__)", cwd=unpacked, **source).stdout

    assert re.search(r"\d+ passed", printed)
    assert Path(imported.strip()).is_relative_to(unpacked)
