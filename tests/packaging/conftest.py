"""What the tests of packaging share, built once a run: source distribution, wheel, editable installation, environments.

The wheel is built from the unpacked source distribution, as a release is. ``tests/conftest.py`` keeps this folder on
one process, so that several processes do not each build and install the same again.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EPOCH = "1700000000"  # the time of every file in an archive

Run = Callable[..., subprocess.CompletedProcess[str]]


def run(*command: str | Path, cwd: Path, fails: bool = False, **variables: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done


@pytest.fixture(scope="session", name="run")
def _run() -> Run:
    """Run a command. Its failure fails the test, and with ``fails=True`` its success does."""
    return run


def packages_of(environment: Path) -> Path:
    """The site-packages folder of a virtual environment."""
    base = {"base": str(environment), "platbase": str(environment)}
    return Path(sysconfig.get_path("purelib", vars=base))


def environment(folder: Path, *requirements: str | Path, beside: Path | None = None) -> Path:
    """Create a virtual environment and install into it; return its folder of programs.

    Args:
        folder: where to create it.
        requirements: what pip installs.
        beside: a folder whose packages the environment has as well, without a copy of them.
    """
    venv.create(folder, with_pip=False)
    programs = folder / ("Scripts" if sys.platform == "win32" else "bin")
    if beside is not None:
        (packages_of(folder) / "beside.pth").write_text(f"{beside}\n")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", programs / "python"]
    run(*pip, "install", "--quiet", "-c", ROOT / "constraints.txt", *requirements, cwd=folder)
    return programs


def built(kind: str, source: Path, folder: Path) -> Path:
    """Build ``sdist``, ``wheel`` or ``editable`` as an installer does, in this environment; return the archive."""
    code = "import sys; from setuptools import build_meta; print(getattr(build_meta, sys.argv[1])(sys.argv[2]))"
    run(sys.executable, "-c", code, f"build_{kind}", folder, cwd=source, SOURCE_DATE_EPOCH=EPOCH)
    (archive,) = folder.iterdir()
    return archive


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project without caches, environments and earlier builds, in which builds may leave files."""
    copy = tmp_path_factory.mktemp("copy") / "tree"
    hidden = {path.name for path in ROOT.glob(".*") if path.is_dir()}
    made = ("__pycache__", "*.egg-info", "build", "dist", "site", *hidden)
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*made))
    return copy


@pytest.fixture(scope="session")
def sdist(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution."""
    return built("sdist", tree, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="session")
def unpacked(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the source distribution unpacks to."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder)  # noqa: S202 - it was made here
    return folder / sdist.name.removesuffix(".tar.gz")


@pytest.fixture(scope="session")
def wheel(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel."""
    return built("wheel", unpacked, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def core(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment with the wheel, its dependencies and nothing else."""
    return environment(tmp_path_factory.mktemp("core"), wheel)


@pytest.fixture(scope="session")
def langchain(core: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment with the wheel and the extra ``langchain``.

    The extra is added to ``core`` by the command that error messages name: pip reads the requirements from the
    installed agentguard, and needs no release on an index.
    """
    folder = tmp_path_factory.mktemp("langchain")
    return environment(folder, "agentguard[langchain]", beside=packages_of(core.parent))


@pytest.fixture(scope="session")
def editable(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment with an editable installation of the copy.

    The dependencies are those of the environment that runs the tests.
    """
    archive = built("editable", tree, tmp_path_factory.mktemp("editable"))
    folder = tmp_path_factory.mktemp("environment")
    return environment(folder, "--no-deps", archive, beside=Path(sysconfig.get_path("purelib")))
