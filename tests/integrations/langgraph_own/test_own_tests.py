"""LangGraph's own tests of its tool nodes and agents come out with guarded nodes as with wrappers that do nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree

import pytest

NOT_PASSED = {"error", "failure", "skipped"}


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tests of the installed version, of its source distribution; its code is the installed one."""
    folder = tmp_path_factory.mktemp("langgraph")
    wanted, index = f"langgraph-prebuilt=={version('langgraph-prebuilt')}", os.environ.get("UV_DEFAULT_INDEX")
    download = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--dest", folder]
    subprocess.run(
        [sys.executable, "-m", "pip", *download, *(["--index-url", index] if index else []), wanted], check=True
    )
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        wanted_files = [each for each in packed if each.name.partition("/")[2].startswith(("tests/", "pyproject.toml"))]
        packed.extractall(folder, wanted_files, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def outcomes(suite: Path, tool_nodes: str) -> dict[str, str]:
    """The outcome of each test, by its id, with such tool nodes."""
    report = suite / f"{tool_nodes}.xml"
    environment = {**os.environ, "TOOL_NODES": tool_nodes, "PYTHONPATH": str(Path(__file__).parent)}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "guarded_nodes",
        "-p",
        "no:cacheprovider",
        "-W",
        "ignore",
        "--tb=no",
    ]
    done = subprocess.run(
        [*command, f"--junit-xml={report}", "tests"],
        cwd=suite, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert report.is_file(), done.stdout + done.stderr
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314  # pytest has just written it
        said = NOT_PASSED.intersection(part.tag for part in case)
        found[f"{case.get('classname')}::{case.get('name')}"] = "".join(said) or "passed"
    print(f"{tool_nodes}: {dict(Counter(found.values()))}")
    return found


def test_guarded_nodes_fail_nothing_that_wrappers_which_do_nothing_pass(suite: Path) -> None:
    plain, wrapped, guarded = (outcomes(suite, tool_nodes) for tool_nodes in ("plain", "wrapped", "guarded"))

    # What fails on a plain node or under any wrapper, such as tests of what the lowest versions have not, is not ours.
    assert min(list(each.values()).count("passed") for each in (plain, wrapped)) > 200
    assert guarded == wrapped
