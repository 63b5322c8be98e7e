"""A copy of the tree to build from, and commands run in it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHOICES = ("AGENTGUARD_COMPILE", "AGENTGUARD_PURE_PYTHON")  # of whoever runs the tests, and not of what they build

Run = Callable[..., subprocess.CompletedProcess[str]]


def run(*command: str | Path, cwd: Path, fails: bool = False, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in CHOICES}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done


@pytest.fixture(scope="session", name="run")
def _run() -> Run:
    """Run a command; it is an error where it fails, or where it does not and ``fails`` says that it should."""
    return run


@pytest.fixture(scope="session")
def pip() -> list[str]:
    return [sys.executable, "-m", "pip", "--disable-pip-version-check"]


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, so that nothing is left in the tree and nothing built before is read from it."""
    copy = tmp_path_factory.mktemp("build") / "tree"
    unwanted = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "*.so", "build", "dist", "tests")
    shutil.copytree(ROOT, copy, ignore=unwanted)
    return copy


@pytest.fixture(scope="session")
def build(tree: Path, pip: list[str], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[Path, str]]:
    """Build a wheel from the copy with these environment variables: the wheel, and what was written meanwhile."""

    def built(**variables: str) -> tuple[Path, str]:
        work = tmp_path_factory.mktemp("wheel")
        wheel = [*pip, "wheel", "--verbose", "--no-deps", "--no-build-isolation", "-w", work, tree]
        done = run(*wheel, cwd=work, **variables)
        (made,) = work.glob("*.whl")
        return made, done.stdout + done.stderr

    return built
