"""A copy of the tree to build from, what is built of it (once), environments to try that in, and commands."""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHOICES = ("AGENTGUARD_COMPILE", "AGENTGUARD_PURE_PYTHON")  # of whoever runs the tests, and not of what they build
EPOCH = "1700000000"  # of every file in what is built, for two builds to be compared

Run = Callable[..., subprocess.CompletedProcess[str]]
Build = Callable[..., tuple[Path, str]]
Environment = Callable[[str], Path]


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
    unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info", "*.so", "build", "dist", "site", *hidden())
    shutil.copytree(ROOT, copy, ignore=unwanted)
    return copy


def hidden() -> set[str]:
    """Environments, caches and the repository; what a folder of the project calls so itself is kept."""
    return {path.name for path in ROOT.glob(".*") if path.is_dir()}


@pytest.fixture(scope="session")
def build(tree: Path, pip: list[str], tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Build a wheel from the copy with these environment variables: the wheel, and what was written meanwhile."""

    def built(source: Path = tree, **variables: str) -> tuple[Path, str]:
        work = tmp_path_factory.mktemp("wheel")
        wheel = [*pip, "wheel", "--verbose", "--no-deps", "--no-build-isolation", "-w", work, source]
        done = run(*wheel, cwd=work, **variables)
        (made,) = work.glob("*.whl")
        return made, done.stdout + done.stderr

    return built


@pytest.fixture(scope="session")
def pure(build: Build) -> Path:
    """The pure wheel, as a release has it."""
    return build(AGENTGUARD_PURE_PYTHON="1", SOURCE_DATE_EPOCH=EPOCH)[0]


@pytest.fixture(scope="session")
def sdist(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, as a release has it."""
    work = tmp_path_factory.mktemp("sdist")
    code = "from setuptools import build_meta; import sys; build_meta.build_sdist(sys.argv[1])"
    run(sys.executable, "-c", code, work, cwd=tree, SOURCE_DATE_EPOCH=EPOCH)
    (made,) = work.glob("*.tar.gz")
    return made


@pytest.fixture(scope="session")
def environment(pure: Path, pip: list[str], tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Make an environment with the wheel, these extras, and nothing else: its folder of programs."""

    def made(extras: str = "") -> Path:
        folder = tmp_path_factory.mktemp("environment")
        venv.create(folder, with_pip=False)
        programs = folder / ("Scripts" if sys.platform == "win32" else "bin")
        install = ["install", "--quiet", "-c", ROOT / "constraints.txt"]
        run(*pip, "--python", programs / "python", *install, f"{pure}{extras}", cwd=folder)
        return programs

    return made


@pytest.fixture(scope="session")
def programs(environment: Environment) -> Path:
    """The folder of programs of an environment that holds the wheel and what it cannot do without."""
    return environment("")
